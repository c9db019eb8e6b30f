//! Winners for each use: one case decides, or several with equal weight by the geometric mean of their figures, round
//! by round, so that differences are judged by the same intervals as in a single case.

use super::plan::Plan;
use super::recipe::{Study, VerdictNote, VerdictRecipe};
use crate::record::summary::{Case, Measured, Spread, Summary, Verdict, Who};
use crate::report::rows::names_in;
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
    let has_figures = |case: &&Case| case.results.iter().any(|result| result.numbers.contains_key(metric.name));
    let shows = |case: &&Case| case.metrics.iter().any(|name| name == metric.name);
    let shown: Vec<&Case> = decisive.into_iter().filter(shows).collect();
    let decisive: Vec<&Case> = shown.iter().copied().filter(has_figures).collect();
    if decisive.is_empty() {
        let place = match &shown[..] {
            [] => return None,
            [case] => case.title.clone(),
            several => format!("any of these {} cases", several.len()),
        };
        let why = format!("no contender has a figure for {} in {place}", metric.title.to_lowercase());
        let (use_case, published) = (recipe.use_case.clone(), recipe.published.clone());
        return Some(Verdict { use_case, why, published, ..Verdict::default() });
    }
    let list = means(&decisive, metric);
    let found = stats::ranking(list.clone(), metric.direction);
    let open = left_open(&decisive, metric, &found);
    let mut why = match &open[..] {
        [] => why(&decisive, metric, &found, &list, who),
        open => no_winner(&decisive, metric, &found, open, who),
    };
    if !list.is_empty() {
        why.push_str(&left_out(&decisive, metric, &open, who));
    }
    let is_about = |note: &&VerdictNote| list.iter().any(|(name, _)| note.contenders.contains(name));
    if is_partial {
        let titles: Vec<String> = decisive.iter().map(|case| case.title.clone()).collect();
        why.push_str(&format!("; of the cases of this use only these were measured: {}", grammar::list(&titles)));
    }
    why.extend(recipe.note.iter().filter(is_about).flat_map(|note| ["; ", note.words.as_str()]));
    let winners = found.groups.into_iter().next().filter(|_| open.is_empty()).unwrap_or_default();
    let best = list.iter().find(|(name, _)| winners.first() == Some(name));
    let is_open = best.is_some_and(|(_, best)| !undecided(best, &list, metric).is_empty());
    Some(Verdict { use_case: recipe.use_case.clone(), winners, is_open, why, published: recipe.published.clone() })
}

/// Geometric means of the figures of each contender that is ranked in all of the cases, for every round that has them
/// all; with a single case, the figures of that case. For failures of which one figure is 0, 1 is added to all figures
/// and subtracted from the means, so that no failures at all stay 0.
fn means(cases: &[&Case], metric: &Metric) -> Vec<(String, Spread)> {
    let Some(first) = cases.first() else { return Vec::new() };
    let names = first.results.iter().map(|result| result.contender.as_str());
    let is_time = metric.name.ends_with("_ms");
    let all = cases.iter().flat_map(|case| &case.results).filter_map(|result| result.numbers.get(metric.name));
    let has_zero = all.flat_map(|spread| &spread.all).any(|number| *number <= 0.0);
    let more = if has_zero && !is_time { 1.0 } else { 0.0 };
    let mean = |name: &str| -> Option<Spread> {
        let spreads: Vec<&Spread> =
            cases.iter().map(|case| ranked_figure(case, name, metric)).collect::<Option<_>>()?;
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

/// Result of a contender in a case, if it was loaded there and can be ranked by this metric. The case may be ranked by
/// another one: a server that did not keep up has a rate that counts, and latencies that do not.
fn counted<'a>(case: &'a Case, name: &str, metric: &Metric) -> Option<&'a Measured> {
    let result = case.results.iter().find(|result| result.contender == name)?;
    let counts = !result.numbers.is_empty() && case.has_merit(metric) && case.counts(result, metric.name);
    counts.then_some(result)
}

/// Figure of a contender that can be ranked by it in a case.
fn ranked_figure<'a>(case: &'a Case, name: &str, metric: &Metric) -> Option<&'a Spread> {
    counted(case, name, metric)?.numbers.get(metric.name)
}

