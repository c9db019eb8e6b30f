//! Upgrade: the program at this path is started again and gets the listening sockets. It loads the application and
//! reports when it serves; only then does this process finish its requests and exit. A successor that fails or times
//! out changes nothing.

use std::io;
use std::os::fd::AsFd;
use std::process::Child;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use engine::brief;
use front::{Bind, Endpoint, Listener};
use parking_lot::Mutex;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::apps::registry::Apps;
use crate::config::signal_map::Habit;
use crate::log::files::LogFiles;
use crate::process::exit::NotServing;
use crate::process::init;
use crate::process::parent::{Channel, Ordered, Parent, StartOutcome, StartedAs};
use crate::process::program::Program;
use crate::process::run_files::RunFiles;
use crate::process::sockets::Shared;
use crate::process::systemd;

const ENDS: &str = "the server is shutting down";
/// Why no successor is started where [`Upgrade::would_end_the_service`].
const SERVICE_ENDS: &str = "systemd would end the service with this process, since its unit is not of Type=notify: \
                            systemctl restart starts the new program, foolsgold reload loads new code";

/// How this program is started again, in place of this process.
pub struct Relaunch {
    pub program: Program,
    /// The log files of this process.
    pub log_files: Arc<LogFiles>,
}

/// The side of the previous process.
pub struct Upgrade {
    relaunch: Relaunch,
    /// Shares of the listening sockets, until the shutdown begins: a socket is closed only when all its holders have
    /// closed it. Locked after `state`, if both are.
    shares: Mutex<Vec<Shared>>,
    /// Addresses, as bound, of the sockets that the previous process has handed over.
    handed: Vec<Bind>,
    /// Process id of the previous process, which has handed them over, as long as it serves; else 0.
    predecessor: AtomicU32,
    run_files: Arc<RunFiles>,
    apps: Arc<Apps>,
    /// Time for a successor to be ready.
    limit: Duration,
    /// Whether both processes serve until one gets SIGQUIT, as in Unicorn; the successor's hooks may send it before it
    /// serves.
    stays: bool,
    /// The signal by which a successor finishes its requests and exits: it has the settings of this process, unless
    /// they have changed meanwhile.
    end: Signal,
    /// A shutdown was requested while the successor was being started: it begins when that serves.
    leaves: AtomicBool,
    state: Mutex<State>,
    /// Notified when a successor serves, has failed, owns everything, or is gone.
    changed: Arc<Notify>,
}

/// Message that an application was reloaded while the successor was being started, which may have read older files:
/// followed by its name.
const RELOADED: &str = "reloaded\n";

/// A successor that serves, the addresses that it has taken, the orders of operators that it was given, and the
/// generations of the applications when it was started.
struct Successor {
    channel: Channel,
    taken: Vec<String>,
    ordered: Vec<Ordered>,
    generations: Vec<u64>,
    child: Child,
}

/// Why a successor was given up.
enum NoSuccessor {
    /// The successor reported a failure.
    NotServing(NotServing),
    /// The successor did not serve within this time.
    Late(Duration),
    /// The successor exited without a report.
    Ended,
    Meaningless(io::Error),
    Unreachable(io::Error),
}

impl NoSuccessor {
    /// The reason as a text; `how` is the exit status.
    fn in_words(self, how: &str) -> String {
        match self {
            NoSuccessor::NotServing(NotServing::Failed(why)) => why,
            NoSuccessor::NotServing(NotServing::Refused(problems)) => {
                format!("these options cannot be used: {}", problems.join("; "))
            }
            NoSuccessor::Late(limit) => format!("it did not serve within {}", brief(limit)),
            NoSuccessor::Ended => format!("it has ended ({how}); its own words are in the log, or in the journal"),
            NoSuccessor::Meaningless(error) => error.to_string(),
            NoSuccessor::Unreachable(error) => format!("it cannot be spoken to: {error}"),
        }
    }
}

