//! Every figure in which entries of one server are significantly worse than another server's in a run, so that a page
//! about that server lists all of its losses and not a selection.

use super::styles::Styles;
use super::{number, ranking};
use crate::record::summary::{Case, Measured, Spread, Summary};
use crate::stats::{better, meaningful_ratio};
use loadgen::metric::{FIRST_ANSWER, Metric, P99};

/// Title of the rows of entries that are disqualified or failed too many requests.
const ANSWERS: &str = "Right answers";

/// An entry's figure in one metric of one case, with the entries that are significantly better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worse {
    /// Title of the case.
    pub case: String,
    /// Title of the metric.
    pub metric: String,
    /// Title of the entry, with its median.
    pub entry: String,
    /// Titles of the contenders that are better, each with the ratio of the entry's figure to its own.
    pub rivals: Vec<String>,
}

/// All such figures of the entries whose names start with `begin`, compared with all other entries, in the order of the
/// cases. The time to the first answer, which a turn has only once, is listed with its first case.
pub fn list(summary: &Summary, styles: &Styles, begin: &str) -> Vec<Worse> {
    let once = Metric::of(FIRST_ANSWER).map(|metric| metric.title);
    let mut listed: Vec<Worse> = Vec::new();
    for found in summary.cases.iter().flat_map(|case| of_case(case, styles, begin)) {
        let is_same = |one: &Worse| Worse { case: found.case.clone(), ..one.clone() } == found;
        if Some(found.metric.as_str()) != once || !listed.iter().any(is_same) {
            listed.push(found);
        }
    }
    listed
}

/// Rows with this title for the entries whose figures are not compared for a reason, which stands in place of a figure.
/// Their rivals are the other contenders that have no such reason; without a rival there is no row.
fn uncompared(
    case: &Case,
    styles: &Styles,
    begin: &str,
    title: &str,
    is_rival: impl Fn(&Measured) -> bool,
    reason: impl Fn(&Measured) -> Option<String>,
) -> Vec<Worse> {
    let (own, others): (Vec<&Measured>, Vec<&Measured>) =
        case.results.iter().partition(|one| one.contender.starts_with(begin));
    let rivals = others.into_iter().filter(|one| is_rival(one)).map(|one| styles.title(&one.contender));
    let rivals: Vec<String> = rivals.collect();
    if rivals.is_empty() {
        return Vec::new();
    }
    let row = |one: &Measured| {
        let entry = format!("{}: {}", styles.title(&one.contender), reason(one)?);
        Some(Worse { case: case.title.clone(), metric: title.to_owned(), entry, rivals: rivals.clone() })
    };
    own.into_iter().filter_map(row).collect()
}

/// Entries that are disqualified or failed too many requests, beside those that are ranked.
fn failing(case: &Case, styles: &Styles, begin: &str) -> Vec<Worse> {
    let Some(by) = case.metrics.first() else { return Vec::new() };
    let is_ranked = |one: &Measured| case.counts(one, by) && one.numbers.contains_key(by);
    let reason = |one: &Measured| {
        let is_out = one.not_compared.is_none() && (one.disqualified.is_some() || case.fails(one, by));
        ranking::not_ranked_by(case, one, by).filter(|_| is_out)
    };
    uncompared(case, styles, begin, ANSWERS, is_ranked, reason)
}

/// Entries that did not keep up with the offered rate, beside those that did: latencies of the former are not compared.
fn late(case: &Case, styles: &Styles, begin: &str) -> Vec<Worse> {
    let kept_up = |one: &Measured| one.served_share.is_none() && case.counts(one, P99) && !one.numbers.is_empty();
    let reason = |one: &Measured| {
        let share = one.served_share.filter(|_| one.disqualified.is_none())?;
        Some(format!("served {:.0} %", share * 100.0))
    };
    uncompared(case, styles, begin, "Kept up", kept_up, reason)
}

fn of_case(case: &Case, styles: &Styles, begin: &str) -> Vec<Worse> {
    let shown = case.metrics.iter().map(String::as_str);
    let first = Some(FIRST_ANSWER).filter(|name| !case.metrics.iter().any(|one| one == name));
    let metrics = shown.chain(first).filter_map(Metric::of);
    let with_merit = metrics.filter(|metric| case.tells_better(metric));
    let found = with_merit.flat_map(|metric| of_metric(case, metric, styles, begin));
    found.chain(failing(case, styles, begin)).chain(late(case, styles, begin)).collect()
}

fn of_metric(case: &Case, metric: &Metric, styles: &Styles, begin: &str) -> Vec<Worse> {
    let figures: Vec<(&str, &Spread)> = case.figures(metric.name).collect();
    let rivals_of = |own: &Spread| -> Vec<String> {
        let others = figures.iter().filter(|(name, _)| !name.starts_with(begin));
        let ahead = others.filter(|(_, spread)| better(spread, own, metric.direction));
        ahead.map(|(name, spread)| rival(&styles.title(name), own, spread)).collect()
    };
    let entries = figures.iter().filter(|(name, _)| name.starts_with(begin));
    let worse = entries.map(|(name, own)| Worse {
        case: case.title.clone(),
        metric: metric.title.to_owned(),
        entry: format!("{}: {}", styles.title(name), number::with_unit(own.median, metric)),
        rivals: rivals_of(own),
    });
    worse.filter(|one| !one.rivals.is_empty()).collect()
}

