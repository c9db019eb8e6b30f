//! Commands that show something: what the API says, as tables for people or as it is.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::Value;

use crate::client::asked::Call;
use crate::client::grid::Grid;
use crate::client::line::Line;
use crate::client::table::Flag;
use crate::client::words::{lasting, millis, plain, rate, size};
use crate::client::{Failure, find, say};

/// So many requests of the past are shown in a table.
const PAST_ROWS: usize = 20;
/// Paths in tables are cut.
const PATH_LETTERS: usize = 60;

/// `foolsgold workers`
pub fn workers(call: &Call) -> Result<(), Failure> {
    let (_, answer) = ask(call, "/v1/workers")?;
    show(call, &answer, || worker_table(&answer["apps"]))
}

/// `foolsgold deploys`
pub fn deploys(call: &Call) -> Result<(), Failure> {
    let (_, answer) = ask(call, "/v1/deploys")?;
    show(call, &answer, || {
        let mut grid = Grid::new(&["app", ">generation", "outcome", "when", ">took", "error"]);
        for (app, deploy) in pairs(&answer["apps"], "deploys") {
            grid.add(vec![
                text(&app["name"]),
                text(&deploy["generation"]),
                text(&deploy["outcome"]),
                ago(&deploy["at_ms"]),
                millis(number(&deploy["took_ms"])),
                first_line(&deploy["error"]),
            ]);
        }
        grid.text()
    })
}

/// `foolsgold recorder`
pub fn recorder(call: &Call) -> Result<(), Failure> {
    let (line, answer) = ask(call, "/v1/recorder")?;
    if !call.has(Flag::Json) {
        say(&recorder_text(&answer["apps"]));
    }
    let mut dumps = Vec::new();
    if call.has(Flag::Backtraces) {
        for (app, worker) in busy(&answer["apps"]) {
            let query = format!("?app={}", crate::client::asked::encoded(&app));
            let target = format!("/v1/workers/{worker}/backtraces{query}");
            // It may have ended in the meantime, or be stuck for good: the others are shown all the same.
            dumps.push(match line.look(&target) {
                Ok(dump) => dump,
                Err(trouble) => {
                    let why = trouble.failure(&line.socket).why;
                    serde_json::json!({ "app": app, "worker": worker, "backtraces": why })
                }
            });
        }
    }
    if call.has(Flag::Json) {
        let mut answer = answer;
        if call.has(Flag::Backtraces) {
            answer["backtraces"] = Value::Array(dumps);
        }
        say(&format!("{answer}\n"));
        return Ok(());
    }
    for dump in &dumps {
        let lines: String = text(&dump["backtraces"]).lines().map(|line| format!("  {}\n", plain(line))).collect();
        say(&format!("\nworker {} of {}:\n{lines}", text(&dump["worker"]), text(&dump["app"])));
    }
    Ok(())
}

/// `foolsgold control`
pub fn control(call: &Call) -> Result<(), Failure> {
    let line = find::server(call)?;
    line.look("/v1").map_err(|trouble| trouble.failure(&line.socket))?;
    let path = std::path::absolute(&line.socket).unwrap_or_else(|_| PathBuf::from(&line.socket));
    say(&format!("{}\n", path.display()));
    Ok(())
}

/// What the server says of the application that was named, or of all.
fn ask(call: &Call, target: &str) -> Result<(Line, Value), Failure> {
    let line = find::server(call)?;
    let answer = line.look(&format!("{target}{}", call.query()));
    let answer = answer.map_err(|trouble| trouble.failure(&line.socket))?;
    Ok((line, answer))
}

fn show(call: &Call, answer: &Value, table: impl FnOnce() -> String) -> Result<(), Failure> {
    say(&if call.has(Flag::Json) { format!("{answer}\n") } else { table() });
    Ok(())
}

/// The workers of these applications.
pub fn worker_table(apps: &Value) -> String {
    let mut grid =
        Grid::new(&["app", ">worker", ">process", "state", ">threads", ">served", ">age", ">memory", "runs"]);
    for (app, worker) in pairs(apps, "workers") {
        let runs: Vec<String> = rows(&worker["running"]).iter().map(in_short).collect();
        grid.add(vec![
            text(&app["name"]),
            text(&worker["id"]),
            text(&worker["pid"]),
            text(&worker["state"]),
            text(&worker["threads"]),
            text(&worker["served"]),
            lasting(number(&worker["age_s"])),
            worker["pss_kib"].as_f64().map(size).unwrap_or_default(),
            runs.join(", "),
        ]);
    }
    if grid.is_empty() { "no workers\n".to_owned() } else { grid.text() }
}

