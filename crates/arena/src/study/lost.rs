//! Finds figures in the summary of a finished run that its samples do not have, because `raw.jsonl` was cut, emptied or
//! removed, or one of the two files was changed. Such figures cannot be checked, and a new summary would lose them.

use std::collections::BTreeSet;

use crate::measure::summarized;
use crate::record::Sample;
use crate::record::folder::Folder;
use crate::record::summary::{Measured, Summary};

/// Sentence on samples that a finished run has lost; `None` if it has all, or has not finished.
pub fn lost_samples(folder: &Folder) -> Result<Option<String>, String> {
    let Ok(shown) = folder.read_summary() else { return Ok(None) };
    let (samples, torn) = folder.samples()?;
    Ok(lost_from(&shown, &samples, torn.is_some()))
}

/// The same for a finished run with this summary, as it is stored, and these samples; `is_torn` is whether the last
/// line of their file is incomplete.
pub(super) fn lost_from(shown: &Summary, samples: &[Sample], is_torn: bool) -> Option<String> {
    let lost = lost(shown, samples);
    // A load that is imported is written before the summary that shows it.
    let is_import = samples.iter().any(|one| !one.imported.is_empty());
    let what = match &lost[..] {
        [] if !is_torn || is_import => return None,
        [] => "the end of its last line".to_owned(),
        [one] => format!("1 sample that its summary.json shows: {one}"),
        [first, ..] => format!("{} samples that its summary.json shows, such as {first}", lost.len()),
    };
    Some(format!("its raw.jsonl lacks {what}"))
}

/// Contenders in cases, with their rounds, whose figures in a summary are in no sample.
fn lost(shown: &Summary, samples: &[Sample]) -> Vec<String> {
    let of_case = |(case, result): (&str, &Measured)| {
        let own: Vec<&Sample> = samples.iter().filter(|one| one.is_of(case, &result.contender)).collect();
        let is_there = |metric: &String, round: u32, shown: f64| {
            let seen = own.iter().filter(|one| one.round == round).filter_map(|one| one.numbers.get(metric));
            seen.copied().any(|number| summarized(number).total_cmp(&shown).is_eq())
        };
        let rounds: BTreeSet<u32> = result
            .numbers
            .iter()
            .flat_map(|(metric, spread)| spread.by_round().map(move |(round, shown)| (metric, round, shown)))
            .filter(|(metric, round, shown)| !is_there(metric, *round, *shown))
            .map(|(_, round, _)| round)
            .collect();
        let name = format!("{} in {case}", result.contender);
        let is_judged = result.disqualified.is_none() || own.iter().any(|one| one.disqualified.is_some());
        match rounds.is_empty() {
            true => (own.is_empty() || !is_judged).then_some(name).into_iter().collect(),
            false => rounds.iter().map(|round| format!("{name}, round {round}")).collect::<Vec<_>>(),
        }
    };
    let results = shown
        .cases
        .iter()
        .flat_map(|case| case.results.iter().chain(&case.twin).map(move |result| (case.name.as_str(), result)));
    results.flat_map(of_case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::Case;

    #[test]
    fn samples_that_a_summary_shows_and_that_are_gone_are_named() {
        let sample = |contender: &str, round: u32, disqualified: Option<&str>| {
            let (case, disqualified) = ("page".to_owned(), disqualified.map(str::to_owned));
            Sample { case, round, disqualified, ..Sample::of(contender, &[("requests_per_s", 9.0)]) }
        };
        let result = |contender: &str, rounds: &[f64], disqualified: Option<&str>| Measured {
            disqualified: disqualified.map(str::to_owned),
            ..Measured::of(contender, &[("requests_per_s", rounds)])
        };
        let (twin, both) = (Some(result("twin", &[9.0], None)), result("a", &[9.0, 9.0], None));
        let results = vec![both, result("b", &[9.0], Some("it lied")), result("c", &[], None)];
        let case = Case { name: "page".into(), results, twin, ..Case::default() };
        let shown = Summary { cases: vec![case], ..Summary::default() };
        let all = [
            sample("a", 1, None),
            sample("a", 2, None),
            sample("b", 1, None),
            sample("b", 2, Some("it lied")),
            Sample { numbers: [].into(), ..sample("c", 1, None) },
            sample("twin", 1, None),
        ];
        assert_eq!(lost(&shown, &all), Vec::<String>::new());
        let without = |gone: usize| {
            let kept: Vec<Sample> =
                all.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, one)| one.clone()).collect();
            lost(&shown, &kept)
        };
        let found: Vec<Vec<String>> = (0..all.len()).map(without).collect();
        let words = [
            "a in page, round 1",
            "a in page, round 2",
            "b in page, round 1",
            "b in page",
            "c in page",
            "twin in page, round 1",
        ];
        assert_eq!(found, words.map(|one| vec![one.to_owned()]));
        assert_eq!(lost(&shown, &[]).len(), 5);
        let mut others = all.clone();
        others[1].numbers.insert("requests_per_s".into(), 8.0);
        assert_eq!(lost(&shown, &others), ["a in page, round 2"], "a figure that no sample has");
        others[1].numbers.insert("requests_per_s".into(), 8.999_999_9);
        assert_eq!(lost(&shown, &others), Vec::<String>::new(), "a summary has five digits");
    }
}
