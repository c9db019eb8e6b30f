//! Reads the memory use of a process.

use std::fs;

use machine::proc_lines::number;

use crate::weight::Weight;

/// Reads the memory use of a process; none where `/proc` has no `smaps_rollup` of it.
pub fn weigh(pid: u32) -> Option<Weight> {
    read(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?)
}

fn read(rollup: &str) -> Option<Weight> {
    let of = |name: &str| number(rollup, name);
    Some(Weight { pss_kib: of("Pss")?, own_kib: of("Private_Clean")? + of("Private_Dirty")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_read_and_not_its_parts() {
        let rollup = "5600-7fff ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  \t 321 kB\nPss_Anon:  200 kB\n\
                      Shared_Clean: 7 kB\nPrivate_Clean:  20 kB\nPrivate_Dirty: 100 kB\n";
        assert_eq!(read(rollup), Some(Weight { pss_kib: 321, own_kib: 120 }));
        assert_eq!(read("Rss: 900 kB\n"), None);
        assert!(weigh(std::process::id()).is_none_or(|weight| weight.pss_kib > 100));
    }
}
