//! Numbers as text for a terminal.

/// Formats milliseconds: `0.3 ms`, `12 ms`, `1.20 s`, `3m 20s`, `2h 13m`, `4d 1h`.
pub fn millis(ms: f64) -> String {
    let seconds = ms / 1e3;
    // Whole seconds are enough from a minute on.
    let whole = seconds as u64;
    match ms {
        _ if ms < 10.0 => format!("{ms:.1} ms"),
        _ if ms < 1000.0 => format!("{ms:.0} ms"),
        _ if seconds < 60.0 => format!("{seconds:.2} s"),
        _ if whole < 3600 => format!("{}m {:02}s", whole / 60, whole % 60),
        _ if whole < 86_400 => format!("{}h {:02}m", whole / 3600, whole % 3600 / 60),
        _ => format!("{}d {}h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// Formats a duration in seconds: `12s`, `3m 20s`.
pub fn lasting(seconds: f64) -> String {
    if seconds < 60.0 { format!("{seconds:.0}s") } else { millis(seconds * 1e3) }
}

/// Formats KiB: `812 KiB`, `45.2 MiB`, `1.20 GiB`.
pub fn size(kib: f64) -> String {
    match kib {
        _ if kib < 1024.0 => format!("{kib:.0} KiB"),
        _ if kib < 1024.0 * 1024.0 => format!("{:.1} MiB", kib / 1024.0),
        _ => format!("{:.2} GiB", kib / 1024.0 / 1024.0),
    }
}

/// Formats a number per second.
pub fn rate(number: f64) -> String {
    if number == 0.0 || number >= 100.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// Replaces control characters: paths come from clients, and such characters would control the terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Replaces control characters in a text of several lines, but for its line feeds.
pub fn plain_lines(text: &str) -> String {
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_that_fit_them() {
        let times = [0.25, 12.4, 1_204.0, 200_000.0, 8_000_000.0, 350_000_000.0].map(millis);
        assert_eq!(times, ["0.2 ms", "12 ms", "1.20 s", "3m 20s", "2h 13m", "4d 1h"]);
        assert_eq!([12.4, 80.0].map(lasting), ["12s", "1m 20s"]);
        assert_eq!([812.0, 46_285.0, 1_258_291.0].map(size), ["812 KiB", "45.2 MiB", "1.20 GiB"]);
        assert_eq!([0.0, 0.5, 120.4].map(rate), ["0", "0.5", "120"]);
        assert_eq!(plain("/a\u{1b}[2J\n"), "/a\u{fffd}[2J\u{fffd}");
        assert_eq!(plain_lines("a\n\u{9b}2J\n"), "a\n\u{fffd}2J\n");
    }
}
