//! What classes of times say: how many, how long in the mean, and below which time so many of a hundred lie.

use engine::Fault;
use engine::fault::Culprit;
use engine::meter::{BOUNDS_US, CLASS_BOUNDS_US, Meter, PARTS, Times};
use serde::Serialize;

const CLASSES: usize = CLASS_BOUNDS_US.len() + 1;

/// How many times lay in each class, their sum, and the longest.
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

/// The same for people.
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
    /// All since the start.
    pub fn read(times: &Times) -> Histogram {
        let (counts, total_us) = times.read();
        Histogram { counts, total_us, longest_us: times.longest_us() }
    }

    /// What came since an earlier reading, none of which was longer than this.
    pub fn since(&self, before: &Histogram, longest_us: u64) -> Histogram {
        let mut counts = self.counts;
        for (count, earlier) in counts.iter_mut().zip(before.counts) {
            *count = count.saturating_sub(earlier);
        }
        Histogram { counts, total_us: self.total_us.saturating_sub(before.total_us), longest_us }
    }

    /// How many in all.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time below which this part of all lies, in milliseconds, within a class in proportion; 0 if there are none.
    /// Never longer than the longest of them.
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

    /// The longest of them, in milliseconds.
    pub fn longest_ms(&self) -> f64 {
        self.longest_us as f64 / 1e3
    }

    /// The upper bound of each bucket in seconds, the last without end, with how many times lie in it.
    pub fn buckets_s(&self) -> Vec<(f64, u64)> {
        let bounds = BOUNDS_US.iter().map(|us| *us as f64 / 1e6).chain([f64::INFINITY]);
        bounds.zip(self.counts.chunks(PARTS).map(|parts| parts.iter().sum())).collect()
    }

    /// In numbers for people.
    pub fn summary(&self) -> Summary {
        let count = self.count();
        let mean_ms = if count == 0 { 0.0 } else { self.total_us as f64 / count as f64 / 1e3 };
        let [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map(|part| rounded(self.quantile_ms(part)));
        let max_ms = rounded(if count == 0 { 0.0 } else { self.longest_ms() });
        Summary { count, mean_ms: rounded(mean_ms), p50_ms, p95_ms, p99_ms, max_ms }
    }
}

/// To a thousandth: what is finer makes JSON long and tells nothing.
pub fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// All that a meter says at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    pub queue: Histogram,
    pub service: Histogram,
    /// The longest since the last look of the history.
    pub peaks: Peaks,
    pub answers: [u64; 5],
    /// Requests that had no answer of the application, for whatever reason but that the client had gone.
    pub failed: u64,
    /// Those among them that were never begun, for want of a place or as the server shuts down.
    pub refused: u64,
    pub gone: u64,
}

/// The longest times of a while, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peaks {
    pub queue_us: u64,
    pub service_us: u64,
}

impl Peaks {
    /// The longer of both.
    pub fn longest(self, other: Peaks) -> Peaks {
        let (queue_us, service_us) = (self.queue_us.max(other.queue_us), self.service_us.max(other.service_us));
        Peaks { queue_us, service_us }
    }
}

impl Reading {
    /// The same for the history, whose next look begins with no peaks.
    pub fn take(meter: &Meter) -> Reading {
        let peaks = Peaks { queue_us: meter.queue.take_peak_us(), service_us: meter.service.take_peak_us() };
        Reading { peaks, ..Reading::of(meter) }
    }

    /// Of a meter, now.
    pub fn of(meter: &Meter) -> Reading {
        let faults = meter.faults();
        let gone = faults[0];
        let failed = faults.iter().sum::<u64>() - gone;
        let of_load = Fault::NAMES.iter().zip(faults).filter(|((_, culprit), _)| *culprit == Culprit::Load);
        let refused = of_load.map(|(_, count)| count).sum();
        let (queue, service) = (Histogram::read(&meter.queue), Histogram::read(&meter.service));
        let peaks = Peaks { queue_us: meter.queue.peak_us(), service_us: meter.service.peak_us() };
        Reading { queue, service, peaks, answers: meter.answers(), failed, refused, gone }
    }

    /// Requests that are over.
    pub fn requests(&self) -> u64 {
        self.answers.iter().sum::<u64>() + self.failed + self.gone
    }

    /// Those that went wrong: no answer, or one that says so.
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
            meter.answered(200, Duration::ZERO, Duration::from_micros(700));
        }
        for _ in 0..10 {
            meter.answered(200, Duration::ZERO, Duration::from_millis(60));
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
        // Of late all were shorter than the longest ever was.
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
    fn a_client_that_went_away_is_no_error() {
        assert_eq!(Fault::NAMES[0].0, "client_gone");
        let meter = Meter::default();
        meter.failed(&Fault::ClientGone, Duration::ZERO);
        meter.failed(&Fault::Stopping, Duration::ZERO);
        meter.answered(503, Duration::ZERO, Duration::ZERO);
        let reading = Reading::of(&meter);
        assert_eq!((reading.requests(), reading.errors(), reading.refused), (3, 2, 1));
    }
}
