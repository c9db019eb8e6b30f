//! How long blocks may take (Timeout.timeout) in the request under way: the nearest limit is watched like a deadline.

/// So many blocks may be inside of each other.
const TIMERS_MAX: usize = 10_000;

struct Timer {
    number: u64,
    ends: u64,
    has_fired: bool,
}

/// The limits of one interpreter.
#[derive(Default)]
pub struct Timers {
    list: Vec<Timer>,
    last: u64,
}

impl Timers {
    /// A limit, by the gauge's clock; its number. None where there are too many.
    pub fn start(&mut self, ends: u64) -> Option<u64> {
        if self.list.len() >= TIMERS_MAX {
            return None;
        }
        self.last += 1;
        self.list.push(Timer { number: self.last, ends, has_fired: false });
        Some(self.last)
    }

    /// The block is over; whether its time was.
    pub fn stop(&mut self, number: u64) -> bool {
        let Some(at) = self.list.iter().rposition(|timer| timer.number == number) else { return false };
        self.list.remove(at).has_fired
    }

    /// When the next is over; never, where there is none.
    pub fn next(&self) -> u64 {
        self.list.iter().filter(|timer| !timer.has_fired).map(|timer| timer.ends).min().unwrap_or(u64::MAX)
    }

    /// Whether one is over that was not found to be so before.
    pub fn expire(&mut self, now: u64) -> bool {
        let due = self.list.iter_mut().filter(|timer| !timer.has_fired && timer.ends <= now);
        due.map(|timer| timer.has_fired = true).count() > 0
    }

    /// Another request begins.
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
        assert!(!timers.stop(outer));
        assert_eq!(timers.next(), u64::MAX);
        assert!(!timers.stop(outer));
    }
}
