//! Makes the summary from the samples: spreads, disqualifications, rankings, plots, verdicts.

use std::collections::{BTreeMap, BTreeSet};

use super::by_k6;
use super::context::Context;
use super::description::description;
use super::plan::{Plan, PlannedCase};
use super::recipe::{PlotRecipe, Study, Tool};
use super::request::RunRequest;
use super::verdicts;
use crate::measure::{Stray, judge, measured, strays, summed};
use crate::record::Sample;
use crate::record::date;
use crate::record::machine::company_then;
use crate::record::summary::{self, Case, FORMAT, Plot, PlotKind, Summary, Who};
use crate::report::grammar;
use crate::stats;
use loadgen::metric::{Direction, Metric, P99, RATE};

/// Note on imported loads of cases that are named by a share of a capacity.
const OF_GIVEN_RATES: &str = "loads that are named by a share of a capacity had the rate that was given to k6 (RATE): \
                              whether it was that share is not known";

/// A run that has been measured, with all that its summary is made of.
pub struct MeasuredRun<'a> {
    /// Request for the run.
    pub asked: &'a RunRequest,
    /// Study of the run.
    pub study: &'a Study,
    /// Plan of the run.
    pub plan: &'a Plan,
    /// Environment and published figures.
    pub context: &'a Context<'a>,
    /// Contenders, installed or missing.
    pub who: Vec<Who>,
    /// Name of the contender that took part twice.
    pub twin_of: Option<String>,
    /// Facts of the machine, by name.
    pub machine: Vec<(String, String)>,
    /// Samples of all rounds.
    pub samples: &'a [Sample],
    /// Duration of the run in seconds.
    pub took_s: f64,
}

impl MeasuredRun<'_> {
    /// Summarizes the run.
    pub fn summary(self) -> Summary {
        let MeasuredRun { asked, study, plan, context, who, twin_of, machine, samples, took_s } = self;
        let names: Vec<&str> = who.iter().map(|one| one.name.as_str()).collect();
        // Loads of other machines have the time of their import, not of the load.
        let strays = if asked.machine.is_none() { strays(samples) } else { Vec::new() };
        let cases = plan.cases().map(|case| one_case(case, plan, &names, samples, &strays));
        // In a run of one round the capacities are known too late for rates that are the same for all.
        let mut cases: Vec<Case> = cases.filter(|case| !case.results.is_empty()).collect();
        let at_once = summary::at_once(&who, twin_of.as_deref());
        for case in &mut cases {
            judge(case, &at_once);
            stats::rank(case);
        }
        let rounds = samples.iter().map(|sample| sample.round).max().unwrap_or_default();
        let verdicts = verdicts::of(study, plan, &cases, &who);
        let mut notes = notes(study, context);
        notes.push(servers_in_words(asked, context));
        let is_share = |case: &PlannedCase| case.load_pct > 0 && cases.iter().any(|one| one.name == case.name);
        let has_given_rates = asked.machine.is_some() && plan.cases().any(is_share);
        notes.extend(has_given_rates.then(|| OF_GIVEN_RATES.to_owned()));
        notes.extend(asked.k6.as_ref().map(|version| by_k6::in_words(plan, version)));
        notes.extend(company_then(&machine));
        let title = |name: &str| cases.iter().find(|case| case.name == name).map_or("", |case| case.title.as_str());
        notes.extend(apart_in_words(samples, title).filter(|_| asked.machine.is_none()));
        notes.extend(rounds_in_words(asked, study, plan, &cases, rounds));
        let has_twin = cases.iter().any(|case| case.twin.is_some());
        Summary {
            format: FORMAT,
            study: study.name.clone(),
            title: study.title.clone(),
            question: study.question.clone(),
            about: study.about.clone(),
            is_quick: asked.is_quick,
            started: samples.iter().map(|sample| sample.started.clone()).min().unwrap_or_default(),
            took_s,
            rounds,
            command: asked.command.clone(),
            machine,
            contenders: who,
            twin_of: twin_of.filter(|_| has_twin),
            plots: plots(study, plan),
            cases,
            verdicts,
            notes,
            is_imported: asked.machine.is_some(),
            ..Summary::default()
        }
    }
}

/// Facts that the original study states on its load, machine and Ruby, in sentences.
fn notes(study: &Study, context: &Context) -> Vec<String> {
    let Some(name) = &study.published else { return Vec::new() };
    let fact =
        |key: &str, words: &str| context.figures.fact(name, key).map(|fact| format!("the original's {words}: {fact}"));
    let facts = [fact("load", "load"), fact("host", "machine"), fact("ruby", "Ruby"), fact("note", "remarks")];
    facts.into_iter().flatten().collect()
}