fn rival(title: &str, own: &Spread, other: &Spread) -> String {
    match meaningful_ratio(own, other) {
        Some(ratio) => format!("{title} {}", number::ratio(&ratio)),
        None => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_significant_is_told_and_nothing_else() {
        let start = (FIRST_ANSWER, [90.0, 91.0, 89.0]);
        let results = vec![
            Measured::of("ours", &[("requests_per_s", [50.0, 51.0, 49.0]), ("p99_ms", [9.0, 9.1, 8.9]), start]),
            Measured::of("ours-4x1", &[("requests_per_s", [100.0, 101.0, 99.0]), ("p99_ms", [1.0, 1.1, 0.9]), start]),
            Measured::of("a", &[("requests_per_s", [100.0, 101.0, 99.0]), ("p99_ms", [3.0, 3.1, 2.9])]),
            Measured::of("noisy", &[("requests_per_s", [60.0, 20.0, 200.0]), ("p99_ms", [9.0, 9.2, 8.8])]),
            Measured::of("quick", &[(FIRST_ANSWER, [30.0, 31.0, 29.0])]),
        ];
        let metrics = vec!["requests_per_s".into(), "p99_ms".into()];
        let case = Case { title: "Page".into(), metrics, results, ..Case::default() };
        let again = Case { title: "Again".into(), ..case.clone() };
        let summary = Summary { cases: vec![case, again], ..Summary::default() };
        let worse = list(&summary, &Styles::default(), "ours");
        let short: Vec<(&str, &str, &str)> =
            worse.iter().map(|one| (one.case.as_str(), one.metric.as_str(), one.rivals[0].as_str())).collect();
        assert!(worse.iter().all(|one| one.rivals.len() == 1), "{worse:?}");
        assert_eq!(short.iter().filter(|(case, ..)| *case == "Page").count(), 4, "{short:?}");
        assert!(short[0].2.starts_with("a 0.50× (") && short[1].2.starts_with("a 3.00× ("), "{short:?}");
        assert!(short[2].2.starts_with("quick 3.00× (") && short[3].2.starts_with("quick 3.00× ("), "{short:?}");
        // The second case has the same figures. They are listed again, except for the time to the first answer, which
        // is measured once per start of a server.
        let again: Vec<(&str, &str)> = short[4..].iter().map(|(case, metric, _)| (*case, *metric)).collect();
        assert_eq!(again, [("Again", "Rate"), ("Again", "p99")], "{short:?}");
    }

    #[test]
    fn who_is_not_ranked_for_its_answers_is_told_in_each_case() {
        let figures = [("requests_per_s", [50.0; 3]), ("requests", [90.0; 3]), ("failed", [10.0; 3])];
        let wrong = Measured {
            contender: "ours-4x1".into(),
            disqualified: Some("a wrong answer".into()),
            ..Measured::default()
        };
        let results = vec![Measured::of("ours", &figures), wrong, Measured::of("a", &[("requests_per_s", [9.0; 3])])];
        let case = Case { title: "Page".into(), metrics: vec!["requests_per_s".into()], results, ..Case::default() };
        let of = |cases: Vec<Case>| list(&Summary { cases, ..Summary::default() }, &Styles::default(), "ours");
        let worse = of(vec![case.clone(), Case { title: "Again".into(), ..case.clone() }]);
        let rows: Vec<(&str, &str)> = worse.iter().map(|one| (one.case.as_str(), one.entry.as_str())).collect();
        let [fails, lies] = ["ours: 10.0 % failed", "ours-4x1: disqualified"];
        assert_eq!(rows, [("Page", fails), ("Page", lies), ("Again", fails), ("Again", lies)]);
        assert!(worse.iter().all(|one| one.metric == ANSWERS && one.rivals == ["a"]), "{worse:?}");
        // Where the figure counts the failures, it is compared; and where nobody else is ranked, nobody is better.
        let metrics = vec!["goodput_per_s".to_owned()];
        let mut good = Case { is_about_failures: true, metrics, ..case.clone() };
        for one in &mut good.results {
            one.disqualified = None;
            one.add(&[("goodput_per_s", [9.0; 3])]);
        }
        let alone = Case { results: case.results[..2].to_vec(), ..case };
        assert!(of(vec![good, alone]).is_empty());
    }

    #[test]
    fn who_did_not_keep_up_beside_others_is_told_too() {
        let late = |name: &str| Measured { served_share: Some(0.624), ..Measured::of(name, &[("p99_ms", [900.0; 3])]) };
        let results = vec![late("ours"), late("also-late"), Measured::of("quick", &[("p99_ms", [9.0, 9.1, 8.9])])];
        let case = Case { title: "Page".into(), metrics: vec!["p99_ms".into()], results, ..Case::default() };
        let summary = Summary { cases: vec![case], ..Summary::default() };
        let worse = list(&summary, &Styles::default(), "ours");
        assert!(worse.len() == 1 && worse[0].entry == "ours: served 62 %" && worse[0].rivals == ["quick"], "{worse:?}");
        assert!(list(&summary, &Styles::default(), "quick").is_empty());
    }
}
