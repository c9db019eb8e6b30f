//! Histograms of durations: counts, mean and quantiles.

use engine::Fault;
use engine::fault::Culprit;
use engine::meter::{BOUNDS_US, CLASS_BOUNDS_US, Meter, PARTS, Times};
use serde::Serialize;

const CLASSES: usize = CLASS_BOUNDS_US.len() + 1;

/// The count of durations in each class of [`CLASS_BOUNDS_US`], their sum and their maximum, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram {
    pub counts: [u64; CLASSES],
    pub total_us: u64,
    pub longest_us: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: [0; CLASSES], total_us: 0, longest_us: 0 }
    }
}

/// Count, mean, quantiles and maximum, in milliseconds, as the control API prints them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    pub count: u64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Histogram {
    /// All durations since the start.
    pub fn read(times: &Times) -> Histogram {
        let (counts, total_us) = times.read();
        Histogram { counts, total_us, longest_us: times.longest_us() }
    }

    /// The durations since an earlier reading; `longest_us` is their maximum.
    pub fn since(&self, before: &Histogram, longest_us: u64) -> Histogram {
        let mut counts = self.counts;
        for (count, earlier) in counts.iter_mut().zip(before.counts) {
            *count = count.saturating_sub(earlier);
        }
        Histogram { counts, total_us: self.total_us.saturating_sub(before.total_us), longest_us }
    }

    /// Count of durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The quantile `part` (0 to 1) in milliseconds, interpolated within its class; at most the maximum; 0 without
    /// durations.
    pub fn quantile_ms(&self, part: f64) -> f64 {
        if self.count() == 0 {
            return 0.0;
        }
        let rank = part * self.count() as f64;
        let longest = self.longest_ms();
        let (mut below, mut lower) = (0.0, 0.0);
        for (class, count) in self.counts.iter().enumerate() {
            let upper = CLASS_BOUNDS_US.get(class).map_or(f64::INFINITY, |us| *us as f64 / 1e3).min(longest);
            let count = *count as f64;
            if count > 0.0 && below + count >= rank {
                return (lower + (upper - lower) * ((rank - below) / count).clamp(0.0, 1.0)).min(longest);
            }
            below += count;
            lower = upper;
        }
        longest
    }

    /// The maximum in milliseconds.
    pub fn longest_ms(&self) -> f64 {
        self.longest_us as f64 / 1e3
    }

    /// Upper bound of each bucket in seconds, the last infinite, and the count of durations in it.
    pub fn buckets_s(&self) -> Vec<(f64, u64)> {
        let bounds = BOUNDS_US.iter().map(|us| *us as f64 / 1e6).chain([f64::INFINITY]);
        bounds.zip(self.counts.chunks(PARTS).map(|parts| parts.iter().sum())).collect()
    }

    /// The same as a [`Summary`].
    pub fn summary(&self) -> Summary {
        let count = self.count();
        let mean_ms = if count == 0 { 0.0 } else { self.total_us as f64 / count as f64 / 1e3 };
        let [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map(|part| rounded(self.quantile_ms(part)));
        let max_ms = rounded(if count == 0 { 0.0 } else { self.longest_ms() });
        Summary { count, mean_ms: rounded(mean_ms), p50_ms, p95_ms, p99_ms, max_ms }
    }
}

/// Rounds to a thousandth: more digits only lengthen the JSON.
pub fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// All counters of an application's meter at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    pub queue: Histogram,
    pub service: Histogram,
    /// Maximum durations since the history's last sample.
    pub peaks: Peaks,
    /// Requests that are over, each once: answered, failed, refused, or left by their clients before that. A response
    /// that breaks off counts in `answers` by its status, and in `failed` by its fault.
    pub requests: u64,
    pub answers: [u64; 5],
    /// Requests without an answer of the application, except those whose client is at fault: it went away, or sent a
    /// body that is not accepted.
    pub failed: u64,
    /// Requests among `failed` that met a limit: the queue was full or timed out, the server was shutting down, or no
    /// file could be opened for a large body or for the response.
    pub refused: u64,
}

/// Maximum queue and service times of a period, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peaks {
    pub queue_us: u64,
    pub service_us: u64,
}

impl Peaks {
    /// The greater of both, for each time.
    pub fn longest(self, other: Peaks) -> Peaks {
        let (queue_us, service_us) = (self.queue_us.max(other.queue_us), self.service_us.max(other.service_us));
        Peaks { queue_us, service_us }
    }
}

