//! Signals as events: each asks the server for what the active map says. What takes time is done by a thread of its
//! own, one thing after the other, so that an end is never kept waiting.

use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::Poll;
use std::thread;

use engine::snapshot::Bounds;
use engine::{Order, count};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::apps::app::App;
use crate::apps::registry::named;
use crate::config::signal_map::{Act, Habit};
use crate::control::handle::ServerHandle;

/// More than so many that wait are slips of a script.
const WAITING_MAX: usize = 16;

/// The signals this program listens to.
pub struct Signals {
    habit: Habit,
    heard: Vec<(&'static str, Act, Signal)>,
    ends: u32,
    errands: SyncSender<(&'static str, Act)>,
    /// Until the server is there.
    waiting: Option<Receiver<(&'static str, Act)>>,
}

/// Has the kernel tell how child processes end where whoever started this process ignores SIGCHLD (`trap '' CHLD` in a
/// shell): otherwise it tells nobody, and process 1 would never hear of the end of the server.
pub fn hear_of_children() -> io::Result<()> {
    if !is_ignored(SignalKind::child()) {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    // The handler stays when nobody listens any more, and programs that are started begin without it.
    runtime.block_on(async { signal(SignalKind::child()).map(drop) })
}

/// Whether this process ignores the signal (proc(5), `SigIgn`).
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

impl Signals {
    /// Starts listening to those that do not ask for an end: until the application is loaded, the others end the
    /// process as they always do.
    pub fn listen(habit: Habit) -> io::Result<Signals> {
        let (errands, waiting) = sync_channel(WAITING_MAX);
        let mut signals = Signals { habit, heard: Vec::new(), ends: 0, errands, waiting: Some(waiting) };
        signals.hear(|act| !matches!(act, Act::End | Act::EndNow))?;
        // A file that may not grow (RLIMIT_FSIZE) is an error for whoever writes it, and no reason to die.
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(signals)
    }

    /// Listens to all of them from now on.
    pub fn listen_to_ends(&mut self) -> io::Result<()> {
        self.hear(|act| matches!(act, Act::End | Act::EndNow))
    }

    fn hear(&mut self, which: impl Fn(Act) -> bool) -> io::Result<()> {
        for ((name, number), act) in self.habit.meanings().iter().filter(|(_, act)| which(*act)) {
            self.heard.push((name, *act, signal(SignalKind::from_raw(number.as_raw()))?));
        }
        Ok(())
    }

    /// Waits for the next signal and has done what it asks for.
    pub async fn follow(&mut self, server: &ServerHandle) {
        let heard = &mut self.heard;
        let (name, act) = poll_fn(|cx| {
            for (name, act, signal) in heard.iter_mut() {
                if let Poll::Ready(Some(())) = signal.poll_recv(cx) {
                    return Poll::Ready((*name, *act));
                }
            }
            Poll::Pending
        })
        .await;
        match act {
            Act::End if server.puts_off_the_end() => {
                info!(target: "server", "SIG{name}: graceful shutdown, when the new process serves");
            }
            Act::End => {
                self.ends += 1;
                let again = self.ends > 1;
                let what = if again { " again: immediate shutdown" } else { ": graceful shutdown" };
                info!(target: "server", "SIG{name}{what}");
                if again { server.stop(true) } else { server.drain() }
            }
            Act::EndNow => {
                info!(target: "server", "SIG{name}: immediate shutdown");
                server.stop(true);
            }
            Act::Ignore => info!(target: "server", "SIG{name} is ignored"),
            act => self.send(name, act, server),
        }
    }

    fn send(&mut self, name: &'static str, act: Act, server: &ServerHandle) {
        if let Some(waiting) = self.waiting.take() {
            let server = server.clone();
            let runner = thread::Builder::new().name("signals".into()).spawn(move || run(&waiting, &server));
            if let Err(error) = runner {
                warn!(target: "server", "no thread for signals: {error}");
            }
        }
        if self.errands.try_send((name, act)).is_err() {
            warn!(target: "server", "SIG{name} is dropped: too many signals are pending");
        }
    }
}

fn run(errands: &Receiver<(&'static str, Act)>, server: &ServerHandle) {
    let mut is_resting = false;
    while let Ok((name, act)) = errands.recv() {
        // What ends a pause in Unicorn.
        if is_resting && matches!(act, Act::Reload | Act::More) {
            is_resting = false;
            tell(name, order_all(server, &Order::Resume));
        }
        let outcome = match act {
            Act::Reload => {
                info!(target: "server", "SIG{name}: reloading");
                // What comes of it is in the log by itself.
                drop(server.reload(None));
                continue;
            }
            Act::ReopenLogs => server.reopen_logs(),
            Act::Upgrade => server.upgrade(),
            Act::More => scale(server, true),
            Act::Fewer => scale(server, false),
            Act::Recycle => order_all(server, &Order::Recycle),
            Act::Pause => match pause(server) {
                None => continue,
                Some(outcome) => {
                    is_resting = outcome.is_ok();
                    outcome
                }
            },
            Act::Backtraces => backtraces(server),
            Act::End | Act::EndNow | Act::Ignore => continue,
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

/// Unicorn's WINCH, which a terminal sends whenever its window changes; there it means nothing.
fn pause(server: &ServerHandle) -> Option<Result<String, String>> {
    if io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal() {
        return None;
    }
    if server.is_followed() {
        return Some(
            Ok("the new process serves, too, until this one ends by SIGQUIT; to go back, end that one".into()),
        );
    }
    Some(order_all(server, &Order::Pause))
}

fn order_all(server: &ServerHandle, order: &Order) -> Result<String, String> {
    each(server, |app| app.order(order.clone()))
}

fn scale(server: &ServerHandle, more: bool) -> Result<String, String> {
    each(server, |app| {
        let Bounds { min, max, wanted, .. } = app.engine().snapshot().pool;
        let own = app.current().bounds().unwrap_or((min, max));
        if min == max && own.0 == own.1 {
            let count = if more { max + 1 } else { max.saturating_sub(1).max(1) };
            return server.apps().scale(app, count, count);
        }
        step(server, app, (own.0.max(1), max), wanted, more)
    })
}

/// One worker more or less of an elastic pool, within what it may have; it is kept until somebody says something else.
fn step(
    server: &ServerHandle,
    app: &App,
    (fewest, most): (usize, usize),
    wanted: usize,
    more: bool,
) -> Result<String, String> {
    if more && wanted >= most {
        return Err(format!("there may be {} at most: foolsgold scale sets other bounds", count(wanted, "worker")));
    }
    if !more && wanted <= fewest {
        return Err(format!("there must be {} at least: foolsgold scale sets other bounds", count(wanted, "worker")));
    }
    let count = if more { wanted + 1 } else { wanted - 1 };
    if !more {
        // Makes one go now, and not when it has had nothing to do for long.
        server.apps().scale(app, count, count)?;
    }
    server.apps().scale(app, count, most)
}

fn backtraces(server: &ServerHandle) -> Result<String, String> {
    each(server, |app| {
        let workers = app.engine().snapshot().workers;
        let told = workers.iter().map(|worker| match app.order(Order::Backtraces(worker.id)) {
            Ok(text) | Err(text) => format!("worker {}:\n{text}", worker.id),
        });
        Ok(told.collect::<Vec<_>>().join("\n"))
    })
}

/// What came of it for each application; an error if one had one.
fn each(server: &ServerHandle, act: impl Fn(&Arc<App>) -> Result<String, String>) -> Result<String, String> {
    let apps = server.apps().all();
    let outcomes: Vec<_> = apps.iter().map(|app| (app.name(), act(app))).collect();
    let failed = outcomes.iter().any(|(_, outcome)| outcome.is_err());
    let words =
        outcomes.into_iter().map(|(name, outcome)| named(apps.len() > 1, name, outcome.unwrap_or_else(|why| why)));
    let words = words.collect::<Vec<_>>().join("; ");
    if failed { Err(words) } else { Ok(words) }
}
