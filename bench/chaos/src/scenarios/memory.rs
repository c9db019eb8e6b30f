//! Memory shortage: a server in a control group with a limit. Workers may be killed, requests may wait, but the server
//! goes on: the kernel never kills it, and no safe request is lost.

use std::fs;
use std::time::Duration;

use loadgen::Workload;
use loadgen::process::MemoryGroup;
use rustix::process::Signal;
use serde_json::Value;

use crate::app;
use crate::findings::Findings;
use crate::pace::{self, pause};
use crate::processes::ProcessInfo;
use crate::server::{self, Server, Setup};
use crate::stage::Stage;

const APP: &str = "bench/chaos/apps/hungry.ru";
/// Memory limit of the group in bytes.
const LIMIT: u64 = 160 << 20;
/// Longest time that a client waits for a worker.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(75);
const TIMES: [&str; 6] = ["--queue-wait", "60s", "--request-time", "60s", "--drain-time", "10s"];
/// Time for an expected log line.
const SEEN: Duration = Duration::from_secs(60);

/// A way in which memory runs out.
struct Shortage {
    name: &'static str,
    options: &'static [&'static str],
    /// Environment variables of the application.
    env: &'static [(&'static str, &'static str)],
    path: &'static str,
    /// Whether there are two applications in one server, below `/one` and `/two`.
    are_two: bool,
    /// Texts of which one must be in the log.
    log: &'static [&'static str],
    /// Whether the code is reloaded meanwhile.
    reloads: bool,
}

/// One application whose root path needs the memory.
const PLAIN: Shortage =
    Shortage { name: "", options: &[], env: &[], path: "/", are_two: false, log: &[], reloads: false };
const NO_ROOM: &[&str] = &["no memory for another worker"];
const SHORT: &[&str] = &["memory is short", "because memory is full", "no memory for another worker"];

const SHORTAGES: [Shortage; 8] = [
    Shortage {
        name: "an elastic pool",
        options: &["--min-workers", "1", "--max-workers", "24"],
        log: NO_ROOM,
        ..PLAIN
    },
    Shortage {
        name: "more workers than fit",
        options: &["-w", "24"],
        log: &["memory is short", "because memory is full", "out of memory"],
        ..PLAIN
    },
    Shortage {
        name: "workers that leak",
        options: &["-w", "3"],
        path: "/leak",
        log: &["memory is short", "because memory is full"],
        ..PLAIN
    },
    Shortage {
        name: "workers that leak and have a limit",
        options: &["-w", "3", "--worker-memory", "30MiB"],
        path: "/leak",
        log: &["--worker-memory"],
        ..PLAIN
    },
    Shortage {
        name: "reloads",
        options: &["-w", "6"],
        env: &[("LOADED_MIB", "40")],
        log: SHORT,
        reloads: true,
        ..PLAIN
    },
    Shortage {
        name: "applications loaded in each worker",
        options: &["-w", "8", "--preload=no"],
        env: &[("LOADED_MIB", "20")],
        log: SHORT,
        ..PLAIN
    },
    Shortage {
        name: "a pool that sleeps",
        options: &["--min-workers", "0", "--max-workers", "24", "--idle-time", "1s"],
        log: NO_ROOM,
        ..PLAIN
    },
    Shortage {
        name: "two applications",
        options: &["--min-workers", "1", "--max-workers", "24"],
        are_two: true,
        log: NO_ROOM,
        ..PLAIN
    },
];

/// All shortages, one after the other.
pub fn short(stage: &Stage) -> Result<Findings, String> {
    let name = format!("chaos-{}", std::process::id());
    let group = match MemoryGroup::new(&name, LIMIT) {
        Ok(group) => group,
        Err(why) => return Ok(Findings::skipped(why)),
    };
    let mut findings = Findings::default();
    for shortage in &SHORTAGES {
        if let Err(why) = one(stage, &group, shortage, &mut findings) {
            findings.complain(format!("{}: {why}", shortage.name));
            server::end_all(stage);
        }
    }
    Ok(findings)
}

