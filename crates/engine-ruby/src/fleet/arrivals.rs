//! A worker comes in by several connections, and serves when all are there.

use std::time::Instant;

use super::Fleet;
use super::action::Action;
use super::log_line::WorkerLine;
use super::speaker::Speaker;
use super::worker::{Leave, Life};
use crate::reason::Reason;
use crate::start_error::StartError;

impl Fleet {
    /// A mold has forked a worker.
    pub(super) fn forked(&mut self, mold: u32, worker: u32, pid: u32) {
        if let Some(worker) = self.workers.get_mut(&worker) {
            worker.runs_as(pid);
            // One that has become a worker itself cannot tell of its own end.
            worker.mold = Some(mold).filter(|mold| *mold != pid);
        }
    }

    pub(super) fn worker_connected(&mut self, id: u32, pid: u32) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.runs_as(pid);
        }
    }

    pub(super) fn thread_connected(&mut self, id: u32) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.threads += 1;
        }
        self.take_in(id);
    }

    /// A worker has opened all its connections and run its hooks.
    pub(super) fn worker_ready(&mut self, id: u32) {
        if let Some(worker) = self.workers.get_mut(&id)
            && worker.life == Life::Starting
        {
            worker.life = Life::Booted;
        }
        self.take_in(id);
    }

    /// Connections come in side by side: the last word decides.
    fn take_in(&mut self, id: u32) {
        let Some(worker) = self.workers.get(&id) else { return };
        let Some(pid) = worker.pid else { return };
        if worker.life != Life::Booted || worker.threads < self.policy.threads {
            return;
        }
        if self.is_stopping() {
            self.act(Action::Stop(Speaker::Worker(id)));
        }
        self.act(Action::TakeIn { worker: id, pid });
    }

    pub(super) fn taken_in(&mut self, id: u32, now: Instant) {
        let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.life == Life::Booted) else { return };
        worker.life = Life::Ready;
        let is_late = worker.leave.is_some();
        let took = now.saturating_duration_since(worker.since);
        let pid = worker.pid;
        self.log_worker(id, pid, WorkerLine::Ready { took });
        if is_late {
            self.act(Action::Retire(id, Reason::Scale));
        }
        self.backoff.worked();
        self.has_started();
    }

    pub(super) fn not_taken_in(&mut self, id: u32) {
        self.workers.entry(id).and_modify(|worker| worker.threads = 0);
    }

    /// A worker cannot load the application.
    pub(super) fn worker_failed(&mut self, id: u32, mut error: StartError, now: Instant) {
        self.workers.entry(id).and_modify(|worker| worker.fail());
        if let (Some(shared), StartError::App(error)) = (&self.not_shared, &mut error) {
            error.message = format!("{} ({})", error.message, loads_again(shared));
        }
        self.cannot_start(error, now);
    }

    /// A hook keeps a worker from starting.
    pub(super) fn worker_hook_failed(&mut self, id: u32, error: StartError, now: Instant) {
        self.workers.entry(id).and_modify(|worker| worker.fail());
        self.hook_failed(error, now);
    }

    /// A worker finishes what it has and goes, as dispatch says.
    pub(super) fn leaving(&mut self, id: u32, reason: Reason) {
        self.workers.entry(id).and_modify(|worker| worker.leave = Some(Leave::of(reason)));
    }

    /// A worker is to finish what it has, and go.
    pub(super) fn send_away(&mut self, id: u32, reason: Reason) {
        self.leaving(id, reason);
        self.act(Action::Retire(id, reason));
    }
}

/// Why an application that could be loaded is loaded once more, where it then fails.
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
