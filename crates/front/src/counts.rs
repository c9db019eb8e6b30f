//! What the front has seen since its start, in numbers that anybody may read while it serves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Kept by the front, read by whoever shows it. One for all listeners that are served together.
#[derive(Debug, Default)]
pub struct Counts {
    accepted: AtomicU64,
    ended: AtomicU64,
    /// Answers by the hundreds of their status: 1xx at 0, 5xx at 4.
    answers: [AtomicU64; 5],
    refused: AtomicU64,
}

impl Counts {
    /// Connections since the start.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }

    /// Connections now.
    pub fn open(&self) -> u64 {
        // Read in this order, or a connection could end before it was opened.
        let ended = self.ended.load(Relaxed);
        self.accepted.load(Relaxed).saturating_sub(ended)
    }

    /// Answers that were begun, by the hundreds of their status, those of the front itself among them.
    pub fn answers(&self) -> [u64; 5] {
        [0, 1, 2, 3, 4].map(|class: usize| self.answers[class].load(Relaxed))
    }

    /// Requests whose head was refused before any application was asked. They are among the answers too.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// A connection begins; it ends when the value is dropped.
    pub(crate) fn connection(&self) -> Open<'_> {
        self.accepted.fetch_add(1, Relaxed);
        Open(self)
    }

    pub(crate) fn answered(&self, status: u16) {
        if let Some(count) = self.answers.get(usize::from(status / 100).wrapping_sub(1)) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn refuse(&self, status: u16) {
        self.refused.fetch_add(1, Relaxed);
        self.answered(status);
    }
}

/// A connection that is open.
pub(crate) struct Open<'a>(&'a Counts);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_fall_into_their_hundred_and_connections_end() {
        let counts = Counts::default();
        let open = counts.connection();
        for status in [101, 200, 299, 404, 503, 0, 999] {
            counts.answered(status);
        }
        counts.refuse(431);
        assert_eq!(counts.answers(), [1, 2, 0, 2, 1]);
        assert_eq!((counts.accepted(), counts.open(), counts.refused()), (1, 1, 1));
        drop(open);
        assert_eq!((counts.accepted(), counts.open()), (1, 0));
    }
}
