//! The cases of a duel: their names, and what was measured in each for each contender. Pure.

use crate::metric::{CPU, FAILED, P50, P99, PSS_PEAK, RATE};
use crate::record::summary::{Case, Measured, Summary};

/// All settings, briefly: which of them take part.
pub const SETTINGS: &str = "settings";
/// As much as goes.
pub const CAPACITY: &str = "capacity";
/// Shares of each one's own capacity at which latency is measured.
pub const LOADS: [u32; 3] = [50, 80, 100];

/// The case of this share.
pub fn load(percent: u32) -> String {
    format!("load-{percent}")
}

/// The metrics shown of a case. The first one ranks.
pub fn metrics(case: &str) -> Vec<String> {
    let names: &[&str] = if case == CAPACITY || case == SETTINGS {
        &[RATE, P50, P99, FAILED, CPU, PSS_PEAK]
    } else {
        &[P99, P50, "p999_ms", "offered_per_s", FAILED, CPU, PSS_PEAK]
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The case with this name.
pub fn case<'a>(summary: &'a Summary, name: &str) -> Option<&'a Case> {
    summary.cases.iter().find(|case| case.name == name)
}

/// What this contender did in this case.
pub fn measured<'a>(summary: &'a Summary, name: &str, contender: &str) -> Option<&'a Measured> {
    case(summary, name)?.results.iter().find(|result| result.contender == contender)
}
