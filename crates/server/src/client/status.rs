//! `foolsgold status` as text: tables if they fit the terminal, otherwise a paragraph for each application.

use std::fmt::Write;

use engine::count;
use serde_json::Value;

use crate::client::show::{ago, in_short, lines, number, rows, text, worker_table};
use crate::client::table::Table;
use crate::client::text::{lasting, millis, rate, size};

/// Text about the server and its applications. No line of a table is longer than the width; a path may be.
pub fn status_text(status: &Value, width: Option<usize>) -> String {
    let apps = &status["apps"];
    let tables = format!("{}\n{}", app_table(apps), worker_table(apps));
    let fits = width.is_none_or(|width| tables.lines().all(|line| line.chars().count() <= width));
    let mut out = server_text(&status["server"], fits);
    if fits {
        out.push('\n');
        out.push_str(&tables);
    } else {
        rows(apps).iter().for_each(|app| out.push_str(&app_text(app, width.unwrap_or_default())));
    }
    for app in rows(apps) {
        out.push_str(&bounds(app));
        out.push_str(&old_code(app));
        out.push_str(&failed_deploy(app));
    }
    out
}

/// The bounds of a number of workers that is not fixed, and what a worker is added for.
fn bounds(app: &Value) -> String {
    let pool = &app["pool"];
    let why = match pool["grows_while"].as_str() {
        Some("computing") => "requests wait and every worker computes",
        Some("waiting") => "requests wait",
        _ => return String::new(),
    };
    let (name, wanted) = (text(&app["name"]), text(&pool["wanted"]));
    let (min, max) = (text(&pool["min"]), text(&pool["max"]));
    let noun = if max == "1" { "worker" } else { "workers" };
    format!("\n{name}: {wanted} of {min} to {max} {noun}\n  one is added while {why}\n")
}

/// Older generations, whose requests are in the numbers above, and whose workers are in no table.
fn old_code(app: &Value) -> String {
    let numbers: Vec<String> = rows(&app["leaving"]).iter().map(text).collect();
    let name = text(&app["name"]);
    match numbers.as_slice() {
        [] => String::new(),
        [one] => format!("\n{name}: generation {one} finishes its requests\n"),
        several => format!("\n{name}: generations {} finish their requests\n", several.join(" and ")),
    }
}

fn server_text(server: &Value, is_wide: bool) -> String {
    let (version, pid, state) = (text(&server["version"]), text(&server["pid"]), text(&server["state"]));
    let uptime = lasting(number(&server["uptime_s"]));
    let state = match server["draining_s"].as_f64().map(lasting) {
        Some(time) => format!("{state} since {time}"),
        None if state == "serving" => format!("up {uptime}, {state}"),
        None => format!("{state} since {uptime}"),
    };
    let mut out = format!("foolsgold {version}, process {pid}, {state}");
    let listeners: Vec<String> = rows(&server["listeners"]).iter().map(text).collect();
    // A server that loads its applications has no listeners yet.
    if !listeners.is_empty() {
        let (before, between) = if is_wide { (" on ", ", ") } else { ("\non ", "\n   ") };
        out.push_str(before);
        out.push_str(&listeners.join(between));
    }
    let connections = &server["connections"];
    let (open, accepted) = (text(&connections["open"]), text(&connections["accepted"]));
    // Writing to a string cannot fail, here and below.
    let _ = write!(out, "\nconnections: {open} open, {accepted} since the start");
    let process = &server["process"];
    let share = process["pss_kib"].as_f64().map(|kib| format!("{} (PSS) in the server", size(kib)));
    let memory = share.or_else(|| Some(format!("{} (RSS) in the server", size(process["rss_kib"].as_f64()?))));
    let memory: Vec<String> = memory.into_iter().chain(used_memory(&server["memory"])).collect();
    if !memory.is_empty() {
        let _ = write!(out, "\nmemory: {}", memory.join(if is_wide { "; " } else { "\n        " }));
    }
    out.push_str(&log_text(&server["log"], is_wide));
    out.push('\n');
    out
}

/// Problems of the log, if there are any.
fn log_text(log: &Value, is_wide: bool) -> String {
    let mut out = String::new();
    let between = if is_wide { " " } else { "\n  " };
    for file in rows(&log["files"]).iter().filter(|file| !file["why"].is_null()) {
        let name = text(&file["file"]);
        let why = text(&file["why"]);
        let since = ago(&file["failing_since_ms"]);
        let _ = write!(out, "\nlog: CANNOT BE WRITTEN{between}to {name}:{between}{why}{between}(began {since})");
    }
    if number(&log["lost_lines"]) > 0.0 {
        let _ = write!(out, "\nlog: {} lost since the start", count(log["lost_lines"].as_u64().unwrap_or(0), "line"));
    }
    out
}

