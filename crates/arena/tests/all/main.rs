//! The arena's tests on servers, good ones and some that must be detected: one file a subject, all in one test program,
//! since each that is linked costs time. `bin/suite` runs the files side by side; `cargo test -p arena --test all
//! judged::` runs those with that in their names.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

mod by_k6;
mod challenged;
mod contenders;
mod divided;
mod duel;
mod duel_bad;
mod interrupt;
mod judged;
mod measured;
mod refused;
mod report;
mod ring;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use loadgen::process::until;
use serde_json::Value;
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);

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

    /// Its path as text.
    fn name(&self) -> String {
        self.0.path().display().to_string()
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    /// Replaces the first `this` in a file of the folder by `that`. It is an error if there is none.
    #[track_caller]
    fn change(&self, file: impl AsRef<Path>, this: &str, that: &str) {
        let file = self.0.path().join(file);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(this), "{this}: {text}");
        fs::write(&file, text.replacen(this, that, 1)).unwrap();
    }

    fn arena(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_arena"));
        command.arg("--home").arg(self.0.path()).args(words).stdin(Stdio::null());
        command
    }

    /// The command with a program of this name first on its PATH, which is this shell script.
    fn arena_beside(&self, program: &str, script: &str, words: &[&str]) -> Command {
        let folder = self.path("programs");
        fs::create_dir_all(&folder).unwrap();
        write_program(&folder.join(program), script);
        let mut command = self.arena(words);
        command.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap()));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.arena(words).output().unwrap()
    }

    /// Runs a command, which must succeed; returns what it prints.
    #[track_caller]
    fn succeeds(&self, words: &[&str]) -> String {
        succeeded(&self.run(words))
    }

    fn folder(&self) -> PathBuf {
        fs::read_dir(self.path("arena/runs")).unwrap().map(|run| run.unwrap().path()).min().unwrap()
    }

    fn summary(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder().join("summary.json")).unwrap()).unwrap()
    }
}

fn contender(kind: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/study/server.rb").display().to_string();
    // The one that never has them is not waited for.
    let ready_s = if kind == "never" { 2 } else { 10 };
    let within_s = if kind == "alone" { 1 } else { 15 };
    let program = if kind == "absent" { "no-such-program" } else { "ruby" };
    let tables = format!(
        r#"
[count]
worker = '^study worker'
within_s = {within_s}
[cannot]
threads = "it has none"
reload = "it has none"
"#
    );
    let words = ["--disable-gems", &script, "{{ port }}", kind, "{{ workers }}"];
    recipe(kind, ready_s, &words, &tables).replace("programs = [\"ruby\"]", &format!("programs = [\"{program}\"]"))
}

/// A recipe of a server that Ruby runs with these words. The tables say how it is counted and what it cannot do.
fn recipe(name: &str, ready_s: u32, words: &[&str], tables: &str) -> String {
    let command = [&["ruby"][..], words].concat();
    format!(
        r#"
title = "{name}"
about = "Made for a test."
home = "https://example.com"
runtime = "cruby"
ready_s = {ready_s}
[needs]
programs = ["ruby"]
[get]
apt = ["the-package-of-{name}"]
[version]
command = ["ruby", "--version"]
pattern = 'ruby (\S+)'
[[process]]
name = "{name}"
command = {command:?}
{tables}
"#
    )
}

/// The program beside this test, if it has been built.
fn foolsgold() -> Option<PathBuf> {
    let named = std::env::var_os("FOOLSGOLD").map(PathBuf::from);
    let test = std::env::current_exe().ok()?;
    let built = test.ancestors().nth(2).map(|folder| folder.join("foolsgold"));
    named.or(built).filter(|path| path.is_file())
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

/// What a command printed, which must have succeeded.
#[track_caller]
fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    said(output)
}

/// Writes this shell script as a program. This process does not write it itself: a program that is open for writing, if
/// only in a child of another test, cannot be started.
fn write_program(file: &Path, script: &str) {
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\" && chmod +x \"$0\"";
    assert!(Command::new("sh").args(["-c", write]).arg(file).arg(script).status().unwrap().success());
}

/// Whether a process with this word in its command line is running.
fn is_running(word: &str) -> bool {
    let lines =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(word))
}

/// Waits for something that a running program does.
fn within(done: impl Fn() -> bool, child: &mut Child) {
    let mut has_ended = || child.try_wait().unwrap().is_some();
    assert!(until(TIMEOUT, || has_ended() || done()) && !has_ended(), "it takes too long, or has ended");
}