/// Sentence on where the servers came from, and on the order of their turns.
fn servers_in_words(asked: &RunRequest, context: &Context) -> String {
    match &asked.machine {
        None => format!(
            "servers come from {}; in a round all contenders had their turns in a family of cases before the next one, \
             in random order",
            context.environment.in_words()
        ),
        Some(machine) => format!(
            "loaded by k6 from other machines and imported: the servers ran on {machine}, as was said; the arena has \
             neither started nor watched them; a round of a contender in a case is one imported load, and whether the \
             loads of a round were made at about the same time is not known"
        ),
    }
}

/// Sentence on the number of rounds, and why there were no fewer or more; `None` for imported loads, of which the user
/// gives as many as there are.
fn rounds_in_words(asked: &RunRequest, study: &Study, plan: &Plan, cases: &[Case], rounds: u32) -> Option<String> {
    if asked.machine.is_some() {
        return None;
    }
    let (least, most) = (plan.effort.rounds, plan.effort.most());
    if least == most {
        let rounds = grammar::count(least as usize, "round was", "rounds were");
        return (!asked.is_quick)
            .then(|| format!("{rounds} asked for, and no further ones for what they leave undecided"));
    }
    // The best of a case is among the undecided ones that are compared with it.
    let family = |case: &Case| plan.cases().find(|one| one.name == case.name).map_or("", |one| one.family.as_str());
    let open = |case: &Case| -> usize {
        let metrics = deciding(study, family(case), case);
        metrics.into_iter().map(|metric| undecided(case, metric).len().saturating_sub(1)).sum()
    };
    let why = match cases.iter().map(open).sum::<usize>() {
        0 => "in what ranks a case, or decides a use, every contender is told apart from the best or found level with \
              it"
        .to_owned(),
        1 => "in what ranks a case, or decides a use, one pair stayed undecided".to_owned(),
        open => format!("in what ranks a case, or decides a use, {open} pairs stayed undecided"),
    };
    Some(format!(
        "{least} {} of everything, then further ones of what was not decided, {most} at most: {rounds} in all; \
         {why}",
        if least == 1 { "round" } else { "rounds" }
    ))
}

/// Sentence on the time between the loads that are compared with each other: those of one case in one round.
fn apart_in_words<'a>(samples: &[Sample], title: impl Fn(&str) -> &'a str) -> Option<String> {
    let mut ends: BTreeMap<(&str, u32), (i64, i64, usize)> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.is_made()) {
        let Some(at) = date::seconds(&sample.started) else { continue };
        let (first, last, count) = ends.entry((&sample.case, sample.round)).or_insert((at, at, 0));
        (*first, *last, *count) = ((*first).min(at), (*last).max(at), *count + 1);
    }
    let several = ends.into_iter().filter(|(_, (_, _, count))| *count > 1);
    let spans: Vec<(f64, &str, u32)> =
        several.map(|((case, round), (first, last, _))| ((last - first) as f64, case, round)).collect();
    let middle = stats::median(&spans.iter().map(|(span, ..)| *span).collect::<Vec<f64>>())?;
    let (most, case, round) = spans.into_iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let in_words = |seconds: f64| match seconds {
        long if long >= 90.0 => format!("{:.1} min", long / 60.0),
        short => format!("{short:.0} s"),
    };
    Some(format!(
        "in a round the loads of a case began within {} of each other (the median; the longest were {}: {}, round \
         {round})",
        in_words(middle),
        in_words(most),
        title(case)
    ))
}

/// Families and contenders for which another round is needed: the best of a case, and all that neither differ
/// significantly from it nor are found level with it. Figures that a report does not show or rank, such as the latency
/// of a server that did not keep up, need none.
pub fn open(study: &Study, plan: &Plan, names: &[&str], samples: &[Sample]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let strays = strays(samples);
    let at_once = |name: &str| {
        let entry = study.contenders.iter().find(|entry| entry.name() == name)?;
        Some(entry.workers.saturating_mul(entry.threads)).filter(|count| *count > 0)
    };
    for case in plan.cases() {
        let mut summed = one_case(case, plan, names, samples, &strays);
        judge(&mut summed, &at_once);
        let metrics = deciding(study, &case.family, &summed);
        let open = metrics.into_iter().flat_map(|metric| undecided(&summed, metric));
        found.extend(open.map(|name| (case.family.clone(), name)));
    }
    found
}

