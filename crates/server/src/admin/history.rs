//! Past numbers, by second and by minute, so that users see what led to the present.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime};

use engine::unix_ms;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use crate::admin::histogram::{Peaks, Reading, Summary, rounded};

/// Steps, their seconds, and the number of points kept: 15 minutes by second, a day by minute.
const STEPS: [(Step, u64, usize); 2] = [(Step::Second, 1, 900), (Step::Minute, 60, 1440)];
/// Seconds that the "recent" numbers cover.
const RECENT: usize = 10;
/// Seconds that the maximum times of `/metrics` cover: Prometheus scrapes about that often.
const LONGEST_OF: usize = 60;

/// Resolution of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    Second,
    Minute,
}

/// A sample of an application, taken each second.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    pub reading: Reading,
    pub queued: usize,
    pub oldest_wait_ms: f64,
    pub busy: usize,
    pub capacity: usize,
    pub workers: usize,
    /// Memory of the application's processes; none if the kernel does not report it.
    pub memory_kib: Option<u64>,
    pub server: ServerSample,
}

/// A sample of the server and of the machine or control group around it, taken each second; none where the kernel does
/// not report it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerSample {
    /// Memory of the server without its workers: its proportional set size.
    pub memory_kib: Option<u64>,
    /// Memory used by all processes, and the limit.
    pub memory_used_kib: Option<u64>,
    pub memory_limit_kib: Option<u64>,
}

/// One point of a track: the maximum of depths, and times and rates of the whole step.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    at_ms: u64,
    queued: usize,
    oldest_wait_ms: f64,
    busy: usize,
    capacity: usize,
    workers: usize,
    memory_kib: Option<u64>,
    server: ServerSample,
    rate: f64,
    answered_rate: f64,
    error_rate: f64,
    refused_rate: f64,
    peaks: Peaks,
    queue_p99_ms: f64,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

/// The name of a number of a point, and its value.
type Column = (&'static str, fn(&Point) -> Value);

/// The numbers of each point, as the page draws them.
const COLUMNS: [Column; 19] = [
    ("at_ms", |point| json!(point.at_ms)),
    ("queued", |point| json!(point.queued)),
    ("oldest_wait_ms", |point| json!(rounded(point.oldest_wait_ms))),
    ("busy", |point| json!(point.busy)),
    ("capacity", |point| json!(point.capacity)),
    ("workers", |point| json!(point.workers)),
    ("memory_kib", |point| json!(point.memory_kib)),
    ("server_memory_kib", |point| json!(point.server.memory_kib)),
    ("memory_used_kib", |point| json!(point.server.memory_used_kib)),
    ("memory_limit_kib", |point| json!(point.server.memory_limit_kib)),
    ("rate", |point| json!(rounded(point.rate))),
    ("answered_rate", |point| json!(rounded(point.answered_rate))),
    ("error_rate", |point| json!(rounded(point.error_rate))),
    ("refused_rate", |point| json!(rounded(point.refused_rate))),
    ("queue_p99_ms", |point| json!(rounded(point.queue_p99_ms))),
    ("p50_ms", |point| json!(rounded(point.p50_ms))),
    ("p95_ms", |point| json!(rounded(point.p95_ms))),
    ("p99_ms", |point| json!(rounded(point.p99_ms))),
    ("max_ms", |point| json!(rounded(point.max_ms))),
];

/// Points of an application, as the control API prints them.
#[derive(Debug, Serialize)]
pub struct Columns {
    pub app: String,
    /// Seconds between two points.
    pub step_s: u64,
    /// Numbers of the first point and of the next one to come: a request with `from` gets only new ones.
    pub from: u64,
    pub next: u64,
    /// The numbers of all points, by their names in [`COLUMNS`].
    #[serde(flatten)]
    pub points: BTreeMap<&'static str, Vec<Value>>,
}

/// Rates and times of the last [`RECENT`] seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Recent {
    pub seconds: f64,
    pub requests_per_s: f64,
    pub errors_per_s: f64,
    pub refused_per_s: f64,
    pub queue: Summary,
    pub service: Summary,
}

/// The history of all applications, by name.
#[derive(Debug, Default)]
pub struct History(Mutex<HashMap<String, AppHistory>>);

#[derive(Debug, Default)]
struct AppHistory {
    tracks: HashMap<Step, Track>,
    last: VecDeque<(Instant, Reading)>,
    /// Maximum times of each second.
    peaks: VecDeque<Peaks>,
}

/// The points of one step.
#[derive(Debug, Default)]
struct Track {
    points: VecDeque<Point>,
    /// Number of points that were dropped at the old end.
    dropped: u64,
    begun: Option<(Instant, Reading)>,
    greatest: Point,
}

