//! What studies and duels have in common: how a server is warmed up, checked and loaded, when it is disqualified, and
//! what the samples of several rounds come to.

mod load;
mod rounds;
mod sitting;

pub use load::{Load, Up, observed, shortened};
pub use rounds::{CHECKED_ENOUGH, measured, summed};
pub use sitting::{Stray, leave_out, strays};

use std::time::Duration;

use crate::record::Outcome;
use crate::stats::Dice;
use loadgen::metric::{FAILED, REQUESTS};
use loadgen::{Closed, K6Here, K6Load, K6Plan, Open, Until, Warmth, Watch, Workload};

/// How long a server may work off what a load has left in its queue, before an answer is missed.
pub const QUEUE_LEFT: Duration = Duration::from_secs(120);
/// Warming up needs no more clients at a time.
const WARM_UP_CLIENTS_MOST: u32 = 256;

/// An open loop may have so many times the connections of the closed one beside it, and no fewer than these: what has
/// to wait for a connection waits in the load generator, where the server does not see it.
const CONNECTIONS_TIMES: u32 = 4;
const CONNECTIONS_LEAST: u32 = 512;

/// With so many digits that mean something: more would only make run folders larger. What is counted stays whole.
fn rounded(number: f64, digits: usize) -> f64 {
    if number.fract() == 0.0 { number } else { format!("{number:.*e}", digits - 1).parse().unwrap_or(number) }
}

/// Connections of an open loop, at most, where a closed one has so many clients.
pub fn open_connections(clients: u32) -> u32 {
    clients.saturating_mul(CONNECTIONS_TIMES).max(CONNECTIONS_LEAST)
}

/// The seed of a load's draws: another one in each round and for each share of the capacity, the same for all
/// contenders.
pub fn seed(of_run: u64, round: u32, load_pct: u32) -> u64 {
    // A short one can be read, and fits into the numbers of k6's scripts.
    Dice::from_seed(of_run ^ (u64::from(round) << 32) ^ u64::from(load_pct)).draw() >> 32
}

/// A load by a loop of the arena's own, or by k6 in its place. Which tool a study names beside these, and what an
/// application of a user's is asked, is their own.
pub fn made(
    k6: Option<&K6Here>,
    port: u16,
    workload: &Workload,
    plan: &K6Plan,
    watch: &Watch,
) -> Result<Outcome, String> {
    if let Some(k6) = k6 {
        return k6.load(port, workload, plan);
    }
    let keep = plan.keep;
    let seed = plan.seed;
    let (clients, until) = match plan.load {
        K6Load::Rate { per_s, seconds, connections } => {
            let open = Open { per_s, seconds, connections, keep, seed };
            return Ok(loadgen::watch_open(port, workload, &open.steps(), watch).with_course());
        }
        K6Load::Clients { clients, seconds } => (clients, Until::Seconds(seconds)),
        K6Load::Requests { clients, requests, .. } => (clients, Until::Requests(requests)),
    };
    Ok(loadgen::watch_closed(port, workload, &Closed { clients, until, keep, seed }, watch).with_course())
}

/// Warms up with as many clients as the largest load that follows has, and no fewer than the server serves at once:
/// every worker and thread must have had work.
pub fn warm_up(port: u16, workload: &Workload, (clients, at_once): (u32, u32), max_s: f64) -> Warmth {
    loadgen::warm_up(port, workload, clients.max(at_once).min(WARM_UP_CLIENTS_MOST), max_s)
}

/// Warms up at a rate, and no faster: a server whose memory at that rate is measured must not have been under full
/// load.
pub fn warm_up_at(port: u16, workload: &Workload, open: &Open, watch: &Watch) -> Warmth {
    let seen = loadgen::watch_open(port, workload, &open.steps(), watch).outcome;
    let number = |name: &str| seen.numbers.get(name).copied().unwrap_or(0.0);
    let requests = number(REQUESTS) as u64;
    let failed = number(FAILED) as u64;
    Warmth { requests, failed, seconds: open.seconds, stable: false, wrong: seen.wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_mean_something_and_counts_all() {
        assert_eq!(
            [26_882.371, 0.001_234_567, 54_915_123.0, f64::INFINITY].map(|number| rounded(number, 5)),
            [26_882.0, 0.001_234_6, 54_915_123.0, f64::INFINITY]
        );
    }

    #[test]
    fn an_open_loop_has_connections_enough_whoever_makes_it() {
        assert_eq!([1, 16, 128, 500, u32::MAX].map(open_connections), [512, 512, 512, 2000, u32::MAX]);
    }
}
