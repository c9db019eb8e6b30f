//! The log entries of the fleet in words, and log entries that processes send.

use std::time::Duration;

use engine::{brief, count};

use super::event_loop::EventLoop;
use crate::exit_reason::ExitReason;
use crate::fleet::{LogLine, Waiting, WorkerLine, named, range};
use crate::process::is_stopped;
use crate::settings::Growth;
use crate::start_error::boot_limit;

/// The explanation why a process does not answer, if it is stopped.
fn stopped(pid: Option<u32>) -> &'static str {
    if pid.is_some_and(is_stopped) { ": the process is stopped (SIGSTOP)" } else { "" }
}

impl EventLoop {
    /// Writes a log entry of the fleet.
    pub(super) fn log(&self, line: LogLine) {
        let app = self.app();
        match line {
            LogLine::NotReady { passed, waiting } => {
                let time = brief(passed);
                let what = self.in_words(waiting);
                tracing::info!(target: "engine", app, "no worker is ready after {time}: {what}");
            }
            LogLine::BootSlow { worker, passed, waiting } => {
                let time = brief(passed);
                let what = self.in_words(waiting);
                let text = format!("worker {worker} is not ready after {time}: {what}");
                match waiting {
                    Waiting::Fork => tracing::warn!(target: "engine", worker, app, "{text}"),
                    // The application may take long to load.
                    Waiting::Mold(_) | Waiting::Worker(..) => tracing::info!(target: "engine", worker, app, "{text}"),
                }
            }
            LogLine::BootTimedOut { pid, limit } => {
                let limit = boot_limit(limit);
                tracing::error!(target: "engine", pid, app, "pid {pid} killed: boot timed out after {limit}");
            }
            LogLine::BootFailed { pause, error } => {
                let pause = brief(pause);
                tracing::error!(target: "engine", app, "boot failed, retrying in {pause}: {error}");
            }
            LogLine::MoldLoaded { pid, took, is_first } => self.log_loaded(pid, took, is_first),
            LogLine::WillNotFork { shared } => tracing::warn!(
                target: "engine",
                app,
                "the application holds connections open that its workers would share, so each worker loads it itself: \
                 {shared}. Close them in before_fork and open them in after_fork; or set --preload=no, which spares \
                 this attempt; or --preload=force, if each worker connects anew by itself"
            ),
            LogLine::MoldExited { pid, exit } => {
                let (status, signal) = (exit.status, exit.signal());
                tracing::warn!(target: "engine", pid, status, signal, app, "mold (pid {pid}) {exit}; its workers stay");
            }
            LogLine::ScalingUp { wanted } => {
                let (waiting, growth) = {
                    let dispatch = self.pool.dispatch();
                    (dispatch.queue.len(), dispatch.growth)
                };
                let wanted = count(wanted, "worker");
                let waiting = count(waiting, "request");
                let why = match growth {
                    Growth::Waiting => "",
                    Growth::Computing => " while every worker computes",
                };
                tracing::info!(target: "engine", app, "scaling up to {wanted}: {waiting} waiting{why}");
            }
            LogLine::Scaled { min, max, wanted } => {
                let bounds = range(min, max);
                tracing::info!(target: "engine", app, "scale: {bounds}, {wanted} now");
            }
            LogLine::HeldByMemory { shortage, there, wanted } => {
                let wanted = match wanted {
                    wanted if wanted > there => format!("{there} of {} run", count(wanted, "worker")),
                    _ => format!("{} run, and requests wait", count(there, "worker")),
                };
                tracing::warn!(target: "engine", app, "no memory for another worker: {shortage}; {wanted}");
            }
            LogLine::Worker(worker, pid, line) => self.log_worker(worker, pid, line),
        }
    }

    /// Returns what a boot waits for, and whether that is stopped.
    fn in_words(&self, waiting: Waiting) -> String {
        let (pid, what) = match waiting {
            Waiting::Mold(pid) => (Some(pid), "loading the application".to_owned()),
            Waiting::Worker(worker, pid) => (Some(pid), format!("worker {worker} is booting")),
            Waiting::Fork => {
                (self.fleet.forking_mold(), "waiting for the mold to fork, which may run a hook".to_owned())
            }
        };
        match pid {
            Some(pid) => format!("{what} (pid {pid}){}", stopped(Some(pid))),
            None => what,
        }
    }

