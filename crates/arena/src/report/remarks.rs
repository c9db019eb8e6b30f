//! Remarks below the table of a case: what a reader must know of its figures, and of the latencies in particular.

use std::collections::BTreeMap;

use super::styles::{Chip, Styles};
use super::{grammar, number};
use crate::record::summary::{Case, Measured, load_tool};
use crate::stats;
use loadgen::metric::{GENERATOR_WAITED, P50, P99, is_of_latencies};

/// Kind of error under which the load generator records the answers with a bad status that wrk reports.
const WRK_BAD_STATUS: &str = "status 400 or more";
/// Percentage of a load's time from which on a sentence says that the load generator waited for a processor.
const WAITED_LEAST_PCT: f64 = 5.0;

/// Remarks with the contenders that they concern.
pub struct Remark<'a> {
    names: Vec<&'a str>,
    /// Whether these are all contenders of a case with several.
    is_of_all: bool,
    /// The remarks, in one sentence.
    pub words: String,
}

impl Remark<'_> {
    /// The contenders, as a page shows them.
    pub fn chips(&self, styles: &Styles) -> Vec<Chip> {
        match self.is_of_all {
            true => vec![Chip { title: "all contenders".to_owned(), ..Chip::default() }],
            false => self.names.iter().map(|name| styles.chip(name)).collect(),
        }
    }

    /// The contenders in words.
    pub fn whom(&self, styles: &Styles) -> String {
        grammar::list(&self.chips(styles).into_iter().map(|chip| chip.title).collect::<Vec<_>>())
    }
}

/// Remarks on these results of a case, in their order: first each that concerns several of them, once; then those of
/// each one alone.
pub fn of_all<'a>(case: &Case, results: &[&'a Measured]) -> Vec<Remark<'a>> {
    let mut all: Vec<(String, Vec<&'a str>)> = Vec::new();
    for result in results {
        let name = result.contender.as_str();
        for words in of(case, result) {
            match all.iter_mut().find(|(known, _)| *known == words) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => all.push((words, vec![name])),
            }
        }
    }
    let (shared, alone): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, names)| names.len() > 1);
    let is_of_all = |names: &[&str]| names.len() > 2 && names.len() == case.results.len();
    let shared = shared.into_iter().map(|(words, names)| Remark { is_of_all: is_of_all(&names), names, words });
    let own = results.iter().filter_map(|result| {
        let name = result.contender.as_str();
        let own = alone.iter().filter(|(_, names)| names.contains(&name));
        let words: Vec<&str> = own.map(|(words, _)| words.as_str()).collect();
        (!words.is_empty()).then(|| Remark { names: vec![name], is_of_all: false, words: words.join("; ") })
    });
    shared.chain(own).collect()
}

/// Remarks on a result: those of its record, and what the percentiles of the tool that loaded it leave out, or count
/// beside right answers. Sources for the latter: wrk 4.1.0, `response_complete` (an answer after the time-out counts,
/// and is in no percentile; an answer of any status is in them), and ab 2.3, `close_connection` (its percentiles are
/// those of all requests that ended, well or badly).
fn of(case: &Case, result: &Measured) -> Vec<String> {
    let mut all = result.remarks.clone();
    let has_percentiles = result.numbers.contains_key(P50) || result.numbers.contains_key(P99);
    if !has_percentiles || result.disqualified.is_some() {
        return all;
    }
    let errors = |kind: &str| result.errors.get(kind).copied().filter(|count| *count > 0);
    let tool = tool(case);
    if tool == Some("wrk") {
        all.extend(errors("timeout").map(|count| {
            format!(
                "wrk got {} after its time-out: they count as failed and are in no percentile, so that the slowest are \
                 missing from these latencies, as are those that were never answered",
                count_of(count, "answer", "answers")
            )
        }));
        all.extend(errors(WRK_BAD_STATUS).map(|count| {
            format!(
                "wrk's latencies hold the {} with a status of 400 or more as well: errors that come quickly shorten \
                 them",
                count_of(count, "answer", "answers")
            )
        }));
    }
    if tool == Some("ab") && result.failed() > 0.0 {
        all.push(
            "ab's latencies hold the failed requests as well, each with the time until it failed, and not those that \
             were unanswered when its time was over"
                .to_owned(),
        );
    }
    all
}

/// Tool that made the loads of a case. The summary of an older program says it only in the description.
fn tool(case: &Case) -> Option<&str> {
    case.tool.as_deref().or_else(|| load_tool(&case.what))
}

