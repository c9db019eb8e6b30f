//! Counts the actual workers and threads of a server, from the kernel or the server itself: this finds settings that a
//! server ignores.

use std::fs;
use std::time::{Duration, Instant};

use super::recipe::signal;
use super::server::Server;
use loadgen::process::{self, Member};
use procfs::process::{MMapPath, MemoryMap, Process};

/// Time within which a worker must list its threads.
const LISTING: Duration = Duration::from_secs(5);
/// Silence after which a listing is complete.
const QUIET: Duration = Duration::from_millis(300);

/// Counted processes and threads of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Processes that serve requests.
    pub workers: u32,
    /// Threads that serve requests, of all workers together.
    pub threads: u32,
    /// All processes.
    pub processes: u32,
}

impl Server {
    /// Counts the workers and threads at this moment. Some servers start threads only with the first requests.
    pub fn counts(&self) -> Counts {
        let members = self.members();
        let workers = self.workers_among(&members);
        let threads = workers.iter().map(|worker| self.threads_of(worker)).sum();
        Counts { workers: workers.len() as u32, threads, processes: members.len() as u32 }
    }

    /// Counts until the numbers are those that the server was started with, for as long as its recipe says; then an
    /// error describes the difference. A server that may shut down idle processes may have fewer workers.
    pub fn check_counts(&self) -> Result<Counts, String> {
        let end = Instant::now() + Duration::from_secs(u64::from(self.recipe.count.within_s));
        loop {
            let counts = self.counts();
            match self.judge(counts) {
                Ok(()) => return Ok(counts),
                Err(error) if Instant::now() >= end => return Err(error),
                Err(_) => std::thread::park_timeout(Duration::from_millis(100)),
            }
        }
    }

    pub(super) fn judge(&self, counts: Counts) -> Result<(), String> {
        let (workers, threads) = self.shape();
        let name = &self.recipe.name;
        if counts.processes == 0 {
            return Err(format!("{name} has no process any more\n{}", self.log_tail()));
        }
        let may_idle = self.words.idle_s > 0 && !self.recipe.cannot.contains_key("idle");
        let is_right = if may_idle { counts.workers <= workers } else { counts.workers == workers };
        if !is_right {
            let noun = if workers == 1 { "worker" } else { "workers" };
            return Err(format!(
                "{name} was told to have {workers} {noun} and has {}: it ignores the setting, or [count] of its \
                 recipe does not know them. {}",
                counts.workers,
                self.processes_in_words()
            ));
        }
        let wanted = counts.workers * threads;
        let may_have_more = self.recipe.count.at_least || self.recipe.chooses_workers();
        let is_right = counts.threads == wanted || (may_have_more && counts.threads > wanted);
        if !is_right {
            return Err(format!(
                "{name} was told to have {workers} x {threads} threads and has {} in all: it ignores the setting, or \
                 [count] of its recipe does not know them. {}",
                counts.threads,
                self.threads_in_words()
            ));
        }
        self.judge_allocator()
    }

    /// Checks that the workers have loaded the allocator: the loader only warns if it does not find it.
    fn judge_allocator(&self) -> Result<(), String> {
        let Some(library) = &self.allocator else { return Ok(()) };
        let name = library.rsplit('/').next().unwrap_or(library).split(".so").next().unwrap_or(library);
        for worker in self.workers_among(&self.members()) {
            // A worker that has just exited has no maps.
            let maps = Process::new(worker.id as i32).and_then(|worker| worker.maps());
            let mut maps = maps.into_iter().flatten().peekable();
            let is_it = |map: MemoryMap| match map.pathname {
                MMapPath::Path(path) => path.to_string_lossy().contains(name),
                _ => false,
            };
            if maps.peek().is_some() && !maps.any(is_it) {
                return Err(format!("{}: worker {} has not loaded {library}", self.recipe.name, worker.id));
            }
        }
        Ok(())
    }

    /// Those of these processes that serve requests.
    pub(super) fn workers_among<'a>(&self, members: &'a [Member]) -> Vec<&'a Member> {
        let is_parent = |one: &Member| members.iter().any(|other| other.parent == one.id);
        let is_worker =
            |one: &&Member| self.worker_pattern.is_match(&one.title) && !(self.recipe.count.leaves && is_parent(one));
        members.iter().filter(is_worker).collect()
    }

    fn threads_of(&self, worker: &Member) -> u32 {
        let Some(pattern) = &self.thread_pattern else { return 1 };
        let count = match &self.recipe.count.dump {
            None => process::threads(worker.id).iter().filter(|name| pattern.is_match(name)).count(),
            Some(dump) => {
                let listed = signal(dump).map(|signal| self.listing(worker.id, signal)).unwrap_or_default();
                listed.lines().filter(|line| pattern.is_match(line)).count()
            }
        };
        count as u32 + self.recipe.count.unnamed
    }

    /// Text that appears in the logs after a worker has been asked for its threads.
    fn listing(&self, worker: u32, ask: rustix::process::Signal) -> String {
        let before: Vec<u64> = self.logs().map(|log| fs::metadata(log).map_or(0, |data| data.len())).collect();
        if process::signal_one(worker, ask).is_err() {
            return String::new();
        }
        let begin = Instant::now();
        let mut last = (Instant::now(), 0);
        loop {
            let texts = self.logs().zip(&before).map(|(log, from)| {
                let bytes = fs::read(log).unwrap_or_default();
                String::from_utf8_lossy(bytes.get(*from as usize..).unwrap_or_default()).into_owned()
            });
            let text: String = texts.collect();
            if text.len() != last.1 {
                last = (Instant::now(), text.len());
            }
            let is_whole = !text.is_empty() && last.0.elapsed() > QUIET;
            if is_whole || begin.elapsed() > LISTING {
                return text;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    pub(super) fn processes_in_words(&self) -> String {
        let titles: Vec<String> =
            self.members().iter().map(|one| format!("{} {}", one.id, short(&one.title))).collect();
        format!("Its processes: {}", titles.join("; "))
    }

    fn threads_in_words(&self) -> String {
        let members = self.members();
        let workers = self.workers_among(&members);
        let names: Vec<String> = workers.into_iter().map(|worker| process::threads(worker.id).join(", ")).collect();
        format!("Names of their threads: {}", names.join("; "))
    }
}

fn short(title: &str) -> String {
    title.chars().take(80).collect()
}
