//! What classes of times say: how many, how long in the mean, and below which time so many of a hundred lie.

use engine::Fault;
use engine::fault::Culprit;
use engine::meter::{BOUNDS_US, Meter, Times};
use serde::Serialize;

const CLASSES: usize = BOUNDS_US.len() + 1;

/// How many times lay in each class, and their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Classes {
    pub counts: [u64; CLASSES],
    pub total_us: u64,
}

/// The same for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    pub count: u64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
}

impl Classes {
    /// All since the start.
    pub fn read(times: &Times) -> Classes {
        let (counts, total_us) = times.read();
        Classes { counts, total_us }
    }

    /// What came since an earlier reading.
    pub fn since(&self, before: &Classes) -> Classes {
        let mut counts = self.counts;
        for (count, earlier) in counts.iter_mut().zip(before.counts) {
            *count = count.saturating_sub(earlier);
        }
        Classes { counts, total_us: self.total_us.saturating_sub(before.total_us) }
    }

    /// How many in all.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The time below which this part of all lies, in milliseconds, within a class in proportion; 0 if there are none.
    /// Beyond the last bound nothing is known: then it is that bound.
    pub fn quantile_ms(&self, part: f64) -> f64 {
        let rank = part * self.count() as f64;
        let (mut below, mut lower) = (0.0, 0.0);
        for (class, count) in self.counts.iter().enumerate() {
            let Some(upper) = BOUNDS_US.get(class).map(|us| *us as f64 / 1e3) else { break };
            let count = *count as f64;
            if count > 0.0 && below + count >= rank {
                return lower + (upper - lower) * ((rank - below) / count).clamp(0.0, 1.0);
            }
            below += count;
            lower = upper;
        }
        if self.count() == 0 { 0.0 } else { lower }
    }

    /// Each upper bound in seconds, the last without end, with how many times lie in its class.
    pub fn bounded_s(&self) -> Vec<(f64, u64)> {
        let bounds = BOUNDS_US.iter().map(|us| *us as f64 / 1e6).chain([f64::INFINITY]);
        bounds.zip(self.counts).collect()
    }

    /// In numbers for people.
    pub fn summary(&self) -> Summary {
        let count = self.count();
        let mean_ms = if count == 0 { 0.0 } else { self.total_us as f64 / count as f64 / 1e3 };
        let [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map(|part| rounded(self.quantile_ms(part)));
        Summary { count, mean_ms: rounded(mean_ms), p50_ms, p95_ms, p99_ms }
    }
}

/// To a thousandth: what is finer makes JSON long and tells nothing.
pub fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// All that a meter says at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    pub queue: Classes,
    pub service: Classes,
    pub answers: [u64; 5],
    /// Requests that had no answer of the application, for whatever reason but that the client had gone.
    pub failed: u64,
    /// Those among them that were never begun, for want of a place or as the server shuts down.
    pub refused: u64,
    pub gone: u64,
}

impl Reading {
    /// Of a meter, now.
    pub fn of(meter: &Meter) -> Reading {
        let faults = meter.faults();
        let gone = faults[0];
        let failed = faults.iter().sum::<u64>() - gone;
        let of_load = Fault::NAMES.iter().zip(faults).filter(|((_, culprit), _)| *culprit == Culprit::Load);
        let refused = of_load.map(|(_, count)| count).sum();
        let (queue, service) = (Classes::read(&meter.queue), Classes::read(&meter.service));
        Reading { queue, service, answers: meter.answers(), failed, refused, gone }
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
        let summary = Classes::read(&meter.service).summary();
        assert_eq!(summary.count, 100);
        assert!((0.5..=1.0).contains(&summary.p50_ms), "{summary:?}");
        assert!((50.0..=100.0).contains(&summary.p95_ms) && summary.p99_ms > summary.p95_ms, "{summary:?}");
        assert!((summary.mean_ms - 6.63).abs() < 0.01, "{summary:?}");
    }

    #[test]
    fn none_is_zero_and_what_is_beyond_all_bounds_is_the_last_bound() {
        assert_eq!(Classes::default().summary(), Summary::default());
        let times = Times::default();
        times.add(Duration::from_secs(100));
        assert_eq!(Classes::read(&times).quantile_ms(0.5), 30_000.0);
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
