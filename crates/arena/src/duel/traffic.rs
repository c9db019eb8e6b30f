//! Results at the user's own rate: which contenders carried how much of it in which rounds, what broke first, what it
//! costs, and a paragraph on all of that. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::measure::LONGEST;
use crate::record::summary::{Carried, Case, Cost, Held, Measured, Spread, Step, Summary, Traffic, Who};
use crate::record::{Sample, TWIN};
use crate::report::grammar;
use crate::stats::{better, median};
use loadgen::metric::{
    CPU, Direction, FAILED, NOT_SENT, OFFERED, P50, P99, P999, PROCESSORS, PSS_PEAK, RATE, REQUESTS, rate_in_words,
};

use super::cases;
use super::compare::value;
use super::pace::Rate;
use super::strain::Limits;

/// Factor by which a recommended machine has more memory than was measured; `SYSTEM_MIB` for the system come on top.
const MEMORY_TIMES: f64 = 1.5;
const SYSTEM_MIB: f64 = 128.0;

/// Sums up the samples at the rate; `None` where there are none. `twin_of` is the contender that takes part twice.
pub fn summed(
    rate: &Rate,
    limits: &Limits,
    is_said: bool,
    samples: &[Sample],
    whos: &[Who],
    twin_of: Option<&str>,
) -> Option<Traffic> {
    let counted = || samples.iter().filter(|sample| is_counted(sample));
    let own: Vec<&Sample> = counted().filter(|sample| sample.contender != TWIN).collect();
    let of_twin: Vec<&Sample> = counted().filter(|sample| sample.contender == TWIN).collect();
    let names: BTreeSet<&str> = own.iter().map(|sample| sample.contender.as_str()).collect();
    let workers = |name: &str| whos.iter().find(|who| who.name == name).map_or(1, |who| who.workers);
    let twin = twin_of.filter(|_| !of_twin.is_empty());
    let twin = twin.map(|original| carried(TWIN, &of_twin, rate, limits, workers(original)));
    let carried = |name: &str| {
        let of_it: Vec<&Sample> = own.iter().copied().filter(|sample| sample.contender == name).collect();
        carried(name, &of_it, rate, limits, workers(name))
    };
    let numbers = |of: fn(&str) -> Option<u32>| cases::numbers(own.iter().copied(), of);
    (!names.is_empty()).then(|| Traffic {
        per_s: rate.per_s,
        mean_per_s: rate.mean_per_s,
        origin: rate.origin.clone(),
        broken_when: limits.in_words(is_said),
        p99_max_ms: Some(limits.p99_ms),
        cores: limits.cores,
        answer: String::new(),
        carried: names.into_iter().map(carried).collect(),
        twin,
        cases: numbers(cases::times_of).into_iter().map(cases::traffic).collect(),
        smaller_cases: numbers(cases::processors_of).into_iter().rev().map(cases::smaller).collect(),
    })
}

fn is_counted(sample: &Sample) -> bool {
    sample.disqualified.is_none() && !sample.numbers.is_empty() && cases::is_of_traffic(&sample.case)
}

fn carried(name: &str, samples: &[&Sample], rate: &Rate, limits: &Limits, workers: u32) -> Carried {
    let steps_of = |of: fn(&str) -> Option<u32>, is_rising: bool| {
        let own = samples.iter().filter_map(|sample| Some((of(&sample.case)?, *sample)));
        let judged = own.map(|(of, sample)| Judged {
            of,
            sample,
            broken: limits.broken(sample, workers),
            is_unknown: limits.is_unknown(sample),
        });
        let judged: Vec<Judged> = judged.collect();
        steps(&judged, is_rising, &|loads| limits.broken(&together(loads), workers))
    };
    let mut at_times = steps_of(cases::times_of, true);
    let mut smaller = steps_of(cases::processors_of, false);
    at_times.iter_mut().for_each(|step| step.per_s = rate.per_s * f64::from(step.of));
    smaller.iter_mut().for_each(|step| step.per_s = rate.per_s);
    let shows_none = |step: &Step| step.held() == Held::No || step.unknown().is_some();
    let is_without = at_times.first().is_none_or(shows_none);
    let kept: Vec<&Sample> = samples.iter().copied().filter(|sample| !limits.is_unknown(sample)).collect();
    let cost = if is_without { None } else { cost(&kept, &smaller, rate, limits.cores) };
    Carried { contender: name.to_owned(), steps: at_times, smaller, cost }
}