fn one(stage: &Stage, group: &MemoryGroup, shortage: &Shortage, findings: &mut Findings) -> Result<(), String> {
    let name = shortage.name;
    let settings = stage.folder.join("foolsgold.toml");
    let mut setup = Setup { rackup: if shortage.are_two { "" } else { APP }, ..Setup::default() };
    if shortage.are_two {
        fs::write(&settings, two(stage)).map_err(|error| error.to_string())?;
    }
    setup = setup.with(&["--engine", "ruby", "-t", "1"]).with(&TIMES).with(shortage.options);
    setup.env.extend(shortage.env.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let enter = "echo $$ > \"$0\" && exec \"$@\"";
    setup.before = ["sh", "-c", enter, &group.entrance().display().to_string()].map(str::to_owned).to_vec();
    let mut server = Server::start(stage, &setup)?;
    server.timeout = CLIENT_TIMEOUT;
    let prefixes: &[&str] = if shortage.are_two { &["/one", "/two"] } else { &[""] };
    let load = server.load(&asks(prefixes, shortage.path)?);
    stage.doing(format!("memory runs out: {name}"));
    let is_seen = pace::within(SEEN, || {
        let log = server.log();
        server.ended().is_some() || shortage.reloads || shortage.log.iter().any(|words| log.contains(words))
    });
    if let Some(how) = server.ended() {
        findings.count(name, &load.end(), &[]);
        return Err(format!("the server has ended: {how}"));
    }
    findings.expect(is_seen, || format!("{name}: memory did not run out, as far as the log says"));
    let rounds = if stage.is_quick { 2 } else { 6 };
    for _ in 0..rounds {
        if shortage.reloads {
            server.signal(Signal::USR1);
        }
        pause(Duration::from_secs(2));
    }
    front_is_last(&server, findings);
    let count = load.end();
    findings.count(name, &count, &[]);
    let apps = server.status().map(|status| status.all["apps"].clone()).unwrap_or(Value::Null);
    let ends: Vec<&Value> = apps.as_array().into_iter().flatten().map(|app| &app["restarts_by"]).collect();
    let ends = ends.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
    findings.remark(format!("{name}: {} requests, ends of workers by reason: {ends}", count.right));
    server.end(findings);
    if shortage.are_two {
        fs::remove_file(&settings).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn asks(prefixes: &[&str], path: &str) -> Result<Workload, String> {
    let ask = |prefix: &&str| format!(r#"{{ "path": "{prefix}{path}", "exactly": "gold\n" }}"#);
    app::workload(&[&prefixes.iter().map(ask).collect::<Vec<_>>().join(",")])
}

/// Settings of a server that has the application twice.
fn two(stage: &Stage) -> String {
    let path = stage.home.join(APP);
    let app = |name: &str| format!("[[app]]\nname = \"{name}\"\npath = {path:?}\nprefix = \"/{name}\"\n");
    ["one", "two"].map(app).concat()
}

/// Checks that the kernel would kill the server last: it kills the process with the highest score first.
fn front_is_last(server: &Server, findings: &mut Findings) {
    let score =
        |id: u32| -> Option<i32> { fs::read_to_string(format!("/proc/{id}/oom_score_adj")).ok()?.trim().parse().ok() };
    let Some(front) = score(server.id) else { return findings.complain("the front is gone") };
    // A forked process has the score of its mold for a moment.
    let mut above = Vec::new();
    let is_last = pace::within(Duration::from_secs(5), || {
        let others = server.processes().into_iter().filter(|one| one.id != server.id && !one.is_zombie);
        above = others.filter(|one| score(one.id).is_some_and(|score| score <= front)).collect::<Vec<ProcessInfo>>();
        above.is_empty()
    });
    let words: Vec<String> = above.iter().map(ProcessInfo::in_words).collect();
    findings.expect(is_last, || format!("the kernel takes the front before these: {}", words.join(", ")));
}
