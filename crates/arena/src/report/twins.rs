//! The result of the twin, the contender that takes part twice: how often a run shows a difference where there is none.

use serde::Serialize;

use super::grammar::count;
use super::number;
use super::ranking;
use super::styles::{Chip, Styles};
use crate::record::summary::{Case, Measured, Summary};
use crate::stats;
use loadgen::metric::Direction;

/// Share of equal pairs that may differ significantly by chance.
const BY_CHANCE: f64 = 0.05;

/// What a comparison of the twins has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Twins {
    /// Sentence for people.
    pub words: String,
    /// Whether the twins differ in more cases than chance explains; then other differences of the run are no more
    /// reliable.
    pub is_alarm: bool,
    /// Whether they were compared in any case. If not, the run has shown nothing of its noise.
    pub is_compared: bool,
}

/// Compares the twins over all cases; `None` if the run has no twin.
pub fn compared(summary: &Summary, styles: &Styles) -> Option<Twins> {
    let title = styles.title(summary.twin_of.as_deref()?);
    let mut compared: Vec<(&Case, stats::Ratio)> = Vec::new();
    // Cases in which only one of the two is ranked, as if it alone kept up with a rate: a difference without a ratio.
    let mut half: Vec<String> = Vec::new();
    for case in &summary.cases {
        let metric = ranking::metric_of(case).filter(|metric| metric.direction != Direction::Plain);
        let original = case.results.iter().find(|one| Some(&one.contender) == summary.twin_of.as_ref());
        let Some((metric, (original, twin))) = metric.zip(original.zip(case.twin.as_ref())) else { continue };
        let figure = |one: &Measured| one.numbers.get(metric.name).filter(|_| case.counts(one, metric.name)).cloned();
        match (figure(original), figure(twin)) {
            (Some(original), Some(twin)) => compared.extend(stats::ratio(&twin, &original).map(|ratio| (case, ratio))),
            (None, None) => {}
            _ => half.push(case.title.clone()),
        }
    }
    let apart: Vec<String> = compared
        .iter()
        .filter(|(_, ratio)| ratio.standing() == stats::Standing::Apart)
        .map(|(case, ratio)| format!("{}: {}", case.title, number::ratio(ratio)))
        .collect();
    let is_compared = !compared.is_empty();
    let is_alarm = is_compared && chance(compared.len(), apart.len()) < BY_CHANCE;
    let count = match (apart.len(), compared.len()) {
        (_, 0) => format!(
            "{title} was measured twice, as if it were two servers, and the two could not be compared: in no case are \
             both ranked"
        ),
        (0, all) => {
            let cases = count(all, "case", "cases");
            format!("{title} was measured twice, as if it were two servers: they are told apart in none of {cases}")
        }
        (some, all) => {
            let cases = count(all, "case", "cases");
            let so = match is_alarm {
                true => "that is more than chance explains, and the other differences of this run are worth no more",
                false => "chance explains that",
            };
            format!(
                "{title} was measured twice, as if it were two servers: they are told apart in {some} of {cases} \
                 ({}); {so}",
                apart.join("; ")
            )
        }
    };
    let half = match &half[..] {
        some if some.is_empty() || !is_compared => String::new(),
        [one] => format!("; in one more, only one of the two is ranked ({one})"),
        more => format!("; in {} more, only one of the two is ranked ({})", more.len(), more.join("; ")),
    };
    Some(Twins { words: count + &half, is_alarm, is_compared })
}

/// Title of the twin in tables. It has no mark: its original has that.
pub fn chip(summary: &Summary, styles: &Styles) -> Chip {
    let original = summary.twin_of.as_deref().map_or_else(String::new, |of| format!(" of {}", styles.title(of)));
    Chip { title: format!("the twin{original}"), ..Chip::default() }
}

/// What the twins have shown, if they differ in more cases than chance explains.
pub fn alarm(summary: &Summary) -> Option<String> {
    compared(summary, &Styles::of(summary)).filter(|twins| twins.is_alarm).map(|twins| twins.words)
}

/// Probability that at least `apart` of these equal pairs differ by chance.
fn chance(pairs: usize, apart: usize) -> f64 {
    let mut ways = 1.0;
    let mut fewer = 0.0;
    for hits in 0..apart {
        fewer += ways * BY_CHANCE.powi(hits as i32) * (1.0 - BY_CHANCE).powi((pairs - hits) as i32);
        ways *= (pairs - hits) as f64 / (hits + 1) as f64;
    }
    1.0 - fewer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample_case::case;

    #[test]
    fn twins_that_differ_are_an_alarm_when_chance_does_not_explain_it() {
        let of = |ratios: &[f64]| {
            let one = |ratio: &f64| {
                let mut one = case("requests_per_s", &[("a", &[100.0, 101.0, 99.0])], &[&["a"]]);
                let numbers: Vec<f64> = [100.0, 101.0, 99.0].map(|rate| rate * ratio).into();
                one.title = "Page".into();
                one.twin = case("requests_per_s", &[("twin", &numbers)], &[]).results.pop();
                one
            };
            let cases = ratios.iter().map(one).collect();
            compared(&Summary { cases, twin_of: Some("a".into()), ..Summary::default() }, &Styles::default()).unwrap()
        };
        let calm = of(&[1.0, 1.0, 1.0]);
        assert!(calm.words.ends_with("told apart in none of 3 cases") && !calm.is_alarm, "{calm:?}");
        let mut many = vec![1.0; 12];
        many[3] = 1.5;
        assert!(of(&many).words.contains("in 1 of 12 cases (Page: 1.50×); chance explains that"), "{:?}", of(&many));
        (many[4], many[5]) = (0.5, 0.5);
        assert!(of(&many).is_alarm && of(&many).words.contains("worth no more"), "{:?}", of(&many));
        assert_eq!(compared(&Summary::default(), &Styles::default()), None);
        // Who is not ranked is compared with nobody, its twin as little.
        let mut one = case("requests_per_s", &[("a", &[100.0, 101.0, 99.0])], &[&["a"]]);
        one.twin = case("requests_per_s", &[("twin", &[50.0, 51.0, 49.0])], &[]).results.pop();
        let found = |one: &Case| {
            let summary = Summary { cases: vec![one.clone()], twin_of: Some("a".into()), ..Summary::default() };
            compared(&summary, &Styles::default()).unwrap()
        };
        assert!(found(&one).words.contains("in 1 of 1 case") && found(&one).is_compared, "{:?}", found(&one));
        let failing = |result: &mut Measured| result.add(&[("failed", [5.0]), ("requests", [95.0])]);
        let mut original = one.clone();
        failing(&mut original.results[0]);
        let cases = vec![one.clone(), Case { title: "Fast".into(), ..original.clone() }];
        let summary = Summary { cases, twin_of: Some("a".into()), ..Summary::default() };
        let words = compared(&summary, &Styles::default()).unwrap().words;
        assert!(words.ends_with("; in one more, only one of the two is ranked (Fast)"), "{words}");
        let mut twin = one.clone();
        failing(twin.twin.as_mut().unwrap());
        one.results[0].disqualified = Some("it lied".into());
        for out in [one, original, twin] {
            let found = found(&out);
            assert!(!found.is_compared && !found.is_alarm, "they do not differ either: {found:?}");
            assert!(found.words.contains("could not be compared: in no case are both ranked"), "{found:?}");
        }
    }
}
