//! ab: a closed loop on one thread that speaks HTTP/1.0. It checks the status, and compares the length of each response
//! with that of the first one, unless `-l` is given. It ignores Content-Length: an incomplete response, or even none at
//! all, counts as complete if the first one was no longer. So the length of the right response is compared here. If the
//! first one had another length, and some were refused, the first one may be a refusal, with which ab has compared all
//! others: that run is void, unless the sum of all lengths shows which were right. A refusal of another length counts
//! as a bad status and as another length.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use super::open_files::too_many;
use super::scratch::Scratch;
use super::size::MeanSize;
use super::tool::{LoadTool, ToolOutput, number, number_after};
use crate::metric;
use crate::outcome::Outcome;
use crate::scenario::ASKED;

const AB: LoadTool = LoadTool { name: "ab", get: "on Debian: apt install apache2-utils", without: &[] };
/// Requests after which ab stops; with `-t` it would stop at 50 000 otherwise.
const ENDLESS: u64 = 5_000_000;

/// Options of a run of ab.
#[derive(Debug, Clone)]
pub struct AbPlan {
    /// Number of concurrent clients (`-c`).
    pub clients: u32,
    /// End of the run (`-n` or `-t`).
    pub until: AbUntil,
    /// Whether responses may have different lengths (`-l`).
    pub varies: bool,
    /// Length of the right body in bytes, if it is always the same.
    pub length: Option<u64>,
    /// Seconds without any response after which ab gives up (`-s`).
    pub timeout_s: u32,
    /// Seconds after which ab is killed and counts as hung.
    pub limit_s: u32,
}

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub enum AbUntil {
    /// After this many requests (`-n`).
    Requests(u64),
    /// After this many seconds (`-t`).
    Seconds(u32),
}

/// An error, with instructions to install it, if ab is not here.
pub fn ab_here() -> Result<(), String> {
    AB.is_here()
}

/// Loads a path of the server on this port.
pub fn ab(port: u16, path: &str, plan: &AbPlan) -> Result<Outcome, String> {
    if let Some(why) = too_many(plan.clients) {
        return Ok(Outcome::nothing(why));
    }
    let scratch = Scratch::new()?;
    let table = scratch.file("percent.csv");
    // -r: counts errors instead of ending at the first one.
    let mut words: Vec<String> = ["-q", "-r"].map(str::to_owned).into();
    words.push(format!("-c{}", plan.clients));
    match plan.until {
        AbUntil::Requests(requests) => words.push(format!("-n{requests}")),
        AbUntil::Seconds(seconds) => words.extend([format!("-t{seconds}"), format!("-n{ENDLESS}")]),
    }
    words.push(format!("-s{}", plan.timeout_s));
    words.extend(plan.varies.then(|| "-l".to_owned()));
    words.push(format!("-e{}", table.display()));
    words.push(format!("http://127.0.0.1:{port}{path}"));
    let mut output = AB.run(&words, &scratch, Duration::from_secs(u64::from(plan.limit_s)))?;
    output.command = output.command.replace(&format!("-e{} ", table.display()), "");
    // Without any good response there is no table.
    let table = fs::read_to_string(&table).unwrap_or_default();
    let outcome = read(&output, &table, plan.length);
    let mut outcome = outcome.ok_or_else(|| AB.not_understood("requests, time taken or percentiles", &output))?;
    // A wrong answer counts whatever the clock did.
    if outcome.wrong.is_none() {
        let was_set = outcome.numbers.get("elapsed_s").and_then(|elapsed_s| output.clock_was_set(*elapsed_s));
        outcome.void = outcome.void.take().or(was_set);
    }
    // ab has a single thread.
    output.tell_processors(&mut outcome, 1);
    Ok(outcome)
}

