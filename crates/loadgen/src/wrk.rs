//! wrk: a closed loop in C. It checks only the status of a response, and counts 400 and above as wrong. It waits for a
//! response beyond its time-out, and then counts it as late; a request that was never answered is not counted at all. A
//! response that is late and has such a status is counted as both. Where nothing came at all, each connection counts as
//! timed out here, unless the run was too short for that.

use std::collections::BTreeMap;
use std::time::Duration;

use super::open_files::too_many;
use super::scratch::Scratch;
use super::size::MeanSize;
use super::tool::{LoadTool, ToolOutput, number, number_after, word_after};
use crate::metric;
use crate::outcome::Outcome;

const WRK: LoadTool = LoadTool { name: "wrk", get: "on Debian: apt install wrk", without: &[] };
/// Seconds beyond its duration after which wrk is killed.
const GRACE_S: u32 = 30;
/// A script that prints what wrk knows and does not print. It runs once, at the end: it costs requests nothing.
const SCRIPT: &str = r#"function done(summary, latency, requests)
  if summary.requests > 0 then
    io.write(string.format("arena-shortest_us: %.0f\narena-p95_us: %.0f\narena-p999_us: %.0f\narena-p9999_us: %.0f\n",
      latency.min, latency:percentile(95), latency:percentile(99.9), latency:percentile(99.99)))
  end
end
"#;

/// Options of a run of wrk.
#[derive(Debug, Clone)]
pub struct WrkPlan {
    /// Largest number of threads (`-t`); there are fewer if the connections cannot be divided evenly among them.
    pub threads: u32,
    /// Number of connections (`-c`).
    pub connections: u32,
    /// Duration in seconds (`-d`).
    pub seconds: u32,
    /// Seconds after which a request counts as failed (`--timeout`).
    pub timeout_s: u32,
}

/// An error, with instructions to install it, if wrk is not here.
pub fn wrk_here() -> Result<(), String> {
    WRK.is_here()
}

/// Loads a path of the server on this port.
pub fn wrk(port: u16, path: &str, plan: &WrkPlan) -> Result<Outcome, String> {
    if let Some(why) = too_many(plan.connections) {
        return Ok(Outcome::nothing(why));
    }
    let scratch = Scratch::new()?;
    let script = scratch.write("numbers.lua", SCRIPT)?;
    let threads = plan.even_threads();
    let words: Vec<String> = [
        "--latency".to_owned(),
        format!("-t{threads}"),
        format!("-c{}", plan.connections),
        format!("-d{}s", plan.seconds),
        format!("--timeout={}s", plan.timeout_s),
        format!("--script={}", script.display()),
        format!("http://127.0.0.1:{port}{path}"),
    ]
    .into();
    let limit = Duration::from_secs(u64::from(plan.seconds + plan.timeout_s + GRACE_S));
    let mut output = WRK.run(&words, &scratch, limit)?;
    // The script is removed after the run, and not needed to repeat it.
    output.command = output.command.replace(&format!("--script={} ", script.display()), "");
    let outcome = read(&output, plan);
    let mut outcome = outcome.ok_or_else(|| WRK.not_understood("Requests/sec, requests or latencies", &output))?;
    output.tell_processors(&mut outcome, threads);
    Ok(outcome)
}

impl WrkPlan {
    /// The most threads among which the connections can be divided evenly: wrk rounds the share of each thread down and
    /// never opens the rest (`connections / threads` in its `main`).
    fn even_threads(&self) -> u32 {
        let most = self.threads.min(self.connections).max(1);
        (1..=most).rev().find(|threads| self.connections.is_multiple_of(*threads)).unwrap_or(1)
    }
}

