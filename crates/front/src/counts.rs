//! Counters of the front since its start, readable while it serves.

use engine::Counters;
use engine::meter::class_of;

/// Indices of the counters.
const ACCEPTED: usize = 0;
const ENDED: usize = 1;
const REFUSED: usize = 2;
const DISPLACED: usize = 3;
const TURNED_AWAY: usize = 4;
/// The first of five: responses by class of status, 1xx first.
const ANSWERS: usize = 5;

/// Counters of the front, one set for all listeners that are served together.
#[derive(Debug, Default)]
pub struct Counts(Counters<{ ANSWERS + 5 }>);

impl Counts {
    /// Connections accepted since the start.
    pub fn accepted(&self) -> u64 {
        self.0.read()[ACCEPTED]
    }

    /// Connections open now.
    pub fn open(&self) -> u64 {
        let all = self.0.read();
        // The counters are not read at one instant: a connection's end may be counted whose beginning was not.
        all[ACCEPTED].saturating_sub(all[ENDED])
    }

    /// Responses begun, by class of status, including those of the front itself.
    pub fn answers(&self) -> [u64; 5] {
        let all = self.0.read();
        [0, 1, 2, 3, 4].map(|class| all[ANSWERS + class])
    }

    /// Requests whose head was refused before an application was involved. They are counted among the responses too.
    pub fn refused(&self) -> u64 {
        self.0.read()[REFUSED]
    }

    /// Connections closed for others because the limit was reached.
    pub fn displaced_connections(&self) -> u64 {
        self.0.read()[DISPLACED]
    }

    /// Connections refused because their client had reached its limit.
    pub fn refused_connections(&self) -> u64 {
        self.0.read()[TURNED_AWAY]
    }

    /// Counts a connection as open until the returned value is dropped.
    pub(crate) fn connection(&self) -> Open<'_> {
        self.0.add(ACCEPTED, 1);
        Open(self)
    }

    pub(crate) fn displaced(&self) {
        self.0.add(DISPLACED, 1);
    }

    pub(crate) fn turned_away(&self) {
        self.0.add(TURNED_AWAY, 1);
    }

    pub(crate) fn answered(&self, status: u16) {
        if let Some(class) = class_of(status) {
            self.0.add(ANSWERS + class, 1);
        }
    }

    pub(crate) fn refuse(&self, status: u16) {
        self.0.add(REFUSED, 1);
        self.answered(status);
    }
}

/// An open connection; dropping it counts its end.
pub(crate) struct Open<'a>(&'a Counts);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.0.add(ENDED, 1);
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
        assert_eq!(counts.answers(), [1, 2, 0, 2, 2]);
        assert_eq!((counts.accepted(), counts.open(), counts.refused()), (1, 1, 1));
        drop(open);
        assert_eq!((counts.accepted(), counts.open()), (1, 0));
    }

    #[test]
    fn connections_that_were_closed_for_others_and_those_that_were_refused_are_counted_apart() {
        let counts = Counts::default();
        (0..3).for_each(|_| counts.displaced());
        (0..2).for_each(|_| counts.turned_away());
        assert_eq!((counts.displaced_connections(), counts.refused_connections()), (3, 2));
        assert_eq!((counts.accepted(), counts.open(), counts.refused(), counts.answers()), (0, 0, 0, [0; 5]));
    }
}
