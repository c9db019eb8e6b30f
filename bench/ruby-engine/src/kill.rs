//! Losses while a worker is killed every 200 ms. Each request has a number and must get it back. No GET may be lost. A
//! POST that a killed worker had begun cannot be repeated: it must get a 502, and there can be no more of them than
//! threads that were killed.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bench_kit::options::record_folder;
use bench_kit::output::{say, shown};
use bench_kit::stats::SeededRng;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Answer, Request};
use crate::closed::{self, Tally, expect};
use crate::contender::{self, Contender, Running, Shape};
use crate::options::Options;
use crate::place::Place;
use crate::report::{self, Record};
use crate::tree;

const SHAPE: Shape = Shape { workers: 4, threads: 2 };
const CLIENTS: u32 = 64;
const EVERY: Duration = Duration::from_millis(200);
/// Beginning of the failure of a POST whose worker died.
const LOST: &str = "status 502";

/// Result of one contender with one method.
struct Outcome {
    contender: Contender,
    method: &'static str,
    kills: u32,
    tally: Tally,
}

/// Runs the benchmark.
pub fn run(options: &Options, place: &Place, out: &mut dyn Write) -> Result<(), String> {
    let mut record = Record::new(options, place);
    let folder = record_folder(&options.runs, &record.machine.started)?;
    let (mut contenders, missing) = contender::present(&folder, options, place)?;
    record.notes.extend(missing.iter().map(|(who, how)| format!("MISSING: {who} (to get it: {how})")));
    // Puma makes no promise here; it is measured only if it is requested by name.
    contenders.retain(|who| *who != Contender::Puma || !options.only.is_empty());
    let mut outcomes = Vec::new();
    for contender in contenders {
        let log = folder.join(format!("{contender}-kill.log"));
        let rackup = options.apps.join("numbered/config.ru");
        let mut server = contender::start(contender, &rackup, SHAPE, &log, options, place)?;
        for method in ["GET", "POST"] {
            say(out, &format!("{contender}: {} {method} requests while workers are killed", options.kill_requests))?;
            outcomes.push(one(&server, method, options)?);
            save(&folder, &record, &outcomes, options)?;
        }
        if server.process.has_ended() {
            return Err(format!("{contender} has ended: {}", contender::last_lines(&log)));
        }
    }
    let text = text(&record, &outcomes, options);
    out.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
    say(out, &format!("record: {}", shown(&folder)))?;
    let failed = outcomes.iter().any(|outcome| outcome.contender != Contender::Puma && !outcome.is_as_promised());
    if failed { Err("requests were lost that should not be".into()) } else { Ok(()) }
}

fn one(server: &Running, method: &'static str, options: &Options) -> Result<Outcome, String> {
    let ask = |number: u64| match method {
        "GET" => Request::get(format!("/{number}")),
        _ => Request { method, path: "/".into(), body: Some(number.to_string()) },
    };
    let judge = |number: u64, answer: &Answer| expect(answer, &format!("number {number}\n"));
    let calm = closed::run(server.port, CLIENTS, 200, &ask, &judge);
    if calm.bad_count() > 0 {
        return Err(format!("{}, before anything was killed: {}", server.contender, calm.bad_in_words()));
    }
    let done = AtomicBool::new(false);
    let (tally, kills) = thread::scope(|scope| {
        let killer = scope.spawn(|| kill_now_and_then(server, options, &done));
        let tally = closed::run(server.port, CLIENTS, u64::from(options.kill_requests), &ask, &judge);
        done.store(true, Ordering::Relaxed);
        killer.thread().unpark();
        (tally, killer.join().unwrap_or(0))
    });
    Ok(Outcome { contender: server.contender, method, kills, tally })
}

/// Kills a random worker each 200 ms; returns how many.
fn kill_now_and_then(server: &Running, options: &Options, done: &AtomicBool) -> u32 {
    let mut rng = SeededRng::from_clock();
    let mut kills = 0;
    let mut next = Instant::now() + EVERY;
    while !done.load(Ordering::Relaxed) {
        let left = next.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            thread::park_timeout(left);
            continue;
        }
        next += EVERY;
        let mut workers = tree::members(server.process.id());
        workers.retain(|member| server.contender.is_worker(&member.title, options));
        if workers.is_empty() {
            continue;
        }
        let chosen = workers[rng.below(workers.len())].id;
        let id = i32::try_from(chosen).ok().and_then(Pid::from_raw);
        kills += u32::from(id.is_some_and(|id| kill_process(id, Signal::KILL).is_ok()));
    }
    kills
}

impl Outcome {
    /// Whether no GET was lost; and no more POSTs than could be running, each with a 502.
    fn is_as_promised(&self) -> bool {
        let lost = self.tally.bad.get(LOST).copied().unwrap_or(0);
        match self.method {
            "GET" => self.tally.bad_count() == 0,
            _ => lost == self.tally.bad_count() && lost <= self.could_be_running(),
        }
    }

    fn could_be_running(&self) -> u64 {
        u64::from(self.kills) * u64::from(SHAPE.threads)
    }

    fn in_words(&self) -> String {
        let lost = self.tally.bad.get(LOST).copied().unwrap_or(0);
        let mut text = format!(
            "{:<17} {:<5} {:>8} good, {:>5} failed; {} workers killed in {:.1} s; longest {:.0} ms",
            self.contender,
            self.method,
            self.tally.good,
            self.tally.bad_count(),
            self.kills,
            self.tally.seconds,
            self.tally.longest_ms
        );
        if self.tally.bad_count() > 0 {
            let _ = write!(text, "\n  {}", self.tally.bad_in_words());
        }
        let verdict = if self.is_as_promised() { "reached" } else { "MISSED" };
        let goal = match self.method {
            "GET" => "goal 0 failed".to_owned(),
            _ => {
                let most = self.could_be_running();
                format!("502 for {lost}, of at most {most} that killed threads could have begun; goal: nothing else")
            }
        };
        format!("{text}\n  {goal}: {verdict}\n")
    }
}

fn text(record: &Record, outcomes: &[Outcome], options: &Options) -> String {
    let Shape { workers, threads } = SHAPE;
    let mut text = record.head("requests while workers are killed");
    let _ = writeln!(
        text,
        "  {} requests by {CLIENTS} clients, {workers} workers of {threads} threads, SIGKILL every {} ms\n",
        options.kill_requests,
        EVERY.as_millis()
    );
    for outcome in outcomes {
        text.push_str(&outcome.in_words());
    }
    text
}

fn save(folder: &Path, record: &Record, outcomes: &[Outcome], options: &Options) -> Result<(), String> {
    let mut all = record.json_head();
    all["runs"] = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "contender": outcome.contender.name(),
                "method": outcome.method,
                "kills": outcome.kills,
                "good": outcome.tally.good,
                "bad": outcome.tally.bad,
                "seconds": outcome.tally.seconds,
                "longest_ms": outcome.tally.longest_ms,
            })
        })
        .collect::<Vec<Value>>()
        .into();
    report::save(folder, "kill", &all, &text(record, outcomes, options))
}
