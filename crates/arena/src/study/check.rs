//! Checks a parsed study for everything that would fail only during a run, or make it measure something else.

use std::ops::RangeInclusive;
use std::path::Path;

use super::effort::wrong_warm_up;
use super::expect::Expected;
use super::published::Figures;
use super::recipe::{CaseRecipe, Study, Tool};
use crate::contender::Catalogue;
use crate::record::{TWIN, plain};
use loadgen::metric::{METRICS, Metric};

/// Bounds of numbers that a machine can start.
const WORKERS: RangeInclusive<u32> = 1..=512;
const THREADS: RangeInclusive<u32> = 1..=1024;
const CLIENTS: RangeInclusive<u32> = 1..=10_000;
const PERCENT: RangeInclusive<u32> = 1..=1000;
/// Most seconds of a load, and until a server may shut down.
const SECONDS_MOST: f64 = 3600.0;
const PER_S_MOST: f64 = 1_000_000.0;
const REQUESTS: RangeInclusive<u64> = 1..=100_000_000;
/// Bounds of a request's body, of which each client holds a copy.
const SEND_BYTES: RangeInclusive<usize> = 1..=16_777_216;
const MEMORY_MIB: RangeInclusive<u64> = 16..=16_000_000;

/// All errors in the study itself, each with what would be right.
pub fn study(study: &Study) -> Vec<String> {
    let mut found = study.full.complaints("full");
    found.extend(study.quick.complaints("quick"));
    if let Err(words) = plain(&study.name) {
        found.push(format!("the file's name: {words}"));
    }
    if let Some(mib) = study.memory_mib.filter(|mib| !MEMORY_MIB.contains(mib)) {
        found.push(format!("memory_mib is {mib}: {}", from(&MEMORY_MIB)));
    }
    if study.metrics.is_empty() {
        found.push("metrics names at least one: the first one ranks".into());
    }
    metrics("metrics", &study.metrics, &mut found);
    contenders(study, &mut found);
    cases(study, &mut found);
    let names: Vec<&str> = study.cases.iter().map(|case| case.name.as_str()).collect();
    for plot in &study.plots {
        let what = format!("plot {:?}", plot.title);
        metrics(&format!("{what}.metric"), std::slice::from_ref(&plot.metric), &mut found);
        known(&format!("{what}.cases"), &plot.cases, &names, &mut found);
    }
    for verdict in &study.verdicts {
        let what = format!("verdict {:?}", verdict.use_case);
        metrics(&format!("{what}.metric"), verdict.metric.as_slice(), &mut found);
        known(&format!("{what}.cases"), &verdict.cases, &names, &mut found);
    }
    found
}

/// All errors in the study's references to applications, contenders and published figures.
pub fn surroundings(study: &Study, apps: &Path, figures: &Figures, contenders: Option<&Catalogue>) -> Vec<String> {
    let mut found = Vec::new();
    let app = apps.join(&study.app);
    match plain(&study.app) {
        Err(words) => found.push(format!("app: {words}")),
        Ok(()) if !app.is_dir() => found.push(format!("app: there is no folder {}", app.display())),
        Ok(()) => {
            let files = study.contenders.iter().map(|entry| entry.rackup.as_deref().unwrap_or("config.ru"));
            let mut files: Vec<&str> = files.filter(|file| !app.join(file).is_file()).collect();
            files.sort_unstable();
            files.dedup();
            found.extend(files.iter().map(|file| format!("app: there is no {} in {}", file, app.display())));
        }
    }
    let servers = study.published.as_ref().map(|name| figures.servers(name));
    if let (Some(name), Some(None)) = (&study.published, &servers) {
        let names = figures.names().join(", ");
        found.push(format!("published: published.toml has no [study.{name}]; it has {names}"));
    }
    for entry in &study.contenders {
        let name = entry.name();
        if contenders.is_some_and(|all| all.get(&entry.recipe).is_none()) {
            found.push(format!("contender {name}: there is no recipe {} in arena/contenders", entry.recipe));
        }
        if let (Some(Some(servers)), Some(there)) = (&servers, &entry.published)
            && !servers.contains(&there.as_str())
        {
            found.push(format!("contender {name}: published has {}, and no {there}", servers.join(", ")));
        }
    }
    found
}

