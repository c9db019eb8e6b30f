//! The boot of a worker: it opens several connections, and serves when all are open and its hooks have run.

use std::time::Instant;

use super::Fleet;
use super::action::Action;
use super::log_line::WorkerLine;
use super::speaker::Speaker;
use super::worker::{Leave, Life, named};
use crate::exit_reason::ExitReason;
use crate::start_error::StartError;

impl Fleet {
    /// Notes that a mold has forked a worker.
    pub(super) fn forked(&mut self, mold: u32, worker: u32, pid: u32) {
        if let Some(worker) = self.workers.get_mut(&worker) {
            worker.pid = Some(pid);
            // A mold that has become a worker itself cannot report its own exit.
            worker.mold = Some(mold).filter(|mold| *mold != pid);
        }
    }

    pub(super) fn worker_connected(&mut self, id: u32, pid: u32) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.pid = Some(pid);
            worker.is_connected = true;
        }
    }

    pub(super) fn thread_connected(&mut self, id: u32) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.threads += 1;
        }
        self.add_worker(id);
    }

    /// Notes that a worker has opened all its connections and run its hooks.
    pub(super) fn worker_ready(&mut self, id: u32) {
        if let Some(worker) = self.workers.get_mut(&id)
            && worker.life == Life::Starting
        {
            worker.life = Life::Booted;
        }
        self.add_worker(id);
    }

    /// Adds a worker to dispatch when everything it needs is there. Its connections arrive in any order, so each event
    /// tries. One that has ended meanwhile would get requests that nobody reads.
    fn add_worker(&mut self, id: u32) {
        let Some(worker) = self.workers.get(&id) else { return };
        let Some(pid) = worker.pid else { return };
        if worker.life != Life::Booted || worker.threads < self.policy.threads || worker.end.is_some() {
            return;
        }
        if self.is_stopping() {
            self.act(Action::Stop(Speaker::Worker(id)));
        }
        self.act(Action::AddWorker { worker: id, pid });
    }

    pub(super) fn worker_added(&mut self, id: u32, now: Instant) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.life == Life::Booted) else { return };
        worker.life = Life::Ready;
        let is_late = worker.leave.is_some();
        let took = now.saturating_duration_since(worker.since);
        let pid = worker.pid;
        let is_recovery = self.backoff.worked();
        self.log_worker(id, pid, WorkerLine::Ready { took, is_recovery });
        if is_late {
            self.act(Action::Retire(id, ExitReason::Scale));
        }
        self.report_start();
    }

    /// Ends a worker whose connections cannot be used. It does not open them again, so it would never be ready.
    pub(super) fn worker_not_added(&mut self, id: u32, why: &str, now: Instant) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.fail();
        let pid = worker.pid;
        pid.into_iter().for_each(|pid| self.act(Action::Kill(pid)));
        self.cannot_start(StartError::Unready(format!("{} cannot be used: {why}", named(id, pid))), now);
    }

    /// Handles a worker that cannot load the application.
    pub(super) fn worker_failed(&mut self, id: u32, mut error: StartError, now: Instant) {
        self.workers.entry(id).and_modify(|worker| worker.fail());
        if let (Some(shared), StartError::App(error)) = (&self.not_shared, &mut error) {
            error.message = format!("{} ({})", error.message, loads_again(shared));
        }
        self.cannot_start(error, now);
    }

    /// Handles a hook that keeps a worker from starting.
    pub(super) fn worker_hook_failed(&mut self, id: u32, error: StartError, now: Instant) {
        self.workers.entry(id).and_modify(|worker| worker.fail());
        self.hook_failed(error, now);
    }

    /// Notes that dispatch has retired a worker. If that had expired, it waits for no successor any more.
    pub(super) fn leaving(&mut self, id: u32, reason: ExitReason) {
        self.workers.entry(id).and_modify(|worker| worker.leave = Some(Leave::of(reason)));
        self.expired.retain(|(expired, _)| *expired != id);
    }

    /// Retires a worker: it finishes its requests and exits.
    pub(super) fn retire(&mut self, id: u32, reason: ExitReason) {
        self.leaving(id, reason);
        self.act(Action::Retire(id, reason));
    }
}

/// Explains, for an application that failed in a worker, that it was loaded a second time and why.
fn loads_again(shared: &str) -> String {
    format!(
        "it could be loaded before workers were forked, and is now loaded in each of them, because they would share \
         {shared}. If workers do not use that, or each connects anew by itself, --preload=force forks them all the \
         same; otherwise close it in before_fork and open it in after_fork"
    )
}

#[cfg(test)]
#[path = "arrivals_test.rs"]
mod tests;
