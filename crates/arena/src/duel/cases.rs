//! The cases of a duel: their names, and what was measured in each for each contender. Pure.

use crate::record::summary::{Case, Measured, Summary};
use loadgen::metric::{CPU, FAILED, OFFERED, P50, P99, P999, PROCESSORS, PSS_PEAK, RATE};

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

/// The user's rate, so many times.
pub fn traffic(times: u32) -> String {
    format!("traffic-{times}")
}

/// The user's rate on so many processors.
pub fn smaller(processors: u32) -> String {
    format!("smaller-{processors}")
}

/// How many times the user's rate this case asks.
pub fn times_of(case: &str) -> Option<u32> {
    case.strip_prefix("traffic-")?.parse().ok()
}

/// On how many processors this case is asked.
pub fn processors_of(case: &str) -> Option<u32> {
    case.strip_prefix("smaller-")?.parse().ok()
}

/// Whether this case is one at the user's rate or a multiple of it.
pub fn is_of_traffic(case: &str) -> bool {
    times_of(case).or(processors_of(case)).is_some()
}

/// The metrics shown of a case. The first one ranks.
pub fn metrics(case: &str) -> Vec<String> {
    let names: &[&str] = if case == CAPACITY || case == SETTINGS {
        &[RATE, P50, P99, FAILED, CPU, PSS_PEAK]
    } else if is_of_traffic(case) {
        &[P99, P50, P999, PSS_PEAK, PROCESSORS, CPU, FAILED]
    } else {
        &[P99, P50, P999, OFFERED, FAILED, CPU, PSS_PEAK]
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
