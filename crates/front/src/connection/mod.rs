//! What is known of a connection while it lives: its state, what its sides share, and its place among all
//! connections. A connection is in one state at a time, and only its own task changes it (`link.rs`); the room, which
//! closes idle and slow connections for new ones, only looks. Nothing here reads or writes a socket.

pub(crate) mod link;
pub(crate) mod raw_head;
pub(crate) mod room;
pub(crate) mod stage;
pub(crate) mod stepback;
