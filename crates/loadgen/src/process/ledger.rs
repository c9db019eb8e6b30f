//! The ledger: processes and folders that this program has created and that still exist, so that they can be removed
//! when it is interrupted, and by its guard if it was killed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use rustix::process::Signal;

use super::tree::{self, Tree};
use super::until;

/// Environment variable with the id of this program, by which processes of a run are found, wherever they are.
pub const RUN: &str = "ARENA_RUN";

/// Time for the kernel to end processes that were killed.
pub(super) const KILLING: Duration = Duration::from_secs(5);

/// Processes and folders of one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Process id of the program.
    pub(super) owner: u32,
    /// Process id of its guard, which outlives it.
    pub(super) guard: Option<u32>,
    processes: BTreeSet<u32>,
    folders: BTreeSet<PathBuf>,
}

/// A change of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerEntry {
    /// A process was started.
    Started(u32),
    /// A process has ended.
    Ended(u32),
    /// A folder was created.
    Made(PathBuf),
    /// A folder was removed.
    Removed(PathBuf),
}

impl Ledger {
    /// An empty ledger.
    pub(super) const fn of(owner: u32) -> Ledger {
        Ledger { owner, guard: None, processes: BTreeSet::new(), folders: BTreeSet::new() }
    }

    pub(super) fn change(&mut self, entry: &LedgerEntry) {
        match entry {
            LedgerEntry::Started(id) => drop(self.processes.insert(*id)),
            LedgerEntry::Ended(id) => drop(self.processes.remove(id)),
            LedgerEntry::Made(folder) => drop(self.folders.insert(folder.clone())),
            LedgerEntry::Removed(folder) => drop(self.folders.remove(folder)),
        }
    }

    /// Ends all processes and removes all folders.
    pub(super) fn end(&self, patience: Duration, is_hurried: &dyn Fn() -> bool) {
        let tell = |signal| {
            let all = self.running();
            // A process that ends at this moment needs no signal.
            all.iter().for_each(|id| drop(tree::signal_one(*id, signal)));
            all.is_empty()
        };
        if !tell(Signal::TERM) {
            until(patience, || is_hurried() || self.running().is_empty());
            until(KILLING, || tell(Signal::KILL));
        }
        for folder in &self.folders {
            until(KILLING, || remove(folder));
        }
    }

    /// The processes that were started, and all their descendants: also those that have left their session and parent,
    /// as long as they keep the environment variable.
    fn running(&self) -> BTreeSet<u32> {
        let marked = tree::with_environment(&format!("{RUN}={}", self.owner));
        let spared = [Some(self.owner), Some(std::process::id()), self.guard];
        let mut roots = tree::children(self.owner);
        roots.extend(marked.into_iter().map(|member| member.id));
        roots.extend(&self.processes);
        roots.retain(|id| !spared.contains(&Some(*id)));
        let members = Tree { roots, ..Tree::default() }.members();
        members.into_iter().map(|member| member.id).filter(|id| !spared.contains(&Some(*id))).collect()
    }
}

/// Whether the folder is gone. A control group is a folder that must be removed while its files are in it.
fn remove(folder: &Path) -> bool {
    fs::remove_dir(folder).or_else(|_| fs::remove_dir_all(folder)).is_ok() || !folder.exists()
}

/// Removes folders here of programs that were killed together with their guards.
pub fn sweep(parent: &Path) {
    let Ok(rule) = Regex::new("^arena-(?:load-)?([0-9]+)-[0-9]+$") else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = rule.captures(&name).and_then(|groups| Some(groups.get(1)?.as_str().to_owned()));
        if owner.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_swept_and_no_others() {
        let parent = tempfile::tempdir().expect("a folder");
        let mine = std::process::id();
        let names =
            ["arena-4194305-1", "arena-load-4194305-0", &format!("arena-{mine}-1"), "arena-x-1", "arena-4194305"];
        for name in names {
            fs::create_dir_all(parent.path().join(name).join("inside")).expect("made");
        }
        sweep(parent.path());
        let is_there = names.map(|name| parent.path().join(name).exists());
        assert_eq!(is_there, [false, false, true, true, true]);
    }

    #[test]
    fn what_was_started_and_made_is_ended_and_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("full");
        fs::create_dir_all(folder.join("inside")).expect("made");
        // It ignores every signal but SIGKILL, as does its child.
        let mut command = std::process::Command::new("setsid");
        command.args(["sh", "-c", "trap '' TERM; sh -c \"trap '' TERM; while :; do sleep 9; done\"; :"]);
        let mut child = command.spawn().expect("started");
        let mut ledger = Ledger::of(u32::MAX);
        ledger.change(&LedgerEntry::Started(child.id()));
        ledger.change(&LedgerEntry::Made(folder.clone()));
        assert!(until(KILLING, || ledger.running().len() >= 2), "{:?}", ledger.running());
        ledger.end(Duration::from_secs(60), &|| true);
        assert!(ledger.running().is_empty() && !folder.exists());
        child.wait().expect("its end");
    }
}
