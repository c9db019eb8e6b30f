//! `foolsgold doctor` with applications that do not end, print without end or lack very much: it ends, and says so.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a panic is how a test says no")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What it does of a config.ru within this time, and how long it took.
fn doctor(folder: &Path, words: &[&str], limit: Duration) -> (Output, Duration) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foolsgold"));
    command.args(words).current_dir(folder).env_remove("BUNDLE_GEMFILE");
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = rustix::process::Pid::from_child(&child);
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (out, err) = (thread::spawn(|| io_all(out)), thread::spawn(|| io_all(err)));
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > limit {
            rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
            child.wait().unwrap();
            panic!("{words:?} did not end within {limit:?}");
        }
        thread::park_timeout(Duration::from_millis(20));
    };
    let took = began.elapsed();
    (Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }, took)
}

fn io_all(mut from: impl std::io::Read) -> Vec<u8> {
    let mut all = Vec::new();
    from.read_to_end(&mut all).unwrap();
    all
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_pipe_is_no_application_for_the_doctor_nor_for_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("mkfifo").arg(folder.path().join("config.ru")).status().unwrap();
    assert!(made.success());
    for words in [&["doctor"][..], &["doctor", "config.ru", "--json"], &["config.ru", "-p", "0"]] {
        let (output, _) = doctor(folder.path(), words, Duration::from_secs(20));
        let said = text(&output.stderr);
        assert!(said.contains("config.ru: is not a file") && output.status.code() == Some(1), "{words:?}: {said}");
        assert!(output.stdout.is_empty());
    }
}
