//! From an engine's answer, or a fault, to the response that hyper writes. Only `reply.rs` chooses the status of a
//! fault. A response that its client reads slowly is buffered in memory and then in a file, within limits; and no more
//! is sent than was announced.

pub(crate) mod chunked_by_app;
pub(crate) mod date;
pub(crate) mod out;
pub(crate) mod page;
pub(crate) mod reply;
pub(crate) mod spool;
