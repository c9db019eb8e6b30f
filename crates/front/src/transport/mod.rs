//! Bytes to and from the kernel: the socket of a connection, files that the kernel sends itself, and the timer of a
//! connection. Nothing here knows HTTP, and nothing blocks unless its comment says so.

pub(crate) mod deadline_timer;
pub(crate) mod sendfile;
pub(crate) mod socket;
