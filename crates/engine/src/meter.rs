//! Counts of requests by outcome, and histograms of how long they wait and run. Each application has one meter, which
//! outlives the engine that counts in it, so that a reload does not reset the numbers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::counters::Counters;
use crate::fault::Fault;
use crate::recorder::Recorder;
use crate::snapshot::Past;

/// Upper bounds of the histogram buckets in the metrics, in microseconds; a last bucket has no bound.
pub const BOUNDS_US: [u64; 16] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000, 30_000_000,
];

/// Number of equal classes in which each bucket is counted, so that percentiles are accurate to a few percent.
pub const PARTS: usize = 8;

/// Upper bounds of the classes, in microseconds; a last class has no bound.
pub const CLASS_BOUNDS_US: [u64; BOUNDS_US.len() * PARTS] = class_bounds();

const CLASSES: usize = CLASS_BOUNDS_US.len() + 1;

/// Maximum number of requests that a meter keeps as given up; one more replaces the oldest.
const GIVEN_UP_MOST: usize = 1024;

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

/// A histogram of durations. The counter after those of the classes is the sum, in microseconds.
#[derive(Debug, Default)]
pub struct Times {
    counts: Counters<{ CLASSES + 1 }>,
    /// The longest duration since the start.
    longest_us: AtomicU64,
    /// The longest duration since the last [`Times::take_peak_us`].
    peak_us: AtomicU64,
}

impl Times {
    /// Counts a duration.
    pub fn add(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.counts.add(CLASS_BOUNDS_US.partition_point(|bound| *bound < us), 1);
        self.counts.add(CLASSES, us);
        // Most durations are not the longest, so most calls only read.
        for longest in [&self.peak_us, &self.longest_us] {
            if us > longest.load(Relaxed) {
                longest.fetch_max(us, Relaxed);
            }
        }
    }

    /// The number of durations in each class, and the sum of all durations in microseconds.
    pub fn read(&self) -> ([u64; CLASSES], u64) {
        let all = self.counts.read();
        let mut counts = [0; CLASSES];
        counts.copy_from_slice(&all[..CLASSES]);
        (counts, all[CLASSES])
    }

    /// The longest duration since the start, in microseconds.
    pub fn longest_us(&self) -> u64 {
        self.longest_us.load(Relaxed)
    }

    /// The longest duration since the last [`Times::take_peak_us`], in microseconds.
    pub fn peak_us(&self) -> u64 {
        self.peak_us.load(Relaxed)
    }

    /// Returns [`Times::peak_us`] and resets it. Only one caller may do this.
    pub fn take_peak_us(&self) -> u64 {
        self.peak_us.swap(0, Relaxed)
    }
}

/// Index of a status's class: 0 for 1xx, 4 for 5xx. A status above 599 counts as 5xx, since clients process it as one
/// (RFC 9110 section 15). `None` below 100.
pub fn class_of(status: u16) -> Option<usize> {
    usize::from(status / 100).checked_sub(1).map(|class| class.min(4))
}

/// The counts of one application, and its flight recorder.
#[derive(Debug, Default)]
pub struct Meter {
    /// Recent requests that were slow, failed or refused.
    pub recorder: Recorder,
    /// Time from the last byte of the request until it began to run, or left the queue without that. Those that were
    /// refused at once are not among them.
    pub queue: Times,
    /// Time from the beginning of a request to its response.
    pub service: Times,
    /// Responses by class of status: 1xx at index 0, 5xx at 4.
    answers: Counters<5>,
    /// Requests without a response, in the order of [`Fault::NAMES`].
    faults: Counters<{ Fault::NAMES.len() }>,
    /// Requests that were refused at once, or given up.
    turned_away: Counters<1>,
    /// The times when those requests were complete that the front has given up and their engine has not ended yet.
    given_up: Mutex<Vec<Instant>>,
}

impl Meter {
    /// Adds the times of a request: how long it waited, and how long it ran if it was answered.
    pub fn add_times(&self, queued: Duration, ran: Option<Duration>) {
        self.queue.add(queued);
        if let Some(ran) = ran {
            self.service.add(ran);
        }
    }

    /// Counts a request that was refused at once: it has neither waited nor run.
    pub fn turn_away(&self) {
        self.turned_away.add(0, 1);
    }

