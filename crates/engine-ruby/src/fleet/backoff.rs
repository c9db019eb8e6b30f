//! The pauses before workers are started again: a boot that fails is not retried without growing pauses, while a worker
//! that exited after it was ready is replaced at once.

use std::mem;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The number of immediate replacements, and the time after which there may be one more.
const BURST: u32 = 20;
const REFILL: Duration = Duration::from_millis(50);

/// The restart pauses of one application.
#[derive(Debug)]
pub struct Backoff {
    failures: u32,
    /// The end of the pause after failed boots.
    not_before: Option<Instant>,
    /// The end of the pause after too many immediate replacements.
    rests_until: Option<Instant>,
    left: u32,
    filled: Instant,
}

impl Backoff {
    /// Creates the state before any failure.
    pub fn new(now: Instant) -> Backoff {
        Backoff { failures: 0, not_before: None, rests_until: None, left: BURST, filled: now }
    }

    /// Notes that a worker or a mold ended before it was ready, and returns the pause that follows. Several failures
    /// within one pause count as one.
    pub fn failed(&mut self, now: Instant) -> Duration {
        let pending = left_until(self.not_before, now);
        if !pending.is_zero() {
            return pending;
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
        self.failures += 1;
        self.not_before = Some(now + pause);
        pause
    }

    /// Notes that a worker is ready, which ends the pauses after failed boots. Returns whether starts had failed since
    /// the last one.
    pub fn worked(&mut self) -> bool {
        self.not_before = None;
        mem::take(&mut self.failures) > 0
    }

    /// Notes that a ready worker ended: its successor takes one of the immediate replacements.
    pub fn replaced(&mut self, now: Instant) {
        let refills = now.saturating_duration_since(self.filled).as_millis() / REFILL.as_millis();
        if refills > 0 {
            let refills = u32::try_from(refills).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(refills).min(BURST);
            // Time that makes no whole refill counts for the next one.
            self.filled = self.filled.checked_add(REFILL.saturating_mul(refills)).unwrap_or(now);
        }
        self.left = self.left.saturating_sub(1);
        // Further ends do not prolong the pause: workers that end all the time would have no successors.
        if self.left == 0 && left_until(self.rests_until, now).is_zero() {
            self.rests_until = Some(now + FIRST_PAUSE);
        }
    }

    /// Returns how long the next start must wait.
    pub fn pause(&self, now: Instant) -> Duration {
        left_until(self.not_before, now).max(left_until(self.rests_until, now))
    }
}

fn left_until(end: Option<Instant>, now: Instant) -> Duration {
    end.map_or(Duration::ZERO, |end| end.saturating_duration_since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_boots_are_tried_less_and_less_often_until_one_works() {
        let mut now = Instant::now();
        let mut backoff = Backoff::new(now);
        let mut fail = || {
            let pause = backoff.failed(now);
            // Another worker that fails meanwhile.
            assert_eq!(backoff.failed(now), pause);
            now += pause;
            pause.as_millis() as u64
        };
        let pauses: Vec<u64> = (0..12).map(|_| fail()).collect();
        assert_eq!(pauses[..4], [100, 200, 400, 800]);
        assert_eq!(pauses[11], 30_000);
        backoff.failed(now);
        assert_eq!(backoff.pause(now), LONGEST_PAUSE);
        assert_eq!([backoff.worked(), backoff.worked()], [true, false]);
        assert_eq!(backoff.pause(now), Duration::ZERO);
    }

    #[test]
    fn time_that_is_no_whole_refill_counts_for_the_next_one() {
        let start = Instant::now();
        let mut backoff = Backoff::new(start);
        // Three refills for four ends: 44 by the sixtieth, beside the burst of 20.
        (0..60).for_each(|ends| backoff.replaced(start + REFILL * 3 * ends / 4));
        assert_eq!(backoff.left, 4);
    }

    #[test]
    fn killed_workers_are_replaced_at_once_but_not_without_end() {
        let now = Instant::now();
        let mut backoff = Backoff::new(now);
        (0..BURST - 1).for_each(|_| backoff.replaced(now));
        assert_eq!(backoff.pause(now), Duration::ZERO);
        backoff.replaced(now);
        assert_eq!(backoff.pause(now), FIRST_PAUSE);
    }

    /// Where several workers end as soon as they are ready, one of them is always ready.
    #[test]
    fn the_pause_after_too_many_replacements_ends_neither_with_the_next_ready_worker_nor_later_than_that() {
        let now = Instant::now();
        let mut backoff = Backoff::new(now);
        (0..BURST).for_each(|_| backoff.replaced(now));
        assert_eq!((backoff.failed(now), backoff.worked()), (FIRST_PAUSE, true));
        let half = FIRST_PAUSE / 2;
        backoff.replaced(now + half);
        assert_eq!([half, FIRST_PAUSE].map(|passed| backoff.pause(now + passed)), [half, Duration::ZERO]);
    }

    #[test]
    fn a_long_quiet_time_saves_up_no_more_immediate_replacements() {
        let start = Instant::now();
        let mut backoff = Backoff::new(start);
        let later = start + Duration::from_secs(3600);
        (0..BURST - 1).for_each(|_| backoff.replaced(later));
        assert_eq!(backoff.pause(later), Duration::ZERO);
        backoff.replaced(later);
        assert_eq!(backoff.pause(later), FIRST_PAUSE);
    }
}
