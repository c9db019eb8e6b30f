//! Timeouts of boots and of forks.

use std::time::{Duration, Instant};

use super::action::Action;
use super::log_line::{LogLine, Waiting};
use super::mold::{Mold, MoldState};
use super::worker::WorkerProcess;
use super::{Fleet, Stage};
use crate::start_error::{LATER_BOOT_TIME, StartError};

impl Fleet {
    /// Logs what a slow start waits for. If the application itself loads slowly, its process logs where.
    fn remind(&mut self, now: Instant) {
        let Some(passed) = self.reminder.due(now) else { return };
        let loading = self.molds.iter().find(|(_, mold)| !mold.is_loaded());
        let booting = self.workers.iter().find_map(|(id, worker)| Some((*id, worker.pid?)));
        let waiting = match (loading, booting) {
            (Some((pid, _)), _) => Waiting::Mold(*pid),
            (None, Some((worker, pid))) => Waiting::Worker(worker, pid),
            (None, None) => Waiting::Fork,
        };
        self.log(LogLine::NotReady { passed, waiting });
    }

    /// Logs what the worker waits for that has been booting for longest, if that is long. Nothing else in the log says
    /// why there are fewer workers than wanted.
    fn remind_of_boot(&mut self, now: Instant) {
        let booting = self.workers.iter().filter(|(_, worker)| worker.is_booting());
        let Some((id, worker)) = booting.min_by_key(|(_, worker)| worker.since) else { return };
        let id = *id;
        let waiting = worker.pid.map_or(Waiting::Fork, |pid| Waiting::Worker(id, pid));
        self.reminder.follow(worker.since);
        if let Some(passed) = self.reminder.due(now) {
            self.log(LogLine::BootSlow { worker: id, passed, waiting });
        }
    }

    /// Ends processes that have timed out.
    pub(super) fn check_timeouts(&mut self, is_called_off: bool, now: Instant) {
        match self.stage {
            Stage::Starting => self.remind(now),
            Stage::Running => self.remind_of_boot(now),
            Stage::Draining(_) | Stage::Ending(_) | Stage::Over => {}
        }
        self.close_dead_connections(now);
        self.end_unheard(now);
        let is_start = self.stage == Stage::Starting;
        if is_start && is_called_off {
            return self.cannot_start(StartError::CalledOff, now);
        }
        let limit = if is_start { self.policy.boot_time } else { self.policy.boot_time.min(LATER_BOOT_TIME) };
        let late = self.late(limit, now);
        if is_start && !late.is_empty() {
            return self.cannot_start(StartError::Late(limit), now);
        }
        for pid in late {
            self.molds.entry(pid).and_modify(|mold| mold.is_timed_out = true);
            let workers = self.workers.values_mut().filter(|worker| worker.pid == Some(pid));
            workers.for_each(|worker| worker.is_timed_out = true);
            self.log(LogLine::BootTimedOut { pid, limit });
            self.act(Action::Kill(pid));
        }
    }

    /// Returns the processes that have not booted, or not forked, within this time, and were not killed for that yet.
    fn late(&self, limit: Duration, now: Instant) -> Vec<u32> {
        let is_late = |since: Instant| now.saturating_duration_since(since) > limit;
        let is_booting = |worker: &&WorkerProcess| worker.is_booting() && !worker.is_timed_out;
        let booting = self.workers.values().filter(is_booting).filter(|worker| is_late(worker.since));
        let (ordered, booting): (Vec<_>, Vec<_>) = booting.map(|worker| worker.pid).partition(Option::is_none);
        let is_ordered = |worker: &WorkerProcess| worker.pid.is_none() && is_late(worker.since);
        let hangs = |mold: &Mold| match mold.state {
            MoldState::Loading | MoldState::CannotLoad => true,
            MoldState::Forks => !ordered.is_empty(),
            // It has nothing else to do than to become this worker.
            MoldState::Worker(worker) => self.workers.get(&worker).is_some_and(is_ordered),
            MoldState::Yielding(_) | MoldState::CannotFork => false,
        };
        let molds = self.molds.iter().filter(|(_, mold)| !mold.is_timed_out && hangs(mold) && is_late(mold.since));
        molds.map(|(pid, _)| *pid).chain(booting.into_iter().flatten()).collect()
    }
}

#[cfg(test)]
#[path = "timeouts_test.rs"]
mod tests;
