//! Scenarios beyond speed: slow clients, stuck endpoints, crashes, reloads, overload. Each takes the port of a running
//! server, causes the trouble, and reports what ordinary clients saw of it.

pub mod acts;
pub mod idle;
pub mod overload;
pub mod slow_clients;
pub mod stuck;
mod trickle;
pub mod uneven;

use std::thread;
use std::time::{Duration, Instant};

use crate::metric;
use crate::outcome::Outcome;
use crate::{Open, Second, Seen, Watch, Workload, check, watch_open};

/// Number in an outcome that is of some requests only: that of all requests meanwhile, failed ones included. The
/// server's processor time is spent on all.
pub const ASKED: &str = "asked_in_all";

/// Report of a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScenarioReport {
    /// Results of the requests that count in it.
    pub outcome: Outcome,
    /// Findings for people, one sentence each.
    pub words: Vec<String>,
    /// Results second by second.
    pub timeline: Vec<Second>,
}

/// An action on the server; returns the id of the process that it was done to.
pub type Act<'a> = &'a mut dyn FnMut() -> Result<u32, String>;

/// Runs `load` on a thread of its own and the action at these times. Returns the result of each action.
pub(crate) fn acting<T: Send>(
    load: impl FnOnce() -> T + Send,
    times: impl Iterator<Item = Duration>,
    act: Act,
) -> Result<(T, Vec<Result<u32, String>>), String> {
    thread::scope(|scope| {
        let loading = scope.spawn(load);
        let begun = Instant::now();
        let mut acts = Vec::new();
        for after in times {
            let due = begun + after;
            while !loading.is_finished() && Instant::now() < due {
                let left = due.saturating_duration_since(Instant::now());
                thread::park_timeout(left.min(Duration::from_millis(20)));
            }
            if loading.is_finished() {
                break;
            }
            acts.push(act());
        }
        let seen = loading.join().map_err(|_| "the load generator has crashed".to_owned())?;
        Ok((seen, acts))
    })
}

/// Runs two loads at the same time.
pub(crate) fn both<T, U: Send>(one: impl FnOnce() -> T, other: impl FnOnce() -> U + Send) -> Result<(T, U), String> {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let seen = one();
        Ok((seen, other.join().map_err(|_| "the load generator has crashed".to_owned())?))
    })
}

/// Counts the kills or reloads that succeeded, and adds a sentence on them with the first error. It is an error if none
/// succeeded.
pub(crate) fn count_acts(what: &str, acts: &[Result<u32, String>], words: &mut Vec<String>) -> Result<u32, String> {
    let done = acts.iter().filter(|act| act.is_ok()).count();
    let failed = acts.iter().find_map(|act| act.as_ref().err());
    match (done, failed) {
        (0, None) => return Err(format!("{what}: the load ended before it was its time")),
        (0, Some(error)) => return Err(format!("{what}: it never worked: {error}")),
        (_, Some(error)) => words.push(format!("{what}: {done} of {} times; else: {error}", acts.len())),
        (_, None) => words.push(format!("{what}: {done} times")),
    }
    Ok(u32::try_from(done).unwrap_or(u32::MAX))
}

/// Adds a sentence on whether the server answers rightly again, and after how long; waits for that until `limit`.
pub(crate) fn note_recovery(port: u16, workload: &Workload, limit: Duration, words: &mut Vec<String>) {
    let begun = Instant::now();
    loop {
        match check(port, workload) {
            Ok(()) if begun.elapsed() < Duration::from_secs(1) => words.push("afterwards it answers rightly".into()),
            Ok(()) => {
                words.push(format!("afterwards it answers rightly, after {:.1} s", begun.elapsed().as_secs_f64()));
            }
            Err(_) if begun.elapsed() < limit => {
                thread::park_timeout(Duration::from_millis(100));
                continue;
            }
            Err(error) => words.push(format!("afterwards it does NOT answer rightly: {error}")),
        }
        return;
    }
}

