//! How many workers there are to be: more while requests wait, fewer when they have nothing to do, and what somebody
//! who operates the server says.

use std::time::{Duration, Instant};

use engine::count;

use crate::budget::Standing;
use crate::event::Outcome;
use crate::reason::Reason;
use crate::work::Work;

/// More than this is a slip of the keyboard.
const WORKERS_MAX: usize = 1024;

impl Work {
    /// Requests wait: one more worker, unless one is on its way, or there are as many as may be.
    pub(crate) fn grow(&mut self) {
        let is_growing = self.workers.values().any(|worker| !worker.is_ready && !worker.is_leaving);
        if self.is_stopping || is_growing || self.staying() < self.wanted || self.wanted >= self.settings.max_workers {
            return;
        }
        let now = Instant::now();
        // The first worker comes whatever there is: without it nothing is answered.
        if self.wanted > 0 && !self.has_room(now) {
            return;
        }
        if self.share.as_ref().is_some_and(|share| !share.take(self.wanted == 0)) {
            return;
        }
        self.wanted += 1;
        let waiting = {
            let mut dispatch = self.pool.dispatch();
            dispatch.usage.grown(self.wanted, now);
            dispatch.line.len()
        };
        let (app, wanted) = (self.app(), count(self.wanted, "worker"));
        tracing::info!(target: "engine", app, "scaling up to {wanted}: {} waiting", count(waiting, "request"));
    }

    /// Lets workers go that have not been needed for a while.
    pub(crate) fn shrink(&mut self, now: Instant) {
        let spare_for = {
            let dispatch = self.pool.dispatch();
            let busy = dispatch.busy_workers();
            let spare_for = dispatch.usage.spare_for(self.wanted, busy, now);
            let needed = dispatch.usage.needed(busy, self.settings.idle_time, now);
            drop(dispatch);
            while self.wanted > needed.max(self.settings.min_workers) && self.let_go(Reason::Idle) {}
            spare_for
        };
        self.tell_standing(spare_for);
    }

    /// Tells those who share a number of workers with us how many we have.
    pub(crate) fn tell_standing(&self, spare_for: Option<Duration>) {
        let Some(share) = &self.share else { return };
        let going = self.workers.values().filter(|worker| worker.is_last).count();
        share.tell(Standing { holds: self.wanted + going, floor: self.settings.min_workers, spare_for });
    }

    /// One worker fewer is to be there, best one that has nothing to do. One that has to be idle may not be found.
    fn let_go(&mut self, reason: Reason) -> bool {
        if self.staying() >= self.wanted {
            let chosen = {
                let dispatch = self.pool.dispatch();
                let staying = dispatch.workers.iter().filter(|worker| !worker.is_leaving);
                // The youngest has the least to lose.
                let chosen = staying.min_by_key(|worker| (worker.busy + worker.taken, u32::MAX - worker.id));
                chosen.filter(|worker| worker.is_done() || reason != Reason::Idle).map(|worker| worker.id)
            };
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

    /// A worker finishes what it has, and goes.
    pub(crate) fn send_away(&mut self, id: u32, reason: Reason) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.is_leaving = true;
            worker.is_last = !reason.has_successor();
        }
        self.pool.retire(id, reason);
    }

    /// One that boots goes as soon as it is there.
    fn forget_one(&mut self) {
        if let Some(worker) = self.workers.values_mut().find(|worker| !worker.is_ready && !worker.is_leaving) {
            worker.is_leaving = true;
            worker.is_last = true;
        }
    }

    /// Another application has none, or waits while we do not need all of ours.
    pub(crate) fn give_up(&mut self) {
        if self.wanted <= self.settings.min_workers || !self.let_go(Reason::Scale) {
            self.share.iter().for_each(|share| share.keep());
        }
    }

    /// Somebody has said how many there are to be.
    pub(crate) fn scale(&mut self, min: usize, max: usize) -> Outcome {
        if min > max || max == 0 || max > WORKERS_MAX {
            return Err(format!(
                "from {min} to {max} workers cannot be: give MIN and MAX from 0 to {WORKERS_MAX}, MAX not below MIN \
                 and at least 1"
            ));
        }
        (self.settings.min_workers, self.settings.max_workers) = (min, max);
        while self.wanted > max && self.let_go(Reason::Scale) {}
        while self.wanted < min {
            self.wanted += 1;
            self.pool.dispatch().usage.grown(self.wanted, Instant::now());
        }
        let wanted = self.wanted;
        let (app, bounds) = (self.app(), range(min, max));
        tracing::info!(target: "engine", app, "scale: {bounds}, {wanted} now");
        Ok(if min == max { range(min, max) } else { format!("{}, {wanted} now", range(min, max)) })
    }
}

fn range(min: usize, max: usize) -> String {
    if min == max { count(max, "worker") } else { format!("from {min} to {}", count(max, "worker")) }
}
