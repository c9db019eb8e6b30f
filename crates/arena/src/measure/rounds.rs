//! Summarizes a contender's samples of a case: its figures over the rounds, and remarks that a reader must know. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::sitting::{Stray, leave_out};
use super::summarized;
use crate::record::summary::{
    CHECKED_ENOUGH, Case, FAILED_SHARE_MAX, Measured, SETTLED_BEFORE, Spread, failed_share, is_failing, load_tool,
};
use crate::record::{Course, Sample, TWIN};
use loadgen::BODIES_UNREAD;
use loadgen::metric::{
    CHECKED, FAILED, GENERATOR, GENERATOR_THREADS, GOODPUT, GOODPUT_DEADLINE_MS, LATE, MEAN, METRICS, NOT_SENT,
    NOT_SENT_BY_ITSELF, OFFERED, P99, RATE, REQUESTS, SETTLED, is_of_latencies,
};

/// Bounds of the delay with which an open loop sends requests, in milliseconds and as a share of the measured latency;
/// beyond both the load generator measures itself.
const LATE_MS: f64 = 1.0;
const LATE_SHARE: f64 = 0.1;
/// Least share of its connections' time that wrk's latencies must account for.
const ACCOUNTED_SHARE: f64 = 0.9;
/// Least mean latency in milliseconds at which that is checked: beside shorter ones, wrk's own pauses between two
/// requests on a connection are a notable part of the time.
const ACCOUNTED_FROM_MS: f64 = 100.0;
/// Share of the time above which the load generator's threads count as fully busy.
const BUSY_SHARE: f64 = 0.9;
/// Most points of a line over time.
const POINTS_MOST: usize = 16;

/// Fills in a case: results of contenders with samples, in the order of `names`, and of the twin, without samples of
/// another time (`strays`), and the tool. It is neither judged nor ranked yet.
pub fn summed<'a>(case: Case, names: impl IntoIterator<Item = &'a str>, samples: &[Sample], strays: &[Stray]) -> Case {
    let own = |name: &str| samples.iter().filter(|sample| sample.is_of(&case.name, name)).collect::<Vec<_>>();
    let figures = |name: &str| Some(own(name)).filter(|own| !own.is_empty()).map(|own| measured(name, &own));
    let results = names.into_iter().filter_map(figures).collect();
    let twin = figures(TWIN);
    let tool = tool_of(&case.name, samples);
    let mut case = Case { results, twin, tool, ..case };
    leave_out(&mut case, strays);
    case
}

/// Tool that made the timed loads of this case, by their commands; `None` for the arena's own load generator, and where
/// the loads are not of one tool.
pub fn tool_of(case: &str, samples: &[Sample]) -> Option<String> {
    let own = samples.iter().filter(|one| one.case == case && one.is_timed() && !one.command.is_empty());
    let tools: BTreeSet<Option<&str>> = own.map(|one| load_tool(&one.command)).collect();
    tools.first().filter(|_| tools.len() == 1)?.map(str::to_owned)
}