/// One load of one round, with its judgment.
struct Judged<'a> {
    of: u32,
    sample: &'a Sample,
    broken: Option<String>,
    /// Whether it shows nothing, since the load generator could not keep the rate.
    is_unknown: bool,
}

/// Words on what broke in these loads, as if they were one; `None` if together they were not too much.
type BrokenTogether<'a> = &'a dyn Fn(&[&Sample]) -> Option<String>;

/// Groups loads by their multiple of the rate, or by their number of processors. A round that broke at an easier load
/// counts as broken at the harder ones, which were not tried then.
fn steps(judged: &[Judged], is_rising: bool, in_words: BrokenTogether) -> Vec<Step> {
    let is_harder = |of: u32, than: u32| if is_rising { of >= than } else { of <= than };
    let asked: BTreeSet<u32> = judged.iter().map(|one| one.of).collect();
    let step = |of: u32| {
        let broken = |round: u32| {
            let mut own = judged.iter().filter(|one| one.sample.round == round);
            own.find(|one| is_harder(of, one.of) && one.broken.is_some())
        };
        let mut rounds: BTreeSet<u32> = judged.iter().map(|one| one.sample.round).collect();
        let own = |round: u32| judged.iter().find(|one| one.sample.round == round && one.of == of);
        let was_asked = |round: u32| own(round).is_some_and(|one| !one.is_unknown);
        let not_kept = rounds.iter().filter(|round| own(**round).is_some_and(|one| one.is_unknown)).count() as u32;
        rounds.retain(|round| was_asked(*round) || broken(*round).is_some());
        let found: Vec<&Judged> = rounds.iter().filter_map(|round| broken(*round)).collect();
        let rounds = rounds.len() as u32;
        let broke = found.len() as u32;
        Step { of, rounds, broke, not_kept, what: what_broke(&found, of, is_rising, in_words), ..Step::default() }
    };
    let mut steps: Vec<Step> = asked.into_iter().map(step).collect();
    if !is_rising {
        steps.reverse();
    }
    steps
}

/// Sentence on what broke and why. Its figures are those of all rounds in which a load of this step broke: medians, as
/// in the tables beside it. Only where none was made, they are those of the easier load at which most rounds broke, and
/// that one is named.
fn what_broke(found: &[&Judged], of: u32, is_rising: bool, in_words: BrokenTogether) -> String {
    let made = |at: u32| -> Vec<&Judged> { found.iter().copied().filter(|one| one.of == at).collect() };
    let easier = || found.iter().map(|one| one.of).max_by_key(|at| made(*at).len());
    let Some(at) = Some(of).filter(|of| !made(*of).is_empty()).or_else(easier) else { return String::new() };
    let mut shown = made(at);
    let loads: Vec<&Sample> = shown.iter().map(|one| one.sample).collect();
    // Loads that broke in different ways may be within the limits by their medians: then one of them is told.
    shown.sort_by(|one, other| one.sample.number(P99).total_cmp(&other.sample.number(P99)));
    let middle = || shown.get((shown.len() - 1) / 2)?.broken.clone();
    let words = in_words(&loads).or_else(middle).unwrap_or_default();
    match (at == of, is_rising) {
        (true, _) => words,
        (false, true) => format!("at {} already, {words}", times_in_words(at).to_lowercase()),
        (false, false) => format!("on {at} processors already, {words}"),
    }
}

/// Loads of several rounds as one: each number is the median of the rounds, and a count their sum. A number that half
/// of them or more lack is left out.
fn together(loads: &[&Sample]) -> Sample {
    let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    for load in loads {
        load.numbers.iter().for_each(|(name, number)| all.entry(name).or_default().push(*number));
        load.errors.iter().for_each(|(kind, count)| *errors.entry(kind.clone()).or_default() += count);
    }
    let one = |(name, numbers): (&str, Vec<f64>)| {
        let number = match name {
            REQUESTS | FAILED | NOT_SENT => Some(numbers.iter().sum::<f64>()),
            _ if numbers.len() * 2 > loads.len() => median(&numbers),
            _ => None,
        };
        Some((name.to_owned(), number?))
    };
    let mut numbers: BTreeMap<String, f64> = all.into_iter().filter_map(one).collect();
    // The share of the rate that was served is the median of the shares, which is not that of the medians.
    let shares = loads.iter().map(|load| load.number(RATE) / load.number(OFFERED));
    if let Some(share) = median(&shares.collect::<Vec<f64>>()).filter(|share| *share > 0.0) {
        let served = numbers.get(RATE).copied().unwrap_or_default();
        numbers.insert(OFFERED.to_owned(), served / share);
    }
    Sample { numbers, errors, ..Sample::default() }
}