fn contenders(study: &Study, found: &mut Vec<String>) {
    if study.contenders.is_empty() {
        found.push("contenders is empty: who takes part?".into());
    }
    let mut names = study.names();
    names.sort_unstable();
    for two in names.windows(2).filter(|two| two[0] == two[1]) {
        found.push(format!("two contenders are named {}: give one of them a name", two[0]));
    }
    if names.contains(&TWIN) {
        found.push(format!("a contender is named {TWIN}: that is the name of the one that takes part twice"));
    }
    for entry in &study.contenders {
        let mut complain = |words: String| found.push(format!("contender {}: {words}", entry.name()));
        if let Err(words) = plain(entry.name()) {
            complain(format!("name: {words}"));
        }
        for (what, number, range) in [("workers", entry.workers, WORKERS), ("threads", entry.threads, THREADS)] {
            if !range.contains(&number) {
                complain(format!("{what} is {number}: {}", from(&range)));
            }
        }
        if entry.idle_s.is_some_and(|seconds| f64::from(seconds) > SECONDS_MOST) {
            complain(format!("idle_s is at most {SECONDS_MOST}"));
        }
        if let Some(wrong) = entry.warm_up_s.and_then(wrong_warm_up) {
            complain(wrong.to_owned());
        }
        let is_below = |file: &String| file.split('/').all(|part| plain(part).is_ok()) && file.ends_with(".ru");
        if entry.rackup.as_ref().is_some_and(|file| !is_below(file)) {
            complain("rackup is a file below the application's folder whose name ends in .ru".to_owned());
        }
    }
}

fn cases(study: &Study, found: &mut Vec<String>) {
    if study.cases.is_empty() {
        found.push("there is no [[case]]: what is measured?".into());
    }
    let mut names: Vec<&str> = Vec::new();
    for case in &study.cases {
        if names.contains(&case.name.as_str()) {
            found.push(format!("two cases are named {}", case.name));
        }
        names.push(&case.name);
        let mut own: Vec<String> = of_case(case);
        metrics("metrics", &case.metrics, &mut own);
        let first = case.metrics.first().or(study.metrics.first());
        if let Some(first) = first.filter(|first| !case.tool.is_merit(first, case.requests.is_some())) {
            own.push(format!("{first} would rank it, and is no merit of a server under this tool: give other metrics"));
        }
        found.extend(own.into_iter().map(|words| format!("case {}: {words}", case.name)));
    }
}

fn of_case(case: &CaseRecipe) -> Vec<String> {
    let expected = [Some(&case.expect), case.long_expect.as_ref(), case.stuck_expect.as_ref()];
    let mut found: Vec<String> = expected.into_iter().flatten().filter_map(Expected::complaints).collect();
    if let Err(words) = plain(&case.name) {
        found.push(format!("name: {words}"));
    }
    if !case.path.starts_with('/') {
        found.push(format!("path is {:?}: it begins with /", case.path));
    }
    if !case.users.is_empty() && case.clients.is_some() {
        found.push("users and clients exclude each other".into());
    }
    if !case.users.is_empty() && matches!(case.tool, Tool::Ladder | Tool::Overload) {
        found.push("users and a ladder or an overload exclude each other: the series of these is load_pct".into());
    }
    for (what, series) in [("users", &case.users), ("load_pct", &case.load_pct), ("slowest_pct", &case.slowest_pct)] {
        found.extend(twice(series).map(|number| format!("{what} has {number} twice: that would be one case")));
    }
    if matches!(case.tool, Tool::Ladder | Tool::Overload) == case.load_pct.is_empty() {
        found.push("load_pct belongs to ladder and overload, which need it: [50, 80, 100, 120]".into());
    }
    if case.tool != Tool::Ladder && !case.slowest_pct.is_empty() {
        found.push("slowest_pct belongs to ladder".into());
    }
    if [case.stuck_path.is_some(), case.stuck_expect.is_some()] != [case.tool == Tool::Stuck; 2] {
        found.push("stuck_path and stuck_expect belong to stuck, which needs both: what hangs, and its answer".into());
    }
    if matches!(case.tool, Tool::Uneven | Tool::SlowClients | Tool::Stuck) != case.per_s.is_some() {
        found.push("per_s belongs to uneven, slow-clients and stuck, which need it: requests per second".into());
    }
    let of_long = [case.long_path.is_some(), case.long_expect.is_some(), case.long_pct.is_some()];
    if of_long != [case.tool == Tool::Uneven; 3] {
        found.push("long_path, long_expect and long_pct belong to uneven, which needs all three".into());
    }
    if case.per_s.is_some_and(|per_s| !(per_s > 0.0 && per_s <= PER_S_MOST)) {
        found.push(format!("per_s is a number above 0, at most {PER_S_MOST}"));
    }
    if case.long_pct.is_some_and(|percent| !(1..=99).contains(&percent)) {
        found.push("long_pct is a number from 1 to 99".into());
    }
    if case.long_path.as_ref().is_some_and(|path| !path.starts_with('/')) {
        found.push(format!("long_path is {:?}: it begins with /", case.long_path.as_deref().unwrap_or_default()));
    }
    if (case.tool == Tool::IdleConnections) == case.connections.is_none() {
        found.push("connections belongs to idle-connections, which needs it: how many there are".into());
    }
    if (case.tool == Tool::SlowClients) == case.slow.is_none() {
        found.push("slow belongs to slow-clients, which needs it: how many trickle".into());
    }
    let clients = case.users.iter().chain(&case.clients).chain(&case.slow).chain(&case.connections);
    if clients.into_iter().any(|number| !CLIENTS.contains(number)) {
        found.push(format!("users, clients, connections and slow: {}", from(&CLIENTS)));
    }
    if case.load_pct.iter().chain(&case.slowest_pct).any(|percent| !PERCENT.contains(percent)) {
        found.push(format!("load_pct and slowest_pct: {}", from(&PERCENT)));
    }
    if case.seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= SECONDS_MOST)) {
        found.push(format!("seconds is a number above 0, at most {SECONDS_MOST}"));
    }
    if case.timeout_s.is_some_and(|seconds| !(1..=600).contains(&seconds)) {
        found.push("timeout_s is a number of seconds from 1 to 600".into());
    }
    if case.timeout_s.is_some() && !matches!(case.tool, Tool::Wrk | Tool::Ab) {
        found.push("timeout_s belongs to wrk and ab".into());
    }
    if case.send_bytes.is_some() && case.tool != Tool::Closed {
        found.push("send_bytes belongs to closed: the other tools send no body".into());
    }
    if case.send_bytes.is_some_and(|bytes| !SEND_BYTES.contains(&bytes)) {
        found.push(format!("send_bytes: {}", from(&SEND_BYTES)));
    }
    if case.requests.is_some_and(|requests| !REQUESTS.contains(&requests)) {
        found.push(format!("requests: {}", from(&REQUESTS)));
    }
    let is_counted = matches!(case.tool, Tool::Ab | Tool::Siege | Tool::SiegeOnce | Tool::Closed);
    if case.requests.is_some() && !is_counted {
        found.push("requests belongs to ab, siege, siege-once and closed: the other loads end by the clock".into());
    }
    found
}

