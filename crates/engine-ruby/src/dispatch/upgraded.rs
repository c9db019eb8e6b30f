//! Counts what keeps a worker, and the whole engine, from ending: requests, and upgraded connections that the
//! application has taken over. A streamed body that was left to threads of a worker counts as one of these.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pool::Pool;
use super::relay::Leaving;
use super::worker_thread::WorkerThread;

/// Time for a worker that has nothing left, and was told to stop, to run its hooks and exit; as Puma's
/// `worker_shutdown_timeout`.
pub const EXIT_TIME: Duration = Duration::from_secs(60);

/// A guard that counts one upgraded connection of a worker until it is dropped.
pub struct Upgraded(Arc<Pool>, u32);

impl Drop for Upgraded {
    fn drop(&mut self) {
        if let Some(worker) = self.0.dispatch().worker(self.1) {
            worker.upgraded -= 1;
        }
    }
}

/// A guard for a request whose connection the application has taken: until it is dropped, the request has no deadline.
pub struct Taken(Arc<WorkerThread>, u32);

impl Taken {
    /// Creates the guard for the request with this number.
    pub fn new(thread: Arc<WorkerThread>, seq: u32) -> Taken {
        Taken(thread, seq)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.limit_taken(self.1, Instant::now());
    }
}

impl Pool {
    /// Counts an upgraded connection of this worker; returns the guard, and the notification that the worker leaves.
    pub fn count_upgraded(self: &Arc<Pool>, worker: u32) -> (Upgraded, Arc<Leaving>) {
        let mut leaving = Arc::default();
        if let Some(worker) = self.dispatch().worker(worker) {
            worker.upgraded += 1;
            leaving = worker.leaving.clone();
        }
        (Upgraded(self.clone(), worker), leaving)
    }

    /// Closes the upgraded connections of all workers, because all workers leave.
    pub fn leave(&self) {
        self.dispatch().workers.iter().for_each(|worker| worker.leaving.say());
    }

    /// Stops retired workers that have nothing left but upgraded connections, when these are closed or `time` has
    /// passed. Returns those that have not exited [`EXIT_TIME`] later, as pairs of worker number and process: they must
    /// be killed, or each replacement would leave a process behind.
    pub fn stop_lingering(&self, now: Instant, time: Duration) -> Vec<(u32, u32)> {
        let mut late = Vec::new();
        for worker in self.dispatch().workers.iter_mut().filter(|worker| worker.is_leaving && worker.busy == 0) {
            let since = *worker.lingers.get_or_insert(now);
            if !worker.is_done() && now.saturating_duration_since(since) <= time {
                continue;
            }
            worker.control.stop();
            let told = *worker.told_to_stop.get_or_insert(now);
            if now.saturating_duration_since(told) > EXIT_TIME {
                worker.told_to_stop = None;
                late.push((worker.id, worker.pid.cast_unsigned()));
            }
        }
        late
    }

    /// Returns the number of unfinished requests and upgraded connections.
    pub fn unfinished(&self) -> usize {
        let dispatch = self.dispatch();
        let of_workers: usize = dispatch.workers.iter().map(|worker| worker.busy + worker.upgraded).sum();
        let of_gone: usize = self.last_answers().iter().map(|thread| thread.load()).sum();
        dispatch.waiting() + of_workers + of_gone
    }

    /// Returns the number of requests whose answer has not begun.
    pub fn unanswered(&self) -> usize {
        let dispatch = self.dispatch();
        let of_workers = dispatch.workers.iter().flat_map(|worker| worker.threads());
        let of_workers: usize = of_workers.map(|thread| thread.unanswered()).sum();
        let of_gone: usize = self.last_answers().iter().map(|thread| thread.unanswered()).sum();
        dispatch.waiting() + of_workers + of_gone
    }
}
