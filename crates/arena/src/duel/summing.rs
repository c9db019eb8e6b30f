//! The summary of a duel from its samples: cases, rankings, plots and verdicts. Pure.

use std::collections::BTreeSet;

use crate::measure::{judge_duel, summed};
use crate::record::summary::{Case, Measured, Plot, PlotKind, Traffic, Verdict};
use crate::record::{Sample, TWIN, machine};
use crate::report::grammar;
use crate::stats::{Beside, rank, ranking_by};
use loadgen::metric::{Metric, P99, PSS_PEAK, RATE, is_of_latencies, rate_in_words};

use super::cases;
use super::compare::{ratio_of, value};

/// Summarizes all cases that have samples, in their order.
pub fn cases(samples: &[Sample], clients: u32, per_s: Option<f64>) -> Vec<Case> {
    let mut list = vec![
        (cases::SETTINGS.to_owned(), "Settings, briefly".to_owned(), full_load(clients), None),
        (cases::CAPACITY.to_owned(), "Capacity".to_owned(), full_load(clients), None),
    ];
    for percent in cases::LOADS {
        let what = format!("an open loop at {percent} % of each one's own capacity in the same round");
        list.push((cases::load(percent), format!("At {percent} % load"), what, Some(f64::from(percent))));
    }
    list.extend(per_s.into_iter().flat_map(|per_s| of_traffic(samples, per_s)));
    let names: BTreeSet<&str> = samples.iter().map(|one| one.contender.as_str()).filter(|one| *one != TWIN).collect();
    let of = |(name, title, what, x): (String, String, String, Option<f64>)| {
        let case = Case { metrics: cases::metrics(&name), name, title, what, x, ..Case::default() };
        // A duel runs in one go: none of its samples comes from another time.
        let mut case = summed(case, names.iter().copied(), samples, &[]);
        judge_duel(&mut case);
        rank(&mut case);
        case
    };
    list.into_iter().map(of).filter(|case| !case.results.is_empty() || case.twin.is_some()).collect()
}

/// Number of rounds that were measured: fewer than planned where the budget of time was used up. Heats are no rounds.
pub fn rounds(samples: &[Sample]) -> u32 {
    let own = samples.iter().filter(|sample| sample.case != cases::SETTINGS);
    own.map(|sample| sample.round).max().unwrap_or_default()
}

/// Cases at the user's rate: the rate itself, with fewer processors, and multiples of it. Each is a name, a title, a
/// description and its place on the x axis.
fn of_traffic(samples: &[Sample], per_s: f64) -> Vec<(String, String, String, Option<f64>)> {
    let is_by_k6 = samples.iter().any(|sample| sample.command.starts_with("k6 "));
    let distances = if is_by_k6 { "at even distances (k6)" } else { "at random times" };
    let mut list = Vec::new();
    for times in cases::numbers(samples, cases::times_of) {
        let rate = per_s * f64::from(times);
        let title = match times {
            1 => format!("At your rate, {}/s", rate_in_words(rate)),
            times => format!("At {times} times your rate, {}/s", rate_in_words(rate)),
        };
        let what = format!("an open loop at {} requests/s, the same for all, {distances}", rate_in_words(rate));
        list.push((cases::traffic(times), title, what, Some(rate)));
    }
    for processors in cases::numbers(samples, cases::processors_of).into_iter().rev() {
        let on = machine::processors(processors);
        let what = format!(
            "the same open loop with the server bound to {on}: a model of a smaller machine, whose load generator, \
             memory and caches stay as they are"
        );
        list.push((cases::smaller(processors), format!("At your rate, on {on}"), what, None));
    }
    list
}

fn full_load(clients: u32) -> String {
    format!("a closed loop of {clients} clients: each sends its next request when the last one was answered")
}

/// Plots that can be drawn from these cases.
pub fn plots(cases: &[Case], traffic: Option<&Traffic>) -> Vec<Plot> {
    let is_share = |case: &&Case| case.x.is_some() && !cases::is_of_traffic(&case.name);
    let loads: Vec<String> = cases.iter().filter(is_share).map(|case| case.name.clone()).collect();
    let has = |name: &str| cases.iter().any(|case| case.name == name);
    let bars = |title: &str, metric: &str, case: &str| {
        let (title, metric, cases) = (title.to_owned(), metric.to_owned(), vec![case.to_owned()]);
        has(case).then_some(Plot { title, kind: PlotKind::Bars, metric, cases, ..Plot::default() })
    };
    let mut plots: Vec<Plot> = traffic.map(|traffic| over_rate(cases, traffic)).into_iter().collect();
    plots.extend(bars("Requests per second at full load", RATE, cases::CAPACITY));
    if loads.len() > 1 {
        plots.push(Plot {
            title: "p99 at shares of each one's own capacity".to_owned(),
            kind: PlotKind::Lines,
            metric: P99.to_owned(),
            cases: loads,
            x_title: "% of its own capacity".to_owned(),
            ..Plot::default()
        });
    }
    plots.extend(bars("Peak memory at full load", PSS_PEAK, cases::CAPACITY));
    plots.extend(bars("All settings that were tried, briefly", RATE, cases::SETTINGS));
    plots
}

