//! Pressure stall information (the kernel's documentation, "PSI"): the share of time in which processes wait for
//! memory.

/// The percentage of the last ten seconds in which all processes that were not idle waited for memory (`full avg10`).
pub(crate) fn stalled_percent(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("full "))?;
    line.split(' ').find_map(|pair| pair.strip_prefix("avg10=")?.parse().ok())
}
