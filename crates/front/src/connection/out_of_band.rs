//! Items that an engine's thread leaves for a connection while its request runs: early hints, or a takeover. The
//! connection's task takes them; those that come after the response has begun are discarded.

use engine::Duplex;
use parking_lot::Mutex;

use crate::connection::epoch::Epoch;
use crate::connection::state::Stage;

/// Items for the request of the current epoch.
#[derive(Default)]
pub(crate) struct OutOfBand {
    epoch: Epoch,
    items: Mutex<Items>,
}

/// Early hints, and a takeover.
#[derive(Default)]
pub(crate) struct Items {
    /// Heads of early hints, in wire format.
    pub(crate) hints: Vec<u8>,
    /// The front's end of the bytes exchanged with an application that has taken the connection over.
    pub(crate) takeover: Option<Duplex>,
}

impl OutOfBand {
    /// Number of the current epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.number()
    }

    /// Leaves something by `act`, unless the epoch with this number has ended.
    pub(crate) fn leave(&self, epoch: u64, act: impl FnOnce(&mut Items)) {
        let mut items = self.items.lock();
        if self.epoch.mark(epoch) {
            act(&mut items);
        }
    }

    /// Ends the epoch, as a response begins in this stage of the connection: hints already given may still precede it,
    /// later ones and takeovers are discarded.
    pub(crate) fn end_epoch(&self, stage: Stage) {
        if self.epoch.end() {
            // An engine's thread that has left something in this epoch holds the lock until it is done.
            let mut items = self.items.lock();
            // A takeover that the service has not seen any more must not get the connection at the next request.
            let too_late = items.takeover.take();
            if !stage.is_flushed() {
                // Bytes of an earlier response are still in hyper's buffer: the hints could come only after this
                // response.
                items.hints.clear();
            }
            drop(items);
            drop(too_late);
        }
    }

    /// Whether an engine's thread has left something, in this epoch or too late.
    pub(crate) fn has_items(&self) -> bool {
        self.epoch.is_marked()
    }

    /// Takes the early hints; empty if there are none.
    pub(crate) fn take_hints(&self) -> Vec<u8> {
        let mut items = self.items.lock();
        if items.takeover.is_none() {
            self.epoch.unmark();
        }
        std::mem::take(&mut items.hints)
    }

    /// Whether the application has taken the connection over.
    pub(crate) fn has_takeover(&self) -> bool {
        self.has_items() && self.items.lock().takeover.is_some()
    }

    /// Takes the takeover, if there is one.
    pub(crate) fn take_takeover(&self) -> Option<Duplex> {
        if self.has_items() { self.items.lock().takeover.take() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::state::{Output, Step};

    #[test]
    fn hints_given_before_a_response_precede_it_and_later_ones_are_discarded() {
        let out_of_band = OutOfBand::default();
        let first = out_of_band.epoch();
        out_of_band.leave(first, |items| items.hints.push(b'a'));
        assert!(out_of_band.has_items() && !out_of_band.has_takeover());
        out_of_band.end_epoch(Stage::Request(Step::Running, Output::Flushed));
        out_of_band.leave(first, |items| items.hints.push(b'b'));
        assert_eq!(out_of_band.take_hints(), b"a");
        assert!(!out_of_band.has_items());
        out_of_band.leave(out_of_band.epoch(), |items| items.hints.push(b'c'));
        out_of_band.end_epoch(Stage::Request(Step::Running, Output::Partial));
        assert!(out_of_band.take_hints().is_empty(), "an earlier response is not written yet");
    }

    #[test]
    fn a_takeover_stays_when_the_hints_before_it_are_taken() {
        let out_of_band = OutOfBand::default();
        let first = out_of_band.epoch();
        out_of_band.leave(first, |items| items.hints.push(b'a'));
        out_of_band.leave(first, |items| items.takeover = Some(engine::body::duplex(16).0));
        assert_eq!(out_of_band.take_hints(), b"a");
        assert!(out_of_band.has_takeover() && out_of_band.take_takeover().is_some());
        assert!(!out_of_band.has_takeover());
        assert!(out_of_band.take_hints().is_empty() && !out_of_band.has_items());
    }

    #[test]
    fn a_takeover_gets_the_connection_only_before_a_response() {
        let out_of_band = OutOfBand::default();
        let take_over = |epoch| out_of_band.leave(epoch, |items| items.takeover = Some(engine::body::duplex(16).0));
        let first = out_of_band.epoch();
        take_over(first);
        assert!(out_of_band.has_takeover() && out_of_band.take_takeover().is_some());
        take_over(first);
        out_of_band.end_epoch(Stage::Request(Step::Running, Output::Flushed));
        assert!(!out_of_band.has_takeover(), "the response had begun before it was seen");
        take_over(first);
        assert!(!out_of_band.has_takeover(), "it is of an earlier request");
    }
}
