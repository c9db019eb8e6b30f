//! A server's process tree, as shown by `/proc`: all processes that it has started. Every server has a session of its
//! own, so those that have left their parents are found; those that have left the session as well are adopted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use procfs::process::{Process, all_processes};
use procfs::{CurrentSI, KernelStats};
use rustix::process::{Pid, Signal, kill_process};

use super::adopted::{adopts, is_started, reap};
use super::lost::Spent;

/// The process tree of a server.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// Ids of the processes that were started, each the leader of its session.
    pub roots: Vec<u32>,
    /// Whether these and their children only hold the server in a PID namespace, and are no part of it.
    pub in_namespace: bool,
    /// Time of the server's start, in clock ticks since that of the machine: orphans that began later, and that this
    /// program has adopted, are the server's. `None`: none are.
    pub orphans_since: Option<u64>,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Process id.
    pub id: u32,
    /// Process id of its parent.
    pub parent: u32,
    /// Command line, which servers change to show their state.
    pub title: String,
}

/// Resources used by a process tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time, including that of children that have ended.
    pub cpu_us: u64,
    /// Proportional set size: shared pages count in parts.
    pub pss_kib: u64,
    /// Resident set size: shared pages count for each process.
    pub rss_kib: u64,
    /// Swapped memory; shared pages count in parts.
    pub swap_kib: u64,
    /// Time in which their threads were ready to run while other threads had the processor; 0 if the kernel does not
    /// count it.
    pub delay_us: u64,
}

impl Tree {
    /// The running processes in the order of their ids, without zombies.
    pub fn members(&self) -> Vec<Member> {
        let ids = self.ids();
        ids.into_iter().map(|(id, parent)| Member { id, parent, title: title(id) }).collect()
    }

    /// Whether no process of the tree runs.
    pub fn is_gone(&self) -> bool {
        self.ids().is_empty()
    }

    /// Whether the process with this id and parent only holds the namespace of the server.
    pub fn is_holder(&self, id: u32, parent: u32) -> bool {
        self.in_namespace && (self.roots.contains(&id) || self.roots.contains(&parent))
    }

    /// The resources that they use now, without those that only hold a namespace.
    pub fn usage(&self) -> Usage {
        self.look().0
    }

    /// The resources that they use now, and the processor time of each process.
    pub(super) fn look(&self) -> (Usage, BTreeMap<u32, Spent>) {
        let ids = self.ids();
        let seen = |(id, parent): &(u32, u32)| {
            let spent = spent_by(*id)?;
            // The first process of a namespace waits for those of the server's that end as orphans.
            let own_us = if self.is_holder(*id, *parent) { 0 } else { spent.own_us };
            Some((*id, Spent { own_us, ..spent }))
        };
        // Before their memory, which takes longer: one that ends meanwhile would be counted with its parent as well.
        let each: BTreeMap<u32, Spent> = ids.iter().filter_map(seen).collect();
        let mut all = Usage { cpu_us: each.values().map(Spent::all_us).sum(), ..Usage::default() };
        for (id, _) in ids.into_iter().filter(|(id, parent)| !self.is_holder(*id, *parent)) {
            let Some(process) = process(id) else { continue };
            let memory = process.smaps_rollup().ok().and_then(|mut rollup| rollup.memory_map_rollup.0.pop());
            let kib = |name: &str| memory.as_ref().and_then(|all| all.extension.map.get(name)).map_or(0, |b| b / 1024);
            all.pss_kib += kib("Pss");
            all.rss_kib += kib("Rss");
            all.swap_kib += kib("SwapPss");
            all.delay_us += waited_us(&process);
        }
        (all, each)
    }

    /// Sends a signal to all of them.
    pub fn signal_all(&self, signal: Signal) {
        for (id, _) in self.ids() {
            // A process that ends at this moment needs no signal.
            let _ = signal_one(id, signal);
        }
    }

    /// Orphans of the server that are children of this program, also those that have ended. Of its own children, those
    /// that it has not started through the gate stay in its session.
    fn orphans(&self, all: &BTreeMap<u32, Ancestry>) -> Vec<u32> {
        let me = std::process::id();
        let since = self.orphans_since.filter(|_| adopts());
        let Some((since, own)) = since.zip(all.get(&me)) else { return Vec::new() };
        let is_later = |one: &Ancestry| one.parent == me && one.session != own.session && one.start >= since;
        let ids = all.iter().filter(|(_, one)| is_later(one)).map(|(id, _)| *id);
        ids.filter(|id| !is_started(*id)).collect()
    }

