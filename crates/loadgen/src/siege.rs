//! siege: a closed loop with a thread for each client. It checks the status of a response and nothing else: an
//! incomplete one counts as good. Its times have two decimals of a second, so that nothing below 10 ms can be read from
//! them. Version 4.0 waits for ever for a response that does not come; the whole run is then killed at its limit. Where
//! a head has no space between `Content-Length:` and the number, which is right HTTP (RFC 9112 section 5), it reads no
//! body.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::form::SIEGE_AGENT;
use super::open_files::too_many;
use super::scratch::Scratch;
use super::size::MeanSize;
use super::tool::{LoadTool, ToolError, ToolOutput};
use crate::metric;
use crate::outcome::Outcome;

/// Seconds beyond twice its time after which a timed run counts as hung.
const HUNG_S: u32 = 20;
/// Least share of its time that a timed run must have lasted.
const LEAST_SHARE: f64 = 0.9;

/// Bytes of a megabyte as siege counts.
const MEGABYTE: f64 = 1024.0 * 1024.0;
/// The most by which siege rounds a number of megabytes.
const ROUNDED_MB: f64 = 0.005;

const SIEGE: LoadTool = LoadTool { name: "siege", get: "on Debian: apt install siege", without: &[] };
/// All settings that the user's own file could change. As in the original study: a new connection for each request, a
/// time-out of 30 s, and the end after 1024 failures.
const SETTINGS: &str = "\
verbose = false
quiet = true
color = off
json_output = true
show-logfile = false
logging = false
protocol = HTTP/1.1
chunked = true
cache = false
connection = close
internet = false
benchmark = false
timeout = 30
failures = 1024
accept-encoding = identity
url-escaping = false
cookies = false
parser = false
follow-location = false
spinner = false
limit = 10000
";

/// Failures after which siege gives up, as its settings say.
const FAILURES: f64 = 1024.0;

/// Shortest time in seconds that is taken from siege, which prints hundredths: below it a hundredth is more than a
/// twentieth, and 0 may stand where nothing was measured.
const SHORTEST_S: f64 = 0.2;

/// Options of a run of siege.
#[derive(Debug, Clone)]
pub struct SiegePlan {
    /// Number of clients (`-c`).
    pub clients: u32,
    /// End of the run (`-r` or `-t`).
    pub until: SiegeUntil,
    /// Longest random pause before each request in seconds (`-d`); `None` for no pause (`-b`).
    pub delay_s: Option<f64>,
    /// Seconds after which siege is killed and counts as hung.
    pub limit_s: u32,
}

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub enum SiegeUntil {
    /// After this many requests of each client (`-r`).
    Repeats(u64),
    /// After this many seconds at least. siege ends with a full second of the wall clock, up to a second before the
    /// time that it is given, so it is given one more (`-t`).
    Seconds(u32),
}

/// An error, with instructions to install it, if siege is not here.
pub fn siege_here() -> Result<(), String> {
    SIEGE.is_here()
}

