//! The fleet: a state machine of all processes of one engine. It knows which molds and workers there are and which
//! there should be.
//!
//! [`Fleet::take`] takes an event and the current time, and returns the actions that follow. The fleet reads no clock
//! and no file, and has no process, connection, lock or log: the supervisor has those. Where it needs information that
//! only they have, it asks by an action, and the answer is the next event.
//!
//! Reading order: `event` and `action`; `worker` and `mold`, the states of one process; `starts`, `arrivals`, `exits`
//! and `timeouts`, the life of a process; `autoscaler`, `orders`, `pressure` and `health`, the number of processes and
//! their replacement; `stop`, the end of all.

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

use machine::MemoryUse;

pub use action::{Action, Facts, Outcome};
pub use autoscaler::range;
pub use event::{Event, Load};
pub use log_line::{LogLine, Waiting, WorkerLine};
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

use crate::exit_reason::ExitReason;

/// The stage in the life of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The caller waits for the first worker, or, where no worker is wanted, for a mold.
    Starting,
    Running,
    /// Workers finish their requests, until this time at most.
    Draining(Instant),
    /// Molds exit, until this time at most.
    Ending(Instant),
    /// Everything has ended, or the start has failed: no action follows any more, except that a late mold is killed.
    Over,
}

/// All molds and workers of one engine.
#[derive(Debug)]
pub struct Fleet {
    policy: Policy,
    stage: Stage,
    /// Facts that the last mold reported when it was ready.
    facts: Facts,
    /// The molds, by process id.
    molds: BTreeMap<u32, Mold>,
    /// The workers, by number.
    workers: BTreeMap<u32, WorkerProcess>,
    /// The number of the next worker.
    next: u32,
    /// The number of workers that there should be now, from the minimum to the maximum of the policy.
    wanted: usize,
    /// A description of the connections for which each worker loads the application itself, although the settings say
    /// otherwise.
    not_shared: Option<String>,
    /// Expired workers, to be replaced one after the other, each with its exit reason.
    expired: VecDeque<(u32, ExitReason)>,
    checks: Checks,
    headroom: Headroom,
    backoff: Backoff,
    /// Time before which no worker is added above the minimum, because one could not start.
    no_growth_before: Option<Instant>,
    reminder: Reminder,
    /// Actions that follow from the current event.
    actions: Vec<Action>,
}

impl Fleet {
    /// Creates a fleet without processes; `memory` is the current use of memory.
    pub fn new(policy: Policy, memory: Option<MemoryUse>, now: Instant) -> Fleet {
        Fleet {
            stage: Stage::Starting,
            facts: Facts::new(),
            molds: BTreeMap::new(),
            workers: BTreeMap::new(),
            next: 1,
            wanted: policy.min_workers,
            not_shared: None,
            expired: VecDeque::new(),
            checks: Checks::new(now),
            headroom: Headroom { memory, ..Headroom::default() },
            backoff: Backoff::new(now),
            no_growth_before: None,
            reminder: Reminder::new(now),
            actions: Vec::new(),
            policy,
        }
    }

