//! Time limits of the Timeout.timeout blocks in the request under way. The nearest one is watched like the deadline.

/// Limits that may be set at once, one inside the other.
const TIMERS_MAX: usize = 10_000;

struct Timer {
    number: u64,
    ends: u64,
    has_fired: bool,
}

/// The time limits of the blocks that run in one interpreter. Times are those of `run_state::Clock`.
#[derive(Default)]
pub struct Timers {
    list: Vec<Timer>,
    last: u64,
    /// The limit that was removed last of those that had expired.
    expired: Option<u64>,
}

impl Timers {
    /// Adds a limit that ends at `ends` and returns its number; None where there are `TIMERS_MAX` already.
    pub fn start(&mut self, ends: u64) -> Option<u64> {
        if self.list.len() >= TIMERS_MAX {
            return None;
        }
        self.last += 1;
        self.list.push(Timer { number: self.last, ends, has_fired: false });
        Some(self.last)
    }

    /// Removes a limit when its block has ended. Returns whether it had expired, also when asked again at once; false
    /// where the limit of a block around it has expired too, since that block must end.
    pub fn stop(&mut self, number: u64) -> bool {
        if let Some(at) = self.list.iter().rposition(|timer| timer.number == number)
            && self.list.remove(at).has_fired
        {
            self.expired = Some(number);
        }
        self.expired == Some(number) && !self.list.iter().any(|timer| timer.number < number && timer.has_fired)
    }

    /// The nearest end of a limit that has not expired; u64::MAX where there is none.
    pub fn next(&self) -> u64 {
        self.list.iter().filter(|timer| !timer.has_fired).map(|timer| timer.ends).min().unwrap_or(u64::MAX)
    }

    /// Marks the limit that ended first, of those that have ended by `now`, as expired. Returns whether there is one.
    /// The others are for later calls: the code around an inner block may go on, and the outer one must still end.
    pub fn expire(&mut self, now: u64) -> bool {
        let due = self.list.iter_mut().filter(|timer| !timer.has_fired && timer.ends <= now);
        due.min_by_key(|timer| timer.ends).map(|timer| timer.has_fired = true).is_some()
    }

    /// Removes all limits, before the next request.
    pub fn clear(&mut self) {
        self.list.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_told_once_and_known_to_its_block() {
        let mut timers = Timers::default();
        let outer = timers.start(100).unwrap();
        let inner = timers.start(50).unwrap();
        assert_eq!(timers.next(), 50);
        assert!(!timers.expire(49));
        assert!(timers.expire(60));
        assert!(!timers.expire(60));
        assert_eq!(timers.next(), 100);
        assert!(timers.stop(inner));
        assert!(timers.stop(inner));
        assert!(!timers.stop(outer));
        assert_eq!(timers.next(), u64::MAX);
        assert!(!timers.stop(outer));
    }

    #[test]
    fn limits_that_end_together_expire_one_after_the_other() {
        let mut timers = Timers::default();
        let [outer, inner] = [100, 50].map(|ends| timers.start(ends).unwrap());
        assert!(timers.expire(200));
        assert_eq!(timers.next(), 100);
        assert!(timers.stop(inner));
        assert!(timers.expire(200));
        assert!(!timers.expire(200));
        assert!(timers.stop(outer));
    }

    #[test]
    fn the_outer_of_two_expired_limits_is_the_one_that_counts() {
        let mut timers = Timers::default();
        let [outer, inner] = [50, 100].map(|ends| timers.start(ends).unwrap());
        assert!(timers.expire(200));
        assert!(timers.expire(200));
        assert!(!timers.stop(inner));
        assert!(timers.stop(outer));
    }
}