/// The first number that stands twice in a series. Its cases would have the same name, and so two figures in each
/// round.
fn twice(series: &[u32]) -> Option<u32> {
    series.iter().enumerate().find(|(at, number)| series[..*at].contains(number)).map(|(_, number)| *number)
}

/// Checks that metrics exist and are named once.
fn metrics(what: &str, names: &[String], found: &mut Vec<String>) {
    for (at, name) in names.iter().enumerate() {
        if Metric::of(name).is_none() {
            let all: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            found.push(format!("{what}: there is no metric {name}; there are {}", all.join(", ")));
        }
        if names[..at].contains(name) {
            found.push(format!("{what}: {name} stands there twice"));
        }
    }
}

fn known(what: &str, cases: &[String], names: &[&str], found: &mut Vec<String>) {
    if cases.is_empty() {
        found.push(format!("{what} is empty: name at least one case of {}", names.join(", ")));
    }
    for name in cases.iter().filter(|name| !names.contains(&name.as_str())) {
        found.push(format!("{what}: there is no case {name}; there are {}", names.join(", ")));
    }
}

fn from<T: std::fmt::Display>(range: &RangeInclusive<T>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_have_no_effect_or_be_measured_twice_is_told() {
        let of = |more: &str| {
            let case = "[[case]]\nname = \"c\"\ntitle = \"C\"\npath = \"/\"\nexpect = {}\n";
            of_case(&Study::sample(&format!("{case}{more}")).cases[0])
        };
        for good in [
            "tool = \"wrk\"\nusers = [1, 2, 4]",
            "tool = \"ab\"\nrequests = 9\nusers = [1]",
            "tool = \"ladder\"\nload_pct = [50, 80]\nslowest_pct = [50, 80]",
        ] {
            assert_eq!(of(good), Vec::<String>::new(), "{good}");
        }
        for (bad, words) in [
            ("tool = \"wrk\"\nusers = [1, 4, 1]", "users has 1 twice"),
            ("tool = \"overload\"\nload_pct = [200, 200]", "load_pct has 200 twice"),
            ("tool = \"ladder\"\nload_pct = [50]\nslowest_pct = [80, 80]", "slowest_pct has 80 twice"),
            ("tool = \"ladder\"\nload_pct = [50]\nusers = [1, 2]", "users and a ladder or an overload exclude"),
            ("tool = \"wrk\"\nrequests = 9", "requests belongs to ab, siege, siege-once and closed"),
        ] {
            let found = of(bad);
            assert!(found.len() == 1 && found[0].starts_with(words), "{bad}: {found:?}");
        }
    }
}
