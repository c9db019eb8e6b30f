//! Signals as events: each triggers what the active map says. A thread of its own runs what takes time, one action
//! after the other, so that a shutdown never waits.

use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::Poll;
use std::thread;

use engine::{Order, count};
use machine::proc_lines::line;
use nix::sys::signal::SigSet;
use parking_lot::Mutex;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::apps::app::App;
use crate::config::signal_map::{Habit, SignalAction};
use crate::control::handle::ServerHandle;
use crate::log::files::LogFiles;

/// Pending actions; more are dropped as a script's mistake.
const WAITING_MAX: usize = 16;

/// The signal that makes a graceful shutdown, which a signal has begun, an immediate one: that of Ctrl-C at a terminal.
/// TERM and QUIT do not, since platforms and supervisors may repeat them, and hooks made for Unicorn send QUIT for each
/// worker.
const INTERRUPT: &str = "INT";

/// What a signal asks for, with its name.
type Errand = (&'static str, SignalAction);

/// The signals that this program handles.
pub struct Signals {
    heard: Vec<(&'static str, SignalAction, Signal)>,
    log_files: Arc<LogFiles>,
    /// INT is an immediate shutdown now: a signal for a graceful one has come, or [`Signals::expect_interrupt`].
    is_ending: bool,
    errands: SyncSender<Errand>,
    /// The receiving end, until the thread has it, which the first action starts. At the limit of threads it stays
    /// here, and the next action tries again.
    waiting: Arc<Mutex<Option<Receiver<Errand>>>>,
    has_thread: bool,
}

/// Unblocks all signals. A program inherits the mask of blocked signals (sigprocmask(2)) from the one that starts it,
/// which may have blocked some for itself. Must be called before there are threads; they, and the processes that are
/// started, inherit it in turn.
pub fn unblock() -> io::Result<()> {
    SigSet::all().thread_unblock().map_err(io::Error::from)
}

/// Has the kernel report child exits even if SIGCHLD is ignored in the process that started this one (`trap '' CHLD` in
/// a shell): an ignored SIGCHLD is inherited, and process 1 would never learn that the server exited.
pub fn hear_of_children() -> io::Result<()> {
    if !is_ignored(SignalKind::child()) {
        return Ok(());
    }
    handle(&[SignalKind::child()])
}

/// Keeps HUP, USR1, USR2, PWR, TTIN and TTOU, which end a server with none of the `--signals`, from ending or stopping
/// this process while it reads its settings: they wait for [`Signals::listen`].
pub fn hold() -> io::Result<()> {
    use rustix::process::Signal;
    let held = [Signal::HUP, Signal::USR1, Signal::USR2, Signal::TTIN, Signal::TTOU, Signal::POWER];
    handle(&held.map(|signal| SignalKind::from_raw(signal.as_raw())))
}

/// Installs handlers, which stay without a listener; started programs begin without them. What arrives meanwhile is
/// for those who listen when the next event loop looks.
fn handle(kinds: &[SignalKind]) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async { kinds.iter().try_for_each(|kind| signal(*kind).map(drop)) })
}

/// Whether this process ignores the signal (proc(5), `SigIgn`).
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = line(&status, "SigIgn").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

impl Signals {
    /// Starts to handle the signals that have a meaning. Must be called before there is another event loop, which would
    /// take those that [`hold`] has kept.
    pub fn listen(habit: Habit, log_files: Arc<LogFiles>) -> io::Result<Signals> {
        let (errands, waiting) = sync_channel(WAITING_MAX);
        let waiting = Arc::new(Mutex::new(Some(waiting)));
        let mut signals =
            Signals { heard: Vec::new(), log_files, is_ending: false, errands, waiting, has_thread: false };
        for ((name, number), action) in habit.meanings() {
            signals.heard.push((name, *action, signal(SignalKind::from_raw(number.as_raw()))?));
        }
        // A file that may not grow (RLIMIT_FSIZE) is an error for the writer, and no reason to die.
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(signals)
    }