/// Parses wrk's output. `None` if the output is not wrk's.
fn read(output: &ToolOutput, plan: &WrkPlan) -> Option<Outcome> {
    let text = output.out.as_str();
    let made = text.lines().find_map(|line| line.trim().split_once(" requests in ")).and_then(|(many, rest)| {
        let mut parts = rest.split(',');
        let elapsed = parts.next().and_then(milliseconds)?;
        Some((number(many)?, elapsed / 1_000.0, parts.next().and_then(most_bytes)))
    });
    let ((made, elapsed_s, bytes), per_s) = (made?, number_after(text, "Requests/sec:")?);
    let void = output.clock_was_set(elapsed_s);
    let mut errors = errors(text)?;
    if made == 0.0 && errors.is_empty() && plan.seconds >= plan.timeout_s {
        // No response and no error: each connection was still waiting in the end. In a shorter run none has waited for
        // as long as its time-out, and it is not known whether a response would have come.
        errors.insert("timeout".into(), u64::from(plan.connections));
    }
    let of = |kind: &str| errors.get(kind).copied().unwrap_or(0) as f64;
    // wrk counts late responses and those with a bad status among its requests, but not the others. It does not say how
    // many are both. Only what is surely right counts as right, and no more responses fail than there were.
    let both = of("timeout") + of(BAD_STATUS);
    let right = (made - both).max(0.0);
    let too_many = if made > 0.0 { (both - made).max(0.0) } else { 0.0 };
    let failed = errors.values().sum::<u64>() as f64 - too_many;
    let mut numbers = BTreeMap::from([
        ("requests".to_owned(), right),
        (metric::FAILED.into(), failed),
        (metric::RATE.into(), if made > 0.0 { per_s * right / made } else { 0.0 }),
        ("elapsed_s".into(), elapsed_s),
    ]);
    if right + failed > 0.0 {
        numbers.insert("availability_pct".into(), right * 100.0 / (right + failed));
    }
    if made > 0.0 {
        latencies(text, &mut numbers)?;
    }
    // Those with a bad status may have had no bytes at all.
    let good = made - of(BAD_STATUS);
    let mean_size = bytes.filter(|_| good > 0.0).map(|bytes| MeanSize::Whole(bytes / good));
    let overlap = of("timeout").min(of(BAD_STATUS));
    let twice = (overlap > 0.0)
        .then(|| format!("up to {overlap:.0} responses may be counted as two failures: late, and with a bad status"));
    let remarks = twice.into_iter().collect();
    let command = output.command.clone();
    Some(Outcome { command, numbers, errors, remarks, void, mean_size, ..Outcome::default() })
}

/// Kind of the responses that wrk calls neither 2xx nor 3xx.
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
    numbers.insert(metric::MEAN.into(), milliseconds(words.first()?)?);
    numbers.insert("max_ms".into(), milliseconds(words.get(2)?)?);
    let spread = text.split_once("Latency Distribution")?.1;
    for (name, mark) in [(metric::P50, "50%"), ("p75_ms", "75%"), ("p90_ms", "90%"), (metric::P99, "99%")] {
        numbers.insert(name.into(), milliseconds(word_after(spread, mark)?)?);
    }
    for (name, mark) in [
        ("shortest_ms", "arena-shortest_us:"),
        ("p95_ms", "arena-p95_us:"),
        ("p999_ms", "arena-p999_us:"),
        ("p9999_ms", "arena-p9999_us:"),
    ] {
        if let Some(us) = number_after(text, mark) {
            numbers.insert(name.into(), us / 1_000.0);
        }
    }
    Some(())
}

/// Parses a duration of wrk, in milliseconds: `812.00us`, `1.23ms`, `1.20s`, `1.02m` or `1.00h`.
fn milliseconds(word: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 6e7), ("h", 3.6e9)];
    let us = units.into_iter().find_map(|(unit, us)| number(word.trim().strip_suffix(unit)?).map(|many| many * us));
    us.map(|us| us / 1e3)
}

