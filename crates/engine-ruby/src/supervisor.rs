//! The one who knows all processes: what happens to them comes in here as events, one after the other, and what follows
//! from each is in `starts`, `arrivals`, `ends`, `size`, `health` and `commands`.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::Order;
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;

use crate::event::{Event, Outcome, Prepared, Speaker};
use crate::orders;
use crate::work::{LOOK, Work};

/// An order is carried out, or refused, in this time.
const ORDER_TIME: Duration = Duration::from_secs(5);

/// The hooks `before_exec` end in their time, or are ended; word of it has so long to arrive.
const WORD_TIME: Duration = Duration::from_secs(5);

/// The way to the supervisor.
pub struct Supervisor {
    events: UnboundedSender<Event>,
    /// Of its thread, until somebody waits for the end of that.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Supervisor {
    /// With the channel of its events, and its thread.
    pub fn new(events: UnboundedSender<Event>, thread: JoinHandle<()>) -> Supervisor {
        Supervisor { events, thread: Mutex::new(Some(thread)) }
    }

    /// Gives an order and waits for what comes of it.
    pub fn order(&self, order: Order) -> Outcome {
        let (sender, outcome) = sync_channel(1);
        let late = match &order {
            Order::Backtraces(worker) => format!("worker {worker} did not answer within {ORDER_TIME:?}"),
            _ => format!("the supervisor did not answer within {ORDER_TIME:?}"),
        };
        if self.events.send(Event::Told(order, sender)).is_err() {
            return Err("the engine has ended".to_owned());
        }
        outcome.recv_timeout(ORDER_TIME).unwrap_or(Err(late))
    }

    /// Runs the hooks `before_exec`, and gives what these have changed, or why they have failed.
    pub fn before_exec(&self, limit: Duration) -> Prepared {
        let (sender, outcome) = sync_channel(1);
        if self.events.send(Event::BeforeExec(limit, sender)).is_err() {
            return Err("the engine has ended".to_owned());
        }
        match outcome.recv_timeout(limit + WORD_TIME) {
            Ok(prepared) => prepared,
            Err(RecvTimeoutError::Timeout) => Err(format!("they have not ended within {limit:?}")),
            Err(RecvTimeoutError::Disconnected) => Err("the process that runs them has ended".to_owned()),
        }
    }

    /// Ends all processes and returns when they have ended, and what was made for them is removed.
    pub fn stop(&self, time: Duration) {
        let (sender, done) = sync_channel(1);
        if self.events.send(Event::Stop(time, sender)).is_ok()
            && done.recv_timeout(time + Duration::from_secs(5)) == Err(RecvTimeoutError::Timeout)
        {
            return;
        }
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Work {
    /// Until it is stopped.
    pub async fn run(mut self, mut inbox: UnboundedReceiver<Event>) {
        let mut looked = Instant::now();
        self.tell_standing(None);
        while !self.is_over {
            self.fill();
            self.publish();
            match timeout(LOOK, inbox.recv()).await {
                Ok(Some(Event::Stop(time, done))) => {
                    self.end(&mut inbox, time).await;
                    let _ = done.send(());
                    return;
                }
                Ok(Some(event)) => self.take(event),
                Ok(None) => return,
                Err(_) => {}
            }
            let now = Instant::now();
            let passed = now.saturating_duration_since(looked);
            if passed >= LOOK && !self.is_over {
                looked = now;
                self.look_for_late();
                self.pool.stop_lingering(now, self.settings.linger);
                self.watch_memory(now);
                self.shrink(now);
                self.check_health(now, passed);
            }
        }
    }

    pub(crate) fn take(&mut self, event: Event) {
        match event {
            Event::Mold(pid, stream) => self.mold_came(pid, stream),
            Event::Control(worker, pid, stream) => self.control_came(worker, pid, stream),
            Event::Slot(worker, number, stream) => {
                if let Some(booting) = self.workers.get_mut(&worker) {
                    booting.slots.push((number, stream));
                }
                self.take_in(worker);
            }
            Event::Said(speaker, frame) => orders::take(self, speaker, frame),
            Event::Silent(Speaker::Worker(worker)) => orders::fell_silent(self, worker),
            Event::Silent(Speaker::Mold(pid)) => {
                self.molds.entry(pid).and_modify(|mold| mold.is_silent = true);
                self.process_ended(pid);
            }
            Event::Ended(pid, how) => {
                self.molds.entry(pid).and_modify(|mold| mold.ended = Some((how, Instant::now())));
                self.process_ended(pid);
            }
            Event::WorkerGone(worker, why) => self.worker_ended(worker, why),
            Event::Leaving(worker, reason) => {
                if let Some(worker) = self.workers.get_mut(&worker) {
                    worker.is_leaving = true;
                    worker.is_last = !reason.has_successor();
                }
            }
            Event::Worn(worker, reason) => self.wear(worker, reason),
            Event::Wanted => self.grow(),
            Event::GiveUp => self.give_up(),
            Event::OutOfMemory(worker) => self.memory_was_full(worker, Instant::now()),
            Event::Weighed(weights) => self.weighed(&weights),
            Event::Told(order, outcome) => self.told(order, outcome),
            Event::BeforeExec(limit, prepared) => self.run_exec_hooks(limit, prepared),
            Event::Stop(..) => {}
        }
    }
}
