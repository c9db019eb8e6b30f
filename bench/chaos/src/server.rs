//! A foolsgold under test: started in a session of its own in the scenario's folder, stopped gracefully, and checked:
//! number of workers, zombies, and processes that outlive it.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use loadgen::Workload;
use loadgen::process::{Launch, Process};
use rustix::process::Signal;

use crate::api::{self, Status, Worker};
use crate::findings::Findings;
use crate::load::{CLIENTS, Load};
use crate::pace;
use crate::processes::{self, MARK, ProcessInfo};
use crate::stage::Stage;

/// Longest time of a request, queueing included. Its client waits a little longer and then reports that it hangs.
const REQUEST_S: u64 = 15;
/// Time for a shutdown on a busy machine, beside that of running requests.
const END: Duration = Duration::from_secs(30);
/// Time for a start; Rails is slow.
const START: Duration = Duration::from_secs(60);
/// Time to recover after a disturbance.
const RECOVERY_TIME: Duration = Duration::from_secs(20);
/// Time for a reload until new code serves.
const RELOAD_TIME: Duration = Duration::from_secs(30);
/// Time for a server's processes to exit after it: they notice its end within a second.
const EXIT_TIME: Duration = Duration::from_secs(5);
/// Exit status of a good shutdown.
const WELL: &str = "exit status: 0";
/// Name of the control socket in the scenario's folder.
const CONTROL: &str = "control.sock";
/// Variables of other servers that foolsgold reads.
const OF_OTHERS: [&str; 7] =
    ["RACK_ENV", "APP_ENV", "RAILS_ENV", "PORT", "WEB_CONCURRENCY", "RAILS_MAX_THREADS", "BUNDLE_GEMFILE"];

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The application, relative to the repository; empty if a settings file in the scenario's folder names
    /// applications.
    pub rackup: &'static str,
    /// Options of its command line.
    pub options: Vec<String>,
    /// Environment variables.
    pub env: Vec<(&'static str, String)>,
    /// A command before the program, such as `prlimit`, which becomes the program.
    pub before: Vec<String>,
    /// Number of worker processes; 0 for embedded interpreters.
    pub workers: usize,
    /// File with its log, if that is not its output.
    pub log: Option<PathBuf>,
    /// Its control socket, if that is not in the scenario's folder.
    pub control: Option<PathBuf>,
}

impl Setup {
    /// A setup with Ruby workers.
    pub fn ruby(rackup: &'static str, workers: usize, threads: usize) -> Setup {
        let setup = Setup { rackup, workers, ..Setup::default() };
        setup.with(&["--engine", "ruby", "-w", &workers.to_string(), "-t", &threads.to_string()])
    }

    /// A setup with embedded interpreters.
    pub fn mruby(rackup: &'static str, interpreters: usize) -> Setup {
        let setup = Setup { rackup, ..Setup::default() };
        setup.with(&["--engine", "mruby", "-t", &interpreters.to_string()])
    }

    /// Adds options.
    pub fn with(mut self, options: &[&str]) -> Setup {
        self.options.extend(options.iter().map(|word| (*word).to_owned()));
        self
    }
}

/// A running server.
pub struct Server {
    process: Process,
    /// The process that gets signals. A successor has another id.
    pub id: u32,
    /// Port on 127.0.0.1.
    pub port: u16,
    /// Longest time that a client waits.
    pub timeout: Duration,
    /// See [`Setup`].
    pub workers: usize,
    log: PathBuf,
    control: PathBuf,
    /// Whether the started process was replaced by a successor, and has exited.
    is_successor: bool,
    stage: Stage,
}

