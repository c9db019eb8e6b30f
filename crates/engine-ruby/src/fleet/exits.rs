//! Exit handling of workers and molds: their log entries, the requests and places that they leave, and the starts that
//! follow.

use std::time::{Duration, Instant};

use super::action::{Action, Dead};
use super::log_line::{LogLine, WorkerLine};
use super::mold::{Connection, Mold, MoldState};
use super::speaker::Speaker;
use super::worker::{End, WorkerProcess, named};
use super::{Fleet, Stage};
use crate::exit::Exit;
use crate::exit_reason::ExitReason;
use crate::preload::Preload;
use crate::start_error::StartError;

/// The wait for the reason of a failed boot, which arrives on another connection than the exit, perhaps later.
const FAILURE_REPORT_TIME: Duration = Duration::from_millis(100);
/// The time within which a mold reports the exit of a worker, unless it is busy with code of the application.
const EXIT_REPORT_TIME: Duration = Duration::from_secs(5);
/// The time after its order within which a worker of the start whose mold is gone may still connect.
const LATE_CONNECTION_TIME: Duration = Duration::from_secs(30);
/// The time within which the last frames of a process arrive after its exit.
const LAST_FRAMES_TIME: Duration = Duration::from_millis(100);

impl Fleet {
    /// Handles the end of a worker's control connection, or of its process. If the worker was booting, its mold knows
    /// its exit and reports it at once, unless that is gone too.
    pub(super) fn worker_disconnected(&mut self, id: u32, now: Instant) {
        let has_mold = |worker: &WorkerProcess| worker.mold.is_some_and(|mold| self.has_mold(mold));
        let is_awaited = |worker: &WorkerProcess| worker.is_booting() && worker.end.is_none() && has_mold(worker);
        if !self.workers.get(&id).is_some_and(is_awaited) {
            return self.worker_ended(id, None, now);
        }
        self.workers.entry(id).and_modify(|worker| worker.end = Some(End::Disconnected));
        self.act(Action::CheckAgain(id, EXIT_REPORT_TIME));
    }

    /// Handles the exit of a worker, reported by its mold.
    pub(super) fn exited(&mut self, mold: u32, worker: u32, pid: u32, exit: Exit, now: Instant) {
        self.molds.entry(mold).and_modify(|mold| mold.unreported.retain(|(id, _)| *id != worker));
        if let Some(process) = self.workers.get_mut(&worker) {
            process.mold = None;
            // While a worker boots, its own report says more.
            if process.is_booting() {
                process.end = Some(End::Reported(exit));
                return self.act(Action::CheckAgain(worker, FAILURE_REPORT_TIME));
            }
        }
        self.worker_ended(worker, None, now);
        self.log_worker(worker, Some(pid), WorkerLine::Exited(exit));
    }

    /// Handles a worker that is gone, or must be killed for an error.
    pub(super) fn worker_ended(&mut self, id: u32, why: Option<String>, now: Instant) {
        let Some(worker) = self.forget_worker(id) else { return };
        if let (Some(why), Some(pid)) = (why, worker.pid) {
            self.log_worker(id, Some(pid), WorkerLine::Killed { why });
            self.act(Action::Kill(pid));
        }
        if let (Some(mold), Some(pid)) = (worker.mold, worker.pid) {
            match self.molds.get_mut(&mold) {
                Some(mold) => mold.unreported.push((id, pid)),
                None => self.log_worker(id, Some(pid), WorkerLine::ExitUnknown),
            }
        }
        if self.is_stopping() {
            return;
        }
        if worker.is_booting() {
            let exit = worker.end.and_then(|end| if let End::Reported(exit) = end { Some(exit) } else { None });
            self.act(Action::AskKernel(Dead::Worker { id, pid: worker.pid, exit }));
        } else if worker.stays() {
            self.backoff.replaced(now);
        }
    }

    /// Drops everything that is known of a worker, and returns its last state. Dispatch knows it only if it has a
    /// process.
    pub(super) fn forget_worker(&mut self, id: u32) -> Option<WorkerProcess> {
        let worker = self.workers.remove(&id)?;
        self.expired.retain(|(expired, _)| *expired != id);
        if worker.pid.is_some() {
            self.act(Action::Remove(id));
        }
        self.act(Action::Forget(Speaker::Worker(id)));
        Some(worker)
    }

