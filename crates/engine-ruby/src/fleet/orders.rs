//! Orders of an operator about workers. Orders about their number are in `autoscaler`.

use std::time::Instant;

use engine::count;

use super::Fleet;
use super::action::{Action, Outcome};
use super::worker::WorkerProcess;
use crate::exit_reason::ExitReason;

impl Fleet {
    /// Replaces all workers, one after the other.
    pub(super) fn recycle(&mut self, now: Instant) {
        let booted = self.workers.iter().filter(|(_, worker)| !worker.is_booting() && worker.stays());
        let ids: Vec<u32> = booted.map(|(id, _)| *id).collect();
        let workers = count(ids.len(), "worker");
        ids.into_iter().for_each(|id| self.expire(id, ExitReason::Recycle, now));
        self.answer(Ok(format!("replacing {workers}, one at a time")));
    }

    pub(super) fn end_worker(&mut self, id: u32, is_replaced: bool) {
        let outcome = match self.known(id) {
            Ok((pid, true)) => Err(format!("worker {id} (pid {pid}) is booting: it can only be ended at once")),
            Ok((pid, false)) => {
                let reason = if !is_replaced && self.spare(id) { ExitReason::Scale } else { ExitReason::Order };
                // What becomes of the place of a worker that leaves already is settled.
                if self.workers.get(&id).is_some_and(WorkerProcess::stays) {
                    self.leaving(id, reason);
                }
                self.act(Action::Retire(id, reason));
                Ok(format!("worker {id} (pid {pid}) ends when it has finished what it runs"))
            }
            Err(why) => Err(why),
        };
        self.answer(outcome);
    }

    pub(super) fn kill_worker(&mut self, id: u32, is_replaced: bool) {
        let outcome = self.known(id).map(|(pid, _)| {
            if !is_replaced && self.spare(id) {
                self.leaving(id, ExitReason::Scale);
            }
            self.act(Action::Mark(id, ExitReason::Order));
            self.act(Action::Kill(pid));
            format!("worker {id} (pid {pid}) was killed")
        });
        self.answer(outcome);
    }

    /// Gives up the place of a worker, if another one serves: without one nothing is answered. Returns whether it did.
    fn spare(&mut self, id: u32) -> bool {
        let has_other = self.workers.iter().any(|(other, worker)| *other != id && worker.serves());
        // One that leaves anyway has none any more, and one more than wanted is or has a successor.
        let has_place = self.workers.get(&id).is_some_and(WorkerProcess::stays) && self.staying() <= self.wanted;
        let is_spared = has_other && has_place;
        if is_spared {
            self.wanted -= 1;
            self.policy.min_workers = self.policy.min_workers.min(self.wanted);
        }
        is_spared
    }

    /// Asks a worker for backtraces; its reply answers the order.
    pub(super) fn ask_for_backtraces(&mut self, id: u32) {
        let why = match self.workers.get(&id) {
            Some(worker) => match worker.pid.filter(|_| !worker.is_booting()) {
                Some(pid) => return self.act(Action::AskForBacktraces { worker: id, pid }),
                None => format!("worker {id} is booting"),
            },
            None => self.no_worker(id),
        };
        self.answer(Err(why));
    }

    /// Answers the order that is being carried out.
    pub(super) fn answer(&mut self, outcome: Outcome) {
        self.act(Action::Answer(outcome));
    }

    /// Returns the process of a worker, and whether it is booting.
    fn known(&self, id: u32) -> Result<(u32, bool), String> {
        let worker = self.workers.get(&id).ok_or_else(|| self.no_worker(id))?;
        let pid = worker.pid.ok_or_else(|| format!("worker {id} is not there yet"))?;
        Ok((pid, worker.is_booting()))
    }

    fn no_worker(&self, id: u32) -> String {
        let ids: Vec<String> = self.workers.keys().map(u32::to_string).collect();
        let there = if ids.is_empty() { "there is none".to_owned() } else { format!("there are {}", ids.join(", ")) };
        format!("there is no worker {id}: {there}")
    }
}

#[cfg(test)]
#[path = "orders_test.rs"]
mod tests;
