//! The peer of a control connection.

use std::fmt;

/// A mold or a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Speaker {
    /// The mold in this process.
    Mold(u32),
    /// The worker with this number.
    Worker(u32),
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Speaker::Mold(pid) => write!(f, "mold (pid {pid})"),
            Speaker::Worker(worker) => write!(f, "worker {worker}"),
        }
    }
}