    fn ids(&self) -> Vec<(u32, u32)> {
        let mut all = seen();
        let orphans = self.orphans(&all);
        let have_ended = orphans.iter().filter(|id| all.get(*id).is_some_and(|one| one.has_ended));
        have_ended.for_each(|id| reap(*id));
        all.retain(|_, one| !one.has_ended);
        let mut ours: BTreeSet<u32> = self.roots.iter().copied().chain(orphans).collect();
        ours.extend(all.iter().filter(|(_, one)| self.roots.contains(&one.session)).map(|(id, _)| *id));
        // A child can have a smaller id than its parent, so one pass may not suffice.
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

/// Time for which the threads of a process waited for a processor.
pub fn delay_us(id: u32) -> u64 {
    process(id).map_or(0, |process| waited_us(&process))
}

fn waited_us(process: &Process) -> u64 {
    let tasks = process.tasks().into_iter().flatten().flatten();
    tasks.filter_map(|task| Some(task.schedstat().ok()?.run_delay)).sum::<u64>() / 1000
}

/// Clock ticks in which the machine's processors were free, and all ticks.
pub fn machine_ticks() -> Option<(u64, u64)> {
    let ticks = KernelStats::current().ok()?.total;
    // A wait for a disk leaves the processor free.
    let free = ticks.idle + ticks.iowait.unwrap_or(0);
    let busy = ticks.user + ticks.nice + ticks.system;
    Some((free, free + busy + [ticks.irq, ticks.softirq, ticks.steal].iter().flatten().sum::<u64>()))
}

/// Clock ticks for which a process has used a processor, its ended threads included.
pub fn ticks_of(id: u32) -> Option<u64> {
    let stat = process(id)?.stat().ok()?;
    Some(stat.utime + stat.stime)
}

/// Processor time of a process, which may be a zombie; `None` once its parent has waited for it.
pub(super) fn spent_by(id: u32) -> Option<Spent> {
    let stat = process(id)?.stat().ok()?;
    let tick_us = 1_000_000 / procfs::ticks_per_second();
    Some(Spent {
        start: stat.starttime,
        parent: stat.ppid.cast_unsigned(),
        own_us: (stat.utime + stat.stime) * tick_us,
        children_us: (stat.cutime + stat.cstime).unsigned_abs() * tick_us,
        has_ended: matches!(stat.state, 'Z' | 'X'),
    })
}

/// The process; `None` if it has ended.
fn process(id: u32) -> Option<Process> {
    Process::new(i32::try_from(id).ok()?).ok()
}

struct Ancestry {
    parent: u32,
    session: u32,
    /// Time of its start, in clock ticks since that of the machine.
    start: u64,
    /// Whether it is a zombie.
    has_ended: bool,
}

/// All processes, with zombies.
fn seen() -> BTreeMap<u32, Ancestry> {
    let ancestry = |process: Process| {
        let stat = process.stat().ok()?;
        let (parent, session) = (stat.ppid.cast_unsigned(), stat.session.cast_unsigned());
        let has_ended = matches!(stat.state, 'Z' | 'X');
        Some((process.pid.cast_unsigned(), Ancestry { parent, session, start: stat.starttime, has_ended }))
    };
    all_processes().into_iter().flatten().flatten().filter_map(ancestry).collect()
}

fn running() -> BTreeMap<u32, Ancestry> {
    let mut all = seen();
    all.retain(|_, one| !one.has_ended);
    all
}

/// Processes that were started with this environment variable (`NAME=VALUE`), wherever they are.
pub fn with_environment(setting: &str) -> Vec<Member> {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let has = |id: u32| {
        let environment = process(id).and_then(|process| process.environ().ok()).unwrap_or_default();
        environment.get(OsStr::new(name)).is_some_and(|found| found == value)
    };
    let all = running().into_iter().filter(|(id, _)| has(*id));
    all.map(|(id, one)| Member { id, parent: one.parent, title: title(id) }).collect()
}

/// Ids of the children of this process.
pub(super) fn children(parent: u32) -> Vec<u32> {
    running().into_iter().filter(|(_, one)| one.parent == parent).map(|(id, _)| id).collect()
}

/// The names of a process's threads, cut to 15 characters by the kernel.
pub fn threads(id: u32) -> Vec<String> {
    let tasks = process(id).and_then(|process| process.tasks().ok()).into_iter().flatten().flatten();
    tasks.filter_map(|task| Some(task.stat().ok()?.comm)).collect()
}

/// Sends a signal to a process.
pub fn signal_one(id: u32, signal: Signal) -> Result<(), String> {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or_else(|| format!("{id} is no process id"))?;
    kill_process(id, signal).map_err(|error| format!("process {}: {error}", id.as_raw_nonzero()))
}

fn title(id: u32) -> String {
    let words = process(id).and_then(|process| process.cmdline().ok()).unwrap_or_default();
    words.join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::super::until;
    use super::*;

    #[test]
    fn this_process_is_seen() {
        let me = std::process::id();
        let tree = Tree { roots: vec![me], ..Tree::default() };
        assert!(tree.members().iter().any(|member| member.id == me && !member.title.is_empty()));
        // Of one look: other tests of this process take memory and give it back meanwhile.
        let usage = tree.usage();
        assert!(usage.pss_kib > 100 && usage.rss_kib > 100, "{usage:?}");
        assert!(!threads(me).is_empty());
        assert!(!tree.is_gone() && Tree { roots: vec![u32::MAX], ..Tree::default() }.is_gone());
    }

    #[test]
    fn what_only_holds_a_namespace_is_no_part_of_a_servers_usage() {
        let held = Command::new("sh").args(["-c", "sh -c 'sleep 60; true'; true"]).spawn();
        let mut held = held.expect("a shell in a shell");
        let tree = Tree { roots: vec![held.id()], ..Tree::default() };
        let sleeps = || tree.members().iter().any(|one| one.title.starts_with("sleep "));
        let is_there = until(Duration::from_secs(20), sleeps);
        let server = Tree { in_namespace: true, ..tree.clone() };
        let own = server.usage();
        let all = tree.usage();
        tree.signal_all(Signal::KILL);
        let _ = held.wait();
        assert!(is_there && own.rss_kib > 0, "{own:?}");
        assert!(own.rss_kib < all.rss_kib && own.pss_kib < all.pss_kib, "{own:?} {all:?}");
    }
}
