//! Processes of a run, and their state and use of resources by `/proc`.

mod cgroup;
mod gate;
mod guard;
mod launch;
mod ledger;
mod sampler;
mod tree;

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

pub use cgroup::MemoryGroup;
pub use gate::{gate, halt, note};
pub use guard::{PATIENCE, dismiss, post, stand};
pub use launch::{Launch, Process};
pub use ledger::{Entry, RUN, sweep};
pub use sampler::{ProcessSample, Sampled, Sampler};
pub use tree::{Member, Tree, Usage, delay_us, signal_one, threads, with_environment};

/// Free TCP ports, all held at once so that none is returned twice.
pub fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    let held: Result<Vec<TcpListener>, _> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let held = held.map_err(|error| format!("no free port: {error}"))?;
    held.iter().map(|one| one.local_addr().map(|at| at.port()).map_err(|error| error.to_string())).collect()
}

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