/// Words on the contenders that are left out of a use: those that are not ranked in one of its cases, and those without
/// a figure in one, except for those in `open`, which are named elsewhere.
fn left_out(cases: &[&Case], metric: &Metric, open: &[&str], who: &[Who]) -> String {
    let is_ranked = |name: &&str| cases.iter().all(|case| counted(case, name, metric).is_some());
    let (mut ranked, out): (Vec<&str>, Vec<&str>) = names_in(cases).into_iter().partition(is_ranked);
    ranked.retain(|name| !open.contains(name) && cases.iter().any(|case| ranked_figure(case, name, metric).is_none()));
    let [in_all, in_some] = match cases {
        [_] => ["", ""],
        _ => [" in all of these cases", " in some of these cases"],
    };
    let without = format!("without a figure for {}{in_some}", metric.title.to_lowercase());
    let words = |names: Vec<&str>, why: String| {
        let titles: Vec<String> = names.into_iter().map(|name| title(who, name)).collect();
        if titles.is_empty() { String::new() } else { format!("; left out, {why}: {}", grammar::list(&titles)) }
    };
    words(out, format!("since not ranked{in_all}")) + &words(ranked, without)
}

/// Contenders that could be the best, and that the means leave out: they can be ranked in all of the cases, lack the
/// figure in some, such as a percentile of few requests, and are not shown to be worse than the first in the others.
fn left_open<'a>(cases: &[&'a Case], metric: &Metric, ranking: &Ranking) -> Vec<&'a str> {
    let best = ranking.groups.first().and_then(|group| group.first());
    let (Some(best), Some(first)) = (best, cases.first()) else { return Vec::new() };
    let is_open = |name: &&str| {
        let has = |case: &&Case| ranked_figure(case, name, metric).is_some();
        let shared: Vec<&Case> = cases.iter().copied().filter(has).collect();
        if shared.len() == cases.len() || !cases.iter().all(|case| counted(case, name, metric).is_some()) {
            return false;
        }
        let list = means(&shared, metric);
        let of = |wanted: &str| list.iter().find(|(one, _)| one == wanted).map(|(_, spread)| spread);
        let both = of(best).zip(of(name));
        both.is_some_and(|(best, own)| stats::place(best, own, metric.direction) != Place::Worse)
    };
    first.results.iter().map(|result| result.contender.as_str()).filter(is_open).collect()
}

/// Sentence on a use without a winner, since these contenders could be the best.
fn no_winner(cases: &[&Case], metric: &Metric, ranking: &Ranking, open: &[&str], who: &[Who]) -> String {
    let open: Vec<String> = open.iter().map(|name| title(who, name)).collect();
    let (has, is) = if open.len() == 1 { ("has", "is") } else { ("have", "are") };
    let best = ranking.groups.first().and_then(|group| group.first()).map_or("", String::as_str);
    format!(
        "{} {has} no {} in some of these {} cases, and {is} not shown to be worse than {} in the others",
        grammar::list(&open),
        metric.title.to_lowercase(),
        cases.len(),
        title(who, best)
    )
}

/// Names of the contenders of which it is not known whether they are worse than the best.
fn undecided<'a>(best: &Spread, list: &'a [(String, Spread)], metric: &Metric) -> Vec<&'a str> {
    let is_open = |spread: &Spread| stats::place(best, spread, metric.direction) == Place::Undecided;
    list.iter().filter(|(_, spread)| is_open(spread)).map(|(name, _)| name.as_str()).collect()
}

/// Title of a contender, or its name where it has none.
fn title(who: &[Who], name: &str) -> String {
    let title = who.iter().find(|who| who.name == name).map(|who| who.title.as_str());
    title.filter(|title| !title.is_empty()).unwrap_or(name).to_owned()
}

