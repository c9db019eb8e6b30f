//! Memory limits of control groups, version 1 and 2 (the kernel's documentation, "Memory Resource Controller" and
//! "Control Group v2"). A process is bounded by its own group and by all groups around it.

use std::fs;
use std::path::{Path, PathBuf};

/// A limit of version 1 from here on is none: the kernel writes "no limit" as 2^63 less a page.
const NO_BOUND: u64 = 1 << 60;

/// The version of the kernel's interface for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    First,
    Second,
}

/// A control group that may limit the memory of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) folder: PathBuf,
    kind: Kind,
}

impl Group {
    /// The limit in bytes, if there is one; in version 2 also the one above which the kernel throttles processes
    /// (`memory.high`).
    pub(crate) fn limit(&self) -> Option<u64> {
        let names: &[&str] = match self.kind {
            Kind::First => &["memory.limit_in_bytes"],
            Kind::Second => &["memory.max", "memory.high"],
        };
        names.iter().filter_map(|name| number(&self.folder.join(name))).filter(|bytes| *bytes < NO_BOUND).min()
    }

    /// The bytes in use, without what the kernel reclaims before it kills a process: the page cache, except for files
    /// that are mapped, such as running programs; and, in version 2, which reports it, the cache of the names and
    /// attributes of files (reclaimable slab).
    pub(crate) fn used(&self) -> Option<u64> {
        let (usage, files, mapped, slab) = match self.kind {
            Kind::First => {
                ("memory.usage_in_bytes", ["total_inactive_file", "total_active_file"], "total_mapped_file", None)
            }
            Kind::Second => {
                ("memory.current", ["inactive_file", "active_file"], "file_mapped", Some("slab_reclaimable"))
            }
        };
        let used = number(&self.folder.join(usage))?;
        // Read once: the kernel computes its sums for each reading.
        let stat = fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let bytes = |name: &str| count_in(&stat, name).unwrap_or(0);
        let cached = files.map(bytes).iter().sum::<u64>().saturating_sub(bytes(mapped));
        Some(used.saturating_sub(cached + slab.map_or(0, bytes)))
    }

    /// The number of the group's processes that the kernel has killed for want of memory.
    pub(crate) fn kills(&self) -> Option<u64> {
        let file = match self.kind {
            Kind::First => "memory.oom_control",
            Kind::Second => "memory.events",
        };
        count(&self.folder.join(file), "oom_kill")
    }

    /// The file with the pressure stall information of the group; only version 2 has it.
    pub(crate) fn pressure(&self) -> PathBuf {
        self.folder.join("memory.pressure")
    }
}

/// The number after `name`, in a file with one name and number per line.
pub(crate) fn count(file: &Path, name: &str) -> Option<u64> {
    count_in(&fs::read_to_string(file).ok()?, name)
}

/// The number after `name`, in a text with one name and number per line.
fn count_in(text: &str, name: &str) -> Option<u64> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The groups that may limit the memory of this process, innermost first. `root` is `/` except in tests.
pub(crate) fn find(root: &Path) -> Vec<Group> {
    let read = |name: &str| fs::read_to_string(root.join("proc/self").join(name)).unwrap_or_default();
    let (groups, mounts) = (read("cgroup"), read("mountinfo"));
    let mut found = Vec::new();
    for mount in mounts.lines().filter_map(Mount::read) {
        let Some(path) = groups.lines().find_map(|line| path_in(line, mount.kind)) else { continue };
        let top = root.join(mount.place.trim_start_matches('/'));
        // In a container the path may be the one on the host, or lead out of what is mounted.
        let below = path.strip_prefix(mount.root).unwrap_or("").trim_start_matches('/');
        let below = if below.starts_with("..") { "" } else { below };
        let folder = top.join(below);
        let folders = folder.ancestors().take_while(|folder| folder.starts_with(&top));
        found.extend(folders.map(|folder| Group { folder: folder.to_owned(), kind: mount.kind }));
    }
    found
}

/// The path of this process's group, if the line of `/proc/self/cgroup` (`4:memory:/shop`, `0::/shop`) is about the
/// memory controller of this version.
fn path_in(line: &str, kind: Kind) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let is_it = match kind {
        Kind::First => controllers.split(',').any(|one| one == "memory"),
        Kind::Second => number == "0" && controllers.is_empty(),
    };
    is_it.then_some(path)
}

/// A line of `/proc/self/mountinfo` that mounts a group hierarchy with the memory controller (proc(5)).
struct Mount<'a> {
    kind: Kind,
    /// Path of the mounted group within the hierarchy.
    root: &'a str,
    /// Path of the mount point.
    place: &'a str,
}

impl Mount<'_> {
    fn read(line: &str) -> Option<Mount<'_>> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, place) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let (system, options) = (right.next()?, right.nth(1).unwrap_or_default());
        let kind = match system {
            "cgroup2" => Kind::Second,
            "cgroup" if options.split(',').any(|one| one == "memory") => Kind::First,
            _ => return None,
        };
        Some(Mount { kind, root: root.trim_end_matches('/'), place })
    }
}
