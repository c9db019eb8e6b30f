//! Whether a connection is to end because its place is wanted: the room asks, the connection's task obeys.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::connection::state::{State, StateCell};

/// Asked or not, obeyed or not.
#[derive(Debug, Default)]
pub(crate) struct Eviction {
    /// What the connection was at when it was asked.
    asked: StateCell,
    obeyed: AtomicBool,
}

impl Eviction {
    /// Asks a connection that was found in this state.
    pub(crate) fn ask(&self, state: State) {
        self.asked.set(Some(state));
    }

    /// Whether it is asked, and still waits for the same: one that went on since then may stay.
    pub(crate) fn is_asked(&self, state: State) -> bool {
        self.asked.get().is_some_and(|asked| asked.is_same_wait(state))
    }

    /// The connection is on its way out for that reason.
    pub(crate) fn obey(&self) {
        self.obeyed.store(true, Relaxed);
    }

    pub(crate) fn is_obeyed(&self) -> bool {
        self.obeyed.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_went_on_since_it_was_asked_may_stay() {
        let eviction = Eviction::default();
        let idle = State::opened(1);
        assert!(!eviction.is_asked(idle));
        eviction.ask(idle);
        assert!(eviction.is_asked(idle) && !eviction.is_asked(idle.head_began(2)));
        assert!(!eviction.is_asked(idle.head_given(2).head_parsed().answered(3).flushed()));
        assert!(!eviction.is_obeyed());
        eviction.obey();
        assert!(eviction.is_obeyed());
    }
}
