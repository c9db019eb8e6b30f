//! Commands that show something: data of the API, as tables or as JSON.

use std::fmt::Write;

use serde_json::Value;

use crate::client::call::Call;
use crate::client::control_client::ControlClient;
use crate::client::find;
use crate::client::outcome::{Failure, say};
use crate::client::table::Table;
use crate::client::text::{lasting, millis, plain, size};
use crate::config::commands::Flag;
use crate::process::folder::absolute;

/// Past requests of an application in a table.
const PAST_ROWS: usize = 20;
/// Longest path in a table, in characters.
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
        let mut table = Table::new(&["app", ">generation", "outcome", "when", ">took", "error"]);
        for (app, deploy) in pairs(&answer["apps"], "deploys") {
            table.add(vec![
                text(&app["name"]),
                text(&deploy["generation"]),
                text(&deploy["outcome"]),
                ago(&deploy["at_ms"]),
                millis(number(&deploy["took_ms"])),
                first_line(&deploy["error"]),
            ]);
        }
        table.text()
    })
}

/// `foolsgold recorder`
pub fn recorder(call: &Call) -> Result<(), Failure> {
    let (line, answer) = ask(call, "/v1/recorder")?;
    if !call.has(Flag::Json) {
        say(&recorder_text(&answer["apps"]))?;
    }
    let mut dumps = Vec::new();
    if call.has(Flag::Backtraces) {
        for (app, worker) in busy(&answer["apps"]) {
            let query = format!("?app={}", crate::client::call::encoded(&app));
            let target = format!("/v1/workers/{worker}/backtraces{query}");
            // It may have exited meanwhile, or be stuck for good: the others are shown all the same.
            dumps.push(match line.look(&target) {
                Ok(dump) => dump,
                Err(error) => {
                    let why = error.failure(&line.socket).why;
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
        return say(&format!("{answer}\n"));
    }
    for dump in &dumps {
        let lines: String = lines(&dump["backtraces"]).map(|line| format!("  {line}\n")).collect();
        say(&format!("\nworker {} of {}:\n{lines}", text(&dump["worker"]), text(&dump["app"])))?;
    }
    Ok(())
}

/// `foolsgold control`
pub fn control(call: &Call) -> Result<(), Failure> {
    let line = find::server(call)?;
    line.look("/v1").map_err(|error| error.failure(&line.socket))?;
    say(&format!("{}\n", absolute(&line.socket).display()))
}

/// GETs a path of the API for the named application, or for all.
fn ask(call: &Call, target: &str) -> Result<(ControlClient, Value), Failure> {
    let line = find::server(call)?;
    let answer = line.look(&format!("{target}{}", call.query()));
    let answer = answer.map_err(|error| error.failure(&line.socket))?;
    Ok((line, answer))
}

fn show(call: &Call, answer: &Value, table: impl FnOnce() -> String) -> Result<(), Failure> {
    say(&if call.has(Flag::Json) { format!("{answer}\n") } else { table() })
}

/// Table of the workers of these applications.
pub fn worker_table(apps: &Value) -> String {
    let mut table = Table::new(&["app", ">worker", ">process", "state", ">threads", ">served", ">age", ">PSS", "runs"]);
    for (app, worker) in pairs(apps, "workers") {
        let runs: Vec<String> = rows(&worker["running"]).iter().map(in_short).collect();
        table.add(vec![
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
    if table.is_empty() { "no workers\n".to_owned() } else { table.text() }
}

fn recorder_text(apps: &Value) -> String {
    let mut out = String::new();
    let mut table = Table::new(&["app", ">worker", ">since", "request", "id"]);
    for (app, run) in pairs(apps, "running") {
        let request = format!("{} {}", text(&run["method"]), path(&run["path"]));
        let is_old = run["worker"].is_null();
        table.add(vec![
            text(&app["name"]),
            if is_old { format!("generation {}", text(&run["generation"])) } else { text(&run["worker"]) },
            millis(number(&run["age_ms"])),
            request,
            text(&run["id"]),
        ]);
    }
    // Writing to a string cannot fail, here and below.
    let _ = write!(out, "runs now:\n{}", if table.is_empty() { "nothing\n".to_owned() } else { table.text() });
    for (name, title) in [("slow", "slow of late"), ("failed", "failed of late"), ("refused", "refused of late")] {
        let past = past_table(apps, name);
        let _ = write!(out, "\n{title}:\n{past}");
    }
    out
}

fn past_table(apps: &Value, name: &str) -> String {
    let mut table = Table::new(&["when", "app", ">worker", ">waited", ">ran", "status", "request", "why", "id"]);
    for (app, past) in first_pairs(apps, name, PAST_ROWS) {
        let why = [text(&past["fault"]), first_line(&past["why"])];
        let why: Vec<String> = why.into_iter().filter(|words| !words.is_empty()).collect();
        table.add(vec![
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
    if table.is_empty() { "none\n".to_owned() } else { table.text() }
}

/// Application and worker of each running request.
fn busy(apps: &Value) -> Vec<(String, u64)> {
    let mut busy: Vec<(String, u64)> =
        pairs(apps, "running").filter_map(|(app, run)| Some((text(&app["name"]), run["worker"].as_u64()?))).collect();
    busy.dedup();
    busy
}

/// Each row under this name, with its application.
fn pairs<'a>(apps: &'a Value, name: &'a str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    first_pairs(apps, name, usize::MAX)
}

/// The first rows under this name of each application, so that many rows of one application hide none of another.
fn first_pairs<'a>(apps: &'a Value, name: &'a str, most: usize) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    rows(apps).iter().flat_map(move |app| rows(&app[name]).iter().take(most).map(move |row| (app, row)))
}

/// The elements of a JSON array; none of another value.
pub fn rows(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A running request, with its age.
pub fn in_short(run: &Value) -> String {
    format!("{} {} {}", text(&run["method"]), path(&run["path"]), millis(number(&run["age_ms"])))
}

fn path(value: &Value) -> String {
    let path = text(value);
    if path.chars().count() <= PATH_LETTERS {
        return path;
    }
    path.chars().take(PATH_LETTERS - 1).chain(['…']).collect()
}

/// A JSON number; 0 for another value.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// A JSON value as one line of text; empty for null.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        other => other.to_string(),
    }
}

/// The lines of a JSON text.
pub fn lines(value: &Value) -> impl Iterator<Item = String> {
    value.as_str().unwrap_or_default().lines().map(plain)
}

fn first_line(value: &Value) -> String {
    lines(value).next().unwrap_or_default()
}

/// Time since a moment, as text.
pub fn ago(at_ms: &Value) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seconds = now.as_secs_f64() - number(at_ms) / 1e3;
    if seconds < 1.0 { "now".to_owned() } else { format!("{} ago", lasting(seconds)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_paths_are_cut_and_nothing_is_told_of_nothing() {
        assert_eq!(path(&json!("x".repeat(80))).chars().count(), 60);
        assert_eq!(worker_table(&json!([])), "no workers\n");
        assert!(recorder_text(&json!([])).contains("runs now:\nnothing"));
        assert_eq!(text(&json!("a\n\u{1b}[2J")), "a\u{fffd}\u{fffd}[2J");
    }

    #[test]
    fn an_application_with_many_failures_hides_none_of_another() {
        let failed = |path: &str, times| vec![json!({ "method": "GET", "path": path }); times];
        let apps = json!([
            { "name": "shop", "failed": failed("/a", PAST_ROWS + 5) },
            { "name": "blog", "failed": failed("/b", 1) }
        ]);
        let text = recorder_text(&apps);
        let rows = |path: &str| text.lines().filter(|line| line.contains(path)).count();
        assert_eq!((rows("GET /a"), rows("GET /b")), (PAST_ROWS, 1), "{text}");
    }

    #[test]
    fn what_runs_in_old_code_is_shown_by_its_generation_and_no_worker_is_asked_for_its_backtraces() {
        let run = |id: Value| json!({ "worker": id, "generation": 1, "method": "GET", "path": "/a", "id": "b" });
        let apps = json!([{ "name": "shop", "running": [run(json!(3)), run(json!(null))] }]);
        let text = recorder_text(&apps);
        assert!(text.lines().any(|line| line.contains("generation 1") && line.contains("GET /a")), "{text}");
        assert_eq!(busy(&apps), [("shop".to_owned(), 3)]);
    }
}