fn cost(samples: &[&Sample], smaller: &[Step], rate: &Rate, cores: u32) -> Option<Cost> {
    let own = cases::traffic(1);
    let of = |metric: &str| {
        let all = samples.iter().filter(|sample| sample.case == own).filter_map(|sample| sample.numbers.get(metric));
        median(&all.copied().collect::<Vec<f64>>())
    };
    let processors = of(PROCESSORS)?;
    let cpu_us = of(CPU)?;
    let memory_mib = of(PSS_PEAK)?;
    let holding = smaller.iter().filter(|step| step.held() == Held::Yes).map(|step| step.of).min();
    let needed = (memory_mib * MEMORY_TIMES + SYSTEM_MIB).ceil().max(1.0) as u64;
    Some(Cost {
        processors,
        processors_mean: rate.mean_per_s.map(|mean| cpu_us * mean / 1e6),
        cpu_s_per_million: cpu_us,
        memory_mib,
        machine_processors: holding.unwrap_or(cores),
        machine_mib: needed.next_power_of_two(),
    })
}

/// Writes what is said of the rate in a recorded duel anew, by the rules of this program. Which loads broke in which
/// rounds stays as it was recorded.
pub fn tell_again(summary: &mut Summary, samples: &[Sample]) {
    if let Some(traffic) = &mut summary.traffic {
        let rate = Rate { per_s: traffic.per_s, mean_per_s: traffic.mean_per_s, origin: traffic.origin.clone() };
        let bound = traffic.p99_max_ms.or_else(|| Limits::p99_of_words(&traffic.broken_when));
        let limits = bound.map(|p99_ms| Limits { p99_ms, cores: traffic.cores });
        let twin_of = summary.twin_of.as_deref();
        let now = limits.and_then(|limits| summed(&rate, &limits, false, samples, &summary.contenders, twin_of));
        let now: Vec<Carried> = now.into_iter().flat_map(|now| now.carried.into_iter().chain(now.twin)).collect();
        for old in traffic.carried.iter_mut().chain(&mut traffic.twin) {
            let Some(new) = now.iter().find(|new| new.contender == old.contender) else { continue };
            reworded(&mut old.steps, &new.steps);
            reworded(&mut old.smaller, &new.smaller);
        }
    }
    tell(summary);
}

/// Puts the words of these steps in the place of those of the same ones.
fn reworded(steps: &mut [Step], by: &[Step]) {
    let seen = |step: &Step| (step.of, step.rounds, step.broke, step.not_kept);
    for step in steps {
        if let Some(new) = by.iter().find(|new| seen(new) == seen(step)) {
            step.what.clone_from(&new.what);
        }
    }
}

/// Writes the paragraph about the recommended contender, or else about the first one that carries the rate.
pub fn tell(summary: &mut Summary) {
    let Some(traffic) = &summary.traffic else { return };
    let recommended = summary.advice.as_ref().map_or("", |advice| advice.contender.as_str());
    let found = traffic
        .carried
        .iter()
        .find(|one| one.contender == recommended)
        .or_else(|| traffic.carried.iter().find(|one| one.cost.is_some()).or_else(|| traffic.carried.first()));
    let answer = found.map_or_else(String::new, |one| paragraph(summary, traffic, one));
    if let Some(traffic) = &mut summary.traffic {
        traffic.answer = answer;
    }
}

/// Reason why the latencies of a result are not shown.
const LATE_WORDS: &str = "the load generator itself was late in half of the rounds or more";

