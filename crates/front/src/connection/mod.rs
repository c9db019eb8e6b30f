//! A connection while it lives: its state, the data that its sides share, and the table of all connections. The states
//! and their transitions are in `state.rs`; only the connection's own task makes a transition, through `link.rs`. The
//! connection table, which evicts idle and slow connections for new ones, only reads the state. Nothing here reads or
//! writes a socket.

pub(crate) mod awaited;
pub(crate) mod clock;
pub(crate) mod deadline;
pub(crate) mod epoch;
pub(crate) mod eviction;
pub(crate) mod link;
pub(crate) mod out_of_band;
pub(crate) mod raw_head;
pub(crate) mod request_epoch;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod upgraded;
