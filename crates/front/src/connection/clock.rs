//! Times as numbers: nanoseconds since the front began, so that a time fits into an atomic.

use std::time::{Duration, Instant};

/// The start from which times are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
}

impl Clock {
    /// Starts a clock at 0.
    pub(crate) fn start() -> Clock {
        Clock { began: Instant::now() }
    }

    pub(crate) fn now(self) -> u64 {
        self.nanos(Instant::now())
    }

    /// The time as a number; 0 if it is before the start of the clock.
    pub(crate) fn nanos(self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn instant(self, nanos: u64) -> Instant {
        self.began + Duration::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_same_as_a_number() {
        let clock = Clock::start();
        let later = clock.began + Duration::new(3, 7);
        assert_eq!((clock.nanos(later), clock.instant(3_000_000_007)), (3_000_000_007, later));
        assert_eq!(clock.began.checked_sub(Duration::from_secs(1)).map(|before| clock.nanos(before)), Some(0));
    }
}
