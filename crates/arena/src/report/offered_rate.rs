//! The request rate that all contenders of a case are offered, for titles.

use super::number;
use crate::record::summary::{Case, Spread};
use crate::stats;
use loadgen::metric::OFFERED;

/// Highest ratio of two rates that count as the same: their requests are whole numbers, and drawn at random.
const SAME: f64 = 1.01;

/// Title of a column, with the rate if it is the same for all: `50 (1414/s)`.
pub fn with_rate(title: &str, case: &Case) -> String {
    rate_of_all(case).map_or_else(|| title.to_owned(), |rate| format!("{title} ({rate})"))
}

/// Rate of a case in which all contenders are offered the same number of requests per second: `1414/s`; the median
/// where the rounds differ. `None` for other cases, and where contenders had rates of their own, as in loads that were
/// imported.
fn rate_of_all(case: &Case) -> Option<String> {
    // A series at equal rates is named so (`ladder=50`).
    let is_of_all = case.name.contains('=');
    let offered = case.results.iter().filter_map(|result| result.numbers.get(OFFERED)).filter(|_| is_of_all);
    let offered: Vec<&Spread> = offered.collect();
    // In a round all contenders have one rate, so the ranges of their rates overlap.
    let low = offered.iter().map(|spread| spread.low).fold(0.0, f64::max);
    let high = offered.iter().map(|spread| spread.high).fold(f64::INFINITY, f64::min);
    if low > high * SAME {
        return None;
    }
    let all: Vec<f64> = offered.iter().flat_map(|spread| spread.all.iter().copied()).collect();
    let exact = |rate: f64| if rate < 100.0 { number::significant(rate) } else { number::tick(rate.round()) };
    stats::median(&all).map(|rate| format!("{}/s", exact(rate)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample_case::case;

    #[test]
    fn the_rate_of_all_is_the_median_of_the_rounds() {
        let of = |name: &str| {
            let offered: [(&str, &[f64]); 2] = [("a", &[1414.2, 1400.0]), ("b", &[1414.2, 1414.2])];
            rate_of_all(&Case { name: name.into(), ..case("offered_per_s", &offered, &[]) })
        };
        assert_eq!(of("ladder=50").as_deref(), Some("1414/s"));
        assert_eq!((of("ladder@50"), of("ladder")), (None, None), "a rate of each one's own");
        assert_eq!(rate_of_all(&Case { name: "ladder=50".into(), ..Case::default() }), None);
    }

    /// The user chooses the RATE of a load that is imported.
    #[test]
    fn where_contenders_had_rates_of_their_own_none_is_that_of_all() {
        let of = |one: &[f64], other: &[f64]| {
            let offered = [("a", one), ("b", other)];
            rate_of_all(&Case { name: "ladder=50".into(), ..case("offered_per_s", &offered, &[]) })
        };
        assert_eq!(of(&[2000.0, 2000.0], &[1000.0, 1000.0]), None);
        assert_eq!(of(&[2000.0, 2000.0], &[1999.0]).as_deref(), Some("2000/s"), "two were not sent in time");
        assert_eq!(of(&[1400.0, 1500.0], &[1500.0]).as_deref(), Some("1500/s"), "one lacks a round");
    }
}
