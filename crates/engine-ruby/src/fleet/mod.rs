//! The fleet: all processes of one engine, which there are, which there should be, and what was last seen of them.
//!
//! It is a state machine: [`Fleet::take`] is told what has happened and what time it is, and returns what is to be
//! done. It reads no clock and no file, and has no process, connection, lock or log: the supervisor has those. Where it
//! must know something that only they can tell, that is an action, and the answer the next event.
//!
//! Reading order: `event` and `action`; `worker` and `mold`, the states of one process; `starts`, `arrivals`, `exits`
//! and `timeouts`, the life of a process; `autoscaler`, `orders`, `pressure` and `health`, how many there are and
//! which; `stop`, the end of all.

mod action;
mod arrivals;
mod autoscaler;
mod backoff;
mod checks;
mod event;
mod exits;
mod headroom;
mod health;
mod log_line;
mod mold;
mod orders;
mod outcome;
mod policy;
mod pressure;
#[cfg(test)]
mod random_test;
mod reminder;
#[cfg(test)]
mod scene;
mod speaker;
mod starts;
mod stop;
mod timeouts;
mod view;
mod worker;

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::time::Instant;

use machine::Standing;

pub use action::{Action, Facts};
pub use autoscaler::range;
pub use event::{Event, Load};
pub use log_line::{LogLine, Waiting, WorkerLine};
pub use outcome::Outcome;
pub use policy::Policy;
pub use speaker::Speaker;
pub use view::View;
pub use worker::named;

use backoff::Backoff;
use checks::Checks;
use headroom::Headroom;
use mold::{Mold, MoldState};
use reminder::Reminder;
use worker::WorkerProcess;

use crate::reason::Reason;

/// How far the fleet has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The caller waits for the first worker to be ready; or, where none is wanted, for a mold.
    Starting,
    Running,
    /// Workers finish what they have, until then.
    Draining(Instant),
    /// Molds end, until then.
    Ending(Instant),
    /// Nothing is done any more: all has ended, or the start has failed.
    Over,
}

/// All molds and workers of one engine.
#[derive(Debug)]
pub struct Fleet {
    policy: Policy,
    stage: Stage,
    /// What the last mold that was ready has said of itself.
    facts: Facts,
    /// By process.
    molds: BTreeMap<u32, Mold>,
    /// By number.
    workers: BTreeMap<u32, WorkerProcess>,
    /// The number of the next worker.
    next: u32,
    /// How many workers there should be now; between the fewest and the most of the policy.
    wanted: usize,
    /// The connections for which each worker loads the application, although the settings do not ask for that.
    not_shared: Option<String>,
    /// Workers that should be replaced, one after the other, and why.
    worn: VecDeque<(u32, Reason)>,
    checks: Checks,
    headroom: Headroom,
    backoff: Backoff,
    reminder: Reminder,
    /// What is to be done after the event that is being taken.
    actions: Vec<Action>,
}

impl Fleet {
    /// Without a process. Memory stands so.
    pub fn new(policy: Policy, standing: Option<Standing>, now: Instant) -> Fleet {
        Fleet {
            stage: Stage::Starting,
            facts: Facts::new(),
            molds: BTreeMap::new(),
            workers: BTreeMap::new(),
            next: 1,
            wanted: policy.min_workers,
            not_shared: None,
            worn: VecDeque::new(),
            checks: Checks::new(now),
            headroom: Headroom { standing, ..Headroom::default() },
            backoff: Backoff::new(now),
            reminder: Reminder::new(now),
            actions: Vec::new(),
            policy,
        }
    }

    /// Takes note of what has happened, and says what is to be done before anything else is taken note of.
    pub fn take(&mut self, event: Event, now: Instant) -> Vec<Action> {
        if self.stage != Stage::Over {
            self.follow(event, now);
        } else if let Event::MoldStarted(pid) = event {
            self.act(Action::Kill(pid));
        }
        mem::take(&mut self.actions)
    }

