//! How fast a line moves: by that it is known whether whoever comes now would have his turn in time.

use std::time::{Duration, Instant};

/// Counted over one to two of these.
const SPAN: Duration = Duration::from_millis(500);

/// Counts those that have had their turn.
#[derive(Debug)]
pub struct Flow {
    since: Instant,
    now: u32,
    before: u32,
}

impl Flow {
    /// Nothing has moved.
    pub fn new(now: Instant) -> Flow {
        Flow { since: now, now: 0, before: 0 }
    }

    fn turn(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.since);
        if passed >= SPAN {
            self.before = if passed < 2 * SPAN { self.now } else { 0 };
            (self.since, self.now) = (now, 0);
        }
    }

    /// One more.
    pub fn count(&mut self, now: Instant) {
        self.turn(now);
        self.now += 1;
    }

    /// How long so many take, going by the last moments; none when hardly anything moved in them.
    pub fn time_for(&mut self, count: usize, now: Instant) -> Option<Duration> {
        self.turn(now);
        if self.before < 2 {
            return None;
        }
        let span = SPAN + now.saturating_duration_since(self.since);
        let each = span.as_secs_f64() / f64::from(self.before + self.now);
        Duration::try_from_secs_f64(each * count as f64).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_tells_how_long_the_next_wait() {
        let start = Instant::now();
        let mut flow = Flow::new(start);
        assert_eq!(flow.time_for(10, start), None);
        (0..100).for_each(|at| flow.count(start + Duration::from_millis(10) * at));
        let time = flow.time_for(50, start + Duration::from_secs(1)).unwrap();
        assert!((400..600).contains(&time.as_millis()), "{time:?}");
    }

    #[test]
    fn what_was_long_ago_tells_nothing() {
        let start = Instant::now();
        let mut flow = Flow::new(start);
        (0..100).for_each(|at| flow.count(start + Duration::from_millis(10) * at));
        assert_eq!(flow.time_for(50, start + Duration::from_secs(3)), None);
    }
}
