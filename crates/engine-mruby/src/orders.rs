//! Snapshots of the interpreters for the live page, and orders for them: pause, resume, recycle, kill-worker.

use std::sync::atomic::Ordering;
use std::time::Instant;

use engine::snapshot::Bounds;
use engine::{Engine, Order, Snapshot, count};

use crate::pool::Pool;

impl Pool {
    /// The state of all interpreters and of the queue.
    pub(crate) fn view(&self) -> Snapshot {
        let now = Instant::now();
        let count = self.settings.interpreters;
        let waited = self.queue.first(|job| now.saturating_duration_since(job.offered));
        Snapshot {
            engine: "mruby".to_owned(),
            runtime: crate::version().to_owned(),
            status: self.status(),
            oldest_wait_ms: waited.unwrap_or_default().as_secs_f64() * 1e3,
            is_paused: self.queue.is_paused(),
            is_newest_first: self.queue.favours_newest(now),
            pool: Bounds { min: count, max: count, wanted: count, ..Bounds::default() },
            workers: self.watchdog.views(now),
            molds: Vec::new(),
            restarts_by: self.restarts_by(),
        }
    }

    /// Ends a pause, and runs the waiting requests.
    pub(crate) fn resume(&self) {
        let pairs = self.queue.resume(Instant::now());
        pairs.into_iter().for_each(|(interpreter, job)| self.begin(interpreter, job));
    }

    /// Carries out an order and returns a sentence about it; an error where the order does not apply.
    pub(crate) fn carry_out(&self, order: Order) -> Result<String, String> {
        match order {
            Order::Pause => {
                self.queue.pause(Instant::now());
                tracing::info!(target: "engine", app = self.app(), "paused: requests wait");
                Ok("paused: requests wait".to_owned())
            }
            Order::Resume => {
                if !self.queue.is_paused() {
                    return Ok("it was not paused".to_owned());
                }
                let waiting = self.queue.depth().waiting;
                self.resume();
                let words = format!("resumed: {} waited", count(waiting, "request"));
                tracing::info!(target: "engine", app = self.app(), "{words}");
                Ok(words)
            }
            Order::Recycle => {
                let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
                // Interpreters that run a request are replaced after it.
                while let Some(interpreter) = self.queue.take_idle(|one| one.generation < generation) {
                    self.recycle_idle(interpreter);
                }
                Ok(format!("replacing {}", count(self.settings.interpreters, "interpreter")))
            }
            Order::EndWorker { worker, now } => self.end(worker, now),
            Order::Scale { .. } => Err(format!(
                "embedded interpreters are as many as --threads says, {} here: another number counts after a reload \
                 where foolsgold.toml has it, else from the next start on",
                self.settings.interpreters
            )),
            Order::Backtraces(_) => {
                Err("embedded interpreters cannot be asked what they do: see which requests run".to_owned())
            }
        }
    }

    fn end(&self, number: u32, now: bool) -> Result<String, String> {
        let Some(run_state) = self.watchdog.run_state(number) else {
            let last = self.settings.interpreters - 1;
            return Err(format!("there is no interpreter {number}: there are 0 to {last}"));
        };
        // One that loads the application is on its way to what the order asks for: broken off, it would have failed.
        let now = now && run_state.runs_request();
        run_state.end(now);
        if let Some(interpreter) = self.queue.take_idle(|one| one.number == number as usize) {
            self.recycle_idle(interpreter);
            return Ok(format!("interpreter {number} is replaced"));
        }
        Ok(format!("interpreter {number} is replaced when {}", if now { "it has stopped" } else { "it has done" }))
    }
}