/// Metrics by which a case decides something: the one that ranks it, and those of the verdicts that use it.
fn deciding(study: &Study, family: &str, case: &Case) -> Vec<&'static Metric> {
    let resting = study.verdicts.iter().filter(|verdict| verdict.cases.iter().any(|name| name == family));
    let others = resting.filter_map(|verdict| verdict.metric.as_ref()).filter(|name| case.metrics.contains(name));
    let metrics = case.metrics.first().into_iter().chain(others).filter_map(|name| Metric::of(name));
    grammar::distinct(metrics.filter(|metric| metric.direction != Direction::Plain))
}

/// Rate of the slowest contender in the first round, in which all capacities are measured, by family.
pub fn slowest(plan: &Plan, samples: &[Sample]) -> BTreeMap<String, f64> {
    let families = plan.families.iter().filter(|family| family.cases.iter().any(|case| case.slowest_pct > 0));
    let rate = |family: &str| {
        let first = samples.iter().filter(|one| one.round == 1 && one.case == family && one.disqualified.is_none());
        let counted = first.filter(|one| Case::default().counts(&measured(&one.contender, &[*one]), RATE));
        let rates = counted.filter_map(|one| one.numbers.get(RATE).copied()).filter(|rate| *rate > 0.0);
        rates.min_by(f64::total_cmp)
    };
    families.filter_map(|family| Some((family.recipe.name.clone(), rate(&family.recipe.name)?))).collect()
}

/// Undecided contenders of one case by one metric, with the best one if there are any.
fn undecided(case: &Case, metric: &Metric) -> Vec<String> {
    let figure = |name: &String| case.figures(metric.name).find(|(one, _)| one == name).map(|(_, spread)| spread);
    let ranking = stats::ranking_by(case, metric);
    let mut ranked = ranking.groups.iter().flatten();
    let Some((best, leader)) = ranked.next().and_then(|name| Some((name, figure(name)?))) else { return Vec::new() };
    let mut open: Vec<String> =
        ranked.filter(|name| figure(name).is_some_and(|one| stats::are_open(leader, one))).cloned().collect();
    if !open.is_empty() {
        open.push(best.clone());
    }
    open
}

fn one_case(case: &PlannedCase, plan: &Plan, names: &[&str], samples: &[Sample], strays: &[Stray]) -> Case {
    let family = plan.families.iter().find(|family| family.recipe.name == case.family);
    let without_merit = case.metrics.iter().filter(|metric| !case.tool.is_merit(metric, case.requests.is_some()));
    let found = Case {
        name: case.name.clone(),
        title: case.title.clone(),
        what: family.map_or_else(String::new, |family| description(case, family, samples)),
        metrics: case.metrics.clone(),
        without_merit: without_merit.cloned().collect(),
        x: case.x,
        at_once_most: Some(case.at_once_most()),
        published: case.published.clone(),
        // Failures are the metric of these cases.
        is_about_failures: matches!(case.tool, Tool::Killed | Tool::Reload | Tool::Overload),
        ..Case::default()
    };
    summed(found, names.iter().copied(), samples, strays)
}

fn plots(study: &Study, plan: &Plan) -> Vec<Plot> {
    let given: Vec<Plot> = study.plots.iter().filter_map(|plot| of_recipe(plot, plan)).collect();
    if !given.is_empty() {
        return given;
    }
    let cases: Vec<&PlannedCase> = plan.cases().filter(|case| case.x.is_none()).collect();
    let of = |metric: &str, title: &str| {
        let shown = cases.iter().filter(|case| case.metrics.iter().any(|name| name == metric));
        let shown: Vec<String> = shown.map(|case| case.name.clone()).collect();
        let plot = Plot { title: title.into(), metric: metric.into(), cases: shown, ..Plot::default() };
        (!plot.cases.is_empty()).then_some(plot)
    };
    [of(RATE, "Requests per second"), of(P99, "99th percentile of latency")].into_iter().flatten().collect()
}

/// Plot of a recipe. Series are named by their recipe; lines only show cases with a place on the x axis.
fn of_recipe(recipe: &PlotRecipe, plan: &Plan) -> Option<Plot> {
    let families = plan.families.iter().filter(|family| recipe.cases.contains(&family.recipe.name));
    let cases = families.flat_map(|family| &family.cases);
    let cases = cases.filter(|case| (recipe.kind == PlotKind::Lines) == case.x.is_some());
    let cases = cases.filter(|case| case.x.is_none() || recipe.at_equal_rates == (case.slowest_pct > 0));
    let cases: Vec<String> = cases.map(|case| case.name.clone()).collect();
    (!cases.is_empty()).then(|| Plot {
        title: recipe.title.clone(),
        kind: recipe.kind,
        metric: recipe.metric.clone(),
        cases,
        x_title: recipe.x_title.clone(),
        is_log: recipe.is_log,
        mark: None,
    })
}

