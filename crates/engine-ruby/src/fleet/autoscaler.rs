//! The autoscaler: more workers while requests wait, fewer when they are idle, and any number that an operator orders.

use std::time::Instant;

use engine::count;

use super::Fleet;
use super::action::Action;
use super::event::Load;
use super::log_line::LogLine;
use super::worker::Leave;
use crate::exit_reason::ExitReason;

/// The largest number of workers that an order may ask for; more is a typing error.
const WORKERS_MAX: usize = 1024;

impl Fleet {
    /// Adds a worker because requests wait, unless one is booting or there is the maximum.
    pub(super) fn grow(&mut self, now: Instant) {
        let is_growing = self.workers.values().any(|worker| worker.is_booting() && worker.stays());
        if self.is_stopping() || is_growing || self.staying() < self.wanted || self.wanted >= self.policy.max_workers {
            return;
        }
        // The first worker is added whatever memory is left: without it nothing is answered.
        let has_none = self.wanted == 0;
        if !has_none && self.no_growth_before.is_some_and(|then| now < then) {
            return;
        }
        if has_none || self.has_room(now) {
            self.act(Action::TakePlace { has_none });
        }
    }

    pub(super) fn place_taken(&mut self) {
        self.wanted += 1;
        self.act(Action::Grown(self.wanted));
        self.log(LogLine::ScalingUp { wanted: self.wanted });
    }

    /// Retires workers that were not needed within the idle time.
    pub(super) fn shrink(&mut self, needed: usize, loads: &[Load]) {
        while self.wanted > needed.max(self.policy.min_workers) && self.let_go(ExitReason::Idle, loads) {}
    }

    /// Reduces the number of workers by one, and retires one, preferably an idle one. Returns false if the reason
    /// requires an idle worker and there is none.
    fn let_go(&mut self, reason: ExitReason, loads: &[Load]) -> bool {
        if self.staying() >= self.wanted {
            // One that has a successor already is no choice: if it left for this, there would be one too many.
            let stays = |load: &&Load| {
                let is_staying = self.workers.get(&load.worker).is_some_and(|worker| worker.stays());
                !load.is_leaving && is_staying && !self.is_succeeded(load.worker)
            };
            // The youngest has the least to lose.
            let chosen = loads.iter().filter(stays).min_by_key(|load| (load.requests, u32::MAX - load.worker));
            let chosen = chosen.filter(|load| load.is_done || reason != ExitReason::Idle).map(|load| load.worker);
            match chosen.filter(|_| !self.has_one_and_one_that_boots()) {
                Some(id) => self.retire(id, reason),
                // None can be spared before one that boots is ready: that must be given up, or it would be one too
                // many.
                None if reason == ExitReason::Idle => return false,
                None => self.forget_one(),
            }
        }
        self.wanted -= 1;
        true
    }

    /// Returns whether a single worker serves while another one boots. Until that is ready, nothing would be answered
    /// without it.
    fn has_one_and_one_that_boots(&self) -> bool {
        let serving = self.workers.values().filter(|worker| worker.serves()).count();
        serving == 1 && self.workers.values().any(|worker| worker.is_booting() && worker.stays())
    }

    /// Marks a booting worker, so that it is retired as soon as it is ready.
    fn forget_one(&mut self) {
        if let Some(worker) = self.workers.values_mut().find(|worker| worker.is_booting() && worker.stays()) {
            worker.leave = Some(Leave::Last);
        }
    }

    /// Gives up a place for another application, if this one has more than its minimum of workers.
    pub(super) fn give_up(&mut self, loads: &[Load]) {
        if self.wanted <= self.policy.min_workers || !self.let_go(ExitReason::Scale, loads) {
            self.act(Action::KeepPlace);
        }
    }

    /// Changes the bounds of the number of workers, by order of an operator.
    pub(super) fn scale(&mut self, min: usize, max: usize, loads: &[Load]) {
        if min > max || max == 0 || max > WORKERS_MAX {
            return self.answer(Err(format!(
                "from {min} to {} cannot be: give MIN and MAX from 0 to {WORKERS_MAX}, MAX not below MIN and at least \
                 1",
                count(max, "worker")
            )));
        }
        let before = (self.policy.min_workers, self.policy.max_workers, self.wanted);
        self.policy.min_workers = min;
        self.policy.max_workers = max;
        while self.wanted > max && self.let_go(ExitReason::Scale, loads) {}
        while self.wanted < min {
            self.wanted += 1;
            self.act(Action::Grown(self.wanted));
        }
        let wanted = self.wanted;
        // A reload orders what is so already.
        if before != (min, max, wanted) {
            self.log(LogLine::Scaled { min, max, wanted });
        }
        let range = range(min, max);
        self.answer(Ok(if min == max { range } else { format!("{range}, {wanted} now") }));
    }
}

/// Returns a number of workers in words, such as `from 1 to 4 workers`.
pub fn range(min: usize, max: usize) -> String {
    if min == max { count(max, "worker") } else { format!("from {min} to {}", count(max, "worker")) }
}

#[cfg(test)]
#[path = "autoscaler_test.rs"]
mod tests;
