//! Processes of a run, and their state and use of resources by `/proc`.

mod adopted;
mod cgroup;
mod gate;
mod guard;
mod launch;
mod ledger;
mod lost;
mod output;
mod ports;
mod sampler;
mod tree;

use std::thread;
use std::time::{Duration, Instant};

pub use adopted::adopt;
pub use cgroup::MemoryGroup;
pub use gate::{gate, halt, note, start};
pub use guard::{PATIENCE, dismiss, post, stand};
pub use launch::{Launch, Process, cause};
pub use ledger::{LedgerEntry, RUN, sweep};
pub use output::output_within;
pub use ports::{Ports, free_ports};
pub use sampler::{ProcessSample, Sampled, Sampler};
pub use tree::{Member, Tree, Usage, delay_us, machine_ticks, signal_one, threads, ticks_of, with_environment};

/// Waits until `done` returns true; returns false if it did not within `limit`.
pub fn until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !done() {
        if Instant::now() >= end {
            return false;
        }
        // This thread is never unparked: it only waits.
        thread::park_timeout(Duration::from_millis(20));
    }
    true
}