/// Plot of the p99 over the request rate, with the user's own rate marked.
fn over_rate(cases: &[Case], traffic: &Traffic) -> Plot {
    let own = cases.iter().filter(|case| cases::times_of(&case.name).is_some());
    Plot {
        title: "p99 over the rate of requests".to_owned(),
        kind: PlotKind::Lines,
        metric: P99.to_owned(),
        cases: own.map(|case| case.name.clone()).collect(),
        x_title: "requests per second".to_owned(),
        is_log: true,
        mark: Some((traffic.per_s, format!("your {}/s", rate_in_words(traffic.per_s)))),
    }
}

/// The winners for each use of a server that was measured, if there are any. The reason also names undecided
/// contenders, those that are not ranked, and those without a figure.
pub fn verdicts(cases: &[Case]) -> Vec<Verdict> {
    let loaded = cases::load(80);
    let rows = [
        ("most requests", cases::CAPACITY, RATE),
        ("short waits at 80 % of its own capacity", loaded.as_str(), P99),
        ("little memory at full load", cases::CAPACITY, PSS_PEAK),
    ];
    let own = cases::traffic(1);
    let at_the_rate = [("short waits at your rate", own.as_str(), P99), ("little memory at your rate", &own, PSS_PEAK)];
    let verdict = |(use_case, name, metric): (&str, &str, &str)| {
        let case = cases.iter().find(|case| case.name == name)?;
        let figure = |name: &String| case.figures(metric).find(|(other, _)| other == name).map(|(_, figure)| figure);
        let known = Metric::of(metric)?;
        let winners = ranking_by(case, known).groups.into_iter().next().unwrap_or_default();
        let best = winners.first().and_then(figure);
        let why = |name: &String| {
            let own = figure(name)?;
            let ratio = ratio_of(own, best?).filter(|_| *name != winners[0] && own.rounds() > 1);
            let beside = ratio.map_or_else(String::new, |ratio| format!(", {ratio} as much"));
            // The only winner is named before.
            let whose = if winners.len() > 1 { format!("{name}: ") } else { String::new() };
            Some(format!("{whose}{}{beside}", value(metric, own.median)))
        };
        let mut why: Vec<String> = winners.iter().filter_map(why).collect();
        why.extend(best.is_none().then(|| nobody(case, known)));
        let beside = Beside::of(case, known);
        let open = case.figures(metric).map(|(name, _)| name).filter(|name| beside.is_undecided(name));
        let open: Vec<String> = open.map(str::to_owned).collect();
        let is_open = !open.is_empty();
        why.extend(is_open.then(|| format!("undecided: {}", grammar::list(&open))));
        let out = case.results.iter().filter(|result| !case.counts(result, metric));
        let out: Vec<String> = out.map(|result| result.contender.clone()).collect();
        why.extend((!out.is_empty()).then(|| format!("left out, since not ranked: {}", grammar::list(&out))));
        why.extend(without_figure(case, known));
        Some(Verdict { use_case: use_case.to_owned(), why: why.join("; "), winners, is_open, ..Verdict::default() })
    };
    at_the_rate.into_iter().chain(rows).filter_map(verdict).collect()
}

/// Words on the contenders of a case that could be ranked by this metric and have no figure, each with the reason where
/// its remarks give one. `None` if there are none, or nobody has a figure.
fn without_figure(case: &Case, metric: &Metric) -> Option<String> {
    let has = |result: &Measured| result.numbers.contains_key(metric.name);
    let lacking = case.results.iter().filter(|result| case.counts(result, metric.name) && !has(result));
    let named = lacking.map(|result| match why_without(result, metric) {
        Some(why) => format!("{} ({why})", result.contender),
        None => result.contender.clone(),
    });
    let named: Vec<String> = named.filter(|_| case.results.iter().any(has)).collect();
    let what = metric.title.to_lowercase();
    (!named.is_empty()).then(|| format!("left out, without a figure for {what}: {}", grammar::list(&named)))
}

/// Remark of a result that says why it has no figure for this metric.
fn why_without<'a>(result: &'a Measured, metric: &Metric) -> Option<&'a str> {
    // "p99, p99.9 are not shown: …", of which one may be the beginning of another.
    let wanted = format!(", {}, ", metric.title);
    let is_named = |remark: &str| {
        let titles = remark.split_once(" not shown: ").map(|(titles, _)| titles);
        let titles = titles.and_then(|titles| titles.strip_suffix(" is").or(titles.strip_suffix(" are")));
        titles.is_some_and(|titles| format!(", {titles}, ").contains(&wanted))
    };
    let is_late = |remark: &str| is_of_latencies(metric.name) && remark.ends_with("no latency is shown");
    let is_void = |remark: &str| remark.contains("there was no load that counts");
    let is_why = |remark: &&str| is_late(remark) || is_named(remark) || is_void(remark);
    result.remarks.iter().map(String::as_str).find(is_why)
}

