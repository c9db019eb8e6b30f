//! Control of a running server, by signals, restart files and upgrades. All of them act through one handle, whose
//! methods can be called from any thread at any time. A shutdown never waits for another action.

pub mod handle;
pub mod restart_file;
pub mod signals;
pub mod upgrade;
