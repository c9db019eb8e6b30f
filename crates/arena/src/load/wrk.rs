//! wrk: a closed loop in C. It looks at no answer but its status, and counts as failed what is 400 or more. A request
//! beyond its time-out it answers late, but counts.

use std::collections::BTreeMap;
use std::time::Duration;

use super::scratch::Scratch;
use super::tool::{Said, Tool, number, number_after, word_after};
use crate::metric;
use crate::record::Outcome;

const WRK: Tool = Tool { name: "wrk", package: "wrk" };
/// How much longer than it should it may take.
const GRACE_S: u32 = 30;
/// What wrk knows and does not print. It runs once, when all is over: no request costs more for it.
const SCRIPT: &str = r#"function done(summary, latency, requests)
  if summary.requests > 0 then
    io.write(string.format("arena-shortest_us: %.0f\narena-p95_us: %.0f\narena-p999_us: %.0f\n",
      latency.min, latency:percentile(95), latency:percentile(99.9)))
  end
end
"#;

/// How wrk runs.
#[derive(Debug, Clone)]
pub struct WrkPlan {
    /// `-t`; never more than connections.
    pub threads: u32,
    /// `-c`.
    pub connections: u32,
    /// `-d`.
    pub seconds: u32,
    /// `--timeout`; what takes longer counts as failed.
    pub timeout_s: u32,
}

/// Loads this path of the server on this port.
pub fn wrk(port: u16, path: &str, plan: &WrkPlan) -> Result<Outcome, String> {
    let scratch = Scratch::new()?;
    let script = scratch.write("numbers.lua", SCRIPT)?;
    let words: Vec<String> = [
        "--latency".to_owned(),
        format!("-t{}", plan.threads.min(plan.connections)),
        format!("-c{}", plan.connections),
        format!("-d{}s", plan.seconds),
        format!("--timeout={}s", plan.timeout_s),
        format!("--script={}", script.display()),
        format!("http://127.0.0.1:{port}{path}"),
    ]
    .into();
    let limit = Duration::from_secs(u64::from(plan.seconds + plan.timeout_s + GRACE_S));
    let mut said = WRK.run(&words, &scratch, limit)?;
    // The script is ours and gone after the run: who repeats it needs it not.
    said.command = said.command.replace(&format!("--script={} ", script.display()), "");
    read(&said).ok_or_else(|| WRK.not_understood("Requests/sec, requests or latencies", &said))
}

/// Nothing when this is not what wrk prints.
fn read(said: &Said) -> Option<Outcome> {
    let text = said.out.as_str();
    let made = text.lines().find_map(|line| line.trim().split_once(" requests in ")).and_then(|(many, rest)| {
        let elapsed = rest.split(',').next().and_then(milliseconds)?;
        Some((number(many)?, elapsed / 1_000.0))
    });
    let ((made, elapsed_s), per_s) = (made?, number_after(text, "Requests/sec:")?);
    let errors = errors(text)?;
    let of = |kind: &str| errors.get(kind).copied().unwrap_or(0) as f64;
    // Late ones and those with a bad status are among the requests that wrk says were made, the others are not.
    let right = (made - of("timeout") - of(BAD_STATUS)).max(0.0);
    let failed: u64 = errors.values().sum();
    let mut numbers = BTreeMap::from([
        ("requests".to_owned(), right),
        (metric::FAILED.into(), failed as f64),
        (metric::RATE.into(), if made > 0.0 { per_s * right / made } else { 0.0 }),
        ("elapsed_s".into(), elapsed_s),
    ]);
    if right + failed as f64 > 0.0 {
        numbers.insert("availability_pct".into(), right * 100.0 / (right + failed as f64));
    }
    if made > 0.0 {
        latencies(text, &mut numbers)?;
    }
    Some(Outcome { command: said.command.clone(), numbers, errors, wrong: None })
}

/// What wrk calls neither 2xx nor 3xx.
const BAD_STATUS: &str = "status 400 or more";

fn errors(text: &str) -> Option<BTreeMap<String, u64>> {
    let mut errors = BTreeMap::new();
    if let Some(list) = text.lines().find_map(|line| line.trim().strip_prefix("Socket errors:")) {
        for part in list.split(',') {
            let (kind, many) = part.trim().split_once(' ')?;
            errors.insert(kind.to_owned(), many.parse().ok()?);
        }
    }
    if let Some(many) = word_after(text, "Non-2xx or 3xx responses:") {
        errors.insert(BAD_STATUS.into(), many.parse().ok()?);
    }
    errors.retain(|_, many| *many > 0);
    Some(errors)
}

fn latencies(text: &str, numbers: &mut BTreeMap<String, f64>) -> Option<()> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Latency "))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    numbers.insert("mean_ms".into(), milliseconds(words.first()?)?);
    numbers.insert("max_ms".into(), milliseconds(words.get(2)?)?);
    let spread = text.split_once("Latency Distribution")?.1;
    for (name, mark) in [(metric::P50, "50%"), ("p90_ms", "90%"), (metric::P99, "99%")] {
        numbers.insert(name.into(), milliseconds(word_after(spread, mark)?)?);
    }
    for (name, mark) in
        [("shortest_ms", "arena-shortest_us:"), ("p95_ms", "arena-p95_us:"), ("p999_ms", "arena-p999_us:")]
    {
        if let Some(us) = number_after(text, mark) {
            numbers.insert(name.into(), us / 1_000.0);
        }
    }
    if let (Some(p50), Some(p99)) = (numbers.get(metric::P50).copied(), numbers.get(metric::P99).copied())
        && p50 > 0.0
    {
        numbers.insert("p99_over_p50".into(), p99 / p50);
    }
    Some(())
}

/// wrk writes `812.00us`, `1.23ms`, `1.20s`, `1.02m` or `1.00h`.
fn milliseconds(word: &str) -> Option<f64> {
    let units = [("us", 0.001), ("ms", 1.0), ("s", 1_000.0), ("m", 60_000.0), ("h", 3_600_000.0)];
    units.into_iter().find_map(|(unit, factor)| number(word.trim().strip_suffix(unit)?).map(|number| number * factor))
}
