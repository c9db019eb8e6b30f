//! The last health checks of workers.

use std::time::Instant;

/// The times of the last health checks, and those still in progress.
#[derive(Debug)]
pub struct Checks {
    pub pinged: Instant,
    pub weighed: Option<Instant>,
    pub is_weighing: bool,
    /// The log has an entry that the memory of workers cannot be read.
    pub has_complained: bool,
    /// The worker that was last retired to be replaced, and when.
    pub draining: Option<(u32, Instant)>,
}

impl Checks {
    /// Creates the state before any check.
    pub fn new(now: Instant) -> Checks {
        Checks { pinged: now, weighed: None, is_weighing: false, has_complained: false, draining: None }
    }
}
