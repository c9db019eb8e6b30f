//! A server that runs by its recipe: started, ready, looked at, hurt, and ended with all that it started.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::process::Signal;

use super::plan::{Allocator, Words};
use super::recipe::{Door, Recipe, signal};
use crate::place::Place;
use loadgen::process::{self, Member, MemoryGroup, Process, Sampler, Tree, Usage, until};

/// The setting by which processes are found that have left their session.
pub(super) const MARK: &str = "ARENA_SERVER";

/// What to start.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// Who.
    pub recipe: &'a Recipe,
    /// Where.
    pub place: &'a Place,
    /// The application's config.ru, on this machine.
    pub rackup: &'a Path,
    /// Worker processes.
    pub workers: u32,
    /// Threads of each.
    pub threads: u32,
    /// Settings for the application.
    pub env: BTreeMap<String, String>,
    /// The folder for its output.
    pub logs: &'a Path,
    /// Tells its logs from others.
    pub label: String,
    /// Bytes for the whole tree of its processes.
    pub memory_limit: Option<u64>,
    /// Who hands out memory.
    pub allocator: Option<Allocator>,
    /// Seconds after which it may shut down processes that nobody asks, if it can.
    pub idle_s: Option<u32>,
    /// Whether its limits stay as they come, rather than being raised as those of all others are.
    pub stock: bool,
    /// More words for its command line.
    pub extra: Vec<String>,
}

/// A server of ours. It ends with this value; and with the thread that started it, so that an interrupted run leaves
/// nothing behind.
#[derive(Debug)]
pub struct Server {
    pub(super) recipe: Recipe,
    pub(super) place: Place,
    pub(super) words: Words,
    pub(super) worker_pattern: Regex,
    pub(super) thread_pattern: Option<Regex>,
    /// The library that must hand out memory in its workers.
    pub(super) allocator: Option<String>,
    pub(super) processes: Vec<Process>,
    pub(super) mark: String,
    pub(super) commands: Vec<String>,
    pub(super) began: Instant,
    /// Whether the first process may be gone because a reload replaced it.
    pub(super) has_new_master: bool,
    pub(super) is_stopped: bool,
    /// After the processes: a group can be removed only when it is empty.
    pub(super) group: Option<MemoryGroup>,
}