    /// Writes a log entry about one worker.
    fn log_worker(&self, worker: u32, pid: Option<u32>, line: WorkerLine) {
        let app = self.app();
        let who = named(worker, pid);
        match line {
            WorkerLine::Ready { took, is_recovery } => {
                let ms = took.as_secs_f64() * 1e3;
                let time = brief(took);
                let text = format!("{who} ready after {time}");
                match is_recovery {
                    true => tracing::info!(target: "engine", worker, pid, ms, app, "{text}: boots work again"),
                    false => tracing::debug!(target: "engine", worker, pid, ms, app, "{text}"),
                }
            }
            WorkerLine::Killed { why } => {
                tracing::error!(target: "engine", worker, pid, app, "{who} killed: {why}");
            }
            WorkerLine::Exited(_) | WorkerLine::ExitUnknown if self.pool.take_logged_exit(worker) => {}
            WorkerLine::Exited(exit) => {
                let (status, signal) = (exit.status, exit.signal());
                match exit.is_failure() {
                    true => tracing::warn!(target: "engine", worker, pid, status, signal, app, "{who} {exit}"),
                    false => tracing::info!(target: "engine", worker, pid, status, signal, app, "{who} {exit}"),
                }
            }
            WorkerLine::ExitUnknown => {
                let why = "its mold exited first";
                tracing::info!(target: "engine", worker, pid, app, "{who} exited, status unknown: {why}");
            }
            WorkerLine::OutOfMemory => {
                let (reason, what) = (ExitReason::OutOfMemory.name(), ExitReason::OutOfMemory.words());
                tracing::error!(target: "engine", worker, pid, reason, signal = "SIGKILL", app, "{who} exited: {what}");
            }
            WorkerLine::Hung => {
                let (reason, words, why) = (ExitReason::Hung.name(), ExitReason::Hung.words(), stopped(pid));
                tracing::error!(target: "engine", worker, pid, reason, app, "{who} killed: {words}{why}");
            }
            WorkerLine::Silent { silent, limit } => {
                let time = brief(silent);
                let why = stopped(pid);
                let what = match limit.is_zero() {
                    true => "it is left alone (--worker-timeout 0)".to_owned(),
                    false => format!("it is killed after {} (--worker-timeout)", brief(limit)),
                };
                tracing::warn!(target: "engine", worker, pid, app, "{who} has not answered for {time}{why}; {what}");
            }
            WorkerLine::AnswersAgain => tracing::info!(target: "engine", worker, pid, app, "{who} answers again"),
            WorkerLine::TooLarge { pss_kib, limit_kib } => tracing::info!(
                target: "engine",
                worker, pid, app, pss_kib, limit_kib,
                "{who} uses {pss_kib} KiB of memory, of {limit_kib} KiB that it may use"
            ),
            WorkerLine::WeightUnknown => tracing::warn!(
                target: "engine",
                worker, pid, app,
                "{who}: its memory cannot be read (/proc/PID/smaps_rollup), so --worker-memory has no effect"
            ),
            WorkerLine::Largest { shortage, own_kib } => {
                let used = shortage.used();
                let mib = own_kib.div_ceil(1024);
                tracing::warn!(
                    target: "engine",
                    worker, pid, app,
                    "memory is short: {used}; {who} is the largest, with {mib} MiB of its own, and shuts down"
                );
            }
        }
    }

    /// Logs that an application was loaded: at debug level at the start and at a reload, when the server itself logs
    /// more.
    fn log_loaded(&self, pid: u32, took: Duration, is_first: bool) {
        let app = self.app();
        let ms = took.as_secs_f64() * 1e3;
        let time = brief(took);
        if is_first {
            tracing::debug!(target: "engine", pid, ms, app, "application loaded after {time} (pid {pid})");
        } else {
            tracing::info!(target: "engine", pid, ms, app, "mold (pid {pid}) loaded the application after {time}");
        }
    }

    /// Writes a log entry that a process has sent.
    pub(super) fn log_for(&self, who: &str, worker: Option<u32>, pid: Option<u32>, level: u8, text: &str) {
        let app = self.app();
        match level {
            1 => tracing::error!(target: "app", worker, pid, app, "{who}: {text}"),
            2 => tracing::warn!(target: "app", worker, pid, app, "{who}: {text}"),
            3 => tracing::info!(target: "app", worker, pid, app, "{who}: {text}"),
            _ => tracing::debug!(target: "app", worker, pid, app, "{who}: {text}"),
        }
    }
}
