//! Processes that belong to a run, and what the kernel says of them.

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
pub use sampler::{Look, Sampled, Sampler};
pub use tree::{Member, Tree, Usage, delay_us, signal_one, threads, with_environment};

/// Ports that were free a moment ago, all held at once so that none is given twice.
pub fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    let held: Result<Vec<TcpListener>, _> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let held = held.map_err(|error| format!("no free port: {error}"))?;
    held.iter().map(|one| one.local_addr().map(|at| at.port()).map_err(|error| error.to_string())).collect()
}

/// Waits until `done` says yes; says no when it did not within `limit`.
pub fn until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !done() {
        if Instant::now() >= end {
            return false;
        }
        // Nobody unparks this thread: it only waits.
        thread::park_timeout(Duration::from_millis(20));
    }
    true
}
