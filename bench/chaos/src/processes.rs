//! The processes of a server under test, as /proc shows them, zombies and orphans included: each is recognised by its
//! session, its ancestors, a variable in its environment, or an open file in the scenario's folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{self, ExitStatus};

use loadgen::process::signal_one;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitOptions, set_child_subreaper, waitpid};

/// Variable that all processes of a scenario inherit: its folder, whose name is unique.
pub const MARK: &str = "CHAOS_FOLDER";

/// Exit statuses of orphans that were reaped, by process id.
static ENDS: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());

/// A process, as /proc shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Process id.
    pub id: u32,
    /// Process id of its parent.
    pub parent: u32,
    /// Process id of its session's leader.
    session: u32,
    /// `Z`: it has exited and was not reaped.
    pub is_zombie: bool,
    /// Command line, or name if it has none any more.
    pub title: String,
}

/// Marks by which the processes are recognised.
#[derive(Debug, Clone)]
pub struct Marks<'a> {
    /// Leaders of sessions.
    pub roots: Vec<u32>,
    /// Folder of their output, and value of [`MARK`].
    pub folder: &'a Path,
}

impl ProcessInfo {
    /// Description for messages.
    pub fn in_words(&self) -> String {
        let zombie = if self.is_zombie { " (ended, not buried)" } else { "" };
        format!("{} {:?}{zombie}", self.id, self.title)
    }
}

/// Makes orphans children of this process from now on, as they would be of init.
pub fn adopt_orphans() -> Result<(), String> {
    set_child_subreaper(Pid::from_raw(1)).map_err(|error| format!("orphans cannot be seen: {error}"))
}

/// The processes of these sessions: a quick search.
pub fn of_session(roots: &[u32]) -> Vec<ProcessInfo> {
    reap_orphans(all_processes(), roots).into_iter().filter(|one| roots.contains(&one.session)).collect()
}

/// All processes that can be recognised: a thorough search.
pub fn all(marks: &Marks) -> Vec<ProcessInfo> {
    let everybody = reap_orphans(all_processes(), &marks.roots);
    let mine = process::id();
    let marked = |one: &ProcessInfo| one.id != mine && (marks.roots.contains(&one.session) || is_marked(one.id, marks));
    let mut ours: BTreeSet<u32> = everybody.iter().filter(|one| marked(one)).map(|one| one.id).collect();
    loop {
        let children = everybody.iter().filter(|one| ours.contains(&one.parent)).map(|one| one.id);
        let before = ours.len();
        let children: Vec<u32> = children.collect();
        ours.extend(children);
        if ours.len() == before {
            return everybody.into_iter().filter(|one| ours.contains(&one.id)).collect();
        }
    }
}

/// Sends a signal. Returns whether the process existed.
pub fn signal(id: u32, signal: Signal) -> bool {
    signal_one(id, signal).is_ok()
}

/// Reaps orphans that have exited, as init would. The servers themselves are excluded: [`std`] waits for them.
fn reap_orphans(all: Vec<ProcessInfo>, roots: &[u32]) -> Vec<ProcessInfo> {
    let is_orphan = |one: &ProcessInfo| {
        one.is_zombie && one.parent == process::id() && roots.contains(&one.session) && !roots.contains(&one.id)
    };
    let (dead, rest) = all.into_iter().partition::<Vec<ProcessInfo>, _>(is_orphan);
    for one in dead {
        let id = i32::try_from(one.id).ok().and_then(Pid::from_raw);
        if let Ok(Some((_, status))) = waitpid(id, WaitOptions::NOHANG) {
            ENDS.lock().insert(one.id, ExitStatus::from_raw(status.as_raw()).to_string());
        }
    }
    rest
}

/// Exit status of an orphan that was reaped.
pub fn end_of(id: u32) -> Option<String> {
    ENDS.lock().get(&id).cloned()
}

fn is_marked(id: u32, marks: &Marks) -> bool {
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let setting = format!("{MARK}={}", marks.folder.display());
    if environment.split(|byte| *byte == 0).any(|one| one == setting.as_bytes()) {
        return true;
    }
    // A process title overwrites the environment; open files stay.
    let files = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
    let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.starts_with(marks.folder))
}

fn all_processes() -> Vec<ProcessInfo> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The process with this id, unless it is gone.
fn read(id: u32) -> Option<ProcessInfo> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (name, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let state = *fields.first()?;
    let bytes = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned();
    let name = name.split_once('(').map_or("", |(_, name)| name).to_owned();
    Some(ProcessInfo {
        id,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        is_zombie: matches!(state, "Z" | "X"),
        title: if line.is_empty() { name } else { line },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_by_its_mark_and_a_dead_one_is_a_zombie() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = process::Command::new("sleep");
        let mut child = child.arg("60").env(MARK, folder.path()).spawn().expect("started");
        let marks = Marks { roots: Vec::new(), folder: folder.path() };
        let found = || all(&marks).into_iter().find(|one| one.id == child.id());
        assert!(loadgen::process::until(std::time::Duration::from_secs(10), || found().is_some()));
        assert!(!found().expect("there").is_zombie);
        signal(child.id(), Signal::KILL);
        let id = child.id();
        assert!(
            loadgen::process::until(std::time::Duration::from_secs(10), || read(id).is_some_and(|one| one.is_zombie))
        );
        child.wait().expect("ended");
        assert_eq!(read(id), None);
    }
}