/// Memory limit of the server and its workers, and how much all processes use of it.
fn used_memory(memory: &Value) -> Option<String> {
    let (limit, used) = (memory["limit_kib"].as_f64()?, memory["used_kib"].as_f64()?);
    let whose = if memory["is_machine"] == true { "the machine's" } else { "the cgroup's" };
    let short = if memory["is_short"] == true { ", SHORT" } else { "" };
    Some(format!("{} of {whose} {} used{short}", size(used), size(limit)))
}

fn app_table(apps: &Value) -> String {
    let mut table = Table::new(&[
        "app",
        "engine",
        ">generation",
        ">requests/s",
        ">failed/s",
        ">refused/s",
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
        table.add(vec![
            text(&app["name"]),
            text(&app["engine"]),
            text(&app["generation"]),
            rate(number(&recent["requests_per_s"])),
            failed(recent),
            rate(number(&recent["refused_per_s"])),
            busy(app),
            text(&app["queued"]),
            millis(number(&app["oldest_wait_ms"])),
            millis(number(&recent["queue"]["p99_ms"])),
            millis(number(&recent["service"]["p50_ms"])),
            millis(number(&recent["service"]["p99_ms"])),
            text(&app["restarts"]),
            marks(app).join(", "),
        ]);
    }
    table.text()
}

/// Requests that failed, without those that were refused, which have a number of their own.
fn failed(recent: &Value) -> String {
    rate((number(&recent["errors_per_s"]) - number(&recent["refused_per_s"])).max(0.0))
}

fn busy(app: &Value) -> String {
    format!("{} of {}", text(&app["busy"]), text(&app["capacity"]))
}

fn marks(app: &Value) -> Vec<&'static str> {
    let marks = [("is_paused", "paused"), ("is_reloading", "reloading"), ("is_newest_first", "newest first")];
    let mut marks: Vec<&str> = marks.iter().filter(|(name, _)| app[*name] == true).map(|(_, word)| *word).collect();
    if app["pool"]["is_held_by_memory"] == true {
        marks.push("no memory for more workers");
    }
    marks
}

/// Text about an application and its workers, in lines of this width.
fn app_text(app: &Value, width: usize) -> String {
    let recent = &app["recent"];
    let (name, engine, generation) = (text(&app["name"]), text(&app["engine"]), text(&app["generation"]));
    let mut out = format!("\n{name}: {engine}, generation {generation}");
    for mark in marks(app) {
        let _ = write!(out, "\n  {mark}");
    }
    let (waits, runs) = (&recent["queue"], &recent["service"]);
    let mut table = Table::new(&["", ">", " ", "", ">", " ", "", ">"]);
    let mut add = |cells: [(&str, String); 3]| {
        let cells = cells.into_iter().enumerate();
        table.add(cells.fold(Vec::new(), |mut row, (at, (name, value))| {
            row.extend((at > 0).then(String::new));
            row.extend([name.to_owned(), value]);
            row
        }));
    };
    add([
        ("requests/s", rate(number(&recent["requests_per_s"]))),
        ("queue", text(&app["queued"])),
        ("runs p50", millis(number(&runs["p50_ms"]))),
    ]);
    add([
        ("failed/s", failed(recent)),
        ("oldest", millis(number(&app["oldest_wait_ms"]))),
        ("runs p99", millis(number(&runs["p99_ms"]))),
    ]);
    add([
        ("refused/s", rate(number(&recent["refused_per_s"]))),
        ("busy", busy(app)),
        ("waits p99", millis(number(&waits["p99_ms"]))),
    ]);
    out.push_str(&table.text());
    out.push('\n');
    out.push_str(&worker_lines(app, width));
    out
}

/// Table of the workers, with the running requests below each.
fn worker_lines(app: &Value, width: usize) -> String {
    let mut table = Table::new(&[">worker", ">process", "state", ">served", ">age", ">PSS"]);
    let workers = rows(&app["workers"]);
    for worker in workers {
        table.add(vec![
            text(&worker["id"]),
            text(&worker["pid"]),
            text(&worker["state"]),
            text(&worker["served"]),
            lasting(number(&worker["age_s"])),
            worker["pss_kib"].as_f64().map(size).unwrap_or_default(),
        ]);
    }
    if table.is_empty() {
        return "no workers\n".to_owned();
    }
    let table = table.text();
    let mut lines = table.lines();
    let mut out = format!("{}\n", lines.next().unwrap_or_default());
    for (line, worker) in lines.zip(workers) {
        let _ = writeln!(out, "{line}");
        for run in rows(&worker["running"]) {
            let _ = writeln!(out, "{}", cut(&format!("    {}", in_short(run)), width));
        }
    }
    out
}

