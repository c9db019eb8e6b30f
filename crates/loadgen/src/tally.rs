//! The counts of a load loop, and the numbers computed from them.

use std::collections::BTreeMap;
use std::mem::take;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::fault::Fault;
use super::form::Form;
use super::run_queue::waited_pct;
use super::size::Size;
use super::usable_by;
use crate::metric;
use crate::outcome::{Course, Outcome};

/// Number of threads for a load that measures a server's capacity, in our closed loop and in wrk: they share the
/// processors with the server, and one thread alone is too slow for a fast server. An open loop has at most as many.
pub const LOAD_THREADS: u32 = 2;

/// Options of a load about observation, time limit, threads and the form of requests.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// Time limit of a request, from the time when it should have been sent.
    pub timeout: Duration,
    /// Whether results are recorded second by second.
    pub timeline: bool,
    /// Number of threads, each with a part of the clients.
    pub threads: u32,
    /// Form of the requests' heads.
    pub form: Form,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { timeout: Duration::from_secs(30), timeline: false, threads: 1, form: Form::default() }
    }
}

impl Watch {
    /// Default options, with results second by second.
    pub fn by_seconds() -> Watch {
        Watch { timeline: true, ..Watch::default() }
    }

    /// The same on [`LOAD_THREADS`] threads.
    pub fn at_full_speed() -> Watch {
        Watch { threads: LOAD_THREADS, ..Watch::by_seconds() }
    }

    /// The number of threads in words, if there are several.
    pub(crate) fn in_words(&self, clients: u32) -> String {
        match self.threads.min(clients) {
            0 | 1 => String::new(),
            threads => format!(" on {threads} threads"),
        }
    }
}

/// Results of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// The numbers.
    pub outcome: Outcome,
    /// Results second by second, by the time when a request should have been sent. Empty unless requested.
    pub timeline: Vec<Second>,
}

/// Requests that should have been sent in one second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Second {
    /// Latency of each right response, in microseconds.
    pub times_us: Vec<u32>,
    /// Number of requests without a right response.
    pub failed: u64,
}

impl Second {
    /// Number of all requests.
    pub fn requests(&self) -> u64 {
        self.times_us.len() as u64 + self.failed
    }

    /// Number of right responses within this time.
    pub fn within(&self, limit: Duration) -> u64 {
        self.times_us.iter().filter(|us| u128::from(**us) <= limit.as_micros()).count() as u64
    }

    /// The 99th percentile of latencies in milliseconds, with failed requests as endless. `None` if there was no
    /// request, or if too many failed.
    pub fn p99_ms(&self) -> Option<f64> {
        self.percentile_ms(100.0)
    }

    /// A percentile of latencies in milliseconds, given by the number of requests of which one takes longer.
    pub(crate) fn percentile_ms(&self, one_in: f64) -> Option<f64> {
        let rank = (self.requests() as f64 * metric::percent(one_in) / 100.0).ceil() as usize;
        let mut sorted = self.times_us.clone();
        sorted.sort_unstable();
        sorted.get(rank.checked_sub(1)?).map(|us| f64::from(*us) / 1_000.0)
    }
}

/// The running counts of a load.
pub(crate) struct Tally {
    begun: Instant,
    /// End of the load: later responses do not count for the rate.
    end: Option<Instant>,
    last: Instant,
    times: Option<Histogram<u64>>,
    sum_us: u64,
    longest_us: u64,
    shortest_us: Option<u64>,
    timed: u64,
    pub right: u64,
    right_by_end: u64,
    bytes: u64,
    least: Option<Size>,
    pub failed: u64,
    errors: BTreeMap<String, u64>,
    wrong: Option<String>,
    timeline: Option<Vec<Second>>,
    /// Number of threads that made the load; 0 if that was not recorded. Below, their processor time in seconds.
    threads: u32,
    own_s: f64,
    /// Seconds for which they waited for a processor; `None` if that of one of them is not known.
    waited_s: Option<f64>,
}

impl Tally {
    /// Counts of a load that begins now.
    pub fn new(begun: Instant, end: Option<Instant>, watch: &Watch) -> Tally {
        Tally {
            begun,
            end,
            last: begun,
            // An hour at most, with three digits. It cannot fail with these bounds.
            times: Histogram::new_with_bounds(1, 3_600_000_000, 3).ok(),
            sum_us: 0,
            longest_us: 0,
            shortest_us: None,
            timed: 0,
            right: 0,
            right_by_end: 0,
            bytes: 0,
            least: None,
            failed: 0,
            errors: BTreeMap::new(),
            wrong: None,
            timeline: watch.timeline.then(Vec::new),
            threads: 0,
            own_s: 0.0,
            waited_s: None,
        }
    }

