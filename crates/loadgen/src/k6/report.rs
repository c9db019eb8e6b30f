//! Reports of our script for k6, from one machine or several at the same time, and the outcome computed from them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use super::super::metric;
use super::super::outcome::Outcome;

/// The version of the report format that this program reads.
const FORMAT: u32 = 1;
/// Requests that k6 should have sent and did not, since the server kept all clients waiting.
pub const DROPPED: &str = "dropped";
/// Least share of the clients' time that was spent in requests if all clients count as waiting for answers.
const WAITED_LEAST: f64 = 0.9;
/// Most that a count of a load can be; sums of more are not exact.
const COUNT_MOST: u64 = 1 << 50;
/// The script's name for an open loop.
const OPEN: &str = "open";
/// The kind of failure that disqualifies a server.
const WRONG: &str = "wrong answer";
/// The kind of failure that is among the latencies.
const TIMEOUT: &str = "timeout";

/// The report of one k6.
#[derive(Debug, Clone, Deserialize)]
pub struct Report {
    arena_k6: u32,
    /// Name of the case.
    pub case: String,
    load: String,
    seconds: f64,
    per_s: f64,
    #[serde(default)]
    vus: u32,
    ended_ms: f64,
    iterations: u64,
    dropped: u64,
    /// Total time of all requests, whatever became of them, and that of the longest. Older scripts report neither.
    #[serde(default)]
    waited_ms: Option<f64>,
    #[serde(default)]
    longest_ms: Option<f64>,
    right: u64,
    right_in_time: u64,
    bytes: u64,
    bytes_answers: u64,
    errors: BTreeMap<String, u64>,
    latency: Option<Distribution>,
    late: Option<Distribution>,
}

/// A distribution of times in milliseconds.
#[derive(Debug, Clone, Deserialize)]
struct Distribution {
    count: u64,
    mean: f64,
    /// Pairs of a percentage and the time that this part of the requests did not exceed; from 0 to 100.
    percents: Vec<(f64, f64)>,
}

impl Report {
    /// Parses a report and checks its consistency.
    pub fn parse(text: &str) -> Result<Report, String> {
        let report: Report =
            serde_json::from_str(text).map_err(|error| format!("it is not what arena's script writes: {error}"))?;
        if report.arena_k6 != FORMAT {
            let is = report.arena_k6;
            return Err(format!("it has format {is}, this program reads format {FORMAT}: make the script again"));
        }
        report.check_counts()?;
        let waits = [report.waited_ms, report.longest_ms].map(Option::unwrap_or_default);
        let numbers = [report.seconds, report.per_s, report.ended_ms, waits[0], waits[1]];
        let are_times = [&report.latency, &report.late].into_iter().flatten().all(Distribution::is_good);
        if !are_times || !numbers.iter().all(|number| is_good(*number)) {
            return Err("its times are none: they are numbers, and grow with the percent".to_owned());
        }
        Ok(report)
    }