/// Summarizes the samples of one contender in one case.
pub fn measured(name: &str, samples: &[&Sample]) -> Measured {
    let mut lists: BTreeMap<String, Vec<(u32, f64)>> = BTreeMap::new();
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    let good: Vec<&&Sample> = samples.iter().filter(|sample| sample.disqualified.is_none()).collect();
    for sample in &good {
        for (metric, number) in sample.numbers.iter().filter(|(_, number)| number.is_finite()) {
            lists.entry(metric.clone()).or_default().push((sample.round, summarized(*number)));
        }
    }
    for (kind, count) in samples.iter().flat_map(|sample| &sample.errors) {
        *errors.entry(kind.clone()).or_default() += count;
    }
    let mut remarks = take_out_incomplete(&mut lists, &good);
    // A load that could not be made was neither late nor in time.
    let made = || good.iter().filter(|sample| sample.is_made());
    let rounds = made().count();
    let late = good.iter().filter(|sample| is_late(sample)).count();
    // Lateness and latency have one cause, a machine that stalls: leaving out the late rounds one by one would keep the
    // best ones. A figure therefore rests on all rounds or is not shown.
    let is_shown = late == 0 || late * 2 < rounds;
    if late > 0 {
        let shown = match late {
            _ if !is_shown => "no latency is shown",
            1 => "this round counts as the others do",
            _ => "these rounds count as the others do",
        };
        remarks.push(format!("{} the load generator itself was late: {shown}", in_rounds(late, rounds)));
        lists.retain(|name, _| is_shown || !is_of_latencies(name));
    }
    let first = made().find(|sample| !is_late(sample)).or(good.first());
    let mut course = first.map(|sample| thinned(&sample.course)).unwrap_or_default();
    if !is_shown || first.is_some_and(|sample| is_late(sample)) {
        course.retain(|name, _| !is_of_latencies(name));
    }
    remarks.extend(not_made(&good, rounds));
    remarks.extend(not_sent(&good, rounds));
    remarks.extend(too_busy(&good));
    remarks.extend(checked_too_little(&good));
    remarks.extend(unsettled(&good));
    let is_unread = good.iter().any(|sample| sample.remarks.iter().any(|remark| remark == BODIES_UNREAD));
    remarks.extend(is_unread.then(|| BODIES_UNREAD.to_owned()));
    lists.remove(SETTLED);
    let undivided = samples.iter().find_map(|sample| sample.undivided.as_ref());
    remarks.extend(undivided.map(|why| format!("where a request’s time goes was not measured: {why}")));
    let numbers = lists.into_iter().filter_map(|(name, list)| Some((name, Spread::of_rounds(&list)?)));
    let disqualified = samples.iter().find_map(|sample| sample.disqualified.clone());
    let contender = name.to_owned();
    let numbers = numbers.collect();
    let (not_compared, served_share) = (None, None);
    let mut all = Measured { contender, numbers, errors, disqualified, not_compared, served_share, remarks, course };
    all.remarks.extend(failed_unseen(&all));
    withhold_latencies(&mut all, samples);
    all
}

/// Removes the latencies of a result and adds a remark on that, if wrk left out many latencies in at least half of the
/// rounds. Removing those of these rounds alone would keep the best ones, as with late rounds. `samples` are those of
/// the result.
pub fn withhold_latencies(result: &mut Measured, samples: &[&Sample]) {
    let counts = |one: &&Sample| one.disqualified.is_none() && one.is_made();
    let good: Vec<&Sample> = samples.iter().copied().filter(counts).collect();
    let Some(remark) = left_out(&good) else { return };
    result.numbers.retain(|name, _| !is_of_latencies(name));
    result.course.retain(|name, _| !is_of_latencies(name));
    if !result.remarks.contains(&remark) {
        result.remarks.push(remark);
    }
}

/// Removes the figures that not all rounds have, since the others would be a choice of rounds. Returns remarks that say
/// which figures, how many rounds lack them, and why. For a figure that no round has there is a remark only if the load
/// gave a reason.
fn take_out_incomplete(lists: &mut BTreeMap<String, Vec<(u32, f64)>>, samples: &[&&Sample]) -> Vec<String> {
    let timed: Vec<&Sample> = samples.iter().map(|sample| **sample).filter(|one| one.is_made()).collect();
    let rounds = timed.len();
    // By how many rounds lack them and by the reason.
    let mut missing: BTreeMap<(usize, &str), Vec<&str>> = BTreeMap::new();
    for metric in &METRICS {
        let has = |sample: &Sample| sample.numbers.get(metric.name).is_some_and(|number| number.is_finite());
        let without: Vec<&Sample> = timed.iter().copied().filter(|sample| !has(sample)).collect();
        let why = without.iter().find_map(|sample| sample.missing_numbers.get(metric.name));
        if without.is_empty() || (without.len() == rounds && why.is_none()) {
            continue;
        }
        lists.remove(metric.name);
        let why = why.map_or("none was measured", String::as_str);
        missing.entry((without.len(), why)).or_default().push(metric.title);
    }
    let in_words = |((count, why), titles): ((usize, &str), Vec<&str>)| {
        format!("{}: {} {why}", not_shown(&titles), in_rounds(count, rounds))
    };
    missing.into_iter().map(in_words).collect()
}

/// Words for some of the rounds: `in 1 of 3 rounds`.
fn in_rounds(count: usize, rounds: usize) -> String {
    if rounds == 1 { "in the only round".to_owned() } else { format!("in {count} of {rounds} rounds") }
}

