//! Counts what becomes of requests: how long they wait and run, and whose fault it is when one fails. One per
//! application; it outlives the engine that counts on it, so that a reload does not set it back.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::counters::Counters;
use crate::fault::Fault;
use crate::recorder::Recorder;

/// Upper bounds of the buckets of the metrics, in microseconds; one more bucket is for what is longer.
pub const BOUNDS_US: [u64; 16] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000, 30_000_000,
];

/// Each of these is counted in this many classes of equal width, so that percentiles are right to within a few percent.
pub const PARTS: usize = 8;

/// Upper bounds of the classes, in microseconds; one more class is for what is longer.
pub const CLASS_BOUNDS_US: [u64; BOUNDS_US.len() * PARTS] = class_bounds();

const CLASSES: usize = CLASS_BOUNDS_US.len() + 1;

const fn class_bounds() -> [u64; BOUNDS_US.len() * PARTS] {
    let mut bounds = [0; BOUNDS_US.len() * PARTS];
    let (mut at, mut lower) = (0, 0);
    while at < bounds.len() {
        let upper = BOUNDS_US[at / PARTS];
        bounds[at] = lower + (upper - lower) * (at % PARTS + 1) as u64 / PARTS as u64;
        at += 1;
        if at.is_multiple_of(PARTS) {
            lower = upper;
        }
    }
    bounds
}

/// Times in classes; after these their sum, in microseconds.
#[derive(Debug, Default)]
pub struct Times {
    counts: Counters<{ CLASSES + 1 }>,
    /// The longest since the start.
    longest_us: AtomicU64,
    /// The longest since it was taken last.
    peak_us: AtomicU64,
}

impl Times {
    /// Counts one.
    pub fn add(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.counts.add(CLASS_BOUNDS_US.partition_point(|bound| *bound < us), 1);
        self.counts.add(CLASSES, us);
        // Most are not longer than others: they only read.
        for longest in [&self.peak_us, &self.longest_us] {
            if us > longest.load(Relaxed) {
                longest.fetch_max(us, Relaxed);
            }
        }
    }

    /// How many are in each class, and the sum of all in microseconds.
    pub fn read(&self) -> ([u64; CLASSES], u64) {
        let all = self.counts.read();
        let mut counts = [0; CLASSES];
        counts.copy_from_slice(&all[..CLASSES]);
        (counts, all[CLASSES])
    }

    /// The longest since the start, in microseconds.
    pub fn longest_us(&self) -> u64 {
        self.longest_us.load(Relaxed)
    }

    /// The longest since [`Times::take_peak_us`] was called last, in microseconds.
    pub fn peak_us(&self) -> u64 {
        self.peak_us.load(Relaxed)
    }

    /// The same, and begins anew. For one caller only, which keeps what it is given.
    pub fn take_peak_us(&self) -> u64 {
        self.peak_us.swap(0, Relaxed)
    }
}

/// The counts of one application, and what is kept of single requests.
#[derive(Debug, Default)]
pub struct Meter {
    /// Requests that were slow or failed.
    pub recorder: Recorder,
    /// From the moment a request was whole until it began to run, or was refused.
    pub queue: Times,
    /// From its beginning to its answer.
    pub service: Times,
    /// Answers by the hundreds of their status: 1xx at 0, 5xx at 4.
    answers: Counters<5>,
    /// Requests that had no answer, in the order of [`Fault::NAMES`].
    faults: Counters<{ Fault::NAMES.len() }>,
}

impl Meter {
    /// Counts an answered request.
    pub fn answered(&self, status: u16, queued: Duration, ran: Duration) {
        self.queue.add(queued);
        self.service.add(ran);
        if let class @ 1..=5 = status / 100 {
            self.answers.add(usize::from(class) - 1, 1);
        }
    }

    /// Counts one that had none.
    pub fn failed(&self, fault: &Fault, queued: Duration) {
        self.queue.add(queued);
        if let Some(at) = Fault::NAMES.iter().position(|(name, _)| *name == fault.name()) {
            self.faults.add(at, 1);
        }
    }

    /// How many answers the application gave, by the hundreds of their status: 1xx at 0, 5xx at 4.
    pub fn answers(&self) -> [u64; 5] {
        self.answers.read()
    }

    /// How often each fault happened, in the order of [`Fault::NAMES`].
    pub fn faults(&self) -> [u64; Fault::NAMES.len()] {
        self.faults.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_the_class_whose_bound_they_do_not_pass() {
        let times = Times::default();
        for us in [0, 31, 32, 250, 251, 30_000_000, 30_000_001] {
            times.add(Duration::from_micros(us));
        }
        let (counts, total) = times.read();
        assert_eq!([0, 1, 7, 8, 127, 128].map(|class| counts[class]), [2, 1, 1, 1, 1, 1]);
        assert_eq!(total, 60_000_565);
        assert!(CLASS_BOUNDS_US.is_sorted() && BOUNDS_US.iter().all(|bound| CLASS_BOUNDS_US.contains(bound)));
    }

    #[test]
    fn the_longest_is_kept_and_the_longest_of_late_until_it_is_taken() {
        let times = Times::default();
        for us in [700, 900, 800] {
            times.add(Duration::from_micros(us));
        }
        assert_eq!((times.peak_us(), times.take_peak_us(), times.peak_us()), (900, 900, 0));
        times.add(Duration::from_micros(5));
        assert_eq!((times.peak_us(), times.longest_us()), (5, 900));
    }

    #[test]
    fn answers_are_counted_by_the_hundreds_of_their_status() {
        let meter = Meter::default();
        for status in [101, 200, 204, 404, 500, 599, 0, 1000] {
            meter.answered(status, Duration::ZERO, Duration::ZERO);
        }
        assert_eq!(meter.answers(), [1, 2, 0, 1, 2]);
    }

    #[test]
    fn what_several_threads_count_adds_up() {
        let times = Times::default();
        std::thread::scope(|scope| {
            (0..20).for_each(|_| drop(scope.spawn(|| times.add(Duration::from_micros(100)))));
        });
        assert_eq!((times.read().0.iter().sum::<u64>(), times.read().1), (20, 2000));
    }

    #[test]
    fn every_fault_is_counted_under_its_own_name() {
        let meter = Meter::default();
        meter.failed(&Fault::Stopping, Duration::ZERO);
        let at = Fault::NAMES.iter().position(|(name, _)| *name == "stopping").unwrap();
        assert_eq!(meter.faults()[at], 1);
        assert_eq!(meter.faults().iter().sum::<u64>(), 1);
    }
}
