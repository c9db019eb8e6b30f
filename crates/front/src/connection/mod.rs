//! What is known of a connection while it lives: its state, what its sides share, and its place among all
//! connections. A connection is in one state at a time, by name; the transitions are in `state.rs`, and only the
//! connection's own task makes them, through `link.rs`. The room, which closes idle and slow connections for new
//! ones, only looks. Nothing here reads or writes a socket.

pub(crate) mod awaited;
pub(crate) mod clock;
pub(crate) mod deadline;
pub(crate) mod epoch;
pub(crate) mod eviction;
pub(crate) mod link;
pub(crate) mod raw_head;
pub(crate) mod room;
pub(crate) mod state;
