//! A running server: readiness, usage, a killed worker, and a stop with all that it started.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use regex::Regex;
use rustix::process::Signal;

use super::plan::{Allocator, Words};
use super::recipe::{Door, Recipe, signal};
use super::temporary::TemporaryFiles;
use crate::environment::Environment;
use loadgen::process::{self, Member, MemoryGroup, Ports, Process, Sampler, Tree, Usage, until};

/// Environment variable by which processes are found that have left the session.
pub(super) const MARK: &str = "ARENA_SERVER";

/// A server to start.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// Recipe of the server.
    pub recipe: &'a Recipe,
    /// Environment in which it runs.
    pub environment: &'a Environment,
    /// Path of the application's config.ru, on this machine.
    pub rackup: &'a Path,
    /// Worker processes.
    pub workers: u32,
    /// Threads per worker.
    pub threads: u32,
    /// Environment variables for the application.
    pub env: BTreeMap<String, String>,
    /// Folder for its logs.
    pub logs: &'a Path,
    /// Label that makes its logs distinct.
    pub label: String,
    /// Memory limit in bytes for its whole process tree.
    pub memory_limit: Option<u64>,
    /// Allocator to preload.
    pub allocator: Option<Allocator>,
    /// Idle seconds after which it may shut down processes, if it can.
    pub idle_s: Option<u32>,
    /// Whether its limits keep their defaults instead of being raised as all others' are.
    pub stock: bool,
}

/// A server started by the arena. It is stopped with this value, and with the thread that started it, so that an
/// interrupted run leaves nothing behind.
#[derive(Debug)]
pub struct Server {
    pub(super) recipe: Recipe,
    pub(super) environment: Environment,
    pub(super) words: Words,
    pub(super) worker_pattern: Regex,
    pub(super) thread_pattern: Option<Regex>,
    /// Allocator library that its workers must have loaded.
    pub(super) allocator: Option<String>,
    pub(super) processes: Vec<Process>,
    pub(super) mark: String,
    pub(super) commands: Vec<String>,
    pub(super) began: Instant,
    /// Whether a reload may have replaced the first process.
    pub(super) has_new_master: bool,
    pub(super) is_stopped: bool,
    /// Dropped after the processes: a control group can be removed only when it is empty.
    pub(super) group: Option<MemoryGroup>,
    /// Its temporary files, dropped after the processes, which write them until they end.
    pub(super) temporary: TemporaryFiles,
    /// Keeps its ports from other servers.
    pub(super) _ports: Ports,
}