/// Cuts a line to this width in the middle: its end is the age of the request.
fn cut(line: &str, width: usize) -> String {
    const END: usize = 10;
    let letters: Vec<char> = line.chars().collect();
    if letters.len() <= width || width <= END {
        return line.to_owned();
    }
    let end = &letters[letters.len() - END..];
    letters[..width - END - 1].iter().chain(&['…']).chain(end).collect()
}

fn failed_deploy(app: &Value) -> String {
    let deploy = &app["last_deploy"];
    if deploy["outcome"] != "failed" {
        return String::new();
    }
    let name = text(&app["name"]);
    let error: String = lines(&deploy["error"]).map(|line| format!("  {line}\n")).collect();
    let when = ago(&deploy["at_ms"]);
    let failed = text(&deploy["generation"]);
    let old = text(&app["generation"]);
    format!("\n{name}: generation {failed} failed {when}, generation {old} goes on:\n{error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status() -> Value {
        json!({
            "server": { "version": "1.0", "pid": 4_194_303, "state": "serving", "uptime_s": 90.0,
                "listeners": ["tcp://a:1"], "connections": { "open": 2, "accepted": 9 },
                "process": { "pss_kib": 2048 },
                "memory": { "limit_kib": 204_800, "used_kib": 102_400, "is_machine": false, "is_short": true } },
            "apps": [{ "name": "shop", "engine": "ruby", "generation": 2, "capacity": 4, "idle": 1, "busy": 3,
                "queued": 3, "oldest_wait_ms": 8192.0, "restarts": 1, "is_paused": true,
                "is_newest_first": true,
                "leaving": [1],
                "pool": { "wanted": 3, "min": 2, "max": 4, "grows_while": "computing" },
                "recent": { "requests_per_s": 12045.4, "errors_per_s": 3827.0, "refused_per_s": 3810.0,
                    "queue": { "p99_ms": 10000.0 }, "service": { "p50_ms": 30000.0, "p99_ms": 30000.0 } },
                "last_deploy": { "outcome": "failed", "generation": 3, "error": "line one\nline two", "at_ms": 4e15 },
                "workers": [{ "id": 4, "pid": 4_194_302, "state": "out_of_band", "threads": 2, "served": 1_234_567,
                    "age_s": 85_000.0, "pss_kib": 1_000_000,
                    "running": [{ "method": "GET", "path": "/a\u{1b}", "age_ms": 1500.0 },
                        { "method": "DELETE", "path": "/long".repeat(20), "age_ms": 59_000.0 }] }] }]
        })
    }

    #[test]
    fn status_is_a_table_where_there_is_room() {
        let text = status_text(&status(), None);
        for words in [
            "foolsgold 1.0, process 4194303, up 1m 30s, serving on tcp://a:1",
            "2 open, 9 since the start\nmemory: 2.0 MiB (PSS) in the server; 100.0 MiB of the cgroup's",
            "3 of 4",
            "17.0",
            "3810",
            "paused, newest first",
            "GET /a\u{fffd} 1.50 s",
            "shop: 3 of 2 to 4 workers\n  one is added while requests wait and every worker computes\n",
            "shop: generation 1 finishes its requests\n",
            "generation 3 failed",
            "generation 2 goes on:\n  line one\n  line two\n",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
    }

    #[test]
    fn the_time_beside_the_state_is_that_of_the_state() {
        for (state, draining, expected) in [
            ("starting", None, "process 4194303, starting since 1m 30s on"),
            ("serving", None, "process 4194303, up 1m 30s, serving on"),
            ("draining", Some(5.0), "process 4194303, draining since 5s on"),
        ] {
            let mut status = status();
            status["server"]["state"] = json!(state);
            status["server"]["draining_s"] = json!(draining);
            let text = status_text(&status, None);
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
    }

    #[test]
    fn status_fits_sixty_columns() {
        let text = status_text(&status(), Some(60));
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(60), "{widest:?}\n{text}");
        for words in [
            "on tcp://a:1\n",
            "failed/s",
            "17.0",
            "refused/s",
            "3810",
            "3 of 4",
            "paused\n  newest first",
            "GET /a\u{fffd} 1.50 s",
            "59.00 s",
            "976.6",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
    }
}
