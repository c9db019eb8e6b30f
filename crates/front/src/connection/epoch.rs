//! The epoch of a request, during which an engine's thread may leave out-of-band items for the connection: early hints,
//! or a takeover. The epoch ends when a response begins; items for an earlier epoch are discarded.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// The lowest bit: an item was left.
const LEFT: u64 = 1;
const NEXT: u64 = 2;

/// The number of the epoch and the flag of an item that was left, in one atomic. So either an engine's thread sees that
/// its epoch has ended, or the connection's task, which ends it, sees the flag.
#[derive(Debug, Default)]
pub(crate) struct Epoch(AtomicU64);

impl Epoch {
    /// Number of the current epoch.
    pub(crate) fn number(&self) -> u64 {
        self.0.load(Relaxed) / NEXT
    }

    /// Sets the flag. Returns whether the epoch with this number is the current one.
    pub(crate) fn leave(&self, number: u64) -> bool {
        self.0.fetch_or(LEFT, SeqCst) / NEXT == number
    }

    /// Ends the epoch. Returns whether the flag is set.
    pub(crate) fn end(&self) -> bool {
        self.0.fetch_add(NEXT, SeqCst) & LEFT != 0
    }

    pub(crate) fn is_left(&self) -> bool {
        self.0.load(SeqCst) & LEFT != 0
    }

    /// Clears the flag, after all items were taken. Called with the lock on the items held.
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
