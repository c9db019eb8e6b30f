//! One load on a running server: answers are checked before and after it, processor time and memory are measured
//! meanwhile, and it is decided whether the server is disqualified.

use std::collections::BTreeMap;
use std::mem::take;
use std::time::Instant;

use super::rounded;
use crate::contender::{Observation, Server};
use crate::record::date::now;
use crate::record::summary::{failed_share, is_failing};
use crate::record::{Course, Outcome, Sample};
use loadgen::metric::{
    ACTS, ACTS_PLANNED, CHECKED, CHECKED_FAILED_PPM, FAILED, FAILED_PPM, FIRST_ANSWER, OFFERED, OTHERS_RIGHT, P50, P99,
    P99_OVER_P50, RATE, REQUESTS,
};
use loadgen::{BodyRule, Closed, Form, Watch, Workload, process};

/// Most attempts at a load whose tool fails to finish by a fault of its own.
const ATTEMPTS: usize = 3;
/// Fewest answers that are checked before the smallest of them says how small a right one is.
const SIZED_LEAST: f64 = 10.0;
/// Words for a load that ended before its first answer came.
pub const TOO_SHORT: &str = "the load was too short: no answer came before its end";
/// Reason why a server is disqualified whose load had no right answer.
const SILENT: &str = "no right answer in the whole load";
/// Most lines of a reason that are shown.
const REASON_LINES: usize = 3;
const REASON_MOST: usize = 400;

/// A running server that has given its first right answer.
pub struct Up {
    /// The server, which is stopped with this value.
    pub server: Server,
    /// Milliseconds from its start to its first right answer.
    pub first_answer_ms: f64,
}

impl Up {
    /// Waits until the server has given a right answer. Does not warm up or count workers: in a study the behavior of a
    /// cold server may be what is measured, and a duel learns its answers meanwhile.
    ///
    /// `answers` sends one request to this port. An error says why there was no answer, or that `is_over` returned
    /// true; the server is then stopped with a short timeout.
    pub fn when_ready(
        mut server: Server,
        answers: &dyn Fn(u16) -> Result<(), String>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Up, String> {
        match server.wait_ready(answers, is_over) {
            Ok(first_answer) => Ok(Up { server, first_answer_ms: first_answer.as_secs_f64() * 1000.0 }),
            Err(why) => {
                // A server that hangs does not stop by itself either.
                server.hurry();
                Err(why)
            }
        }
    }
}

/// A load, and how the server is checked.
pub struct Load<'a> {
    /// Checks answers while there is no load, and waits until the server has worked off its queue from an earlier load.
    pub check: &'a mut dyn FnMut(&Server) -> Result<(), String>,
    /// Makes the load. An error means that it could not be made.
    pub run: &'a mut dyn FnMut(&mut Up) -> Result<Outcome, String>,
    /// For a tool that does not check answers: workload and plan of a further load that does, and the form of its
    /// requests.
    pub checked: Option<(&'a Workload, Closed, Form)>,
    /// For a load that may exceed the server's capacity: decides from the sample whether it did. Then this is a result:
    /// neither an exit of the server nor a lack of right answers disqualifies it, and it is not checked after the load.
    /// A wrong answer disqualifies all the same.
    pub too_much: Option<&'a dyn Fn(&Sample) -> bool>,
}

impl Load<'_> {
    /// Loads this server. The returned sample lacks the names of its case and contender and its round; it has no
    /// numbers if the load could not be made.
    pub fn on(self, up: &mut Up) -> Sample {
        let since = Instant::now();
        let mut sample = Sample { started: now(), ..Sample::default() };
        let measured = self.measure(up, &mut sample);
        let was_too_much = measured == Ok(true);
        sample.disqualified = measured.err();
        if up.server.has_ended() && !was_too_much {
            sample.disqualified = Some(up.server.why_it_ended());
        }
        sample.took_s = since.elapsed().as_secs_f64();
        sample
    }