#[cfg(test)]
mod tests {
    use loadgen::metric::{OFFERED, REQUESTS};

    use super::*;
    use crate::study::Figures;

    #[test]
    fn what_is_not_decided_gets_further_rounds_and_what_is_does_not() {
        let figures = [
            ("best", [1000.0, 1010.0, 990.0]),
            ("near", [900.0, 1100.0, 980.0]),
            ("equal", [999.0, 1009.0, 990.0]),
            ("slow", [100.0, 101.0, 99.0]),
        ];
        let mut case = Case::of(RATE, &figures);
        stats::rank(&mut case);
        assert_eq!(case.ranking, [vec!["best", "equal", "near"], vec!["slow"]]);
        assert_eq!(undecided(&case, Metric::of(RATE).unwrap()), ["near", "best"]);
    }

    #[test]
    fn further_rounds_go_by_what_a_verdict_rests_on_as_well() {
        let study = Study::sample(
            r#"
            case = []
            [[verdict]]
            use_case = "U"
            cases = ["c"]
            metric = "p99_ms"
            [[verdict]]
            use_case = "V"
            cases = ["other"]
            metric = "failed"
            "#,
        );
        let metrics = [RATE, P99, "requests"].map(str::to_owned).to_vec();
        let study = Study { metrics: metrics.clone(), ..study };
        let case = Case { metrics, ..Case::default() };
        let names = |family: &str| deciding(&study, family, &case).iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!((names("c"), names("other")), (vec![RATE, P99], vec![RATE]));
    }

    #[test]
    fn latencies_of_a_server_that_did_not_keep_up_get_no_further_rounds() {
        let case = "name = \"steps\"\ntitle = \"Steps\"\ntool = \"ladder\"\npath = \"/\"\nexpect = {}";
        let study = Study::sample(&format!("[[case]]\n{case}\nload_pct = [100]"));
        let asked = RunRequest { effort: study.full.clone(), ..RunRequest::default() };
        let plan = Plan::of(&study, &asked, &Figures::default()).unwrap();
        let in_rounds = |name: &str, rate: f64, requests: f64, p99: [f64; 3]| {
            let of = |p99: f64| Sample::of(name, &[(RATE, rate), (OFFERED, 100.0), (REQUESTS, requests), (P99, p99)]);
            let one = |(round, p99)| Sample { round, case: "steps@100".into(), ..of(p99) };
            (1..).zip(p99).map(one).collect::<Vec<_>>()
        };
        let found = |rate: f64, requests: f64| {
            let other = in_rounds("b", rate, requests, [250.0, 120.0, 700.0]);
            let all = [in_rounds("a", 99.0, 5_000.0, [100.0, 300.0, 200.0]), other].concat();
            open(&study, &plan, &["a", "b"], &all)
        };
        let both = ["a", "b"].map(|name| ("steps".to_owned(), name.to_owned()));
        assert_eq!(found(98.0, 5_000.0), BTreeSet::from(both));
        // Its p99 is not ranked, or rests on too few requests to be shown.
        assert!(found(80.0, 5_000.0).is_empty() && found(98.0, 300.0).is_empty());
    }

    #[test]
    fn the_time_between_the_loads_of_a_case_is_told() {
        let began = |case: &str, round: u32, started: &str| Sample {
            round,
            case: case.into(),
            started: format!("2026-11-23T10:{started}Z"),
            ..Sample::of("x", &[(RATE, 7.0)])
        };
        let mut all = vec![
            began("a", 1, "00:10"),
            began("a", 1, "00:00"),
            began("a", 2, "10:00"),
            began("a", 2, "10:20"),
            began("b", 1, "02:00"),
            began("b", 1, "04:30"),
            // Alone in its round.
            began("b", 2, "30:00"),
        ];
        // A load that could not be made, and one that divides a request's time, are compared with nothing.
        all.push(Sample { numbers: BTreeMap::new(), ..began("a", 1, "59:00") });
        all.push(Sample { undivided: Some("why".into()), ..began("a", 1, "59:00") });
        let title = |case: &str| if case == "b" { "The second one" } else { "The first one" };
        let words = apart_in_words(&all, title).unwrap();
        let said = "within 20 s of each other (the median; the longest were 2.5 min: The second one, round 1)";
        assert!(words.ends_with(said), "{words}");
        assert_eq!(apart_in_words(&all[..1], title), None);
    }
}