/// The beginning of a remark on metrics that are left out: `p99 is not shown`.
pub(super) fn not_shown(titles: &[&str]) -> String {
    let is = if titles.len() == 1 { "is" } else { "are" };
    format!("{} {is} not shown", titles.join(", "))
}

/// A course with as many points as a plot can show: of each stretch of time the point furthest from the mean, so that a
/// dip or a peak stays. `raw.jsonl` has all points.
fn thinned(course: &Course) -> Course {
    let of = |points: &Vec<(f64, f64)>| {
        let count = points.len();
        let mean = points.iter().map(|(_, value)| value).sum::<f64>() / count.max(1) as f64;
        let off = |point: &&(f64, f64)| (point.1 - mean).abs();
        let stretch = |at: usize| &points[at * count / POINTS_MOST..(at + 1) * count / POINTS_MOST];
        let furthest = |at| stretch(at).iter().max_by(|one, other| off(one).total_cmp(&off(other))).copied();
        if count <= POINTS_MOST { points.clone() } else { (0..POINTS_MOST).filter_map(furthest).collect() }
    };
    course.iter().map(|(name, points)| (name.clone(), of(points))).collect()
}

/// Whether the load generator could not keep the rate of an open loop: more than 1 of 100 requests were never sent, and
/// the server is not known to be the cause.
pub fn is_below_rate(sample: &Sample) -> bool {
    is_open(sample) && not_sent_share(sample) > FAILED_SHARE_MAX
}

/// Whether the load had a rate.
fn is_open(sample: &Sample) -> bool {
    sample.numbers.contains_key(OFFERED)
}

/// Share of the requests that the load generator did not send, unless the server is known to be the cause.
fn not_sent_share(sample: &Sample) -> f64 {
    failed_share(sample.number(NOT_SENT), sample.number(REQUESTS) + sample.number(FAILED))
}

/// Remark on rounds without a load that counts, although the server is not disqualified: they are in no figure.
fn not_made(samples: &[&&Sample], rounds: usize) -> Option<String> {
    let is_void = |one: &&Sample| one.is_timed() && one.numbers.is_empty();
    let void: Vec<&Sample> = samples.iter().map(|one| **one).filter(is_void).collect();
    let why = void.iter().find_map(|one| one.remarks.last());
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    let others = if rounds > 0 { ", and the figures are those of the others" } else { "" };
    let place = in_rounds(void.len(), void.len() + rounds);
    (!void.is_empty()).then(|| format!("{place} there was no load that counts{others}{why}"))
}

/// Remark on rounds in which the load generator did not send all requests.
fn not_sent(samples: &[&&Sample], rounds: usize) -> Option<String> {
    let short: Vec<&Sample> = samples.iter().map(|one| **one).filter(|one| one.number(NOT_SENT) > 0.0).collect();
    let most = short.iter().map(|one| not_sent_share(one)).fold(0.0, f64::max) * 100.0;
    let is_own = short.iter().all(|one| one.number(NOT_SENT_BY_ITSELF) > 0.0);
    let why = match is_own {
        true => "it was too slow, or had too few clients, and no server is to blame",
        false => "whether the server or the load generator was too slow is not known",
    };
    let what = match short.iter().all(|one| is_open(one)) {
        true => "could not keep the rate",
        false => "had no time left",
    };
    // A share that would be rounded to none is not shown as none.
    let most = most.max(0.1);
    (!short.is_empty()).then(|| {
        format!(
            "{} the load generator {what}, and did not send up to {most:.1} % of the requests, which are in no \
             figure: {why}",
            in_rounds(short.len(), rounds)
        )
    })
}

/// Whether the load generator sent its requests so late that its own delay is a large part of the latency, or could not
/// keep the rate. With a goodput, the delay is compared with the deadline of that: most requests may fail, and then
/// there is no p99.
pub fn is_late(sample: &Sample) -> bool {
    if is_below_rate(sample) {
        return true;
    }
    let number = |name: &str| sample.numbers.get(name).copied();
    let latency_ms = match number(GOODPUT) {
        Some(_) => GOODPUT_DEADLINE_MS as f64,
        None => number(P99).unwrap_or(0.0),
    };
    number(LATE).unwrap_or(0.0) > LATE_MS.max(latency_ms * LATE_SHARE)
}

