//! Parses the output of load generators. Anything but good responses is recorded as an error, and disqualifies the
//! sample.

/// Result of a run.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Responses per second.
    pub per_second: f64,
    /// Median latency in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the latency in milliseconds.
    pub p99_ms: f64,
    /// Number of responses.
    pub requests: u64,
    /// Why the sample does not count.
    pub errors: Vec<String>,
}

/// Parses the output of `wrk --latency`.
pub fn read(text: &str) -> Sample {
    let mut sample = Sample {
        per_second: number_after(text, "Requests/sec:").unwrap_or(0.0),
        p50_ms: duration_after(text, "50%").unwrap_or(f64::NAN),
        p99_ms: duration_after(text, "99%").unwrap_or(f64::NAN),
        ..Sample::default()
    };
    sample.requests = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in ").and_then(|(many, _)| many.parse().ok()))
        .unwrap_or(0);
    for what in ["Socket errors:", "Non-2xx or 3xx responses:"] {
        if let Some(line) = text.lines().find(|line| line.contains(what)) {
            sample.errors.push(line.trim().to_owned());
        }
    }
    if sample.requests == 0 {
        sample.errors.push("no request was completed".to_owned());
    }
    sample
}

/// The number that follows `mark` at the beginning of a line.
pub fn number_after(text: &str, mark: &str) -> Option<f64> {
    word_after(text, mark)?.parse().ok()
}

fn word_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(mark))?;
    line.split_whitespace().next()
}

/// A duration in milliseconds; wrk prints `812.00us`, `1.23ms`, `1.20s` or `1.02m`.
fn duration_after(text: &str, mark: &str) -> Option<f64> {
    let word = word_after(text, mark)?;
    let (number, factor) = [("us", 0.001), ("ms", 1.0), ("s", 1_000.0), ("m", 60_000.0)]
        .into_iter()
        .find_map(|(unit, factor)| word.strip_suffix(unit).map(|number| (number, factor)))?;
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "Running 1s test @ http://127.0.0.1:1/
  2 threads and 16 connections
  Latency Distribution
     50%  150.00us
     99%    1.25ms
  78501 requests in 1.00s, 9MB read
Requests/sec:  78422.71
Transfer/sec:      9.60MB
";

    #[test]
    fn what_wrk_prints_is_read() {
        let sample = read(WRK);
        assert_eq!((sample.per_second, sample.p50_ms, sample.p99_ms, sample.requests), (78_422.71, 0.15, 1.25, 78_501));
        assert!(sample.errors.is_empty());
    }

    #[test]
    fn errors_disqualify() {
        let text =
            format!("{WRK}  Socket errors: connect 0, read 1, write 0, timeout 0\n  Non-2xx or 3xx responses: 3\n");
        assert_eq!(read(&text).errors.len(), 2);
        assert_eq!(read("").errors.len(), 1);
    }
}
