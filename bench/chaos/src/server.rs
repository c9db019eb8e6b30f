//! A foolsgold under test: started in a session of its own in the scenario's folder, ended politely, and looked after:
//! which workers it says it has, which of its processes were not buried, which of them outlive it.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use loadgen::process::{Launch, Process};
use rustix::process::Signal;

use crate::api::{self, Status, Worker};
use crate::kin::{self, Kin, MARK};
use crate::pace;
use crate::stage::Stage;
use crate::told::Told;

/// What a request may take, waiting included. Its client waits a little longer and then says that it hangs.
const REQUEST_S: u64 = 15;
/// A server that is told to end may take so long on a busy machine, beside what it runs.
const END: Duration = Duration::from_secs(30);
/// Until it is ready; Rails takes its time.
const START: Duration = Duration::from_secs(60);
/// Until all is as it should be after a disturbance.
const SETTLE: Duration = Duration::from_secs(20);
/// The processes of a server see within a second that it is gone.
const FAREWELL: Duration = Duration::from_secs(5);
/// How it should end.
const WELL: &str = "exit status: 0";
/// The control socket, in the scenario's folder.
const CONTROL: &str = "control.sock";
/// Variables of others that foolsgold reads.
const OF_OTHERS: [&str; 7] =
    ["RACK_ENV", "APP_ENV", "RAILS_ENV", "PORT", "WEB_CONCURRENCY", "RAILS_MAX_THREADS", "BUNDLE_GEMFILE"];

/// How one is started.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The application, from the root of the repository; none where a file of settings in the scenario's folder says.
    pub rackup: &'static str,
    /// What is said to it.
    pub options: Vec<String>,
    /// Variables.
    pub env: Vec<(&'static str, String)>,
    /// Words before the program: `prlimit` and the like, which become it.
    pub before: Vec<String>,
    /// Worker processes that there should be; 0 where there are none.
    pub workers: usize,
    /// The file that has its log, where that is not its output.
    pub log: Option<PathBuf>,
    /// Its control socket, where that is not in the scenario's folder.
    pub control: Option<PathBuf>,
}

impl Setup {
    /// On Ruby workers.
    pub fn ruby(rackup: &'static str, workers: usize, threads: usize) -> Setup {
        let setup = Setup { rackup, workers, ..Setup::default() };
        setup.with(&["--engine", "ruby", "-w", &workers.to_string(), "-t", &threads.to_string()])
    }

    /// On embedded interpreters.
    pub fn mruby(rackup: &'static str, interpreters: usize) -> Setup {
        let setup = Setup { rackup, ..Setup::default() };
        setup.with(&["--engine", "mruby", "-t", &interpreters.to_string()])
    }

    /// With more options.
    pub fn with(mut self, options: &[&str]) -> Setup {
        self.options.extend(options.iter().map(|word| (*word).to_owned()));
        self
    }
}

/// Running.
pub struct Server {
    process: Process,
    /// The process to which signals are sent. A successor may have another id.
    pub id: u32,
    /// On 127.0.0.1.
    pub port: u16,
    /// What a client waits for at most.
    pub patience: Duration,
    /// See [`Setup`].
    pub workers: usize,
    log: PathBuf,
    control: PathBuf,
    /// The process that was started has handed over to another one, and ended.
    is_successor: bool,
    stage: Stage,
}

impl Server {
    /// Starts one and waits until it serves.
    pub fn start(stage: &Stage, setup: &Setup) -> Result<Server, String> {
        stage.doing("starts");
        let number = stage.shown().roots.len() + 1;
        let log = stage.folder.join(format!("log-{number}"));
        let process = Process::start("foolsgold", command(stage, setup), &log)?;
        let id = process.id();
        let log = setup.log.clone().unwrap_or(log);
        stage.shown().roots.push(id);
        let patience = Duration::from_secs(REQUEST_S + 5);
        let control = control(stage, setup);
        let workers = setup.workers;
        let stage = stage.clone();
        let mut server = Server { process, id, port: 0, patience, workers, log, control, is_successor: false, stage };
        let mut ended = None;
        let is_ready = pace::within(START, || {
            server.port = port(&server.log()).unwrap_or(0);
            ended = server.process.ended();
            ended.is_some() || (server.port != 0 && server.ready() >= server.workers)
        });
        match ended {
            Some(how) => Err(format!("foolsgold ended at its start: {how}\n{}", server.process.tail())),
            None if !is_ready => Err(format!("foolsgold is not ready after {START:?}\n{}", server.process.tail())),
            None => Ok(server),
        }
    }

