//! Clients that ask until they are told to stop: 32 of them, three quarters with connections that they keep, a quarter
//! with a new one for each request. Each answer is checked by the arena.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loadgen::{Closed, Until, Watch, Workload, watch_closed};
use parking_lot::Mutex;

use crate::count::Count;
use crate::pace;

/// As the issue asks.
pub const CLIENTS: u32 = 32;
/// Threads of clients.
const GROUPS: u32 = 4;
/// A loop of the arena ends by the clock; so one follows another.
const TURN_S: f64 = 0.5;

/// The numbers as they grow, for whoever watches.
pub type Counts = Arc<Mutex<Count>>;

/// Running clients.
pub struct Load {
    is_over: Arc<AtomicBool>,
    counts: Counts,
    /// Loops that each group has ended: all it asked in them is answered.
    turns: Arc<Vec<AtomicU64>>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins. A request without an answer after `patience` counts as failed: it hangs.
    pub fn begin(port: u16, workload: &Workload, clients: u32, patience: Duration) -> Load {
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
                let watch = Watch { timeout: patience, ..Watch::default() };
                let mut seed = u64::from(group) + 1;
                while !is_over.load(Ordering::Acquire) {
                    let plan = Closed { clients, until: Until::Seconds(TURN_S), keep, seed };
                    let seen = watch_closed(port, &workload, &plan, &watch);
                    counts.lock().add(&seen);
                    seed += u64::from(GROUPS);
                    turns[group as usize].fetch_add(1, Ordering::AcqRel);
                }
            })
        });
        let threads = threads.collect();
        Load { is_over, counts, turns, threads }
    }

    /// Waits until all that is asked now is answered; new requests go on meanwhile.
    pub fn let_through(&self, limit: Duration) -> bool {
        let now = |turns: &[AtomicU64]| turns.iter().map(|turn| turn.load(Ordering::Acquire)).collect::<Vec<_>>();
        let before = now(&self.turns);
        pace::within(limit, || now(&self.turns).iter().zip(&before).all(|(now, before)| now > before))
    }

    /// The numbers as they grow.
    pub fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// The numbers of now.
    pub fn count(&self) -> Count {
        self.counts.lock().clone()
    }

    /// Stops asking, waits for what was asked, and says what was seen.
    pub fn end(mut self) -> Count {
        self.is_over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // A thread of the load generator that crashed has no answers: that is seen in the numbers.
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
