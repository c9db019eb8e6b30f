//! Who is best for which use: one case decides, or several alike by the geometric mean of how far each is behind the
//! best.

use super::plan::Plan;
use super::recipe::{Recipe, VerdictRecipe};
use crate::metric::{Metric, Sense};
use crate::record::summary::{Case, Measured, Verdict, Who};

/// Nearer to the best than this is level with it.
const LEVEL: f64 = 0.97;

/// Of every use that the study names and that was measured.
pub fn of(study: &Recipe, plan: &Plan, cases: &[Case], who: &[Who]) -> Vec<Verdict> {
    study.verdicts.iter().filter_map(|verdict| one(verdict, plan, cases, who)).collect()
}

fn one(recipe: &VerdictRecipe, plan: &Plan, cases: &[Case], who: &[Who]) -> Option<Verdict> {
    let families = plan.families.iter().filter(|family| recipe.cases.contains(&family.recipe.name));
    let names: Vec<&str> = families.flat_map(|family| &family.cases).map(|case| case.name.as_str()).collect();
    let decisive: Vec<&Case> = cases.iter().filter(|case| names.contains(&case.name.as_str())).collect();
    let metric = Metric::of(recipe.metric.as_ref().or_else(|| decisive.first()?.metrics.first())?)?;
    let shows = |case: &&Case| case.metrics.iter().any(|name| name == metric.name);
    let decisive: Vec<&Case> = decisive.into_iter().filter(shows).collect();
    let mut scores = scores(&decisive, metric);
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best = scores.first()?.1;
    let level = scores.iter().filter(|(_, score)| *score >= best * LEVEL);
    let winners: Vec<String> = match decisive.as_slice() {
        // One case has its own ranking, which knows the spreads of its rounds.
        [case] if case.metrics.first().is_some_and(|name| name == metric.name) => case.ranking.first()?.clone(),
        _ => level.map(|(name, _)| name.clone()).collect(),
    };
    let why = why(&decisive, metric, &winners, &scores, who);
    Some(Verdict { use_case: recipe.use_case.clone(), winners, why, published: recipe.published.clone() })
}

/// 1 is the best in every case. Only those that are ranked in all of them.
fn scores(cases: &[&Case], metric: &Metric) -> Vec<(String, f64)> {
    let is_ranked = |case: &Case, name: &str| case.ranking.iter().flatten().any(|ranked| ranked == name);
    let number = |result: &Measured| Some(result.numbers.get(metric.name)?.median.max(1e-9));
    let Some(first) = cases.first() else { return Vec::new() };
    let names = first.results.iter().map(|result| result.contender.as_str());
    let names = names.filter(|name| cases.iter().all(|case| is_ranked(case, name)));
    let score = |name: &str| -> Option<f64> {
        let mut sum = 0.0;
        for case in cases {
            let ranked = case.results.iter().filter(|result| is_ranked(case, &result.contender));
            let all: Vec<f64> = ranked.filter_map(number).collect();
            let own = case.results.iter().find(|result| result.contender == name).and_then(number)?;
            let best = match metric.sense {
                Sense::Lower => all.into_iter().min_by(f64::total_cmp)? / own,
                _ => own / all.into_iter().max_by(f64::total_cmp)?,
            };
            sum += best.ln();
        }
        Some((sum / cases.len() as f64).exp())
    };
    names.filter_map(|name| Some((name.to_owned(), score(name)?))).collect()
}

fn why(cases: &[&Case], metric: &Metric, winners: &[String], scores: &[(String, f64)], who: &[Who]) -> String {
    let Some(winner) = winners.first() else { return "nobody was ranked".into() };
    let next = scores.iter().find(|(name, _)| !winners.contains(name));
    let title = |name: &str| {
        let title = who.iter().find(|who| who.name == name).map(|who| who.title.as_str());
        title.filter(|title| !title.is_empty()).unwrap_or(name).to_owned()
    };
    if let [case] = cases {
        let figure = |name: &str| {
            let result = case.results.iter().find(|result| result.contender == name)?;
            let (digits, unit) = (metric.digits, metric.unit);
            Some(format!("{:.digits$} {unit}", result.numbers.get(metric.name)?.median).trim_end().to_owned())
        };
        let best = figure(winner).unwrap_or_default();
        let next = next.and_then(|(name, _)| Some(format!("; next is {} with {}", title(name), figure(name)?)));
        return format!("{} {best} in {}{}", metric.title.to_lowercase(), case.title, next.unwrap_or_default());
    }
    let behind = next.map(|(name, score)| match metric.sense {
        Sense::Lower => format!("; next is {}, with {:.2}× as much", title(name), 1.0 / score.max(1e-9)),
        _ => format!("; next is {}, at {:.0} % of it", title(name), score * 100.0),
    });
    let (metric, behind) = (metric.title.to_lowercase(), behind.unwrap_or_default());
    format!("{metric} over {} cases, geometric mean{behind}", cases.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::Spread;

    fn case(name: &str, figures: &[(&str, f64)], ranking: &[&[&str]]) -> Case {
        let spread = |number: f64| Spread { median: number, low: number, high: number, all: vec![number] };
        let result = |(contender, number): &(&str, f64)| Measured {
            contender: (*contender).to_owned(),
            numbers: [("p99_ms".to_owned(), spread(*number))].into(),
            ..Measured::default()
        };
        let owned = |group: &&[&str]| group.iter().map(|name| (*name).to_owned()).collect();
        Case {
            name: name.into(),
            metrics: vec!["p99_ms".into()],
            results: figures.iter().map(result).collect(),
            ranking: ranking.iter().map(owned).collect(),
            ..Case::default()
        }
    }

    #[test]
    fn several_cases_count_alike_and_who_is_not_ranked_in_one_has_no_part() {
        let a = case("a", &[("x", 1.0), ("y", 2.0), ("z", 0.1)], &[&["x"], &["y"]]);
        let b = case("b", &[("x", 8.0), ("y", 2.0), ("z", 0.1)], &[&["z"], &["y"], &["x"]]);
        let cases = [&a, &b];
        let scores = scores(&cases, Metric::of("p99_ms").unwrap());
        // x is best in a and at a fortieth of z in b; z is not ranked in a, and counts as the best in b all the same.
        let names: Vec<&str> = scores.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x", "y"]);
        assert!(scores[1].1 > scores[0].1, "{scores:?}");
    }

    #[test]
    fn one_case_has_its_own_ranking() {
        let a = case("a", &[("x", 1.0), ("y", 1.2)], &[&["x", "y"]]);
        let metric = Metric::of("p99_ms").unwrap();
        let words = why(&[&a], metric, &["x".into(), "y".into()], &scores(&[&a], metric), &[]);
        assert!(words.contains("1.00 ms") && !words.contains("next is"), "{words}");
        let who = [Who { name: "y".into(), title: "The Other".into(), ..Who::default() }];
        let words = why(&[&a], metric, &["x".into()], &scores(&[&a], metric), &who);
        assert!(words.ends_with("next is The Other with 1.20 ms"), "{words}");
    }
}
