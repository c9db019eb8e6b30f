//! Winners for each use: one case decides, or several with equal weight by the geometric mean of their figures, round
//! by round, so that differences are judged by the same intervals as in a single case.

use super::plan::Plan;
use super::recipe::{Study, VerdictNote, VerdictRecipe};
use crate::record::summary::{Case, Spread, Summary, Verdict, Who};
use crate::report::{grammar, number};
use crate::stats::{self, Place, Ranking};
use loadgen::metric::Metric;

/// Least time in a mean, in milliseconds, which takes the place of a smaller one: a time that a tool has rounded to 0
/// would decide by itself.
const LEAST_MS: f64 = 1e-3;

/// Verdicts for all uses of the study that were measured.
pub fn of(study: &Study, plan: &Plan, cases: &[Case], who: &[Who]) -> Vec<Verdict> {
    let names = |recipe: &VerdictRecipe| -> Vec<&str> {
        let families = plan.families.iter().filter(|family| recipe.cases.contains(&family.recipe.name));
        families.flat_map(|family| &family.cases).map(|case| case.name.as_str()).collect()
    };
    let verdict = |recipe: &VerdictRecipe| {
        let names = names(recipe);
        one(recipe, cases.iter().filter(|case| names.contains(&case.name.as_str())).collect(), who)
    };
    study.verdicts.iter().filter_map(verdict).collect()
}

/// Decides the verdicts of a recorded run anew, by the rules of this program and today's study. Returns the verdicts,
/// and the uses of the record that today's study no longer names, for which there can be none.
pub fn again(study: Option<&Study>, run: &Summary) -> (Vec<Verdict>, Vec<String>) {
    let recipes = study.map_or(&[][..], |study| &study.verdicts);
    let verdict = |old: &Verdict| {
        let recipe = recipes.iter().find(|recipe| recipe.use_case == old.use_case)?;
        let is_of = |case: &&Case| recipe.cases.iter().any(|family| is_of_family(&case.name, family));
        one(recipe, run.cases.iter().filter(is_of).collect(), &run.contenders)
    };
    let mut gone = Vec::new();
    let mut found = Vec::new();
    for old in &run.verdicts {
        match verdict(old) {
            Some(verdict) => found.push(verdict),
            None => gone.push(old.use_case.clone()),
        }
    }
    (found, gone)
}

/// Whether a recorded case is of this family: it has the family's name, or in a series that and its number
/// (`posts@32`).
pub(super) fn is_of_family(case: &str, family: &str) -> bool {
    case.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '=']))
}

fn one(recipe: &VerdictRecipe, decisive: Vec<&Case>, who: &[Who]) -> Option<Verdict> {
    let metric = Metric::of(recipe.metric.as_ref().or_else(|| decisive.first()?.metrics.first())?)?;
    let is_missing = |family: &String| !decisive.iter().any(|case| is_of_family(&case.name, family));
    let is_partial = recipe.cases.iter().any(is_missing);
    // A case in which no contender has a figure, such as a p99 of few requests, decides nothing.
    let has_figures = |case: &Case| case.results.iter().any(|result| result.numbers.contains_key(metric.name));
    let shows = |case: &&Case| case.metrics.iter().any(|name| name == metric.name) && has_figures(case);
    let decisive: Vec<&Case> = decisive.into_iter().filter(shows).collect();
    let list = means(&decisive, metric);
    let found = stats::ranking(list.clone(), metric.direction);
    let mut why = why(&decisive, metric, &found, &list, who);
    let is_about = |note: &&VerdictNote| list.iter().any(|(name, _)| note.contenders.contains(name));
    if is_partial {
        let titles: Vec<String> = decisive.iter().map(|case| case.title.clone()).collect();
        why.push_str(&format!("; of the cases of this use only these were measured: {}", grammar::list(&titles)));
    }
    why.extend(recipe.note.iter().filter(is_about).flat_map(|note| ["; ", note.words.as_str()]));
    let winners = found.groups.into_iter().next()?;
    Some(Verdict { use_case: recipe.use_case.clone(), winners, why, published: recipe.published.clone() })
}

