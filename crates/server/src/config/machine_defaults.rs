//! Defaults that follow the machine, or the container around this program: its processors and its memory.

use machine::Machine;

use crate::config::size::{KIB, MIB};

/// What an interpreter may need: the default of `--memory-limit`.
const INTERPRETER: u64 = 64 * MIB;
/// What a worker with an application of Rails needs, with what it shares.
const WORKER: u64 = 256 * MIB;
/// What an open connection costs, and what a small request that waits costs.
const CONNECTION: u64 = 28 * KIB;
/// More are no use.
const MOST: usize = 1024;
const CONNECTIONS_MOST: usize = 16_384;
const CONNECTIONS_LEAST: usize = 256;

/// Two for each core, since a request may wait for something, and at least four; but half of the memory holds them all.
pub fn interpreters(machine: Machine) -> usize {
    (2 * machine.cores).clamp(4, MOST).min((machine.holds(INTERPRETER) / 2).max(1))
}

/// One for each core, as many as memory holds.
pub fn workers(machine: Machine) -> usize {
    machine.cores.min(machine.holds(WORKER)).clamp(1, MOST)
}

/// As many as a quarter of the memory holds.
pub fn connections(machine: Machine) -> usize {
    (machine.holds(CONNECTION) / 4).clamp(CONNECTIONS_LEAST, CONNECTIONS_MOST)
}

/// One for each core.
pub fn io_threads(machine: Machine) -> usize {
    machine.cores.clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_memory_makes_them_fewer_and_much_memory_no_more() {
        let of = |cores, mib: u64| {
            let machine = Machine { cores, memory: Some(mib * MIB) };
            [interpreters(machine), workers(machine), connections(machine), io_threads(machine)]
        };
        assert_eq!(of(8, 1 << 20), [16, 8, 16_384, 8]);
        assert_eq!(of(8, 1024), [8, 4, 9362, 8]);
        assert_eq!(of(8, 200), [1, 1, 1828, 8]);
        assert_eq!(of(1, 16), [1, 1, 256, 1]);
        let unknown = Machine { cores: 8, memory: None };
        assert_eq!([interpreters(unknown), workers(unknown), connections(unknown)], [16, 8, 16_384]);
    }
}
