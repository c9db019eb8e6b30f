//! Orders of an operator about workers. Orders about their number are in `autoscaler`.

use std::time::Instant;

use engine::count;

use super::Fleet;
use super::action::Action;
use super::outcome::Outcome;
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

    pub(super) fn end_worker(&mut self, id: u32) {
        let outcome = match self.known(id) {
            Ok((pid, true)) => Err(format!("worker {id} (pid {pid}) is booting: it can only be ended at once")),
            Ok((pid, false)) => {
                self.retire(id, ExitReason::Order);
                Ok(format!("worker {id} (pid {pid}) ends when it has finished what it runs"))
            }
            Err(why) => Err(why),
        };
        self.answer(outcome);
    }

    pub(super) fn kill_worker(&mut self, id: u32) {
        let outcome = self.known(id).map(|(pid, _)| {
            self.act(Action::Mark(id, ExitReason::Order));
            self.act(Action::Kill(pid));
            format!("worker {id} (pid {pid}) was killed")
        });
        self.answer(outcome);
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

    fn answer(&mut self, outcome: Outcome) {
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
