//! The ranking of a case: the metric that makes it, who is best, and why a result has no part in it.

use super::number;
use crate::record::summary::{Case, Measured, Spread};
use crate::stats;
use loadgen::metric::{Metric, is_of_latencies};

/// Metric that ranks a case: the first of those that the case shows.
pub fn metric_of(case: &Case) -> Option<&'static Metric> {
    Metric::of(case.metrics.first()?)
}

/// A contender's figure in a case; `None` if it has none or is disqualified.
pub fn spread_of<'a>(case: &'a Case, contender: &str, metric: &Metric) -> Option<&'a Spread> {
    let result = case.results.iter().find(|result| result.contender == contender && result.disqualified.is_none())?;
    result.numbers.get(metric.name).filter(|spread| spread.is_sound())
}

/// Reason why a result is not ranked by this metric of its case: `34 % failed`. `None` if it is ranked.
pub fn not_ranked_by(case: &Case, result: &Measured, metric: &str) -> Option<String> {
    match (&result.disqualified, &result.not_compared) {
        (Some(_), _) => Some("disqualified".to_owned()),
        (None, Some(_)) => Some("measured at another time".to_owned()),
        (None, None) => Some(unranked(case, result, metric)).filter(|words| !words.is_empty()),
    }
}

/// Reason why a figure of a contender that takes part in the comparison is not ranked: `34 % failed`, or `served 55 %`
/// of the offered requests. Empty if it is ranked.
pub fn unranked(case: &Case, result: &Measured, metric: &str) -> String {
    match result.served_share {
        _ if case.counts(result, metric) => String::new(),
        _ if case.fails(result, metric) => format!("{} failed", number::failed(result.failed_share())),
        Some(share) if is_of_latencies(metric) => format!("served {:.0} %", share * 100.0),
        _ => String::new(),
    }
}

/// Whether this contender is the best of its case, or shares its rank, in the metric that ranks the case.
pub fn is_best(case: &Case, contender: &str) -> bool {
    metric_of(case).is_some_and(|metric| stats::Beside::of(case, metric).is_best(contender))
}
