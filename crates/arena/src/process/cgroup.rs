//! A bound on the memory of a server's whole tree of processes, by a control group of the kernel's second kind (cgroup
//! v2).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::until;

const ROOT: &str = "/sys/fs/cgroup";

/// A group that is removed with this value; its processes have ended by then.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
}

impl MemoryGroup {
    /// Makes one with this bound. Swap is left as the system has it, so that a bounded server may be swapped out.
    pub fn new(name: &str, bytes: u64) -> Result<MemoryGroup, String> {
        MemoryGroup::below(Path::new(ROOT), name, bytes)
    }

    fn below(root: &Path, name: &str, bytes: u64) -> Result<MemoryGroup, String> {
        let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
        if !controllers.split_whitespace().any(|one| one == "memory") {
            return Err(format!(
                "memory cannot be bounded here: {} is no cgroup v2 with a memory controller \
                 (boot with systemd.unified_cgroup_hierarchy=1, or measure without a bound)",
                root.display()
            ));
        }
        write(&root.join("cgroup.subtree_control"), "+memory")?;
        let folder = root.join(name);
        fs::create_dir(&folder).map_err(|error| format!("{}: {error} (run as root)", folder.display()))?;
        let group = MemoryGroup { folder };
        write(&group.folder.join("memory.max"), &bytes.to_string())?;
        Ok(group)
    }

    /// The file into which a process writes its id to be in it.
    pub fn entrance(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }

    /// Its bounds, for the record.
    pub fn in_words(&self) -> String {
        let read = |name| {
            fs::read_to_string(self.folder.join(name)).map_or_else(|_| "?".into(), |text| text.trim().to_owned())
        };
        format!("memory.max {} and memory.swap.max {}", read("memory.max"), read("memory.swap.max"))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The kernel needs a moment after the last process to let go of it.
        until(Duration::from_secs(2), || fs::remove_dir(&self.folder).is_ok() || !self.folder.exists());
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
        assert!(error.contains("no cgroup v2"), "{error}");
    }

    #[test]
    fn a_group_has_its_bound_and_an_entrance() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("cgroup.controllers"), "cpu memory pids\n").expect("written");
        let group = MemoryGroup::below(folder.path(), "x", 1024).expect("a group");
        assert_eq!(fs::read_to_string(folder.path().join("x/memory.max")).expect("a bound"), "1024");
        assert!(group.in_words().starts_with("memory.max 1024") && group.entrance().ends_with("x/cgroup.procs"));
        // A real group's files go with its folder.
        fs::remove_file(folder.path().join("x/memory.max")).expect("removed");
    }
}
