//! The epoch of a request, during which an engine's thread may leave out-of-band items for the connection: early hints,
//! or a takeover. The epoch ends when a response begins; items for an earlier epoch are discarded.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// The lowest bit: an item was left.
const MARK: u64 = 1;
/// The difference of two epochs' numbers above that bit.
const NEXT: u64 = 2;

/// The number of the epoch and a mark for items that were left, in one atomic. So either an engine's thread sees that
/// its epoch has ended, or the connection's task, which ends it, sees the mark.
#[derive(Debug, Default)]
pub(crate) struct Epoch(AtomicU64);

impl Epoch {
    /// Number of the current epoch.
    pub(crate) fn number(&self) -> u64 {
        self.0.load(Relaxed) / NEXT
    }

    /// Marks that an item is left. Returns whether the epoch with this number is the current one.
    pub(crate) fn mark(&self, number: u64) -> bool {
        self.0.fetch_or(MARK, SeqCst) / NEXT == number
    }

    /// Ends the epoch. Returns whether it is marked. The mark stays.
    pub(crate) fn end(&self) -> bool {
        self.0.fetch_add(NEXT, SeqCst) & MARK != 0
    }

    /// Whether an item was left and not taken.
    pub(crate) fn is_marked(&self) -> bool {
        self.0.load(SeqCst) & MARK != 0
    }

    /// Removes the mark, after all items were taken. Called with the lock on the items held.
    pub(crate) fn unmark(&self) {
        self.0.fetch_and(!MARK, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_after_the_end_is_for_nobody() {
        let epoch = Epoch::default();
        let first = epoch.number();
        assert!(!epoch.is_marked() && epoch.mark(first) && epoch.is_marked());
        assert_eq!(epoch.number(), first);
        assert!(epoch.end(), "something is left for the one that ends");
        assert!(epoch.is_marked() && !epoch.mark(first));
        epoch.unmark();
        let second = epoch.number();
        assert!(second != first && !epoch.is_marked() && !epoch.end());
        assert!(!epoch.mark(second) && epoch.mark(second + 1));
    }
}