impl Server {
    /// Starts a server and waits until it serves.
    pub fn start(stage: &Stage, setup: &Setup) -> Result<Server, String> {
        stage.doing("starts");
        let number = stage.shown().roots.len() + 1;
        let log = stage.folder.join(format!("log-{number}"));
        let process = Process::start("foolsgold", command(stage, setup), &log)?;
        let id = process.id();
        let log = setup.log.clone().unwrap_or(log);
        stage.shown().roots.push(id);
        let timeout = Duration::from_secs(REQUEST_S + 5);
        let control = control(stage, setup);
        let workers = setup.workers;
        let stage = stage.clone();
        let mut server = Server { process, id, port: 0, timeout, workers, log, control, is_successor: false, stage };
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

    /// Starts the usual load on it.
    pub fn load(&self, workload: &Workload) -> Load {
        self.load_of(workload, CLIENTS)
    }

    /// Starts a load with this number of clients.
    pub fn load_of(&self, workload: &Workload, clients: u32) -> Load {
        self.stage.load_at(self.port, self.timeout, workload, clients)
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Reloads its code by SIGUSR1, and complains unless a new generation serves within [`RELOAD_TIME`].
    pub fn reload(&self, findings: &mut Findings) {
        let before = match self.status() {
            Ok(status) => status.generation(),
            Err(why) => return findings.complain(why),
        };
        self.signal(Signal::USR1);
        let is_new = pace::within(RELOAD_TIME, || self.status().is_ok_and(|status| status.generation() > before));
        findings.expect(is_new, || format!("generation {before} still serves {RELOAD_TIME:?} after SIGUSR1"));
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        processes::signal(self.id, signal);
    }

    /// Its status.
    pub fn status(&self) -> Result<Status, String> {
        api::status(&self.control)
    }

    /// Processes of the workers that are not being stopped; empty if there is no status.
    pub fn workers(&self) -> Vec<u32> {
        let workers = self.status().unwrap_or_default().workers;
        workers.iter().filter(|worker| !worker.is_leaving()).filter_map(|worker| worker.id).collect()
    }

    /// Processes of its molds.
    pub fn molds(&self) -> Vec<u32> {
        self.status().unwrap_or_default().molds
    }

    /// Number of workers that serve.
    pub fn ready(&self) -> usize {
        let workers = self.status().unwrap_or_default().workers;
        workers.iter().filter(|worker| worker.is_ready()).count()
    }

    /// Its processes, as /proc shows them one after the other.
    pub fn processes(&self) -> Vec<ProcessInfo> {
        processes::of_session(&self.stage.shown().roots.clone())
    }

    /// Records the process of its successor, which has taken over.
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

    /// Its exit status, if it has exited.
    pub fn ended(&mut self) -> Option<String> {
        let ended = self.process.ended();
        if !self.is_successor {
            return ended;
        }
        // A successor was started by its predecessor, and adopted by this process.
        let is_there = self.processes().iter().any(|one| one.id == self.id && !one.is_zombie);
        (!is_there).then(|| processes::end_of(self.id).unwrap_or_else(|| WELL.to_owned()))
    }

    /// Exit status of a process that was the server before an upgrade; none if it has not exited or shut down well.
    pub fn bad_end_of(&mut self, id: u32) -> Option<String> {
        let how = if id == self.process.id() { self.process.ended() } else { processes::end_of(id) };
        how.filter(|how| how != WELL)
    }

    /// Waits until all workers are ready, and there are no zombies.
    pub fn wait_for_recovery(&mut self, findings: &mut Findings) {
        self.stage.doing("settles");
        let mut found = (String::new(), Vec::new());
        let mut ended = None;
        let has_recovered = pace::within(RECOVERY_TIME, || {
            ended = self.ended();
            let status = self.status();
            let zombies: Vec<ProcessInfo> = self.processes().into_iter().filter(|one| one.is_zombie).collect();
            found = (in_words(&status), zombies);
            let is_whole = status.is_ok_and(|status| self.is_whole(&status));
            ended.is_some() || (is_whole && found.1.is_empty())
        });
        if let Some(how) = ended {
            findings.complain(format!("foolsgold has ended: {how}; its log ends with {}", self.process.tail()));
        } else if !has_recovered {
            let zombies: Vec<String> = found.1.iter().map(ProcessInfo::in_words).collect();
            let zombies = zombies.join(", ");
            let has = found.0;
            let wanted = self.workers;
            findings.complain(format!("{has}, not {wanted} ready, after {RECOVERY_TIME:?}; zombies: [{zombies}]"));
        }
    }

    /// Whether all workers are ready, and no old generation is left.
    fn is_whole(&self, status: &Status) -> bool {
        // Embedded interpreters are no processes.
        let are_ready = status.workers.len() == self.workers && status.workers.iter().all(Worker::is_ready);
        (self.workers == 0 || are_ready) && status.leaving == 0
    }

    /// Ends the load, and counts a failure for each failed request, and if one took longer than `longest`. Then
    /// [`Server::recover_and_end`].
    pub fn finish(self, load: Load, longest: Duration, mut findings: Findings) -> Findings {
        findings.count("the clients", &load.end(), &[]);
        findings.bound(longest);
        self.recover_and_end(findings)
    }

    /// Waits until all workers are there, and ends the server.
    pub fn recover_and_end(mut self, mut findings: Findings) -> Findings {
        self.wait_for_recovery(&mut findings);
        self.end(&mut findings);
        findings
    }

    /// Stops it with SIGTERM and checks that nothing is left.
    pub fn end(self, findings: &mut Findings) {
        self.signal(Signal::TERM);
        self.ends(END, findings);
    }

    /// Waits for a shutdown that has begun and checks that nothing is left.
    pub fn ends(mut self, limit: Duration, findings: &mut Findings) {
        self.stage.doing("ends");
        let begun = Instant::now();
        let mut how = None;
        let has_ended = pace::within(limit, || {
            how = self.ended();
            how.is_some()
        });
        match how {
            Some(how) if how != WELL => {
                findings.complain(format!("at its end: {how}\n{}", self.process.tail()));
            }
            _ => {}
        }
        if !has_ended {
            let took = begun.elapsed().as_secs();
            findings.complain(format!("it was told to end and runs still after {took} s\n{}", self.process.tail()));
        }
        drop(self.process);
        left_over(&self.stage, findings);
    }
}

/// Complains about processes that outlive the server, zombies included.
fn left_over(stage: &Stage, findings: &mut Findings) {
    let mut left = Vec::new();
    let is_gone = pace::within(EXIT_TIME, || {
        left = stage.processes();
        left.is_empty()
    });
    if !is_gone {
        let words: Vec<String> = left.iter().map(ProcessInfo::in_words).collect();
        findings.complain(format!("left behind {EXIT_TIME:?} after the end: {}", words.join(", ")));
        end_all(stage);
    }
}

/// Kills all processes of a scenario.
pub fn end_all(stage: &Stage) {
    for one in stage.processes() {
        processes::signal(one.id, Signal::KILL);
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
    // Without one, the settings file in the folder names the applications.
    if !setup.rackup.is_empty() {
        words.push(app(stage, setup.rackup).display().to_string());
    }
    let mut command = Command::new(&words[0]);
    clean(&mut command);
    command.args(&words[1..]).current_dir(&stage.folder);
    command.env(MARK, &stage.folder);
    command.envs(setup.env.iter().map(|(name, value)| (name, value)));
    command
}

fn control(stage: &Stage, setup: &Setup) -> PathBuf {
    setup.control.clone().unwrap_or_else(|| stage.folder.join(CONTROL))
}

/// The workers' states, for messages.
fn in_words(status: &Result<Status, String>) -> String {
    let states = |status: &Status| {
        let states: Vec<&str> = status.workers.iter().map(|worker| worker.state.as_str()).collect();
        format!("workers: [{}]", states.join(", "))
    };
    status.as_ref().map_or_else(|why| format!("its status cannot be read ({why})"), states)
}

/// Removes variables of the caller that foolsgold reads.
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

/// The first port on 127.0.0.1 in the log except 0.
fn port(log: &str) -> Option<u16> {
    log.match_indices("tcp://127.0.0.1:").find_map(|(at, mark)| {
        let digits: String = log[at + mark.len()..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|port| *port != 0)
    })
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
