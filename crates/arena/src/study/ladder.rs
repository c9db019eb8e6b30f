//! Measures the capacity of a server, then shares of it: by a loop of the arena's own, or by k6 in place of any tool.

use std::collections::BTreeMap;

use super::by_k6::plan;
use super::plan::{Family, PlannedCase};
use crate::measure::made;
use crate::record::Outcome;
use loadgen::metric::{RATE, REQUESTS};
use loadgen::{K6Here, Watch};

/// Loads the server. Stores the capacity that the first step of a ladder measures, in requests per second, for its
/// other steps: `None` if the server gave no right answer; 0 if that step could not be made or was too short, so that
/// the others are impossible.
pub fn ladder(
    port: u16,
    case: &PlannedCase,
    family: &Family,
    capacity: &mut Option<f64>,
    seed: u64,
    k6: Option<&K6Here>,
) -> Result<Outcome, String> {
    let per_s = if case.load_pct > 0 { case.share(*capacity)? } else { 0.0 };
    if case.load_pct > 0 && per_s <= 0.0 {
        return Ok(unmeasured());
    }
    let outcome = made(k6, port, &family.workload, &plan(case, family, per_s, seed), &Watch::at_full_speed())?;
    if case.load_pct == 0 {
        *capacity = capacity_by(&outcome.numbers, outcome.void.is_some());
    }
    Ok(outcome)
}

/// Capacity by the numbers of a load at full speed: 0 if it was not measured, since the load could not be made or was
/// too short; `None` if the server gave no right answer.
pub fn capacity_by(numbers: &BTreeMap<String, f64>, is_void: bool) -> Option<f64> {
    let of = |name: &str| numbers.get(name).copied().filter(|number| *number > 0.0);
    let is_unmeasured = is_void || of(REQUESTS).is_some();
    of(RATE).or(is_unmeasured.then_some(0.0))
}

/// Outcome of a load at a share of a capacity that was not measured.
pub fn unmeasured() -> Outcome {
    Outcome::nothing("its capacity was not measured, so no share of it can be asked".to_owned())
}