    /// Handles an event and returns the actions that follow, which must be carried out before the next event.
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
            Event::MoldDisconnected(pid) => self.mold_disconnected(pid, now),
            Event::MoldEnded(pid, exit) => self.mold_ended(pid, exit, now),
            Event::WorkerConnected(worker, pid) => self.worker_connected(worker, pid),
            Event::ThreadConnected(worker) => self.thread_connected(worker),
            Event::WorkerReady(worker) => self.worker_ready(worker),
            Event::WorkerAdded(worker) => self.worker_added(worker, now),
            Event::WorkerNotAdded(worker, why) => self.worker_not_added(worker, &why, now),
            Event::WorkerFailed(worker, error) => self.worker_failed(worker, error, now),
            Event::HookFailed(worker, error) => self.worker_hook_failed(worker, error, now),
            Event::Alive(worker) => self.alive(worker),
            Event::WorkerDisconnected(worker) => self.worker_disconnected(worker, now),
            Event::WorkerGone(worker, why) => self.worker_ended(worker, why, now),
            Event::Leaving(worker, reason) => self.leaving(worker, reason),
            Event::AsksToEnd(worker) => self.asks_to_end(worker, now),
            Event::Expired(worker, reason) => self.expire(worker, reason, now),
            Event::KernelAsked(dead, is_killed) => self.kernel_asked(dead, is_killed, now),
            Event::OutOfMemory(worker) => self.memory_was_full(worker, now),
            Event::MemoryDue => self.watch_memory(now),
            Event::Memory { memory, is_loading } => self.memory_measured(memory, is_loading, now),
            Event::Weighed(weights) => self.weighed(&weights, now),
            Event::Wanted => self.grow(now),
            Event::PlaceTaken => self.place_taken(),
            Event::GiveUp(loads) => self.give_up(&loads),
            Event::Needed(needed, loads) => self.shrink(needed, &loads),
            Event::TimeoutsDue { is_called_off } => self.check_timeouts(is_called_off, now),
            Event::LastFramesDue => self.close_dead_connections(now),
            Event::HealthDue { passed, out, is_watched } => self.check_health(passed, out, is_watched, now),
            Event::Scale { min, max, loads } => self.scale(min, max, &loads),
            Event::EndWorker { worker, now: false, is_replaced } => self.end_worker(worker, is_replaced),
            Event::EndWorker { worker, now: true, is_replaced } => self.kill_worker(worker, is_replaced),
            Event::Recycle => self.recycle(now),
            Event::Backtraces(worker) => self.ask_for_backtraces(worker),
            Event::Stop(until) => self.stop(until),
            Event::StopDue { has_last_answers } => self.proceed_to_stop(has_last_answers, now),
        }
    }

    /// Returns whether this process is a mold that has not ended.
    pub fn has_mold(&self, pid: u32) -> bool {
        self.molds.contains_key(&pid)
    }

    /// Returns whether this worker was ordered and has not ended.
    pub fn has_worker(&self, worker: u32) -> bool {
        self.workers.contains_key(&worker)
    }

    /// Returns whether this worker has not opened the connections of all its threads. A further connection is not read,
    /// so its end would not be noticed.
    pub fn awaits_thread(&self, worker: u32) -> bool {
        self.workers.get(&worker).is_some_and(|worker| worker.threads < self.policy.threads)
    }

    /// Returns the process id of a worker.
    pub fn pid(&self, worker: u32) -> Option<u32> {
        self.workers.get(&worker)?.pid
    }

    /// Returns the number of workers that there should be.
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Returns the minimum number of workers.
    pub fn min_workers(&self) -> usize {
        self.policy.min_workers
    }

    /// Returns the maximum number of workers.
    pub fn max_workers(&self) -> usize {
        self.policy.max_workers
    }

    /// Returns the number of places of the shared budget that this engine takes.
    pub fn places_held(&self) -> usize {
        let kept = if self.is_stopping() { 0 } else { self.wanted };
        kept + self.places_leaving()
    }

    /// Returns how many of these places it is giving up: each is free when its worker has exited.
    pub fn places_leaving(&self) -> usize {
        let is_last = |worker: &&WorkerProcess| self.is_stopping() || worker.leave == Some(worker::Leave::Last);
        self.workers.values().filter(is_last).count()
    }

    /// Returns whether the last mold that was ready reported this value under this name.
    pub fn says(&self, name: &str, value: &str) -> bool {
        self.facts.iter().any(|(known, said)| known == name && said == value)
    }

    /// Returns a mold that can fork workers.
    pub fn forking_mold(&self) -> Option<u32> {
        self.molds.iter().find(|(_, mold)| mold.state == MoldState::Forks).map(|(pid, _)| *pid)
    }

    /// Returns whether all processes are being ended or have ended.
    pub fn is_stopping(&self) -> bool {
        matches!(self.stage, Stage::Draining(_) | Stage::Ending(_) | Stage::Over)
    }

    /// Returns whether everything has ended.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Returns the time by which the current stage of the shutdown must be over.
    pub fn stops_by(&self) -> Option<Instant> {
        match self.stage {
            Stage::Draining(until) | Stage::Ending(until) => Some(until),
            Stage::Starting | Stage::Running | Stage::Over => None,
        }
    }

    /// Returns the number of workers, booting ones included, that are not on their way out.
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