    /// All it has written so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kin::signal(self.id, signal);
    }

    /// What it says of itself now.
    pub fn status(&self) -> Result<Status, String> {
        api::status(&self.control)
    }

    /// The processes of its workers that are not on their way out; none where it says nothing.
    pub fn workers(&self) -> Vec<u32> {
        let workers = self.status().unwrap_or_default().workers;
        workers.iter().filter(|worker| !worker.is_leaving()).filter_map(|worker| worker.id).collect()
    }

    /// Its molds, likewise.
    pub fn molds(&self) -> Vec<u32> {
        self.status().unwrap_or_default().molds
    }

    /// How many workers serve.
    pub fn ready(&self) -> usize {
        let workers = self.status().unwrap_or_default().workers;
        workers.iter().filter(|worker| worker.is_ready()).count()
    }

    /// Its processes, as /proc shows them one after the other.
    pub fn kin(&self) -> Vec<Kin> {
        kin::of_session(&self.stage.shown().roots.clone())
    }

    /// Its successor has taken over.
    pub fn succeeded_by(&mut self, id: u32) {
        (self.id, self.is_successor) = (id, true);
    }

    /// Runs a command of the program, such as `reload`.
    pub fn command(&self, words: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(&self.stage.foolsgold);
        clean(&mut command);
        command.current_dir(&self.stage.folder).args(words).arg("--control").arg(&self.control);
        command.output().map_err(|error| format!("foolsgold {}: {error}", words.join(" ")))
    }

    /// Whether it has ended, and how.
    pub fn ended(&mut self) -> Option<String> {
        let ended = self.process.ended();
        if !self.is_successor {
            return ended;
        }
        // A successor is nobody's child that we could ask.
        let is_there = self.kin().iter().any(|one| one.id == self.id && !one.is_zombie);
        (!is_there).then(|| WELL.to_owned())
    }

    /// Waits until there are as many workers as there should be, all of them ready, and no zombies.
    pub fn settle(&mut self, told: &mut Told) {
        self.stage.doing("settles");
        let mut found = (String::new(), Vec::new());
        let mut ended = None;
        let is_settled = pace::within(SETTLE, || {
            ended = self.ended();
            let status = self.status();
            let zombies: Vec<Kin> = self.kin().into_iter().filter(|one| one.is_zombie).collect();
            found = (in_words(&status), zombies);
            let is_whole = status.is_ok_and(|status| self.is_whole(&status));
            ended.is_some() || (is_whole && found.1.is_empty())
        });
        if let Some(how) = ended {
            told.complain(format!("foolsgold has ended: {how}; its log ends with {}", self.process.tail()));
        } else if !is_settled {
            let zombies: Vec<String> = found.1.iter().map(Kin::in_words).collect();
            let has = found.0;
            let wanted = self.workers;
            told.complain(format!("{has}, not {wanted} ready, after {SETTLE:?}; zombies: [{}]", zombies.join(", ")));
        }
    }

    /// Whether all workers are there and ready, and nothing is left of older generations.
    fn is_whole(&self, status: &Status) -> bool {
        // Embedded interpreters are no processes.
        let are_ready = status.workers.len() == self.workers && status.workers.iter().all(Worker::is_ready);
        (self.workers == 0 || are_ready) && status.leaving == 0
    }

    /// Ends it by SIGTERM and looks whether anything is left.
    pub fn end(self, told: &mut Told) {
        self.signal(Signal::TERM);
        self.ends(END, told);
    }

    /// Waits for the end it was told to come to, and looks whether anything is left.
    pub fn ends(mut self, limit: Duration, told: &mut Told) {
        self.stage.doing("ends");
        let begun = Instant::now();
        let mut how = None;
        let has_ended = pace::within(limit, || {
            how = self.ended();
            how.is_some()
        });
        match how {
            Some(how) if how != WELL => {
                told.complain(format!("at its end: {how}\n{}", self.process.tail()));
            }
            _ => {}
        }
        if !has_ended {
            let took = begun.elapsed().as_secs();
            told.complain(format!("it was told to end and runs still after {took} s\n{}", self.process.tail()));
        }
        drop(self.process);
        left_over(&self.stage, told);
    }
}

