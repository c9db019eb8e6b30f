//! What somebody who operates the server tells the engine to do.

use std::sync::mpsc::SyncSender;
use std::time::Instant;

use engine::{Order, count};

use crate::event::Outcome;
use crate::process::{is_stopped, kill_now};
use crate::reason::Reason;
use crate::work::Work;

impl Work {
    /// Carries an order out; backtraces take a moment.
    pub(crate) fn told(&mut self, order: Order, to: SyncSender<Outcome>) {
        if self.is_stopping {
            let _ = to.send(Err("the server is shutting down".to_owned()));
            return;
        }
        let outcome = match order {
            Order::Scale { min, max } => self.scale(min, max),
            Order::Pause => self.pause(),
            Order::Resume => self.resume(),
            Order::EndWorker { worker, now } => self.end_worker(worker, now),
            Order::Recycle => self.recycle(),
            Order::Backtraces(worker) => match self.ask_for_backtraces(worker, to.clone()) {
                Ok(()) => return,
                Err(why) => Err(why),
            },
        };
        let _ = to.send(outcome);
    }

    fn pause(&mut self) -> Outcome {
        self.pool.pause(Instant::now());
        tracing::info!(target: "engine", app = self.app(), "paused: requests wait");
        Ok("paused: requests wait".to_owned())
    }

    fn resume(&mut self) -> Outcome {
        let waiting = self.pool.resume(Instant::now());
        let Some(waiting) = waiting else { return Ok("it was not paused".to_owned()) };
        let words = format!("resumed: {} waited", count(waiting, "request"));
        tracing::info!(target: "engine", app = self.app(), "{words}");
        Ok(words)
    }

    fn recycle(&mut self) -> Outcome {
        let mut ids: Vec<u32> = self.workers.iter().filter(|(_, w)| w.is_ready).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        let workers = count(ids.len(), "worker");
        ids.into_iter().for_each(|id| self.wear(id, Reason::Recycle));
        Ok(format!("replacing {workers}, one at a time"))
    }

    fn end_worker(&mut self, id: u32, now: bool) -> Outcome {
        let Some(worker) = self.workers.get(&id) else { return Err(self.no_worker(id)) };
        let Some(pid) = worker.pid else { return Err(format!("worker {id} is not there yet")) };
        if now {
            self.pool.mark(id, Reason::Order);
            kill_now(pid);
            return Ok(format!("worker {id} (pid {pid}) was killed"));
        }
        if !worker.is_ready {
            return Err(format!("worker {id} (pid {pid}) is booting: it can only be ended at once"));
        }
        self.send_away(id, Reason::Order);
        Ok(format!("worker {id} (pid {pid}) ends when it has finished what it runs"))
    }

    fn ask_for_backtraces(&mut self, id: u32, to: SyncSender<Outcome>) -> Result<(), String> {
        let Some(worker) = self.workers.get(&id) else { return Err(self.no_worker(id)) };
        let Some(control) = worker.control.clone().filter(|_| worker.is_ready) else {
            return Err(format!("worker {id} is booting"));
        };
        if worker.pid.is_some_and(is_stopped) {
            return Err(format!("worker {id} is stopped (by SIGSTOP, or a debugger) and cannot answer"));
        }
        self.next_question = self.next_question.wrapping_add(1);
        // Whoever asked before and got no answer has gone by now.
        self.asked.retain(|number, _| self.next_question.wrapping_sub(*number) < 100);
        self.asked.insert(self.next_question, to);
        control.threads(self.next_question);
        Ok(())
    }

    /// The answer.
    pub(crate) fn backtraces_came(&mut self, number: u32, text: String) {
        if let Some(to) = self.asked.remove(&number) {
            let _ = to.send(Ok(text));
        }
    }

    fn no_worker(&self, id: u32) -> String {
        let mut ids: Vec<u32> = self.workers.keys().copied().collect();
        ids.sort_unstable();
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        let there = if ids.is_empty() { "there is none".to_owned() } else { format!("there are {}", ids.join(", ")) };
        format!("there is no worker {id}: {there}")
    }
}