/// Share of its connections' time that wrk's latencies account for, if requests have timed out. By Little's law, the
/// rate times the mean latency is the number of requests in progress. wrk records no latency of a request that is
/// answered after its time-out or never, so that a server which serves some clients and lets the others wait seems
/// faster than it is. `None` for another load, where the latencies are too short to tell, and where there were other
/// failures, whose times may be part of the mean.
fn accounted_share(sample: &Sample) -> Option<f64> {
    let connections = sample.command.split(' ').find_map(|word| word.strip_prefix("-c")?.parse::<f64>().ok())?;
    let timed_out = sample.errors.keys().eq(["timeout"]) && sample.errors["timeout"] > 0;
    let mean_ms = sample.number(MEAN);
    let is_known = load_tool(&sample.command) == Some("wrk") && timed_out && mean_ms >= ACCOUNTED_FROM_MS;
    is_known.then(|| sample.number(RATE) * mean_ms / 1_000.0 / connections)
}

/// Remark on the rounds in which wrk left out the latencies of many requests, if these are at least half of all rounds.
fn left_out(samples: &[&Sample]) -> Option<String> {
    let shares = samples.iter().filter_map(|sample| accounted_share(sample)).filter(|share| *share < ACCOUNTED_SHARE);
    let mut shares: Vec<f64> = shares.map(|share| share * 100.0).collect();
    shares.sort_by(f64::total_cmp);
    let (least, most) = (shares.first()?, shares.last()?);
    let range = if shares.len() == 1 { format!("{least:.0}") } else { format!("{least:.0} to {most:.0}") };
    (shares.len() * 2 >= samples.len()).then(|| {
        format!(
            "{} wrk’s latencies add up to {range} % of the time of its connections; in the rest of it they waited for \
             answers that came after the time-out or never, which are in no percentile: no latency is shown",
            in_rounds(shares.len(), samples.len())
        )
    })
}

/// Remark on rounds in which the load generator was fully busy.
fn too_busy(samples: &[&&Sample]) -> Option<String> {
    let number = |sample: &Sample, name: &str| sample.numbers.get(name).copied();
    let shares: Vec<f64> = samples
        .iter()
        .filter_map(|sample| Some(number(sample, GENERATOR)? / number(sample, GENERATOR_THREADS)?))
        .collect();
    let busy = shares.iter().filter(|share| **share >= BUSY_SHARE).count();
    (busy > 0).then(|| {
        format!(
            "{} the load generator’s threads were busy for {:.0} % of the time or more: what the server could do \
             beyond that was not seen",
            in_rounds(busy, shares.len()),
            BUSY_SHARE * 100.0
        )
    })
}

/// Remark on rounds in which the rate still changed when the warm-up ended.
fn unsettled(samples: &[&&Sample]) -> Option<String> {
    let settled: Vec<f64> = samples.iter().filter_map(|sample| sample.numbers.get(SETTLED).copied()).collect();
    let rounds = settled.len();
    // In a few rounds, a machine that becomes slower or faster meanwhile has the same effect.
    let most = |is: fn(f64) -> bool| {
        Some(settled.iter().filter(|settled| is(**settled)).count()).filter(|count| count * 2 > rounds)
    };
    let not = most(|settled| settled <= 0.0)
        .map(|count| format!("the rate had not {SETTLED_BEFORE} {}", in_rounds(count, rounds)));
    not.or_else(|| {
        let count = most(|settled| settled < 1.0)?;
        let of = if rounds == 1 { String::new() } else { format!("for {count} of {rounds} rounds ") };
        Some(format!(
            "{of}it is not known whether the rate had {SETTLED_BEFORE}: it varied too much, or had not settled"
        ))
    })
}

/// Remark on a load whose tool does not check answers: the share of wrong answers that could have gone unnoticed, where
/// it is above one in a thousand.
fn checked_too_little(samples: &[&&Sample]) -> Option<String> {
    let checked: Vec<f64> = samples.iter().filter_map(|sample| sample.numbers.get(CHECKED).copied()).collect();
    let sum: f64 = checked.iter().sum();
    if checked.is_empty() || sum >= CHECKED_ENOUGH as f64 {
        return None;
    }
    let unseen = -(0.01_f64.ln()) / sum.max(1.0) * 100.0;
    let answers = if sum == 1.0 { "answer was" } else { "answers were" };
    Some(format!(
        "{sum:.0} {answers} checked: with fewer than {:.1} % wrong ones it could have passed",
        unseen.min(100.0)
    ))
}