fn paragraph(summary: &Summary, traffic: &Traffic, one: &Carried) -> String {
    let mean = traffic.mean_per_s.map_or_else(String::new, |mean| format!("; the mean is {}/s", rate_in_words(mean)));
    let rate = format!("At {} requests/s ({}{mean})", rate_in_words(traffic.per_s), traffic.origin);
    let name = &one.contender;
    let mut words = Vec::new();
    let at_rate = cases::measured(summary, &cases::traffic(1), name);
    match (&one.cost, at_rate) {
        (Some(cost), Some(at_rate)) => {
            let needs = format!("{:.2} processors and a peak memory of {:.0} MiB", cost.processors, cost.memory_mib);
            words.push(match latencies(at_rate) {
                Some(within) => format!("{rate}, {name} answers {within}, with {needs}"),
                None => format!("{rate}, {name} needs {needs}; its latencies are not shown, since {LATE_WORDS}"),
            });
        }
        _ => words.push(match one.steps.first().map(|step| (step, step.unknown())) {
            Some((_, Some(why))) => format!("{rate}: it is not known whether {name} carries it, since {why}"),
            Some((step, None)) => format!("{rate}, {name} does not carry it: {}", step.too_much()),
            None => format!("{rate}, {name} does not carry it: nothing was measured"),
        }),
    }
    let at_rate = one.steps.first().filter(|_| one.cost.is_some());
    words.extend(at_rate.and_then(|step| match (step.unsure(), step.broke) {
        (Some(unsure), 0) => Some(format!("It held {unsure}")),
        (Some(unsure), _) => Some(format!("It held {unsure}; where not: {}", step.what)),
        (None, 0) => None,
        (None, broke) => Some(format!("In {broke} of {} rounds that was too much: {}", step.rounds, step.what)),
    }));
    words.extend(doubled(summary, one));
    words.extend(smaller_in_words(summary, traffic, one));
    words.extend(one.cost.as_ref().map(|cost| machine(cost, one)));
    words.extend(others(summary, traffic, one));
    words.join(". ") + "."
}

/// Latencies of a result: percentiles, and the longest request in the place of those that need more requests. `None`
/// where no latency is shown.
fn latencies(result: &Measured) -> Option<String> {
    let ms = |metric: &str| result.numbers.get(metric).map(|it| value(metric, it.median));
    let shares = [("half of the requests", P50), ("99 %", P99), ("99.9 %", P999)];
    let known = shares.into_iter().filter(|(_, metric)| !result.is_of_few(metric));
    let mut within: Vec<String> =
        known.filter_map(|(share, metric)| Some(format!("{share} within {}", ms(metric)?))).collect();
    let longest = ms(LONGEST).filter(|_| result.is_of_few(P999));
    if let Some((longest, requests)) = longest.zip(result.numbers.get(REQUESTS)) {
        let (fewest, most) = (format!("{:.0}", requests.low), format!("{:.0}", requests.high));
        let all = if fewest == most { most } else { format!("{fewest}–{most}") };
        within.push(format!("the slowest of {all} in a round within {longest}"));
    }
    (!within.is_empty()).then(|| grammar::list(&within))
}

/// Sentences on what happens at twice the rate and beyond.
fn doubled(summary: &Summary, one: &Carried) -> Option<String> {
    one.cost.as_ref()?;
    let p99 = |times: u32| {
        let found = cases::measured(summary, &cases::traffic(times), &one.contender)?.numbers.get(P99)?;
        Some(format!(" with a p99 of {}", value(P99, found.median)))
    };
    let named = |step: &Step| format!("{}, {}/s,", times_in_words(step.of), rate_in_words(step.per_s));
    let carried = one.highest().filter(|step| step.of > 1).map(|step| {
        format!("It carries {}{}", times_in_words(step.of).to_lowercase(), p99(step.of).unwrap_or_default())
    });
    // The rate itself has been described before.
    let between = one.between().filter(|step| step.of > 1).filter_map(|step| {
        if let Some(why) = step.unknown() {
            return Some(format!("Whether it carries {}/s is not known: {why}", rate_in_words(step.per_s)));
        }
        let what = if step.broke == 0 { String::new() } else { format!("; where not: {}", step.what) };
        Some(format!("{} held {}{what}", named(step), step.unsure()?))
    });
    let broken = one.breaks_at().map(|step| format!("{} is too much: {}", named(step), step.too_much()));
    let is_open = broken.is_none() && carried.is_some();
    let beyond = broken.or_else(|| is_open.then(|| "More was not asked".to_owned()));
    let all: Vec<String> = carried.into_iter().chain(between).chain(beyond).collect();
    (!all.is_empty()).then(|| all.join(". "))
}

