//! The number of workers: more while requests wait, fewer when they have nothing to do, and as many as an operator
//! orders.

use std::time::Instant;

use engine::count;

use super::Fleet;
use super::action::Action;
use super::event::Load;
use super::log_line::LogLine;
use super::worker::Leave;
use crate::reason::Reason;

/// More than this is a slip of the keyboard.
const WORKERS_MAX: usize = 1024;

impl Fleet {
    /// Adds a worker because requests wait, unless one is on its way, or there are as many as may be.
    pub(super) fn grow(&mut self, now: Instant) {
        let is_growing = self.workers.values().any(|worker| worker.is_booting() && worker.stays());
        if self.is_stopping() || is_growing || self.staying() < self.wanted || self.wanted >= self.policy.max_workers {
            return;
        }
        // The first worker comes whatever there is: without it nothing is answered.
        let has_none = self.wanted == 0;
        if has_none || self.has_room(now) {
            self.act(Action::TakePlace { has_none });
        }
    }

    pub(super) fn place_taken(&mut self) {
        self.wanted += 1;
        self.act(Action::Grown(self.wanted));
        self.log(LogLine::ScalingUp { wanted: self.wanted });
    }

    /// Lets workers go that have not been needed for a while.
    pub(super) fn shrink(&mut self, needed: usize, loads: &[Load]) {
        while self.wanted > needed.max(self.policy.min_workers) && self.let_go(Reason::Idle, loads) {}
    }

    /// Removes a worker, at best one that has nothing to do. False where it has to be idle and none is.
    fn let_go(&mut self, reason: Reason, loads: &[Load]) -> bool {
        if self.staying() >= self.wanted {
            let stays =
                |load: &&Load| !load.is_leaving && self.workers.get(&load.worker).is_some_and(|worker| worker.stays());
            // The youngest has the least to lose.
            let chosen = loads.iter().filter(stays).min_by_key(|load| (load.requests, u32::MAX - load.worker));
            let chosen = chosen.filter(|load| load.is_done || reason != Reason::Idle).map(|load| load.worker);
            match chosen {
                Some(id) => self.send_away(id, reason),
                // None is ready yet: one that boots must be forgotten, or it would come too late to be too many.
                None if reason == Reason::Idle => return false,
                None => self.forget_one(),
            }
        }
        self.wanted -= 1;
        true
    }

    /// Has a worker that boots leave as soon as it is ready.
    fn forget_one(&mut self) {
        if let Some(worker) = self.workers.values_mut().find(|worker| worker.is_booting() && worker.stays()) {
            worker.leave = Some(Leave::Last);
        }
    }

    /// Gives a place up for another application that has none, or waits while we do not need all of ours.
    pub(super) fn give_up(&mut self, loads: &[Load]) {
        if self.wanted <= self.policy.min_workers || !self.let_go(Reason::Scale, loads) {
            self.act(Action::KeepPlace);
        }
    }

    /// Changes the bounds of the pool, by order.
    pub(super) fn scale(&mut self, min: usize, max: usize, loads: &[Load]) {
        if min > max || max == 0 || max > WORKERS_MAX {
            return self.act(Action::Answer(Err(format!(
                "from {min} to {max} workers cannot be: give MIN and MAX from 0 to {WORKERS_MAX}, MAX not below MIN \
                 and at least 1"
            ))));
        }
        (self.policy.min_workers, self.policy.max_workers) = (min, max);
        while self.wanted > max && self.let_go(Reason::Scale, loads) {}
        while self.wanted < min {
            self.wanted += 1;
            self.act(Action::Grown(self.wanted));
        }
        let wanted = self.wanted;
        self.log(LogLine::Scaled { min, max, wanted });
        let range = range(min, max);
        self.act(Action::Answer(Ok(if min == max { range } else { format!("{range}, {wanted} now") })));
    }
}

/// A number of workers in words, such as `from 1 to 4 workers`.
pub fn range(min: usize, max: usize) -> String {
    if min == max { count(max, "worker") } else { format!("from {min} to {}", count(max, "worker")) }
}

#[cfg(test)]
#[path = "autoscaler_test.rs"]
mod tests;
