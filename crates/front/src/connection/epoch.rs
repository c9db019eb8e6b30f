//! Which request of a connection an engine's thread may leave something for: early hints, or a take-over. A response
//! that begins is the end of an epoch, and what comes later is for nobody.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// The lowest bit: something is left.
const LEFT: u64 = 1;
const NEXT: u64 = 2;

/// The number of the epoch, and whether something is left, in one: so either an engine's thread sees that its epoch is
/// over, or who ends it sees that something is left.
#[derive(Debug, Default)]
pub(crate) struct Epoch(AtomicU64);

impl Epoch {
    /// The number of the present one.
    pub(crate) fn number(&self) -> u64 {
        self.0.load(Relaxed) / NEXT
    }

    /// Says that something is left; whether the epoch of this number is the present one.
    pub(crate) fn leave(&self, number: u64) -> bool {
        self.0.fetch_or(LEFT, SeqCst) / NEXT == number
    }

    /// Ends the epoch; whether something is left.
    pub(crate) fn end(&self) -> bool {
        self.0.fetch_add(NEXT, SeqCst) & LEFT != 0
    }

    pub(crate) fn is_left(&self) -> bool {
        self.0.load(SeqCst) & LEFT != 0
    }

    /// All that was left is taken. To be said under the lock of what was left.
    pub(crate) fn is_taken(&self) {
        self.0.fetch_and(!LEFT, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_after_the_end_is_for_nobody() {
        let epoch = Epoch::default();
        let first = epoch.number();
        assert!(!epoch.is_left() && epoch.leave(first) && epoch.is_left());
        assert_eq!(epoch.number(), first);
        assert!(epoch.end(), "something is left for the one that ends");
        assert!(epoch.is_left() && !epoch.leave(first));
        epoch.is_taken();
        let second = epoch.number();
        assert!(second != first && !epoch.is_left() && !epoch.end());
        assert!(!epoch.leave(second) && epoch.leave(second + 1));
    }
}
