//! Parses and formats sizes and durations: `64MiB`, `1GB`, `500ms`, `30s`. Knows no option.

/// 1024 bytes.
pub const KIB: u64 = 1 << 10;
/// 1024 KiB.
pub const MIB: u64 = 1 << 20;
/// 1024 MiB.
pub const GIB: u64 = 1 << 30;

const SIZES: [(&str, u64); 7] =
    [("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("B", 1)];
const TIMES: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Description of a size, for messages.
pub const SIZE_FORM: &str = "a whole number of bytes, or one with B, KB, KiB, MB, MiB, GB or GiB, such as 64MiB";
/// Description of a duration, for messages.
pub const TIME_FORM: &str = "a whole number of seconds, or one with ms, s, m or h, such as 30s or 500ms";

/// Parses a size in bytes; a bare number is bytes. Case does not matter.
pub fn parse_size(text: &str) -> Option<u64> {
    parse(text, &SIZES, 1)
}

/// Parses a duration in milliseconds; a bare number is seconds.
pub fn parse_time(text: &str) -> Option<u64> {
    parse(text, &TIMES, 1000)
}

fn parse(text: &str, units: &[(&str, u64)], bare: u64) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    let factor = match unit {
        "" => bare,
        _ => units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// The shortest exact text of a size.
pub fn show_size(bytes: u64) -> String {
    show(bytes, &SIZES[..3], "B")
}

/// The shortest exact text of a duration in milliseconds.
pub fn show_time(ms: u64) -> String {
    show(ms, &TIMES[..3], "ms")
}

fn show(number: u64, units: &[(&str, u64)], least: &str) -> String {
    let fit = units.iter().find(|(_, factor)| number > 0 && number.is_multiple_of(*factor));
    let (name, factor) = fit.copied().unwrap_or((least, 1));
    format!("{}{name}", number / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let good =
            [("0", 0), ("17", 17), ("17B", 17), ("1KB", 1000), ("112KiB", 114_688), ("1 GiB", GIB), ("2mb", 2_000_000)];
        for (text, bytes) in good {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in ["", "B", "-1", "1.5MiB", "1X", "1s", "99999999999GiB", "99999999999999999999", "１"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read() {
        for (text, ms) in [("0", 0), ("2", 2000), ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("1h", 3_600_000)] {
            assert_eq!(parse_time(text), Some(ms), "{text}");
        }
        for text in ["", "s", "0.5s", "-3s", "3d", "3 s s"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for number in [0, 1, 999, 1000, 1024, 65_000, 114_688, GIB, 3_600_000] {
            assert_eq!(parse_size(&show_size(number)), Some(number));
            assert_eq!(parse_time(&show_time(number)), Some(number));
        }
        assert_eq!(show_size(64 * MIB), "64MiB");
        assert_eq!(show_time(65_000), "65s");
    }
}
