//! Reads from the kernel how much memory is used, and how many processes it has killed for want of it.

use std::time::{Duration, Instant};

use machine::{Memory, MemoryUse};

/// The time after an out-of-memory kill in which a worker's exit is attributed to it.
const KILL_TIME: Duration = Duration::from_secs(5);

/// The readings of memory.
pub struct Kernel {
    memory: Memory,
    /// When the count of kills was last read, and the count.
    kills: Option<(Instant, u64)>,
}

impl Kernel {
    /// Creates the state before any reading.
    pub fn new() -> Kernel {
        Kernel { memory: Memory::of_this_process(), kills: None }
    }

    /// Returns how much memory is used now.
    pub fn memory_use(&self) -> Option<MemoryUse> {
        self.memory.measure()
    }

    /// Returns the count of kills at the last reading, if that is some time ago: those kills were of other processes,
    /// or have been accounted for.
    pub fn old_kills(&mut self, now: Instant) -> Option<u64> {
        if self.kills.is_some_and(|(then, _)| now.saturating_duration_since(then) < KILL_TIME) {
            return None;
        }
        self.kills.replace((now, self.memory.kills())).map(|(_, kills)| kills)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_dismissed_when_they_are_old_and_not_before() {
        let mut kernel = Kernel::new();
        let now = Instant::now();
        assert_eq!(kernel.old_kills(now), None, "there was no reading before");
        let known = kernel.kills.map(|(_, kills)| kills);
        assert_eq!(kernel.old_kills(now + KILL_TIME / 2), None);
        assert_eq!((kernel.old_kills(now + KILL_TIME), known.is_some()), (known, true));
        assert_eq!(kernel.old_kills(now + KILL_TIME), None, "that reading is new");
    }
}
