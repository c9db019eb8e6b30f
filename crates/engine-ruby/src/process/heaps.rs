//! The number of heaps of glibc's malloc ("arenas", mallopt(3)) in a Ruby process.

use std::process::Command;

/// The most heaps in a process. By default there are up to eight for each processor, and each thread gets one of its
/// own. Threads of a Ruby allocate one at a time, since they hold the global VM lock, and gain nothing by that, while
/// each heap keeps what its threads have freed.
const HEAPS: &str = "2";

/// Limits the heaps in the Ruby process that a command starts. The second variable marks the first as the server's: the
/// process then removes both, which have had their effect, and are not for what the application starts.
pub fn limit(command: &mut Command) {
    command.env("MALLOC_ARENA_MAX", HEAPS).env("FOOLS_GOLD_ARENAS", HEAPS);
}
