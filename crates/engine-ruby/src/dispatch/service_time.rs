//! Estimate of the service time of requests, and the pipelining depth that follows from it: how many requests a worker
//! thread may be sent at once.
//!
//! Pipelining saves system calls where requests are short, and makes a short request wait where it stands behind a long
//! one. So it is done only while nearly all requests are short.

use std::time::Duration;

/// The service time above which a request counts as long.
pub const LONG: Duration = Duration::from_millis(1);
/// The share of long requests above which there is no pipelining. One in fifty looks long on a busy machine because the
/// processor ran something else.
const LONG_SHARE_MAX: f32 = 0.03;
/// The total service time of the requests that a worker thread is sent at once.
const BATCH: Duration = Duration::from_micros(500);
/// The largest pipelining depth; more saves nothing further.
const DEPTH_MAX: usize = 4;

/// The number of recent requests that the mean service time is of.
const KNOWN: u32 = 64;
/// The number of requests from which there is a mean service time.
const FEW: u32 = 16;
/// Longer service times, as those of streams, count as this in the mean.
const WHOLE_MAX: Duration = Duration::from_secs(1);
/// A service time counts as at most this many times the mean: a few that wait for long must not hide what most take.
const TIMES_MEAN: u32 = 8;

/// Moving averages of service times; each request weighs a few hundredths.
#[derive(Debug)]
pub struct ServiceTime {
    long_share: f32,
    /// Mean for the pipelining depth: longer times than [`LONG`] count as that.
    mean_us: f32,
    /// Mean service time, in which long times count for less: see [`WHOLE_MAX`] and [`TIMES_MEAN`].
    whole_mean: Duration,
    /// Number of times in that mean, up to [`KNOWN`].
    observed: u32,
}

impl ServiceTime {
    /// Creates an estimate that takes all requests to be long until they are observed.
    pub fn new() -> ServiceTime {
        ServiceTime { long_share: 1.0, mean_us: BATCH.as_micros() as f32, whole_mean: Duration::ZERO, observed: 0 }
    }

    /// Adds one service time to the averages.
    pub fn observe(&mut self, took: Duration) {
        let long = if took > LONG { 1.0 } else { 0.0 };
        self.long_share += (long - self.long_share) / 64.0;
        let us = took.min(LONG).as_secs_f32() * 1e6;
        self.mean_us += (us - self.mean_us) / 32.0;
        // The first requests all weigh the same: a moving average that began at 0 would be too low for long.
        let most = self.mean().map_or(WHOLE_MAX, |mean| WHOLE_MAX.min(mean * TIMES_MEAN));
        self.observed = (self.observed + 1).min(KNOWN);
        self.whole_mean = (self.whole_mean * (self.observed - 1) + took.min(most)) / self.observed;
    }

    /// Returns the mean service time; none before the first [`FEW`] requests.
    pub fn mean(&self) -> Option<Duration> {
        (self.observed >= FEW).then_some(self.whole_mean)
    }

    /// Notes that a request that still runs has turned out to be long.
    pub fn note_long(&mut self) {
        self.long_share = self.long_share.max(2.0 * LONG_SHARE_MAX);
    }

    /// Returns how many requests a worker thread may hold, the running one included.
    pub fn depth(&self) -> usize {
        if self.long_share > LONG_SHARE_MAX {
            return 1;
        }
        let ratio = BATCH.as_secs_f32() * 1e6 / self.mean_us.max(1.0);
        (ratio as usize).clamp(1, DEPTH_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(times: &[(Duration, usize)]) -> ServiceTime {
        let mut estimated = ServiceTime::new();
        for (took, count) in times {
            (0..*count).for_each(|_| estimated.observe(*took));
        }
        estimated
    }

    #[test]
    fn only_many_short_requests_in_a_row_are_pipelined() {
        let short = Duration::from_micros(50);
        assert_eq!(ServiceTime::new().depth(), 1);
        assert_eq!(estimate(&[(short, 10)]).depth(), 1);
        assert_eq!(estimate(&[(short, 1000)]).depth(), 4);
        assert_eq!(estimate(&[(short, 1000), (Duration::from_millis(100), 3)]).depth(), 1);
        assert_eq!(estimate(&[(Duration::from_micros(300), 1000)]).depth(), 1);
    }

    #[test]
    fn the_mean_is_of_whole_times() {
        let mean = |times: &[(Duration, usize)]| estimate(times).mean().map(|mean| mean.as_millis());
        assert_eq!(mean(&[(Duration::from_millis(100), 15)]), None);
        assert_eq!(mean(&[(Duration::from_millis(100), 20)]), Some(100));
        let short = (Duration::from_millis(10), 1000);
        assert_eq!(mean(&[short, (Duration::from_millis(74), 1)]), Some(11));
        assert_eq!(mean(&[short, (Duration::from_secs(600), 1)]), Some(11), "a stream");
        assert_eq!(mean(&[short, (Duration::from_millis(100), 1000)]), Some(99), "all have become longer");
    }

    #[test]
    fn one_that_is_long_while_it_runs_counts_at_once() {
        let mut estimated = estimate(&[(Duration::from_micros(50), 1000)]);
        estimated.note_long();
        assert_eq!(estimated.depth(), 1);
    }

    #[test]
    fn a_single_long_request_ends_no_pipelining_and_one_that_was_noted_is_soon_forgotten() {
        let short = Duration::from_micros(50);
        let mut estimated = estimate(&[(short, 1000), (Duration::from_millis(100), 1)]);
        assert_eq!(estimated.depth(), 4);
        estimated.note_long();
        (0..100).for_each(|_| estimated.observe(short));
        assert_eq!(estimated.depth(), 4);
    }
}
