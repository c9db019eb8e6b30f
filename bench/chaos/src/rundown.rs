//! Runs scenarios one after the other, each with a time limit, and shows the progress.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::findings::Findings;
use crate::pace;
use crate::progress::Progress;
use crate::scenarios::Scenario;
use crate::server;
use crate::stage::Stage;
use crate::table::Row;

/// Settings of all scenarios.
pub struct Plan {
    /// The program under test.
    pub foolsgold: PathBuf,
    /// The repository.
    pub home: PathBuf,
    /// Whether scenarios last seconds instead of a minute.
    pub is_quick: bool,
    /// Whether the scenarios' folders are kept.
    pub keeps: bool,
}

/// Interval of progress output.
const SHOW_INTERVAL: Duration = Duration::from_millis(200);
/// Time for a scenario to notice that its processes were killed.
const NOTICE: Duration = Duration::from_secs(30);

/// Runs all chosen scenarios.
pub fn run(chosen: &[&'static Scenario], plan: &Plan) -> Vec<Row> {
    let progress = Progress::new(chosen.len());
    let rows = chosen.iter().map(|scenario| {
        progress.begins(scenario.name);
        let begun = Instant::now();
        pace::begin();
        let failed = |why| Findings { complaints: vec![why], ..Findings::default() };
        let findings = one(scenario, plan, &progress).unwrap_or_else(failed);
        let row = Row { name: scenario.name, findings, took: begun.elapsed() };
        progress.ends(&row);
        row
    });
    let rows = rows.collect();
    progress.over();
    rows
}

fn one(scenario: &'static Scenario, plan: &Plan, progress: &Progress) -> Result<Findings, String> {
    let made =
        tempfile::Builder::new().prefix(&format!("chaos-{}-", scenario.name)).disable_cleanup(plan.keeps).tempdir();
    let folder = made.map_err(|error| format!("a folder for it cannot be made: {error}"))?;
    let path = folder.path().canonicalize().map_err(|error| error.to_string())?;
    let stage = Stage::new(plan.foolsgold.clone(), plan.home.clone(), plan.is_quick, path.clone());
    let mut findings = bounded(scenario, &stage, progress)?;
    server::end_all(&stage);
    if plan.keeps {
        findings.remark(format!("kept: {}", path.display()));
    } else if !findings.complaints.is_empty() {
        findings.complaints.extend(last_words(&path));
    }
    Ok(findings)
}

/// Runs a scenario in a thread of its own. When its time is over, its processes are killed.
fn bounded(scenario: &'static Scenario, stage: &Stage, progress: &Progress) -> Result<Findings, String> {
    let (sender, receiver) = sync_channel(1);
    let theirs = stage.clone();
    thread::spawn(move || {
        let findings = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&theirs)));
        let findings = findings.unwrap_or_else(|_| Err("the scenario itself has crashed".to_owned()));
        let _ = sender.send(findings);
    });
    let limit = scenario.limit(stage.is_quick);
    let begun = Instant::now();
    // A scenario has many steps, each of which may be slow.
    while begun.elapsed() < pace::allowed(limit * 2) {
        match receiver.recv_timeout(SHOW_INTERVAL) {
            Ok(findings) => return findings,
            Err(RecvTimeoutError::Disconnected) => return Err("the scenario itself has crashed".to_owned()),
            Err(RecvTimeoutError::Timeout) => progress.shows(&stage.count(), &stage.shown().doing),
        }
    }
    let doing = stage.shown().doing.clone();
    let took = begun.elapsed().as_secs();
    server::end_all(stage);
    let _ = receiver.recv_timeout(NOTICE);
    Err(format!("not over after {took} s, while it {doing:?}: its processes were killed"))
}

/// The ends of the logs, to find the reason.
fn last_words(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("log-"));
    let tails = logs.filter_map(|entry| {
        let bytes = std::fs::read(entry.path()).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        Some(lines[lines.len().saturating_sub(8)..].join("\n"))
    });
    let tails: Vec<String> = tails.collect();
    (!tails.is_empty()).then(|| format!("the log ends with:\n{}", tails.join("\n")))
}
