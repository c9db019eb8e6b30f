//! The one who knows all processes: what happens to them comes in here as events, one after the other, and what follows
//! from each is in `starts`, `arrivals`, `ends`, `size`, `health` and `commands`.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::{Order, Variables};
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;

use crate::backoff::Backoff;
use crate::boot::Facts;
use crate::budget::Share;
use crate::door::Pass;
use crate::frames::Frame;
use crate::headroom::Headroom;
use crate::health::Health;
use crate::late::Reminder;
use crate::memory::Weight;
use crate::place::Place;
use crate::pool::Pool;
use crate::process::{Booting, Exit, Mold};
use crate::reason::Reason;
use crate::{Settings, StartError, orders};

/// How often it looks for what is late, idle or ill.
pub const LOOK: Duration = Duration::from_millis(100);
/// An order is carried out, or refused, in this time.
const ORDER_TIME: Duration = Duration::from_secs(5);

/// The hooks `before_exec` end in their time, or are ended; word of it has so long to arrive.
const WORD_TIME: Duration = Duration::from_secs(5);

/// What came of an order.
pub type Outcome = Result<String, String>;
/// What came of the hooks `before_exec`.
pub type Prepared = Result<Variables, String>;

/// What happens to processes.
pub enum Event {
    /// A process that we started has said HELLO.
    Mold(u32, UnixStream),
    /// A worker has opened its control connection.
    Control(u32, u32, UnixStream),
    /// A worker has opened the connection of a thread.
    Slot(u32, u32, StdStream),
    /// A mold or a worker says something; a mold's worker number is 0.
    Said(Speaker, Frame),
    /// Its connection has ended.
    Silent(Speaker),
    /// A process that we started has ended, in these words.
    Ended(u32, Exit),
    /// A worker was taken out of the pool, for this reason if there is a reason to end it.
    WorkerGone(u32, Option<String>),
    /// A worker finishes what it has and goes.
    Leaving(u32, Reason),
    /// A worker should be replaced when there is time for it.
    Worn(u32, Reason),
    /// Requests wait.
    Wanted,
    /// Another application needs one of our places.
    GiveUp,
    /// The kernel has killed a worker because memory was full.
    OutOfMemory(u32),
    /// What memory these need.
    Weighed(Vec<(Speaker, Option<Weight>)>),
    /// Somebody has given an order and waits for its outcome.
    Told(Order, SyncSender<Outcome>),
    /// The program is to be started anew: run the hooks for that within this time, and say what came of it.
    BeforeExec(Duration, SyncSender<Prepared>),
    /// End all processes within this time, and say when.
    Stop(Duration, SyncSender<()>),
}

/// Who speaks on a connection of orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The mold in this process.
    Mold(u32),
    /// The worker with this number.
    Worker(u32),
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Speaker::Mold(pid) => write!(f, "mold (pid {pid})"),
            Speaker::Worker(worker) => write!(f, "worker {worker}"),
        }
    }
}

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
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// The supervisor at work.
pub struct Work {
    pub settings: Settings,
    pub pool: Arc<Pool>,
    pub place: Place,
    /// Places that were not whole any more: workers may still come in there.
    pub old_places: Vec<Place>,
    pub pass: Arc<Pass>,
    pub events: UnboundedSender<Event>,
    /// Empty once the start has been answered for.
    pub told: Option<SyncSender<Result<Facts, StartError>>>,
    pub facts: Facts,
    pub molds: HashMap<u32, Mold>,
    pub workers: HashMap<u32, Booting>,
    pub next: u32,
    /// How many workers there should be now; between `min_workers` and `max_workers` of the settings.
    pub wanted: usize,
    /// The connections for which the application is loaded in each worker although nobody has asked for that.
    pub not_shared: Option<String>,
    /// Our part of a number of workers that is shared with others.
    pub share: Option<Share>,
    /// Workers that should be replaced, one after the other, and why.
    pub worn: VecDeque<(u32, Reason)>,
    pub health: Health,
    pub headroom: Headroom,
    /// Who waits for the backtraces with this number, and the last one.
    pub asked: HashMap<u32, SyncSender<Outcome>>,
    pub next_question: u32,
    /// The mold that runs the hooks `before_exec`, and who waits for what comes of them.
    pub preparing: Option<(u32, SyncSender<Prepared>)>,
    pub backoff: Backoff,
    pub reminder: Reminder,
    pub is_stopping: bool,
    /// The start has failed: there is nothing to go on with.
    pub is_over: bool,
}

impl Work {
    /// Nothing is started yet.
    pub fn new(
        settings: Settings,
        pool: Arc<Pool>,
        (place, pass): (Place, Arc<Pass>),
        events: UnboundedSender<Event>,
        told: SyncSender<Result<Facts, StartError>>,
    ) -> Work {
        let share = settings.budget.as_ref().map(|budget| budget.join(events.clone()));
        let now = Instant::now();
        pool.dispatch().usage.grown(settings.min_workers, now);
        Work {
            wanted: settings.min_workers,
            settings,
            pool,
            place,
            old_places: Vec::new(),
            pass,
            events,
            told: Some(told),
            facts: Facts::new(),
            molds: HashMap::new(),
            workers: HashMap::new(),
            next: 1,
            not_shared: None,
            share,
            worn: VecDeque::new(),
            health: Health::new(now),
            headroom: Headroom::new(),
            asked: HashMap::new(),
            next_question: 0,
            preparing: None,
            backoff: Backoff::new(now),
            reminder: Reminder::new(now),
            is_stopping: false,
            is_over: false,
        }
    }

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
