//! The resources of the machine, or of the container around this process: processors, memory, memory in use, and
//! whether processes stall for want of it. The kernel is asked each time; nothing is cached.

use std::thread;

use rustix::thread::sched_getaffinity;

mod group;
mod memory;
mod pressure;
pub mod proc_lines;

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

/// Number of processors of the affinity of the calling thread. `Cpus_allowed_list` in `/proc/self/status` also lists
/// absent ones: on many virtual machines, all that could be added. `None` where the kernel does not say, as on machines
/// that may have more than 1024 processors (EINVAL, sched_setaffinity(2)): a quota is not recognised there.
fn allowed() -> Option<usize> {
    usize::try_from(sched_getaffinity(None).ok()?.count()).ok()
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CpuSet, sched_setaffinity};

    use super::*;

    /// `/proc/self/status` is about the main thread, which may use more processors than this one: as if it listed
    /// absent ones.
    #[test]
    fn an_affinity_is_no_quota_whatever_the_status_of_the_process_lists() {
        let pinned = thread::spawn(|| {
            let usual = sched_getaffinity(None).unwrap();
            let first = (0..CpuSet::MAX_CPU).find(|number| usual.is_set(*number)).unwrap();
            let mut one = CpuSet::new();
            one.set(first);
            sched_setaffinity(None, &one).unwrap();
            (allowed(), Machine::here())
        });
        let (allowed, machine) = pinned.join().unwrap();
        assert_eq!((allowed, machine.cores, machine.has_quota), (Some(1), 1, false));
    }

    #[test]
    fn no_more_processors_are_counted_than_may_be_used() {
        assert!(allowed().is_some_and(|allowed| allowed >= Machine::here().cores));
    }

    #[test]
    fn as_many_things_fit_as_memory_has_room_for_and_any_number_where_that_is_not_known() {
        let holds = |memory: Option<u64>, bytes: u64| Machine { cores: 1, has_quota: false, memory }.holds(bytes);
        assert_eq!([holds(Some(1024), 256), holds(Some(1023), 256), holds(Some(255), 256)], [4, 3, 0]);
        assert_eq!((holds(None, 256), holds(Some(7), 0)), (usize::MAX, 7));
    }
}