/// Failures by kind, and the longest wait.
pub(crate) fn failures_in_words(seen: &Seen) -> String {
    let kinds: Vec<String> = seen.outcome.errors.iter().map(|(kind, many)| format!("{many} x {kind}")).collect();
    let of = |name: &str| seen.number(name).unwrap_or(0.0);
    let failed = match of(metric::FAILED) {
        0.0 => "no request failed".to_owned(),
        failed => format!("{failed} requests failed ({})", kinds.join(", ")),
    };
    format!("{failed}, {} were right, the longest took {:.0} ms", of("requests"), of("max_ms"))
}

/// Number of all requests of a load, failed ones included.
pub(crate) fn requests_of(seen: &Seen) -> f64 {
    [metric::REQUESTS, metric::FAILED].into_iter().filter_map(|name| seen.number(name)).sum()
}

/// Adds the failures of other requests, so that failing those is no advantage, and records how many of the others were
/// right, since the share of failures is one of all requests. Where the others could not be sent, both are void.
pub(crate) fn add_failures(seen: &mut Seen, others: Seen) {
    let failed = seen.number(metric::FAILED).unwrap_or(0.0) + others.number(metric::FAILED).unwrap_or(0.0);
    let others_right = others.number(metric::REQUESTS).unwrap_or(0.0);
    let right = seen.number(metric::REQUESTS).unwrap_or(0.0) + others_right;
    let numbers = &mut seen.outcome.numbers;
    numbers.insert(metric::FAILED.into(), failed);
    numbers.insert(metric::OTHERS_RIGHT.into(), others_right);
    if right + failed > 0.0 {
        numbers.insert("availability_pct".into(), right * 100.0 / (right + failed));
    }
    for (kind, many) in others.outcome.errors {
        *seen.outcome.errors.entry(kind).or_default() += many;
    }
    seen.outcome.wrong = seen.outcome.wrong.take().or(others.outcome.wrong);
    note_void(&mut seen.outcome, others.outcome.void);
}

/// Makes an outcome void where another load of the scenario could not be made, but for a wrong answer, which counts
/// whatever else was seen.
pub(crate) fn note_void(outcome: &mut Outcome, other: Option<String>) {
    outcome.void = outcome.void.take().or(other).filter(|_| outcome.wrong.is_none());
}

/// Runs the ordinary clients.
pub(crate) fn fast(port: u16, workload: &Workload, plan: &Open) -> Seen {
    watch_open(port, workload, &plan.steps(), &Watch::by_seconds())
}

/// Compares two results in one sentence.
pub(crate) fn compared(before: &Seen, now: &Seen) -> String {
    let words = |seen: &Seen| {
        let p99 = seen.number(metric::P99).map_or_else(|| "no p99".to_owned(), |p99| format!("p99 {p99:.1} ms"));
        format!("{p99} and {} failed", seen.number(metric::FAILED).unwrap_or(0.0))
    };
    format!("the others: {}; before: {}", words(now), words(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_two_loads_are_a_share_of_the_requests_of_both() {
        let load = |right: f64, failed: f64| {
            let numbers = [(metric::REQUESTS, right), (metric::FAILED, failed), ("availability_pct", 100.0)];
            let numbers = numbers.map(|(name, number)| (name.to_owned(), number)).into();
            let errors = [("timeout".to_owned(), failed as u64)].into();
            Seen { outcome: Outcome { numbers, errors, ..Outcome::default() }, timeline: Vec::new() }
        };
        let mut seen = load(90.0, 0.0);
        add_failures(&mut seen, load(300.0, 10.0));
        let of = |name: &str| seen.number(name);
        let counts = [metric::REQUESTS, metric::FAILED, metric::OTHERS_RIGHT].map(of);
        assert_eq!(counts, [Some(90.0), Some(10.0), Some(300.0)]);
        assert_eq!((of("availability_pct"), seen.outcome.errors["timeout"]), (Some(97.5), 10));
    }
}
