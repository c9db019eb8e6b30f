//! What the machine, or the container around this program, lets it have: how much memory there is, how much of it is
//! used, and whether processes wait for it. Everything is read from the kernel's files; nothing is kept between looks.

use std::thread;

mod group;
mod memory;
mod pressure;

pub use memory::{Memory, Standing};

/// What there is to be shared out, as far as defaults follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Processors that this process may use: those of its affinity, and no more than its control groups' quota.
    pub cores: usize,
    /// Bytes of memory that it may use; none where that is not known.
    pub memory: Option<u64>,
}

impl Machine {
    /// This one, or the container around this process.
    pub fn here() -> Machine {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Machine { cores, memory: Memory::of_this_process().limit() }
    }

    /// How many things of so many bytes the memory holds; any number where it is not known.
    pub fn holds(&self, bytes: u64) -> usize {
        self.memory.map_or(usize::MAX, |memory| usize::try_from(memory / bytes.max(1)).unwrap_or(usize::MAX))
    }
}
