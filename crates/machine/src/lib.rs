//! The resources of the machine, or of the container around this process: processors, memory, memory in use, and
//! whether processes stall for want of it. All is read from the kernel's files; nothing is cached.

use std::thread;

mod group;
mod memory;
mod pressure;

pub use memory::{Memory, MemoryUse};

/// Resources on which default settings depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Processors that this process may use: those of its affinity, and no more than its control groups' quota.
    pub cores: usize,
    /// Whether `cores` is a quota of processor time on more processors (CFS bandwidth control). When its processes have
    /// used it up, the kernel stops all of them until the next period, usually a tenth of a second.
    pub has_quota: bool,
    /// Bytes of memory that this process may use; `None` if unknown.
    pub memory: Option<u64>,
}

impl Machine {
    /// The resources of this machine, or of the container around this process.
    pub fn here() -> Machine {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let has_quota = allowed().is_some_and(|allowed| allowed > cores);
        Machine { cores, has_quota, memory: Memory::of_this_process().limit() }
    }

    /// The number of things of this size that fit into the memory; [`usize::MAX`] if its size is unknown.
    pub fn holds(&self, bytes: u64) -> usize {
        self.memory.map_or(usize::MAX, |memory| usize::try_from(memory / bytes.max(1)).unwrap_or(usize::MAX))
    }
}

/// Number of processors of the affinity of this process: the list `Cpus_allowed_list` in `/proc/self/status`
/// (proc_pid_status(5)). `None` where that cannot be read.
fn allowed() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    count(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
}

/// Number of processors in a list such as `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let ranges = list.trim().split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    });
    ranges.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_of_a_list_are_counted() {
        assert_eq!([count("0-3,8"), count("\t5\n"), count(""), count("3-1")], [Some(5), Some(1), None, None]);
        assert!(allowed().is_some_and(|allowed| allowed >= Machine::here().cores));
    }

    #[test]
    fn as_many_things_fit_as_memory_has_room_for_and_any_number_where_that_is_not_known() {
        let holds = |memory: Option<u64>, bytes: u64| Machine { cores: 1, has_quota: false, memory }.holds(bytes);
        assert_eq!([holds(Some(1024), 256), holds(Some(1023), 256), holds(Some(255), 256)], [4, 3, 0]);
        assert_eq!((holds(None, 256), holds(Some(7), 0)), (usize::MAX, 7));
    }
}
