//! The number of heaps of glibc's malloc ("arenas") in Ruby processes, as far as their environment sets it.

use std::env;
use std::ffi::OsString;

/// Whether the environment of Ruby processes does not set the number, so that the server may. `variables` are those
/// that they get besides the ones of this process.
pub fn are_free(variables: &[(String, String)]) -> bool {
    let own = |name: &str| variables.iter().find(|(other, _)| other == name).map(|(_, value)| OsString::from(value));
    are_free_in(|name| own(name).or_else(|| env::var_os(name)))
}

/// The same, by the two variables that glibc reads: see mallopt(3), and "Memory Allocation Tunables" in its manual.
fn are_free_in(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let tunables = variable("GLIBC_TUNABLES").unwrap_or_default();
    variable("MALLOC_ARENA_MAX").is_none() && !tunables.to_string_lossy().contains("arena_max")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_set_counts() {
        let free = |name: &str, value: &str| are_free_in(|asked| (asked == name).then(|| value.into()));
        assert!(!free("MALLOC_ARENA_MAX", "0") && !free("GLIBC_TUNABLES", "glibc.malloc.arena_max=4"));
        assert!(free("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0") && free("LANG", "C"));
        assert!(!are_free(&[("MALLOC_ARENA_MAX".to_owned(), "4".to_owned())]), "of the application");
    }
}
