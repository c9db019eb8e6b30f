//! What may be asked of a server that runs, and who asks: signals, restart files, and the way to a successor.
//! Everybody asks the one handle, whose calls can come from any thread at any time. An end is never kept waiting by
//! anything else that was asked for.

pub mod handle;
pub mod restart_file;
pub mod signals;
pub mod upgrade;