impl Step {
    /// Parses `second` or `minute`.
    pub fn named(word: &str) -> Option<Step> {
        match word {
            "second" => Some(Step::Second),
            "minute" => Some(Step::Minute),
            _ => None,
        }
    }
}

impl History {
    /// Records a sample of an application; to be called each second.
    pub fn note(&self, app: &str, sample: &Sample, now: Instant) {
        let mut all = self.0.lock();
        let past = all.entry(app.to_owned()).or_default();
        for (step, seconds, kept) in STEPS {
            past.tracks.entry(step).or_default().note(sample, now, Duration::from_secs(seconds), kept);
        }
        past.peaks.push_back(sample.reading.peaks);
        if past.peaks.len() > LONGEST_OF {
            past.peaks.pop_front();
        }
        past.last.push_back((now, sample.reading));
        if past.last.len() > RECENT + 1 {
            past.last.pop_front();
        }
    }

    /// The points of an application from number `from` on.
    pub fn columns(&self, app: &str, step: Step, from: u64) -> Columns {
        let all = self.0.lock();
        let seconds = STEPS.iter().find(|(of, _, _)| *of == step).map_or(1, |(_, seconds, _)| *seconds);
        let none = Track::default();
        let track = all.get(app).and_then(|past| past.tracks.get(&step)).unwrap_or(&none);
        track.columns(app, seconds, from)
    }

    /// Rates and times of the last seconds of an application.
    pub fn recent(&self, app: &str, reading: &Reading, now: Instant) -> Recent {
        let all = self.0.lock();
        let Some(past) = all.get(app) else { return Recent::default() };
        let Some((since, before)) = past.last.front() else { return Recent::default() };
        // The maxima of the first sample belong to the time before it.
        let peaks = past.last.iter().skip(1).map(|(_, then)| then.peaks);
        let longest = peaks.fold(reading.peaks, Peaks::longest);
        let seconds = now.saturating_duration_since(*since).as_secs_f64().max(0.001);
        let rate = |now: u64, before: u64| rounded(now.saturating_sub(before) as f64 / seconds);
        Recent {
            seconds: rounded(seconds),
            requests_per_s: rate(reading.requests, before.requests),
            errors_per_s: rate(reading.errors(), before.errors()),
            refused_per_s: rate(reading.refused, before.refused),
            queue: reading.queue.since(&before.queue, longest.queue_us).summary(),
            service: reading.service.since(&before.service, longest.service_us).summary(),
        }
    }

    /// Maximum times of the last minute.
    pub fn longest(&self, app: &str, reading: &Reading) -> Peaks {
        let all = self.0.lock();
        let peaks = all.get(app).map(|past| &past.peaks).into_iter().flatten();
        peaks.fold(reading.peaks, |longest, one| longest.longest(*one))
    }
}

impl Track {
    fn note(&mut self, sample: &Sample, now: Instant, step: Duration, kept: usize) {
        let greatest = &mut self.greatest;
        greatest.queued = greatest.queued.max(sample.queued);
        greatest.oldest_wait_ms = greatest.oldest_wait_ms.max(sample.oldest_wait_ms);
        greatest.busy = greatest.busy.max(sample.busy);
        greatest.capacity = greatest.capacity.max(sample.capacity);
        greatest.workers = greatest.workers.max(sample.workers);
        greatest.memory_kib = greatest.memory_kib.max(sample.memory_kib);
        greatest.peaks = greatest.peaks.longest(sample.reading.peaks);
        greatest.server = greatest.server.greatest(&sample.server);
        let (since, before) = *self.begun.get_or_insert((now, sample.reading));
        // Half a second of tolerance: the clock that calls this is not exact.
        let took = now.saturating_duration_since(since);
        if took + Duration::from_millis(500) < step || took.is_zero() {
            return;
        }
        let point = std::mem::take(&mut self.greatest).closed(&before, &sample.reading, took.as_secs_f64());
        self.begun = Some((now, sample.reading));
        self.points.push_back(point);
        if self.points.len() > kept {
            self.points.pop_front();
            self.dropped += 1;
        }
    }

    fn columns(&self, app: &str, step_s: u64, from: u64) -> Columns {
        let next = self.dropped + self.points.len() as u64;
        // A number from before a restart of the server is in the future: then all points are new.
        let from = if from > next { self.dropped } else { from.max(self.dropped) };
        let skip = usize::try_from(from - self.dropped).unwrap_or(usize::MAX);
        let of_all = |of: fn(&Point) -> Value| self.points.iter().skip(skip).map(of).collect::<Vec<Value>>();
        let points = BTreeMap::from(COLUMNS.map(|(name, of)| (name, of_all(of))));
        Columns { app: app.to_owned(), step_s, from, next, points }
    }
}

