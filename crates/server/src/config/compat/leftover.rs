//! Processes that a configuration's code has started and that still run, although only its settings were wanted.

use std::fs;
use std::path::Path;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{getpid, set_child_subreaper};

/// The longest wait for the command line of a process that is becoming another program.
const EXEC_TIME: Duration = Duration::from_millis(200);
/// The interval of checks of it.
const LOOK: Duration = Duration::from_millis(1);

/// A process that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverProcess {
    pub pid: u32,
    /// Its command line.
    pub command: String,
}

/// Makes orphans of child processes children of this one, so that they are found.
pub fn adopt() {
    // If it fails, daemons are not found; nothing else can be done.
    let _ = set_child_subreaper(Some(getpid()));
}

/// All children of this process that have not exited.
pub fn children() -> Vec<LeftoverProcess> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found: Vec<LeftoverProcess> = entries.filter_map(|entry| child(&entry.path())).collect();
    found.sort_by_key(|left| left.pid);
    found
}

fn child(folder: &Path) -> Option<LeftoverProcess> {
    let pid: u32 = folder.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name, in parentheses, may contain spaces.
    let mut words = stat.rsplit_once(") ")?.1.split(' ');
    let (state, parent) = (words.next()?, words.next()?.parse::<u32>().ok()?);
    if parent != process::id() || matches!(state, "Z" | "X") {
        return None;
    }
    // Empty while a process is between two programs (execve(2)).
    let mut command = Vec::new();
    let end = Instant::now() + EXEC_TIME;
    while command.is_empty() && Instant::now() < end {
        command = fs::read(folder.join("cmdline")).ok()?;
        if command.is_empty() {
            thread::park_timeout(LOOK);
        }
    }
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    let command: String = command.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect();
    Some(LeftoverProcess { pid, command })
}

/// A sentence about them.
pub fn in_words(left: &[LeftoverProcess]) -> String {
    let shown: Vec<String> = left.iter().map(|LeftoverProcess { pid, command }| format!("{pid} ({command})")).collect();
    let pids: Vec<String> = left.iter().map(|left| left.pid.to_string()).collect();
    let what = if left.len() == 1 { "a process that still runs" } else { "processes that still run" };
    format!("its code has started {what}: {}; `kill {}` ends what is not wanted", shown.join(", "), pids.join(" "))
}