enum State {
    Alone,
    /// A successor is being started; it has this process id once it runs.
    Trying(Option<Pid>),
    /// A successor serves; `taken` are the addresses, as bound, of the sockets that it has.
    Followed {
        pid: u32,
        channel: Channel,
        taken: Vec<Bind>,
    },
    /// This process shuts down, and the successor owns everything.
    Replaced {
        taken: Vec<Bind>,
    },
    /// This process shuts down without a successor.
    Ending,
}

impl State {
    /// Begins an upgrade; an error if there is one, or if the server shuts down.
    fn begin(&mut self) -> Result<(), String> {
        match *self {
            State::Alone => {
                *self = State::Trying(None);
                Ok(())
            }
            State::Trying(_) => Err("an upgrade is on its way already".to_owned()),
            State::Followed { pid, .. } => Err(format!("process {pid} has taken over already")),
            State::Replaced { .. } | State::Ending => Err(ENDS.to_owned()),
        }
    }

    /// Ends without a successor. One that is being started is ended: it would hold the sockets of a server that is
    /// gone for as long as it loads, and nobody would accept its connections. `end` is the signal for a graceful
    /// shutdown.
    fn call_off(&mut self, end: Signal) {
        if let State::Trying(Some(pid)) = *self {
            // A process that does not handle signals yet is killed by this one; SIGQUIT would leave a core file. One
            // that loads its application ends without it. One that serves, and whose report has not been read, finishes
            // the requests that it has accepted.
            let _ = prlimit(Some(pid), Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
            let _ = kill_process(pid, end);
        }
        if !matches!(self, State::Replaced { .. }) {
            *self = State::Ending;
        }
    }

    /// Notes the process id of the successor that is being started, unless the server ends by now.
    fn name(&mut self, child: Pid) -> Result<(), String> {
        let State::Trying(pid) = self else { return Err(ENDS.to_owned()) };
        *pid = Some(child);
        Ok(())
    }

    fn unname(&mut self) {
        if let State::Trying(pid) = self {
            *pid = None;
        }
    }
}

impl Upgrade {
    /// The state of a process that has no successor yet. One is started from `relaunch`, is given the sockets, and must
    /// serve within `limit`. `habit` says whether both processes go on serving, and which signal stops a successor
    /// gracefully. `changed` is notified when a successor serves, has failed, owns everything, or is gone.
    pub fn new(
        relaunch: Relaunch,
        shares: Vec<Shared>,
        run_files: Arc<RunFiles>,
        apps: Arc<Apps>,
        limit: Duration,
        habit: Habit,
        changed: Arc<Notify>,
    ) -> Arc<Upgrade> {
        let handed = shares.iter().filter(|shared| shared.is_taken).map(|shared| shared.share.local.clone()).collect();
        Arc::new(Upgrade {
            relaunch,
            shares: Mutex::new(shares),
            handed,
            predecessor: AtomicU32::new(0),
            run_files,
            apps,
            limit,
            stays: habit.keeps_both(),
            end: habit.graceful_end(),
            leaves: AtomicBool::new(false),
            state: Mutex::new(State::Alone),
            changed,
        })
    }

    /// Whether the exit of this process, once a successor serves, would end the service, with the successor.
    pub fn would_end_the_service(&self) -> bool {
        !self.stays && systemd::ends_with_this_process()
    }

    /// Starts a successor and blocks until it serves, or has failed. Returns its process id.
    pub fn start(self: &Arc<Upgrade>) -> Result<u32, String> {
        if self.would_end_the_service() {
            return Err(SERVICE_ENDS.to_owned());
        }
        // As Unicorn: of three processes the first would take back what the third has when the second ends.
        let predecessor = self.predecessor.load(Ordering::SeqCst);
        if predecessor != 0 {
            return Err(format!(
                "process {predecessor}, which started this one, still serves: end one of the two before"
            ));
        }
        {
            let mut state = self.state.lock();
            state.begin()?;
            // Under the lock, or a SIGQUIT that comes right behind SIGUSR2 could be forgotten here.
            self.leaves.store(false, Ordering::SeqCst);
        }
        info!(target: "server", "upgrade: starting {}", self.relaunch.program.path.display());
        // The successor could not know: it takes what is at the path for the file of its socket.
        drop(self.displaced());
        systemd::reloading("starting the new program");
        if self.stays {
            self.run_files.announce();
        }
        self.raise().and_then(|successor| self.welcome(successor)).map_err(|why| self.give_up(why))
    }