/// Sentence on how long the load generator of a case with latencies waited for a processor: the median of the
/// contenders, and those with the least and the most. `None` where it was short for all, or is not known.
pub fn waited(case: &Case, styles: &Styles) -> Option<String> {
    if !case.metrics.iter().any(|name| is_of_latencies(name)) {
        return None;
    }
    let counted = case.results.iter().filter(|result| result.disqualified.is_none());
    let share = |result: &Measured| Some((waited_share(result)?, styles.title(&result.contender)));
    let mut shares: Vec<(f64, String)> = counted.filter_map(share).collect();
    shares.sort_by(|one, other| one.0.total_cmp(&other.0));
    let ((low, least), (high, most)) = (shares.first()?, shares.last()?);
    if *high < WAITED_LEAST_PCT {
        return None;
    }
    let middle = stats::median(&shares.iter().map(|(share, _)| *share).collect::<Vec<f64>>())?;
    let range = match shares.len() {
        1 => String::new(),
        _ => format!(" (the median; from {low:.0} % with {least} to {high:.0} % with {most})"),
    };
    let who = tool(case).unwrap_or("The load generator");
    Some(format!(
        "{who} itself waited for a processor for {middle:.0} % of a load{range}: its latencies, the longest among \
         them, include that."
    ))
}

/// Sentence on how long the load generator waited for a processor in cases whose latencies are in one table: for each
/// of the shown contenders the least and the most of its medians in these cases, the longest first. `None` where it was
/// short for all, or is not known.
pub fn waited_in(cases: &[&Case], styles: &Styles, is_shown: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut shares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for result in cases.iter().flat_map(|case| &case.results).filter(|one| one.disqualified.is_none()) {
        let Some(share) = waited_share(result).filter(|_| is_shown(&result.contender)) else { continue };
        let (low, high) = shares.entry(&result.contender).or_insert((share, share));
        (*low, *high) = ((*low).min(share), (*high).max(share));
    }
    let all = shares.len();
    let mut long: Vec<(&str, (f64, f64))> =
        shares.into_iter().filter(|(_, (_, high))| *high >= WAITED_LEAST_PCT).collect();
    if long.is_empty() {
        return None;
    }
    long.sort_by(|(_, (_, one)), (_, (_, other))| other.total_cmp(one));
    let in_words = |(name, (low, high)): &(&str, (f64, f64))| {
        let (low, high) = (format!("{low:.0}"), format!("{high:.0}"));
        let share = if low == high { high } else { format!("{low}–{high}") };
        format!("{} {share} %", styles.title(name))
    };
    let named: Vec<String> = long.iter().map(in_words).collect();
    let others = match all - long.len() {
        0 => String::new(),
        _ => format!(" (less than {WAITED_LEAST_PCT} % with the others)"),
    };
    Some(format!(
        "For this share of a load the load generator itself waited for a processor, and its latencies include that: \
         {}{others}.",
        grammar::list(&named)
    ))
}

/// Share of a load's time for which the load generator waited for a processor, in percent: the median of the rounds.
fn waited_share(result: &Measured) -> Option<f64> {
    result.numbers.get(GENERATOR_WAITED).filter(|spread| spread.is_sound()).map(|spread| spread.median)
}