    /// Fills in the sample. Returns whether the load exceeded the server's capacity, for loads that may.
    fn measure(self, up: &mut Up, sample: &mut Sample) -> Result<bool, String> {
        (self.check)(&up.server).map_err(|why| format!("before the load: {why}"))?;
        let mut failures = Vec::new();
        let mut outcome = loop {
            let outcome = observed(up, &mut *self.run)?;
            let Some(why) = outcome.void else { break outcome };
            // Its requests may still be queued.
            (self.check)(&up.server).map_err(|why| format!("after a load that the tool did not finish: {why}"))?;
            failures.push(why);
            if failures.len() >= ATTEMPTS {
                sample.remarks = failures;
                return Ok(false);
            }
        };
        outcome.remarks.extend(failures);
        // Answers that never came have no latency.
        let silent = is_silent(&outcome.numbers).then(|| SILENT.to_owned());
        outcome.remarks.extend(too_short(&outcome.numbers));
        let wrong = outcome.wrong.take().map(|wrong| format!("wrong answer: {wrong}"));
        outcome.numbers.insert(FIRST_ANSWER.into(), up.first_answer_ms);
        let mean_size = outcome.mean_size;
        *sample = Sample { started: take(&mut sample.started), ..of_outcome(outcome) };
        let was_too_much = self.too_much.is_some_and(|was| was(sample));
        // The exit of the server is the better reason.
        if up.server.has_ended() {
            return Ok(was_too_much);
        }
        silent.filter(|_| !was_too_much).or(wrong).map_or(Ok(()), Err)?;
        if was_too_much {
            return Ok(true);
        }
        (self.check)(&up.server).map_err(|why| format!("after the load: {why}"))?;
        let Some((workload, plan, form)) = self.checked else { return Ok(false) };
        let watch = Watch { form, ..Watch::default() };
        let seen = loadgen::watch_closed(up.server.port(), workload, &plan, &watch).outcome;
        let of = |name: &str| seen.numbers.get(name).copied().unwrap_or(0.0);
        let (right, failed) = (of(REQUESTS), of(FAILED));
        sample.numbers.insert(CHECKED.into(), right);
        sample.numbers.insert(CHECKED_FAILED_PPM.into(), failed_share(failed, right) * 1e6);
        let kinds: Vec<String> = seen.errors.iter().map(|(kind, many)| format!("{kind}: {many}")).collect();
        if !kinds.is_empty() {
            sample.remarks.push(format!("failures in the load that checks all answers: {}", kinds.join(", ")));
        }
        seen.wrong.map_or(Ok(()), |wrong| Err(format!("wrong answer in the checked load: {wrong}")))?;
        // After a load that was too short for an answer: this one waits for those to its last requests.
        if right == 0.0 && failed > 0.0 && sample.number(REQUESTS) == 0.0 {
            return Err(SILENT.to_owned());
        }
        // A tool takes some failures for right answers; where they are many, the contender is not ranked for them.
        let is_sure = right >= SIZED_LEAST && !is_failing(failed, right);
        let sizes = mean_size.zip(seen.least_size).zip(has_one_length(workload)).filter(|_| is_sure);
        let how = sizes.and_then(|((mean, least), is_fixed)| mean.too_small(least, is_fixed));
        how.map_or(Ok(()), |how| Err(format!("wrong answers to the load tool: {how}")))?;
        (self.check)(&up.server).map_err(|why| format!("after the load: {why}"))?;
        Ok(false)
    }
}

/// Runs the load, and adds the processor time and memory that the server used.
pub fn observed(up: &mut Up, load: impl FnOnce(&mut Up) -> Result<Outcome, String>) -> Result<Outcome, String> {
    let observation = Observation::begin(&up.server);
    let mut outcome = load(up)?;
    observation.end(&up.server, &mut outcome);
    Ok(outcome)
}

/// Whether requests were sent and none got a right answer. An open loop at a low rate may by chance send none; and of a
/// tool that does not wait for its last requests, none may have failed either: its load was too short for an answer.
fn is_silent(numbers: &BTreeMap<String, f64>) -> bool {
    let is_none = |name: &str| numbers.get(name) == Some(&0.0);
    numbers.contains_key(RATE) && is_none(REQUESTS) && !is_none(OFFERED) && !is_none(FAILED)
}