/// Parses ab's output and its table of percentiles. `None` if the output is not ab's.
fn read(output: &ToolOutput, table: &str, length: Option<u64>) -> Option<Outcome> {
    let text = output.out.as_str();
    let made = number_after(text, "Complete requests:")?;
    let elapsed_s = number_after(text, "Time taken for tests:")?;
    let failed = number_after(text, "Failed requests:")?;
    let mut errors = errors(text, failed)?;
    let first = number_after(text, "Document Length:");
    let nothing_came = number_after(text, "Total transferred:")? == 0.0;
    if nothing_came && errors.is_empty() && made > 0.0 {
        errors.insert(CLOSED.into(), made as u64);
    }
    let refused = errors.get(BAD_STATUS).copied().unwrap_or(0);
    let unlike = errors.get(LENGTH).copied().unwrap_or(0);
    let expected = length.map(|bytes| bytes as f64);
    // ab compares the length of each response with that of the first. Where that was not the right length, the others
    // are known to have had it only if the sum of all lengths says so.
    let sum = expected.zip(first).map(|(expected, first)| expected * unlike as f64 + first * refused as f64);
    let adds_up = first != expected && sum.is_some() && sum == number_after(text, "HTML transferred:");
    // The first connection was closed early: every response with a body has another length.
    let is_empty = first == Some(0.0) && length.is_some_and(|bytes| bytes > 0) && unlike > 0;
    let is_closed = is_empty && errors.len() == 1 && adds_up;
    if is_closed {
        errors = BTreeMap::from([(CLOSED.to_owned(), (made as u64).saturating_sub(unlike))]);
    }
    // The first request was refused: every response that was not has another length. Otherwise a run with many refusals
    // would be void each time it is repeated, and their number would never be shown.
    let is_of_two_kinds = errors.len() == 2 && unlike > 0 && refused > 0 && (unlike + refused) as f64 == made;
    let is_refusal = is_of_two_kinds && adds_up;
    if is_refusal {
        errors.remove(LENGTH);
    }
    let first = if is_closed || is_refusal { expected } else { first };
    let difference = match (first, expected) {
        _ if nothing_came => None,
        (Some(first), Some(expected)) if first != expected => {
            Some(format!("ab was given a body of {first} bytes first, not of {expected}"))
        }
        _ => None,
    };
    // A first response that was a refusal, or was cut off, is no wrong answer, but the others were compared with it.
    let (wrong, void) = match refused {
        0 if is_empty => (None, difference.map(|words| format!("{words}; {unlike} had another length"))),
        0 => (difference, None),
        some if (some as f64) < made => {
            (None, difference.map(|words| format!("{words}; {some} had another status than 2xx")))
        }
        _ => (None, None),
    };
    // ab may count a failed request under several kinds, among them a bad status and another length, and does not say
    // how many are both. Only what is certainly right counts as right, and only what certainly failed as failed.
    let twice = errors.get(LENGTH).copied().unwrap_or(0).min(refused);
    let sum = errors.values().sum::<u64>();
    let right = if wrong.is_some() { 0.0 } else { (made - sum as f64).max(0.0) };
    let failed = if wrong.is_some() { made } else { ((sum - twice) as f64).min(made) };
    let mut numbers = BTreeMap::from([
        ("requests".to_owned(), right),
        (metric::FAILED.into(), failed),
        (metric::RATE.into(), if elapsed_s > 0.0 { right / elapsed_s } else { 0.0 }),
        ("elapsed_s".into(), elapsed_s),
    ]);
    let mut remarks = Vec::new();
    if twice > 0 {
        numbers.insert(ASKED.into(), made);
        remarks
            .push(format!("up to {twice} responses were counted under two failures: a bad status and another length"));
    }
    if made > 0.0 {
        numbers.insert("availability_pct".into(), right * 100.0 / made);
    }
    if let Some(bytes) = first {
        numbers.insert("bytes_per_answer".into(), bytes);
    }
    // The lengths of all bodies; those that failed may have had none.
    let all = number_after(text, "HTML transferred:").filter(|_| right > 0.0);
    let mean_size = all.map(|bytes| MeanSize::Body(bytes / right));
    if right > 0.0 {
        let mean = text.lines().find(|line| line.starts_with("Time per request:") && line.ends_with("(mean)"))?;
        numbers.insert("mean_ms".into(), number_after(mean, "Time per request:")?);
        percentiles(table, &mut numbers)?;
    }
    let command = output.command.clone();
    Some(Outcome { command, numbers, errors, wrong, remarks, void, mean_size, ..Outcome::default() })
}

const BAD_STATUS: &str = "status not 2xx";
const LENGTH: &str = "another length";
const CLOSED: &str = "closed early";

fn errors(text: &str, failed: f64) -> Option<BTreeMap<String, u64>> {
    let mut errors = BTreeMap::new();
    if failed > 0.0 {
        let list = text.lines().find_map(|line| line.trim().strip_prefix("(Connect:"))?;
        for part in format!("Connect:{}", list.trim_end_matches(')')).split(',') {
            let (kind, many) = part.trim().split_once(':')?;
            let kind = match kind {
                "Connect" => "connect",
                "Receive" => "read",
                "Length" => LENGTH,
                // "Exceptions": errors of a socket that is neither readable nor writable.
                _ => "exception",
            };
            *errors.entry(kind.to_owned()).or_insert(0) += many.trim().parse::<u64>().ok()?;
        }
    }
    for (mark, kind) in [("Non-2xx responses:", BAD_STATUS), ("Write errors:", "write")] {
        if let Some(many) = number_after(text, mark) {
            errors.insert(kind.to_owned(), many as u64);
        }
    }
    errors.retain(|_, many| *many > 0);
    Some(errors)
}

