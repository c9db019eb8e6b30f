//! Decides which processes there should be: starts molds, lets them fork workers, takes note of what is ready and what
//! has ended, and replaces it.

use std::collections::HashMap;
use std::os::unix::net::UnixStream as StdStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;

use crate::backoff::Backoff;
use crate::boot::Facts;
use crate::frames::Frame;
use crate::pool::Pool;
use crate::process::{self, Booting, Mold, Way, kill_now};
use crate::slot::Slot;
use crate::worker::Worker;
use crate::{Settings, StartError, orders};

/// How often it looks for what is late.
pub const LOOK: Duration = Duration::from_millis(100);

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
    Ended(u32, String),
    /// A worker was taken out of the pool, for this reason if there is a reason to end it.
    WorkerGone(u32, Option<String>),
    /// A worker finishes what it has and goes.
    Leaving(u32),
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

/// The way to the supervisor.
pub struct Supervisor(UnboundedSender<Event>);

impl Supervisor {
    /// With the channel of its events.
    pub fn new(events: UnboundedSender<Event>) -> Supervisor {
        Supervisor(events)
    }

    /// Ends all processes and returns when they have ended.
    pub fn stop(&self, time: Duration) {
        let (sender, done) = sync_channel(1);
        if self.0.send(Event::Stop(time, sender)).is_ok() {
            let _ = done.recv_timeout(time + Duration::from_secs(5));
        }
    }
}

/// The supervisor at work.
pub struct Work {
    pub(crate) settings: Settings,
    pub(crate) pool: Arc<Pool>,
    folder: TempDir,
    socket: PathBuf,
    token: String,
    pub(crate) events: UnboundedSender<Event>,
    /// Empty once the start has been answered for.
    pub(crate) told: Option<SyncSender<Result<Facts, StartError>>>,
    pub(crate) facts: Facts,
    pub(crate) molds: HashMap<u32, Mold>,
    pub(crate) workers: HashMap<u32, Booting>,
    next: u32,
    pub(crate) backoff: Backoff,
    pub(crate) is_stopping: bool,
    /// The start has failed: there is nothing to go on with.
    is_over: bool,
}

impl Work {
    /// Nothing is started yet.
    pub fn new(
        settings: Settings,
        pool: Arc<Pool>,
        folder: TempDir,
        socket: PathBuf,
        token: String,
        events: UnboundedSender<Event>,
        told: SyncSender<Result<Facts, StartError>>,
    ) -> Work {
        Work {
            settings,
            pool,
            folder,
            socket,
            token,
            events,
            told: Some(told),
            facts: Facts::new(),
            molds: HashMap::new(),
            workers: HashMap::new(),
            next: 1,
            backoff: Backoff::new(Instant::now()),
            is_stopping: false,
            is_over: false,
        }
    }