/// Reason why no contender is the best of a case in this metric.
fn nobody(case: &Case, metric: &Metric) -> String {
    match case.results.iter().any(|result| result.numbers.contains_key(metric.name)) {
        true => "no contender was ranked".to_owned(),
        false => format!("no contender has a figure for {}", metric.title.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use loadgen::metric::{LATE, OFFERED};

    use super::*;

    #[test]
    fn the_twin_stands_apart_from_those_that_are_compared() {
        let list = cases(
            &[sample(cases::CAPACITY, "a -w 1 -t 1", 1.0, 1.0), sample(cases::CAPACITY, TWIN, 9.0, 1.0)],
            1,
            None,
        );
        assert_eq!((list[0].results.len(), list[0].ranking.len()), (1, 1));
        assert_eq!(list[0].twin.as_ref().map(|twin| twin.numbers[RATE].median), Some(9.0));
    }

    fn sample(case: &str, contender: &str, rate: f64, p99: f64) -> Sample {
        let errors = [("timeout".to_owned(), 1)].into();
        let numbers = [(RATE, rate), (P99, p99), (PSS_PEAK, 50.0)];
        Sample { case: case.into(), errors, ..Sample::of(contender, &numbers) }
    }

    #[test]
    fn samples_become_cases_with_rankings() {
        let mut samples = Vec::new();
        for round in 1..=3 {
            let more = f64::from(round - 1);
            let mut add = |case: &str, contender: &str, rate: f64, p99: f64| {
                samples.push(Sample { round, ..sample(case, contender, rate, p99) });
            };
            add(cases::CAPACITY, "a -w 1 -t 1", 100.0 + more, 5.0);
            add(cases::CAPACITY, "b -w 1 -t 1", 200.0 + more, 5.0);
            add("load-80", "a -w 1 -t 1", 80.0, 5.0 + more);
            add("load-80", "b -w 1 -t 1", 160.0, 50.0 + more);
            add("load-50", "b -w 1 -t 1", 160.0, 50.0 + more);
        }
        let list = cases(&samples, 16, None);
        assert_eq!(list.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(), ["capacity", "load-50", "load-80"]);
        assert_eq!(list[0].ranking, [["b -w 1 -t 1"], ["a -w 1 -t 1"]]);
        assert_eq!(list[2].ranking, [["a -w 1 -t 1"], ["b -w 1 -t 1"]]);
        assert_eq!((list[2].x, list[0].results[0].errors["timeout"]), (Some(80.0), 3));
        assert_eq!(list[0].results[0].numbers[RATE].all, [100.0, 101.0, 102.0]);
        let kinds: Vec<PlotKind> = plots(&list, None).iter().map(|plot| plot.kind).collect();
        assert_eq!(kinds, [PlotKind::Bars, PlotKind::Lines, PlotKind::Bars]);
        let verdicts = verdicts(&list);
        assert_eq!((verdicts[0].winners[0].as_str(), verdicts[1].winners[0].as_str()), ("b -w 1 -t 1", "a -w 1 -t 1"));
        assert_eq!(verdicts[2].winners.len(), 2);
        assert_eq!((verdicts[0].why.as_str(), verdicts[0].is_open), ("201 requests/s", false));
        assert_eq!(verdicts[2].why, "a -w 1 -t 1: 50 MiB; b -w 1 -t 1: 50 MiB, 1.00× as much");
    }

    #[test]
    fn a_verdict_names_who_may_be_as_good() {
        let mut samples = Vec::new();
        for (round, other) in [(1, 9.0), (2, 40.0), (3, 90.0)] {
            samples.push(Sample { round, ..sample("load-80", "a -w 1 -t 1", 80.0, 10.0) });
            samples.push(Sample { round, ..sample("load-80", "b -w 1 -t 1", 80.0, other) });
        }
        let verdicts = verdicts(&cases(&samples, 16, None));
        assert_eq!((verdicts.len(), &verdicts[0].winners), (1, &vec!["a -w 1 -t 1".to_owned()]));
        assert_eq!((verdicts[0].why.as_str(), verdicts[0].is_open), ("10.00 ms; undecided: b -w 1 -t 1", true));
    }

    #[test]
    fn who_did_not_keep_up_with_a_rate_is_not_ranked_by_its_latencies() {
        let at = |contender: &str, round: u32, rate: f64, p99: f64| {
            let mut one = Sample { round, ..sample(&cases::traffic(1), contender, rate, p99) };
            one.numbers.extend([(OFFERED.to_owned(), 2400.0), ("requests".to_owned(), 6000.0)]);
            one
        };
        let mut samples = Vec::new();
        for round in 1..=3 {
            samples.push(at("behind -w 1 -t 1", round, 1500.0, 20.0));
            samples.push(at("up -w 1 -t 1", round, 2380.0, 50.0));
            samples.push(at(TWIN, round, 1500.0, 20.0));
        }
        let list = cases(&samples, 16, Some(2400.0));
        assert_eq!((list.len(), &list[0].ranking), (1, &vec![vec!["up -w 1 -t 1".to_owned()]]));
        let shares = list[0].results.iter().chain(&list[0].twin).map(|result| result.served_share);
        assert_eq!(shares.collect::<Vec<_>>(), [Some(0.625), None, Some(0.625)]);
        // Its memory is that of this load all the same.
        let verdicts = verdicts(&list);
        let winners: Vec<(&str, usize)> =
            verdicts.iter().map(|one| (one.use_case.as_str(), one.winners.len())).collect();
        assert_eq!(winners, [("short waits at your rate", 1), ("little memory at your rate", 2)]);
        assert_eq!(verdicts[0].why, "50.00 ms; left out, since not ranked: behind -w 1 -t 1");
        // Nor is the use forgotten if that holds for all, or if nobody's memory could be read.
        samples.retain(|sample| sample.contender.starts_with("behind"));
        for sample in &mut samples {
            sample.numbers.remove(PSS_PEAK);
        }
        let verdicts = self::verdicts(&cases(&samples, 16, Some(2400.0)));
        let why: Vec<&str> = verdicts.iter().map(|one| one.why.as_str()).collect();
        let left_out = "no contender was ranked; left out, since not ranked: behind -w 1 -t 1";
        assert_eq!(why, [left_out, "no contender has a figure for memory, peak"]);
        assert!(verdicts.iter().all(|one| one.winners.is_empty()), "{verdicts:?}");
    }

    #[test]
    fn who_has_no_figure_for_a_use_is_named_with_the_reason() {
        let mut samples = Vec::new();
        for round in 1..=3 {
            samples.push(Sample { round, ..sample(&cases::traffic(1), "a -w 1 -t 1", 120.0, 10.0) });
            let mut late = Sample { round, ..sample(&cases::traffic(1), "b -w 1 -t 1", 120.0, 10.0) };
            late.numbers.insert(LATE.to_owned(), 50.0);
            samples.push(late);
        }
        let list = cases(&samples, 16, Some(120.0));
        let found = verdicts(&list);
        let words = "10.00 ms; left out, without a figure for p99: b -w 1 -t 1 (in 3 of 3 rounds the load generator \
                     itself was late: no latency is shown)";
        assert_eq!((found[0].use_case.as_str(), found[0].why.as_str()), ("short waits at your rate", words));
        assert_eq!(found[0].winners, ["a -w 1 -t 1"]);
        assert_eq!(found[1].winners.len(), 2, "its memory is known");
        let remarks = ["p99.9 is not shown: x", "p50, p99 are not shown: y", "Memory, peak is not shown: z"];
        let lacking = Measured { remarks: remarks.map(str::to_owned).into(), ..Measured::default() };
        let why = |metric: &str| why_without(&lacking, Metric::of(metric).unwrap());
        assert_eq!([why(P99), why(PSS_PEAK), why(RATE)], [Some(remarks[1]), Some(remarks[2]), None]);
    }

    #[test]
    fn rounds_are_those_that_were_measured() {
        let of = |case: &str, round: u32| Sample { round, ..sample(case, "a -w 1 -t 1", 1.0, 1.0) };
        let heats = [of(cases::SETTINGS, 1), of(cases::SETTINGS, 2)];
        assert_eq!((rounds(&[]), rounds(&heats)), (0, 0));
        let all = [&heats[..], &[of(cases::CAPACITY, 1), of("load-80", 1), of(cases::CAPACITY, 2)]].concat();
        assert_eq!((rounds(&all), rounds(&all[..4])), (2, 1));
    }

    #[test]
    fn the_disqualified_are_not_ranked() {
        let bad = Sample { disqualified: Some("it lied".into()), ..sample(cases::CAPACITY, "bad -w 1 -t 1", 9e9, 1.0) };
        let list = cases(&[bad, sample(cases::CAPACITY, "a -w 1 -t 1", 1.0, 1.0)], 16, None);
        assert_eq!(list[0].ranking, [["a -w 1 -t 1"]]);
        assert_eq!(list[0].results[1].disqualified.as_deref(), Some("it lied"));
        assert!(cases(&[], 1, None).is_empty() && plots(&[], None).is_empty() && verdicts(&[]).is_empty());
    }
}
