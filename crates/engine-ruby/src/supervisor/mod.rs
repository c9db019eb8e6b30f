//! The supervisor of the processes of an engine: an event loop that feeds the fleet events and carries out its actions.
//! It owns all clocks, files, sockets, processes, locks and log entries, and decides nothing.
//!
//! Reading order: `handle`, `event_loop`, `acting`, `launch`, `ipc_listener`, `connections`, `control_frames`, `log`.

mod acting;
mod connections;
mod control_frames;
mod event_loop;
mod exec_hooks;
mod handle;
pub mod ipc_listener;
mod kernel;
mod launch;
mod link;
mod log;
mod questions;
mod setup;

pub use event_loop::EventLoop;
pub use handle::Supervisor;