impl Server {
    /// Port for clients, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.words.port
    }

    /// Workers and threads per worker that it was started with, after the recipe's shape.
    pub fn shape(&self) -> (u32, u32) {
        (self.words.workers, self.words.threads)
    }

    /// Waits until `check` succeeds. Returns the time since the start of the first process, or an error if the server
    /// exits, its time limit passes, or `is_over` returns true before that.
    pub fn wait_ready(
        &mut self,
        check: &dyn Fn(u16) -> Result<(), String>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Duration, String> {
        let limit = Duration::from_secs(u64::from(self.recipe.ready_s));
        loop {
            let checked = self.check_doors().and_then(|()| check(self.port()));
            // Looked at in either case: when a server has ended, it is another program that answers on its port.
            if let Some(how) = self.end_of_one() {
                return Err(format!("{} ended before it answered: {how}", self.recipe.name));
            }
            let Err(error) = checked else { return Ok(self.began.elapsed()) };
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

    /// Shortens the stop timeout to a second, for a server that hangs.
    pub fn hurry(&mut self) {
        self.recipe.stop.patience_s = self.recipe.stop.patience_s.min(1);
    }

    /// Present processor time and memory of its processes.
    pub fn usage(&self) -> Usage {
        self.tree().usage()
    }

    /// Starts to sample its memory.
    pub fn sampler(&self) -> Sampler {
        Sampler::start(self.tree())
    }

    /// Its processes.
    pub fn members(&self) -> Vec<Member> {
        let tree = self.tree();
        let mut members = tree.members();
        // The processes that only hold the namespace are not the server's: ours, and the first one in it.
        members.retain(|member| !tree.is_holder(member.id, member.parent));
        members
    }

    /// Whether a process has exited that should run as long as the server.
    pub fn has_ended(&mut self) -> bool {
        if self.has_new_master { self.tree().is_gone() } else { self.end_of_one().is_some() }
    }

    /// Kills one actual worker with SIGKILL, as the kernel does when memory runs out. Returns its process id.
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

    /// The last lines of its logs.
    pub fn log_tail(&self) -> String {
        let tails = self.processes.iter().map(|one| format!("[{}]\n{}", one.log.display(), one.tail()));
        tails.collect::<Vec<_>>().join("\n")
    }

    /// Reason for a report why a server exited during a load: how the process that the arena started exited, if it did,
    /// and the last lines of the server's logs.
    pub fn why_it_ended(&mut self) -> String {
        // After a reload the first process has ended as it should.
        let is_own = !self.has_new_master;
        let how = self.processes.iter_mut().filter(|_| is_own).find_map(|one| {
            let how = one.ended()?;
            Some(format!(" ({}: {how})", one.name))
        });
        format!("the server ended in the middle of it{}\n{}", how.unwrap_or_default(), self.log_tail())
    }

    /// Stops the server, gracefully first. An error if it had to be killed, or left a process behind.
    pub fn stop(mut self) -> Result<(), String> {
        self.end()
    }

    pub(super) fn logs(&self) -> impl Iterator<Item = &Path> {
        self.processes.iter().map(|one| one.log.as_path())
    }

    /// Processes that get the stop signal, last started first: those that the arena started, or, after a reload has
    /// replaced them, all whose parent is not one of the server's processes.
    pub(super) fn masters(&self) -> Vec<Member> {
        let members = self.members();
        let is_top = |one: &&Member| !members.iter().any(|other| other.id == one.parent);
        let tops = members.iter().filter(is_top).cloned();
        if self.has_new_master {
            return tops.collect();
        }
        if self.recipe.namespace {
            // A process orphaned in the namespace has the same parent now, but was started later.
            return tops.min_by_key(|one| one.id).into_iter().collect();
        }
        let own = self.processes.iter().rev().map(Process::id);
        own.filter_map(|id| members.iter().find(|member| member.id == id).cloned()).collect()
    }

    /// Whether the process that was started first is still running. A reload may replace it, but not a proxy in front
    /// of the server.
    pub(super) fn has_first_process(&self) -> bool {
        let members = self.tree().members();
        self.processes.first().is_some_and(|one| members.iter().any(|member| member.id == one.id()))
    }

    fn tree(&self) -> Tree {
        let roots = self.processes.iter().map(Process::id).collect();
        let orphans_since = self.processes.first().and_then(Process::since);
        Tree { roots, in_namespace: self.recipe.namespace, orphans_since }
    }

    /// Checks that all backends accept connections: a proxy answers as soon as one of them does.
    fn check_doors(&self) -> Result<(), String> {
        for door in self.recipe.processes.iter().filter_map(|part| part.each_worker) {
            match door {
                Door::Socket => {
                    for socket in &self.words.sockets {
                        let path = self.environment.outside(Path::new(socket));
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

    /// Processes that still run after its end: its orphans, and those that have its environment, wherever they are.
    fn left_behind(&self) -> Vec<Member> {
        let mut left = process::with_environment(&format!("{MARK}={}", self.mark));
        left.extend(self.members());
        left.sort_by_key(|one| one.id);
        left.dedup_by_key(|one| one.id);
        left
    }

    fn end(&mut self) -> Result<(), String> {
        if self.is_stopped {
            return Ok(());
        }
        self.is_stopped = true;
        // Its orphans are given no time to end by themselves.
        let tree = Tree { orphans_since: None, ..self.tree() };
        let polite = signal(&self.recipe.stop.signal)?;
        let also = self.recipe.stop.also.as_ref().map(|also| self.words.pattern(also)).transpose()?;
        let helpers =
            self.members().into_iter().filter(|one| also.as_ref().is_some_and(|also| also.is_match(&one.title)));
        for master in helpers.chain(self.masters()) {
            // A process that exits at this moment needs no signal.
            let _ = process::signal_one(master.id, polite);
        }
        let timeout = Duration::from_secs(u64::from(self.recipe.stop.patience_s));
        let mut complaints = Vec::new();
        if !until(timeout, || tree.is_gone()) {
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
        for one in self.left_behind() {
            complaints.push(format!("left process {} behind ({}); it was killed", one.id, one.title));
        }
        // In place of one that is killed another one may be started.
        until(Duration::from_secs(5), || {
            let left = self.left_behind();
            left.iter().for_each(|one| drop(process::signal_one(one.id, Signal::KILL)));
            left.is_empty()
        });
        if complaints.is_empty() { Ok(()) } else { Err(format!("{} {}", self.recipe.name, complaints.join("; "))) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
