//! The steps of a ladder: what a server can do, then shares of that.

use super::plan::Case;
use crate::record::Outcome;
use loadgen::metric::RATE;
use loadgen::{Closed, Open, Until, Watch, Workload};

/// A closed loop with connections that stay.
pub fn closed(clients: u32, until: Until, seed: u64) -> Closed {
    Closed { clients, until, keep: true, seed }
}

/// First what it can do; then shares of that, at times drawn beforehand.
pub fn ladder(
    port: u16,
    case: &Case,
    workload: &Workload,
    capacity: &mut Option<f64>,
    seed: u64,
) -> Result<Outcome, String> {
    if case.load_pct == 0 {
        let closed = closed(case.clients, Until::Seconds(case.seconds), seed);
        let outcome = loadgen::watch_closed(port, workload, &closed, &Watch::at_full_speed()).with_course();
        *capacity = outcome.numbers.get(RATE).copied().filter(|rate| *rate > 0.0);
        return Ok(outcome);
    }
    let (per_s, connections) = (case.share(*capacity)?, case.open_connections());
    let plan = Open { per_s, seconds: case.seconds, connections, keep: true, seed };
    Ok(loadgen::watch_open(port, workload, &plan.steps(), &Watch::at_full_speed()).with_course())
}
