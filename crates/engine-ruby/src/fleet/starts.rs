//! The start of molds and workers, and its retry after a pause when it fails.

use std::time::{Duration, Instant};

use super::action::{Action, Facts};
use super::log_line::LogLine;
use super::mold::{Connection, MoldState};
use super::policy::Policy;
use super::worker::WorkerProcess;
use super::{Fleet, Stage};
use crate::preload::Preload;
use crate::start_error::StartError;

/// The pause in which no worker is added above the minimum, after one of those could not start.
const NO_GROWTH: Duration = Duration::from_secs(60);
/// The time that a mold that makes way for another one has to exit.
const YIELD_TIME: Duration = Duration::from_secs(5);

impl Fleet {
    /// Orders missing workers, and starts molds for them.
    pub(super) fn fill(&mut self, now: Instant) {
        if self.is_stopping() || !self.backoff.pause(now).is_zero() || self.is_held_up(now) {
            return;
        }
        let mut missing = (self.wanted + self.surge()).saturating_sub(self.staying());
        if missing > 0 {
            missing = self.fitting(missing, now);
        }
        if missing == 0 {
            if self.molds.is_empty() && self.needs_mold() {
                self.act(Action::StartMold);
            }
            return;
        }
        if let Some(mold) = self.forking_mold() {
            (0..missing).for_each(|_| {
                self.order(mold, now);
            });
            return;
        }
        // A process that cannot fork becomes a worker itself, so each worker needs its own.
        let free = self.molds.iter().filter(|(_, mold)| mold.state == MoldState::CannotFork);
        let free: Vec<u32> = free.map(|(pid, _)| *pid).take(missing).collect();
        for pid in &free {
            let worker = self.order(*pid, now);
            self.molds.entry(*pid).and_modify(|mold| mold.state = MoldState::Worker(worker));
        }
        let is_known_not_to_fork = self.molds.values().any(|mold| mold.is_no_forker());
        let wanted = if is_known_not_to_fork { missing - free.len() } else { 1 };
        (self.loading_molds()..wanted).for_each(|_| self.act(Action::StartMold));
    }

    /// Returns whether a mold that refuses to fork must exit before workers load the application: a port that the
    /// application opens must be free by then. A mold whose earlier workers serve is not waited for.
    fn is_held_up(&mut self, now: Instant) -> bool {
        let has_worker = |pid: u32| self.workers.values().any(|worker| worker.mold == Some(pid));
        let yielding = self.molds.iter().filter_map(|(pid, mold)| Some((*pid, mold.yields_since()?)));
        let yielding: Vec<(u32, Instant)> = yielding.filter(|(pid, _)| !has_worker(*pid)).collect();
        for (pid, since) in &yielding {
            if now.saturating_duration_since(*since) > YIELD_TIME {
                self.act(Action::Kill(*pid));
            }
        }
        !yielding.is_empty()
    }

    /// Returns whether a mold is needed although no worker is missing: at the start, to learn whether the application
    /// can be loaded; and later if a worker may be wanted at any moment.
    fn needs_mold(&self) -> bool {
        self.stage == Stage::Starting || (self.says("fork", "yes") && self.wanted < self.policy.max_workers)
    }

    fn order(&mut self, mold: u32, now: Instant) -> u32 {
        let worker = self.next;
        self.next += 1;
        let is_free = |index: &u32| !self.workers.values().any(|other| other.index == *index);
        let index = (0..).find(is_free).unwrap_or(worker);
        self.workers.insert(worker, WorkerProcess { index, ..WorkerProcess::ordered(now) });
        self.act(Action::Fork { mold, worker });
        worker
    }

    /// Returns the index of a worker among the others, from 0 on, as Puma and Unicorn count.
    pub fn index(&self, worker: u32) -> u32 {
        self.workers.get(&worker).map_or(0, |worker| worker.index)
    }

