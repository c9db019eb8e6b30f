//! Common parts of studies and duels: how a server is warmed up, checked and loaded, when it is disqualified, and how
//! the samples of several rounds are summarized.

mod load;
mod rounds;
mod sitting;
mod worth;

pub use load::{Load, TOO_SHORT, Up, observed, shortened};
pub use rounds::{is_below_rate, is_late, measured, summed, tool_of, withhold_latencies};
pub use sitting::{Stray, leave_out, strays};
pub use worth::{KEPT_UP, LONGEST, judge, judge_duel, share_in_time};

use std::time::Duration;

use crate::record::Outcome;
use crate::stats::SeededRng;
use loadgen::metric::{FAILED, REQUESTS};
use loadgen::{Closed, K6Here, K6Load, K6Plan, Open, Settled, Until, Warmth, Watch, Workload};

/// Time in which a server may work off its queue from a load before an answer counts as missing.
pub const QUEUE_LEFT: Duration = Duration::from_secs(120);
/// Most clients of a warm-up.
const WARM_UP_CLIENTS_MOST: u32 = 256;

/// Connections of an open loop, as a multiple of the clients of the closed loop beside it, and their minimum: a request
/// that has to wait for a connection waits in the load generator, unseen by the server.
const CONNECTIONS_TIMES: u32 = 4;
const CONNECTIONS_LEAST: u32 = 512;

/// A number of a sample as a summary has it.
pub fn summarized(number: f64) -> f64 {
    rounded(number, 5)
}

/// Rounds to the significant digits: more would only make run folders larger. Whole numbers stay as they are.
fn rounded(number: f64, digits: usize) -> f64 {
    if number.fract() == 0.0 { number } else { format!("{number:.*e}", digits - 1).parse().unwrap_or(number) }
}

/// Most connections of an open loop, where the closed loop has this many clients.
pub fn open_connections(clients: u32) -> u32 {
    clients.saturating_mul(CONNECTIONS_TIMES).max(CONNECTIONS_LEAST)
}

/// Seed of a load's random choices: different in each round and for each share of the capacity, the same for all
/// contenders.
pub fn seed(of_run: u64, round: u32, load_pct: u32) -> u64 {
    // A short seed is readable, and fits into the numbers of k6's scripts.
    SeededRng::from_seed(of_run ^ (u64::from(round) << 32) ^ u64::from(load_pct)).draw() >> 32
}

/// Generates a load with the arena's own loop, or with k6 in its place.
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
    let (keep, seed) = (plan.keep, plan.seed);
    let (clients, until) = match plan.load {
        K6Load::Rate { per_s, seconds, connections } => {
            let open = Open { per_s, seconds, connections, seed };
            return Ok(loadgen::watch_open(port, workload, &open.steps(), watch).with_course());
        }
        K6Load::Clients { clients, seconds } => (clients, Until::Seconds(seconds)),
        K6Load::Requests { clients, requests, .. } => (clients, Until::Requests(requests)),
    };
    Ok(loadgen::watch_closed(port, workload, &Closed { clients, until, keep, seed }, watch).with_course())
}

/// Warms up with as many clients as the largest load that follows, and at least as many as the server serves at once:
/// every worker and thread must have had work.
pub fn warm_up(port: u16, workload: &Workload, clients: u32, at_once: u32, max_s: f64) -> Warmth {
    loadgen::warm_up(port, workload, clients.max(at_once).min(WARM_UP_CLIENTS_MOST), max_s)
}

/// Warms up at a rate and not above it: a server whose memory at that rate is measured must not have been under full
/// load.
pub fn warm_up_at(port: u16, workload: &Workload, open: &Open, watch: &Watch) -> Warmth {
    let seen = loadgen::watch_open(port, workload, &open.steps(), watch).outcome;
    let number = |name: &str| seen.numbers.get(name).copied().unwrap_or(0.0);
    let requests = number(REQUESTS) as u64;
    let failed = number(FAILED) as u64;
    let settled = Settled::Unknown;
    Warmth { requests, failed, seconds: open.seconds, settled, wrong: seen.wrong, void: seen.void }
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
