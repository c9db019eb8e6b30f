//! More requests come than the server can answer, for some seconds. How much of its capacity serves responses in time,
//! and how long does it take to recover?

use std::time::Duration;

use super::{ScenarioReport, failures_in_words};
use crate::metric::{GOODPUT, OFFERED, PERCENTILES, RECOVERY};
use crate::{LOAD_THREADS, Outcome, Phase, Second, Steps, Watch, Workload, watch_open};

/// What is asked before and after, as a part of the capacity.
pub const CALM: f64 = 0.5;
/// Why a percentile is not there.
const ENDLESS: &str = "so many requests failed that it is the time of a failed one, which took for ever";
/// So many good seconds in a row are a recovery and no luck.
const IN_A_ROW: usize = 2;
/// A p99 below this counts as good, whatever it was before.
const UNNOTICED_MS: f64 = 10.0;
/// Factor on the worst p99 before. The p99 of a second is one or two responses; without this, chance decides.
const SLACK: f64 = 1.5;

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct Overload {
    /// Requests per second that the server can answer.
    pub capacity_per_s: f64,
    /// Factor of the capacity that is offered, with calm before and after.
    pub factor: f64,
    /// Seconds before the overload.
    pub calm_s: u32,
    /// Seconds of overload.
    pub over_s: u32,
    /// Seconds after it, for recovery.
    pub after_s: u32,
    /// Most connections. With fewer than requests that are not over, some wait where the server does not see them.
    pub connections: u32,
    /// Time in milliseconds after which a response is useless.
    pub deadline_ms: u64,
    /// Time in seconds after which a client gives up.
    pub patience_s: f64,
    /// Seed of the times.
    pub seed: u64,
}

/// Runs the scenario.
pub fn run(port: u16, workload: &Workload, plan: &Overload) -> Result<ScenarioReport, String> {
    if plan.calm_s < 2 || plan.over_s == 0 || plan.after_s == 0 {
        return Err("an overload needs 2 s before it, 1 s of its own and 1 s after it, at least".into());
    }
    let patience = Duration::try_from_secs_f64(plan.patience_s);
    let patience = patience.map_err(|_| format!("a patience of {} s: give seconds", plan.patience_s))?;
    let factor = plan.factor;
    let phase = |share: f64, seconds: u32| Phase { per_s: plan.capacity_per_s * share, seconds: f64::from(seconds) };
    let phases = vec![phase(CALM, plan.calm_s), phase(factor, plan.over_s), phase(CALM, plan.after_s)];
    let steps = Steps { phases, connections: plan.connections, seed: plan.seed, is_real_time: false };
    let watch = Watch { timeout: patience, timeline: true, threads: LOAD_THREADS, ..Watch::default() };
    let seen = watch_open(port, workload, &steps, &watch);
    let deadline = Duration::from_millis(plan.deadline_ms);
    let mut outcome = seen.outcome.clone();
    with_failures_as_endless(&mut outcome, &seen.timeline);
    let over = part(&seen.timeline, plan.calm_s, plan.over_s);
    let in_time: u64 = over.iter().map(|second| second.within(deadline)).sum();
    let goodput = in_time as f64 / f64::from(plan.over_s);
    let share = goodput * 100.0 / plan.capacity_per_s.min(plan.capacity_per_s * factor);
    outcome.numbers.insert(GOODPUT.into(), goodput);
    outcome.numbers.insert("load_pct".into(), factor * 100.0);
    // In the overload itself; of the whole it would be a mean of three rates.
    let asked: u64 = over.iter().map(Second::requests).sum();
    outcome.numbers.insert(OFFERED.into(), asked as f64 / f64::from(plan.over_s));
    let mut words = vec![format!(
        "{factor} times the capacity of {:.0}/s for {} s: {goodput:.0}/s were right within {} ms, {share:.0} % of that",
        plan.capacity_per_s, plan.over_s, plan.deadline_ms
    )];
    let before = part(&seen.timeline, 0, plan.calm_s);
    let after = part(&seen.timeline, plan.calm_s + plan.over_s, plan.after_s);
    words.push(match recovery(before, after) {
        Ok((seconds, limit)) => {
            outcome.numbers.insert(RECOVERY.into(), seconds as f64);
            format!("{seconds} s later p99 was back at what it was before, {limit:.1} ms or less")
        }
        Err(why) => {
            outcome.missing_numbers.insert(RECOVERY.into(), why.clone());
            why
        }
    });
    words.push(failures_in_words(&seen));
    Ok(ScenarioReport { outcome, words, timeline: seen.timeline })
}

/// Recomputes the percentiles with failed requests as endless. A server that refuses excess requests at once would
/// otherwise seem faster than one that answers all. A percentile that is endless is left out.
fn with_failures_as_endless(outcome: &mut Outcome, timeline: &[Second]) {
    let times_us = timeline.iter().flat_map(|second| &second.times_us).copied().collect();
    let all = Second { times_us, failed: timeline.iter().map(|second| second.failed).sum() };
    for (one_in, name) in PERCENTILES {
        match all.percentile_ms(one_in) {
            Some(ms) => outcome.numbers.insert(name.to_owned(), ms),
            None => outcome.numbers.remove(name),
        };
        if !outcome.numbers.contains_key(name) {
            outcome.missing_numbers.insert(name.to_owned(), ENDLESS.to_owned());
        }
    }
}

