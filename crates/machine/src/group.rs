//! Control groups of both kinds (the kernel's documentation, "Control Group v2" and "Memory Resource Controller"), and
//! what they say of memory. A process is bounded by its own group and by all those around it.

use std::fs;
use std::path::{Path, PathBuf};

/// A bound of the first kind above this is none: the kernel's way to write "no limit" is 2^63 less a page.
const NO_BOUND: u64 = 1 << 60;

/// Which of the two interfaces of the kernel a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    First,
    Second,
}

/// A group that may bound the memory of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) folder: PathBuf,
    kind: Kind,
}

impl Group {
    /// The bound in bytes, if there is one: of the second kind also the one above which the kernel slows processes down
    /// (`memory.high`).
    pub(crate) fn limit(&self) -> Option<u64> {
        let names: &[&str] = match self.kind {
            Kind::First => &["memory.limit_in_bytes"],
            Kind::Second => &["memory.max", "memory.high"],
        };
        names.iter().filter_map(|name| number(&self.folder.join(name))).filter(|bytes| *bytes < NO_BOUND).min()
    }

    /// The bytes that are used, without what the kernel takes back before it kills anybody: pages of files that were
    /// read, but for those that are mapped, such as programs that run.
    pub(crate) fn used(&self) -> Option<u64> {
        let (usage, files, mapped) = match self.kind {
            Kind::First => ("memory.usage_in_bytes", ["total_inactive_file", "total_active_file"], "total_mapped_file"),
            Kind::Second => ("memory.current", ["inactive_file", "active_file"], "file_mapped"),
        };
        let used = number(&self.folder.join(usage))?;
        let stat = self.folder.join("memory.stat");
        let bytes = |name: &str| count(&stat, name).unwrap_or(0);
        let spare = files.map(bytes).iter().sum::<u64>().saturating_sub(bytes(mapped));
        Some(used.saturating_sub(spare))
    }

    /// How many of its processes the kernel has killed because memory was full.
    pub(crate) fn kills(&self) -> Option<u64> {
        let file = match self.kind {
            Kind::First => "memory.oom_control",
            Kind::Second => "memory.events",
        };
        count(&self.folder.join(file), "oom_kill")
    }

    /// The file that says for how much of the time processes of the group wait for memory; only the second kind has it.
    pub(crate) fn pressure(&self) -> PathBuf {
        self.folder.join("memory.pressure")
    }
}

/// The number behind a name, in a file with a name and a number in each line.
pub(crate) fn count(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The groups around this process that may bound its memory, the innermost first, below another root than `/` in tests.
pub(crate) fn find(root: &Path) -> Vec<Group> {
    let read = |name: &str| fs::read_to_string(root.join("proc/self").join(name)).unwrap_or_default();
    let (groups, mounts) = (read("cgroup"), read("mountinfo"));
    let mut found = Vec::new();
    for mount in mounts.lines().filter_map(Mount::read) {
        let Some(path) = groups.lines().find_map(|line| path_in(line, mount.kind)) else { continue };
        let top = root.join(mount.place.trim_start_matches('/'));
        // Inside a container the path of the group may be that on the machine, or lead out of what is mounted.
        let below = path.strip_prefix(mount.root).unwrap_or("").trim_start_matches('/');
        let below = if below.starts_with("..") { "" } else { below };
        let folder = top.join(below);
        let folders = folder.ancestors().take_while(|folder| folder.starts_with(&top));
        found.extend(folders.map(|folder| Group { folder: folder.to_owned(), kind: mount.kind }));
    }
    found
}

/// The path of this process's group, if the line of `/proc/self/cgroup` (`4:memory:/shop`, `0::/shop`) is about this
/// kind and memory.
fn path_in(line: &str, kind: Kind) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let is_it = match kind {
        Kind::First => controllers.split(',').any(|one| one == "memory"),
        Kind::Second => number == "0" && controllers.is_empty(),
    };
    is_it.then_some(path)
}

/// A line of `/proc/self/mountinfo` that mounts groups with the controller of memory (proc(5)).
struct Mount<'a> {
    kind: Kind,
    /// Which group of the machine is mounted.
    root: &'a str,
    /// Where.
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