    /// Continues without a successor, unless the server is shutting down. Returns the reason for the caller.
    fn give_up(&self, why: String) -> String {
        let mut state = self.state.lock();
        if !matches!(*state, State::Trying(_)) {
            info!(target: "server", "upgrade called off: {ENDS}");
            return ENDS.to_owned();
        }
        *state = State::Alone;
        self.changed.notify_one();
        self.run_files.recant();
        systemd::reloaded("serving; an upgrade has failed");
        warn!(target: "server", "upgrade failed, this process goes on: {why}");
        why
    }

    fn welcome(self: &Arc<Upgrade>, successor: Successor) -> Result<u32, String> {
        let mut state = self.state.lock();
        if matches!(*state, State::Ending) {
            // A shutdown without a successor was requested, and has ended the successor, too: it finishes what it has.
            return Err(ENDS.to_owned());
        }
        let Successor { channel, taken, ordered, generations, mut child } = successor;
        let pid = child.id();
        // It may have exited right after its report.
        if let Ok(Some(how)) = child.try_wait() {
            // Its process id is free from here on.
            state.unname();
            return Err(NoSuccessor::Ended.in_words(&how.to_string()));
        }
        systemd::reloaded("serving, and so does a successor");
        for changed in self.apps.ordered_since(&ordered) {
            let _ = channel.order(&changed);
        }
        for app in self.apps.reloaded_since(&generations) {
            let _ = channel.say(&format!("{RELOADED}{app}"));
        }
        self.run_files.give_away();
        info!(target: "server", "upgrade: process {pid} serves");
        // The successor claims the pid file, which is free now.
        let _ = channel.say("free");
        *state = State::Followed { pid, channel, taken: self.bound(&taken) };
        drop(state);
        self.changed.notify_one();
        self.reap(child);
        Ok(pid)
    }

    /// Whether a shutdown must wait until the successor, which is being started, serves; if so it begins then. Hooks
    /// made for Unicorn stop the previous process before the new one has a worker.
    pub fn puts_off_the_end(&self) -> bool {
        // The thread that waits for the successor reads the flag after the state has changed.
        let state = self.state.lock();
        let puts_off = self.stays && matches!(*state, State::Trying(_));
        self.leaves.fetch_or(puts_off, Ordering::SeqCst);
        drop(state);
        puts_off
    }

    /// Whether a successor is being started whose hooks, made for Unicorn, may take a worker of this process away for
    /// each of its own: all stay until it serves.
    pub fn keeps_workers(&self) -> bool {
        self.stays && matches!(*self.state.lock(), State::Trying(_))
    }

    /// Whether this process exits once its successor serves.
    pub fn leaves(&self) -> bool {
        !self.stays || self.leaves.load(Ordering::SeqCst)
    }

    /// Whether there is no successor, and none is being started.
    pub fn is_alone(&self) -> bool {
        matches!(*self.state.lock(), State::Alone)
    }

    /// Whether a successor serves beside this process.
    pub fn is_followed(&self) -> bool {
        matches!(*self.state.lock(), State::Followed { .. })
    }

    /// Whether a successor owns everything.
    pub fn is_replaced(&self) -> bool {
        matches!(*self.state.lock(), State::Replaced { .. })
    }

    /// Whether a successor that serves has the socket with this address, as bound.
    pub fn has_taken(&self, local: &Bind) -> bool {
        match &*self.state.lock() {
            State::Followed { taken, .. } | State::Replaced { taken } => taken.contains(local),
            State::Alone | State::Trying(_) | State::Ending => false,
        }
    }

    /// Whether the previous process, from which this one has the socket with this address, still serves.
    pub fn has_predecessor_at(&self, local: &Bind) -> bool {
        self.predecessor.load(Ordering::SeqCst) != 0 && self.handed.contains(local)
    }

