//! Whole runs of the built program, on servers made for it: one that is good, and some that must be caught.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A folder like the one that comes with the program.
struct Home(TempDir);

impl Home {
    fn with(kinds: &[&str]) -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        for folder in ["apps/tiny", "arena/contenders", "arena/studies"] {
            fs::create_dir_all(home.path(folder)).unwrap();
        }
        fs::write(home.path("apps/tiny/config.ru"), "run ->(env) { [200, {}, ['right']] }\n").unwrap();
        fs::write(home.path("arena/published.toml"), "[study.tiny]\nload = 'none'\nresult = []\n").unwrap();
        for kind in kinds {
            fs::write(home.path(&format!("arena/contenders/{kind}.toml")), contender(kind)).unwrap();
        }
        fs::write(home.path("arena/studies/tiny.toml"), study(kinds, "closed")).unwrap();
        home
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    fn arena(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_arena"));
        command.arg("--home").arg(self.0.path()).args(words).stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.arena(words).output().unwrap()
    }

    fn folder(&self) -> PathBuf {
        let mut runs: Vec<PathBuf> =
            fs::read_dir(self.path("arena/runs")).unwrap().map(|e| e.unwrap().path()).collect();
        runs.sort();
        runs.remove(0)
    }

    fn summary(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder().join("summary.json")).unwrap()).unwrap()
    }
}

fn contender(kind: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/study/server.rb");
    let program = if kind == "absent" { "no-such-program" } else { "ruby" };
    format!(
        r#"
title = "{kind}"
about = "Made for a test."
home = "https://example.com"
runtime = "cruby"
ready_s = 2
[needs]
programs = ["{program}"]
[get]
apt = ["the-package-of-{kind}"]
[version]
command = ["ruby", "--version"]
pattern = 'ruby (\S+)'
[[process]]
name = "{kind}"
command = ["ruby", "{}", "{{{{ port }}}}", "{kind}", "{{{{ workers }}}}"]
[count]
worker = '^study worker'
[cannot]
threads = "it has none"
reload = "it has none"
"#,
        script.display()
    )
}

fn study(kinds: &[&str], tool: &str) -> String {
    let entries: Vec<String> =
        kinds.iter().map(|kind| format!("{{ recipe = \"{kind}\", workers = 2, threads = 1 }}")).collect();
    format!(
        r#"
title = "Tiny"
question = "Who answers?"
about = ["A study for a test."]
app = "tiny"
contenders = [{}]
full = {{ rounds = 2, seconds = 0.5, warm_up_s = 0.2, clients = 4 }}
quick = {{ rounds = 1, seconds = 0.3, warm_up_s = 0.0, clients = 2 }}
metrics = ["requests_per_s", "p99_ms", "failed"]
[[case]]
name = "page"
title = "The page"
tool = "{tool}"
path = "/"
expect = {{ exactly = "right\n" }}
"#,
        entries.join(", ")
    )
}

fn results(summary: &Value) -> BTreeMap<String, Value> {
    let results = summary["cases"][0]["results"].as_array().unwrap();
    results.iter().map(|result| (result["contender"].as_str().unwrap().to_owned(), result.clone())).collect()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether a process runs that has this word in its command line.
fn is_running(word: &str) -> bool {
    let lines =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(word))
}

