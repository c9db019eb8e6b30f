//! The number of heaps of glibc's malloc ("arenas") in Ruby processes, as far as the environment of this one says it.

use std::env;
use std::ffi::OsString;

/// Whether nobody has set their number, so that the server may.
pub fn are_free() -> bool {
    are_free_in(|name| env::var_os(name))
}

/// The two ways of glibc: mallopt(3), and "Memory Allocation Tunables" of its manual.
fn are_free_in(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let tunables = variable("GLIBC_TUNABLES").unwrap_or_default();
    variable("MALLOC_ARENA_MAX").is_none() && !tunables.to_string_lossy().contains("arena_max")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_somebody_has_set_counts() {
        let free = |name: &str, value: &str| are_free_in(|asked| (asked == name).then(|| value.into()));
        assert!(!free("MALLOC_ARENA_MAX", "0") && !free("GLIBC_TUNABLES", "glibc.malloc.arena_max=4"));
        assert!(free("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0") && free("LANG", "C"));
    }
}