/// Nothing may outlive the server: neither a process nor the entry of one.
fn left_over(stage: &Stage, told: &mut Told) {
    let mut left = Vec::new();
    let is_gone = pace::within(FAREWELL, || {
        left = stage.processes();
        left.is_empty()
    });
    if !is_gone {
        let words: Vec<String> = left.iter().map(Kin::in_words).collect();
        told.complain(format!("left behind {FAREWELL:?} after the end: {}", words.join(", ")));
        end_all(stage);
    }
}

/// Ends whatever is left of a scenario.
pub fn end_all(stage: &Stage) {
    for one in stage.processes() {
        kin::signal(one.id, Signal::KILL);
    }
}

fn command(stage: &Stage, setup: &Setup) -> Command {
    let mut words = Launch::default().words();
    words.extend(setup.before.iter().cloned());
    words.push(stage.foolsgold.display().to_string());
    let common = ["-b", "tcp://127.0.0.1:0", "-e", "production", "--access-log", "off", "--request-time"];
    words.extend(common.map(str::to_owned));
    words.push(format!("{REQUEST_S}s"));
    words.extend(["--control".to_owned(), control(stage, setup).display().to_string()]);
    words.extend(setup.options.iter().cloned());
    // Without one, the file of settings in the folder names the applications.
    if !setup.rackup.is_empty() {
        words.push(app(stage, setup.rackup).display().to_string());
    }
    let mut command = Command::new(&words[0]);
    clean(&mut command);
    command.args(&words[1..]).current_dir(&stage.folder);
    command.env(MARK, &stage.mark).env("CHAOS_FOLDER", &stage.folder);
    command.envs(setup.env.iter().map(|(name, value)| (name, value)));
    command
}

fn control(stage: &Stage, setup: &Setup) -> PathBuf {
    setup.control.clone().unwrap_or_else(|| stage.folder.join(CONTROL))
}

/// For messages.
fn in_words(status: &Result<Status, String>) -> String {
    let states = |status: &Status| {
        let states: Vec<&str> = status.workers.iter().map(|worker| worker.state.as_str()).collect();
        format!("workers: [{}]", states.join(", "))
    };
    status.as_ref().map_or_else(|why| format!("its status cannot be read ({why})"), states)
}

/// Untouched by settings of whoever runs this.
fn clean(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("FOOLS_GOLD") || OF_OTHERS.contains(&&*name) {
            command.env_remove(&*name);
        }
    }
}

fn app(stage: &Stage, rackup: &str) -> PathBuf {
    stage.home.join(rackup)
}

/// The first real port on 127.0.0.1 that the log names as one that is served.
fn port(log: &str) -> Option<u16> {
    log.match_indices("tcp://127.0.0.1:").find_map(|(at, mark)| {
        let digits: String = log[at + mark.len()..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|port| *port != 0)
    })
}

/// Does `act` again and again, `every` so often, for so long.
pub fn each(every: Duration, time: Duration, mut act: impl FnMut()) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        act();
        pause(every.min(end.saturating_duration_since(Instant::now())));
    }
}

/// The same, and on until `act` says that it was enough: a busy machine may need three times as long.
pub fn each_until_enough(every: Duration, time: Duration, mut act: impl FnMut() -> bool) {
    let begun = Instant::now();
    let mut is_enough = false;
    while begun.elapsed() < time || (!is_enough && begun.elapsed() < pace::allowed(3 * time)) {
        is_enough = act();
        pause(every);
    }
}

/// Lets time pass.
pub fn pause(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        // Nobody unparks this thread: it only waits.
        thread::park_timeout(end.saturating_duration_since(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_in_the_log() {
        assert_eq!(port("on tcp://127.0.0.1:0\nlistening on tcp://127.0.0.1:4711, serving x"), Some(4711));
        assert_eq!(port("a connection from 127.0.0.1:1 to 127.0.0.1:2"), None);
    }
}