fn recorder_text(apps: &Value) -> String {
    let mut out = String::new();
    let mut grid = Grid::new(&["app", ">worker", ">since", "request", "id"]);
    for (app, run) in pairs(apps, "running") {
        let request = format!("{} {}", text(&run["method"]), path(&run["path"]));
        grid.add(vec![
            text(&app["name"]),
            text(&run["worker"]),
            millis(number(&run["age_ms"])),
            request,
            text(&run["id"]),
        ]);
    }
    // Writing to a string cannot fail, here and below.
    let _ = write!(out, "runs now:\n{}", if grid.is_empty() { "nothing\n".to_owned() } else { grid.text() });
    for (name, title) in [("slow", "slow of late"), ("failed", "failed of late")] {
        let past = past_table(apps, name);
        let _ = write!(out, "\n{title}:\n{past}");
    }
    out
}

fn past_table(apps: &Value, name: &str) -> String {
    let mut grid = Grid::new(&["when", "app", ">worker", ">waited", ">ran", "status", "request", "why", "id"]);
    for (app, past) in pairs(apps, name).take(PAST_ROWS) {
        let why = [text(&past["fault"]), first_line(&past["why"])];
        let why: Vec<String> = why.into_iter().filter(|words| !words.is_empty()).collect();
        grid.add(vec![
            ago(&past["at_ms"]),
            text(&app["name"]),
            text(&past["worker"]),
            millis(number(&past["queued_ms"])),
            millis(number(&past["took_ms"])),
            text(&past["status"]),
            format!("{} {}", text(&past["method"]), path(&past["path"])),
            why.join(": "),
            text(&past["id"]),
        ]);
    }
    if grid.is_empty() { "none\n".to_owned() } else { grid.text() }
}

/// The server and its applications, for one look.
pub fn status_text(status: &Value) -> String {
    let server = &status["server"];
    let listeners: Vec<String> = rows(&server["listeners"]).iter().map(text).collect();
    let since = server["draining_s"].as_f64().unwrap_or_else(|| number(&server["uptime_s"]));
    let mut out = format!(
        "foolsgold {}, process {}, {} since {}",
        text(&server["version"]),
        text(&server["pid"]),
        text(&server["state"]),
        lasting(since),
    );
    // One that loads its applications listens nowhere yet.
    let on = if listeners.is_empty() { String::new() } else { format!(" on {}", listeners.join(", ")) };
    let _ = writeln!(out, "{on}");
    let connections = &server["connections"];
    let memory = server["process"]["pss_kib"].as_f64().or_else(|| server["process"]["rss_kib"].as_f64());
    let memory = memory.map(|kib| format!("; {} in the server", size(kib))).unwrap_or_default();
    let (open, accepted) = (text(&connections["open"]), text(&connections["accepted"]));
    let _ = writeln!(out, "connections: {open} open, {accepted} since the start{memory}");
    out.push_str(&memory_text(&server["memory"]));
    out.push('\n');
    out.push_str(&app_table(&status["apps"]));
    out.push('\n');
    out.push_str(&worker_table(&status["apps"]));
    for app in rows(&status["apps"]) {
        let deploy = &app["last_deploy"];
        if deploy["outcome"] == "failed" {
            let (name, error) = (text(&app["name"]), text(&deploy["error"]));
            let error: String = error.lines().map(|line| format!("  {}\n", plain(line))).collect();
            let (when, failed, old) = (ago(&deploy["at_ms"]), text(&deploy["generation"]), text(&app["generation"]));
            let _ = write!(out, "\n{name}: generation {failed} failed {when}, generation {old} goes on:\n{error}");
        }
    }
    out
}

/// How much there is for the server and its workers, and who else uses it.
fn memory_text(memory: &Value) -> String {
    let (Some(limit), Some(used)) = (memory["limit_kib"].as_f64(), memory["used_kib"].as_f64()) else {
        return String::new();
    };
    let whose = if memory["is_machine"] == true { "the machine's" } else { "the control group's" };
    let short = if memory["is_short"] == true { ", and it is short" } else { "" };
    format!("memory: {} of {whose} {} are used{short}\n", size(used), size(limit))
}