/// Loads a path of the server on this port.
pub fn siege(port: u16, path: &str, plan: &SiegePlan) -> Result<Outcome, String> {
    if let Some(why) = too_many(plan.clients) {
        return Ok(Outcome::nothing(why));
    }
    let scratch = Scratch::new()?;
    let settings = scratch.write("siegerc", SETTINGS)?;
    let mut words = vec![format!("--rc={}", settings.display()), format!("-c{}", plan.clients)];
    words.push(match plan.until {
        SiegeUntil::Repeats(repeats) => format!("-r{repeats}"),
        SiegeUntil::Seconds(seconds) => format!("-t{}S", seconds + 1),
    });
    words.push(plan.delay_s.map_or_else(|| "-b".to_owned(), |delay| format!("-d{delay}")));
    words.extend(["-q".to_owned(), "-j".to_owned(), format!("http://127.0.0.1:{port}{path}")]);
    // At the end of a timed run, siege 4.0 sometimes waits for ever for its own threads, for which no server is to
    // blame.
    let (limit_s, may_hang) = match plan.until {
        SiegeUntil::Seconds(seconds) => (plan.limit_s.min((seconds + 1) * 2 + HUNG_S), true),
        SiegeUntil::Repeats(_) => (plan.limit_s, false),
    };
    let mut output = match SIEGE.attempt(&words, &scratch, Duration::from_secs(u64::from(limit_s))) {
        Ok(output) => output,
        Err(ToolError::Hung(output)) => {
            let why = SIEGE.hung(&output, limit_s);
            return if may_hang { Ok(Outcome::nothing(why)) } else { Err(why) };
        }
        Err(ToolError::Failed(why)) => return Err(why),
    };
    output.command = output.command.replace(&format!("--rc={} ", settings.display()), "");
    let mut outcome = read(&output).ok_or_else(|| SIEGE.not_understood("JSON with transactions and times", &output))?;
    // siege has a thread for each client.
    output.tell_processors(&mut outcome, plan.clients);
    outcome.void = too_short(&outcome, plan.until);
    if has_read_nothing(&outcome) && head(port, path).is_some_and(|head| is_body_unread(&head)) {
        outcome.mean_size = None;
        outcome.remarks.push(BODIES_UNREAD.to_owned());
    }
    Ok(outcome)
}

/// Whether siege says that it read no byte of any body, or so few that it rounds them to none.
fn has_read_nothing(outcome: &Outcome) -> bool {
    let right = outcome.numbers.get("requests").copied().unwrap_or(0.0);
    outcome.mean_size.is_some_and(|size| size == mean_size(0.0, right))
}

/// Time in which a server must send the head of a response, once the load is over.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// Bytes of a head that are read.
const HEAD_BYTES: usize = 64 * 1024;

