//! From an engine's answer, or a fault, to the response that hyper writes. Only `reply.rs` chooses a status for a
//! fault. An answer that a client takes slowly is kept for it in memory and then in a file, within bounds; and no
//! more is sent than was announced.

pub(crate) mod coded;
pub(crate) mod date;
pub(crate) mod out;
pub(crate) mod page;
pub(crate) mod reply;
pub(crate) mod spool;
