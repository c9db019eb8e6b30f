//! Health of workers: expired ones, those that use too much memory and those that do not answer. Workers that still
//! serve are replaced one at a time, and only when the successor is ready; those that do not answer are killed.

use std::mem;
use std::time::{Duration, Instant};

use super::Fleet;
use super::action::Action;
use super::log_line::{LogLine, WorkerLine};
use super::speaker::Speaker;
use crate::exit_reason::ExitReason;
use crate::weight::Weight;

/// Intervals of reading the memory of workers: with a limit per worker, while an operator watches, and otherwise.
const LIMITED: Duration = Duration::from_secs(5);
const WATCHED: Duration = Duration::from_secs(2);
const UNWATCHED: Duration = Duration::from_secs(30);
/// The interval while the memory of a worker is not known; and while one is new and more may follow, or memory is
/// tight: then the result decides about the next worker.
const GROWING: Duration = Duration::from_secs(1);
/// The shortest and longest interval of pings.
const PINGS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// The longest time between two checks that counts as silence of a worker; more means that this process was stopped or
/// the machine asleep.
const STEP_MAX: Duration = Duration::from_secs(1);
/// The time for which a worker that is being replaced and does not end delays the next replacement.
const DRAIN_MAX: Duration = Duration::from_secs(60);

impl Fleet {
    /// Pings workers, reads their memory, and replaces expired ones.
    pub(super) fn check_health(&mut self, passed: Duration, out: Vec<(u32, u32)>, is_watched: bool, now: Instant) {
        self.check_heartbeats(passed, out, now);
        self.weigh(is_watched, now);
        self.replace_expired(now);
    }

    /// Notes that a worker has expired and should be replaced.
    pub(super) fn expire(&mut self, id: u32, reason: ExitReason, now: Instant) {
        let is_known = self.expired.iter().any(|(expired, _)| *expired == id);
        if !is_known && self.workers.get(&id).is_some_and(|worker| worker.stays()) {
            self.expired.push_back((id, reason));
            self.replace_expired(now);
        }
    }

    /// Replaces a worker that asks for it. While dispatch does not know it yet, since a connection of it has not been
    /// accepted, it waits for its successor as an expired one does.
    pub(super) fn asks_to_end(&mut self, id: u32, now: Instant) {
        match self.workers.get(&id) {
            Some(worker) if worker.is_booting() => self.expire(id, ExitReason::Signal, now),
            Some(worker) if worker.stays() => self.retire(id, ExitReason::Signal),
            _ => {}
        }
    }

    /// Returns whether this worker has expired and leaves in any case, since its successor is ready or booting.
    pub(super) fn is_succeeded(&self, id: u32) -> bool {
        self.staying() > self.wanted && self.expired.iter().any(|(expired, _)| *expired == id)
    }

    /// Returns 1 while an expired worker waits for its successor, which is started in addition to the wanted number.
    pub(super) fn surge(&self) -> usize {
        usize::from(!self.expired.is_empty() && self.checks.draining.is_none())
    }

    /// Retires the next expired worker when its successor is ready and the one before it is gone.
    fn replace_expired(&mut self, now: Instant) {
        if let Some((id, since)) = self.checks.draining
            && (!self.workers.contains_key(&id) || now.saturating_duration_since(since) > DRAIN_MAX)
        {
            self.checks.draining = None;
        }
        self.expired.retain(|(id, _)| self.workers.get(id).is_some_and(|worker| worker.stays()));
        if self.is_stopping() || self.checks.draining.is_some() || self.expired.is_empty() {
            return;
        }
        let ready = self.workers.values().filter(|worker| worker.serves()).count();
        // If there is no memory for a successor beside it, it is retired first, unless it is the last. One that boots
        // has its memory, and there need be none for another.
        let boots = self.staying() > self.wanted;
        if ready <= self.wanted && (ready <= 1 || boots || self.fitting(1, now) > 0) {
            return;
        }
        if let Some((id, reason)) = self.expired.pop_front() {
            self.checks.draining = Some((id, now));
            self.retire(id, reason);
        }
    }

