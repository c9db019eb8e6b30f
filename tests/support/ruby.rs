//! What tests of the Ruby engine need beside: which Ruby, the shared part of the test applications, the processes of a
//! server, and what its application has noted.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::successor::signal;
use super::{Folder, MAX_WAIT, Reply, Server, server, within};

const COMMON: &str = include_str!("../apps/ruby/common.rb");

/// The Ruby that runs the applications: `FOOLS_GOLD_TEST_RUBY`, or the one on PATH.
pub fn program() -> String {
    std::env::var("FOOLS_GOLD_TEST_RUBY").unwrap_or_else(|_| "ruby".to_owned())
}

/// How its workers read requests: `FOOLS_GOLD_TEST_RUBY_WORKER`, or as the program decides.
fn worker() -> String {
    std::env::var("FOOLS_GOLD_TEST_RUBY_WORKER").unwrap_or_else(|_| "auto".to_owned())
}

/// The native worker for this Ruby, and the folder of caches (XDG_CACHE_HOME) that it is in: that of the user who runs
/// the tests, where bin/setup builds it. So it is not compiled by each test that needs one.
pub fn native() -> (PathBuf, String) {
    let cache = std::env::var("XDG_CACHE_HOME").ok().filter(|folder| folder.starts_with('/'));
    let cache = cache.unwrap_or_else(|| format!("{}/.cache", std::env::var("HOME").unwrap()));
    (build_native(&cache), cache)
}

/// Builds the native worker into this folder of caches, unless it is there; its path.
#[track_caller]
pub fn build_native(cache: &str) -> PathBuf {
    let mut command = server::command();
    let output = command.args(["native", "--ruby", &program()]).env("XDG_CACHE_HOME", cache).output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}\nbin/setup brings the headers of Ruby");
    let path = said.split_whitespace().rfind(|word| word.ends_with(".so")).unwrap_or_else(|| panic!("{said}"));
    PathBuf::from(path)
}

/// A folder with these files and the shared part of the applications.
pub fn folder(files: &[(&str, &str)]) -> Folder {
    server::folder_with(&[files, &[("common.rb", COMMON)]].concat())
}

/// Serves an application on its own Ruby.
pub fn serve(app: &str, options: &[&str]) -> Server {
    serve_files(&[("config.ru", app)], &[], options)
}

/// The same with more files and with variables.
pub fn serve_files(files: &[(&str, &str)], env: &[(&str, &str)], options: &[&str]) -> Server {
    serve_by(&[], folder(files), env, options)
}

/// Serves a folder in the same way, by a program that becomes ours.
pub fn serve_by(by: &[&str], folder: Folder, env: &[(&str, &str)], options: &[&str]) -> Server {
    let (program, worker) = (program(), worker());
    let own = ["-b", "tcp://127.0.0.1:0", "--engine", "ruby", "--ruby", &program, "--ruby-worker", &worker];
    Server::spawn_by(by, folder, env, &[&own[..], options].concat())
}

/// Serves a folder with another server's configuration file.
pub fn serve_with(file: &str, folder: Folder, options: &[&str]) -> Server {
    Server::spawn(folder, &[], &[&["--ruby", &program(), "-C", file], options].concat())
}

/// Runs the program where it is to end by itself; its exit code, and what it has said on standard error.
pub fn run(folder: &Path, options: &[&str]) -> (Option<i32>, String) {
    server::stderr_of(folder, &[], &[&["-b", "tcp://127.0.0.1:0"], options].concat())
}