    /// Handles the answer whether the kernel has killed a process that was not ready.
    pub(super) fn kernel_asked(&mut self, dead: Dead, is_killed: bool, now: Instant) {
        let killed = format!("exited: {}", ExitReason::OutOfMemory.words());
        match dead {
            Dead::Worker { id, pid, .. } if is_killed => {
                self.act(Action::ExitIsLogged(id));
                self.memory_was_full(id, now);
                // The other workers may be enough. If there are none, the error says what happened.
                if self.staying() > 0 {
                    return self.log_worker(id, pid, WorkerLine::OutOfMemory);
                }
                self.cannot_start(too_early(id, pid, &killed), now);
            }
            Dead::Worker { id, pid, exit } => {
                let how = exit.map_or_else(|| "exited".to_owned(), |exit| exit.to_string());
                let error = too_early(id, pid, &how);
                // If the application was loaded before the fork, only hooks can have run.
                let is_of_hook = exit.is_some() && self.policy.preload != Preload::No;
                if is_of_hook { self.hook_failed(error, now) } else { self.cannot_start(error, now) }
            }
            Dead::Mold { exit, has_connected, is_over } => {
                let how = if is_killed { killed } else { exit.to_string() };
                if !has_connected && self.stage == Stage::Starting {
                    let has_failed = !is_killed && exit.status.is_some_and(|status| status != 0);
                    self.cannot_start(StartError::NoRuby { ruby: self.policy.ruby.clone(), how, has_failed }, now);
                } else if !is_over {
                    self.cannot_start(StartError::Ended(how), now);
                }
            }
        }
    }

    pub(super) fn mold_disconnected(&mut self, pid: u32, now: Instant) {
        self.molds.entry(pid).and_modify(|mold| mold.connection = Connection::Closed);
        self.mold_may_be_gone(pid, now);
    }

    pub(super) fn mold_ended(&mut self, pid: u32, exit: Exit, now: Instant) {
        self.molds.entry(pid).and_modify(|mold| mold.ended = Some((exit, now)));
        self.mold_may_be_gone(pid, now);
    }

    /// Closes the connections of molds that exited a while ago. A child may hold such a connection open, so that its
    /// end is never read; but the last frames may still be on their way.
    pub(super) fn close_dead_connections(&mut self, now: Instant) {
        let is_dead = |mold: &Mold| {
            mold.ended.as_ref().is_some_and(|(_, since)| now.saturating_duration_since(*since) >= LAST_FRAMES_TIME)
        };
        let ended = self.molds.iter().filter(|(_, mold)| is_dead(mold)).map(|(pid, _)| *pid);
        ended.collect::<Vec<_>>().into_iter().for_each(|pid| self.mold_disconnected(pid, now));
    }

    /// Removes a mold if both its exit and the end of its connection have been reported.
    fn mold_may_be_gone(&mut self, pid: u32, now: Instant) {
        if !self.molds.get(&pid).is_some_and(Mold::is_gone) {
            return;
        }
        let Some(mold) = self.molds.remove(&pid) else { return };
        self.act(Action::Forget(Speaker::Mold(pid)));
        for (worker, pid) in &mold.unreported {
            self.log_worker(*worker, Some(*pid), WorkerLine::ExitUnknown);
        }
        let Some((exit, _)) = mold.ended else { return };
        let orders = if mold.is_forker() { self.drop_orders() } else { 0 };
        if !mold.is_loaded() {
            let has_connected = mold.connection != Connection::Awaited;
            let is_over = mold.is_over();
            self.act(Action::AskKernel(Dead::Mold { exit, has_connected, is_over }));
        } else if let MoldState::Worker(worker) = mold.state {
            self.log_worker(worker, Some(pid), WorkerLine::Exited(exit));
            self.worker_ended(worker, None, now);
        } else if orders > 0 && !self.is_stopping() {
            let how = format!("the mold (pid {pid}) {exit}, before it forked a worker");
            self.cannot_start(StartError::Unready(how), now);
        } else if !self.is_stopping() && !mold.is_over() {
            self.log(LogLine::MoldExited { pid, exit });
            // If more workers may be needed, another mold follows at once, but not again and again without a pause.
            self.backoff.failed(now);
        }
        self.end_unheard(now);
    }

    /// Returns whether the mold is gone that would report the exit of this worker.
    pub(super) fn lacks_mold(&self, worker: &WorkerProcess) -> bool {
        worker.mold.is_some_and(|mold| !self.has_mold(mold))
    }

    /// Ends workers whose molds are gone, and of which nothing more will be heard: those that ended while they booted,
    /// and those that have not connected. These may have ended with their mold; if not, they are killed. At the start,
    /// which fails then, they have some time to connect.
    pub(super) fn end_unheard(&mut self, now: Instant) {
        if self.stage == Stage::Over {
            return;
        }
        let is_late = |since: Instant| now.saturating_duration_since(since) >= LATE_CONNECTION_TIME;
        let is_unheard = |worker: &WorkerProcess| match self.stage {
            Stage::Starting => !worker.is_connected && is_late(worker.since),
            _ => worker.end.is_some() || !worker.is_connected,
        };
        let unheard = self.workers.iter().filter(|(_, worker)| self.lacks_mold(worker) && is_unheard(worker));
        let unheard: Vec<(u32, Option<u32>)> =
            unheard.map(|(id, worker)| (*id, worker.pid.filter(|_| !worker.is_connected))).collect();
        for (id, unconnected) in unheard {
            unconnected.into_iter().for_each(|pid| self.act(Action::Kill(pid)));
            self.worker_ended(id, None, now);
        }
    }
}

fn too_early(worker: u32, pid: Option<u32>, how: &str) -> StartError {
    StartError::Unready(format!("{} {how} before it was ready", named(worker, pid)))
}

#[cfg(test)]
#[path = "exits_test.rs"]
mod tests;