/// A number, in groups of three digits, with its noun.
fn count_of(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", number::tick(number as f64), if number == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample_case::case;

    #[test]
    fn what_the_percentiles_of_a_tool_leave_out_is_said_where_something_failed() {
        let by = |tool: Option<&str>, what: &str, errors: &[(&str, u64)]| {
            let mut one = case("p99_ms", &[("a", &[2.0])], &[]);
            (one.what, one.tool) = (what.into(), tool.map(str::to_owned));
            let mut result = one.results[0].clone();
            result.remarks = vec!["first".into()];
            result.errors = errors.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
            let failed: f64 = errors.iter().map(|(_, count)| *count as f64).sum();
            result.add(&[("failed", [failed])]);
            (super::of(&one, &result), super::of(&one, &Measured { numbers: [].into(), ..result.clone() }))
        };
        let of = |what: &str, errors: &[(&str, u64)]| by(None, what, errors);
        let (late, none) = of("wrk --latency -t2 /a", &[("timeout", 791), ("read", 3)]);
        assert!(late.len() == 2 && late[1].contains("wrk got 791 answers after its time-out"), "{late:?}");
        assert_eq!(none, ["first"], "without percentiles nothing is missing from them");
        let (quick, _) = of("wrk --latency -t2 /a", &[("status 400 or more", 12_345)]);
        assert!(quick[1].contains("hold the 12\u{202f}345 answers with a status of 400 or more"), "{quick:?}");
        let (ab, _) = of("ab -q -c9 /a", &[("read", 2)]);
        assert!(ab[1].contains("ab's latencies hold the failed requests as well"), "{ab:?}");
        assert_eq!(of("ab -q -c9 /a", &[]).0, ["first"]);
        assert_eq!(of("closed loop: 4 clients", &[("timeout", 9)]).0, ["first"], "ours has them among its latencies");
        // Loads of two lengths: the line below the case begins with other words.
        let several = "not the same in all loads: wrk -d10s /a; or wrk -d20s /a";
        let (late, _) = by(Some("wrk"), several, &[("timeout", 791)]);
        assert!(late.len() == 2 && late[1].contains("wrk got 791 answers after its time-out"), "{late:?}");
    }

    #[test]
    fn what_concerns_several_contenders_is_said_once_with_their_names() {
        let mut one = case("p99_ms", &[("a", &[2.0]), ("b", &[3.0]), ("c", &[4.0])], &[]);
        let unknown = "it is not known whether the rate had settled before the load";
        for (result, own) in one.results.iter_mut().zip([&["x"][..], &[], &["y", "z"]]) {
            result.remarks = [unknown].iter().chain(own).map(|words| (*words).to_owned()).collect();
        }
        let said = |case: &Case| -> Vec<String> {
            let results: Vec<&Measured> = case.results.iter().collect();
            let in_words = |one: &Remark| format!("{}: {}", one.whom(&Styles::default()), one.words);
            of_all(case, &results).iter().map(in_words).collect()
        };
        assert_eq!(said(&one), [format!("all contenders: {unknown}"), "a: x".to_owned(), "c: y; z".to_owned()]);
        one.results[1].remarks.clear();
        assert_eq!(said(&one)[0], format!("a and c: {unknown}"));
    }

    #[test]
    fn the_wait_of_the_load_generator_is_told_beside_latencies_where_it_was_long() {
        let said = |metric: &str, what: &str, shares: &[f64]| {
            let mut one = case(metric, &[("a", &[2.0]), ("b", &[3.0]), ("c", &[4.0])], &[]);
            one.what = what.into();
            for (result, share) in one.results.iter_mut().zip(shares) {
                result.add(&[(GENERATOR_WAITED, [*share])]);
            }
            waited(&one, &Styles::default())
        };
        assert_eq!(
            said("max_ms", "siege -c25 /a", &[31.0, 4.0, 12.0]).unwrap(),
            "siege itself waited for a processor for 12 % of a load (the median; from 4 % with b to 31 % with a): its \
             latencies, the longest among them, include that."
        );
        let alone = said("p99_ms", "closed loop: 4 clients", &[12.0]).unwrap();
        assert!(alone.starts_with("The load generator itself waited for a processor for 12 % of a load: "), "{alone}");
        assert!(said("p99_ms", "k6, at even distances: 50 %", &[12.0]).unwrap().starts_with("k6 itself "));
        assert_eq!(said("max_ms", "siege -c25 /a", &[4.9, 0.0, 1.0]), None, "it was short");
        assert_eq!(said("requests_per_s", "siege -c25 /a", &[31.0, 4.0, 12.0]), None, "no latency is shown");
        assert_eq!(said("max_ms", "siege -c25 /a", &[]), None, "a run of before");
    }

    #[test]
    fn a_table_of_several_cases_tells_the_wait_of_the_load_generator_for_each_entry() {
        let of = |shares: [f64; 3]| {
            let mut one = case("p99_ms", &[("a", &[2.0]), ("b", &[3.0]), ("c", &[4.0])], &[]);
            for (result, share) in one.results.iter_mut().zip(shares) {
                result.add(&[(GENERATOR_WAITED, [share])]);
            }
            one
        };
        let (first, second) = (of([12.2, 3.0, 53.0]), of([7.6, 4.0, 53.4]));
        let said = |names: &[&str]| {
            waited_in(&[&first, &second], &Styles::default(), &|name| names.contains(&name)).unwrap_or_default()
        };
        let words = "For this share of a load the load generator itself waited for a processor, and its latencies \
                     include that: ";
        assert_eq!(said(&["a", "b", "c"]), format!("{words}c 53 % and a 8–12 % (less than 5 % with the others)."));
        assert_eq!(said(&["a"]), format!("{words}a 8–12 %."));
        assert_eq!(said(&["b"]), "", "it was short");
        let mut ended = of([0.0, 0.0, 90.0]);
        ended.results[2].disqualified = Some("it ended".into());
        assert_eq!(waited_in(&[&ended], &Styles::default(), &|_| true), None);
    }
}