    /// An error if its counts cannot be those of a load, or contradict each other.
    fn check_counts(&self) -> Result<(), String> {
        let Report { iterations: made, right, right_in_time, .. } = self;
        let counts = [made, &self.dropped, right, &self.bytes, &self.bytes_answers];
        if let Some(count) = counts.into_iter().chain(self.errors.values()).find(|count| **count > COUNT_MOST) {
            return Err(format!("it counts {count} requests or bytes, which no load has: k6 has not written that"));
        }
        let failed = self.errors.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let counted = right.saturating_add(failed);
        if *made != counted {
            return Err(format!("the script ended early in some requests: {made} were made, {counted} were judged"));
        }
        if right_in_time > right {
            return Err(format!(
                "it counts {right_in_time} right answers that came in time, and {right} right ones: k6 has not written \
                 that"
            ));
        }
        let timed = self.latency.as_ref().map_or(0, |times| times.count);
        let timeouts = self.errors.get(TIMEOUT).copied().unwrap_or(0);
        if timed < *right || timed > right + timeouts {
            return Err(format!(
                "it has the times of {timed} requests, and counts {right} right answers and {timeouts} timeouts: k6 \
                 has not written that"
            ));
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.load == OPEN
    }

    /// Whether all clients may have waited for answers whenever a request was dropped; `None` from an older script.
    ///
    /// In an open loop requests are due at even intervals, and one is dropped if no client is free then. So for each
    /// dropped one all clients were busy for such an interval, and the longest request began when the first of them
    /// became busy. A closed loop drops those that are left when the time is over that k6 has for it: until then each
    /// client sent its next request when it had an answer. Where the requests took less time than that, something else
    /// kept the clients: k6 itself.
    fn clients_waited(&self) -> Option<bool> {
        let (waited_ms, longest_ms) = (self.waited_ms?, self.longest_ms?);
        let clients = f64::from(self.vus);
        let (busy_ms, oldest_ms) = match self.is_open() {
            true => {
                let apart_ms = 1_000.0 / self.per_s;
                (self.dropped as f64 * apart_ms * clients, f64::from(self.vus.saturating_sub(1)) * apart_ms)
            }
            false => (self.ended_ms * clients, 0.0),
        };
        Some(waited_ms >= busy_ms * WAITED_LEAST && longest_ms >= oldest_ms * WAITED_LEAST)
    }

    /// Whether there are too few clients for the rate, even if each answer takes no longer than the shortest one.
    fn has_too_few_clients(&self) -> bool {
        let shortest = self.latency.as_ref().filter(|_| self.right > 0).and_then(|times| times.percents.first());
        shortest.is_some_and(|(_, ms)| ms * self.per_s / 1_000.0 >= f64::from(self.vus))
    }
}

/// Why k6 did not send requests that were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// The server kept all clients waiting, while k6 had processors to spare.
    Server,
    /// k6 was too slow: its clients were not all waiting for answers.
    Generator,
    /// k6 had too few clients for answers that take as long as these do without a queue.
    Clients,
    /// All clients were busy, and they may have waited for a processor as well as for answers.
    Unknown,
}

impl Cause {
    /// The cause, from the reports of a load with dropped requests; `is_short` if k6 lacked processors, as far as that
    /// is known.
    fn of(reports: &[Report], is_short: Option<bool>) -> Cause {
        let waited: Vec<Option<bool>> =
            reports.iter().filter(|report| report.dropped > 0).map(Report::clients_waited).collect();
        match is_short {
            _ if reports.iter().any(Report::has_too_few_clients) => Cause::Clients,
            _ if waited.contains(&Some(false)) => Cause::Generator,
            Some(false) if !waited.contains(&None) => Cause::Server,
            _ => Cause::Unknown,
        }
    }

    /// Remark on these dropped ones of all requests that were due.
    fn in_words(self, dropped: u64, due: u64) -> String {
        let why = match self {
            Cause::Server => {
                "since all its clients waited for answers, while it had processors to spare: they count as failed"
            }
            Cause::Generator => "since it was too slow itself: its clients were not all waiting for answers",
            Cause::Clients => "since it had too few clients: even the shortest response takes too long for them",
            Cause::Unknown => {
                "since all its clients were busy: whether the server or k6 itself was too slow is not known"
            }
        };
        format!("k6 did not send {dropped} of {due} requests, {why}")
    }
}

fn is_good(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

impl Distribution {
    fn is_good(&self) -> bool {
        let has_ends = self.percents.first().is_some_and(|first| first.0 == 0.0)
            && self.percents.last().is_some_and(|last| last.0 == 100.0);
        let grows = self.percents.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1);
        has_ends && grows && self.count > 0 && is_good(self.mean) && self.percents.iter().all(|point| is_good(point.1))
    }

    /// The percentage of requests that took no longer.
    fn percent_within(&self, ms: f64) -> f64 {
        let at = self.percents.partition_point(|point| point.1 <= ms);
        match (at.checked_sub(1).map(|before| self.percents[before]), self.percents.get(at)) {
            (None, _) => 0.0,
            (Some(_), None) => 100.0,
            (Some(before), Some(after)) => before.0 + (after.0 - before.0) * (ms - before.1) / (after.1 - before.1),
        }
    }
}

/// Several distributions as one.
struct Pool<'a>(Vec<&'a Distribution>);

