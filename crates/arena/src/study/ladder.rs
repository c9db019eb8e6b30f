//! Measures the capacity of a server, then shares of it: by a loop of the arena's own, or by k6 in place of any tool.

use super::by_k6::plan;
use super::plan::{Case, Family};
use crate::measure::made;
use crate::record::Outcome;
use loadgen::metric::RATE;
use loadgen::{K6Here, Watch};

/// Loads the server. Stores the capacity that the first step of a ladder measures, for its other steps.
pub fn ladder(
    port: u16,
    (case, family): (&Case, &Family),
    capacity: &mut Option<f64>,
    seed: u64,
    k6: Option<&K6Here>,
) -> Result<Outcome, String> {
    let per_s = if case.load_pct > 0 { case.share(*capacity)? } else { 0.0 };
    let outcome = made(k6, port, &family.workload, &plan(case, family, per_s, seed), &Watch::at_full_speed())?;
    if case.load_pct == 0 {
        *capacity = outcome.numbers.get(RATE).copied().filter(|rate| *rate > 0.0);
    }
    Ok(outcome)
}