impl ServerSample {
    fn greatest(&self, other: &ServerSample) -> ServerSample {
        ServerSample {
            memory_kib: self.memory_kib.max(other.memory_kib),
            memory_used_kib: self.memory_used_kib.max(other.memory_used_kib),
            memory_limit_kib: self.memory_limit_kib.max(other.memory_limit_kib),
        }
    }
}

impl Point {
    fn closed(self, before: &Reading, now: &Reading, seconds: f64) -> Point {
        let queue = now.queue.since(&before.queue, self.peaks.queue_us);
        let service = now.service.since(&before.service, self.peaks.service_us);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        Point {
            at_ms: unix_ms(SystemTime::now()),
            rate: rate(now.requests, before.requests),
            answered_rate: rate(now.answered(), before.answered()),
            error_rate: rate(now.errors(), before.errors()),
            refused_rate: rate(now.refused, before.refused),
            queue_p99_ms: queue.quantile_ms(0.99),
            p50_ms: service.quantile_ms(0.5),
            p95_ms: service.quantile_ms(0.95),
            p99_ms: service.quantile_ms(0.99),
            max_ms: service.longest_ms(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(history: &History, step: Step, from: u64) -> Value {
        serde_json::to_value(history.columns("a", step, from)).unwrap()
    }

    fn sample(requests: u64, queued: usize) -> Sample {
        let reading = Reading { requests, ..Reading::default() };
        Sample { reading, queued, ..Sample::default() }
    }

    #[test]
    fn seconds_are_rates_and_minutes_keep_the_greatest_depth() {
        let history = History::default();
        let start = Instant::now();
        for second in 0..=60 {
            let queued = if second == 30 { 7 } else { 0 };
            history.note("a", &sample(second * 10, queued), start + Duration::from_secs(second));
        }
        let seconds = columns(&history, Step::Second, 0);
        assert_eq!((&seconds["rate"], &seconds["next"]), (&json!(vec![10.0; 60]), &json!(60)));
        let minutes = columns(&history, Step::Minute, 0);
        assert_eq!((&minutes["rate"], &minutes["queued"]), (&json!([10.0]), &json!([7])));
        let recent = history.recent("a", &sample(620, 0).reading, start + Duration::from_secs(62));
        assert_eq!((recent.requests_per_s, recent.seconds), (10.0, 12.0));
    }

    #[test]
    fn answers_refusals_and_memory_have_columns() {
        let history = History::default();
        let start = Instant::now();
        for second in 0..=60 {
            // Of the ten requests of each second, two clients leave.
            let answers = [0, second * 2, 0, second, 0];
            let (requests, failed, refused) = (second * 10, second * 5, second * 3);
            let reading = Reading { requests, answers, failed, refused, ..Reading::default() };
            let server =
                ServerSample { memory_kib: Some(10), memory_used_kib: Some(20 + second % 30), memory_limit_kib: None };
            let sample = Sample { reading, memory_kib: (second > 40).then_some(second), server, ..Sample::default() };
            history.note("a", &sample, start + Duration::from_secs(second));
        }
        let minutes = columns(&history, Step::Minute, 0);
        for (name, rate) in [("error_rate", 5.0), ("refused_rate", 3.0), ("rate", 10.0), ("answered_rate", 3.0)] {
            assert_eq!(minutes[name], json!([rate]), "{name}");
        }
        for (name, kib) in [("memory_kib", 60), ("server_memory_kib", 10), ("memory_used_kib", 49)] {
            assert_eq!(minutes[name], json!([kib]), "{name}");
        }
        // What is not known is null for those who read it, and not 0.
        let seconds = columns(&history, Step::Second, 38);
        assert_eq!(seconds["memory_kib"].as_array().unwrap()[..3], [json!(null), json!(null), json!(41)]);
        assert_eq!(seconds["memory_limit_kib"][0], json!(null));
    }

    #[test]
    fn what_is_new_can_be_asked_for_and_old_points_go() {
        let history = History::default();
        let start = Instant::now();
        for second in 0..=1000 {
            history.note("a", &sample(second, 0), start + Duration::from_secs(second));
        }
        let all = history.columns("a", Step::Second, 0);
        assert_eq!((all.from, all.next, all.points["rate"].len()), (100, 1000, 900));
        let new = history.columns("a", Step::Second, 998);
        assert_eq!((new.from, new.next, new.points["rate"].len()), (998, 1000, 2));
        assert_eq!(history.columns("a", Step::Second, 5000).points["rate"].len(), 900);
        assert_eq!(history.columns("nobody", Step::Minute, 0).next, 0);
    }
}