/// Remark on failures that the loads which check all answers found, and the tool before them did not.
fn failed_unseen(measured: &Measured) -> Option<String> {
    if is_failing(measured.failed(), measured.right()) || measured.found_share() <= FAILED_SHARE_MAX {
        return None;
    }
    Some(format!(
        "{:.1} % of the requests failed in the loads that check all answers; the tool takes such ones for right",
        measured.found_share() * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use loadgen::metric::{DIVIDED, FIRST_ANSWER, IN_SERVER, P99_OVER_P50, P999, RECOVERY};

    use super::*;

    fn sample(numbers: &[(&str, f64)]) -> Sample {
        Sample::of("x", numbers)
    }

    #[test]
    fn the_tool_of_a_case_is_known_by_the_commands_of_its_loads() {
        let of = |commands: &[&str]| {
            let load = |command: &&str| {
                let loaded = sample(&[(RATE, 7.0)]);
                Sample { case: "c".into(), command: (*command).into(), ..loaded }
            };
            let other = Sample { case: "d".into(), command: "siege -c9".into(), ..Sample::default() };
            let samples: Vec<Sample> = commands.iter().map(load).chain([other]).collect();
            summed(Case { name: "c".into(), ..Case::default() }, ["x"], &samples, &[]).tool
        };
        // A longer load in a later round: the line below the case begins with other words.
        assert_eq!(of(&["wrk -d10s /a", "wrk -d20s /a", ""]).as_deref(), Some("wrk"));
        assert_eq!(of(&["k6 on a, b: 8 clients"]).as_deref(), Some("k6"));
        assert_eq!((of(&["closed loop: 4 clients"]), of(&[]), of(&["wrk /a", "ab /a"])), (None, None, None));
    }

    #[test]
    fn a_latency_is_of_all_rounds_or_not_shown_and_the_late_ones_are_told() {
        let late = sample(&[(LATE, 5.0), (P99, 20.0), (RATE, 7.0)]);
        let good = |p99: f64| sample(&[(LATE, 0.9), (P99, p99), (RATE, 8.0)]);
        let of = |samples: &[&Sample]| measured("x", samples);
        assert_eq!(of(&[&late]).numbers.into_keys().collect::<Vec<_>>(), [LATE, RATE]);
        // As seen once: of 18.4, 95.9 and 2.78 ms only "2.78" was shown.
        let most = of(&[&late, &late, &good(2.78)]);
        assert_eq!(most.numbers.get(P99), None);
        assert!(most.remarks[0].contains("in 2 of 3 rounds") && most.remarks[0].contains("no latency is shown"));
        let few = of(&[&late, &good(2.0), &good(3.0)]);
        assert_eq!((few.numbers[P99].median, few.numbers[P99].high), (3.0, 20.0));
        assert!(few.remarks[0].contains("in 1 of 3 rounds"), "{:?}", few.remarks);
        // A round whose load could not be made is none in which it was in time.
        let half = of(&[&late, &good(2.0), &sample(&[])]);
        assert_eq!(half.numbers.get(P99), None);
        assert!(half.remarks[0].contains("in 1 of 2 rounds"), "{:?}", half.remarks);
        let words = "in 1 of 3 rounds there was no load that counts, and the figures are those of the others";
        assert_eq!(&half.remarks[1..], [words]);
        assert!(of(&[&good(2.0)]).remarks.is_empty());
    }

    /// As of Falcon: 500 connections, 1189 answers a second of 273 ms on average, and 58 after the time-out.
    #[test]
    fn wrks_latencies_are_not_shown_where_they_leave_out_many_that_waited() {
        let wrk = |mean_ms: f64, late: u64| Sample {
            command: "wrk --latency -t2 -c500 -d10s --timeout=2s http://127.0.0.1:1/".into(),
            errors: BTreeMap::from([("timeout".to_owned(), late)]),
            ..sample(&[(RATE, 1189.0), (MEAN, mean_ms), (P99, 340.0)])
        };
        let of = |samples: &[Sample]| measured("x", &samples.iter().collect::<Vec<_>>());
        let most = of(&[wrk(273.0, 58), wrk(230.0, 7), wrk(420.0, 0)]);
        assert_eq!(most.numbers.keys().collect::<Vec<_>>(), [RATE]);
        let words = "in 2 of 3 rounds wrk’s latencies add up to 55 to 65 % of the time of its connections; in the rest";
        assert!(most.remarks[0].starts_with(words) && most.remarks[0].ends_with(": no latency is shown"), "{most:?}");
        let only = of(&[wrk(273.0, 58)]);
        assert!(only.remarks[0].starts_with("in the only round wrk’s latencies add up to 65 % of"), "{only:?}");
        // In fewer than half of the rounds; without time-outs; hardly anything is missing.
        let shown = [vec![wrk(273.0, 58), wrk(420.0, 3), wrk(420.0, 0)], vec![wrk(273.0, 0)], vec![wrk(390.0, 58)]];
        for samples in shown {
            let found = of(&samples);
            assert!(found.numbers.contains_key(P99) && found.remarks.is_empty(), "{found:?}");
        }
        // Beside short latencies, wrk's own pauses are a notable part; other tools and loops record all latencies.
        let short = Sample { numbers: sample(&[(RATE, 9000.0), (MEAN, 20.0), (P99, 80.0)]).numbers, ..wrk(1.0, 58) };
        let other = Sample { command: "closed loop: 500 clients, -c500".into(), ..wrk(273.0, 58) };
        assert!([short, other].iter().all(|sample| of(std::slice::from_ref(sample)).remarks.is_empty()));
    }

    #[test]
    fn it_is_told_once_that_a_tool_read_no_bodies() {
        let unread = Sample { remarks: vec![BODIES_UNREAD.into()], ..sample(&[(RATE, 9.0)]) };
        assert_eq!(measured("x", &[&unread, &unread, &sample(&[(RATE, 8.0)])]).remarks, [BODIES_UNREAD]);
    }

    #[test]
    fn rounds_whose_load_does_not_count_are_told_with_the_reason() {
        let void = Sample { remarks: vec!["siege ended after 0 s instead of 8 s".into()], ..sample(&[]) };
        let good = |rate: f64| sample(&[(RATE, rate)]);
        let of = |samples: &[&Sample]| measured("x", samples);
        let found = of(&[&good(8.0), &void, &good(9.0)]);
        let words = "in 1 of 3 rounds there was no load that counts, and the figures are those of the others: siege \
                     ended after 0 s instead of 8 s";
        assert_eq!((found.numbers[RATE].all.len(), &found.remarks[..]), (2, &[words.to_owned()][..]));
        let none = of(&[&void]);
        let words = "in the only round there was no load that counts: siege ended after 0 s instead of 8 s";
        assert_eq!(none.remarks, [words]);
        // That one is disqualified, or its time could not be divided, is said elsewhere.
        let wrong = Sample { disqualified: Some("wrong".into()), ..sample(&[]) };
        let undivided = Sample { undivided: Some("why".into()), ..sample(&[]) };
        let found = of(&[&good(8.0), &wrong, &undivided]);
        assert_eq!(found.remarks, ["where a request’s time goes was not measured: why"]);
    }

    #[test]
    fn where_no_latency_is_shown_there_is_none_over_time_either() {
        let over_time = |late_ms: f64| {
            let course = [P99, RATE].map(|name| (name.to_owned(), vec![(0.5, 2.0), (1.5, 3.0)])).into();
            Sample { course, ..sample(&[(LATE, late_ms), (P99, 3.0), (RATE, 8.0)]) }
        };
        let of = |late_ms: [f64; 3]| {
            let samples = late_ms.map(over_time);
            measured("x", &samples.each_ref()).course.into_keys().collect::<Vec<_>>()
        };
        assert_eq!((of([0.1, 0.1, 0.1]), of([5.0, 0.1, 0.1])), (vec![P99.to_owned(), RATE.to_owned()], of([0.1; 3])));
        // The only round in time would be the best of three.
        assert_eq!((of([5.0, 0.1, 5.0]), of([5.0; 3])), (vec![RATE.to_owned()], vec![RATE.to_owned()]));
    }

    #[test]
    fn what_the_load_generator_did_not_send_is_told_and_no_failure_and_its_latencies_are_not_shown() {
        let numbers = [(RATE, 600.0), (OFFERED, 600.0), (REQUESTS, 6000.0), (FAILED, 0.0), (P99, 430.0)];
        let of = |not_sent: f64, by_itself: f64| {
            let one = sample(&[&numbers[..], &[(NOT_SENT, not_sent), (NOT_SENT_BY_ITSELF, by_itself)]].concat());
            measured("x", &[&one, &one, &sample(&numbers)])
        };
        let found = of(4000.0, 1.0);
        assert!(!found.numbers.contains_key(P99) && found.numbers[RATE].median == 600.0, "{found:?}");
        assert_eq!((found.failed_share(), Case::default().counts(&found, RATE)), (0.0, true));
        assert!(found.remarks[0].starts_with("in 2 of 3 rounds the load generator itself was late"), "{found:?}");
        let words = "in 2 of 3 rounds the load generator could not keep the rate, and did not send up to 40.0 % of the \
                     requests, which are in no figure: it was too slow, or had too few clients, and no server is";
        assert!(found.remarks[1].starts_with(words), "{found:?}");
        assert!(of(4000.0, 0.0).remarks[1].ends_with("is not known"));
        // Of few it is told, and that is all.
        let few = of(6.0, 0.0);
        assert!(few.numbers.contains_key(P99) && few.remarks.len() == 1, "{few:?}");
        let result = |numbers: &[(&str, f64)]| measured("x", &[&sample(numbers)]);
        let one = result(&[&numbers[..], &[(NOT_SENT, 2.0)]].concat());
        let words = "in the only round the load generator could not keep the rate, and did not send up to 0.1 % of";
        assert!(one.remarks[0].starts_with(words), "{one:?}");
        // A closed loop has no rate, and its latencies are right.
        let left = result(&[(RATE, 6.0), (REQUESTS, 6000.0), (P99, 430.0), (NOT_SENT, 4000.0)]);
        assert!(left.numbers.contains_key(P99) && left.remarks.len() == 1, "{left:?}");
        assert!(left.remarks[0].contains("had no time left, and did not send up to 40.0 %"), "{left:?}");
    }

    #[test]
    fn under_overload_the_load_generator_is_late_by_a_tenth_of_the_time_in_which_an_answer_is_of_use() {
        let shown = |late_ms: f64| {
            let sample = sample(&[(LATE, late_ms), (GOODPUT, 30.0)]);
            measured("a", &[&sample]).numbers.contains_key(GOODPUT)
        };
        assert!(shown(3.0) && shown(100.0) && !shown(101.0));
    }

    #[test]
    fn what_is_made_of_latencies_goes_with_them_and_what_is_not_stays() {
        let numbers = [(LATE, 5.0), (P99, 20.0), (P99_OVER_P50, 7.0), ("concurrency", 2.0), (FIRST_ANSWER, 300.0)];
        let found = measured("x", &[&sample(&numbers)]).numbers;
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [FIRST_ANSWER, LATE]);
    }

    #[test]
    fn a_figure_that_a_round_lacks_is_not_shown_and_the_page_says_why() {
        let of = |samples: &[Sample]| measured("x", &samples.iter().collect::<Vec<_>>());
        let recovered = || sample(&[(RATE, 9.0), (RECOVERY, 1.0), (P99, 4.0)]);
        let did_not = Sample {
            missing_numbers: [(RECOVERY, "it did not recover"), (P99, "it failed"), (P999, "it failed")]
                .map(|(name, why)| (name.to_owned(), why.to_owned()))
                .into(),
            ..sample(&[(RATE, 8.0)])
        };
        // Two that recovered at once would be the median of three.
        let found = of(&[recovered(), did_not.clone(), recovered()]);
        assert_eq!(found.numbers.keys().collect::<Vec<_>>(), [RATE], "{found:?}");
        assert_eq!(
            found.remarks,
            [
                "Recovery is not shown: in 1 of 3 rounds it did not recover",
                "p99 is not shown: in 1 of 3 rounds it failed",
                "p99.9 is not shown: in 3 of 3 rounds it failed"
            ]
        );
        let found = of(&[did_not.clone(), did_not]);
        assert!(found.remarks[1].ends_with("p99.9 are not shown: in 2 of 2 rounds it failed"), "{:?}", found.remarks);
        let found = of(&[recovered(), sample(&[(RATE, 8.0), (P99, 4.0)])]);
        assert_eq!(found.remarks, ["Recovery is not shown: in 1 of 2 rounds none was measured"]);
        // The load that divides a request's time has other numbers, and fewer rounds.
        let divided = sample(&[(DIVIDED, 3.0), (IN_SERVER, 1.0)]);
        let found = of(&[recovered(), divided, recovered()]);
        assert!(found.remarks.is_empty() && found.numbers[IN_SERVER].all == [1.0], "{found:?}");
        assert!(of(&[recovered(), recovered()]).remarks.is_empty());
    }

    #[test]
    fn a_course_keeps_as_many_points_as_can_be_seen_and_its_dips() {
        let points: Vec<(f64, f64)> = (0..100).map(|at| (f64::from(at), if at == 41 { 1.0 } else { 50.0 })).collect();
        let course = [(RATE.to_owned(), points.clone()), ("pss_mib".to_owned(), points[..5].to_vec())].into();
        let found = measured("x", &[&Sample { course, ..sample(&[(RATE, 7.0)]) }]).course;
        assert_eq!((found[RATE].len(), found["pss_mib"].len()), (POINTS_MOST, 5));
        assert!(found[RATE].contains(&(41.0, 1.0)) && found[RATE].is_sorted_by(|a, b| a.0 < b.0), "{found:?}");
    }

    #[test]
    fn a_load_generator_at_its_own_end_is_told() {
        let used = |used: f64, threads: f64| sample(&[(GENERATOR, used), (GENERATOR_THREADS, threads), (RATE, 7.0)]);
        let of = |samples: &[&Sample]| measured("x", samples);
        assert!(of(&[&used(1.0, 2.0), &used(0.89, 1.0), &sample(&[(RATE, 7.0)])]).remarks.is_empty());
        let result = of(&[&used(0.95, 1.0), &used(1.0, 2.0), &used(1.8, 2.0)]);
        assert!(result.remarks[0].contains("in 2 of 3 rounds the load generator’s threads were busy"), "{result:?}");
    }

    #[test]
    fn a_rate_that_had_not_settled_is_told() {
        let settled = |settled: f64| sample(&[(SETTLED, settled), (RATE, 7.0)]);
        let of = |samples: &[&Sample]| measured("x", samples);
        assert!(of(&[&settled(1.0), &settled(1.0), &sample(&[(RATE, 7.0)])]).remarks.is_empty());
        let result = of(&[&settled(0.0), &settled(1.0), &settled(0.0)]);
        assert_eq!(result.remarks, ["the rate had not settled before the load in 2 of 3 rounds"]);
        assert!(of(&[&settled(0.0), &settled(1.0), &settled(0.5), &settled(1.0)]).remarks.is_empty());
        let unknown = of(&[&settled(0.5), &settled(0.0), &settled(1.0)]);
        assert!(unknown.remarks[0].starts_with("for 2 of 3 rounds it is not known whether"), "{:?}", unknown.remarks);
        // As of a quick run: "for 1 of 1 rounds".
        let remark = |samples: &[Sample]| of(&samples.iter().collect::<Vec<_>>()).remarks.concat();
        assert_eq!(remark(&[settled(0.0)]), "the rate had not settled before the load in the only round");
        let words = "it is not known whether the rate had settled before the load: it varied too much, or";
        assert!(remark(&[settled(0.5)]).starts_with(words), "{}", remark(&[settled(0.5)]));
        assert_eq!(result.numbers.into_keys().collect::<Vec<_>>(), [RATE], "it is no figure of the server");
    }

    #[test]
    fn too_few_checked_answers_are_told() {
        let of =
            |checked: f64| measured("x", &[&sample(&[(CHECKED, checked)]), &sample(&[(CHECKED, checked)])]).remarks;
        assert!(of(2302.0).is_empty());
        assert!(of(90.0)[0].contains("180 answers were checked: with fewer than 2.6 % wrong"), "{:?}", of(90.0));
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
            let result = measured("x", &[&sample(&[("requests", right), ("failed", failed)])]);
            Case::default().counts(&result, RATE)
        });
        assert_eq!(shares, [true, true, false, false]);
    }
}