/// Geometric means of the figures of each contender that is ranked in all of the cases, for every round that has them
/// all; with a single case, the figures of that case. For failures of which one figure is 0, 1 is added to all figures
/// and subtracted from the means, so that no failures at all stay 0.
fn means<'a>(cases: &[&'a Case], metric: &Metric) -> Vec<(String, Spread)> {
    let ranked = |case: &Case, name: &str| case.ranking.iter().flatten().any(|ranked| ranked == name);
    let Some(first) = cases.first() else { return Vec::new() };
    let names = first.results.iter().map(|result| result.contender.as_str());
    let is_time = metric.name.ends_with("_ms");
    let all = cases.iter().flat_map(|case| &case.results).filter_map(|result| result.numbers.get(metric.name));
    let has_zero = all.flat_map(|spread| &spread.all).any(|number| *number <= 0.0);
    let more = if has_zero && !is_time { 1.0 } else { 0.0 };
    let mean = |name: &str| -> Option<Spread> {
        let own = |case: &'a Case| {
            let result = case.results.iter().find(|result| result.contender == name)?;
            result.numbers.get(metric.name).filter(|_| ranked(case, name))
        };
        let spreads: Vec<&Spread> = cases.iter().map(|case| own(case)).collect::<Option<_>>()?;
        if let [one] = spreads[..] {
            return Some(one.clone());
        }
        let of_round = |(round, _): (u32, f64)| {
            let numbers: Option<Vec<f64>> = spreads.iter().map(|spread| spread.in_round(round)).collect();
            let least = if is_time { LEAST_MS } else { 0.0 };
            let logs: Vec<f64> = numbers?.into_iter().map(|number| (number + more).max(least).ln()).collect();
            let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            Some((round, (mean - more).max(0.0)))
        };
        Spread::of_rounds(&spreads[0].by_round().filter_map(of_round).collect::<Vec<_>>())
    };
    names.filter_map(|name| Some((name.to_owned(), mean(name)?))).collect()
}