    /// Notes that a worker has sent a frame, so it is alive.
    pub(super) fn alive(&mut self, id: u32) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.silent = Duration::ZERO;
        if mem::take(&mut worker.is_silence_logged) {
            let pid = worker.pid;
            self.log_worker(id, pid, WorkerLine::AnswersAgain);
        }
    }

    /// Returns the silence after which a worker is shown as hung: two unanswered pings.
    pub(super) fn hung_after(&self) -> Duration {
        2 * self.ping_every() + STEP_MAX
    }

    fn ping_every(&self) -> Duration {
        let limit = self.policy.worker_timeout;
        // Without a limit a worker that hangs is only shown, and that is not urgent.
        if limit.is_zero() { PINGS.1 } else { (limit / 4).clamp(PINGS.0, PINGS.1) }
    }

    fn check_heartbeats(&mut self, passed: Duration, out: Vec<(u32, u32)>, now: Instant) {
        let limit = self.policy.worker_timeout;
        let is_due = now.saturating_duration_since(self.checks.pinged) >= self.ping_every();
        if is_due {
            self.checks.pinged = now;
        }
        let mut hung = Vec::new();
        let hung_after = self.hung_after();
        for (id, worker) in self.workers.iter_mut().filter(|(_, worker)| !worker.is_booting()) {
            worker.silent += passed.min(STEP_MAX);
            if is_due {
                self.actions.push(Action::Ping(*id));
            }
            if !limit.is_zero() && worker.silent > limit {
                hung.extend(worker.pid.map(|pid| (*id, pid)));
                worker.silent = Duration::ZERO;
            } else if worker.silent > hung_after && worker.stays() && !worker.is_silence_logged {
                worker.is_silence_logged = true;
                let line = WorkerLine::Silent { silent: worker.silent, limit };
                self.actions.push(Action::Log(LogLine::Worker(*id, worker.pid, line)));
            }
        }
        hung.extend(out);
        for (worker, pid) in hung {
            // One that was killed is not killed again: its exit may take long, for instance in a wait for a disk.
            let Some(process) = self.workers.get_mut(&worker) else { continue };
            if mem::replace(&mut process.is_timed_out, true) {
                continue;
            }
            self.log_worker(worker, Some(pid), WorkerLine::Hung);
            self.act(Action::Mark(worker, ExitReason::Hung));
            self.act(Action::Kill(pid));
            // Its exit may never be known: a process that the application has forked in it holds its connections.
            if self.workers.get(&worker).is_some_and(|worker| self.lacks_mold(worker)) {
                self.worker_ended(worker, None, now);
            }
        }
    }

    fn weigh(&mut self, is_watched: bool, now: Instant) {
        let often = match self.policy.worker_memory {
            _ if self.wanted < self.policy.max_workers && self.has_young(now) => GROWING,
            _ if self.headroom.is_tight() => GROWING,
            _ if self.workers.values().any(|worker| !worker.is_booting() && worker.weighed.is_none()) => GROWING,
            _ if is_watched => WATCHED,
            Some(_) => LIMITED,
            None => UNWATCHED,
        };
        let is_due = self.checks.weighed.is_none_or(|then| now.saturating_duration_since(then) >= often);
        if !is_due || self.checks.is_weighing || self.is_stopping() {
            return;
        }
        let molds = self.molds.iter().filter(|(_, mold)| mold.is_loaded() && !mold.is_worker());
        let molds = molds.map(|(pid, _)| (Speaker::Mold(*pid), *pid));
        let workers = self.workers.iter().filter(|(_, worker)| !worker.is_booting());
        let workers = workers.filter_map(|(id, worker)| Some((Speaker::Worker(*id), worker.pid?)));
        let all: Vec<(Speaker, u32)> = molds.chain(workers).collect();
        if !all.is_empty() {
            (self.checks.weighed, self.checks.is_weighing) = (Some(now), true);
            self.act(Action::Weigh(all));
        }
    }

    /// Handles the memory use of molds and workers.
    pub(super) fn weighed(&mut self, weights: &[(Speaker, Option<Weight>)], now: Instant) {
        self.checks.is_weighing = false;
        let limit_kib = self.policy.worker_memory.map(|bytes| bytes / 1024);
        for (who, weight) in weights {
            let pss_kib = weight.map(|weight| weight.pss_kib);
            let id = match who {
                Speaker::Mold(pid) => {
                    self.molds.entry(*pid).and_modify(|mold| mold.pss_kib = pss_kib);
                    continue;
                }
                Speaker::Worker(id) => *id,
            };
            let Some(worker) = self.workers.get_mut(&id) else { continue };
            worker.weighed = Some((now, *weight));
            let pid = worker.pid;
            match (limit_kib, pss_kib) {
                (Some(limit_kib), Some(pss_kib)) if pss_kib > limit_kib => {
                    self.log_worker(id, pid, WorkerLine::TooLarge { pss_kib, limit_kib });
                    self.expire(id, ExitReason::Memory, now);
                }
                (Some(_), None) if !mem::replace(&mut self.checks.has_complained, true) => {
                    self.log_worker(id, pid, WorkerLine::WeightUnknown);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "health_test.rs"]
mod tests;
