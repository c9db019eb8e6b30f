//! What is known of the last looks at workers.

use std::time::Instant;

/// When they were looked at, and what is still under way.
#[derive(Debug)]
pub struct Checks {
    pub pinged: Instant,
    pub weighed: Option<Instant>,
    pub is_weighing: bool,
    /// The log already says that memory cannot be looked at.
    pub has_complained: bool,
    /// The worker that was sent away last to be replaced, and when.
    pub draining: Option<(u32, Instant)>,
}

impl Checks {
    /// Nothing has been looked at.
    pub fn new(now: Instant) -> Checks {
        Checks { pinged: now, weighed: None, is_weighing: false, has_complained: false, draining: None }
    }
}