    /// Drops workers that were ordered and never forked; returns their number.
    pub(super) fn drop_orders(&mut self) -> usize {
        let ordered = self.workers.iter().filter(|(_, worker)| worker.pid.is_none());
        let ordered: Vec<u32> = ordered.map(|(id, _)| *id).collect();
        for id in &ordered {
            self.forget_worker(*id);
        }
        ordered.len()
    }

    /// Handles a failed start: during the start of the engine that is an error, later it is logged and retried after a
    /// pause.
    pub(super) fn cannot_start(&mut self, error: StartError, now: Instant) {
        if self.stage != Stage::Starting {
            return self.try_again(&error, now);
        }
        self.stage = Stage::Over;
        let workers = self.workers.values().filter_map(|worker| worker.pid);
        self.actions.extend(self.molds.keys().copied().chain(workers).map(Action::Kill));
        self.act(Action::CannotStart(error));
    }

    /// Handles a hook that kept a worker from starting. Puma and Unicorn start another worker until one lives, even at
    /// their own start.
    pub(super) fn hook_failed(&mut self, error: StartError, now: Instant) {
        if self.policy.retries_hooks { self.try_again(&error, now) } else { self.cannot_start(error, now) }
    }

    /// A worker above the minimum is given up for a while: its failures must not delay those that are needed. While
    /// all processes are being ended, nothing is tried again, and what was starting has been killed.
    fn try_again(&mut self, error: &StartError, now: Instant) {
        if self.is_stopping() {
            return;
        }
        let needed = self.policy.min_workers.max(1);
        // Without one that is wanted and missing it was a successor, or a mold: then fewer would be no remedy.
        let is_surplus = self.wanted > needed && (needed..self.wanted).contains(&self.staying());
        if is_surplus {
            self.wanted -= 1;
            self.no_growth_before = Some(now + NO_GROWTH);
        }
        let pause = if is_surplus { NO_GROWTH } else { self.backoff.failed(now) };
        self.log(LogLine::BootFailed { pause, error: error.to_string() });
    }

    /// Reports once that the engine has started.
    pub(super) fn report_start(&mut self) {
        if self.stage == Stage::Starting {
            self.stage = Stage::Running;
            self.act(Action::Started(self.facts.clone()));
        }
    }

    pub(super) fn mold_connected(&mut self, pid: u32) {
        let Some(mold) = self.molds.get_mut(&pid) else { return };
        mold.connection = Connection::Open;
        let Policy { preload, max_workers, .. } = self.policy;
        self.act(Action::SetUp { mold: pid, preload, max_workers });
    }

    /// Handles a mold that has loaded the application. If no worker is wanted yet, the start is over.
    pub(super) fn mold_ready(&mut self, pid: u32, facts: Facts, now: Instant) {
        let is_first = self.stage == Stage::Starting;
        self.facts = facts;
        let state = if self.says("fork", "yes") { MoldState::Forks } else { MoldState::CannotFork };
        if let Some(mold) = self.molds.get_mut(&pid)
            && mold.state == MoldState::Loading
        {
            mold.state = state;
            let took = now.saturating_duration_since(mold.since);
            self.log(LogLine::MoldLoaded { pid, took, is_first });
        }
        if self.wanted == 0 {
            self.report_start();
        }
    }

    pub(super) fn mold_failed(&mut self, pid: u32, error: StartError, now: Instant) {
        if let Some(mold) = self.molds.get_mut(&pid)
            && mold.state == MoldState::Loading
        {
            mold.state = MoldState::CannotLoad;
        }
        self.cannot_start(error, now);
    }

    /// Handles a mold that refuses to fork because workers would share connections: from now on each worker loads the
    /// application itself. The mold exits, and another one is started.
    pub(super) fn will_not_fork(&mut self, pid: u32, shared: &[String], now: Instant) {
        self.molds.entry(pid).and_modify(|mold| mold.state = MoldState::Yielding(now));
        self.drop_orders();
        self.policy.preload = Preload::No;
        let shared = shared.join("; ");
        self.not_shared = Some(shared.clone());
        self.log(LogLine::WillNotFork { shared });
    }
}

#[cfg(test)]
#[path = "starts_test.rs"]
mod tests;
