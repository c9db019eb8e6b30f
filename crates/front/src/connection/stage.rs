//! What a connection is at, and since when, in one number that anybody may look at: by it `room.rs` finds whose place
//! somebody new may have. The connection's own task writes it, a few times per request.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Between two requests, before the first, or after the last answer.
    Idle,
    /// A head is on its way; since its first byte.
    Head,
    /// A body is on its way; since its last byte came.
    Body,
    /// The engine has a request, an answer goes out, or the connection is the application's.
    Busy,
    /// The client takes nothing of its answer.
    Stalled,
}

const ALL: [Stage; 5] = [Stage::Idle, Stage::Head, Stage::Body, Stage::Busy, Stage::Stalled];
/// Bits for the stage, counted from one; a moment in nanoseconds is above them.
const BITS: u32 = 3;

/// A stage and its beginning, in nanoseconds since the front began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    pub(crate) fn new(stage: Stage, since: u64) -> State {
        State(since << BITS | (stage as u64 + 1))
    }

    pub(crate) fn stage(self) -> Stage {
        let number = (self.0 & ((1 << BITS) - 1)) as usize;
        ALL.get(number.wrapping_sub(1)).copied().unwrap_or(Stage::Busy)
    }

    pub(crate) fn since(self) -> u64 {
        self.0 >> BITS
    }
}

/// A place for a state, or for none.
#[derive(Debug, Default)]
pub(crate) struct StateCell(AtomicU64);

impl StateCell {
    pub(crate) fn get(&self) -> Option<State> {
        Some(State(self.0.load(SeqCst))).filter(|state| state.0 != 0)
    }

    pub(crate) fn set(&self, state: Option<State>) {
        self.0.store(state.map_or(0, |state| state.0), SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_keeps_its_stage_and_its_moment() {
        let cell = StateCell::default();
        assert_eq!(cell.get(), None);
        for stage in ALL {
            for since in [0, 1, 1 << 60] {
                let state = State::new(stage, since);
                cell.set(Some(state));
                assert_eq!((state.stage(), state.since(), cell.get()), (stage, since, Some(state)));
            }
        }
        cell.set(None);
        assert_eq!(cell.get(), None);
    }
}
