//! The deadline of whatever the service waits for. The service sets it, and the wire's timer watches it. Both run in
//! one task; an atomic is needed only because the task may move to another thread.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const NONE: u64 = u64::MAX;
const PASSED: u64 = u64::MAX - 1;

/// A deadline: none, a time in nanoseconds, or passed.
#[derive(Debug)]
pub(crate) struct Deadline(AtomicU64);

impl Default for Deadline {
    fn default() -> Deadline {
        Deadline(AtomicU64::new(NONE))
    }
}

impl Deadline {
    /// Sets the deadline.
    pub(crate) fn set(&self, at: u64) {
        self.0.store(at.min(PASSED - 1), Relaxed);
    }

    /// Removes the deadline, even if it has passed.
    pub(crate) fn clear(&self) {
        self.0.store(NONE, Relaxed);
    }

    /// Marks the deadline as passed.
    pub(crate) fn pass(&self) {
        self.0.store(PASSED, Relaxed);
    }

    /// The deadline, if there is one that has not passed.
    pub(crate) fn at(&self) -> Option<u64> {
        Some(self.0.load(Relaxed)).filter(|at| *at < PASSED)
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_passed(&self) -> bool {
        self.0.load(Relaxed) == PASSED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_none_or_a_moment_or_passed() {
        let deadline = Deadline::default();
        let is = |at, is_passed| assert_eq!((deadline.at(), deadline.is_passed()), (at, is_passed));
        is(None, false);
        deadline.set(7);
        is(Some(7), false);
        deadline.pass();
        is(None, true);
        deadline.set(8);
        is(Some(8), false);
        deadline.pass();
        deadline.clear();
        is(None, false);
        // The largest number must not be mistaken for one of the two special values.
        deadline.set(u64::MAX);
        is(Some(u64::MAX - 2), false);
    }
}