    /// Sets the processor time of the one thread that made these counts, and the time for which it waited for a
    /// processor, where that is known.
    pub fn took(self, own_s: f64, waited_s: Option<f64>) -> Tally {
        Tally { threads: 1, own_s, waited_s, ..self }
    }

    /// Adds the counts of another thread in the same load.
    pub fn with(mut self, other: Tally) -> Tally {
        self.last = self.last.max(other.last);
        if let (Some(times), Some(more)) = (&mut self.times, &other.times) {
            // It cannot fail: both have the same bounds.
            let _ = times.add(more);
        }
        self.sum_us += other.sum_us;
        self.longest_us = self.longest_us.max(other.longest_us);
        self.shortest_us = self.shortest_us.into_iter().chain(other.shortest_us).min();
        self.timed += other.timed;
        self.right += other.right;
        self.right_by_end += other.right_by_end;
        self.bytes += other.bytes;
        self.least = self.least.into_iter().chain(other.least).reduce(Size::smaller);
        self.failed += other.failed;
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.wrong = self.wrong.or(other.wrong);
        if let (Some(timeline), Some(more)) = (&mut self.timeline, other.timeline) {
            timeline.resize_with(timeline.len().max(more.len()), Second::default);
            for (second, more) in timeline.iter_mut().zip(more) {
                second.times_us.extend(more.times_us);
                second.failed += more.failed;
            }
        }
        self.threads += other.threads;
        self.own_s += other.own_s;
        self.waited_s = self.waited_s.zip(other.waited_s).map(|(waited_s, more)| waited_s + more);
        self
    }

    /// Ends the load with its last request, if that was before its time, since no request was left to send.
    pub fn used_up(self) -> Tally {
        Tally { end: self.end.filter(|end| *end < self.last), ..self }
    }

    /// Counts a request that should have been sent at `from` and has ended at `at`.
    pub fn note(&mut self, from: Instant, at: Instant, verdict: Result<Size, Fault>) {
        self.last = self.last.max(at);
        let us = at.saturating_duration_since(from).as_micros() as u64;
        let is_right = verdict.is_ok();
        match verdict {
            Ok(size) => {
                self.right += 1;
                self.right_by_end += u64::from(self.end.is_none_or(|end| at <= end));
                self.bytes += size.body;
                self.least = Some(self.least.map_or(size, |least| least.smaller(size)));
                self.time(us);
            }
            Err(fault) => {
                self.failed += 1;
                if fault == Fault::Timeout {
                    self.time(us);
                }
                if matches!(fault, Fault::Wrong(_)) && self.wrong.is_none() {
                    self.wrong = Some(fault.in_words());
                }
                *self.errors.entry(fault.kind().into_owned()).or_default() += 1;
            }
        }
        if let Some(timeline) = &mut self.timeline {
            let place = from.saturating_duration_since(self.begun).as_secs() as usize;
            if timeline.len() <= place {
                timeline.resize_with(place + 1, Second::default);
            }
            let second = &mut timeline[place];
            if is_right {
                second.times_us.push(u32::try_from(us).unwrap_or(u32::MAX));
            } else {
                second.failed += 1;
            }
        }
    }

    fn time(&mut self, us: u64) {
        self.timed += 1;
        self.sum_us += us;
        self.longest_us = self.longest_us.max(us);
        self.shortest_us = Some(self.shortest_us.map_or(us, |before| before.min(us)));
        if let Some(times) = &mut self.times {
            times.saturating_record(us.max(1));
        }
    }

