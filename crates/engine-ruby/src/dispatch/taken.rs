//! What keeps a worker, and the whole engine, from its end: requests, and connections that the application has taken
//! over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pool::Pool;
use super::relay::Leaving;

/// A connection that an application has taken over, counted for as long as this is kept.
pub struct Relaying(Arc<Pool>, u32);

impl Drop for Relaying {
    fn drop(&mut self) {
        if let Some(worker) = self.0.dispatch().worker(self.1) {
            worker.taken -= 1;
        }
    }
}

impl Pool {
    /// Counts a connection that was taken over in this worker; and what says that the worker leaves.
    pub fn relaying(self: &Arc<Pool>, worker: u32) -> (Relaying, Arc<Leaving>) {
        let mut leaving = Arc::default();
        if let Some(worker) = self.dispatch().worker(worker) {
            worker.taken += 1;
            leaving = worker.leaving.clone();
        }
        (Relaying(self.clone(), worker), leaving)
    }

    /// All workers are to leave: connections that were taken over are closed.
    pub fn leave(&self) {
        self.dispatch().workers.iter().for_each(|worker| worker.leaving.say());
    }

    /// Stops workers that are to leave and have kept nothing but connections that were taken over, when these are gone
    /// or have had this time.
    pub fn stop_lingering(&self, now: Instant, time: Duration) {
        for worker in self.dispatch().workers.iter_mut().filter(|worker| worker.is_leaving && worker.busy == 0) {
            let since = *worker.lingers.get_or_insert(now);
            if worker.is_done() || now.saturating_duration_since(since) > time {
                worker.control.stop();
            }
        }
    }

    /// Requests that are not over, and connections that were taken over.
    pub fn unfinished(&self) -> usize {
        let dispatch = self.dispatch();
        let of_workers: usize = dispatch.workers.iter().map(|worker| worker.busy + worker.taken).sum();
        let of_gone: usize = self.last_answers().iter().map(|slot| slot.load()).sum();
        dispatch.waiting() + of_workers + of_gone
    }

    /// Requests whose answer has not begun.
    pub fn unanswered(&self) -> usize {
        let dispatch = self.dispatch();
        let of_workers = dispatch.workers.iter().flat_map(|worker| worker.slots());
        let of_workers: usize = of_workers.map(|slot| slot.unanswered()).sum();
        let of_gone: usize = self.last_answers().iter().map(|slot| slot.unanswered()).sum();
        dispatch.waiting() + of_workers + of_gone
    }
}
