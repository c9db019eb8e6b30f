//! Parses the output of load generators. Anything but good responses is recorded as an error, and disqualifies the
//! sample.

use loadgen::metric::{P50, P99, RATE, REQUESTS};

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

/// Parses the output of `wrk --latency` with this number of connections.
pub fn read(text: &str, connections: u32) -> Sample {
    let Some(seen) = loadgen::read_wrk(text, connections) else {
        let errors = vec!["what wrk printed was not understood".to_owned()];
        return Sample { p50_ms: f64::NAN, p99_ms: f64::NAN, errors, ..Sample::default() };
    };
    let of = |name: &str| seen.numbers.get(name).copied();
    let mut sample = Sample {
        per_second: of(RATE).unwrap_or(0.0),
        p50_ms: of(P50).unwrap_or(f64::NAN),
        p99_ms: of(P99).unwrap_or(f64::NAN),
        requests: of(REQUESTS).unwrap_or(0.0) as u64,
        errors: seen.errors.iter().map(|(kind, count)| format!("{kind}: {count}")).collect(),
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "Running 1s test @ http://127.0.0.1:1/
  2 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   190.00us    1.00ms   9.00ms   90.45%
    Req/Sec    39.46k     1.66k   41.65k    71.43%
  Latency Distribution
     50%  150.00us
     75%  200.00us
     90%  400.00us
     99%    1.25ms
  78501 requests in 1.00s, 9MB read
Requests/sec:  78422.71
Transfer/sec:      9.60MB
";

    #[test]
    fn what_wrk_prints_is_read() {
        let sample = read(WRK, 16);
        assert_eq!((sample.per_second, sample.p50_ms, sample.p99_ms, sample.requests), (78_422.71, 0.15, 1.25, 78_501));
        assert!(sample.errors.is_empty());
    }

    #[test]
    fn errors_disqualify() {
        let text =
            format!("{WRK}  Socket errors: connect 0, read 1, write 0, timeout 0\n  Non-2xx or 3xx responses: 3\n");
        assert_eq!(read(&text, 16).errors, ["read: 1", "status 400 or more: 3"]);
        let nothing = read("", 16);
        assert!(nothing.errors.len() == 1 && nothing.p50_ms.is_nan() && nothing.requests == 0, "{nothing:?}");
    }
}