    /// The results. Moves data out of the counts, so it is the last call.
    pub fn seen(&mut self, command: String) -> Seen {
        let elapsed = self.last.saturating_duration_since(self.begun).as_secs_f64();
        // The rate of a timed loop is over its given time, whatever comes later.
        let span = self.end.map_or(elapsed, |end| end.saturating_duration_since(self.begun).as_secs_f64());
        let mut numbers = BTreeMap::new();
        let mut put = |name: &str, value: f64| {
            if value.is_finite() {
                numbers.insert(name.to_owned(), value);
            }
        };
        put("requests", self.right as f64);
        put(metric::FAILED, self.failed as f64);
        put(metric::RATE, if span > 0.0 { self.right_by_end as f64 / span } else { 0.0 });
        put("elapsed_s", elapsed);
        put("availability_pct", self.right as f64 * 100.0 / (self.right + self.failed) as f64);
        put("bytes_per_answer", self.bytes as f64 / self.right as f64);
        put("concurrency", self.sum_us as f64 / 1e6 / elapsed);
        if self.threads > 0 {
            put(metric::GENERATOR, self.own_s / elapsed);
            put(metric::GENERATOR_THREADS, f64::from(usable_by(self.threads)));
            if let Some(waited_s) = self.waited_s.filter(|_| elapsed > 0.0) {
                put(metric::GENERATOR_WAITED, waited_pct(waited_s / elapsed, self.threads));
            }
        }
        put(metric::MEAN, self.sum_us as f64 / 1_000.0 / self.timed as f64);
        if let (Some(times), Some(shortest)) = (&self.times, self.shortest_us) {
            let of = |percent: f64| {
                // The histogram rounds up; no request took longer than the longest.
                times.value_at_percentile(percent).clamp(shortest, self.longest_us) as f64 / 1_000.0
            };
            for (one_in, name) in metric::PERCENTILES {
                put(name, of(metric::percent(one_in)));
            }
            put("max_ms", self.longest_us as f64 / 1_000.0);
            put("shortest_ms", shortest as f64 / 1_000.0);
        }
        let errors = take(&mut self.errors);
        let wrong = self.wrong.take();
        let outcome = Outcome { command, numbers, errors, wrong, least_size: self.least, ..Outcome::default() };
        Seen { outcome, timeline: self.timeline.take().unwrap_or_default() }
    }
}

impl Seen {
    /// Results of a load that could not be made, with the reason: the load generator's fault, or that of its options,
    /// and not the server's.
    pub(crate) fn nothing(command: String, why: String) -> Seen {
        Seen { outcome: Outcome { command, ..Outcome::nothing(why) }, timeline: Vec::new() }
    }

    /// The outcome with its courses over time.
    pub fn with_course(self) -> Outcome {
        Outcome { course: course_of(&self.timeline), ..self.outcome }
    }

    /// The number with this name.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.outcome.numbers.get(name).copied()
    }
}

