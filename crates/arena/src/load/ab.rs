//! ab: a closed loop on one thread that speaks HTTP/1.0. It compares the length of each answer with that of the first
//! one, unless it is told not to, and looks at its status. An answer that breaks off at another length it counts as
//! failed then, and as good otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use super::scratch::Scratch;
use super::tool::{Said, Tool, number, number_after};
use crate::metric;
use crate::record::Outcome;

const AB: Tool = Tool { name: "ab", package: "apache2-utils" };
/// With `-t` ab stops at 50 000 requests unless it is given another number.
const ENDLESS: u64 = 5_000_000;

/// How ab runs.
#[derive(Debug, Clone)]
pub struct AbPlan {
    /// `-c`.
    pub clients: u32,
    /// `-n` or `-t`.
    pub until: AbUntil,
    /// `-k`: connections are kept.
    pub keep: bool,
    /// `-l`: answers have different lengths, and that is right.
    pub varies: bool,
    /// `-s`.
    pub timeout_s: u32,
    /// When it is ended and called hung.
    pub limit_s: u32,
}

/// When ab ends.
#[derive(Debug, Clone, Copy)]
pub enum AbUntil {
    /// `-n`.
    Requests(u64),
    /// `-t`.
    Seconds(u32),
}

/// Loads this path of the server on this port.
pub fn ab(port: u16, path: &str, plan: &AbPlan) -> Result<Outcome, String> {
    let scratch = Scratch::new()?;
    let table = scratch.file("percent.csv");
    // -r: errors are counted; without it the first one would end the run.
    let mut words: Vec<String> = ["-q", "-r"].map(str::to_owned).into();
    words.push(format!("-c{}", plan.clients));
    match plan.until {
        AbUntil::Requests(requests) => words.push(format!("-n{requests}")),
        AbUntil::Seconds(seconds) => words.extend([format!("-t{seconds}"), format!("-n{ENDLESS}")]),
    }
    words.push(format!("-s{}", plan.timeout_s));
    words.extend(plan.keep.then(|| "-k".to_owned()));
    words.extend(plan.varies.then(|| "-l".to_owned()));
    words.push(format!("-e{}", table.display()));
    words.push(format!("http://127.0.0.1:{port}{path}"));
    let mut said = AB.run(&words, &scratch, Duration::from_secs(u64::from(plan.limit_s)))?;
    said.command = said.command.replace(&format!("-e{} ", table.display()), "");
    // Without one good answer there is no table.
    let table = fs::read_to_string(&table).unwrap_or_default();
    read(&said, &table).ok_or_else(|| AB.not_understood("requests, time taken or percentiles", &said))
}

/// Nothing when this is not what ab prints.
fn read(said: &Said, table: &str) -> Option<Outcome> {
    let text = said.out.as_str();
    let made = number_after(text, "Complete requests:")?;
    let elapsed_s = number_after(text, "Time taken for tests:")?;
    let failed = number_after(text, "Failed requests:")?;
    let errors = errors(text, failed)?;
    let bad_status = errors.get(BAD_STATUS).copied().unwrap_or(0) as f64;
    // An answer with a bad status is complete, and no failure to ab unless its length differs, too.
    let failed = (failed + bad_status).min(made.max(failed));
    let right = (made - failed).max(0.0);
    let mut numbers = BTreeMap::from([
        ("requests".to_owned(), right),
        (metric::FAILED.into(), failed),
        (metric::RATE.into(), if elapsed_s > 0.0 { right / elapsed_s } else { 0.0 }),
        ("elapsed_s".into(), elapsed_s),
    ]);
    if right + failed > 0.0 {
        numbers.insert("availability_pct".into(), right * 100.0 / (right + failed));
    }
    if let Some(bytes) = number_after(text, "Document Length:") {
        numbers.insert("bytes_per_answer".into(), bytes);
    }
    if right > 0.0 {
        let mean = text.lines().find(|line| line.starts_with("Time per request:") && line.ends_with("(mean)"))?;
        numbers.insert("mean_ms".into(), number_after(mean, "Time per request:")?);
        let longest = text.lines().find_map(|line| line.trim().strip_prefix("100%"));
        if let Some(longest) = longest.and_then(|rest| rest.split_whitespace().next()).and_then(number) {
            numbers.insert("max_ms".into(), longest);
        }
        percentiles(table, &mut numbers)?;
    }
    Some(Outcome { command: said.command.clone(), numbers, errors, wrong: None })
}

const BAD_STATUS: &str = "status not 2xx";

fn errors(text: &str, failed: f64) -> Option<BTreeMap<String, u64>> {
    let mut errors = BTreeMap::new();
    if failed > 0.0 {
        let list = text.lines().find_map(|line| line.trim().strip_prefix("(Connect:"))?;
        for part in format!("Connect:{}", list.trim_end_matches(')')).split(',') {
            let (kind, many) = part.trim().split_once(':')?;
            let kind = match kind {
                "Connect" => "connect",
                "Receive" => "read",
                "Length" => "another length",
                _ => "closed early",
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

/// The table has a line for each percentage from 0 to 99.
fn percentiles(table: &str, numbers: &mut BTreeMap<String, f64>) -> Option<()> {
    let of = |percent: &str| {
        let line = table.lines().find_map(|line| line.split_once(',').filter(|(at, _)| *at == percent));
        line.and_then(|(_, ms)| number(ms))
    };
    for (name, percent) in
        [("shortest_ms", "0"), (metric::P50, "50"), ("p90_ms", "90"), ("p95_ms", "95"), (metric::P99, "99")]
    {
        numbers.insert(name.to_owned(), of(percent)?);
    }
    if let (Some(p50), Some(p99)) = (of("50"), of("99"))
        && p50 > 0.0
    {
        numbers.insert("p99_over_p50".into(), p99 / p50);
    }
    Some(())
}