    /// Until it is stopped.
    pub async fn run(mut self, mut inbox: UnboundedReceiver<Event>) {
        while !self.is_over {
            self.fill();
            let event = timeout(LOOK, inbox.recv()).await;
            match event {
                Ok(Some(Event::Stop(time, done))) => {
                    self.end(&mut inbox, time).await;
                    let _ = done.send(());
                    return;
                }
                Ok(Some(event)) => self.take(event),
                Ok(None) => return,
                Err(_) => self.look_for_late(),
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
            Event::Silent(Speaker::Worker(worker)) => self.worker_ended(worker, None),
            Event::Silent(Speaker::Mold(pid)) => {
                self.molds.entry(pid).and_modify(|mold| mold.is_silent = true);
                self.process_ended(pid);
            }
            Event::Ended(pid, how) => {
                self.molds.entry(pid).and_modify(|mold| mold.ended = Some(how));
                self.process_ended(pid);
            }
            Event::WorkerGone(worker, why) => self.worker_ended(worker, why),
            Event::Leaving(worker) => {
                if let Some(worker) = self.workers.get_mut(&worker) {
                    worker.is_leaving = true;
                }
            }
            Event::Stop(..) => {}
        }
    }

    /// Orders what is missing.
    fn fill(&mut self) {
        let count = self.workers.values().filter(|worker| !worker.is_leaving).count();
        let missing = self.settings.workers.saturating_sub(count);
        if self.is_stopping || missing == 0 || !self.backoff.pause(Instant::now()).is_zero() {
            return;
        }
        let forking = self.molds.values().find(|mold| mold.ready == Some(true));
        if let Some(control) = forking.and_then(|mold| mold.control.clone()) {
            for _ in 0..missing {
                let worker = self.order();
                control.fork(worker);
            }
            return;
        }
        // A process that cannot fork becomes a worker itself, so there must be one for each.
        let free = self.molds.iter().filter(|(_, mold)| mold.ready == Some(false) && mold.worker.is_none());
        let free: Vec<u32> = free.map(|(pid, _)| *pid).take(missing).collect();
        for pid in &free {
            let worker = self.order();
            if let Some(mold) = self.molds.get_mut(pid) {
                mold.worker = Some(worker);
                mold.control.iter().for_each(|control| control.fork(worker));
            }
        }
        let loading = self.molds.values().filter(|mold| mold.ready.is_none()).count();
        let is_known_not_to_fork = self.molds.values().any(|mold| mold.ready == Some(false));
        let wanted = if is_known_not_to_fork { missing - free.len() } else { 1 };
        (loading..wanted).for_each(|_| self.start());
    }

    fn order(&mut self) -> u32 {
        let id = self.next;
        self.next += 1;
        let (since, slots) = (Instant::now(), Vec::new());
        let (pid, mold, control, has_said_so, is_ready, is_leaving) = (None, None, None, false, false, false);
        self.workers.insert(id, Booting { since, pid, mold, control, slots, has_said_so, is_ready, is_leaving });
        id
    }

    fn start(&mut self) {
        let scripts = self.folder.path().join("ruby");
        let way = Way { scripts: &scripts, socket: &self.socket, token: &self.token };
        match process::start(&self.settings, &way, self.events.clone()) {
            Ok(pid) => {
                self.molds.insert(pid, Mold::new());
            }
            Err(error) => self.cannot_start(StartError::Ruby(self.settings.ruby.clone(), error)),
        }
    }

    /// Tells whoever waits for the start; later it is for the log, and tried again after a pause.
    pub(crate) fn cannot_start(&mut self, error: StartError) {
        if let Some(told) = self.told.take() {
            self.is_stopping = true;
            self.is_over = true;
            let workers = self.workers.values().filter_map(|worker| worker.pid);
            self.molds.keys().copied().chain(workers).for_each(kill_now);
            let _ = told.send(Err(error));
            return;
        }
        let pause = self.backoff.failed(Instant::now());
        tracing::error!(target: "engine", "{error}; tried again in {pause:?}");
    }

    fn mold_came(&mut self, pid: u32, stream: UnixStream) {
        let Some(mold) = self.molds.get_mut(&pid) else { return };
        let control = orders::listen(stream, Speaker::Mold(pid), self.events.clone());
        control.send(orders::setup(&self.settings));
        mold.control = Some(control);
    }

    fn control_came(&mut self, worker: u32, pid: u32, stream: UnixStream) {
        let events = self.events.clone();
        let Some(booting) = self.workers.get_mut(&worker) else { return };
        booting.pid = Some(pid);
        booting.control = Some(Arc::new(orders::listen(stream, Speaker::Worker(worker), events)));
    }

    /// A worker has opened all its connections and run its hooks.
    pub(crate) fn worker_ready(&mut self, id: u32) {
        if let Some(booting) = self.workers.get_mut(&id) {
            booting.has_said_so = true;
        }
        self.take_in(id);
    }

    /// Connections come in side by side: the last word decides.
    fn take_in(&mut self, id: u32) {
        let Some(booting) = self.workers.get_mut(&id) else { return };
        if !booting.has_said_so || booting.is_ready || booting.slots.len() < self.settings.threads {
            return;
        }
        let (Some(pid), Some(control)) = (booting.pid, booting.control.clone()) else { return };
        let mut streams = std::mem::take(&mut booting.slots);
        streams.sort_by_key(|(number, _)| *number);
        let (lane_number, lane) = self.pool.lane(id);
        let mut slots = Vec::new();
        for (number, stream) in streams {
            let made = {
                let _in = lane.enter();
                UnixStream::from_std(stream)
            };
            let Ok(stream) = made else { return };
            let (reader, writer) = stream.into_split();
            let slot = Arc::new(Slot::new(id, number, control.clone(), writer));
            let flushing = slot.clone();
            let reading = self.pool.clone().read(slot.clone(), reader);
            drop(lane.spawn(async move {
                // The flusher ends with the reader.
                tokio::select! {
                    () = reading => {}
                    () = flushing.keep_flushing() => {}
                }
            }));
            slots.push(slot);
        }
        booting.is_ready = true;
        let took = booting.since.elapsed();
        tracing::debug!(target: "engine", "worker {id} (pid {pid}) is ready after {took:?}");
        if self.is_stopping {
            control.stop();
        }
        self.pool.add(Worker::new(id, pid.cast_signed(), lane_number, control, slots));
        self.backoff.worked();
        if let Some(told) = self.told.take() {
            let _ = told.send(Ok(self.facts.clone()));
        }
    }

    /// A worker is gone, or must be.
    pub(crate) fn worker_ended(&mut self, id: u32, why: Option<String>) {
        self.pool.bury(id, None);
        let Some(worker) = self.workers.remove(&id) else { return };
        if let (Some(why), Some(pid)) = (why, worker.pid) {
            tracing::error!(target: "engine", "worker {id} (pid {pid}) is ended: {why}");
            kill_now(pid);
        }
        if let (Some(mold), Some(pid)) = (worker.mold, worker.pid) {
            match self.molds.get_mut(&mold) {
                Some(mold) => mold.untold.push((id, pid)),
                None => untold_end(id, pid),
            }
        }
        if !worker.is_ready {
            self.cannot_start(StartError::Ended(format!("worker {id} ended before it was ready")));
        } else if !worker.is_leaving && !self.is_stopping {
            self.backoff.replaced(Instant::now());
        }
    }

    /// A mold has told how this worker of it ended.
    pub(crate) fn end_is_told(&mut self, mold: u32, worker: u32) {
        self.workers.entry(worker).and_modify(|worker| worker.mold = None);
        self.molds.entry(mold).and_modify(|mold| mold.untold.retain(|(id, _)| *id != worker));
    }

    /// Its end and its last words come on two ways: both must have come.
    pub(crate) fn process_ended(&mut self, pid: u32) {
        let is_over = |mold: &Mold| mold.ended.is_some() && (mold.is_silent || mold.control.is_none());
        if !self.molds.get(&pid).is_some_and(is_over) {
            return;
        }
        let Some(mold) = self.molds.remove(&pid) else { return };
        mold.untold.iter().for_each(|(worker, pid)| untold_end(*worker, *pid));
        let how = mold.ended.unwrap_or_default();
        let orders = if mold.ready == Some(true) { self.drop_orders() } else { 0 };
        if let Some(worker) = mold.worker {
            tracing::info!(target: "engine", "worker {worker} (pid {pid}) has ended: {how}");
            self.worker_ended(worker, None);
        } else if mold.ready.is_none() && !mold.has_failed {
            self.cannot_start(StartError::Ended(how));
        } else if orders > 0 && !self.is_stopping {
            self.cannot_start(StartError::Ended(format!("{how}, while it was to fork a worker")));
        } else if !self.is_stopping && !mold.has_failed {
            tracing::warn!(target: "engine", "the mold (pid {pid}) has ended: {how}; workers go on");
        }
    }
}

/// Only a parent learns how a process ends.
fn untold_end(worker: u32, pid: u32) {
    tracing::info!(target: "engine", "worker {worker} (pid {pid}) has ended; how, its mold did not live to tell");
}
