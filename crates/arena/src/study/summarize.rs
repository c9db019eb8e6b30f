//! From samples to the summary: spreads, disqualifications, rankings, pictures, verdicts.

use std::collections::BTreeMap;

use super::plan::{Case, Plan};
use super::recipe::{PlotRecipe, Recipe, Tool};
use super::run::{Asked, Ground};
use super::verdicts;
use crate::metric::{FAILED, LATE, Metric, P99, RATE, Sense};
use crate::record::Sample;
use crate::record::summary::{self, FORMAT, Measured, Plot, PlotKind, Spread, Summary, Who};
use crate::stats;

/// A contender that fails more of its requests than this is shown, and not ranked.
const FAILED_SHARE_MAX: f64 = 0.01;

/// An open loop that sent later than this, and than this share of the latency that it measured, is not believed.
const LATE_MS: f64 = 1.0;
const LATE_SHARE: f64 = 0.1;

/// All of it.
#[expect(clippy::too_many_arguments, reason = "each is a different thing that a summary is made of, named once")]
pub fn summary(
    asked: &Asked,
    study: &Recipe,
    plan: &Plan,
    ground: &Ground,
    who: Vec<Who>,
    machine: Vec<(String, String)>,
    samples: &[Sample],
    took_s: f64,
) -> Summary {
    let names: Vec<&str> = who.iter().map(|one| one.name.as_str()).collect();
    let cases: Vec<summary::Case> = plan.cases().map(|case| one_case(case, plan, &names, samples)).collect();
    let verdicts = verdicts::of(study, plan, &cases, &who);
    let mut notes = notes(study, ground);
    notes.push(format!("servers come from {}; {} rounds in random order", ground.place.in_words(), plan.effort.rounds));
    Summary {
        format: FORMAT,
        study: study.name.clone(),
        title: study.title.clone(),
        question: study.question.clone(),
        about: study.about.clone(),
        is_quick: asked.is_quick,
        started: samples.iter().map(|sample| sample.started.clone()).min().unwrap_or_default(),
        took_s,
        rounds: plan.effort.rounds,
        command: asked.command.clone(),
        machine,
        contenders: who,
        plots: plots(study, plan),
        cases,
        verdicts,
        advice: None,
        notes,
    }
}

fn notes(study: &Recipe, ground: &Ground) -> Vec<String> {
    let Some(name) = &study.published else { return Vec::new() };
    let fact =
        |key: &str, words: &str| ground.figures.fact(name, key).map(|fact| format!("the original's {words}: {fact}"));
    let facts = [fact("load", "load"), fact("host", "machine"), fact("ruby", "Ruby"), fact("note", "remarks")];
    facts.into_iter().flatten().collect()
}

fn one_case(case: &Case, plan: &Plan, names: &[&str], samples: &[Sample]) -> summary::Case {
    let of = |name: &str| -> Vec<&Sample> {
        samples.iter().filter(|sample| sample.case == case.name && sample.contender == name).collect()
    };
    let results = names.iter().map(|name| (name, of(name))).filter(|(_, samples)| !samples.is_empty());
    let results: Vec<Measured> = results.map(|(name, samples)| measured(name, &samples)).collect();
    let command = samples.iter().find(|sample| sample.case == case.name && !sample.command.is_empty());
    let path = plan.families.iter().find(|family| family.recipe.name == case.family);
    let path = path.map_or("", |family| family.recipe.path.as_str());
    summary::Case {
        name: case.name.clone(),
        title: case.title.clone(),
        what: command.map_or_else(|| path.to_owned(), |sample| without_port(&sample.command, path)),
        metrics: case.metrics.clone(),
        x: case.x,
        ranking: ranking(case, &results),
        results,
        published: case.published.clone(),
    }
}