/// Rate and p99 of each second. Leaves out the last one, which may be incomplete.
pub fn course_of(timeline: &[Second]) -> Course {
    let whole = &timeline[..timeline.len().saturating_sub(1)];
    let middle = |at: usize| at as f64 + 0.5;
    let rates = whole.iter().enumerate().map(|(at, second)| (middle(at), second.times_us.len() as f64));
    let tails = whole.iter().enumerate().filter_map(|(at, second)| Some((middle(at), second.p99_ms()?)));
    [(metric::RATE.to_owned(), rates.collect()), (metric::P99.to_owned(), tails.collect())].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(body: u64) -> Result<Size, Fault> {
        Ok(Size { whole: body + 50, body })
    }

    #[test]
    fn numbers_are_those_of_right_answers_and_time_outs() {
        let begun = Instant::now();
        let ms = |ms: u64| begun + Duration::from_millis(ms);
        let watch = Watch { timeline: true, ..Watch::default() };
        let mut tally = Tally::new(begun, Some(ms(1_000)), &watch);
        for at in 0..99 {
            tally.note(ms(at * 10), ms(at * 10 + 1), right(10 + at % 2));
        }
        tally.note(ms(990), ms(1_190), right(11));
        tally.note(ms(1_000), ms(2_000), Err(Fault::Timeout));
        tally.note(ms(0), ms(1), Err(Fault::Wrong("no".into())));
        let seen = tally.seen("x".into());
        let of = |name| seen.number(name).unwrap();
        assert_eq!((of("requests"), of("failed"), of("requests_per_s")), (100.0, 2.0, 99.0));
        assert_eq!((of("elapsed_s"), of("bytes_per_answer"), of("p50_ms")), (2.0, 10.5, 1.0));
        assert_eq!(seen.outcome.least_size, Some(Size { whole: 60, body: 10 }));
        assert_eq!((of("max_ms"), of("shortest_ms")), (1_000.0, 1.0));
        assert!((199.0..201.0).contains(&of("p99_ms")), "{}", of("p99_ms"));
        assert_eq!(seen.outcome.wrong.as_deref(), Some("no"));
        assert_eq!((seen.timeline.len(), seen.timeline[0].requests(), seen.timeline[1].failed), (2, 101, 1));
        assert_eq!(seen.timeline[0].within(Duration::from_millis(100)), 99);
        let course = seen.clone().with_course().course;
        assert_eq!((&course["requests_per_s"], &course["p99_ms"]), (&vec![(0.5, 100.0)], &vec![(0.5, 200.0)]));
        assert_eq!((seen.timeline[0].p99_ms(), seen.timeline[1].p99_ms()), (Some(200.0), None));
    }

    #[test]
    fn the_rate_of_a_load_whose_requests_are_used_up_is_that_of_the_time_it_took() {
        let begun = Instant::now();
        let rate = |end_s: u64, is_used_up: bool| {
            let mut tally = Tally::new(begun, Some(begun + Duration::from_secs(end_s)), &Watch::default());
            for at in 1..=200 {
                tally.note(begun, begun + Duration::from_millis(at * 10), right(1));
            }
            let mut tally = if is_used_up { tally.used_up() } else { tally };
            tally.seen("x".into()).number(metric::RATE)
        };
        // All of them in two seconds, of 20; the half of them in one second.
        assert_eq!([rate(20, true), rate(20, false), rate(1, true)], [Some(100.0), Some(10.0), Some(100.0)]);
    }

    #[test]
    fn what_threads_counted_is_the_count_of_one() {
        let begun = Instant::now();
        let ms = |ms: u64| begun + Duration::from_millis(ms);
        let watch = Watch::by_seconds();
        let fresh = || Tally::new(begun, Some(ms(2_000)), &watch);
        let mut alone = fresh();
        let mut threads = [fresh(), fresh(), fresh()];
        for at in 0..300 {
            let verdict = || match at % 50 {
                7 => Err(Fault::Timeout),
                8 => Err(Fault::Wrong("no".into())),
                _ => right(at),
            };
            let (from, to) = (ms(at * 9), ms(at * 9 + at % 37 + 1));
            alone.note(from, to, verdict());
            // Two threads have all requests, and the third has none.
            threads[(at % 2) as usize].note(from, to, verdict());
        }
        let whole = threads.into_iter().map(|one| one.took(0.5, Some(0.25))).reduce(Tally::with);
        let mut whole = whole.unwrap().seen("x".into());
        let mut alone = alone.seen("x".into());
        let usable = f64::from(usable_by(3));
        assert_eq!(whole.outcome.numbers.remove(metric::GENERATOR_THREADS), Some(usable));
        let used = whole.outcome.numbers.remove(metric::GENERATOR).unwrap();
        let elapsed_s = alone.number("elapsed_s").unwrap();
        assert!((used - 1.5 / elapsed_s).abs() < 1e-9, "{used}");
        let waited = whole.outcome.numbers.remove(metric::GENERATOR_WAITED).unwrap();
        assert!((waited - 25.0 / elapsed_s).abs() < 1e-9, "{waited}");
        for second in whole.timeline.iter_mut().chain(&mut alone.timeline) {
            second.times_us.sort_unstable();
        }
        assert_eq!(whole, alone);
    }

    #[test]
    fn where_the_wait_of_one_thread_is_unknown_that_of_all_is() {
        let begun = Instant::now();
        let of = |waited_s: Option<f64>| {
            let mut tally = Tally::new(begun, None, &Watch::default());
            tally.note(begun, begun + Duration::from_secs(2), right(1));
            tally.took(0.5, waited_s)
        };
        let waited = |mut tally: Tally| tally.seen("x".into()).number(metric::GENERATOR_WAITED);
        assert_eq!([waited(of(Some(0.5))), waited(of(Some(0.0)))], [Some(25.0), Some(0.0)]);
        assert_eq!([waited(of(None)), waited(of(Some(0.5)).with(of(None)))], [None, None]);
    }

    #[test]
    fn nothing_asked_gives_no_latency() {
        let seen = Tally::new(Instant::now(), None, &Watch::default()).seen(String::new());
        assert_eq!(seen.number("p99_ms"), None);
        assert_eq!(seen.number("requests_per_s"), Some(0.0));
        assert!(seen.outcome.numbers.values().all(|number| number.is_finite()));
    }
}