#[test]
fn a_good_server_is_measured_and_bad_ones_are_caught() {
    let home = Home::with(&["good", "wrong", "later", "dies", "never", "alone", "absent"]);
    let output = home.run(&["run", "tiny", "--rounds", "1"]);
    let words = said(&output);
    // Somebody who is there could not be measured: the command says so by its exit code.
    assert_eq!(output.status.code(), Some(1), "{words}");
    let summary = home.summary();
    assert_eq!(summary["cases"][0]["ranking"], serde_json::json!([["good"]]));
    let results = results(&summary);
    let good = &results["good"];
    assert!(good["disqualified"].is_null());
    assert!(good["numbers"]["requests_per_s"]["median"].as_f64().unwrap() > 50.0, "{good}");
    for number in ["p50_ms", "p99_ms", "cpu_us_per_request", "pss_peak_mib", "first_answer_ms"] {
        assert!(good["numbers"][number]["median"].as_f64().unwrap() > 0.0, "{number}: {good}");
    }
    let why = |kind: &str| results[kind]["disqualified"].as_str().unwrap_or("not disqualified").to_owned();
    assert!(why("wrong").contains("not the right one"), "{}", why("wrong"));
    assert!(why("later").contains("not the right one"), "{}", why("later"));
    assert!(why("never").contains("2 s"), "{}", why("never"));
    assert!(why("alone").contains('1') && why("alone").contains('2'), "{}", why("alone"));
    assert_ne!(why("dies"), "not disqualified");
    let who = summary["contenders"].as_array().unwrap();
    let absent = who.iter().find(|who| who["name"] == "absent").unwrap();
    assert!(absent["missing"].to_string().contains("no-such-program"), "{absent}");
    assert!(absent["missing"].to_string().contains("the-package-of-absent"), "{absent}");
    let good = who.iter().find(|who| who["name"] == "good").unwrap();
    assert_eq!((good["counted_workers"].as_u64(), good["workers"].as_u64()), (Some(2), Some(2)));
    let page = fs::read_to_string(home.folder().join("report.html")).unwrap();
    assert!(page.contains("Who answers?") && page.contains("the-package-of-absent"));
    let marked = home.0.path().display().to_string();
    assert!(!is_running(&format!("{marked}/apps")), "a server is left");
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let home = Home::with(&["good"]);
    let mut first =
        home.arena(&["run", "tiny", "--seconds", "2"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let raw = || fs::read_to_string(home.folder().join("raw.jsonl")).unwrap_or_default();
    within(|| home.path("arena/runs").is_dir() && raw().lines().count() == 1, &mut first);
    first.kill().unwrap();
    first.wait().unwrap();
    // As if it had been killed in the middle of a line.
    let folder = home.folder();
    let torn = format!("{}{{\"case\":\"pa", raw());
    fs::write(folder.join("raw.jsonl"), torn).unwrap();
    let output = home.run(&["run", "--resume", folder.to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("dropped"), "{}", said(&output));
    let rounds: Vec<u64> =
        raw().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["round"].as_u64().unwrap()).collect();
    assert_eq!(rounds, [1, 2]);
    assert_eq!(results(&home.summary())["good"]["numbers"]["requests_per_s"]["all"].as_array().unwrap().len(), 2);
}

#[test]
fn runs_are_compared_reported_and_spliced() {
    let home = Home::with(&["good"]);
    let output = home.run(&["run", "tiny", "--quick"]);
    assert!(output.status.success(), "{}", said(&output));
    let folder = home.folder();
    let folder = folder.to_str().unwrap();
    let output = home.run(&["compare", folder, folder]);
    assert!(output.status.success() && said(&output).contains("good"), "{}", said(&output));
    let readme = home.path("README.md");
    fs::write(&readme, "# Us\n\n<!-- arena:begin tiny -->\nof yesterday\n<!-- arena:end tiny -->\n\nrest\n").unwrap();
    let file = readme.to_str().unwrap();
    let output = home.run(&["report", folder, "--splice", file, "--check"]);
    assert!(!output.status.success() && said(&output).contains("--splice"), "{}", said(&output));
    assert!(home.run(&["report", folder, "--splice", file]).status.success());
    let text = fs::read_to_string(&readme).unwrap();
    assert!(
        text.starts_with("# Us\n") && text.ends_with("rest\n") && text.contains("good") && !text.contains("yesterday"),
        "{text}"
    );
    assert!(home.run(&["report", folder, "--splice", file, "--check"]).status.success());
}

#[test]
fn what_is_wrong_is_said_at_once() {
    let home = Home::with(&["good"]);
    let refused = |words: &[&str], says: &str| {
        let output = home.run(words);
        assert!(!output.status.success() && said(&output).contains(says), "{words:?}: {}", said(&output));
    };
    refused(&["run", "nothing"], "there are tiny");
    refused(&["run", "tiny", "--only", "bad"], "tiny has good");
    refused(&["run", "tiny", "--case", "bad"], "tiny has page");
    refused(&["run", "tiny", "--rounds", "0"], "from 1 to 100");
    refused(&["run", "--resume", "/tmp"], "no run's folder");
    refused(&["compare", "/tmp", "/tmp"], "no run's folder");
    fs::write(home.path("arena/studies/other.toml"), study(&["good"], "hammer")).unwrap();
    refused(&["list"], "hammer");
    let twice = study(&["good", "good"], "ladder");
    fs::write(home.path("arena/studies/other.toml"), study(&["unheard-of"], "closed")).unwrap();
    refused(&["list"], "other: there is no contender unheard-of");
    fs::write(home.path("arena/studies/other.toml"), twice).unwrap();
    let output = home.run(&["list"]);
    let words = said(&output);
    assert!(words.contains("two contenders are named good") && words.contains("load_pct"), "{words}");
}

#[test]
fn what_comes_with_the_program_is_read_without_complaint() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_arena")).arg("--home").arg(&home).arg("list").output().unwrap();
    let words = said(&output);
    assert!(output.status.success(), "{words}");
    for name in ["foolsgold", "puma", "passenger-apache", "prime-sums", "round-3", "scenarios"] {
        assert!(words.contains(name), "{name}: {words}");
    }
}

/// Waits for something that a running program does.
fn within(done: impl Fn() -> bool, child: &mut Child) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "it takes too long");
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        thread::park_timeout(Duration::from_millis(20));
    }
}