impl Server {
    /// Where clients go, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.words.port
    }

    /// Workers and threads of each that it was told to have: what was asked for, put as its recipe says.
    pub fn shape(&self) -> (u32, u32) {
        (self.words.workers, self.words.threads)
    }

    /// Waits until `check` is content. How long that took, from the start of the first process.
    pub fn wait_ready(&mut self, check: &dyn Fn(u16) -> Result<(), String>) -> Result<Duration, String> {
        self.wait_ready_unless(check, &|| false)
    }

    /// The same, but not when `is_over` says that it will never be.
    pub fn wait_ready_unless(
        &mut self,
        check: &dyn Fn(u16) -> Result<(), String>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Duration, String> {
        let limit = Duration::from_secs(u64::from(self.recipe.ready_s));
        loop {
            let checked = self.check_doors().and_then(|()| check(self.port()));
            let Err(error) = checked else { return Ok(self.began.elapsed()) };
            if let Some(how) = self.end_of_one() {
                return Err(format!("{} ended before it answered: {how}", self.recipe.name));
            }
            let name = &self.recipe.name;
            if is_over() {
                return Err(format!("{error}\n{}", self.log_tail()));
            }
            if self.began.elapsed() > limit {
                let seconds = self.recipe.ready_s;
                return Err(format!("{name} gave no right answer within {seconds} s: {error}\n{}", self.log_tail()));
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// It need not be waited for when it ends: it hangs.
    pub fn hurry(&mut self) {
        self.recipe.stop.patience_s = self.recipe.stop.patience_s.min(1);
    }

    /// What its processes use now.
    pub fn usage(&self) -> Usage {
        self.tree().usage()
    }

    /// Looks at its memory until told to stop.
    pub fn sampler(&self) -> Sampler {
        Sampler::start(self.tree())
    }

    /// Its processes.
    pub fn members(&self) -> Vec<Member> {
        let mut members = self.tree().members();
        if self.recipe.namespace {
            // Those that only hold the namespace are not the server's: ours, and its first one.
            let roots = self.tree().roots;
            members.retain(|member| !roots.contains(&member.id) && !roots.contains(&member.parent));
        }
        members
    }

    /// Whether one of its processes has ended that should run as long as it.
    pub fn has_ended(&mut self) -> bool {
        if self.has_new_master { self.tree().is_gone() } else { self.end_of_one().is_some() }
    }

    /// Ends one real worker at once, as the kernel does when memory runs out. Its process id.
    pub fn kill_worker(&mut self) -> Result<u32, String> {
        if let Some(why) = self.recipe.cannot.get("kill") {
            return Err(format!("{}: {why}", self.recipe.name));
        }
        let members = self.members();
        let worker = self.workers_among(&members).into_iter().next_back();
        let worker =
            worker.ok_or_else(|| format!("{} has no worker. {}", self.recipe.name, self.processes_in_words()))?;
        process::signal_one(worker.id, Signal::KILL).map(|()| worker.id)
    }

    /// Its command lines and the files that were written for it.
    pub fn commands(&self) -> Vec<String> {
        self.commands.clone()
    }

    /// The end of its output.
    pub fn log_tail(&self) -> String {
        let tails = self.processes.iter().map(|one| format!("[{}]\n{}", one.log.display(), one.tail()));
        tails.collect::<Vec<_>>().join("\n")
    }

    /// Ends it, politely first. An error when it had to be killed, or when something was left behind.
    pub fn stop(mut self) -> Result<(), String> {
        self.end()
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = &Path> {
        self.processes.iter().map(|one| one.log.as_path())
    }

    /// The processes that a stop is told to, those started last first: the ones that were started, or, when a reload
    /// has replaced them, all that nobody else of the server has started.
    pub(super) fn masters(&self) -> Vec<Member> {
        let members = self.members();
        let is_top = |one: &&Member| !members.iter().any(|other| other.id == one.parent);
        let tops = members.iter().filter(is_top).cloned();
        if self.has_new_master {
            return tops.collect();
        }
        if self.recipe.namespace {
            // What has left its parent in there has the same one now, but came later.
            return tops.min_by_key(|one| one.id).into_iter().collect();
        }
        let own = self.processes.iter().rev().map(Process::id);
        own.filter_map(|id| members.iter().find(|member| member.id == id).cloned()).collect()
    }

    /// Whether the one that was started first is still there: a reload may replace it, but no proxy before it.
    pub(super) fn has_first_process(&self) -> bool {
        let members = self.tree().members();
        self.processes.first().is_some_and(|one| members.iter().any(|member| member.id == one.id()))
    }

    fn tree(&self) -> Tree {
        Tree { roots: self.processes.iter().map(Process::id).collect() }
    }

    /// A proxy answers as soon as one of the servers behind it does: all of them must be there.
    fn check_doors(&self) -> Result<(), String> {
        for door in self.recipe.processes.iter().filter_map(|part| part.each_worker) {
            match door {
                Door::Socket => {
                    for socket in &self.words.sockets {
                        let path = self.place.outside(Path::new(socket));
                        UnixStream::connect(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                    }
                }
                Door::Port => {
                    for port in &self.words.ports {
                        TcpStream::connect(("127.0.0.1", *port)).map_err(|error| format!("port {port}: {error}"))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn end_of_one(&mut self) -> Option<String> {
        self.processes.iter_mut().find_map(|one| {
            let how = one.ended()?;
            Some(format!("{} ended with {how}; its log ({}) says:\n{}", one.name, one.log.display(), one.tail()))
        })
    }

    fn end(&mut self) -> Result<(), String> {
        if self.is_stopped {
            return Ok(());
        }
        self.is_stopped = true;
        let tree = self.tree();
        let polite = signal(&self.recipe.stop.signal)?;
        let also = self.recipe.stop.also.as_ref().map(|also| self.words.pattern(also)).transpose()?;
        let helpers =
            self.members().into_iter().filter(|one| also.as_ref().is_some_and(|also| also.is_match(&one.title)));
        for master in helpers.chain(self.masters()) {
            // One that ends in this moment needs no signal.
            let _ = process::signal_one(master.id, polite);
        }
        let patience = Duration::from_secs(u64::from(self.recipe.stop.patience_s));
        let mut complaints = Vec::new();
        if !until(patience, || tree.is_gone()) {
            let left = self.processes_in_words();
            let seconds = self.recipe.stop.patience_s;
            complaints.push(format!(
                "did not end within {seconds} s of SIG{} and was killed. {left}",
                self.recipe.stop.signal
            ));
            tree.signal_all(Signal::KILL);
            until(Duration::from_secs(5), || tree.is_gone());
        }
        for process in &mut self.processes {
            process.ended();
        }
        let setting = format!("{MARK}={}", self.mark);
        let left = process::with_environment(&setting);
        for one in &left {
            complaints.push(format!("left process {} behind ({}); it was killed", one.id, one.title));
            let _ = process::signal_one(one.id, Signal::KILL);
        }
        until(Duration::from_secs(5), || process::with_environment(&setting).is_empty());
        if complaints.is_empty() { Ok(()) } else { Err(format!("{} {}", self.recipe.name, complaints.join("; "))) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