/// The command is the same for all contenders but for the port.
fn without_port(command: &str, path: &str) -> String {
    let words = command.split(' ').map(|word| if word.contains("127.0.0.1:") { path } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn measured(name: &str, samples: &[&Sample]) -> Measured {
    let mut lists: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.disqualified.is_none()) {
        let is_late = is_late(sample);
        let believed = |name: &str| !is_late || name == LATE || !name.ends_with("_ms");
        for (metric, number) in sample.numbers.iter().filter(|(name, number)| number.is_finite() && believed(name)) {
            lists.entry(metric.clone()).or_default().push(*number);
        }
    }
    for (kind, count) in samples.iter().flat_map(|sample| &sample.errors) {
        *errors.entry(kind.clone()).or_default() += count;
    }
    let numbers = lists.into_iter().filter_map(|(name, list)| Some((name, Spread::of(&list)?)));
    let disqualified = samples.iter().find_map(|sample| sample.disqualified.clone());
    Measured { contender: name.to_owned(), numbers: numbers.collect(), errors, disqualified }
}

/// Whether the load generator measured itself: no figure is better than that one.
fn is_late(sample: &Sample) -> bool {
    let number = |name: &str| sample.numbers.get(name).copied().unwrap_or(0.0);
    number(LATE) > LATE_MS.max(number(P99) * LATE_SHARE)
}

/// By the case's first metric, of those that answered rightly and failed little.
fn ranking(case: &Case, results: &[Measured]) -> Vec<Vec<String>> {
    let Some(metric) = case.metrics.first().and_then(|name| Metric::of(name)) else { return Vec::new() };
    if metric.sense == Sense::Plain {
        return Vec::new();
    }
    // Failing is what the scenarios of deaths and overload are about: there it is the metric.
    let counts_failures = matches!(case.tool, Tool::Killed | Tool::Reload | Tool::Overload);
    let ranked = results.iter().filter(|result| result.disqualified.is_none());
    let ranked = ranked.filter(|result| counts_failures || failed_share(result) <= FAILED_SHARE_MAX);
    let list = ranked.filter_map(|result| Some((result.contender.clone(), result.numbers.get(metric.name)?.clone())));
    stats::ranking(list.collect(), metric.sense)
}

fn failed_share(result: &Measured) -> f64 {
    let sum = |name: &str| result.numbers.get(name).map_or(0.0, |spread| spread.all.iter().sum());
    let (failed, requests) = (sum(FAILED), sum("requests"));
    // What is counted as a request had a right answer.
    if failed > 0.0 { failed / (requests + failed) } else { 0.0 }
}

fn plots(study: &Recipe, plan: &Plan) -> Vec<Plot> {
    let given: Vec<Plot> = study.plots.iter().filter_map(|plot| of_recipe(plot, plan)).collect();
    if !given.is_empty() {
        return given;
    }
    let cases: Vec<&Case> = plan.cases().filter(|case| case.x.is_none()).collect();
    let of = |metric: &str, title: &str| {
        let shown = cases.iter().filter(|case| case.metrics.iter().any(|name| name == metric));
        let shown: Vec<String> = shown.map(|case| case.name.clone()).collect();
        let plot = Plot { title: title.into(), metric: metric.into(), cases: shown, ..Plot::default() };
        (!plot.cases.is_empty()).then_some(plot)
    };
    [of(RATE, "Requests per second"), of(P99, "99th percentile of latency")].into_iter().flatten().collect()
}

/// Series are named by their recipe; of lines only the cases that have a place on the axis are drawn.
fn of_recipe(recipe: &PlotRecipe, plan: &Plan) -> Option<Plot> {
    let families = plan.families.iter().filter(|family| recipe.cases.contains(&family.recipe.name));
    let cases = families.flat_map(|family| &family.cases);
    let cases = cases.filter(|case| (recipe.kind == PlotKind::Lines) == case.x.is_some());
    let cases: Vec<String> = cases.map(|case| case.name.clone()).collect();
    (!cases.is_empty()).then(|| Plot {
        title: recipe.title.clone(),
        kind: recipe.kind,
        metric: recipe.metric.clone(),
        cases,
        x_title: recipe.x_title.clone(),
        is_log: recipe.is_log,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(numbers: &[(&str, f64)]) -> Sample {
        let numbers = numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
        Sample { contender: "x".into(), numbers, ..Sample::default() }
    }

    #[test]
    fn latencies_of_a_late_generator_are_left_out_and_its_lateness_is_shown() {
        let late = sample(&[(LATE, 5.0), (P99, 20.0), (RATE, 7.0)]);
        let good = sample(&[(LATE, 0.9), (P99, 2.0), (RATE, 8.0)]);
        let of = |sample: &Sample| measured("x", &[sample]).numbers.into_keys().collect::<Vec<_>>();
        assert_eq!(of(&late), [LATE, RATE]);
        assert_eq!(of(&good), [LATE, P99, RATE]);
    }

    #[test]
    fn rounds_are_put_together_and_one_bad_one_disqualifies() {
        let bad = Sample { disqualified: Some("wrong".into()), ..sample(&[(RATE, 900.0)]) };
        let both = measured("x", &[&sample(&[(RATE, 7.0)]), &bad, &sample(&[(RATE, 9.0)])]);
        assert_eq!((both.numbers[RATE].median, both.numbers[RATE].all.len()), (8.0, 2));
        assert_eq!(both.disqualified.as_deref(), Some("wrong"));
    }

    #[test]
    fn who_fails_more_than_one_in_a_hundred_is_not_ranked() {
        let shares = [(100.0, 0.0), (100.0, 1.0), (98.0, 2.0), (0.0, 5.0)];
        let shares = shares.map(|(right, failed)| {
            let result = measured("x", &[&sample(&[("requests", right), (FAILED, failed)])]);
            failed_share(&result) <= FAILED_SHARE_MAX
        });
        assert_eq!(shares, [true, true, false, false]);
    }

    #[test]
    fn ports_and_addresses_are_no_part_of_what_was_done() {
        assert_eq!(without_port("wrk -t2 http://127.0.0.1:4000/a", "/a"), "wrk -t2 /a");
    }
}
