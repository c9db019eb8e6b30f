//! The supervisor keeps the processes of an engine: an event loop tells the fleet what happens and does what the fleet
//! wants to be done. All that has to do with clocks, files, sockets, processes, locks and the log is here, and nothing
//! is decided.
//!
//! Reading order: `handle`, `event_loop`, `acting`, `door` (where processes connect), `connections`, `control_frames`,
//! `log`.

mod acting;
mod connections;
mod control_frames;
pub mod door;
mod event_loop;
mod exec_hooks;
mod handle;
mod kernel;
mod link;
mod log;
mod questions;
mod setup;

pub use event_loop::EventLoop;
pub use handle::Supervisor;