fn why(cases: &[&Case], metric: &Metric, ranking: &Ranking, list: &[(String, Spread)], who: &[Who]) -> String {
    let first = |group: Option<&Vec<String>>| {
        let name = group?.first()?;
        list.iter().find(|(one, _)| one == name)
    };
    let Some((_, best)) = first(ranking.groups.first()) else {
        let in_all = if cases.len() == 1 { "" } else { " in all of the cases with this figure" };
        return format!("no contender was ranked{in_all}");
    };
    let next = first(stats::next_worse(&ranking.groups, &ranking.undecided));
    let title = |name: &str| title(who, name);
    let open: Vec<String> = undecided(best, list, metric).into_iter().map(title).collect();
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

    fn case(name: &str, figures: &[(&str, [f64; 3])]) -> Case {
        Case { name: name.into(), ..Case::of("p99_ms", figures) }
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
        let mut a = case("a", &[("x", near(1.0)), ("y", near(2.0)), ("z", near(0.1))]);
        a.results[2].disqualified = Some("it lied".into());
        let b = case("b", &[("x", near(8.0)), ("y", near(2.0)), ("z", near(0.1))]);
        let (groups, words) = judged(&[&a, &b], &[]);
        assert_eq!(groups, [["y"], ["x"]]);
        assert!(words.ends_with("next is x, with 1.41× as much"), "{words}");
    }

    #[test]
    fn several_cases_are_level_where_their_rounds_do_not_tell_them_apart() {
        // A tenth better in the medians of both cases, but widely scattered.
        let a = case("a", &[("x", [1.0, 2.0, 1.4]), ("y", [1.5, 1.1, 1.9])]);
        let b = case("b", &[("x", [1.0, 1.9, 1.5]), ("y", [1.8, 1.2, 1.6])]);
        assert_eq!(judged(&[&a, &b], &[]).0, [["x", "y"]]);
        // Half as good by its medians, and as widely scattered: that it is as good is not known.
        let far = case("b", &[("x", [1.0, 1.9, 1.5]), ("y", [9.0, 1.2, 8.0])]);
        let (groups, words) = judged(&[&a, &far], &[]);
        assert_eq!(groups, [["x"], ["y"]]);
        assert!(words.ends_with("geometric mean; undecided: y"), "{words}");
        let recipe = "use_case = \"U\"\ncases = [\"a\", \"b\"]\nmetric = \"p99_ms\"";
        let recipe: VerdictRecipe = toml::from_str(recipe).unwrap();
        let is_open = |other: &Case| one(&recipe, vec![&a, other], &[]).unwrap().is_open;
        assert!(is_open(&far) && !is_open(&b));
    }

    /// Two failures of a million, and none: by the table it is not known whether they differ, and so for the verdict.
    #[test]
    fn no_failure_is_no_thousandth_of_one() {
        let failing = |name: &str, figures: [[f64; 3]; 2]| {
            let mut case = case(name, &[("x", figures[0]), ("y", figures[1])]);
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
    fn nobody_is_best_where_one_who_lacks_a_figure_is_not_worse_in_the_other_cases() {
        let recipe: VerdictRecipe = toml::from_str("use_case = \"U\"\ncases = [\"c\"]\nmetric = \"p99_ms\"").unwrap();
        let verdict = |others: [f64; 3]| {
            let mut few = case("c@1", &[("x", near(2.0)), ("y", near(9.0)), ("z", near(1.0))]);
            few.results[2] = Measured::of("z", &[("p50_ms", near(0.5))]);
            let many = case("c@9", &[("x", near(4.0)), ("y", near(9.0)), ("z", others)]);
            one(&recipe, vec![&few, &many], &[]).unwrap()
        };
        let open = verdict(near(1.0));
        assert!(open.winners.is_empty(), "{open:?}");
        let words = "z has no p99 in some of these 2 cases, and is not shown to be worse than x in the others";
        assert_eq!(open.why, words);
        let worse = verdict(near(40.0));
        assert_eq!(worse.winners, ["x"]);
        assert!(worse.why.starts_with("p99 over 2 cases, geometric mean; next is y"), "{}", worse.why);
        assert!(worse.why.ends_with("; left out, without a figure for p99 in some of these cases: z"), "{}", worse.why);
    }

    #[test]
    fn who_has_no_part_in_a_use_is_named() {
        let recipe: VerdictRecipe = toml::from_str("use_case = \"U\"\ncases = [\"c\"]\nmetric = \"p99_ms\"").unwrap();
        let a = case("c@1", &[("x", near(2.0)), ("y", near(1.0))]);
        let mut b = case("c@9", &[("x", near(2.0)), ("y", near(900.0))]);
        b.results[1].served_share = Some(0.5);
        let found = one(&recipe, vec![&a, &b], &[]).unwrap();
        let words = "p99 over 2 cases, geometric mean; left out, since not ranked in all of these cases: y";
        assert_eq!((found.winners, found.why.as_str()), (vec!["x".to_owned()], words));
        let alone = |case: &Case| one(&recipe, vec![case], &[]).unwrap().why;
        assert!(alone(&b).ends_with("; left out, since not ranked: y"), "{}", alone(&b));
        // Nor is one that no load could be made for, or that one of the cases lacks.
        b.results[1] = Measured { contender: "y".into(), ..Measured::default() };
        assert_eq!(one(&recipe, vec![&a, &b], &[]).unwrap().why, words);
        b.results.pop();
        for cases in [vec![&a, &b], vec![&b, &a]] {
            assert_eq!(one(&recipe, cases, &[]).unwrap().why, words);
        }
        let mut few = case("c", &[("x", near(2.0)), ("y", near(1.0))]);
        few.results[1] = Measured::of("y", &[("p50_ms", near(0.5))]);
        assert!(alone(&few).ends_with("; left out, without a figure for p99: y"), "{}", alone(&few));
    }

    /// A case that is ranked by its rate, of a use that is decided by the p99: that of a server which did not keep up
    /// won, and one that lacked the rate alone was left out.
    #[test]
    fn a_use_is_decided_by_those_who_can_be_ranked_by_its_own_metric() {
        let recipe: VerdictRecipe = toml::from_str("use_case = \"U\"\ncases = [\"c\"]\nmetric = \"p99_ms\"").unwrap();
        let numbers = [("behind", near(1.0)), ("x", near(4.0)), ("without", near(2.0))];
        let mut by_rate = Case { metrics: vec!["requests_per_s".into(), "p99_ms".into()], ..case("c", &numbers) };
        for result in &mut by_rate.results[..2] {
            result.add(&[("requests_per_s", near(100.0))]);
        }
        by_rate.results[0].served_share = Some(0.5);
        stats::rank(&mut by_rate);
        assert_eq!(by_rate.ranking, [["behind", "x"]]);
        let found = one(&recipe, vec![&by_rate], &[]).unwrap();
        assert_eq!(found.winners, ["without"]);
        assert!(found.why.contains("next is x with 4.00 ms"), "{}", found.why);
        // Where few answers are right, those come quickly: a case about failures is ranked all the same, by failures.
        let failing = [("failed", near(500.0)), ("requests", near(500.0)), ("failed_ppm", near(5e5))];
        by_rate.results[2].add(&failing);
        by_rate.is_about_failures = true;
        assert_eq!(one(&recipe, vec![&by_rate], &[]).unwrap().winners, ["x"]);
    }

    #[test]
    fn a_use_in_whose_cases_nobody_is_ranked_is_told_and_one_that_was_not_measured_is_not() {
        let recipe: VerdictRecipe = toml::from_str("use_case = \"U\"\ncases = [\"c\"]\nmetric = \"p99_ms\"").unwrap();
        let mut nobody = case("c", &[("x", near(2.0))]);
        nobody.results[0].served_share = Some(0.5);
        let found = one(&recipe, vec![&nobody], &[]).unwrap();
        assert!(found.winners.is_empty() && found.why == "no contender was ranked", "{found:?}");
        // As seen in quick runs of the scenarios: beside slow clients there were too few requests for a p99.
        let without = case("c", &[("x", near(2.0))]);
        let without = Case { title: "C".into(), results: vec![Measured::default()], ..without };
        let of = |cases: Vec<&Case>| one(&recipe, cases, &[]).map(|found| (found.winners.len(), found.why));
        assert_eq!(of(vec![&without]), Some((0, "no contender has a figure for p99 in C".to_owned())));
        let why = "no contender has a figure for p99 in any of these 2 cases".to_owned();
        assert_eq!(of(vec![&without, &without]), Some((0, why)));
        assert_eq!(of(vec![&Case { metrics: vec!["failed".into()], ..without.clone() }]), None, "it shows others");
        assert!(one(&recipe, Vec::new(), &[]).is_none());
    }

    #[test]
    fn one_case_is_told_with_its_figures() {
        let a = case("a", &[("x", [0.5, 1.5, 1.0]), ("y", [1.2, 1.0, 1.4])]);
        let (_, words) = judged(&[&a], &[]);
        assert!(words.contains("1.00 ms") && !words.contains("next is") && words.ends_with("undecided: y"), "{words}");
        let who = [Who { name: "y".into(), title: "The Other".into(), ..Who::default() }];
        let a = case("a", &[("x", near(1.0)), ("y", near(1.2))]);
        let (_, words) = judged(&[&a], &who);
        assert!(words.ends_with("next is The Other with 1.20 ms, 1.20×"), "{words}");
    }
}