fn why(cases: &[&Case], metric: &Metric, ranking: &Ranking, list: &[(String, Spread)], who: &[Who]) -> String {
    let first = |group: Option<&Vec<String>>| {
        let name = group?.first()?;
        list.iter().find(|(one, _)| one == name)
    };
    let Some((_, best)) = first(ranking.groups.first()) else { return "no contender was ranked".into() };
    let next = first(stats::next_worse(&ranking.groups, &ranking.undecided));
    let title = |name: &str| {
        let title = who.iter().find(|who| who.name == name).map(|who| who.title.as_str());
        title.filter(|title| !title.is_empty()).unwrap_or(name).to_owned()
    };
    let is_open = |spread: &Spread| stats::place(best, spread, metric.direction) == Place::Undecided;
    let open: Vec<String> = list.iter().filter(|(_, spread)| is_open(spread)).map(|(name, _)| title(name)).collect();
    let open = if open.is_empty() { String::new() } else { format!("; undecided: {}", grammar::list(&open)) };
    if let [case] = cases {
        let figure = |spread: &Spread| {
            let digits = metric.digits;
            let unit = metric.unit;
            format!("{:.digits$} {unit}", spread.median).trim_end().to_owned()
        };
        let beside = |spread| {
            stats::meaningful_ratio(spread, best).map_or_else(String::new, |it| format!(", {}", number::ratio(&it)))
        };
        let next =
            next.map(|(name, spread)| format!("; next is {} with {}{}", title(name), figure(spread), beside(spread)));
        let metric = metric.title.to_lowercase();
        let best = figure(best);
        return format!("{metric} {best} in {}{}{open}", case.title, next.unwrap_or_default());
    }
    let behind = next.and_then(|(name, spread)| {
        let ratio = number::ratio(&stats::meaningful_ratio(spread, best)?);
        Some(format!("; next is {}, with {ratio} as much", title(name)))
    });
    let metric = metric.title.to_lowercase();
    let behind = behind.unwrap_or_default();
    format!("{metric} over {} cases, geometric mean{behind}{open}", cases.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::Measured;

    fn case(name: &str, figures: &[(&str, [f64; 3])], ranking: &[&[&str]]) -> Case {
        let result = |(contender, numbers): &(&str, [f64; 3])| Measured {
            contender: (*contender).to_owned(),
            numbers: [("p99_ms".to_owned(), Spread::of(numbers).unwrap())].into(),
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

    fn near(number: f64) -> [f64; 3] {
        [0.99, 1.0, 1.01].map(|share| share * number)
    }

    fn judged(cases: &[&Case], who: &[Who]) -> (Vec<Vec<String>>, String) {
        let metric = Metric::of("p99_ms").unwrap();
        let list = means(cases, metric);
        let found = stats::ranking(list.clone(), metric.direction);
        let words = why(cases, metric, &found, &list, who);
        (found.groups, words)
    }

    #[test]
    fn several_cases_count_alike_and_who_is_not_ranked_in_one_has_no_part() {
        let a = case("a", &[("x", near(1.0)), ("y", near(2.0)), ("z", near(0.1))], &[&["x"], &["y"]]);
        let b = case("b", &[("x", near(8.0)), ("y", near(2.0)), ("z", near(0.1))], &[&["z"], &["y"], &["x"]]);
        let (groups, words) = judged(&[&a, &b], &[]);
        assert_eq!(groups, [["y"], ["x"]]);
        assert!(words.ends_with("next is x, with 1.41× as much"), "{words}");
    }

    #[test]
    fn several_cases_are_level_where_their_rounds_do_not_tell_them_apart() {
        // A tenth better in the medians of both cases, but widely scattered.
        let a = case("a", &[("x", [1.0, 2.0, 1.4]), ("y", [1.5, 1.1, 1.9])], &[&["x", "y"]]);
        let b = case("b", &[("x", [1.0, 1.9, 1.5]), ("y", [1.8, 1.2, 1.6])], &[&["x", "y"]]);
        assert_eq!(judged(&[&a, &b], &[]).0, [["x", "y"]]);
        // Half as good by its medians, and as widely scattered: that it is as good is not known.
        let far = case("b", &[("x", [1.0, 1.9, 1.5]), ("y", [9.0, 1.2, 8.0])], &[&["x", "y"]]);
        let (groups, words) = judged(&[&a, &far], &[]);
        assert_eq!(groups, [["x"], ["y"]]);
        assert!(words.ends_with("geometric mean; undecided: y"), "{words}");
    }

    /// Two failures of a million, and none: by the table it is not known whether they differ, and so for the verdict.
    #[test]
    fn no_failure_is_no_thousandth_of_one() {
        let failing = |name: &str, figures: [[f64; 3]; 2]| {
            let mut case = case(name, &[("x", figures[0]), ("y", figures[1])], &[&["x", "y"]]);
            for result in &mut case.results {
                let numbers = result.numbers.remove("p99_ms").unwrap();
                result.numbers.insert("failed_ppm".into(), numbers);
            }
            case
        };
        let metric = Metric::of("failed_ppm").unwrap();
        let (few, many) = ([[0.0; 3], [2.0, 1.0, 3.0]], [[0.0; 3], [90_000.0, 80_000.0, 85_000.0]]);
        let ranked = |cases: &[&Case]| stats::ranking(means(cases, metric), metric.direction);
        let one = failing("a", few);
        assert_eq!(ranked(&[&one]).undecided, ["y"]);
        assert_eq!(ranked(&[&one, &failing("b", few)]).undecided, ["y"]);
        let apart = ranked(&[&failing("a", many), &failing("b", many)]);
        assert!(apart.groups == [["x"], ["y"]] && apart.undecided.is_empty(), "{apart:?}");
    }

    #[test]
    fn one_case_is_told_with_its_figures() {
        let a = case("a", &[("x", [0.5, 1.5, 1.0]), ("y", [1.2, 1.0, 1.4])], &[&["x", "y"]]);
        let (_, words) = judged(&[&a], &[]);
        assert!(words.contains("1.00 ms") && !words.contains("next is") && words.ends_with("undecided: y"), "{words}");
        let who = [Who { name: "y".into(), title: "The Other".into(), ..Who::default() }];
        let a = case("a", &[("x", near(1.0)), ("y", near(1.2))], &[&["x"], &["y"]]);
        let (_, words) = judged(&[&a], &who);
        assert!(words.ends_with("next is The Other with 1.20 ms, 1.20×"), "{words}");
    }
}