fn times_in_words(times: u32) -> String {
    match times {
        1 => "The rate itself".to_owned(),
        2 => "Twice the rate".to_owned(),
        times => format!("{times} times the rate"),
    }
}

fn smaller_in_words(summary: &Summary, traffic: &Traffic, one: &Carried) -> Option<String> {
    if traffic.cores == 1 {
        return Some("This machine has one processor, so that there is no smaller one to model".to_owned());
    }
    let step = |step: &Step| {
        let on = if step.of == 1 { "one".to_owned() } else { step.of.to_string() };
        let found = cases::measured(summary, &cases::smaller(step.of), &one.contender);
        let p99 = found.and_then(|found| found.numbers.get(P99)).map(|p99| value(P99, p99.median));
        // None where the load generator was late.
        let p99 = p99.map_or_else(String::new, |p99| format!(" with a p99 of {p99}"));
        if let Some(why) = step.unknown() {
            return format!("on {on} it is not known whether it holds the rate: {why}");
        }
        match step.held() {
            Held::Yes => format!("on {on} it holds the rate{p99}"),
            Held::No => format!("on {on} it does not hold it: {}", step.too_much()),
            Held::Unsure => format!("on {on} it held the rate {}{p99}", step.unsure().unwrap_or_default()),
        }
    };
    let steps: Vec<String> = one.smaller.iter().map(step).collect();
    let words = format!("As a model of a smaller machine it was bound to fewer of the {} processors: ", traffic.cores);
    (!steps.is_empty()).then(|| words + &steps.join(", and "))
}

/// Sentences on the processor time of the rate and on the machine that it needs. An earlier sentence has the processors
/// and the memory.
fn machine(cost: &Cost, one: &Carried) -> String {
    let is_sure = one.highest().is_some();
    let unsure = if is_sure { "" } else { ", if the rounds in which the rate held are the rule" };
    let at_mean = |mean: f64| format!(", and {mean:.2} processors at the mean rate");
    let mean = cost.processors_mean.map_or_else(String::new, at_mean);
    format!(
        "It takes {:.0} s of processor time for a million requests{mean}. By these loads a machine of {} carries \
         it{unsure}",
        cost.cpu_s_per_million,
        cost.machine()
    )
}

/// How the other finalists compare with this one at the rate; only significant differences are mentioned.
fn others(summary: &Summary, traffic: &Traffic, one: &Carried) -> Option<String> {
    let own = cases::case(summary, &cases::traffic(1))?;
    let against = |other: &Carried| {
        let name = &other.contender;
        if other.holds(1) == Held::No {
            return format!("{name} does not carry the rate");
        }
        if other.steps.first().is_some_and(|step| step.unknown().is_some()) {
            return format!("whether {name} carries the rate is not known");
        }
        let mut words: Vec<String> = Vec::new();
        let memory = (PSS_PEAK, "a lower peak memory", "a higher peak memory");
        for (metric, less, more) in [(P99, "a lower p99", "a higher p99"), memory] {
            let pair = spread(own, name, metric).zip(spread(own, &one.contender, metric));
            let Some((other, this)) = pair else { continue };
            let median = value(metric, other.median);
            words.extend(better(other, this, Direction::Lower).then(|| format!("{less} ({median})")));
            words.extend(better(this, other, Direction::Lower).then(|| format!("{more} ({median})")));
        }
        let is_behind =
            |name: &str| own.results.iter().any(|result| result.contender == name && result.served_share.is_some());
        // Then one of the two has a p99 that depends on how long the load was.
        let (among, unranked) = match is_behind(name) || is_behind(&one.contender) {
            true => ("in peak memory ", ", and the p99 of the two is not compared, since not both kept up"),
            false => ("", ""),
        };
        match words.is_empty() {
            true => format!("{name} is not told apart from it {among}at this rate{unranked}"),
            false => format!("{name} has {}{unranked}", words.join(" and ")),
        }
    };
    let others = traffic.carried.iter().filter(|other| other.contender != one.contender);
    let all: Vec<String> = others.map(against).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn spread<'a>(case: &'a Case, contender: &str, metric: &str) -> Option<&'a Spread> {
    let found: Option<&Measured> =
        case.results.iter().find(|result| result.contender == contender && case.counts(result, metric));
    found?.numbers.get(metric)
}

#[cfg(test)]
#[path = "traffic_test.rs"]
mod tests;