/// Reads the percentiles. The table has a line for each percentage from 0 to 100.
fn percentiles(table: &str, numbers: &mut BTreeMap<String, f64>) -> Option<()> {
    let of = |percent: &str| {
        let line = table.lines().find_map(|line| line.split_once(',').filter(|(at, _)| *at == percent));
        line.and_then(|(_, ms)| number(ms))
    };
    let longest = of("100")?;
    let mut before = 0.0;
    for (name, percent) in [
        ("shortest_ms", "0"),
        (metric::P50, "50"),
        ("p75_ms", "75"),
        ("p90_ms", "90"),
        ("p95_ms", "95"),
        (metric::P99, "99"),
        ("max_ms", "100"),
    ] {
        let found = of(percent)?;
        // Of few requests ab takes the high percentiles from beyond the end of its list, where it finds zeros.
        let ms = if found < before { longest } else { found };
        numbers.insert(name.to_owned(), ms);
        before = ms;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::tool::tests::{check_damaged, damaged};
    use super::*;

    const RIGHT: &str = include_str!("recorded/ab-right.txt");
    const TABLE: &str = include_str!("recorded/ab-right.csv");
    const SOME: &str = include_str!("recorded/ab-some.txt");
    const BAD: &str = include_str!("recorded/ab-500.txt");
    const VARIES: &str = include_str!("recorded/ab-varies.txt");
    const CLOSED: &str = include_str!("recorded/ab-closed.txt");
    const REFUSED: &str = include_str!("recorded/ab-refused.txt");

    fn outcome(text: &str, length: Option<u64>) -> Option<Outcome> {
        read(&ToolOutput { out: text.into(), ..ToolOutput::default() }, TABLE, length)
    }

    #[test]
    fn what_ab_prints_is_read() {
        let seen = outcome(RIGHT, Some(6)).unwrap();
        let of = |name: &str| seen.numbers[name];
        assert_eq!((of("requests"), of("failed"), of("elapsed_s")), (30.0, 0.0, 0.025));
        assert_eq!((of("requests_per_s"), of("mean_ms"), of("bytes_per_answer")), (1_200.0, 3.348, 6.0));
        assert_eq!((of("shortest_ms"), of("p50_ms"), of("p90_ms")), (0.304, 0.674, 9.237));
        assert_eq!((of("p95_ms"), of("p99_ms"), of("max_ms")), (9.539, 9.539, 9.539));
        assert_eq!((seen.errors.len(), seen.wrong, seen.mean_size), (0, None, Some(MeanSize::Body(6.0))));
        assert!(outcome(VARIES, None).is_some_and(|seen| seen.numbers["requests"] == 30.0 && seen.errors.is_empty()));
    }

    #[test]
    fn of_few_requests_the_high_percentiles_are_the_longest_time() {
        let table = "Percentage served,Time in ms\n0,296.982\n50,452.344\n75,518.981\n90,0.000\n95,0.000\n98,0.000\n\
                     99,0.000\n100,518.981\n";
        let seen = read(&ToolOutput { out: RIGHT.into(), ..ToolOutput::default() }, table, Some(6)).unwrap();
        let of = |name: &str| seen.numbers[name];
        assert_eq!([of("p75_ms"), of("p90_ms"), of("p95_ms"), of("p99_ms"), of("max_ms")], [518.981; 5]);
        assert_eq!(of("p50_ms"), 452.344);
    }

    #[test]
    fn failures_are_found_also_those_that_ab_calls_complete() {
        let seen = outcome(SOME, Some(6)).unwrap();
        assert_eq!(seen.errors, BTreeMap::from([("another length".into(), 4), (BAD_STATUS.into(), 8)]));
        // Of the 4 some or all may be among the 8.
        assert_eq!((seen.numbers["requests"], seen.numbers["failed"], seen.numbers[ASKED]), (18.0, 8.0, 30.0));
        let remark = "up to 4 responses were counted under two failures: a bad status and another length";
        assert_eq!(seen.remarks, [remark]);
        let seen = outcome(BAD, Some(6)).unwrap();
        assert_eq!((seen.numbers["requests"], seen.numbers["failed"]), (0.0, 30.0));
        let seen = outcome(CLOSED, Some(6)).unwrap();
        assert_eq!((seen.errors["closed early"], seen.numbers["requests_per_s"]), (30, 0.0));
        let seen = outcome(REFUSED, Some(6)).unwrap();
        assert_eq!((seen.errors["read"], seen.numbers["failed"]), (30, 30.0));
        let seen = outcome(RIGHT, Some(100)).unwrap();
        assert!(seen.wrong.unwrap().contains("6 bytes first, not of 100") && seen.numbers["requests"] == 0.0);
    }

    /// The outcome of 30 requests, if the first response had `length` bytes, `others` had another length, and all had
    /// `bytes` together. `refusals` is a further line, if any.
    fn first_of(length: u32, others: u32, refusals: &str, bytes: u32) -> Outcome {
        let failures = format!("{others}\n   (Connect: 0, Receive: 0, Length: {others}, Exceptions: 0){refusals}");
        let text = RIGHT.replace("Document Length:        6 bytes", &format!("Document Length: {length} bytes"));
        let text = text.replace("Failed requests:        0", &format!("Failed requests: {failures}"));
        let text = text.replace("HTML transferred:       180 bytes", &format!("HTML transferred: {bytes} bytes"));
        outcome(&text, Some(6)).unwrap()
    }

    #[test]
    fn a_connection_that_was_closed_early_and_came_first_is_no_wrong_answer() {
        // Of 30 requests 28 had an answer, of which all are of another length than the first.
        let of = |bytes: u32| first_of(0, 28, "", bytes);
        let seen = of(28 * 6);
        assert_eq!((seen.wrong, seen.void, seen.errors), (None, None, BTreeMap::from([("closed early".into(), 2)])));
        assert_eq!((seen.numbers["requests"], seen.numbers["failed"]), (28.0, 2.0));
        assert_eq!(seen.numbers["bytes_per_answer"], 6.0);
        // One of them had another length than the right one, and it is not known how many had.
        let seen = of(28 * 6 - 1);
        let why = "ab was given a body of 0 bytes first, not of 6; 28 had another length";
        assert_eq!((seen.wrong, seen.void.as_deref()), (None, Some(why)));
        // Where all are empty, and not for a closed connection, the answer is wrong.
        let empty = RIGHT.replace("Document Length:        6 bytes", "Document Length:        0 bytes");
        assert!(outcome(&empty, Some(6)).is_some_and(|seen| seen.wrong.is_some() && seen.void.is_none()));
    }

    #[test]
    fn a_refusal_that_came_first_is_no_wrong_answer() {
        // Of 30 responses 8 were refusals, and it is not known whether the first one was.
        let seen = outcome(SOME, Some(100)).unwrap();
        let why = "ab was given a body of 6 bytes first, not of 100; 8 had another status than 2xx";
        assert_eq!((seen.wrong, seen.void.as_deref()), (None, Some(why)));
        let seen = outcome(BAD, Some(100)).unwrap();
        assert_eq!((seen.wrong, seen.void, seen.numbers["requests"]), (None, None, 0.0));
        assert!(outcome(SOME, Some(6)).is_some_and(|seen| seen.void.is_none()));
        // Where 20 refusals of 9 bytes and 10 right answers of 6 are all that there was, it is known.
        let of = |bytes: u32| first_of(9, 10, "\nNon-2xx responses:      20", bytes);
        let seen = of(20 * 9 + 10 * 6);
        assert_eq!((seen.wrong, seen.void, seen.errors), (None, None, BTreeMap::from([(BAD_STATUS.into(), 20)])));
        assert_eq!((seen.numbers["requests"], seen.numbers["failed"]), (10.0, 20.0));
        assert_eq!((seen.numbers["bytes_per_answer"], seen.numbers.get(ASKED)), (6.0, None));
        let why = "ab was given a body of 9 bytes first, not of 6; 20 had another status than 2xx";
        assert_eq!(of(20 * 9 + 10 * 6 - 1).void.as_deref(), Some(why));
        assert!(outcome(RIGHT, Some(100)).is_some_and(|seen| seen.void.is_none() && seen.wrong.is_some()));
    }

    #[test]
    fn what_is_cut_or_spoilt_is_refused_or_read_but_never_worse() {
        check_damaged(&[RIGHT, SOME, BAD, VARIES, CLOSED, REFUSED], |text| outcome(text, Some(6)));
        for table in damaged(TABLE) {
            let _ = read(&ToolOutput { out: RIGHT.into(), ..ToolOutput::default() }, &table, None);
        }
        assert!(outcome("", None).is_none());
    }
}
