//! Memory that this process may use, and how much of it is in use: of the surrounding control groups and the machine,
//! whichever has the least left.

use std::fs;
use std::path::{Path, PathBuf};

use crate::group::{self, Group};
use crate::pressure::stalled_percent;
use crate::proc_lines::number;

/// Share of a limit from which on memory is short, even without stalls, unless [`AMPLE`] is left.
const SHORT: f64 = 0.95;
/// Bytes that suffice between two measurements.
const AMPLE: u64 = 256 << 20;
/// Share of a limit from which on memory is short if processes stall.
const NEARLY_SHORT: f64 = 0.85;
/// Percentage of the last ten seconds with all processes stalled from which on they count as stalled.
const STALLED_PERCENT: f64 = 10.0;

/// The memory limits of a process.
#[derive(Debug, Clone)]
pub struct Memory {
    root: PathBuf,
    groups: Vec<Group>,
}

/// A measurement of the memory in use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryUse {
    /// The tightest limit in bytes: of a control group, or the machine's memory.
    pub limit: u64,
    /// Bytes of it in use, without what the kernel can reclaim at once.
    pub used: u64,
    /// Whether `limit` is the memory of the whole machine, which other programs use as well.
    pub is_machine: bool,
    /// Percentage of the last ten seconds in which all processes stalled for want of memory; `None` if the kernel does
    /// not report it.
    pub stalled_percent: Option<f64>,
}

impl Memory {
    /// The limits of this process. Its control groups are looked up now, and not again.
    pub fn of_this_process() -> Memory {
        Memory::below(Path::new("/"))
    }

    fn below(root: &Path) -> Memory {
        let groups = group::find(root).into_iter().filter(|group| group.used().is_some()).collect();
        Memory { root: root.to_owned(), groups }
    }

    /// The lowest limit in bytes, the machine's memory included; `None` if the kernel reports none.
    pub fn limit(&self) -> Option<u64> {
        let limits = self.groups.iter().filter_map(Group::limit);
        limits.chain(self.machine().map(|(total, _)| total)).min()
    }

    /// Measures the memory in use, under the limit with the least left.
    pub fn measure(&self) -> Option<MemoryUse> {
        let bounded = self.groups.iter().filter_map(|group| Some((group.limit()?, group.used()?, Some(group))));
        let machine = self.machine().map(|(total, used)| (total, used, None));
        let tightest = bounded.chain(machine).min_by_key(|(limit, used, _)| limit.saturating_sub(*used));
        let (limit, used, group) = tightest?;
        let file = group.map_or_else(|| self.root.join("proc/pressure/memory"), Group::pressure);
        let stalled_percent = fs::read_to_string(file).ok().and_then(|text| stalled_percent(&text));
        Some(MemoryUse { limit, used, is_machine: group.is_none(), stalled_percent })
    }

    /// Number of processes that the kernel has killed for want of memory, in the group of this process, or on the whole
    /// machine without one. Only differences are meaningful.
    pub fn kills(&self) -> u64 {
        let of_machine = || group::count(&self.root.join("proc/vmstat"), "oom_kill");
        self.groups.first().map_or_else(of_machine, Group::kills).unwrap_or(0)
    }

    /// Memory of the machine and bytes of it in use.
    fn machine(&self) -> Option<(u64, u64)> {
        let text = fs::read_to_string(self.root.join("proc/meminfo")).ok()?;
        let bytes = |name: &str| Some(number(&text, name)? * 1024);
        let (total, available) = (bytes("MemTotal")?, bytes("MemAvailable")?);
        Some((total, total.saturating_sub(available)))
    }
}