fn part(timeline: &[Second], from: u32, seconds: u32) -> &[Second] {
    let from = (from as usize).min(timeline.len());
    &timeline[from..(from + seconds as usize).min(timeline.len())]
}

/// Seconds until p99 is near that of the worst second before, and that limit; or the reason why it is unknown.
fn recovery(before: &[Second], after: &[Second]) -> Result<(usize, f64), String> {
    // The first second opens the connections. Seconds without a request, which occur by chance, do not count.
    let calm: Vec<&Second> = before.iter().skip(1).filter(|second| second.requests() > 0).collect();
    if calm.is_empty() {
        return Err("nothing was asked in the calm before: nothing can be said of a recovery".to_owned());
    }
    let tails: Option<Vec<f64>> = calm.into_iter().map(Second::p99_ms).collect();
    let limit = tails.and_then(|tails| tails.into_iter().max_by(f64::total_cmp));
    let limit = limit.ok_or("requests failed already before: nothing can be said of a recovery")?;
    let limit = (limit * SLACK).max(UNNOTICED_MS);
    let is_empty = |second: &Second| second.requests() == 0;
    let is_good = |second: &Second| is_empty(second) || second.p99_ms().is_some_and(|p99| p99 <= limit);
    let are_good = |seconds: &[Second]| seconds.iter().all(is_good) && !seconds.iter().all(is_empty);
    let first = after.windows(IN_A_ROW.min(after.len()).max(1)).position(are_good);
    let length = after.len();
    first
        .map(|seconds| (seconds, limit))
        .ok_or_else(|| format!("within {length} s p99 did not come back to what it was before, {limit:.1} ms or less"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(all_ms: &[u32]) -> Vec<Second> {
        all_ms.iter().map(|ms| Second { times_us: vec![ms * 1_000; 10], failed: 0 }).collect()
    }

    #[test]
    fn a_failure_is_longer_than_any_answer() {
        let tails = |failed: u64| {
            let timeline = [
                Second { times_us: (1..=90).map(|ms| ms * 1_000).collect(), failed: 0 },
                Second { times_us: vec![1_000; 10], failed },
            ];
            // As if the failed requests had failed at once and were left out.
            let numbers = [("p50_ms", 41.0), ("p99_ms", 1.0), ("failed", failed as f64)];
            let numbers = numbers.map(|(name, number)| (name.to_owned(), number)).into();
            let mut outcome = Outcome { numbers, ..Outcome::default() };
            with_failures_as_endless(&mut outcome, &timeline);
            let numbers = outcome.numbers;
            assert_eq!(numbers["failed"], failed as f64);
            assert_eq!(
                numbers.contains_key("p99_ms"),
                !outcome.missing_numbers.contains_key("p99_ms"),
                "{:?}",
                outcome.missing_numbers
            );
            (numbers.get("p50_ms").copied(), numbers.get("p99_ms").copied())
        };
        assert_eq!(tails(0), (Some(40.0), Some(89.0)));
        assert_eq!(tails(1), (Some(41.0), Some(90.0)));
        assert_eq!(tails(2), (Some(41.0), None));
        assert_eq!(tails(100), (Some(90.0), None));
    }

    #[test]
    fn recovery_needs_two_good_seconds_in_a_row() {
        let before = seconds(&[900, 15, 18, 16]);
        assert_eq!(recovery(&before, &seconds(&[100, 17, 50, 18, 27, 19])), Ok((3, 27.0)));
        assert_eq!(recovery(&before, &seconds(&[18, 18])), Ok((0, 27.0)));
        assert_eq!(recovery(&seconds(&[1, 1, 1]), &seconds(&[100, 9, 8])), Ok((1, 10.0)));
        assert!(recovery(&before, &seconds(&[18, 28, 18, 28])).unwrap_err().contains("within 4 s"));
        assert!(recovery(&before, &[]).is_err());
        let failing = [Second::default(), Second { times_us: vec![1; 10], failed: 1 }];
        assert!(recovery(&failing, &before).unwrap_err().contains("already before"));
    }

    #[test]
    fn a_second_in_which_nothing_was_asked_is_neither_good_nor_bad() {
        let nothing = || vec![Second::default()];
        let good = || seconds(&[18]);
        let calm = [seconds(&[900, 15]), nothing(), seconds(&[18])].concat();
        assert_eq!(recovery(&calm, &[seconds(&[100]), good(), nothing(), good()].concat()), Ok((1, 27.0)));
        assert_eq!(recovery(&calm, &[seconds(&[100]), nothing(), nothing(), good()].concat()), Ok((2, 27.0)));
        assert!(recovery(&calm, &[nothing(), nothing()].concat()).is_err());
        let why = recovery(&[seconds(&[18]), nothing(), nothing()].concat(), &good()).unwrap_err();
        assert!(why.starts_with("nothing was asked in the calm before"), "{why}");
    }
}
