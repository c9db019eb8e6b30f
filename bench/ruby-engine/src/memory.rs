//! Memory of an application with four workers, after the same number of requests: the sum of PSS over the whole process
//! tree. One server at a time, since servers that run at once share pages.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use bench_kit::options::record_folder;
use bench_kit::output::{say, shown};

use crate::client::{Answer, Request};
use crate::closed;
use crate::contender::{self, Contender, Shape};
use crate::options::Options;
use crate::place::Place;
use crate::report::{self, Record};
use crate::tree;

const SHAPE: Shape = Shape { workers: 4, threads: 5 };
const CLIENTS: u32 = 16;

/// Memory of one server.
struct Taken {
    contender: Contender,
    /// Total before the first request and after the last.
    before_kib: u64,
    after_kib: u64,
    /// After the last request: title and PSS of each process.
    members: Vec<(String, u64)>,
}

/// Runs the benchmark.
pub fn run(options: &Options, place: &Place, out: &mut dyn Write) -> Result<(), String> {
    let mut record = Record::new(options, place);
    let folder = record_folder(&options.runs, &record.machine.started)?;
    let (contenders, missing) = contender::present(&folder, options, place)?;
    record.notes.extend(missing.iter().map(|(who, how)| format!("MISSING: {who} (to get it: {how})")));
    let mut taken = Vec::new();
    for contender in contenders {
        say(out, &format!("{contender}: {} requests for {}", options.requests, options.path))?;
        taken.push(one(contender, &folder, options, place)?);
        let json = json(&record, &taken, options);
        report::save(&folder, "memory", &json, &text(&record, &taken, options))?;
    }
    out.write_all(text(&record, &taken, options).as_bytes()).map_err(|error| error.to_string())?;
    say(out, &format!("record: {}", shown(&folder)))
}

fn one(contender: Contender, folder: &Path, options: &Options, place: &Place) -> Result<Taken, String> {
    let log = folder.join(format!("{contender}-memory.log"));
    let server = contender::start(contender, &options.app, SHAPE, &log, options, place)?;
    let id = server.process.id();
    // A few requests, so that all workers are up, whatever the server does at its start.
    load(server.port, u64::from(CLIENTS), options).map_err(|error| format!("{contender}: {error}"))?;
    let before_kib = total(&shares(id)?);
    load(server.port, u64::from(options.requests), options).map_err(|error| format!("{contender}: {error}"))?;
    let members = shares(id)?;
    let workers = members.iter().filter(|(title, _)| contender.is_worker(title, options)).count();
    if workers != SHAPE.workers as usize {
        let titles: Vec<&String> = members.iter().map(|(title, _)| title).collect();
        return Err(format!("{contender} should have {} workers; its processes: {titles:?}", SHAPE.workers));
    }
    Ok(Taken { contender, before_kib, after_kib: total(&members), members })
}

fn load(port: u16, requests: u64, options: &Options) -> Result<(), String> {
    let ask = |_| Request::get(options.path.clone());
    let judge = |_, answer: &Answer| match answer.status {
        200 if !answer.body.is_empty() => Ok(()),
        status => Err(format!("status {status} with {} bytes", answer.body.len())),
    };
    let tally = closed::run(port, CLIENTS, requests, &ask, &judge);
    if tally.bad_count() == 0 { Ok(()) } else { Err(tally.bad_in_words()) }
}

fn shares(root: u32) -> Result<Vec<(String, u64)>, String> {
    let share = |member: tree::Member| {
        let kib = tree::pss_kib(member.id).ok_or_else(|| format!("no PSS of process {} (run as root)", member.id))?;
        Ok((member.title, kib))
    };
    tree::members(root).into_iter().map(share).collect()
}

fn total(members: &[(String, u64)]) -> u64 {
    members.iter().map(|(_, kib)| kib).sum()
}

fn text(record: &Record, taken: &[Taken], options: &Options) -> String {
    let Shape { workers, threads } = SHAPE;
    let mut text = record.head(&format!("memory with {workers} workers of {threads} threads"));
    let _ = writeln!(
        text,
        "  app        {}\n  requests   {} of {}\n",
        options.app.display(),
        options.requests,
        options.path
    );
    let mib = |kib: u64| kib as f64 / 1024.0;
    for one in taken {
        let (after, before) = (mib(one.after_kib), mib(one.before_kib));
        let _ = writeln!(text, "{:<17} {after:>8.1} MiB in all ({before:.1} after the first {CLIENTS})", one.contender);
        for (title, kib) in &one.members {
            let title: String = title.chars().take(70).collect();
            let _ = writeln!(text, "  {:>8.1}  {title}", mib(*kib));
        }
    }
    let puma = taken.iter().find(|one| one.contender == Contender::Puma);
    for one in taken.iter().filter(|one| one.contender != Contender::Puma) {
        let Some(puma) = puma else { continue };
        let ratio = one.after_kib as f64 / puma.after_kib as f64;
        let _ = writeln!(text, "  {:<42}{ratio:>8.2}", format!("{} / puma, PSS", one.contender));
    }
    text
}

fn json(record: &Record, taken: &[Taken], options: &Options) -> Value {
    let mut all = record.json_head();
    all["requests"] = json!(options.requests);
    all["runs"] = taken
        .iter()
        .map(|one| {
            json!({
                "contender": one.contender.name(),
                "before_kib": one.before_kib,
                "after_kib": one.after_kib,
                "processes": one.members,
            })
        })
        .collect();
    all
}