/// Parses a number of bytes of wrk, such as `3.45MB read`: the most that it may have rounded to that.
fn most_bytes(words: &str) -> Option<f64> {
    let word = words.split_whitespace().next()?.strip_suffix('B')?;
    let digits = word.trim_end_matches(char::is_alphabetic);
    let power = match &word[digits.len()..] {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some((number(digits)? + 0.005) * 1024_f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::super::tool::tests::check_damaged;
    use super::*;

    const RIGHT: &str = include_str!("recorded/wrk-right.txt");
    const SOME: &str = include_str!("recorded/wrk-some.txt");
    const SLOW: &str = include_str!("recorded/wrk-slow.txt");
    const HANG: &str = include_str!("recorded/wrk-hang.txt");

    const PLAN: WrkPlan = WrkPlan { threads: 2, connections: 8, seconds: 1, timeout_s: 1 };

    fn outcome(text: &str) -> Option<Outcome> {
        read(&ToolOutput { out: text.to_owned(), ..ToolOutput::default() }, &PLAN)
    }

    #[test]
    fn what_wrk_prints_is_read() {
        let seen = outcome(RIGHT).unwrap();
        let of = |name: &str| (seen.numbers[name] * 1e4).round() / 1e4;
        assert_eq!((of("requests"), of("failed"), of("requests_per_s")), (53_184.0, 0.0, 48_239.72));
        assert_eq!((of("mean_ms"), of("p50_ms"), of("p90_ms"), of("p99_ms")), (0.7183, 0.104, 2.4, 9.3));
        assert_eq!((of("max_ms"), of("shortest_ms"), of("p95_ms"), of("p999_ms")), (18.48, 0.01, 3.704, 17.109));
        assert!((of("elapsed_s") - 1.1).abs() < 1e-9 && of("availability_pct") == 100.0);
    }

    #[test]
    fn the_size_of_an_answer_is_that_of_the_bytes_that_were_read() {
        let mean = |text: &str| match outcome(text).unwrap().mean_size {
            Some(MeanSize::Whole(bytes)) => (bytes * 10.0).round() / 10.0,
            other => panic!("{other:?}"),
        };
        // Of 68 bytes each. Of others, those with a bad status may have had none.
        assert_eq!((mean(RIGHT), mean(SOME)), (68.1, 103.2));
        let of = |words: &str| most_bytes(words).map(f64::round);
        assert_eq!([of(" 12.00B read"), of("1.00KB read"), of("1.00MB")], [12.0, 1029.0, 1_053_819.0].map(Some));
        assert_eq!([of(""), of("3.45 read"), of("3.45XB read"), of("xMB read")], [None; 4]);
    }

    #[test]
    fn as_many_connections_are_opened_as_are_asked_for() {
        let of = |threads, connections| WrkPlan { threads, connections, seconds: 1, timeout_s: 1 }.even_threads();
        assert_eq!([of(2, 16), of(2, 1), of(1, 7), of(0, 4)], [2, 1, 1, 1]);
        // Of 25 on two threads wrk would open 24; of 15 on eight only eight.
        assert_eq!([of(2, 25), of(8, 15), of(8, 12)], [1, 5, 6]);
    }

    #[test]
    fn its_errors_are_not_counted_as_answers() {
        let seen = outcome(SOME).unwrap();
        assert_eq!(seen.errors, BTreeMap::from([("read".into(), 2_400), (BAD_STATUS.into(), 4_800)]));
        assert_eq!((seen.numbers["requests"], seen.numbers["failed"]), (9_601.0, 7_200.0));
        assert!((8_729.0..8_731.0).contains(&seen.numbers["requests_per_s"]), "{seen:?}");
        let errors = "Socket errors: connect 0, read 0, write 0, timeout 6\nRequests/sec";
        let late = outcome(&SLOW.replace("Requests/sec", errors)).unwrap();
        assert_eq!((late.numbers["requests"], late.errors["timeout"]), (18.0, 6));
        assert!(late.remarks.is_empty());
        assert_eq!(outcome(SLOW).unwrap().numbers["p99_ms"], 302.29);
        let hang = outcome(HANG).unwrap();
        assert_eq!((hang.numbers["requests_per_s"], hang.errors["timeout"]), (0.0, 8));
        assert!(hang.numbers.values().all(|number| number.is_finite()));
        let hang = ToolOutput { out: HANG.to_owned(), ..ToolOutput::default() };
        let short = read(&hang, &WrkPlan { timeout_s: 30, ..PLAN }).unwrap();
        assert!(short.errors.is_empty() && short.numbers["failed"] == 0.0, "no request has timed out: {short:?}");
    }

    #[test]
    fn a_late_response_with_a_bad_status_is_no_more_than_one_failure() {
        let both = |late: u32, refused: u32| {
            let broken = format!("Socket errors: connect 0, read 2, write 0, timeout {late}");
            let errors = format!("{broken}\nNon-2xx or 3xx responses: {refused}\nRequests/sec");
            let seen = outcome(&SLOW.replace("Requests/sec", &errors)).unwrap();
            (seen.numbers["requests"], seen.numbers["failed"], seen.remarks.len())
        };
        // Of 24 responses. Those whose connection broke are none of them.
        assert_eq!(both(24, 24), (0.0, 26.0, 1));
        assert_eq!(both(20, 10), (0.0, 26.0, 1));
        assert_eq!(both(6, 4), (14.0, 12.0, 1));
        assert_eq!(both(0, 4), (20.0, 6.0, 0));
    }

    #[test]
    fn a_run_whose_clock_was_set_is_void_and_has_no_rate_of_0() {
        let read =
            |text: &str| read(&ToolOutput { out: text.into(), took_s: Some(1.2), ..ToolOutput::default() }, &PLAN);
        // As wrk prints it where its end came before its beginning.
        let set = RIGHT.replace("requests in 1.10s", "requests in 307445734491.24m");
        assert_ne!(set, RIGHT);
        let why = read(&set).unwrap().void.unwrap();
        assert!(why.ends_with("s and ran for 1.20 s: was the clock set meanwhile?"), "{why}");
        assert_eq!(read(RIGHT).unwrap().void, None);
    }

    #[test]
    fn what_is_cut_or_spoilt_is_refused_or_read_but_never_worse() {
        check_damaged(&[RIGHT, SOME, SLOW, HANG], outcome);
        assert!(outcome("").is_none());
    }
}
