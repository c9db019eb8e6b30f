//! Names of a duel's cases, their metrics, and a contender's result in a case. Pure.

use std::collections::BTreeSet;

use crate::record::Sample;
use crate::record::summary::{Case, Measured, Summary};
use loadgen::metric::{CPU, FAILED, OFFERED, P50, P99, P999, PROCESSORS, PSS_PEAK, RATE};

/// Case of the heats: each setting under full load for a short time, to choose those for the rounds.
pub const SETTINGS: &str = "settings";
/// Case of full load in a closed loop.
pub const CAPACITY: &str = "capacity";
/// Shares of a contender's own capacity, in percent, at which latency is measured.
pub const LOADS: [u32; 3] = [50, 80, 100];

/// Name of the case at this share of capacity: `load-80`.
pub fn load(percent: u32) -> String {
    format!("load-{percent}")
}

/// Name of the case at this multiple of the user's rate: `traffic-2`.
pub fn traffic(times: u32) -> String {
    format!("traffic-{times}")
}

/// Name of the case at the user's rate with the server bound to this number of processors: `smaller-1`.
pub fn smaller(processors: u32) -> String {
    format!("smaller-{processors}")
}

/// Multiple of the user's rate that a case with this name asks; `None` for all other cases.
pub fn times_of(case: &str) -> Option<u32> {
    case.strip_prefix("traffic-")?.parse().ok()
}

/// Number of processors to which a case with this name binds the server; `None` for all other cases.
pub fn processors_of(case: &str) -> Option<u32> {
    case.strip_prefix("smaller-")?.parse().ok()
}

/// Multiples of the rate, or numbers of processors, that the cases of these samples have, in rising order.
pub fn numbers<'a>(samples: impl IntoIterator<Item = &'a Sample>, of: fn(&str) -> Option<u32>) -> BTreeSet<u32> {
    samples.into_iter().filter_map(|sample| of(&sample.case)).collect()
}

/// Whether this case runs at the user's rate or a multiple of it.
pub fn is_of_traffic(case: &str) -> bool {
    times_of(case).or(processors_of(case)).is_some()
}

/// Names of the metrics that a report shows for this case. The first one ranks the contenders.
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

/// Case of this name in a summary.
pub fn case<'a>(summary: &'a Summary, name: &str) -> Option<&'a Case> {
    summary.cases.iter().find(|case| case.name == name)
}

/// Result of a contender in a case of this name.
pub fn measured<'a>(summary: &'a Summary, name: &str, contender: &str) -> Option<&'a Measured> {
    case(summary, name)?.results.iter().find(|result| result.contender == contender)
}
