//! The resources of the machine, or of the container around this process: processors, memory, memory in use, and
//! whether processes stall for want of it. All is read from the kernel's files; nothing is cached.

use std::thread;

mod group;
mod memory;
mod pressure;

pub use memory::{Memory, Standing};

/// Resources on which default settings depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Processors that this process may use: those of its affinity, and no more than its control groups' quota.
    pub cores: usize,
    /// Bytes of memory that this process may use; `None` if unknown.
    pub memory: Option<u64>,
}

impl Machine {
    /// The resources of this machine, or of the container around this process.
    pub fn here() -> Machine {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Machine { cores, memory: Memory::of_this_process().limit() }
    }

    /// The number of things of this size that fit into the memory; [`usize::MAX`] if its size is unknown.
    pub fn holds(&self, bytes: u64) -> usize {
        self.memory.map_or(usize::MAX, |memory| usize::try_from(memory / bytes.max(1)).unwrap_or(usize::MAX))
    }
}
