//! When the log says that a start takes long.

use std::time::{Duration, Instant};

/// When the log says next that a start takes long: after this, and each time after twice as long.
const FIRST_REMINDER: Duration = Duration::from_secs(30);

/// When the log says next that a start takes long.
#[derive(Debug)]
pub struct Reminder {
    since: Instant,
    after: Duration,
}

impl Reminder {
    /// The start begins now.
    pub fn new(now: Instant) -> Reminder {
        Reminder { since: now, after: FIRST_REMINDER }
    }

    /// How long the start has taken, if the log is to say so now.
    pub fn due(&mut self, now: Instant) -> Option<Duration> {
        let passed = now.saturating_duration_since(self.since);
        (passed >= self.after).then(|| {
            self.after *= 2;
            passed
        })
    }
}
