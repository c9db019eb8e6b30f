//! Defaults that depend on processors and memory of the machine or container.

use machine::Machine;

use crate::config::size::{KIB, MIB};

/// Memory of an interpreter: the default of `--memory-limit`.
const INTERPRETER: u64 = 64 * MIB;
/// Memory of a worker with a Rails application, including its shared pages.
const WORKER: u64 = 256 * MIB;
/// Memory of an open connection with a small waiting request.
const CONNECTION: u64 = 28 * KIB;
/// Memory of an I/O thread: the allocator has an arena for each, which begins with two pages of 2 MiB.
const IO_THREAD: u64 = 4 * MIB;
/// Upper and lower bounds of the defaults.
const MOST: usize = 1024;
const CONNECTIONS_MOST: usize = 16_384;
const CONNECTIONS_LEAST: usize = 256;

/// Default number of interpreters: two per core, since a request may wait for something, and at least four; but no more
/// than half of the memory holds.
pub fn interpreters(machine: Machine) -> usize {
    (2 * machine.cores).clamp(4, MOST).min((machine.holds(INTERPRETER) / 2).max(1))
}

/// Default number of workers: one per core, as far as memory allows.
pub fn workers(machine: Machine) -> usize {
    machine.cores.min(machine.holds(WORKER)).clamp(1, MOST)
}

/// Greatest number of workers where it is not configured: two per core, as far as memory allows. Workers above the
/// default number are added while all compute, so that short requests do not wait for long ones. A single worker stays
/// alone: it need not be forked. Under a quota of processor time none are added: they would use it up
/// sooner, and the kernel would then stop this server's own threads, too.
pub fn workers_most(machine: Machine) -> usize {
    match workers(machine) {
        least if least == 1 || machine.has_quota => least,
        least => (2 * machine.cores).min(machine.holds(WORKER)).clamp(least, MOST),
    }
}

/// Default of `--connections`: as many as a quarter of the memory holds.
pub fn connections(machine: Machine) -> usize {
    (machine.holds(CONNECTION) / 4).clamp(CONNECTIONS_LEAST, CONNECTIONS_MOST)
}

/// Default number of I/O threads: one per core, but no more than an eighth of the memory holds: a container with little
/// memory may have all cores of a large machine.
pub fn io_threads(machine: Machine) -> usize {
    machine.cores.min(machine.holds(IO_THREAD) / 8).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_memory_makes_them_fewer_and_much_memory_no_more() {
        let of = |cores, mib: u64| {
            let machine = Machine { cores, has_quota: false, memory: Some(mib * MIB) };
            [interpreters(machine), workers(machine), connections(machine), io_threads(machine)]
        };
        assert_eq!(of(8, 1 << 20), [16, 8, 16_384, 8]);
        assert_eq!(of(8, 1024), [8, 4, 9362, 8]);
        assert_eq!(of(8, 200), [1, 1, 1828, 6]);
        assert_eq!(of(1, 16), [1, 1, 256, 1]);
        assert_eq!((of(128, 512)[3], of(128, 1 << 20)[3]), (16, 128));
        let most = |cores, mib: u64| workers_most(Machine { cores, has_quota: false, memory: Some(mib * MIB) });
        assert_eq!([most(8, 1 << 20), most(8, 2560), most(8, 1024), most(1, 1 << 20)], [16, 10, 4, 1]);
        let quota = Machine { cores: 4, has_quota: true, memory: None };
        assert_eq!([workers(quota), workers_most(quota)], [4, 4]);
        let unknown = Machine { cores: 8, has_quota: false, memory: None };
        let defaults = [interpreters(unknown), workers(unknown), connections(unknown), io_threads(unknown)];
        assert_eq!(defaults, [16, 8, 16_384, 8]);
    }
}
