//! Pressure stall information (the kernel's documentation, "PSI"): for how much of the time processes wait for memory.

/// Of the last ten seconds, the percentage in which all processes that had something to do waited for memory.
pub(crate) fn stalled_percent(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("full "))?;
    line.split(' ').find_map(|pair| pair.strip_prefix("avg10=")?.parse().ok())
}