/// What the application has noted, line by line.
pub fn notes(server: &Server) -> Vec<String> {
    let text = fs::read_to_string(server.folder.join("notes")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// How often this is among the notes.
pub fn count(server: &Server, note: &str) -> usize {
    notes(server).iter().filter(|line| *line == note).count()
}

/// The user that a process belongs to.
pub fn user(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("Uid:\t")?.split('\t').next()).unwrap().parse().unwrap()
}

/// Number of files that a process has open.
pub fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Waits until this is among the notes.
#[track_caller]
pub fn wait_for_note(server: &Server, note: &str) {
    let found = within(MAX_WAIT, || notes(server).iter().any(|line| line == note));
    assert!(found, "{note:?} is not in {:?}\n{}", notes(server), server.log());
}

/// Makes the file that an application waits for.
pub fn let_go(server: &Server, name: &str) {
    fs::write(server.folder.join(name), "").unwrap();
}

/// Lint had nothing to say, and nobody broke the protocol.
#[track_caller]
pub fn assert_clean(server: &Server) {
    let (log, notes) = (server.log(), notes(server));
    let is_clean = !notes.iter().any(|note| note.starts_with("lint")) && !log.contains("LintError");
    assert!(is_clean && !log.contains("protocol"), "{notes:?}\n{log}");
}

/// A response with this status.
#[track_caller]
pub fn expect(server: &Server, reply: Reply, status: u16) -> Reply {
    assert_eq!(reply.status, status, "{}\n{}", reply.text(), server.log());
    reply
}

/// All processes below this one: the mold first, then workers. The dead that nobody has reaped are none.
pub fn processes(of: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut level = vec![of];
    let all: Vec<(u32, u32)> = fs::read_dir("/proc").unwrap().filter_map(|entry| parent(&entry.ok()?.path())).collect();
    while !level.is_empty() {
        level = all.iter().filter(|(_, parent)| level.contains(parent)).map(|(pid, _)| *pid).collect();
        found.extend(&level);
    }
    found
}

/// Whether this process still runs: of one that was killed the first thread may be dead while others still hold its
/// sockets.
pub fn is_alive(pid: u32) -> bool {
    let proc = Path::new("/proc").join(pid.to_string());
    parent(&proc).is_some() || fs::read_dir(proc.join("task")).is_ok_and(|threads| threads.count() > 1)
}

/// Stops a process (SIGSTOP), and waits until each of its threads stands: on a busy machine one may still run for a
/// while after the signal was sent.
#[track_caller]
pub fn stop(pid: u32) {
    signal(pid, Signal::STOP);
    let stands = |thread: &Path| {
        let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 't']))
    };
    let stand = || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        threads.flatten().all(|thread| stands(&thread.path()))
    };
    assert!(within(MAX_WAIT, stand), "process {pid} is not stopped");
}

/// A process and its parent.
fn parent(proc: &Path) -> Option<(u32, u32)> {
    let pid = proc.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read_to_string(proc.join("stat")).ok()?;
    // The name, in parentheses, may have spaces in it.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    let state = words.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    Some((pid, words.next()?.parse().ok()?))
}

/// The mold.
#[track_caller]
pub fn mold(server: &Server) -> u32 {
    processes(server.id())[0]
}

/// The workers that run now.
pub fn workers(server: &Server) -> Vec<u32> {
    processes(server.id()).into_iter().skip(1).collect()
}

/// Waits until this number of workers is ready.
#[track_caller]
pub fn expect_ready(server: &Server, count: usize) {
    let ready = || {
        let status = server.status();
        let workers = status["apps"][0]["workers"].as_array().unwrap();
        workers.iter().filter(|worker| worker["state"] == "ready").count()
    };
    assert!(within(MAX_WAIT, || ready() == count), "{} of {count} are ready\n{}", ready(), server.log());
}

/// Waits until there is this number of workers.
#[track_caller]
pub fn expect_workers(server: &Server, count: usize) {
    let found = within(MAX_WAIT, || workers(server).len() == count);
    assert!(found, "{:?} instead of {count}\n{}", workers(server), server.log());
}

/// The title of a process, as `ps` shows it.
pub fn title(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned()
}

/// The proportional share of memory of a process, in KiB.
pub fn pss_kib(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
    line.split_whitespace().nth(1).map_or(0, |kib| kib.parse().unwrap())
}
