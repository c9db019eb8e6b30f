//! The eviction of one connection, to make space for another: requested by the connection table, carried out by the
//! connection's task.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::connection::state::{State, StateCell};

/// The request to evict a connection, and whether the connection follows it.
#[derive(Debug, Default)]
pub(crate) struct Eviction {
    /// State of the connection when its eviction was requested.
    requested: StateCell,
    confirmed: AtomicBool,
}

impl Eviction {
    /// Requests the eviction of a connection that was seen in this state.
    pub(crate) fn request(&self, state: State) {
        self.requested.set(Some(state));
    }

    /// Whether eviction is requested and the connection is still in the same wait; one that has progressed may stay.
    pub(crate) fn is_requested(&self, state: State) -> bool {
        self.requested.get().is_some_and(|requested| requested.is_same_wait(state))
    }

    /// Records that the connection closes for this reason. Returns whether that is new.
    pub(crate) fn confirm(&self) -> bool {
        !self.confirmed.swap(true, Relaxed)
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_went_on_since_it_was_asked_may_stay() {
        let eviction = Eviction::default();
        let idle = State::opened(1);
        assert!(!eviction.is_requested(idle));
        eviction.request(idle);
        assert!(eviction.is_requested(idle) && !eviction.is_requested(idle.head_began(2)));
        assert!(!eviction.is_requested(idle.head_given(2).head_parsed().answered(3).flushed()));
        assert!(!eviction.is_confirmed());
        assert!(eviction.confirm() && !eviction.confirm());
        assert!(eviction.is_confirmed());
    }
}
