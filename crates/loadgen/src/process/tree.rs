//! What the kernel says of a server's processes, as /proc shows them: all that were started by it, also those that have
//! left their parents, for every server has a session of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// The kernel counts processor time in hundredths of a second for programs, whatever it uses itself.
const TICK_US: u64 = 10_000;

/// The processes of one server.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Process ids of those that were started, each the leader of its session.
    pub roots: Vec<u32>,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its process id.
    pub id: u32,
    /// That of its parent.
    pub parent: u32,
    /// Its command line, which servers change to tell what they are.
    pub title: String,
}

/// What all of them use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time, that of ended children included.
    pub cpu_us: u64,
    /// Memory, pages that are shared counted in parts.
    pub pss_kib: u64,
    /// Memory, pages that are shared counted for each process.
    pub rss_kib: u64,
    /// Memory that was swapped out, in parts as well.
    pub swap_kib: u64,
    /// How long their threads were ready to run and another had the processor. 0 where the kernel does not count it.
    pub delay_us: u64,
}

impl Tree {
    /// Those that run, in the order of their ids; ended ones that nobody has waited for are not among them.
    pub fn members(&self) -> Vec<Member> {
        let ids = self.ids();
        ids.into_iter().map(|(id, parent)| Member { id, parent, title: title(id) }).collect()
    }

    /// Whether nothing of it runs.
    pub fn is_gone(&self) -> bool {
        self.ids().is_empty()
    }

    /// What they use now.
    pub fn usage(&self) -> Usage {
        let mut all = Usage::default();
        for (id, _) in self.ids() {
            let fields = stat(id).unwrap_or_default();
            let ticks: u64 = (11..15).filter_map(|at| fields.get(at)?.parse::<u64>().ok()).sum();
            all.cpu_us += ticks * TICK_US;
            let memory = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
            all.pss_kib += kib(&memory, "Pss:");
            all.rss_kib += kib(&memory, "Rss:");
            all.swap_kib += kib(&memory, "SwapPss:");
            all.delay_us += delay_us(id);
        }
        all
    }

    /// Sends it to all of them.
    pub fn signal_all(&self, signal: Signal) {
        for (id, _) in self.ids() {
            // One that ends in this moment needs no signal.
            let _ = signal_one(id, signal);
        }
    }

    fn ids(&self) -> Vec<(u32, u32)> {
        let all = everybody();
        let mut ours: BTreeSet<u32> = self.roots.iter().copied().collect();
        ours.extend(all.iter().filter(|(_, one)| self.roots.contains(&one.session)).map(|(id, _)| *id));
        // A child can have a smaller id than its parent, so that one pass is not always enough.
        loop {
            let before = ours.len();
            ours.extend(
                all.iter().filter(|(_, one)| ours.contains(&one.parent)).map(|(id, _)| *id).collect::<Vec<_>>(),
            );
            if ours.len() == before {
                break;
            }
        }
        all.into_iter().filter(|(id, _)| ours.contains(id)).map(|(id, one)| (id, one.parent)).collect()
    }
}

/// How long the threads of a process waited for a processor.
pub fn delay_us(id: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    nanoseconds.sum::<u64>() / 1000
}

struct Kin {
    parent: u32,
    session: u32,
}

fn everybody() -> BTreeMap<u32, Kin> {
    let ids = fs::read_dir("/proc").map(|entries| {
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect::<Vec<u32>>()
    });
    let kin = |id: u32| {
        let fields = stat(id)?;
        if matches!(fields.first()?.as_str(), "Z" | "X") {
            return None;
        }
        Some((id, Kin { parent: fields.get(1)?.parse().ok()?, session: fields.get(3)?.parse().ok()? }))
    };
    ids.unwrap_or_default().into_iter().filter_map(kin).collect()
}

/// Processes that were started with this setting in their environment, wherever they have gone since.
pub fn with_environment(setting: &str) -> Vec<Member> {
    let has = |id: u32| {
        let bytes = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        bytes.split(|byte| *byte == 0).any(|one| one == setting.as_bytes())
    };
    let all = everybody().into_iter().filter(|(id, _)| has(*id));
    all.map(|(id, one)| Member { id, parent: one.parent, title: title(id) }).collect()
}

/// Those whose parent it is.
pub(super) fn children(parent: u32) -> Vec<u32> {
    everybody().into_iter().filter(|(_, one)| one.parent == parent).map(|(id, _)| id).collect()
}

/// The names of its threads, cut to 15 characters by the kernel.
pub fn threads(id: u32) -> Vec<String> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    tasks.flatten().filter_map(name).map(|name| name.trim_end_matches('\n').to_owned()).collect()
}

/// Sends a signal to one process.
pub fn signal_one(id: u32, signal: Signal) -> Result<(), String> {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or_else(|| format!("{id} is no process id"))?;
    kill_process(id, signal).map_err(|error| format!("process {}: {error}", id.as_raw_nonzero()))
}

fn title(id: u32) -> String {
    let bytes = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned()
}

/// The fields of /proc/ID/stat from the third on; the second is a name, which may hold anything.
fn stat(id: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn kib(text: &str, mark: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(mark));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen() {
        let me = std::process::id();
        let tree = Tree { roots: vec![me] };
        assert!(tree.members().iter().any(|member| member.id == me && !member.title.is_empty()));
        assert!(tree.usage().pss_kib > 100 && tree.usage().rss_kib >= tree.usage().pss_kib);
        assert!(!threads(me).is_empty());
        assert!(!tree.is_gone() && Tree { roots: vec![u32::MAX] }.is_gone());
    }
}
