//! Bytes to the kernel and from it: the socket of a connection, files that the kernel sends by itself, and the one
//! timer of a connection. Nothing here knows HTTP, and nothing blocks but what says so.

pub(crate) mod alarm;
pub(crate) mod sendfile;
pub(crate) mod socket;
