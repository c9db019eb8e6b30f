//! What the kernel says of memory, and whom it has killed for want of it.

use std::time::{Duration, Instant};

use machine::{Memory, Standing};

/// What the kernel has killed shows within this time; a worker that ends later has ended of something else.
const KILL_TIME: Duration = Duration::from_secs(5);

/// Looks at memory.
pub struct Kernel {
    memory: Memory,
    /// When the count of kills was read, and what it was.
    kills: Option<(Instant, u64)>,
}

impl Kernel {
    /// Nothing has been looked at.
    pub fn new() -> Kernel {
        Kernel { memory: Memory::of_this_process(), kills: None }
    }

    /// How memory stands.
    pub fn look(&self) -> Option<Standing> {
        self.memory.look()
    }

    /// The count of kills that was read last, where that is some time ago: those kills were of other processes, or have
    /// been accounted for.
    pub fn old_kills(&mut self, now: Instant) -> Option<u64> {
        if self.kills.is_some_and(|(then, _)| now.saturating_duration_since(then) < KILL_TIME) {
            return None;
        }
        self.kills.replace((now, self.memory.kills())).map(|(_, kills)| kills)
    }
}
