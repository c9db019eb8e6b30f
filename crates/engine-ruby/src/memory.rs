//! How much memory a process needs: its proportional share, in which what it shares with others is divided by their
//! number. So the sum over a mold and its workers is what they need together.

use std::fs;

/// In KiB; none where the system does not tell.
pub fn pss_kib(pid: u32) -> Option<u64> {
    read(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?)
}

fn read(rollup: &str) -> Option<u64> {
    let rest = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_read_and_not_its_parts() {
        let rollup = "5600-7fff ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  \t 321 kB\nPss_Anon:  200 kB\n";
        assert_eq!(read(rollup), Some(321));
        assert_eq!(read("Rss: 900 kB\n"), None);
        assert!(pss_kib(std::process::id()).is_none_or(|kib| kib > 100));
    }
}
