//! Utilization of the workers: how many were busy at the same time recently, and so how many may leave. The idle time
//! of single workers would not do: requests go to several workers in turn, so that one now and then would keep them
//! all.

use std::time::{Duration, Instant};

/// Utilization of the workers of one application.
#[derive(Debug, Default)]
pub struct Utilization {
    /// At index n, when n + 1 workers were last busy at the same time.
    last: Vec<Instant>,
}

impl Utilization {
    /// Notes that the pool has this number of workers from now on: none leaves before its idle time has passed.
    pub fn grown(&mut self, workers: usize, now: Instant) {
        self.last.resize(workers, now);
        if let Some(last) = self.last.last_mut() {
            *last = now;
        }
    }

    /// Notes that this number of workers was busy until now.
    pub fn observe(&mut self, busy: usize, now: Instant) {
        if let Some(last) = busy.checked_sub(1).and_then(|at| self.last.get_mut(at)) {
            *last = now;
        }
    }

    /// Returns how many workers were needed within `time`, of which `busy` are busy now.
    pub fn needed(&self, busy: usize, time: Duration, now: Instant) -> usize {
        let recent = self.last.iter().rposition(|last| now.saturating_duration_since(*last) < time);
        busy.max(recent.map_or(0, |at| at + 1))
    }

    /// Returns for how long fewer than `workers` were busy at once, when `busy` are busy now; none if all are.
    pub fn spare_for(&self, workers: usize, busy: usize, now: Instant) -> Option<Duration> {
        if workers == 0 || busy >= workers {
            return None;
        }
        // If more than `workers` were busy at once, `workers` were too.
        let last = self.last.iter().skip(workers - 1).max();
        Some(last.map_or(Duration::MAX, |last| now.saturating_duration_since(*last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn as_many_are_needed_as_were_busy_at_once() {
        let start = Instant::now();
        let mut utilization = Utilization::default();
        (1..=4).for_each(|workers| utilization.grown(workers, start));
        assert_eq!(utilization.needed(0, MINUTE, start + MINUTE / 2), 4);
        utilization.observe(2, start + MINUTE / 2);
        utilization.observe(1, start + MINUTE / 2);
        assert_eq!(utilization.needed(0, MINUTE, start + MINUTE), 2);
        assert_eq!(utilization.needed(3, MINUTE, start + MINUTE), 3);
        assert_eq!(utilization.needed(0, MINUTE, start + 2 * MINUTE), 0);
    }

    #[test]
    fn spare_is_what_was_not_busy() {
        let start = Instant::now();
        let mut utilization = Utilization::default();
        utilization.grown(2, start);
        assert_eq!(utilization.spare_for(2, 2, start + MINUTE), None);
        assert_eq!(utilization.spare_for(2, 1, start + MINUTE), Some(MINUTE));
        assert_eq!(utilization.spare_for(0, 0, start), None);
        utilization.observe(2, start + MINUTE);
        assert_eq!(utilization.spare_for(2, 0, start + MINUTE), Some(Duration::ZERO));
    }
}
