//! Results at the user's own rate: which contenders carried how much of it in which rounds, what broke first, what it
//! costs, and a paragraph on all of that. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::summary::{Carried, Case, Cost, Held, Measured, Spread, Step, Summary, Traffic, Who};
use crate::record::{Sample, TWIN};
use crate::stats::{better, median};
use loadgen::metric::{CPU, Direction, P50, P99, PROCESSORS, PSS_PEAK, rate_in_words};

use super::cases;
use super::compare::value;
use super::pace::Rate;
use super::strain::{Broken, Cause, Limits};

/// Factor by which a recommended machine has more memory than was measured; `SYSTEM_MIB` for the system come on top.
const MEMORY_TIMES: f64 = 1.5;
const SYSTEM_MIB: f64 = 128.0;
const P999: &str = "p999_ms";

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
    let mut names: Vec<&str> = own.iter().map(|sample| sample.contender.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let workers = |name: &str| whos.iter().find(|who| who.name == name).map_or(1, |who| who.workers);
    let twin = twin_of.filter(|_| !of_twin.is_empty());
    let twin = twin.map(|original| carried(TWIN, &of_twin, rate, limits, workers(original)));
    let carried = |name: &str| {
        let of_it: Vec<&Sample> = own.iter().copied().filter(|sample| sample.contender == name).collect();
        carried(name, &of_it, rate, limits, workers(name))
    };
    (!names.is_empty()).then(|| Traffic {
        per_s: rate.per_s,
        mean_per_s: rate.mean_per_s,
        origin: rate.origin.clone(),
        broken_when: limits.in_words(is_said),
        cores: limits.cores,
        answer: String::new(),
        carried: names.into_iter().map(carried).collect(),
        twin,
        cases: numbers_in(&own, cases::times_of).into_iter().map(cases::traffic).collect(),
        smaller_cases: numbers_in(&own, cases::processors_of).into_iter().rev().map(cases::smaller).collect(),
    })
}

/// Multiples of the rate, or numbers of processors, that the cases of these samples have, in rising order.
fn numbers_in(samples: &[&Sample], of: fn(&str) -> Option<u32>) -> BTreeSet<u32> {
    samples.iter().filter_map(|sample| of(&sample.case)).collect()
}

fn is_counted(sample: &Sample) -> bool {
    sample.disqualified.is_none() && !sample.numbers.is_empty() && cases::is_of_traffic(&sample.case)
}

fn carried(name: &str, samples: &[&Sample], rate: &Rate, limits: &Limits, workers: u32) -> Carried {
    let steps_of = |of: fn(&str) -> Option<u32>, is_rising: bool| {
        let own = samples.iter().filter_map(|sample| Some((of(&sample.case)?, *sample)));
        let judged = own.map(|(of, sample)| Judged {
            of,
            round: sample.round,
            p99_ms: sample.number(P99),
            broken: limits.broken(sample, workers),
            is_unknown: limits.is_unknown(sample),
        });
        let judged: Vec<Judged> = judged.collect();
        steps(&judged, is_rising)
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
struct Judged {
    of: u32,
    round: u32,
    p99_ms: f64,
    broken: Option<Broken>,
    /// Whether it shows nothing, since the load generator could not keep the rate.
    is_unknown: bool,
}

/// Groups loads by their multiple of the rate, or by their number of processors. A round that broke at an easier load
/// counts as broken at the harder ones, which were not tried then.
fn steps(judged: &[Judged], is_rising: bool) -> Vec<Step> {
    let is_harder = |of: u32, than: u32| if is_rising { of >= than } else { of <= than };
    let mut asked: Vec<u32> = judged.iter().map(|one| one.of).collect();
    asked.sort_unstable();
    asked.dedup();
    if !is_rising {
        asked.reverse();
    }
    let step = |of: u32| {
        let broken =
            |round: u32| judged.iter().find(|one| one.round == round && is_harder(of, one.of) && one.broken.is_some());
        let mut rounds: Vec<u32> = judged.iter().map(|one| one.round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let own = |round: u32| judged.iter().find(|one| one.round == round && one.of == of);
        let was_asked = |round: u32| own(round).is_some_and(|one| !one.is_unknown);
        let not_kept = rounds.iter().filter(|round| own(**round).is_some_and(|one| one.is_unknown)).count() as u32;
        rounds.retain(|round| was_asked(*round) || broken(*round).is_some());
        let found: Vec<&Judged> = rounds.iter().filter_map(|round| broken(*round)).collect();
        let rounds = rounds.len() as u32;
        let broke = found.len() as u32;
        Step { of, rounds, broke, not_kept, what: usual(&found, of, is_rising), ..Step::default() }
    };
    asked.into_iter().map(step).collect()
}

/// Sentence on the cause that most of these loads have. Its figures are those of a load of this step: of several, the
/// one in the middle by its p99. Only where none was made, they are those of an easier load, which is named.
fn usual(found: &[&Judged], of: u32, is_rising: bool) -> String {
    let own: Vec<&Judged> = found.iter().copied().filter(|one| one.of == of).collect();
    let shown = if own.is_empty() { found } else { &own[..] };
    let mut causes: BTreeMap<Cause, Vec<(f64, u32, &str)>> = BTreeMap::new();
    for one in shown {
        let Some(broken) = &one.broken else { continue };
        causes.entry(broken.cause).or_default().push((one.p99_ms, one.of, broken.words.as_str()));
    }
    let mut usual = causes.into_values().max_by_key(Vec::len).unwrap_or_default();
    usual.sort_by(|one, other| one.0.total_cmp(&other.0));
    let Some((_, at, words)) = usual.get(usual.len().saturating_sub(1) / 2).copied() else { return String::new() };
    match (at == of, is_rising) {
        (true, _) => words.to_owned(),
        (false, true) => format!("at {} already, {words}", times_in_words(at).to_lowercase()),
        (false, false) => format!("on {at} processors already, {words}"),
    }
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
            let ms = |metric: &str| at_rate.numbers.get(metric).map(|it| value(metric, it.median));
            words.push(match (ms(P50), ms(P99), ms(P999)) {
                (Some(p50), Some(p99), Some(p999)) => format!(
                    "{rate}, {name} answers half of the requests within {p50}, 99 % within {p99} and 99.9 % within \
                     {p999}, with {needs}"
                ),
                _ => format!("{rate}, {name} needs {needs}; its latencies are not shown, since {LATE_WORDS}"),
            });
        }
        _ => words.push(match one.steps.first().map(|step| (step, step.unknown())) {
            Some((_, Some(why))) => format!("{rate}: it is not known whether {name} carries it, since {why}"),
            Some((step, None)) => format!("{rate}, {name} does not carry it: {}", step.what),
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
    let broken = one.breaks_at().map(|step| format!("{} is too much: {}", named(step), step.what));
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
            Held::No => format!("on {on} it does not hold it: {}", step.what),
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
