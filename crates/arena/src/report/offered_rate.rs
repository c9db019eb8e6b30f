//! The request rate that all contenders of a case are offered, for titles.

use super::number;
use crate::record::summary::Case;
use crate::stats;
use loadgen::metric::OFFERED;

/// Title of a column, with the rate if it is the same for all: `50 (1414/s)`.
pub fn with_rate(title: &str, case: &Case) -> String {
    rate_of_all(case).map_or_else(|| title.to_owned(), |rate| format!("{title} ({rate})"))
}

/// Rate of a case in which all contenders are offered the same number of requests per second: `1414/s`; the median
/// where the rounds differ. `None` for other cases.
fn rate_of_all(case: &Case) -> Option<String> {
    // A series at equal rates is named so (`ladder=50`).
    let is_of_all = case.name.contains('=');
    let offered = case.results.iter().filter_map(|result| result.numbers.get(OFFERED)).filter(|_| is_of_all);
    let all: Vec<f64> = offered.flat_map(|spread| spread.all.iter().copied()).collect();
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
}
