//! What studies and duels have in common: how a server is warmed up, checked and loaded, when it is disqualified, and
//! what the samples of several rounds come to.

mod load;
mod rounds;

pub use load::{Load, Up, observed, of_outcome, shortened};
pub use rounds::{CHECKED_ENOUGH, measured};

use std::time::Duration;

use crate::stats::Dice;
use loadgen::{Warmth, Workload};

/// How long a server may work off what a load has left in its queue, before an answer is missed.
pub const QUEUE_LEFT: Duration = Duration::from_secs(120);
/// Warming up needs no more clients at a time.
const WARM_UP_CLIENTS_MOST: u32 = 256;

/// The seed of a load's draws: another one in each round and for each share of the capacity, the same for all
/// contenders.
pub fn seed(of_run: u64, round: u32, load_pct: u32) -> u64 {
    // A short one can be read, and fits into the numbers of k6's scripts.
    Dice::from_seed(of_run ^ (u64::from(round) << 32) ^ u64::from(load_pct)).draw() >> 32
}

/// Warms up with as many clients as the largest load that follows has, and no fewer than the server serves at once:
/// every worker and thread must have had work.
pub fn warm_up(port: u16, workload: &Workload, (clients, at_once): (u32, u32), max_s: f64) -> Warmth {
    loadgen::warm_up(port, workload, clients.max(at_once).min(WARM_UP_CLIENTS_MOST), max_s)
}
