//! Counts what keeps a worker, and the whole engine, from ending: requests, and upgraded connections that the
//! application has taken over. A streamed body that was left to threads of a worker counts as one of these.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::Duplex;

use super::pool::Pool;
use super::relay::Leaving;
use super::worker::Worker;
use super::worker_thread::WorkerThread;

/// Time for a worker that has nothing left, and was told to stop, to run its hooks and exit; as Puma's
/// `worker_shutdown_timeout`.
pub const EXIT_TIME: Duration = Duration::from_secs(60);

/// The interval of checks for the answer before an upgraded connection.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// A connection that the application has taken over from HTTP.
pub struct UpgradedConnection {
    /// The application's end, as the front passes it on.
    pub duplex: Duplex,
    /// The guard that counts it.
    pub counted: Upgraded,
    /// The notification that its worker leaves.
    pub leaving: Arc<Leaving>,
}

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

/// A guard for a hijacked connection: until it is dropped, the worker may report that the application's code for it has
/// failed.
pub struct Hijacked(Arc<WorkerThread>, u32, Arc<AtomicBool>);

impl Hijacked {
    /// Creates the guard for the request with this number.
    pub fn new(thread: Arc<WorkerThread>, seq: u32) -> Hijacked {
        let has_failed = thread.begin_hijack(seq);
        Hijacked(thread, seq, has_failed)
    }

    /// Returns the flag that says whether the code has failed.
    pub fn has_failed(&self) -> Arc<AtomicBool> {
        self.2.clone()
    }
}

impl Drop for Hijacked {
    fn drop(&mut self) {
        self.0.end_hijack(self.1);
    }
}

impl Pool {
    /// Takes a connection of this worker over by `take`, and counts it. Both happen under one lock: a retired worker is
    /// stopped as soon as it has nothing that counts. Returns nothing if the worker, or the connection, is gone.
    pub fn take_connection(
        self: &Arc<Pool>,
        worker: u32,
        take: impl FnOnce() -> Option<Duplex>,
    ) -> Option<UpgradedConnection> {
        let mut dispatch = self.dispatch();
        let worker = dispatch.worker(worker)?;
        let duplex = take()?;
        worker.upgraded += 1;
        let counted = Upgraded(self.clone(), worker.id);
        Some(UpgradedConnection { duplex, counted, leaving: worker.leaving.clone() })
    }

    /// Takes over the connection that a request has opened before its answer, or before the LEFT of its body. These
    /// come on another connection, behind everything that the thread has sent before, which may wait for a slow client.
    /// Returns nothing if the request ends without one of them.
    pub async fn take_over_upgrade(self: &Arc<Pool>, thread: &WorkerThread, seq: u32) -> Option<UpgradedConnection> {
        loop {
            // Before the search for the connection, which finds what is answered in between.
            let is_awaited = thread.is_in_flight(seq);
            let connection = self.take_connection(thread.owner.worker, || thread.upgrade(seq));
            if connection.is_some() || !is_awaited {
                return connection;
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    /// Closes the upgraded connections of all workers, because all workers leave.
    pub fn leave(&self) {
        self.dispatch().workers.iter().for_each(|worker| worker.leaving.announce());
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
            let since = *worker.told_to_stop.get_or_insert(now);
            if now.saturating_duration_since(since) > EXIT_TIME {
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
        let of_workers: usize = dispatch.workers.iter().map(Worker::unanswered).sum();
        let of_gone: usize = self.last_answers().iter().map(|thread| thread.unanswered()).sum();
        dispatch.waiting() + of_workers + of_gone
    }
}