    fn follow(&mut self, event: Event, now: Instant) {
        match event {
            Event::Fill => self.fill(now),
            Event::MoldStarted(pid) => {
                self.molds.insert(pid, Mold::started(now));
            }
            Event::MoldNotStarted(error) => self.cannot_start(error, now),
            Event::MoldConnected(pid) => self.mold_connected(pid),
            Event::MoldReady(pid, facts) => self.mold_ready(pid, facts, now),
            Event::MoldFailed(pid, error) => self.mold_failed(pid, error, now),
            Event::MoldShares(pid, shared) => self.will_not_fork(pid, &shared, now),
            Event::Forked { mold, worker, pid } => self.forked(mold, worker, pid),
            Event::Exited { mold, worker, pid, exit } => self.exited(mold, worker, pid, exit, now),
            Event::MoldSilent(pid) => self.mold_silent(pid, now),
            Event::MoldEnded(pid, exit) => self.mold_ended(pid, exit, now),
            Event::WorkerConnected(worker, pid) => self.worker_connected(worker, pid),
            Event::ThreadConnected(worker) => self.thread_connected(worker),
            Event::WorkerReady(worker) => self.worker_ready(worker),
            Event::TakenIn(worker) => self.taken_in(worker, now),
            Event::NotTakenIn(worker) => self.not_taken_in(worker),
            Event::WorkerFailed(worker, error) => self.worker_failed(worker, error, now),
            Event::HookFailed(worker, error) => self.worker_hook_failed(worker, error, now),
            Event::Heard(worker) => self.heard(worker),
            Event::WorkerSilent(worker) => self.worker_silent(worker, now),
            Event::WorkerGone(worker, why) => self.worker_ended(worker, why, now),
            Event::Leaving(worker, reason) => self.leaving(worker, reason),
            Event::Worn(worker, reason) => self.wear(worker, reason, now),
            Event::KernelAsked(dead, is_killed) => self.kernel_asked(dead, is_killed, now),
            Event::OutOfMemory(worker) => self.memory_was_full(worker, now),
            Event::MemoryDue => self.watch_memory(now),
            Event::Memory { standing, is_loading } => self.memory_stands(standing, is_loading, now),
            Event::Weighed(weights) => self.weighed(&weights, now),
            Event::NotWeighed => self.checks.is_weighing = false,
            Event::Wanted => self.grow(now),
            Event::PlaceTaken => self.place_taken(),
            Event::GiveUp(loads) => self.give_up(&loads),
            Event::Needed(needed, loads) => self.shrink(needed, &loads),
            Event::Late { is_called_off } => self.look_for_late(is_called_off, now),
            Event::LastWordsDue => self.hear_the_dead(now),
            Event::HealthDue { passed, out, is_watched } => self.check_health(passed, out, is_watched, now),
            Event::Scale { min, max, loads } => self.scale(min, max, &loads),
            Event::EndWorker(worker) => self.end_worker(worker),
            Event::KillWorker(worker) => self.kill_worker(worker),
            Event::Recycle => self.recycle(now),
            Event::Backtraces(worker) => self.ask_for_backtraces(worker),
            Event::Stop(until) => self.stop(until),
            Event::StopDue { has_last_answers } => self.proceed_to_stop(has_last_answers, now),
        }
    }

    /// Whether this is a process that was started, and has not ended.
    pub fn has_mold(&self, pid: u32) -> bool {
        self.molds.contains_key(&pid)
    }

    /// Whether this worker was ordered, and has not ended.
    pub fn has_worker(&self, worker: u32) -> bool {
        self.workers.contains_key(&worker)
    }

    /// The process of a worker.
    pub fn pid(&self, worker: u32) -> Option<u32> {
        self.workers.get(&worker)?.pid
    }

    /// How many workers there should be.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Never fewer than this.
    pub fn min_workers(&self) -> usize {
        self.policy.min_workers
    }

    /// How many places of those that applications share are taken.
    pub fn places_held(&self) -> usize {
        self.wanted + self.workers.values().filter(|worker| worker.leave == Some(worker::Leave::Last)).count()
    }

    /// Whether the last mold has said that it is so.
    pub fn says(&self, name: &str, value: &str) -> bool {
        self.facts.iter().any(|(known, said)| known == name && said == value)
    }

    /// A mold that forks.
    pub fn forking_mold(&self) -> Option<u32> {
        self.molds.iter().find(|(_, mold)| mold.state == MoldState::Forks).map(|(pid, _)| *pid)
    }

    /// Whether all processes are being ended, or have ended.
    pub fn is_stopping(&self) -> bool {
        matches!(self.stage, Stage::Draining(_) | Stage::Ending(_) | Stage::Over)
    }

    /// Whether there is nothing more to be done.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Until when what is being ended has time.
    pub fn stops_by(&self) -> Option<Instant> {
        match self.stage {
            Stage::Draining(until) | Stage::Ending(until) => Some(until),
            Stage::Starting | Stage::Running | Stage::Over => None,
        }
    }

    /// How many workers there are, or will be, that stay.
    fn staying(&self) -> usize {
        self.workers.values().filter(|worker| worker.stays()).count()
    }

    fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    fn log(&mut self, line: LogLine) {
        self.act(Action::Log(line));
    }

    fn log_worker(&mut self, worker: u32, pid: Option<u32>, line: WorkerLine) {
        self.log(LogLine::Worker(worker, pid, line));
    }
}
