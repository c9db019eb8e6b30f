//! Workers and molds that end: what is still to be said of them, and what they leave to do.

use std::time::Instant;

use crate::exit::Exit;
use crate::process::{Mold, kill_now};
use crate::reason::Reason;
use crate::settings::Preload;
use crate::start_error::StartError;
use crate::work::Work;

impl Work {
    /// A worker is gone, or must be.
    pub(crate) fn worker_ended(&mut self, id: u32, why: Option<String>) {
        self.pool.bury(id, None);
        self.worn.retain(|(worn, _)| *worn != id);
        let Some(worker) = self.workers.remove(&id) else { return };
        if let (Some(why), Some(pid)) = (why, worker.pid) {
            let app = self.app();
            tracing::error!(target: "engine", worker = id, pid, app, "worker {id} (pid {pid}) killed: {why}");
            kill_now(pid);
        }
        if let (Some(mold), Some(pid)) = (worker.mold, worker.pid) {
            match self.molds.get_mut(&mold) {
                Some(mold) => mold.untold.push((id, pid)),
                None => self.unknown_exit(id, pid),
            }
        }
        if !worker.is_ready && !self.is_stopping {
            let is_of_memory = self.pool.kernel_has_killed();
            let named = named(id, worker.pid);
            if is_of_memory {
                self.pool.has_told_end(id);
                self.memory_was_full(id, Instant::now());
                // The other workers may be enough. If there is none, what follows says so.
                if self.staying() > 0 {
                    let (what, reason) = (Reason::OutOfMemory.words(), Reason::OutOfMemory.name());
                    let (app, pid, signal) = (self.app(), worker.pid, "SIGKILL");
                    tracing::error!(target: "engine", worker = id, pid, reason, signal, app, "{named} exited: {what}");
                    return;
                }
            }
            let how = match worker.ended {
                _ if is_of_memory => format!("exited: {}", Reason::OutOfMemory.words()),
                ended => ended.map_or_else(|| "exited".to_owned(), |exit| exit.to_string()),
            };
            let error = StartError::Ended(format!("{named} {how} before it was ready"));
            // Where the application is loaded by then, hooks are all that has run.
            let is_of_hook = !is_of_memory && worker.ended.is_some() && self.settings.preload != Preload::No;
            if is_of_hook { self.hook_failed(error) } else { self.cannot_start(error) }
        } else if !worker.is_leaving && !self.is_stopping {
            self.backoff.replaced(Instant::now());
        }
    }

    /// The log already says why this worker does not start, so the end of its process is not logged.
    pub(crate) fn end_is_logged(&mut self, worker: u32) {
        self.workers.entry(worker).and_modify(|worker| (worker.is_ready, worker.is_leaving) = (true, true));
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
        // Whoever waits for its hooks is told by that.
        self.preparing.take_if(|(preparing, _)| *preparing == pid);
        mold.untold.iter().for_each(|(worker, pid)| self.unknown_exit(*worker, *pid));
        let Some((exit, _)) = mold.ended else { return };
        let how = match mold.ready.is_none() && self.pool.kernel_has_killed() {
            true => format!("exited: {}", Reason::OutOfMemory.words()),
            false => exit.to_string(),
        };
        let orders = if mold.ready == Some(true) { self.drop_orders() } else { 0 };
        if let Some(worker) = mold.worker {
            self.log_exit(worker, pid, exit);
            self.worker_ended(worker, None);
        } else if mold.ready.is_none() && mold.control.is_none() && self.told.is_some() {
            self.cannot_start(StartError::NoRuby(self.settings.ruby.clone(), how));
        } else if mold.ready.is_none() && !mold.is_over {
            self.cannot_start(StartError::Ended(how));
        } else if orders > 0 && !self.is_stopping {
            self.cannot_start(StartError::Ended(format!("the mold (pid {pid}) {exit}, before it forked a worker")));
        } else if !self.is_stopping && !mold.is_over {
            let (app, status, signal) = (self.app(), exit.status, exit.signal());
            tracing::warn!(target: "engine", pid, status, signal, app, "mold (pid {pid}) {exit}; its workers stay");
            // Where the pool is elastic there will be another at once, but not again and again without a pause.
            self.backoff.failed(Instant::now());
        }
    }

    /// Logs how a worker ended, unless the log has that already.
    pub(crate) fn log_exit(&self, worker: u32, pid: u32, exit: Exit) {
        if self.pool.is_end_told(worker) {
            return;
        }
        let (app, status, signal) = (self.app(), exit.status, exit.signal());
        tracing::info!(target: "engine", worker, pid, status, signal, app, "worker {worker} (pid {pid}) {exit}");
    }

    /// Only a parent learns how a process ends, and the mold has ended, too.
    fn unknown_exit(&self, worker: u32, pid: u32) {
        if self.pool.is_end_told(worker) {
            return;
        }
        let (app, why) = (self.app(), "its mold exited first");
        tracing::info!(target: "engine", worker, pid, app, "worker {worker} (pid {pid}) exited, status unknown: {why}");
    }

    /// What the log calls the application.
    pub(crate) fn app(&self) -> Option<&str> {
        self.settings.app.as_deref()
    }

    /// See [`named`].
    pub(crate) fn named(&self, worker: u32) -> String {
        named(worker, self.workers.get(&worker).and_then(|worker| worker.pid))
    }
}

/// A worker with its process, as every line of the log names it.
pub(crate) fn named(worker: u32, pid: Option<u32>) -> String {
    pid.map_or_else(|| format!("worker {worker}"), |pid| format!("worker {worker} (pid {pid})"))
}