impl Pool<'_> {
    fn count(&self) -> u64 {
        self.0.iter().map(|one| one.count).sum()
    }

    fn sum_ms(&self) -> f64 {
        self.0.iter().map(|one| one.mean * one.count as f64).sum()
    }

    /// The time that this percentage of all requests did not exceed. For several distributions it is one of their
    /// recorded times, so that the error is at most one step of those, and upwards.
    fn at(&self, percent: f64) -> Option<f64> {
        let is_it = |point: &&(f64, f64)| (point.0 - percent).abs() < 1e-9;
        if let [one] = self.0[..]
            && let Some(point) = one.percents.iter().find(is_it)
        {
            return Some(point.1);
        }
        let wanted = self.count() as f64 * (percent / 100.0 - 1e-12);
        let within = |ms: f64| self.0.iter().map(|one| one.percent_within(ms) / 100.0 * one.count as f64).sum::<f64>();
        let mut times: Vec<f64> = self.0.iter().flat_map(|one| one.percents.iter().map(|point| point.1)).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.partition_point(|ms| within(*ms) < wanted)).or(times.last()).copied()
    }

    fn ends(&self) -> Option<(f64, f64)> {
        let shortest = self.0.iter().filter_map(|one| Some(one.percents.first()?.1)).min_by(f64::total_cmp)?;
        let longest = self.0.iter().filter_map(|one| Some(one.percents.last()?.1)).max_by(f64::total_cmp)?;
        Some((shortest, longest))
    }
}

/// Reads the reports of all machines about one load. Returns the name of the case and the common outcome.
pub fn counted(files: &[PathBuf]) -> Result<(String, Outcome), String> {
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file).map_err(|error| error.to_string());
        text.and_then(|text| Report::parse(&text)).map_err(|error| format!("{}: {error}", file.display()))
    };
    let reports = files.iter().map(read).collect::<Result<Vec<Report>, String>>()?;
    let first = reports.first().ok_or("give what a script of k6 has written")?;
    for (file, other) in files.iter().zip(&reports) {
        let same = |one: &Report| (one.case.clone(), one.load.clone(), one.seconds.to_bits(), one.per_s.to_bits());
        if same(other) != same(first) {
            return Err(format!(
                "{}: it is of {}, {} s at {}/s, and the first file of {}, {} s at {}/s: give those of one load",
                file.display(),
                other.case,
                other.seconds,
                other.per_s,
                first.case,
                first.seconds,
                first.per_s
            ));
        }
    }
    if (1..files.len()).any(|at| files[..at].contains(&files[at])) {
        return Err("one file is given twice".to_owned());
    }
    let machines =
        if files.len() == 1 { "one machine".to_owned() } else { format!("{} machines at the same time", files.len()) };
    let load = match first.load.as_str() {
        OPEN => format!("open loop: {}/s for {} s, at even distances", first.per_s, first.seconds),
        "clients" => format!("closed loop for {} s", first.seconds),
        _ => "closed loop of a number of requests".to_owned(),
    };
    // How busy those machines were is not known.
    Ok((first.case.clone(), outcome(&reports, format!("k6 on {machines}: {load}"), None)))
}