impl MemoryUse {
    /// Bytes left.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Whether the kernel is about to kill a process. On a whole machine with pressure information, only if processes
    /// stall: other programs may fill its memory.
    pub fn is_short(&self) -> bool {
        let part = self.used as f64 / self.limit.max(1) as f64;
        let is_stalled = self.stalled_percent.is_some_and(|percent| percent >= STALLED_PERCENT);
        let is_full = part >= SHORT && self.left() < AMPLE;
        part >= NEARLY_SHORT && is_stalled || is_full && !(self.is_machine && self.stalled_percent.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A temporary folder with these files.
    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn seen(files: &[(&str, &str)]) -> (Option<u64>, Option<(u64, u64, bool)>) {
        let root = root(files);
        let memory = Memory::below(root.path());
        (memory.limit(), memory.measure().map(|one| (one.limit / MIB, one.used / MIB, one.is_machine)))
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal:       1048576 kB\nMemFree: 1 kB\nMemAvailable:    524288 kB\n");
    const V2: (&str, &str) = (
        "proc/self/mountinfo",
        "22 1 8:1 / / rw - ext4 /dev/vda rw\n30 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
    );

    #[test]
    fn without_groups_it_is_the_machine() {
        assert_eq!(seen(&[MEMINFO]), (Some(1024 * MIB), Some((1024, 512, true))));
        assert_eq!(seen(&[]), (None, None));
    }

    #[test]
    fn the_group_around_with_the_least_left_counts() {
        let files = [
            MEMINFO,
            V2,
            ("proc/self/cgroup", "0::/shop/web\n"),
            ("sys/fs/cgroup/shop/memory.max", "209715200\n"),
            ("sys/fs/cgroup/shop/memory.high", "max\n"),
            ("sys/fs/cgroup/shop/memory.current", "199229440\n"),
            ("sys/fs/cgroup/shop/memory.stat", "anon 1\nfile 2\ninactive_file 10485760\nactive_file 0\n"),
            ("sys/fs/cgroup/shop/web/memory.max", "max\n"),
            ("sys/fs/cgroup/shop/web/memory.high", "104857600\n"),
            ("sys/fs/cgroup/shop/web/memory.current", "10485760\n"),
            ("sys/fs/cgroup/shop/web/memory.stat", ""),
        ];
        assert_eq!(seen(&files), (Some(100 * MIB), Some((200, 180, false))));
    }

    #[test]
    fn in_a_container_the_path_is_that_of_the_machine() {
        let mounts = "30 22 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        let max = ("sys/fs/cgroup/memory.max", "104857600");
        let current = ("sys/fs/cgroup/memory.current", "52428800");
        for path in ["0::/docker/abc", "0::/", "0::/../other"] {
            let files = [("proc/self/mountinfo", mounts), ("proc/self/cgroup", path), max, current];
            assert_eq!(seen(&files).1, Some((100, 50, false)), "{path}");
        }
    }

    #[test]
    fn groups_of_the_first_kind_are_read_as_well() {
        let mounts = "34 25 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      35 25 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      36 25 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let files = [
            ("proc/self/mountinfo", mounts),
            ("proc/self/cgroup", "8:pids:/\n4:memory:/a/b\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n"),
            ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "209715200\n"),
            ("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "104857600\n"),
            ("sys/fs/cgroup/memory/a/b/memory.stat", "inactive_file 0\ntotal_inactive_file 52428800\n"),
        ];
        assert_eq!(seen(&files), (Some(200 * MIB), Some((200, 50, false))));
    }

    #[test]
    fn kills_are_those_of_the_innermost_group_or_of_the_machine() {
        let vmstat = ("proc/vmstat", "oom_kill 7\n");
        assert_eq!(Memory::below(root(&[vmstat]).path()).kills(), 7);
        let files = [
            V2,
            vmstat,
            ("proc/self/cgroup", "0::/web\n"),
            ("sys/fs/cgroup/memory.current", "1\n"),
            ("sys/fs/cgroup/memory.events", "oom_kill 5\n"),
            ("sys/fs/cgroup/web/memory.current", "1\n"),
            ("sys/fs/cgroup/web/memory.events", "low 0\noom 9\noom_kill 3\noom_group_kill 0\n"),
        ];
        assert_eq!(Memory::below(root(&files).path()).kills(), 3);
    }

    #[test]
    fn memory_is_short_near_the_limit_and_earlier_where_processes_wait() {
        let short =
            |used, is_machine, stalled_percent| MemoryUse { limit: 100, used, is_machine, stalled_percent }.is_short();
        assert!(short(95, false, None) && short(95, false, Some(0.0)) && short(85, false, Some(10.0)));
        assert!(!short(94, false, Some(9.9)) && !short(84, false, Some(50.0)));
        assert!(short(99, true, None) && short(90, true, Some(20.0)) && !short(99, true, Some(0.5)));
        let large =
            |left| MemoryUse { limit: 64 << 30, used: (64 << 30) - left, is_machine: false, stalled_percent: None };
        assert!(!large(300 * MIB).is_short() && large(200 * MIB).is_short());
    }

    #[test]
    fn pages_of_files_unless_they_are_mapped_and_the_cache_of_their_names_are_not_used_memory() {
        let read = "anon 1\nfile 104857600\nfile_mapped 10485760\ninactive_file 20971520\nactive_file 83886080\n";
        let names = "anon 1\nfile 20971520\nfile_mapped 0\ninactive_file 20971520\nactive_file 0\n\
                     slab_reclaimable 73400320\nslab_unreclaimable 1048576\nslab 74448896\n";
        for stat in [read, names] {
            let files = [
                MEMINFO,
                V2,
                ("proc/self/cgroup", "0::/web\n"),
                ("sys/fs/cgroup/web/memory.max", "209715200\n"),
                ("sys/fs/cgroup/web/memory.current", "199229440\n"),
                ("sys/fs/cgroup/web/memory.stat", stat),
            ];
            assert_eq!(seen(&files).1, Some((200, 100, false)), "{stat}");
        }
    }

    #[test]
    fn this_machine_says_something() {
        let memory = Memory::of_this_process();
        let (seen, (total, _)) = (memory.measure().unwrap(), memory.machine().unwrap());
        assert!(seen.used > 0 && seen.limit <= total && memory.limit().unwrap() <= total);
    }

    #[test]
    fn stalls_are_read() {
        let text = "some avg10=1.84 avg60=7.91 avg300=3.48 total=59710129\nfull avg10=0.19 avg60=2.76 total=23898727\n";
        assert_eq!(stalled_percent(text), Some(0.19));
        assert_eq!(stalled_percent("some avg10=1.84"), None);
    }

    #[test]
    fn an_unlimited_group_and_one_with_more_left_than_the_machine_say_nothing() {
        let file = |name: &str| format!("sys/fs/cgroup/web/{name}");
        let (max, current) = (file("memory.max"), file("memory.current"));
        let group = ("proc/self/cgroup", "0::/web\n");
        for limit in ["max", "9223372036854771712", "1099511627776"] {
            let files = [MEMINFO, V2, group, (max.as_str(), limit), (current.as_str(), "10485760")];
            assert_eq!(seen(&files), (Some(1024 * MIB), Some((1024, 512, true))), "{limit}");
        }
    }

    #[test]
    fn what_is_left_is_never_less_than_nothing() {
        let in_use = |used| MemoryUse { limit: 100, used, is_machine: false, stalled_percent: None };
        assert_eq!((in_use(60).left(), in_use(101).left()), (40, 0));
    }
}
