//! Interruption or killing of the program during a run: its servers exit with it, even if they ignore signals, its
//! folders are removed, and it prints the command that resumes the run.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loadgen::process::until;

use super::{Home, recipe, within};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Two processes that ignore all signals but SIGKILL, and one that has left its session and parent.
const SERVER: &str = r#"
require "socket"
trap("TERM") {} unless ARGV[1] == "meek"
fork { Process.setsid; fork { $0 = "stray #{ARGV[2]}"; sleep } }
fork { trap("TERM") {} unless ARGV[1] == "meek"; sleep }
listener = TCPServer.new("127.0.0.1", ARGV[0].to_i)
loop do
  Thread.new(listener.accept) do |client|
    while client.gets
      nil until ["\r\n", nil].include?(client.gets)
      client.write "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    end
  end
end
"#;

const STUDY: &str = r#"
title = "Tiny"
question = "Until when?"
about = ["A study for a test."]
app = "tiny"
contenders = [{ recipe = "server", workers = 1, threads = 1 }]
full = { rounds = 1, seconds = 600, warm_up_s = 0, clients = 1 }
quick = { rounds = 1, seconds = 600, warm_up_s = 0, clients = 1 }
metrics = ["requests_per_s"]
[[case]]
name = "page"
title = "The page"
tool = "closed"
path = "/"
expect = { exactly = "ok" }
"#;

/// A run that would take ten minutes.
struct LongRun {
    home: Home,
    arena: Child,
    /// All processes that it has started, except its guard.
    family: BTreeSet<u32>,
}

impl LongRun {
    fn begin(manner: &str) -> LongRun {
        let home = home_with(manner);
        let mut command = home.arena(&["run", "tiny", "--must", "server"]);
        let arena = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut run = LongRun { home, arena, family: BTreeSet::new() };
        // The load has begun when the server computes; its stray process exists by then.
        let stray = format!("stray {}", run.home.name());
        let id = run.arena.id();
        within(|| is_titled(&stray) && !folders_of(id).is_empty(), &mut run.arena);
        let home = run.home.name();
        run.family = everybody().into_iter().filter(|id| title(*id).contains(&home)).collect();
        run.family.remove(&id);
        assert!(run.family.len() >= 3, "{:?}", run.family);
        run
    }

    fn tell(&self, signal: &str) {
        let id = self.arena.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
    }

    /// Waits until the program prints this.
    fn hears(&mut self, words: &str) {
        let (mut said, mut byte) = (Vec::new(), [0]);
        let stderr = self.arena.stderr.as_mut().unwrap();
        while !String::from_utf8_lossy(&said).contains(words) {
            assert!(stderr.read(&mut byte).unwrap() == 1, "{}", String::from_utf8_lossy(&said));
            said.push(byte[0]);
        }
    }

    /// Exit code and output.
    fn end(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.arena.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.arena.wait().unwrap().code(), said)
    }

    fn is_gone(&self) -> bool {
        let all = everybody();
        self.family.iter().all(|id| !all.contains(id)) && self.folders().is_empty()
    }

    /// Temporary folders of the program.
    fn folders(&self) -> Vec<PathBuf> {
        folders_of(self.arena.id())
    }
}

/// Temporary folders of the program with this process id.
fn folders_of(id: u32) -> Vec<PathBuf> {
    let mark = format!("/tmp/arena-{id}-");
    let all = fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.display().to_string().starts_with(&mark)).collect()
}

/// A folder like the one that comes with the program, with one server.
fn home_with(manner: &str) -> Home {
    let home = Home::with(&[]);
    fs::write(home.path("arena/studies/tiny.toml"), STUDY).unwrap();
    let script = home.path("server.rb").display().to_string();
    fs::write(&script, SERVER).unwrap();
    let tables = "[count]\nworker = 'server\\.rb'\nleaves = true\n[cannot]\nreload = \"no\"\n";
    let recipe = recipe("server", 60, &[&script, "{{ port }}", manner, &home.name()], tables);
    fs::write(home.path("arena/contenders/server.toml"), recipe).unwrap();
    home
}

/// The processes that are running.
fn everybody() -> BTreeSet<u32> {
    let ids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_running = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    ids.filter(is_running).collect()
}

/// Whether a process is running whose title begins with this.
fn is_titled(start: &str) -> bool {
    everybody().into_iter().any(|id| title(id).starts_with(start))
}

fn title(id: u32) -> String {
    let bytes = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

#[test]
fn servers_that_do_not_listen_end_with_a_run_that_is_told_to() {
    let mut run = LongRun::begin("stubborn");
    let since = Instant::now();
    run.tell("TERM");
    let (code, said) = run.end();
    assert_eq!(code, Some(143), "{said}");
    assert!(said.contains("SIGTERM: ending the servers") && said.contains("arena run --resume "), "{said}");
    assert!(said.contains(&format!(" --must server --home {}", run.home.name())), "{said}");
    assert!(run.is_gone() && since.elapsed() < Duration::from_secs(10), "{:?}", run.folders());
    assert!(!said.contains("disqualified") && !said.contains("Error"), "{said}");
    assert!(!run.home.folder().join("raw.jsonl").exists(), "what was cut is no sample");
}

#[test]
fn told_twice_it_waits_for_nobody() {
    let mut run = LongRun::begin("stubborn");
    run.tell("INT");
    run.hears("SIGINT: ending the servers; once more ends them at once");
    run.tell("INT");
    let (code, said) = run.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("SIGINT again: ending them at once"), "{said}");
    assert!(run.is_gone(), "{:?}", run.folders());
}

#[test]
fn a_closed_terminal_ends_it_too() {
    let mut run = LongRun::begin("meek");
    run.tell("HUP");
    let (code, said) = run.end();
    assert_eq!(code, Some(129), "{said}");
    assert!(run.is_gone(), "{:?}", run.folders());
}

#[test]
fn a_list_that_is_interrupted_speaks_of_no_servers_and_no_measurements() {
    let home = home_with("meek");
    let asked = format!("asked {}", home.name());
    let question = format!("[\"ruby\", \"--disable-gems\", \"-e\", \"$0 = '{asked}'; sleep\"]");
    home.change("arena/contenders/server.toml", "[\"ruby\", \"--version\"]", &question);
    let arena = home.arena(&["list"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(until(TIMEOUT, || is_titled(&asked)), "no program is asked for its version");
    assert!(Command::new("kill").args(["-INT", &arena.id().to_string()]).status().unwrap().success());
    let output = arena.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("SIGINT: ending the programs that were asked for their versions; once more"), "{said}");
    assert!(said.ends_with("arena: interrupted\n") && !said.contains("server"), "{said}");
}

#[test]
fn killed_it_leaves_nothing_behind_either() {
    let mut run = LongRun::begin("stubborn");
    run.tell("KILL");
    run.end();
    assert!(until(TIMEOUT, || run.is_gone()), "{:?} {:?}", run.family, run.folders());
}