/// The common outcome of several reports about the same load at the same time. `is_short` if k6 lacked processors for
/// it, as far as that is known.
pub fn outcome(reports: &[Report], command: String, is_short: Option<bool>) -> Outcome {
    let sum = |of: &dyn Fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
    let most = |of: &dyn Fn(&Report) -> f64| reports.iter().map(of).fold(0.0, f64::max);
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    for (kind, count) in reports.iter().flat_map(|report| &report.errors) {
        *errors.entry(kind.clone()).or_default() += count;
    }
    let dropped = sum(&|report| report.dropped);
    let cause = (dropped > 0).then(|| Cause::of(reports, is_short));
    let is_servers = cause == Some(Cause::Server);
    if is_servers {
        errors.insert(DROPPED.to_owned(), dropped);
    }
    errors.retain(|_, count| *count > 0);
    let right = sum(&|report| report.right) as f64;
    let failed = errors.values().sum::<u64>() as f64;
    // The script's clock has whole milliseconds.
    let elapsed_s = most(&|report| report.ended_ms).max(1.0) / 1_000.0;
    let asked_s = most(&|report| report.seconds);
    let span_s = if asked_s > 0.0 { asked_s } else { elapsed_s };
    let mut numbers = BTreeMap::from([
        ("requests".to_owned(), right),
        (metric::FAILED.to_owned(), failed),
        (metric::RATE.to_owned(), sum(&|report| report.right_in_time) as f64 / span_s),
        ("elapsed_s".to_owned(), elapsed_s),
    ]);
    if right + failed > 0.0 {
        numbers.insert("availability_pct".to_owned(), right * 100.0 / (right + failed));
    }
    if let Some(cause) = cause.filter(|_| !is_servers) {
        numbers.insert(metric::NOT_SENT.to_owned(), dropped as f64);
        let is_own = matches!(cause, Cause::Generator | Cause::Clients);
        numbers.insert(metric::NOT_SENT_BY_ITSELF.to_owned(), f64::from(u8::from(is_own)));
    }
    let measured = sum(&|report| report.bytes_answers);
    if measured > 0 {
        numbers.insert("bytes_per_answer".to_owned(), sum(&|report| report.bytes) as f64 / measured as f64);
    }
    let times = Pool(reports.iter().filter_map(|report| report.latency.as_ref()).collect());
    if let Some((shortest, longest)) = times.ends() {
        numbers.insert("mean_ms".to_owned(), times.sum_ms() / times.count() as f64);
        numbers.insert("concurrency".to_owned(), times.sum_ms() / 1_000.0 / elapsed_s);
        for (one_in, name) in metric::PERCENTILES {
            numbers.extend(times.at(metric::percent(one_in)).map(|ms| (name.to_owned(), ms)));
        }
        numbers.extend([("shortest_ms".to_owned(), shortest), ("max_ms".to_owned(), longest)]);
    }
    let mut missing_numbers = BTreeMap::new();
    if reports.iter().any(Report::is_open) {
        // What k6 did not send was offered to no server, unless this one kept it from that.
        let offered = sum(&|report| report.iterations) + if is_servers { dropped } else { 0 };
        numbers.insert(metric::OFFERED.to_owned(), offered as f64 / span_s);
        // After a drop the script does not know which request was due when.
        let late = Pool(reports.iter().filter_map(|report| report.late.as_ref()).collect());
        numbers.extend(late.at(99.0).filter(|_| dropped == 0).map(|ms| (metric::LATE.to_owned(), ms)));
        if dropped > 0 {
            missing_numbers
                .insert(metric::LATE.to_owned(), "k6 dropped requests, and cannot tell which was due when".to_owned());
        }
    }
    let wrong = errors.get(WRONG).map(|count| format!("{count} wrong answers"));
    let due = sum(&|report| report.iterations + report.dropped);
    let remarks = cause.map(|cause| cause.in_words(dropped, due)).into_iter().collect();
    Outcome { command, numbers, errors, wrong, remarks, missing_numbers, ..Outcome::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"arena_k6":1,"case":"a","load":"clients","seconds":2,"per_s":0,"vus":4,"ended_ms":2010,
        "iterations":100,"dropped":0,"right":100,"right_in_time":98,"bytes":600,"bytes_answers":100,"errors":{},
        "latency":{"count":100,"mean":2,
        "percents":[[0,1],[50,2],[75,2.5],[90,3],[95,4],[99,5],[99.9,6],[99.99,7],[100,8]]},
        "late":null}"#;

    fn changed(from: &str, to: &str) -> String {
        assert!(PLAIN.contains(from), "{from}");
        PLAIN.replace(from, to)
    }

    #[test]
    fn numbers_have_the_names_and_the_sense_of_our_own_loops() {
        let seen = outcome(&[Report::parse(PLAIN).unwrap()], "k6 run".to_owned(), None);
        let of = |name: &str| seen.numbers[name];
        assert_eq!((of("requests"), of("failed"), of("requests_per_s"), of("elapsed_s")), (100.0, 0.0, 49.0, 2.01));
        assert_eq!((of("p50_ms"), of("p99_ms"), of("p9999_ms"), of("max_ms")), (2.0, 5.0, 7.0, 8.0));
        assert_eq!((of("shortest_ms"), of("mean_ms"), of("bytes_per_answer")), (1.0, 2.0, 6.0));
        assert_eq!((of("availability_pct"), seen.wrong, seen.errors.len()), (100.0, None, 0));
        assert!(!seen.numbers.contains_key("late_ms") && !seen.numbers.contains_key("offered_per_s"));
    }

    #[test]
    fn what_was_not_sent_has_failed_only_if_the_server_kept_all_clients_waiting() {
        let open = changed("\"clients\"", "\"open\"").replace("\"late\":null", LATE);
        let open = open.replace("\"per_s\":0", "\"per_s\":50");
        let late = outcome(&[Report::parse(&open).unwrap()], String::new(), Some(false));
        assert_eq!((late.numbers["late_ms"], late.numbers["offered_per_s"]), (1.5, 50.0));
        assert!(late.remarks.is_empty() && !late.numbers.contains_key("not_sent"), "{late:?}");
        let of = |waits: &str, is_short: Option<bool>| {
            let dropped = open.replace("\"dropped\":0", &format!("\"dropped\":25{waits}"));
            let seen = outcome(&[Report::parse(&dropped).unwrap()], String::new(), is_short);
            assert!(!seen.numbers.contains_key("late_ms") && seen.missing_numbers.contains_key("late_ms"), "{seen:?}");
            seen
        };
        // While 25 requests were dropped, a fiftieth of a second apart, the 4 clients were busy for 2 seconds together.
        let long = r#","waited_ms":2100,"longest_ms":300"#;
        let seen = of(long, Some(false));
        assert_eq!((seen.numbers["failed"], seen.errors["dropped"], seen.numbers["offered_per_s"]), (25.0, 25, 62.5));
        assert_eq!((seen.numbers["availability_pct"], seen.numbers.get("not_sent")), (80.0, None));
        assert!(seen.remarks[0].contains("25 of 125 requests, since all its clients waited"), "{seen:?}");
        let (short, quick) = (r#","waited_ms":900,"longest_ms":300"#, r#","waited_ms":2100,"longest_ms":40"#);
        for (waits, is_short, by_itself, words) in [
            (long, Some(true), 0.0, "is not known"),
            (long, None, 0.0, "is not known"),
            // An older script.
            ("", Some(false), 0.0, "is not known"),
            (short, Some(false), 1.0, "it was too slow itself"),
            (quick, Some(true), 1.0, "it was too slow itself"),
        ] {
            let seen = of(waits, is_short);
            let number = |name: &str| seen.numbers[name];
            assert_eq!((number("failed"), number("not_sent"), number("offered_per_s")), (0.0, 25.0, 50.0), "{seen:?}");
            assert_eq!((number("availability_pct"), number("not_sent_by_itself")), (100.0, by_itself), "{seen:?}");
            assert!(seen.errors.is_empty() && seen.remarks[0].contains(words), "{seen:?}");
        }
        // Four clients get 50 answers in a second only if each takes 80 ms at most.
        let slow = "[[0,90],[50,120],[75,130],[90,140],[95,150],[99,160],[99.9,170],[99.99,180],[100,190]]";
        let slow = open.replace("[[0,1],[50,2],[75,2.5],[90,3],[95,4],[99,5],[99.9,6],[99.99,7],[100,8]]", slow);
        let slow = slow.replace("\"dropped\":0", &format!("\"dropped\":25{long}"));
        let seen = outcome(&[Report::parse(&slow).unwrap()], String::new(), Some(false));
        assert_eq!((seen.numbers["failed"], seen.numbers["not_sent_by_itself"]), (0.0, 1.0), "{seen:?}");
        assert!(seen.remarks[0].contains("too few clients"), "{seen:?}");
    }

    const LATE: &str = r#""late":{"count":100,"mean":1,"percents":[[0,0],[99,1.5],[100,2]]}"#;

    /// k6 ends such a load after 15 minutes at the latest.
    #[test]
    fn what_is_left_of_a_counted_load_has_failed_only_if_the_server_kept_the_clients_waiting_to_its_end() {
        let of = |waits: &str, is_short: Option<bool>| {
            let left = changed("\"seconds\":2", "\"seconds\":0").replace("\"clients\"", "\"requests\"");
            let left = left.replace("\"dropped\":0", &format!("\"dropped\":25{waits}"));
            let seen = outcome(&[Report::parse(&left).unwrap()], String::new(), is_short);
            assert!(!seen.numbers.contains_key("offered_per_s"), "{seen:?}");
            (seen.numbers["failed"], seen.numbers.get("not_sent_by_itself").copied())
        };
        // The 4 clients had 2.01 seconds.
        let (long, short) = (r#","waited_ms":7900,"longest_ms":300"#, r#","waited_ms":900,"longest_ms":300"#);
        assert_eq!(of(long, Some(false)), (25.0, None));
        assert_eq!((of(long, Some(true)), of(long, None)), ((0.0, Some(0.0)), (0.0, Some(0.0))));
        assert_eq!(of(short, Some(false)), (0.0, Some(1.0)));
    }

    #[test]
    fn a_counted_load_has_the_rate_of_the_time_that_it_took() {
        let counted =
            changed("\"seconds\":2", "\"seconds\":0").replace("\"right_in_time\":98", "\"right_in_time\":100");
        let seen = outcome(&[Report::parse(&counted).unwrap()], String::new(), None);
        assert!((seen.numbers["requests_per_s"] - 100.0 / 2.01).abs() < 1e-9);
    }

    #[test]
    fn several_machines_are_one_load() {
        // The other machine has as many requests, each ten times as long.
        let slow = changed("[[0,1],[50,2],[75,2.5],[90,3],[95,4],[99,5],[99.9,6],[99.99,7],[100,8]]", SLOW);
        let (one, other) =
            (Report::parse(PLAIN).unwrap(), Report::parse(&slow.replace("\"mean\":2", "\"mean\":20")).unwrap());
        let seen = outcome(&[one.clone(), other], String::new(), None);
        let of = |name: &str| seen.numbers[name];
        assert_eq!((of("requests"), of("requests_per_s"), of("mean_ms")), (200.0, 98.0, 11.0));
        assert_eq!((of("shortest_ms"), of("max_ms")), (1.0, 80.0));
        // Half of all requests is the whole of the fast machine; 99 % is 98 % of the slow one.
        assert_eq!((of("p50_ms"), of("p99_ms")), (8.0, 50.0));
        // Two equal reports give the numbers of one.
        let both = outcome(&[one.clone(), one], String::new(), None);
        assert_eq!((both.numbers["p90_ms"], both.numbers["requests_per_s"]), (3.0, 98.0));
    }

    const SLOW: &str = "[[0,10],[50,20],[75,25],[90,30],[95,40],[99,50],[99.9,60],[99.99,70],[100,80]]";

    #[test]
    fn counts_that_do_not_belong_together_are_refused() {
        const HUGE: &str = "18446744073709551615";
        let set = |text: &str, name: &str, from: &str, to: &str| {
            let from = format!("\"{name}\":{from}");
            assert!(text.contains(&from), "{from}");
            text.replace(&from, &format!("\"{name}\":{to}"))
        };
        let right = set(PLAIN, "right", "100", HUGE);
        let (all, timeout) = (set(&right, "iterations", "100", HUGE), set(PLAIN, "errors", "{}", "{\"timeout\":1}"));
        let huge = "it counts 18446744073709551615 requests or bytes";
        for (text, says) in [
            // The sum with the failures is that of the requests again, in 64 bits.
            (set(&right, "errors", "{}", "{\"timeout\":101}"), huge),
            (set(&all, "dropped", "0", "5"), huge),
            (set(PLAIN, "bytes", "600", HUGE), huge),
            (set(PLAIN, "right_in_time", "98", "101"), "101 right answers that came in time, and 100 right ones"),
            (set(PLAIN, "count", "100", "99"), "the times of 99 requests, and counts 100 right answers and 0 timeouts"),
            (set(PLAIN, "count", "100", "101"), "the times of 101 requests, and counts 100 right"),
        ] {
            let error = Report::parse(&text).unwrap_err();
            assert!(error.contains(says) && error.ends_with("k6 has not written that"), "{text}: {error}");
        }
        // Requests that timed out are among the latencies; in reports of other scripts they need not be.
        let timeout = set(&timeout, "iterations", "100", "101");
        for count in ["100", "101"] {
            assert!(Report::parse(&set(&timeout, "count", "100", count)).is_ok(), "{count}");
        }
    }

    #[test]
    fn what_is_none_of_ours_is_refused() {
        for (text, says) in [
            (String::new(), "not what arena's script writes"),
            ("{}".to_owned(), "not what arena's script writes"),
            (changed("\"arena_k6\":1", "\"arena_k6\":2"), "format 2"),
            (changed("\"iterations\":100", "\"iterations\":101"), "101 were made, 100 were judged"),
            (changed("[99,5]", "[99,3]"), "grow with the percent"),
            (changed("[0,1],", ""), "grow with the percent"),
            (changed("\"seconds\":2", "\"seconds\":-2"), "times are none"),
        ] {
            let error = Report::parse(&text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
