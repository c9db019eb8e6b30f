//! The memory use of a process, as a value: `process::memory` reads it, the fleet decides by it.

/// The memory use of one process, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    /// The proportional set size, in which memory that is shared is divided by the number of processes that share it:
    /// the sum over a mold and its workers is what they use together.
    pub pss_kib: u64,
    /// The private memory, which is free when the process has ended.
    pub own_kib: u64,
}