impl Reading {
    /// A reading for the history, which resets the maxima for the next sample.
    pub fn take(meter: &Meter) -> Reading {
        let peaks = Peaks { queue_us: meter.queue.take_peak_us(), service_us: meter.service.take_peak_us() };
        Reading { peaks, ..Reading::of(meter) }
    }

    /// A reading of a meter.
    pub fn of(meter: &Meter) -> Reading {
        let faults = meter.faults();
        let by = |whose: Culprit| {
            let theirs = Fault::NAMES.iter().zip(faults).filter(|((_, culprit), _)| *culprit == whose);
            theirs.map(|(_, count)| count).sum::<u64>()
        };
        let (failed, refused) = (faults.iter().sum::<u64>() - by(Culprit::Client), by(Culprit::Load));
        let (queue, service) = (Histogram::read(&meter.queue), Histogram::read(&meter.service));
        let peaks = Peaks { queue_us: meter.queue.peak_us(), service_us: meter.service.peak_us() };
        let requests = queue.count() + meter.turned_away();
        Reading { queue, service, peaks, requests, answers: meter.answers(), failed, refused }
    }

    /// Requests that were answered with a status below 500.
    pub fn answered(&self) -> u64 {
        self.answers[..4].iter().sum()
    }

    /// Requests that failed: without an answer, or answered with 5xx.
    pub fn errors(&self) -> u64 {
        self.answers[4] + self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn quantiles_lie_within_their_class() {
        let meter = Meter::default();
        for _ in 0..90 {
            meter.add_times(Duration::ZERO, Some(Duration::from_micros(700)));
        }
        for _ in 0..10 {
            meter.add_times(Duration::ZERO, Some(Duration::from_millis(60)));
        }
        let summary = Histogram::read(&meter.service).summary();
        assert_eq!(summary.count, 100);
        assert!((0.687..=0.75).contains(&summary.p50_ms), "{summary:?}");
        assert!((56.25..=60.0).contains(&summary.p95_ms) && summary.p99_ms > summary.p95_ms, "{summary:?}");
        assert!((summary.mean_ms - 6.63).abs() < 0.01, "{summary:?}");
    }

    #[test]
    fn no_percentile_is_longer_than_any_time_that_was() {
        let times = Times::default();
        (0..100).for_each(|_| times.add(Duration::from_millis(1010)));
        let now = Histogram::read(&times);
        let summary = now.summary();
        assert!(summary.p99_ms <= 1010.0 && summary.p50_ms > 1000.0, "{summary:?}");
        assert_eq!((summary.max_ms, now.quantile_ms(1.0)), (1010.0, 1010.0));
        // All recent durations were shorter than the maximum since the start.
        let before = now;
        times.add(Duration::from_millis(1100));
        assert!(Histogram::read(&times).since(&before, 1_100_000).summary().p99_ms <= 1100.0);
    }

    #[test]
    fn none_is_zero_and_what_is_beyond_all_bounds_is_the_longest() {
        assert_eq!(Histogram::default().summary(), Summary::default());
        let times = Times::default();
        times.add(Duration::from_secs(100));
        assert_eq!(Histogram::read(&times).quantile_ms(1.0), 100_000.0);
    }

    #[test]
    fn a_client_that_went_away_or_sent_too_much_is_no_error_and_no_answer() {
        let meter = Meter::default();
        meter.failed(&Fault::ClientGone);
        meter.failed(&Fault::BodyTooLarge);
        meter.failed(&Fault::Stopping);
        meter.answered(503);
        meter.answered(404);
        let reading = Reading::of(&meter);
        assert_eq!((reading.answered(), reading.errors(), reading.refused), (1, 2, 1));
    }

    /// Of a stream that its client leaves, say, the status counts, and then the fault.
    #[test]
    fn a_request_counts_once_whatever_becomes_of_it_and_also_if_it_is_refused_at_once() {
        let meter = Meter::default();
        meter.add_times(Duration::ZERO, Some(Duration::ZERO));
        meter.answered(200);
        meter.failed(&Fault::ClientGone);
        meter.turn_away();
        meter.failed(&Fault::QueueFull(1));
        let reading = Reading::of(&meter);
        assert_eq!((reading.requests, reading.queue.count(), reading.refused), (2, 1, 1));
    }
}
