//! Files of /proc whose lines begin with a name and a colon, such as `status`, `meminfo` and `smaps_rollup` (proc(5)).
//! The crate procfs is not used here, since it fails on a file that lacks a line, as some do in gVisor.

/// The rest of the line with this name.
pub fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The number in the line with this name, without its unit.
pub fn number(text: &str, name: &str) -> Option<u64> {
    line(text, name)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_whole_names() {
        let text = "Rss:  12 kB\nPss_Dirty: 1 kB\nPss:    3456 kB\nUid:\t0\t7\n";
        assert_eq!((number(text, "Pss"), number(text, "Swap"), line(text, "Uid")), (Some(3456), None, Some("0\t7")));
    }
}