    /// Counts and records a request with this fault that no engine gets, since its body was not accepted; `about` gives
    /// its identity.
    pub fn refuse(&self, fault: &Fault, about: impl FnOnce() -> Past) {
        self.turn_away();
        self.failed(fault);
        self.recorder.note(Err(fault), Duration::ZERO, Duration::ZERO, about);
    }

    /// Counts and records a request that the front has given up with this fault ([`crate::Reply::give_up`]). Its time
    /// in the queue is unknown, and recorded as zero. `about` gives its identity.
    pub(crate) fn give_up(&self, fault: &Fault, complete: Instant, about: impl FnOnce() -> Past) {
        self.turn_away();
        self.failed(fault);
        self.recorder.note(Err(fault), Duration::ZERO, complete.elapsed(), about);
    }

    /// Notes that the front gives up the request that was complete at this time, so that its engine does not count it.
    pub(crate) fn note_given_up(&self, complete: Instant) {
        let mut given_up = self.given_up.lock();
        if given_up.len() == GIVEN_UP_MOST {
            given_up.remove(0);
        }
        given_up.push(complete);
    }

    /// Whether the front has given up the request that was complete at this time. True once.
    pub(crate) fn takes_given_up(&self, complete: Instant) -> bool {
        let mut given_up = self.given_up.lock();
        let found = given_up.iter().position(|other| *other == complete);
        found.map(|at| given_up.remove(at)).is_some()
    }

    /// The number of requests that were refused at once, or given up.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.read().iter().sum()
    }

    /// Counts a request that was answered.
    pub fn answered(&self, status: u16) {
        if let Some(class) = class_of(status) {
            self.answers.add(class, 1);
        }
    }

    /// Counts a request that ended in a fault.
    pub fn failed(&self, fault: &Fault) {
        if let Some(at) = Fault::NAMES.iter().position(|(name, _)| *name == fault.name()) {
            self.faults.add(at, 1);
        }
    }

    /// The number of responses by class of status: 1xx at index 0, 5xx at 4.
    pub fn answers(&self) -> [u64; 5] {
        self.answers.read()
    }

    /// The number of each fault, in the order of [`Fault::NAMES`].
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
    fn a_request_that_left_the_queue_has_waited_and_not_run_and_one_that_was_turned_away_neither() {
        let meter = Meter::default();
        meter.add_times(Duration::from_millis(5), None);
        meter.add_times(Duration::from_millis(1), Some(Duration::from_millis(7)));
        let counted = |times: &Times| (times.read().0.iter().sum::<u64>(), times.read().1);
        meter.turn_away();
        assert_eq!((counted(&meter.queue), counted(&meter.service)), ((2, 6000), (1, 7000)));
        assert_eq!(meter.turned_away(), 1);
    }

    #[test]
    fn a_request_whose_body_is_refused_is_over_and_counted_and_recorded_and_has_not_waited() {
        let meter = Meter::default();
        let faults =
            [Fault::BodyTooLarge, Fault::DiskFull("no space".to_owned()), Fault::OutOfFiles, Fault::ClientGone];
        for fault in &faults {
            meter.refuse(fault, || Past { id: fault.name().to_owned(), ..Past::default() });
        }
        assert_eq!((meter.turned_away(), meter.queue.read().0.iter().sum::<u64>()), (4, 0));
        for (at, (name, _)) in Fault::NAMES.iter().enumerate() {
            assert_eq!(meter.faults()[at] == 1, faults.iter().any(|fault| fault.name() == *name), "{name}");
        }
        let recorded = meter.recorder.read();
        let failed: Vec<&str> = recorded.failed.iter().map(|past| past.id.as_str()).collect();
        assert_eq!((failed, recorded.refused.len()), (vec!["disk_full", "body_too_large"], 1));
        assert!(recorded.failed[0].why.contains("no space"), "{recorded:?}");
    }

    #[test]
    fn answers_are_counted_by_the_hundreds_of_their_status() {
        let meter = Meter::default();
        for status in [100, 299, 200, 404, 500, 599, 0, 99] {
            meter.answered(status);
        }
        assert_eq!(meter.answers(), [1, 2, 0, 1, 2]);
        for status in [600, 999] {
            meter.answered(status);
        }
        assert_eq!(meter.answers(), [1, 2, 0, 1, 4], "to a client they are server errors");
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
        meter.failed(&Fault::Stopping);
        let at = Fault::NAMES.iter().position(|(name, _)| *name == "stopping").unwrap();
        assert_eq!(meter.faults()[at], 1);
        assert_eq!(meter.faults().iter().sum::<u64>(), 1);
    }
}