    /// Another listener of the socket with this address, as bound; an error once the shutdown has begun.
    pub fn listen_again(&self, local: &Bind) -> Result<Listener, String> {
        let shares = self.shares.lock();
        let shared = shares.iter().find(|shared| shared.share.local == *local);
        let share = &shared.ok_or_else(|| format!("{local} is not held any more"))?.share;
        let socket = share.socket.try_clone().map_err(|error| error.to_string())?;
        Listener::adopt(socket, share.asked.clone()).map_err(|error| error.to_string())
    }

    /// Binds Unix sockets of these endpoints again whose file is gone, unless there is a successor, or one is being
    /// started: that has the sockets as they are. Returns their listeners.
    pub fn bind_again(&self, endpoints: &[Endpoint]) -> Vec<Listener> {
        let state = self.state.lock();
        if !matches!(*state, State::Alone) {
            return Vec::new();
        }
        self.shares.lock().iter_mut().filter_map(|shared| shared.bind_again(endpoints)).collect()
    }

    /// Warns of each Unix socket whose path leads to another file by now, such as the socket of another server, unless
    /// there is a successor, which may have bound its own. What is there is left alone: somebody may use it. Returns
    /// the warnings.
    pub fn displaced(&self) -> Vec<String> {
        let state = self.state.lock();
        if matches!(*state, State::Followed { .. } | State::Replaced { .. }) {
            return Vec::new();
        }
        let shares = self.shares.lock();
        let displaced = shares.iter().filter(|shared| !shared.is_activated && shared.share.is_displaced());
        let words = displaced.filter_map(|shared| shared.share.path()).map(|path| {
            let path = path.display();
            format!(
                "another file is at {path} by now, perhaps the socket of another server, so that no new client finds \
                 this one there: end that server, remove the file, and reload"
            )
        });
        words.inspect(|words| warn!(target: "server", "{words}")).collect()
    }

    /// The addresses, as bound, of the sockets that a successor has taken, which names them as configured. If several
    /// are configured with the same words, such as port 0, they count only if it has taken all of them.
    fn bound(&self, asked: &[String]) -> Vec<Bind> {
        let shares = self.shares.lock();
        let words: Vec<String> = shares.iter().map(|shared| shared.share.asked.to_string()).collect();
        let count = |list: &[String], word: &str| list.iter().filter(|other| *other == word).count();
        let pairs = shares.iter().zip(&words);
        let taken = pairs.filter(|(_, word)| count(asked, word) >= count(&words, word));
        taken.map(|(shared, _)| shared.share.local.clone()).collect()
    }

    /// Takes over, in the successor, the files of Unix sockets that the previous process has left.
    pub fn inherit(&self) {
        let state = self.state.lock();
        if matches!(*state, State::Replaced { .. }) {
            return;
        }
        for Shared { share, .. } in self.shares.lock().iter().filter(|shared| shared.is_taken && !shared.is_activated) {
            share.set_removes_file(true);
        }
    }

    /// Must be called when a shutdown begins: a successor, if there is one, owns everything from now on. Returns
    /// whether there is one.
    pub fn hand_over(&self) -> bool {
        let mut state = self.state.lock();
        if self.give_to_successor(&mut state) {
            return true;
        }
        self.shares.lock().clear();
        state.call_off(self.end);
        false
    }

    /// Must be called before this process shuts down because the successor with this process id serves: that owns
    /// everything from now on. An error if it has exited by now; then nothing changes.
    pub fn leave_to(&self, pid: u32) -> Result<(), String> {
        let mut state = self.state.lock();
        if self.give_to_successor(&mut state) {
            return Ok(());
        }
        if matches!(*state, State::Ending) {
            return Err(ENDS.to_owned());
        }
        Err(format!("process {pid} served, and has exited: this process goes on"))
    }