fn app_table(apps: &Value) -> String {
    let mut grid = Grid::new(&[
        "app",
        "engine",
        ">generation",
        ">requests/s",
        ">errors/s",
        ">busy",
        ">queue",
        ">oldest",
        ">waits p99",
        ">runs p50",
        ">runs p99",
        ">restarts",
        "",
    ]);
    for app in rows(apps) {
        let recent = &app["recent"];
        let busy = number(&app["capacity"]) - number(&app["idle"]);
        let marks = [("is_paused", "paused"), ("is_reloading", "reloading")];
        let mut marks: Vec<&str> = marks.iter().filter(|(name, _)| app[*name] == true).map(|(_, word)| *word).collect();
        if app["pool"]["is_held_by_memory"] == true {
            marks.push("no memory for more workers");
        }
        grid.add(vec![
            text(&app["name"]),
            text(&app["engine"]),
            text(&app["generation"]),
            rate(number(&recent["requests_per_s"])),
            rate(number(&recent["errors_per_s"])),
            format!("{busy:.0} of {}", text(&app["capacity"])),
            text(&app["queued"]),
            millis(number(&app["oldest_wait_ms"])),
            millis(number(&recent["queue"]["p99_ms"])),
            millis(number(&recent["service"]["p50_ms"])),
            millis(number(&recent["service"]["p99_ms"])),
            text(&app["restarts"]),
            marks.join(", "),
        ]);
    }
    grid.text()
}

/// Applications and workers that run something now.
fn busy(apps: &Value) -> Vec<(String, u64)> {
    let mut busy: Vec<(String, u64)> =
        pairs(apps, "running").filter_map(|(app, run)| Some((text(&app["name"]), run["worker"].as_u64()?))).collect();
    busy.dedup();
    busy
}

/// Each row under this name, with its application.
fn pairs<'a>(apps: &'a Value, name: &'a str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    rows(apps).iter().flat_map(move |app| rows(&app[name]).iter().map(move |row| (app, row)))
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn in_short(run: &Value) -> String {
    format!("{} {} {}", text(&run["method"]), path(&run["path"]), millis(number(&run["age_ms"])))
}

fn path(value: &Value) -> String {
    let path = text(value);
    if path.chars().count() <= PATH_LETTERS {
        return path;
    }
    path.chars().take(PATH_LETTERS - 1).chain(['…']).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// As it may be shown; nothing for what is not there.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains('\n') => text.clone(),
        Value::String(text) => plain(text),
        other => other.to_string(),
    }
}

fn first_line(value: &Value) -> String {
    plain(text(value).lines().next().unwrap_or_default())
}

fn ago(at_ms: &Value) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seconds = now.as_secs_f64() - number(at_ms) / 1e3;
    if seconds < 1.0 { "now".to_owned() } else { format!("{} ago", lasting(seconds)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn status_is_a_table() {
        let status = json!({
            "server": { "version": "1.0", "pid": 7, "state": "serving", "uptime_s": 90.0, "listeners": ["tcp://a:1"],
                "connections": { "open": 2, "accepted": 9 }, "process": { "pss_kib": 2048 } },
            "apps": [{ "name": "shop", "engine": "ruby", "generation": 2, "capacity": 4, "idle": 1, "queued": 3,
                "oldest_wait_ms": 12.0, "restarts": 1, "is_paused": true,
                "recent": { "requests_per_s": 120.4, "errors_per_s": 0.0,
                    "queue": { "p99_ms": 0.2 }, "service": { "p50_ms": 3.0, "p99_ms": 80.0 } },
                "last_deploy": { "outcome": "failed", "generation": 3, "error": "line one\nline two", "at_ms": 0 },
                "workers": [{ "id": 4, "pid": 70, "state": "ready", "threads": 2, "served": 12, "age_s": 3.0,
                    "pss_kib": 1024, "running": [{ "method": "GET", "path": "/a\u{1b}", "age_ms": 1500.0 }] }] }]
        });
        let text = status_text(&status);
        for words in [
            "foolsgold 1.0, process 7, serving since 1m 30s on tcp://a:1",
            "2 open, 9 since the start; 2.0 MiB",
            "3 of 4",
            "paused",
            "GET /a\u{fffd} 1.50 s",
            "generation 3 failed",
            "generation 2 goes on:\n  line one\n  line two\n",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
    }

    #[test]
    fn long_paths_are_cut_and_nothing_is_told_of_nothing() {
        assert_eq!(path(&json!("x".repeat(80))).chars().count(), 60);
        assert_eq!(worker_table(&json!([])), "no workers\n");
        assert!(recorder_text(&json!([])).contains("runs now:\nnothing"));
    }
}