/// Whether the bodies of all right answers have the same length. `None` of several requests: a tool makes only one.
fn has_one_length(workload: &Workload) -> Option<bool> {
    let [ask] = &workload.asks[..] else { return None };
    Some(matches!(ask.expect.body, BodyRule::Exactly(_) | BodyRule::Length(_)))
}

/// Remark on a load whose right answers all came after its end, which gives a rate of 0, or were not waited for.
fn too_short(numbers: &BTreeMap<String, f64>) -> Option<String> {
    let of = |name: &str| numbers.get(name).copied();
    let late = of(REQUESTS).filter(|_| of(RATE) == Some(0.0))?;
    match late > 0.0 {
        true => Some(format!("{TOO_SHORT}, and {late:.0} came after it")),
        false => (of(FAILED) == Some(0.0) && of(OFFERED).is_none()).then(|| TOO_SHORT.to_owned()),
    }
}

/// Turns the outcome of a load into a sample.
fn of_outcome(outcome: Outcome) -> Sample {
    let Outcome { command, mut numbers, errors, course, remarks, missing_numbers, .. } = outcome;
    if let (Some(p50), Some(p99)) = (numbers.get(P50), numbers.get(P99)) {
        let ratio = p99 / p50.max(1e-3);
        numbers.insert(P99_OVER_P50.into(), ratio);
    }
    if let (Some(failed), Some(right)) = (numbers.get(FAILED), numbers.get(REQUESTS)) {
        let share = failed_share(*failed, *right + numbers.get(OTHERS_RIGHT).copied().unwrap_or(0.0));
        // As if there had been as many kills or reloads as there should.
        let of = |name: &str| numbers.get(name).copied().filter(|count| *count > 0.0);
        let more = of(ACTS_PLANNED).zip(of(ACTS)).map_or(1.0, |(planned, acts)| planned / acts);
        numbers.insert(FAILED_PPM.to_owned(), share * more * 1e6);
    }
    let course = in_short(course);
    Sample { command, numbers, errors, course, remarks, missing_numbers, ..Sample::default() }
}

/// A reason in one line, without most of the server's log, which is in the run's folder: its first line, the name of
/// the log, and the line of the log that says why the server ended; or its first lines, if no line says it.
pub fn shortened(why: &str) -> String {
    let lines: Vec<&str> = why.lines().filter(|line| !line.trim().is_empty()).collect();
    let few = with_cause(&lines).unwrap_or_else(|| lines.iter().take(REASON_LINES).copied().collect());
    let why: String = few.join(" ");
    match why.char_indices().nth(REASON_MOST) {
        Some((end, _)) => format!("{}…", &why[..end]),
        None => why,
    }
}

/// The first line of a reason, the name of the log below it in which a line says why the server ended, and that line.
fn with_cause<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let begin = lines.iter().position(|line| names_log(line))?;
    let log = lines[begin + 1..].join("\n");
    let why = process::cause(&log)?;
    let at = begin + 1 + lines[begin + 1..].iter().position(|line| line.trim() == why)?;
    let name = (begin..at).rev().find(|place| names_log(lines[*place]))?;
    let mut places = vec![0, name, at];
    places.dedup();
    Some(places.into_iter().map(|place| lines[place]).collect())
}

/// Whether the lines below this one are those of a log.
fn names_log(line: &str) -> bool {
    line.ends_with(" says:") || (line.starts_with('[') && line.ends_with(']'))
}

