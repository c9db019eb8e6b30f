//! Clients that send requests until they are stopped: 32, three quarters of them with keep-alive connections, the
//! others with a new connection for each request. The arena's load generator checks each response.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loadgen::{Closed, Until, Watch, Workload, watch_closed};
use parking_lot::Mutex;

use crate::count::Count;
use crate::pace;

/// Number of clients.
pub const CLIENTS: u32 = 32;
/// Threads of clients.
const GROUPS: u32 = 4;
/// Seconds of one loop: those of the load generator end by the clock, so one follows another.
const TURN_S: f64 = 0.5;

/// Counts that grow, for progress output.
pub type Counts = Arc<Mutex<Count>>;

/// Running clients.
pub struct Load {
    is_over: Arc<AtomicBool>,
    counts: Counts,
    /// Number of finished loops of each group: all their requests have responses.
    turns: Arc<Vec<AtomicU64>>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts the clients. A request without a response after `timeout` counts as failed: it hangs.
    pub fn begin(port: u16, workload: &Workload, clients: u32, timeout: Duration) -> Load {
        let is_over = Arc::new(AtomicBool::new(false));
        let counts = Counts::default();
        let groups = GROUPS.min(clients).max(1);
        let of = |group: u32| clients / groups + u32::from(group < clients % groups);
        let turns: Arc<Vec<AtomicU64>> = Arc::new((0..groups).map(|_| AtomicU64::new(0)).collect());
        let threads = (0..groups).map(|group| {
            let turns = turns.clone();
            let is_over = is_over.clone();
            let counts = counts.clone();
            let workload = workload.clone();
            let clients = of(group);
            let keep = group + 1 < GROUPS;
            thread::spawn(move || {
                let watch = Watch { timeout, ..Watch::default() };
                let mut seed = u64::from(group) + 1;
                while !is_over.load(Ordering::Acquire) {
                    let plan = Closed { clients, until: Until::Seconds(TURN_S), keep, seed };
                    let seen = watch_closed(port, &workload, &plan, &watch);
                    counts.lock().join(&Count::of(seen.outcome));
                    seed += u64::from(GROUPS);
                    turns[group as usize].fetch_add(1, Ordering::AcqRel);
                }
            })
        });
        let threads = threads.collect();
        Load { is_over, counts, turns, threads }
    }

    /// Waits until every request sent by now has a response; new requests go on meanwhile.
    pub fn let_through(&self, limit: Duration) -> bool {
        let now = |turns: &[AtomicU64]| turns.iter().map(|turn| turn.load(Ordering::Acquire)).collect::<Vec<_>>();
        let before = now(&self.turns);
        pace::within(limit, || now(&self.turns).iter().zip(&before).all(|(now, before)| now > before))
    }

    /// The counts, which grow.
    pub fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// The counts now.
    pub fn count(&self) -> Count {
        self.counts.lock().clone()
    }

    /// Stops the clients, waits for their last responses, and returns the counts.
    pub fn end(mut self) -> Count {
        self.is_over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // A crashed client thread has no responses, which the counts show.
            let _ = thread.join();
        }
        self.count()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}
