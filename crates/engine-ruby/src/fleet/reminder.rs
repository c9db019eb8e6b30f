//! Reminders in the log that a start, or later a boot, takes long.

use std::time::{Duration, Instant};

/// The time to the first reminder; each further one comes after twice the time.
const FIRST_REMINDER: Duration = Duration::from_secs(30);

/// The schedule of reminders that something takes long.
#[derive(Debug)]
pub struct Reminder {
    since: Instant,
    after: Duration,
}

impl Reminder {
    /// Creates a schedule for what begins now.
    pub fn new(now: Instant) -> Reminder {
        Reminder { since: now, after: FIRST_REMINDER }
    }

    /// Begins anew for what began at this time, unless it is that already.
    pub fn follow(&mut self, since: Instant) {
        if self.since != since {
            *self = Reminder::new(since);
        }
    }

    /// Returns how long it has taken, if a reminder is due.
    pub fn due(&mut self, now: Instant) -> Option<Duration> {
        let passed = now.saturating_duration_since(self.since);
        (passed >= self.after).then(|| {
            self.after *= 2;
            passed
        })
    }
}