    /// Gives everything to a successor that serves. Returns whether one has everything now.
    fn give_to_successor(&self, state: &mut State) -> bool {
        if let State::Followed { pid, channel, taken } = &*state {
            let shares = std::mem::take(&mut *self.shares.lock());
            for Shared { share, .. } in shares.iter().filter(|shared| taken.contains(&shared.share.local)) {
                share.set_removes_file(false);
            }
            // Until systemd knows that the successor is the service, it drops what that says (NotifyAccess=main).
            systemd::moved_to(*pid);
            init::moved_to(*pid);
            let _ = channel.say("yours");
            let taken = taken.clone();
            *state = State::Replaced { taken };
            self.changed.notify_one();
        }
        matches!(state, State::Replaced { .. })
    }

    /// Must be called when a shutdown is requested that begins later: no successor is waited for, or started, any more.
    pub fn call_off(&self) {
        let mut state = self.state.lock();
        if !matches!(*state, State::Followed { .. }) {
            state.call_off(self.end);
        }
    }

    fn raise(&self) -> Result<Successor, String> {
        let Relaunch { program, log_files } = &self.relaunch;
        let not_started = |error: io::Error| format!("{} cannot be started: {error}", program.path.display());
        let wanted = self
            .apps
            .before_exec(self.limit)
            .map_err(|why| format!("the hooks before the new program (before_exec, on_restart): {why}"))?;
        if let Some(folder) = &wanted.folder {
            info!(target: "server", "upgrade: the before_exec hooks changed the folder to {}", folder.display());
        }
        if !wanted.variables.is_empty() {
            let names: Vec<&str> = wanted.variables.iter().map(|(name, _)| name.as_str()).collect();
            info!(target: "server", "upgrade: the before_exec hooks changed the variables {}", names.join(", "));
        }
        let mut command = program.again_with(&wanted);
        let [stdout, stderr] = log_files.streams();
        if let Some(stdout) = stdout {
            command.stdout(stdout);
        }
        if let Some(stderr) = stderr {
            command.stderr(stderr);
        }
        // Before it can read a file.
        let generations = self.apps.generations();
        let (channel, mut child) = Channel::start(command, StartedAs::Upgrade).map_err(not_started)?;
        if let Err(why) = self.state.lock().name(Pid::from_child(&child)) {
            end(&mut child);
            return Err(why);
        }
        if self.stays {
            self.run_files.point_to(child.id());
        }
        let ordered = self.apps.ordered();
        match self.converse(&channel, &ordered) {
            Ok(taken) => Ok(Successor { channel, taken, ordered, generations, child }),
            Err(why) => {
                // From here on the child is ended by this thread alone, which also waits for it.
                self.state.lock().unname();
                let how = end(&mut child);
                Err(why.in_words(&how))
            }
        }
    }

    /// Hands over the sockets and the orders, and waits for the report: the addresses that the successor took, or why
    /// it does not serve.
    fn converse(&self, channel: &Channel, ordered: &[Ordered]) -> Result<Vec<String>, NoSuccessor> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock => NoSuccessor::Late(self.limit),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                NoSuccessor::Ended
            }
            io::ErrorKind::InvalidData => NoSuccessor::Meaningless(error),
            _ => NoSuccessor::Unreachable(error),
        };
        for Shared { share, is_activated, .. } in &*self.shares.lock() {
            channel.hand(share.socket.as_fd(), &share.asked.to_string(), *is_activated).map_err(failed)?;
        }
        for ordered in ordered {
            channel.order(ordered).map_err(failed)?;
        }
        channel.say("begin").map_err(failed)?;
        channel.set_receive_timeout(Some(self.limit)).map_err(failed)?;
        match channel.outcome().map_err(failed)? {
            StartOutcome::Serving(taken) => Ok(taken),
            StartOutcome::NotServing(why) => Err(NoSuccessor::NotServing(why)),
        }
    }

    /// Waits for a successor's exit; if this process is not shutting down by then, it takes everything back.
    fn reap(self: &Arc<Upgrade>, mut child: Child) {
        let ours = self.clone();
        let pid = child.id();
        let spawned = thread::Builder::new().name("successor".into()).spawn(move || {
            let how = waited(&mut child);
            let mut state = ours.state.lock();
            if matches!(*state, State::Followed { .. }) {
                *state = State::Alone;
                drop(state);
                warn!(target: "server", "the new process (pid {pid}) exited ({how}), this process goes on");
                ours.run_files.take_back();
                ours.changed.notify_one();
                systemd::ready("serving");
            }
        });
        if let Err(error) = spawned {
            warn!(target: "server", "no thread to wait for process {pid}: {error}");
        }
    }
}

