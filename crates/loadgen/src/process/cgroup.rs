//! Memory limit of a server's whole process tree, by a control group of either version.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::gate::note;
use super::ledger::{LedgerEntry, sweep};
use super::until;

const ROOT: &str = "/sys/fs/cgroup";

/// A control group with a memory limit. Dropping it removes the group; its processes must have ended by then.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
    /// Names of the files with its limits.
    bounds: [&'static str; 2],
}

/// Limit files of version 1: memory, and memory with swap.
const FIRST: [&str; 2] = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
/// Limit files of version 2: memory, and swap alone.
const SECOND: [&str; 2] = ["memory.max", "memory.swap.max"];

impl MemoryGroup {
    /// Creates a group with this limit. Swap keeps the system's default, so that the server may be swapped out.
    pub fn new(name: &str, bytes: u64) -> Result<MemoryGroup, String> {
        MemoryGroup::below(Path::new(ROOT), name, bytes)
    }

    fn below(root: &Path, name: &str, bytes: u64) -> Result<MemoryGroup, String> {
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
        if controllers.split_whitespace().any(|one| one == "memory") {
            write(&root.join("cgroup.subtree_control"), "+memory")?;
            return MemoryGroup::made(root.join(name), SECOND, bytes);
        }
        if root.join("memory").join(FIRST[0]).is_file() {
            return MemoryGroup::made(root.join("memory").join(name), FIRST, bytes);
        }
        Err(format!(
            "memory cannot be bounded here: below {} is no memory controller (in a container, give it one, or leave \
             memory_mib out of the study)",
            root.display()
        ))
    }

    fn made(folder: PathBuf, bounds: [&'static str; 2], bytes: u64) -> Result<MemoryGroup, String> {
        folder.parent().into_iter().for_each(sweep);
        fs::create_dir(&folder).map_err(|error| format!("{}: {error} (run as root)", folder.display()))?;
        note(&LedgerEntry::Made(folder.clone()));
        let group = MemoryGroup { folder, bounds };
        write(&group.folder.join(bounds[0]), &bytes.to_string())?;
        Ok(group)
    }

    /// The file into which a process writes its id to enter the group.
    pub fn entrance(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// The limits in words, for the record.
    pub fn in_words(&self) -> String {
        let read = |name| {
            fs::read_to_string(self.folder.join(name)).map_or_else(|_| "?".into(), |text| text.trim().to_owned())
        };
        self.bounds.map(|name| format!("{name} {}", read(name))).join(" and ")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The kernel needs a moment after the last process has ended.
        until(Duration::from_secs(2), || fs::remove_dir(&self.folder).is_ok() || !self.folder.exists());
        note(&LedgerEntry::Removed(self.folder.clone()));
    }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error} (run as root, outside of containers)", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_is_told_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = MemoryGroup::below(folder.path(), "x", 1).expect_err("no controllers there");
        assert!(error.contains("no memory controller"), "{error}");
    }

    #[test]
    fn a_group_has_its_bound_and_an_entrance() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("cgroup.controllers"), "cpu memory pids\n").expect("written");
        let group = MemoryGroup::below(folder.path(), "x", 1024).expect("a group");
        assert_eq!(fs::read_to_string(folder.path().join("x/memory.max")).expect("a bound"), "1024");
        assert!(group.in_words().starts_with("memory.max 1024") && group.entrance().ends_with("x/cgroup.procs"));
        // The files of a real group disappear with its folder.
        fs::remove_file(folder.path().join("x/memory.max")).expect("removed");
    }

    #[test]
    fn the_first_kind_will_do() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("memory")).expect("a controller");
        fs::write(folder.path().join("memory/memory.limit_in_bytes"), "9").expect("written");
        let group = MemoryGroup::below(folder.path(), "x", 1024).expect("a group");
        assert!(
            group.in_words().starts_with("memory.limit_in_bytes 1024") && group.entrance().ends_with("cgroup.procs")
        );
        fs::remove_file(folder.path().join("memory/x/memory.limit_in_bytes")).expect("removed");
    }
}
