//! A log that cannot be written: who is told, what is counted, and what is said when it can be written again.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::server::KillOnDrop;
use crate::support::successor::signal;
use crate::support::{Client, Folder, MAX_WAIT, Server, app, server, within};
use rustix::process::Signal;
use serde_json::Value;

const NO_SPACE: &str = "No space left on device";

/// A server whose log is on a full disk, by its control socket.
struct Mute {
    child: KillOnDrop,
    folder: Folder,
}

impl Mute {
    fn start(options: &[&str], stdout: Stdio) -> Mute {
        let mute = Mute::begin(options, stdout);
        assert!(within(MAX_WAIT, || mute.log()["why"] != Value::Null), "{}", mute.errors());
        mute
    }

    fn begin(options: &[&str], stdout: Stdio) -> Mute {
        let folder = server::folder_with(&[("config.ru", &app("", "1"))]);
        symlink("/dev/full", folder.join("full")).unwrap();
        let mut command = server::command();
        command.current_dir(&folder).args(["-b", "unix://web.sock", "--control", "c.sock", "-t", "1"]).args(options);
        let errors = fs::File::create(folder.join("errors")).unwrap();
        Mute { child: KillOnDrop(command.stdout(stdout).stderr(errors).spawn().unwrap()), folder }
    }

    fn said(&self, words: &[&str]) -> String {
        let mut command = server::command();
        let output = command.current_dir(&self.folder).args(words).args(["--control", "c.sock"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What `status` says of the only file.
    fn log(&self) -> Value {
        let status: Value = serde_json::from_str(&self.said(&["status", "--json"])).unwrap_or_default();
        if status["server"]["state"] == "serving" { status["server"]["log"]["files"][0].clone() } else { Value::Null }
    }

    fn metrics(&self) -> String {
        Client::unix(&self.folder.join("c.sock")).get("/metrics").text()
    }

    fn errors(&self) -> String {
        read(&self.folder.join("errors"))
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// As a log driver that blocks does, or `tee` on a file system that hangs.
#[test]
fn a_reader_that_has_stopped_keeps_neither_the_status_nor_the_end_waiting() {
    let mut server = Mute::begin(&[], Stdio::piped());
    let mut client = Client::unix(&server.folder.join("web.sock"));
    // More than a pipe holds, which is 64 KiB.
    let path = format!("/{}", "x".repeat(500));
    (0..500).for_each(|_| assert_eq!(client.get(&path).status, 200));
    let is_told = || server.log()["why"].as_str().is_some_and(|why| why.contains("its reader takes nothing"));
    assert!(within(MAX_WAIT, is_told), "{}", server.errors());
    assert!(server.metrics().contains("foolsgold_"), "{}", server.errors());
    let begun = Instant::now();
    signal(server.child.0.id(), Signal::TERM);
    assert!(within(MAX_WAIT, || server.child.0.try_wait().unwrap().is_some()), "{}", server.errors());
    // Five seconds from when it has stopped, for the lines of requests and all others together.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[test]
fn a_reader_that_goes_on_is_told_how_many_lines_there_was_no_room_for() {
    const REQUESTS: usize = 3_000;
    let mut server = Mute::begin(&[], Stdio::piped());
    let mut client = Client::unix(&server.folder.join("web.sock"));
    // Together more than the four megabytes that may wait.
    let path = format!("/{}", "x".repeat(2_000));
    (0..REQUESTS).for_each(|_| assert_eq!(client.get(&path).status, 200));
    signal(server.child.0.id(), Signal::TERM);
    let mut log = String::new();
    server.child.0.stdout.take().unwrap().read_to_string(&mut log).unwrap();
    let lost = REQUESTS - log.matches(" GET /x").count();
    let words = format!(" {lost} lines of the access log were lost: its reader is too slow\n");
    assert!(lost > 0 && log.contains(&words), "{lost} of {} bytes\n{}", log.len(), server.errors());
}

#[test]
fn a_full_disk_is_told_while_it_lasts_and_counted() {
    let server = Mute::start(&["--log-file", "full"], Stdio::null());
    assert!(within(MAX_WAIT, || server.log()["lost_lines"].as_u64() > Some(2)), "{}", server.log());
    let log = server.log();
    assert!(log["why"].as_str().unwrap().starts_with(NO_SPACE) && log["failing_since_ms"].is_u64(), "{log}");
    let text = server.said(&["status"]);
    assert!(text.contains("log: CANNOT BE WRITTEN") && text.contains(NO_SPACE), "{text}");
    let metrics = server.metrics();
    assert!(metrics.contains("\nfoolsgold_log_failing 1"), "{metrics}");
    let errors = server.errors();
    assert_eq!(errors.matches("the log cannot be written to").count(), 1, "{errors}");

    // There is room again.
    let path = server.folder.join("full");
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    let said = server.said(&["reopen-logs"]);
    assert!(said.starts_with("opened anew: ") && said.contains("it could not be written so far"), "{said}");
    let is_logged = || read(&path).contains(" WARN server: the log could not be written for ");
    assert!(within(MAX_WAIT, is_logged), "{}", read(&path));
    assert!(server.log()["why"].is_null() && server.log()["lost_lines"].as_u64() > Some(2));
    assert!(server.metrics().contains("\nfoolsgold_log_failing 0"));
    let said = server.said(&["reopen-logs"]);
    assert!(said.ends_with("was not moved away, and goes on\n"), "{said}");
}

#[test]
fn standard_output_that_cannot_be_written_is_told_too() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let server = Mute::start(&[], full.into());
    assert_eq!(server.log()["file"], "standard output");
    let errors = server.errors();
    assert_eq!(errors.matches("the log cannot be written to standard output: No space").count(), 1, "{errors}");
}

/// On a full disk the output would otherwise be cut off without an error. `head`, which ends early, causes none.
#[test]
fn a_command_whose_words_cannot_be_written_fails() {
    let server = Server::start(&app("", "1"), &["-t", "1"]);
    let folder = &server.folder;
    for words in [&["--version"][..], &["options", "--markdown"], &["status", "--help"], &["status", "--watch"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = server::command().current_dir(folder).args(words).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let line = format!("standard output cannot be written: {NO_SPACE}");
        assert!(output.status.code() == Some(1) && said.contains(&line), "{words:?}: {said}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = server::command().current_dir(folder).args(words).stdout(writer).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}