/// Kills a successor, which could hold the sockets for ever if it is stuck, and returns its exit status. One that has
/// exited is no error.
fn end(child: &mut Child) -> String {
    let _ = child.kill();
    waited(child)
}

fn waited(child: &mut Child) -> String {
    child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
}

/// The side of the successor: reports that it serves and, in a thread, takes over what the previous process leaves.
/// Calls `then` once this process is the only one.
pub fn follow(
    parent: Parent,
    upgrade: Arc<Upgrade>,
    run_files: Arc<RunFiles>,
    taken: &[String],
    then: impl FnOnce(&str) + Send + 'static,
) -> Result<(), String> {
    let Parent { started_as, pid, channel, .. } = parent;
    let serving = StartOutcome::Serving(taken.to_vec());
    // Where the previous process was killed, or ran out of memory, no other server is left than this one.
    let report = move |channel: &Channel| {
        if channel.report(&serving).is_err() {
            let why = format!("process {pid}, which started this one, has ended meanwhile");
            warn!(target: "server", "{why}; this one serves all the same");
        }
    };
    if started_as == StartedAs::Background {
        // Its terminal may have been closed, which is nothing to a server in the background.
        report(&channel);
        then("serving");
        return Ok(());
    }
    upgrade.predecessor.store(pid, Ordering::SeqCst);
    let (sender, reported) = sync_channel(1);
    // The thread is there before the previous process is told to go: at the limit of threads both would end.
    let listening = thread::Builder::new().name("predecessor".into()).spawn(move || {
        report(&channel);
        let _ = sender.send(());
        let take_place = || {
            run_files.follow();
            // While this process was loading, the signal after a rotation went to the previous one, whose id was in the
            // pid file.
            upgrade.relaunch.log_files.reopen_moved();
        };
        // `yours` is sent after `free`, or neither arrives.
        let mut is_free = false;
        let mut ordered = Vec::new();
        while let Ok((word, _)) = channel.receive() {
            if word == "free" {
                take_place();
                is_free = true;
            } else if word == "yours" {
                break;
            } else if let Some(changed) = Ordered::take(&word, &mut ordered) {
                // An operator gave it while this process was loading.
                upgrade.apps.follow(slice::from_ref(changed));
            } else if let Some(app) = word.strip_prefix(RELOADED) {
                reload_again(&upgrade.apps, app.to_owned());
            }
        }
        if !is_free {
            take_place();
        }
        upgrade.predecessor.store(0, Ordering::SeqCst);
        upgrade.inherit();
        then("serving, after an upgrade");
    });
    listening.map_err(|error| format!("no thread to take over from an older process: {error}"))?;
    reported.recv().map_err(|_| "the thread that takes over from an older process was lost".to_owned())
}

/// Reloads an application in a thread of its own, since the previous process was told to do so while this one read its
/// files.
fn reload_again(apps: &Arc<Apps>, app: String) {
    info!(target: "server", "reload of {app}: the previous process was told to while this one was starting");
    let apps = apps.clone();
    // The outcome is logged.
    let spawned = thread::Builder::new().name("reload".into()).spawn(move || drop(apps.reload(Some(&app))));
    if let Err(error) = spawned {
        warn!(target: "server", "no thread for a reload: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_a_shutdown_is_requested_no_successor_is_started() {
        for mut state in [State::Alone, State::Trying(None), State::Ending] {
            state.call_off(Signal::TERM);
            assert_eq!(state.begin(), Err(ENDS.to_owned()));
            assert!(state.name(rustix::process::getpid()).is_err(), "one that was just started is ended");
        }
    }

    #[test]
    fn one_successor_is_started_at_a_time() {
        let mut state = State::Alone;
        assert_eq!((state.begin(), state.begin().is_err()), (Ok(()), true));
        assert!(matches!(state, State::Trying(None)));
    }
}