/// The head of the response to one more request as siege sends it, or its beginning. `None` if none comes in time.
fn head(port: u16, path: &str) -> Option<Vec<u8>> {
    let ends = Instant::now() + HEAD_TIME;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: */*\r\nAccept-Encoding: identity\r\n\
         User-Agent: {SIEGE_AGENT}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut head = Vec::new();
    let mut space = [0; 4096];
    while head.len() < HEAD_BYTES && !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        // No time is left: an error, since a limit of 0 is none.
        let left = ends.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left)).ok()?;
        match stream.read(&mut space).ok()? {
            0 => return None,
            count => head.extend_from_slice(&space[..count]),
        }
    }
    Some(head)
}

/// Remark on a load in which siege read no bodies.
pub const BODIES_UNREAD: &str = "siege read no bodies, since the server writes Content-Length without a space behind \
                                 the colon: their sizes are not compared, and its times end with the heads";

/// Whether siege reads no body behind this head: it takes the length from behind the space.
fn is_body_unread(head: &[u8]) -> bool {
    let name = b"content-length:";
    let mut lines = head.split(|byte| *byte == b'\n').take_while(|line| !line.trim_ascii().is_empty());
    lines.any(|line| {
        let (begin, value) = line.split_at(name.len().min(line.len()));
        begin.eq_ignore_ascii_case(name) && value.first() != Some(&b' ')
    })
}

/// Why a timed run is void, if siege has ended long before its time. It does so after [`FAILURES`], which are a result.
fn too_short(outcome: &Outcome, until: SiegeUntil) -> Option<String> {
    let SiegeUntil::Seconds(seconds) = until else { return None };
    let of = |name: &str| outcome.numbers.get(name).copied().unwrap_or(0.0);
    let has_given_up = of(metric::FAILED) >= FAILURES;
    let is_short = of("elapsed_s") < LEAST_SHARE * f64::from(seconds) && !has_given_up;
    is_short.then(|| format!("siege ended after {} s instead of {seconds} s", of("elapsed_s")))
}

/// Parses siege's output. `None` if the output is not siege's.
fn read(output: &ToolOutput) -> Option<Outcome> {
    let from = output.out.find('{')?;
    let until = output.out.rfind('}')?;
    let json: Value = serde_json::from_str(output.out.get(from..=until)?).ok()?;
    let of = |name: &str| json.get(name).and_then(Value::as_f64).filter(|number| number.is_finite() && *number >= 0.0);
    // Every answer is a transaction to siege but those with a status of 408 or 500 to 509, which are failed ones; only
    // with a status below 400 is it successful, too (`__http` in its browser.c). Threads that were cancelled at the end
    // may count as successful and not as a transaction.
    let all = of("transactions")?;
    let right = of("successful_transactions")?.min(all);
    let failed = of("failed_transactions")? + (all - right);
    let share = if all > 0.0 { right / all } else { 1.0 };
    let availability = if all > right { right * 100.0 / (right + failed) } else { of("availability")? };
    let siege_rate = of("transaction_rate")?;
    let rate = siege_rate * share;
    let concurrency = of("concurrency")?;
    let mean_s = of("response_time")?;
    // Both are what siege divides the same sum of times by, and have more digits than the quotient that it prints.
    let mean_s = if siege_rate > 0.0 && concurrency > 0.0 { concurrency / siege_rate } else { mean_s };
    let mut numbers = BTreeMap::from([
        ("requests".to_owned(), right),
        ("availability_pct".into(), availability),
        ("elapsed_s".into(), of("elapsed_time")?),
        ("mean_ms".into(), mean_s * 1_000.0),
        (metric::RATE.into(), rate),
        ("concurrency".into(), concurrency),
        (metric::FAILED.into(), failed),
        ("max_ms".into(), of("longest_transaction")? * 1_000.0),
    ]);
    let shortest_s = of("shortest_transaction")?;
    numbers.extend((shortest_s >= SHORTEST_S).then(|| ("shortest_ms".to_owned(), shortest_s * 1_000.0)));
    let errors = errors(&output.err, failed as u64);
    // It counts the bodies of all answers.
    let all = of("data_transferred").filter(|_| right > 0.0);
    let mean_size = all.map(|megabytes| mean_size(megabytes, right));
    Some(Outcome { command: output.command.clone(), numbers, errors, mean_size, ..Outcome::default() })
}

/// The most bytes that so many right answers had on average, where siege says how many megabytes came.
fn mean_size(megabytes: f64, right: f64) -> MeanSize {
    MeanSize::Body((megabytes + ROUNDED_MB) * MEGABYTE / right)
}

/// Failures by kind. siege gives one number for all, and writes a line for some of them, coloured or not.
fn errors(lines: &str, failed: u64) -> BTreeMap<String, u64> {
    let of = |mark: &str| lines.lines().filter(|line| line.contains(mark)).count() as u64;
    let connect = of("unable to connect").min(failed);
    let timeout = of("timed out").min(failed - connect);
    let kinds = [("connect", connect), ("timeout", timeout), (UNTOLD, failed - connect - timeout)];
    kinds.into_iter().filter(|(_, many)| *many > 0).map(|(kind, many)| (kind.to_owned(), many)).collect()
}

const UNTOLD: &str = "status 400 or more, or closed early";

#[cfg(test)]
mod tests {
    use super::super::tool::tests::check_damaged;
    use super::*;

    const RIGHT: &str = include_str!("recorded/siege-right.txt");
    const SLOW: &str = include_str!("recorded/siege-slow.txt");
    const SOME: &str = include_str!("recorded/siege-some.txt");
    const REFUSED: &str = include_str!("recorded/siege-refused.txt");
    const REFUSALS: &str = include_str!("recorded/siege-refused-errors.txt");

    fn outcome(out: &str, err: &str) -> Option<Outcome> {
        read(&ToolOutput { out: out.into(), err: err.into(), ..ToolOutput::default() })
    }

    #[test]
    fn what_siege_prints_is_read() {
        let seen = outcome(SLOW, "").unwrap();
        let of = |name: &str| seen.numbers[name];
        assert_eq!((of("requests"), of("failed"), of("availability_pct")), (40.0, 0.0, 100.0));
        assert_eq!((of("elapsed_s"), of("requests_per_s")), (3.04, 13.16));
        // It prints 0.30 s; 3.99 at a time and 13.16 in a second are 303 ms each.
        assert!((303.0..303.5).contains(&of("mean_ms")), "{}", of("mean_ms"));
        assert_eq!((of("concurrency"), of("max_ms"), of("shortest_ms")), (3.99, 320.0, 300.0));
        // Of 40 answers it prints 0.00 MB.
        assert_eq!(seen.mean_size, Some(MeanSize::Body(0.005 * 1024.0 * 1024.0 / 40.0)));
        let quick = outcome(RIGHT, "").unwrap();
        assert!(quick.errors.is_empty());
        // Hundredths of a second say nothing of what takes less.
        assert!(!quick.numbers.contains_key("shortest_ms"), "{quick:?}");
    }

    #[test]
    fn a_run_that_ends_long_before_its_time_is_void_unless_it_failed() {
        let seen = outcome(SLOW, "").unwrap();
        assert_eq!(too_short(&seen, SiegeUntil::Seconds(3)), None);
        assert_eq!(too_short(&seen, SiegeUntil::Repeats(10)), None);
        let why = too_short(&seen, SiegeUntil::Seconds(4)).unwrap();
        assert_eq!(why, "siege ended after 3.04 s instead of 4 s");
        let some = outcome(SOME, "").unwrap();
        assert!(too_short(&some, SiegeUntil::Seconds(900)).is_some(), "18 failures do not end it");
        let many = outcome(&SOME.replace("          18", "1024"), "").unwrap();
        assert_eq!(too_short(&many, SiegeUntil::Seconds(900)), None);
    }

    #[test]
    fn a_length_without_a_space_is_one_that_siege_does_not_read() {
        for (head, is_unread) in [
            ("HTTP/1.1 200 OK\r\ncontent-length:70\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length:\t70\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nContent-Length:", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n", false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding:chunked\r\n\r\ncontent-length:70\r\n", false),
            ("HTTP/1.1 200 OK\r\nX-Content-Length:70\r\n\r\n", false),
            ("", false),
        ] {
            assert_eq!(is_body_unread(head.as_bytes()), is_unread, "{head}");
        }
    }

    #[test]
    fn answers_that_siege_counts_as_transactions_without_success_are_failures() {
        // As it prints them where every answer has the status 429.
        let refused = SLOW.replace("40,\n\t\"failed", "0,\n\t\"failed");
        assert_ne!(refused, SLOW);
        let seen = outcome(&refused, "").unwrap();
        let of = |name: &str| seen.numbers[name];
        assert_eq!((of("requests"), of("failed"), of("requests_per_s"), of("availability_pct")), (0.0, 40.0, 0.0, 0.0));
        assert_eq!(seen.errors, BTreeMap::from([(UNTOLD.to_owned(), 40)]));
        assert!((303.0..303.5).contains(&of("mean_ms")), "it is of all of them: {}", of("mean_ms"));
    }

    #[test]
    fn failures_are_counted_by_what_it_says_of_them() {
        let seen = outcome(SOME, "").unwrap();
        assert_eq!((seen.numbers["requests"], seen.errors[UNTOLD]), (22.0, 18));
        let seen = outcome(REFUSED, REFUSALS).unwrap();
        assert_eq!((seen.numbers["requests"], &seen.errors), (0.0, &BTreeMap::from([("connect".into(), 65)])));
    }

    #[test]
    fn what_is_cut_or_spoilt_is_refused_or_read_but_never_worse() {
        check_damaged(&[RIGHT, SLOW, SOME, REFUSED], |text| outcome(text, REFUSALS));
        assert!(outcome("", "").is_none() && outcome("}{", "").is_none() && outcome("{}", "").is_none());
    }
}
