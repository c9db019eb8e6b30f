//! The shutdown: workers exit first, then molds, and what has not exited in time is killed.

use std::time::{Duration, Instant};

use super::action::Action;
use super::mold::Connection;
use super::speaker::Speaker;
use super::worker::Life;
use super::{Fleet, Stage};

/// The time that molds have to exit after their workers, even past the deadline. An immediate shutdown must be over
/// within a second in all.
const MOLD_TIME: Duration = Duration::from_millis(250);

impl Fleet {
    /// Begins the shutdown: workers finish their requests, until this time at most. If it has begun already, an earlier
    /// time shortens it, and a later one changes nothing.
    pub(super) fn stop(&mut self, until: Instant) {
        match &mut self.stage {
            Stage::Draining(by) | Stage::Ending(by) => {
                *by = until.min(*by);
                return;
            }
            Stage::Over => return,
            Stage::Starting | Stage::Running => {}
        }
        self.stage = Stage::Draining(until);
        let is_forking = self.drop_orders() > 0;
        // A mold that is loading, or about to fork, has nothing to finish and does not read orders.
        let busy = self.molds.iter().filter(|(_, mold)| !mold.is_loaded() || is_forking && mold.is_forker());
        self.actions.extend(busy.map(|(pid, _)| Action::Kill(*pid)));
        for (id, worker) in &self.workers {
            match (worker.life, worker.pid) {
                (Life::Booted | Life::Ready, _) => self.actions.push(Action::Stop(Speaker::Worker(*id))),
                (_, Some(pid)) => self.actions.push(Action::Kill(pid)),
                (_, None) => {}
            }
        }
    }

    /// Continues the shutdown when workers, or molds, have exited or their time is over.
    pub(super) fn proceed_to_stop(&mut self, has_last_answers: bool, now: Instant) {
        if let Stage::Draining(until) = self.stage
            && (now >= until || self.workers.is_empty() && !has_last_answers)
        {
            self.actions.extend(self.workers.values().filter_map(|worker| worker.pid).map(Action::Kill));
            let molds = self.molds.iter().filter(|(_, mold)| mold.connection != Connection::Awaited);
            self.actions.extend(molds.map(|(pid, _)| Action::Stop(Speaker::Mold(*pid))));
            self.stage = Stage::Ending(until.max(now + MOLD_TIME));
        }
        if let Stage::Ending(until) = self.stage
            && (now >= until || self.molds.is_empty())
        {
            self.actions.extend(self.molds.keys().copied().map(Action::Kill));
            self.stage = Stage::Over;
        }
    }
}

#[cfg(test)]
#[path = "stop_test.rs"]
mod tests;