/// Rounds the points of each course to four digits, and drops courses of a single point.
fn in_short(course: Course) -> Course {
    let point = |(at, value): (f64, f64)| (rounded(at, 4), rounded(value, 4));
    let kept = course.into_iter().filter(|(_, points)| points.len() > 1);
    kept.map(|(name, points)| (name, points.into_iter().map(point).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_is_who_was_asked_and_never_answered() {
        let of = |numbers: &[(&str, f64)]| {
            let numbers = numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
            (is_silent(&numbers), too_short(&numbers).is_some())
        };
        assert_eq!(of(&[(RATE, 0.0), (REQUESTS, 0.0), (FAILED, 9.0)]), (true, false));
        assert_eq!(of(&[(RATE, 0.0), (REQUESTS, 0.0), (FAILED, 1.0), (OFFERED, 0.1)]), (true, false));
        // A tool ended before the first answer came, and waited for none.
        assert_eq!(of(&[(RATE, 0.0), (REQUESTS, 0.0), (FAILED, 0.0)]), (false, true));
        // At a low rate no request was drawn; of a slow page all answers came after the end of the load.
        assert_eq!(of(&[(RATE, 0.0), (REQUESTS, 0.0), (FAILED, 0.0), (OFFERED, 0.0)]), (false, false));
        assert_eq!(of(&[(RATE, 0.0), (REQUESTS, 16.0), (FAILED, 0.0)]), (false, true));
        assert_eq!(of(&[(RATE, 5.0), (REQUESTS, 16.0), (FAILED, 0.0)]), (false, false));
        // Connections that did not stay open; the start of a server.
        assert_eq!(of(&[(REQUESTS, 0.0), (FAILED, 9.0)]), (false, false));
        assert_eq!(of(&[(FIRST_ANSWER, 9.0)]), (false, false));
    }

    #[test]
    fn a_reason_has_the_line_that_says_why_a_server_ended_and_not_any_line_of_its_log() {
        let crash = "/app/config.ru:3: [BUG] Segmentation fault at 0x0000000000000018";
        let map = "7f0d861d4000-7f0d861d6000 rw-p 00000000 00:00 0\n".repeat(12);
        let ended = "the server ended in the middle of it (agoo: signal: 6 (SIGABRT))";
        let said = shortened(&format!("{ended}\n[/logs/agoo.log]\n{crash}\n…\n{map}"));
        assert_eq!(said, format!("{ended} [/logs/agoo.log] {crash}"));
        // Of two logs it is the one that says it; a log may be named in the first line.
        let two = "it has no process any more\n[/logs/nginx.log]\nready\n[/logs/thin.log]\nGET /\nno row (KeyError)";
        assert_eq!(shortened(two), "it has no process any more [/logs/thin.log] no row (KeyError)");
        let named = "puma ended with exit status: 1; its log (/logs/puma.log) says:\nready\nno row (KeyError)\n";
        let first = "puma ended with exit status: 1; its log (/logs/puma.log) says:";
        assert_eq!(shortened(named), format!("{first} no row (KeyError)"));
        // Without such a line, and in a reason without a log, it is the first lines.
        assert_eq!(shortened("it ended\n[/a.log]\nready\nGET /\n"), "it ended [/a.log] ready");
        assert_eq!(shortened("wrong\n\n<h1>Error</h1>\nfrom puma\nKeyError"), "wrong <h1>Error</h1> from puma");
        assert_eq!(shortened(&"x".repeat(500)).chars().count(), REASON_MOST + 1);
    }

    #[test]
    fn what_failed_is_a_share_as_well() {
        let of = |failed: f64, right: f64, others: &[(&str, f64)]| {
            let numbers = [&[(FAILED, failed), (REQUESTS, right)][..], others].concat();
            let numbers = numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect();
            of_outcome(Outcome { numbers, ..Outcome::default() }).number(FAILED_PPM)
        };
        let halved = of(10.0, 9_990.0, &[(ACTS, 2.0), (ACTS_PLANNED, 4.0)]);
        assert_eq!(halved, 2000.0, "half of the reloads, half of the failures");
        let both = of(10.0, 90.0, &[(OTHERS_RIGHT, 9_900.0)]);
        assert_eq!(both, 1000.0, "the failures of both loads, of the requests of both");
        // Thrice as many of thrice as many requests are no more.
        assert_eq!((of(30.0, 29_970.0, &[]), of(10.0, 9_990.0, &[]), of(0.0, 0.0, &[])), (1000.0, 1000.0, 0.0));
    }
}
