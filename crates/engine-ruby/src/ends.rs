//! Workers and molds that end: what is still to be said of them, and what they leave to do.

use std::time::Instant;

use crate::StartError;
use crate::process::{Mold, kill_now};
use crate::reason::Reason;
use crate::supervisor::Work;

impl Work {
    /// A worker is gone, or must be.
    pub(crate) fn worker_ended(&mut self, id: u32, why: Option<String>) {
        self.pool.bury(id, None);
        self.worn.retain(|(worn, _)| *worn != id);
        let Some(worker) = self.workers.remove(&id) else { return };
        if let (Some(why), Some(pid)) = (why, worker.pid) {
            tracing::error!(target: "engine", "worker {id} (pid {pid}) is ended: {why}");
            kill_now(pid);
        }
        if let (Some(mold), Some(pid)) = (worker.mold, worker.pid) {
            match self.molds.get_mut(&mold) {
                Some(mold) => mold.untold.push((id, pid)),
                None => untold_end(id, pid),
            }
        }
        if !worker.is_ready && !self.is_stopping {
            let is_of_memory = self.pool.kernel_has_killed();
            if is_of_memory {
                self.memory_was_full(id, Instant::now());
                // Others may be enough. If none is, the last one says so.
                if self.staying() > 0 {
                    tracing::error!(target: "engine", "worker {id} has ended: {}", Reason::OutOfMemory.words());
                    return;
                }
            }
            let how = match is_of_memory {
                true => format!(": {}", Reason::OutOfMemory.words()),
                false => worker.ended.map_or_else(String::new, |how| format!(": {how}")),
            };
            self.cannot_start(StartError::Ended(format!("worker {id} ended before it was ready{how}")));
        } else if !worker.is_leaving && !self.is_stopping {
            self.backoff.replaced(Instant::now());
        }
    }

    /// A mold has told how this worker of it ended.
    pub(crate) fn end_is_told(&mut self, mold: u32, worker: u32) {
        self.workers.entry(worker).and_modify(|worker| worker.mold = None);
        self.molds.entry(mold).and_modify(|mold| mold.untold.retain(|(id, _)| *id != worker));
    }

    /// Its end and its last words come on two ways: both must have come.
    pub(crate) fn process_ended(&mut self, pid: u32) {
        let is_over = |mold: &Mold| mold.ended.is_some() && (mold.is_silent || mold.control.is_none());
        if !self.molds.get(&pid).is_some_and(is_over) {
            return;
        }
        let Some(mold) = self.molds.remove(&pid) else { return };
        mold.untold.iter().for_each(|(worker, pid)| untold_end(*worker, *pid));
        let how = match mold.ready.is_none() && self.pool.kernel_has_killed() {
            true => Reason::OutOfMemory.words().to_owned(),
            false => mold.ended.map_or_else(String::new, |(how, _)| how),
        };
        let orders = if mold.ready == Some(true) { self.drop_orders() } else { 0 };
        if let Some(worker) = mold.worker {
            tracing::info!(target: "engine", "worker {worker} (pid {pid}) has ended: {how}");
            self.worker_ended(worker, None);
        } else if mold.ready.is_none() && mold.control.is_none() && self.told.is_some() {
            self.cannot_start(StartError::NoRuby(self.settings.ruby.clone(), how));
        } else if mold.ready.is_none() && !mold.is_over {
            self.cannot_start(StartError::Ended(how));
        } else if orders > 0 && !self.is_stopping {
            self.cannot_start(StartError::Ended(format!("{how}, while it was to fork a worker")));
        } else if !self.is_stopping && !mold.is_over {
            tracing::warn!(target: "engine", "the mold (pid {pid}) has ended: {how}; workers go on");
            // Where the pool is elastic there will be another at once, but not again and again without a pause.
            self.backoff.failed(Instant::now());
        }
    }
}

/// Only a parent learns how a process ends.
fn untold_end(worker: u32, pid: u32) {
    tracing::info!(target: "engine", "worker {worker} (pid {pid}) has ended; how, its mold did not live to tell");
}
