//! The moment by which the service must have what it waits for. The service sets it, the wire's timer watches it, and
//! both are in one task: an atomic is needed only because the task may change its thread.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const NONE: u64 = u64::MAX;
const PASSED: u64 = u64::MAX - 1;

/// None, a moment in nanoseconds, or passed.
#[derive(Debug)]
pub(crate) struct Deadline(AtomicU64);

impl Default for Deadline {
    fn default() -> Deadline {
        Deadline(AtomicU64::new(NONE))
    }
}

impl Deadline {
    /// Waits until this moment from now on.
    pub(crate) fn set(&self, at: u64) {
        self.0.store(at.min(PASSED - 1), Relaxed);
    }

    /// Waits for nothing from now on, however late the last wait was.
    pub(crate) fn clear(&self) {
        self.0.store(NONE, Relaxed);
    }

    /// What was waited for did not come in time.
    pub(crate) fn pass(&self) {
        self.0.store(PASSED, Relaxed);
    }

    /// Until when something is waited for.
    pub(crate) fn at(&self) -> Option<u64> {
        Some(self.0.load(Relaxed)).filter(|at| *at < PASSED)
    }

    /// Whether what is waited for is late.
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
        // Never taken for one of the others.
        deadline.set(u64::MAX);
        is(Some(u64::MAX - 2), false);
    }
}