    /// Waits for the next signal for a shutdown, graceful or not, and returns its name. Until then, those that reopen
    /// log files have their effect; the others stay for [`Signals::follow`].
    pub async fn end(&mut self) -> &'static str {
        use SignalAction::{End, EndNow, ReopenLogs};
        loop {
            match self.next(|action| matches!(action, End | EndNow | ReopenLogs)).await {
                (name, ReopenLogs) => self.reopen_logs(name),
                (name, _) => return name,
            }
        }
    }

    /// Reopens log files in a thread of its own. Not behind a reload, or a start, which takes as long as the
    /// application to load: the log rotation is about to compress the files that it has renamed.
    fn reopen_logs(&self, name: &'static str) {
        let log_files = self.log_files.clone();
        let work = move || tell(name, log_files.reopen());
        if let Err(error) = thread::Builder::new().name("log files".into()).spawn(work) {
            warn!(target: "server", "SIG{name}: no thread to reopen log files: {error}");
        }
    }

    async fn next(&mut self, is_meant: impl Fn(SignalAction) -> bool) -> Errand {
        poll_fn(|cx| {
            for (name, action, signal) in self.heard.iter_mut().filter(|(_, action, _)| is_meant(*action)) {
                if let Poll::Ready(Some(())) = signal.poll_recv(cx) {
                    return Poll::Ready((*name, *action));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Makes INT an immediate shutdown, also where a command, and no signal, has begun the graceful one.
    pub fn expect_interrupt(&mut self) {
        self.is_ending = true;
    }

    /// Waits for the next signal and triggers its action.
    pub async fn follow(&mut self, server: &ServerHandle) {
        let (name, action) = self.next(|_| true).await;
        match action {
            // QUIT may come from a hook of the new process; TERM comes from whoever ends the service.
            SignalAction::End if name != "TERM" && server.succession().puts_off_the_end() => {
                info!(target: "server", "SIG{name}: graceful shutdown, when the new process serves");
            }
            SignalAction::End => {
                let is_repeated = std::mem::replace(&mut self.is_ending, true);
                let is_immediate = is_repeated && name == INTERRUPT;
                let what = if is_immediate { "immediate" } else { "graceful" };
                info!(target: "server", "SIG{name}: {what} shutdown");
                if is_immediate { server.stop(true) } else { server.drain() }
            }
            SignalAction::EndNow => {
                info!(target: "server", "SIG{name}: immediate shutdown");
                server.stop(true);
            }
            SignalAction::Ignore => info!(target: "server", "SIG{name} is ignored"),
            SignalAction::ReopenLogs => self.reopen_logs(name),
            // Each would count as an order of an operator, which the new process keeps.
            SignalAction::Fewer if server.succession().keeps_workers() => {
                info!(target: "server", "SIG{name}: all workers stay until the new process serves");
            }
            action => self.send(name, action, server),
        }
    }

    fn send(&mut self, name: &'static str, action: SignalAction, server: &ServerHandle) {
        if !self.has_thread {
            let server = server.clone();
            let waiting = self.waiting.clone();
            let work = move || {
                let errands = waiting.lock().take();
                if let Some(errands) = errands {
                    run(&errands, &server);
                }
            };
            match thread::Builder::new().name("signals".into()).spawn(work) {
                Ok(_) => self.has_thread = true,
                Err(error) => warn!(target: "server", "no thread for signals: {error}"),
            }
        }
        if self.errands.try_send((name, action)).is_err() {
            warn!(target: "server", "SIG{name} is dropped: too many signals are pending");
        }
    }
}

fn run(errands: &Receiver<Errand>, server: &ServerHandle) {
    let mut pauses = Vec::new();
    while let Ok((name, action)) = errands.recv() {
        // As in Unicorn, these end a pause that a signal has begun.
        if matches!(action, SignalAction::Reload | SignalAction::More)
            && let Some(outcome) = end_pauses(server, &std::mem::take(&mut pauses))
        {
            tell(name, outcome);
        }
        let outcome = match action {
            SignalAction::Reload => {
                info!(target: "server", "SIG{name}: reloading");
                // The reload logs its outcome itself.
                drop(server.reload(None));
                continue;
            }
            // A restart of Puma keeps its process id, so that units for it need not be of Type=notify.
            SignalAction::Upgrade if server.succession().would_end_the_service() => {
                warn!(
                    target: "server",
                    "SIG{name}: reloading instead of an upgrade: systemd would end the service with this process, \
                     since its unit is not of Type=notify"
                );
                drop(server.reload(None));
                continue;
            }
            SignalAction::Upgrade => server.upgrade(),
            SignalAction::More => scale(server, true),
            SignalAction::Fewer => scale(server, false),
            SignalAction::Recycle => order_all(server, &Order::Recycle),
            // A terminal sends WINCH whenever its window changes.
            SignalAction::Pause if is_at_terminal() => continue,
            SignalAction::Pause if server.succession().is_followed() => {
                Ok("the new process serves, too, until this one ends by SIGQUIT; to go back, end that one".into())
            }
            SignalAction::Pause => {
                let outcome = order_all(server, &Order::Pause);
                pauses = server.apps().all().iter().map(|app| app.pause_number()).collect();
                outcome
            }
            SignalAction::Backtraces => backtraces(server),
            SignalAction::End | SignalAction::EndNow | SignalAction::Ignore | SignalAction::ReopenLogs => continue,
        };
        tell(name, outcome);
    }
}

fn tell(name: &str, outcome: Result<String, String>) {
    match outcome {
        Ok(words) => info!(target: "server", "SIG{name}: {words}"),
        Err(why) => warn!(target: "server", "SIG{name}: {why}"),
    }
}

fn is_at_terminal() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
}

/// Ends the pauses with these numbers, one for each application, as far as they last; `None` if none does: it was ended
/// by a command, after which another one may have begun that no signal ends.
fn end_pauses(server: &ServerHandle, numbers: &[Option<u64>]) -> Option<Result<String, String>> {
    let apps = server.apps().all().iter().zip(numbers);
    let lasting = apps.filter(|(app, number)| number.is_some() && app.pause_number() == **number);
    let lasting: Vec<&Arc<App>> = lasting.map(|(app, _)| app).collect();
    (!lasting.is_empty()).then(|| server.apps().each(lasting, "; ", |app| app.order(Order::Resume)))
}

fn order_all(server: &ServerHandle, order: &Order) -> Result<String, String> {
    each(server, |app| app.order(order.clone()))
}

fn scale(server: &ServerHandle, more: bool) -> Result<String, String> {
    each(server, |app| {
        let wanted = app.engine().snapshot().pool.wanted;
        match app.bounds() {
            Some(bounds) => step(server, app, bounds, wanted, more),
            // The result is a fixed number, also if no number of workers is configured.
            None => {
                let count = if more { wanted + 1 } else { wanted.saturating_sub(1).max(1) };
                server.apps().resize(app, count, count)
            }
        }
    })
}

/// Adds or stops one worker of an elastic pool, within its bounds. The new number holds until the next order; but the
/// last worker of a pool that may have none can still exit when it has been idle.
fn step(
    server: &ServerHandle,
    app: &App,
    (fewest, most): (usize, usize),
    wanted: usize,
    more: bool,
) -> Result<String, String> {
    if more && wanted >= most {
        return Err(format!("there may be {} at most: foolsgold scale sets other bounds", count(most, "worker")));
    }
    let least = fewest.max(1);
    if !more && wanted <= least {
        return Err(format!("there must be {} at least: foolsgold scale sets other bounds", count(least, "worker")));
    }
    if more {
        return server.apps().resize(app, wanted + 1, most);
    }
    let count = wanted - 1;
    // Stops a worker now, and not only when it has been idle.
    server.apps().resize(app, count, count)?;
    server.apps().resize(app, if count == least { fewest } else { count }, most)
}

fn backtraces(server: &ServerHandle) -> Result<String, String> {
    each(server, |app| {
        let workers = app.engine().snapshot().workers;
        let traces = workers.iter().map(|worker| match app.order(Order::Backtraces(worker.id)) {
            Ok(text) | Err(text) => format!("worker {}:\n{text}", worker.id),
        });
        Ok(traces.collect::<Vec<_>>().join("\n"))
    })
}

/// Runs an action for each application and joins the outcomes; an error if any failed.
fn each(server: &ServerHandle, action: impl Fn(&Arc<App>) -> Result<String, String>) -> Result<String, String> {
    server.apps().each(server.apps().all(), "; ", action)
}
