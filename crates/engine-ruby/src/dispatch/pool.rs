//! All workers that are ready, and the way of a request through them: from a lane to a slot, back, or to another one.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use engine::{Engine, Fault, Meter, Reply, Request, Snapshot, Status, count, reply};
use machine::Memory;
use parking_lot::{Mutex, MutexGuard};
use tokio::io::AsyncReadExt;
use tokio::net::unix::OwnedReadHalf;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::board;
use super::job::{Death, Job};
use super::row::Step;
use super::slot::{Left, Slot};
use super::worker::Worker;
use super::{Dispatch, Offer, Orders};
use crate::fleet::View;
use crate::message::Message;
use crate::reason::Reason;
use crate::settings::Settings;
use crate::wire::frames::{self, WireError};

/// Read at once from a worker.
const READ_BYTES: usize = 64 << 10;
/// A buffer with less room than this is made larger before it is read into.
const ROOM_BYTES: usize = 16 << 10;

/// Whoever looked so many seconds ago is taken to look again.
const WATCHED_S: u64 = 15;
/// What a process has written before it ended is there at once, but a client may take an answer slowly.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// A worker that is gone.
#[derive(Debug, Clone, Copy)]
struct Gone {
    id: u32,
    pid: i32,
    death: Death,
}

thread_local! {
    /// Which lane this thread is.
    static LANE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The workers of an application.
pub struct Pool {
    dispatch: Mutex<Dispatch>,
    lanes: Vec<Handle>,
    queue_places: usize,
    meter: Arc<Meter>,
    /// As the log calls the application.
    app: Option<String>,
    messages: UnboundedSender<Message>,
    ends: Mutex<BTreeMap<&'static str, u64>>,
    /// What the supervisor last showed: nobody who looks waits for it.
    view: Mutex<View>,
    /// When somebody last looked at it, in seconds since the start; 0 for never.
    looked: AtomicU64,
    start: Instant,
    /// All workers are being ended: there is nobody to run anything again.
    is_ending: AtomicBool,
    active: Notify,
    memory: Memory,
    /// How often the kernel has killed somebody for want of memory, as far as we have made something of it.
    kernel_kills: AtomicU64,
    /// Workers whose end was logged before their mold reported it.
    told_ends: Mutex<HashSet<u32>>,
    last_answers: Mutex<Vec<Arc<Slot>>>,
}

impl Pool {
    /// Without a worker. Answers are read on these runtimes, each of which has one thread.
    pub fn new(lanes: Vec<Handle>, settings: &Settings, messages: UnboundedSender<Message>) -> Arc<Pool> {
        for (number, lane) in lanes.iter().enumerate() {
            drop(lane.spawn(async move { LANE.set(number) }));
        }
        let memory = Memory::of_this_process();
        let kernel_kills = memory.kills().into();
        Arc::new(Pool {
            dispatch: Mutex::new(Dispatch::new(settings.queue_places)),
            lanes,
            queue_places: settings.queue_places,
            meter: settings.meter.clone(),
            app: settings.app.clone(),
            messages,
            ends: Mutex::default(),
            view: Mutex::default(),
            looked: AtomicU64::new(0),
            start: Instant::now(),
            is_ending: AtomicBool::new(false),
            active: Notify::new(),
            memory,
            kernel_kills,
            told_ends: Mutex::default(),
            last_answers: Mutex::default(),
        })
    }

    /// As the log calls the application.
    pub fn app(&self) -> Option<&str> {
        self.app.as_deref()
    }

    /// What is known of workers and requests, for a moment.
    pub fn dispatch(&self) -> MutexGuard<'_, Dispatch> {
        self.dispatch.lock()
    }

    /// The number of a worker's lane, and the lane.
    pub fn lane(&self, worker: u32) -> (usize, &Handle) {
        let number = worker as usize % self.lanes.len();
        (number, &self.lanes[number])
    }

    /// Takes a worker in.
    pub fn add(&self, worker: Worker) {
        let orders = {
            let mut dispatch = self.dispatch();
            dispatch.workers.push(worker);
            dispatch.pump(Instant::now())
        };
        self.send_all(orders);
    }

    /// Reads a slot's answers until its connection ends.
    pub async fn read(self: Arc<Pool>, slot: Arc<Slot>, mut reader: OwnedReadHalf) {
        let mut buffer = BytesMut::with_capacity(READ_BYTES);
        let why = loop {
            if buffer.capacity() - buffer.len() < ROOM_BYTES {
                buffer.reserve(READ_BYTES);
            }
            slot.waits(true);
            let read = reader.read_buf(&mut buffer).await;
            slot.waits(false);
            match read {
                Ok(0) => break None,
                Ok(_) => {}
                // A process has ended that had not read all it was sent.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break None,
                Err(error) => break Some(format!("its connection broke: {error}")),
            }
            if let Err(error) = self.take_frames(&slot, &mut buffer).await {
                break Some(format!("it broke the protocol: {error}"));
            }
            slot.flush();
        };
        slot.end_reading();
        self.bury(slot.worker, why);
    }

    async fn take_frames(&self, slot: &Arc<Slot>, buffer: &mut BytesMut) -> Result<(), WireError> {
        while let Some(frame) = frames::take(buffer)? {
            match slot.receive(frame)? {
                Step::Nothing => {}
                Step::Chunk(sink, chunk) => {
                    // The next frame is read when this chunk has found room: that is what holds the worker back.
                    let went = sink.send(chunk).await;
                    slot.sent(sink, went);
                }
                Step::Done(took, was_interrupted) => {
                    if was_interrupted {
                        self.retire(slot.worker, Reason::Timeout);
                    }
                    let after = self.dispatch().done(slot, took);
                    for job in after.next {
                        self.push(slot, job);
                    }
                    if after.is_worn {
                        let _ = self.messages.send(Message::Worn(slot.worker, Reason::MaxRequests));
                    }
                    if after.goes_out {
                        slot.control.out_of_band();
                    }
                    if after.has_left {
                        self.stop(slot.worker);
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands a request to a slot, or back to the line if its worker has just died.
    fn push(&self, slot: &Arc<Slot>, job: Box<Job>) {
        if let Err(job) = slot.push(job) {
            self.dispatch().put_back(vec![job], Instant::now());
            self.pump();
        }
    }

    /// Sends requests to where dispatch wants them.
    pub fn send_all(&self, orders: Orders) {
        for (slot, job) in orders {
            self.push(&slot, job);
            slot.flush();
        }
    }

    /// Sends what waits, as far as it can be sent.
    pub fn pump(&self) {
        let orders = self.dispatch().pump(Instant::now());
        self.send_all(orders);
    }

    /// Gives a worker nothing new; it ends when it has answered what it has.
    pub fn retire(&self, worker: u32, reason: Reason) {
        let (is_idle, is_new, pid) = {
            let mut dispatch = self.dispatch();
            let Some(worker) = dispatch.worker(worker) else { return };
            worker.reason.get_or_insert(reason);
            worker.leaving.say();
            (worker.is_done(), !std::mem::replace(&mut worker.is_leaving, true), worker.pid)
        };
        if is_new {
            let what = if reason.has_successor() { "is being replaced" } else { "shutting down" };
            let (app, words) = (self.app.as_deref(), reason.words());
            let name = reason.name();
            tracing::info!(
                target: "engine",
                worker, pid, reason = name, app,
                "worker {worker} (pid {pid}) {what}: {words}"
            );
            // Its successor is started before it is gone.
            let _ = self.messages.send(Message::Leaving(worker, reason));
        }
        if is_idle {
            self.stop(worker);
        }
    }

    /// A worker is about to be killed, for this reason.
    pub fn mark(&self, worker: u32, reason: Reason) {
        if let Some(worker) = self.dispatch().worker(worker) {
            worker.reason = Some(reason);
        }
    }

    /// A worker has done what it had to do between requests.
    pub fn is_back(&self, worker: u32) {
        if let Some(worker) = self.dispatch().worker(worker) {
            worker.out = None;
        }
        self.pump();
    }

    /// Begins nothing more; what was handed ahead comes back.
    pub fn pause(&self, now: Instant) {
        let mut dispatch = self.dispatch();
        dispatch.line.pause(now);
        let mut back = Vec::new();
        for worker in &mut dispatch.workers {
            let slots: Vec<Arc<Slot>> = worker.slots().cloned().collect();
            for slot in slots {
                let jobs = slot.withdraw();
                worker.release(slot.number, jobs.len());
                back.extend(jobs);
            }
        }
        dispatch.put_back(back, now);
    }

    /// Goes on; how many have waited, if it was paused.
    pub fn resume(&self, now: Instant) -> Option<usize> {
        let waiting = {
            let mut dispatch = self.dispatch();
            dispatch.line.resume(now).then(|| dispatch.line.len())
        };
        self.pump();
        waiting
    }

    /// From now on a worker that ends leaves nothing to be run again.
    pub fn is_to_end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
    }

    fn stop(&self, worker: u32) {
        if let Some(worker) = self.dispatch().worker(worker) {
            worker.control.stop();
        }
    }

    /// A worker is gone, or must be, for this reason if it was not its own doing. It gets no more requests; those that
    /// it has left run elsewhere or are answered. What it has written before it ended is read first: the end of a
    /// process is known by whichever of its connections is looked at first, and another one may have the last bytes of
    /// an answer.
    pub fn bury(self: &Arc<Pool>, id: u32, why: Option<String>) {
        let worker = {
            let mut dispatch = self.dispatch();
            let Some(at) = dispatch.workers.iter().position(|worker| worker.id == id) else { return };
            let worker = dispatch.workers.remove(at);
            // One that was chosen just now must not get its request any more.
            worker.slots().for_each(|slot| slot.refuse());
            self.last_answers().extend(worker.slots().filter(|slot| slot.load() > 0).cloned());
            worker
        };
        let slots = worker.slots().cloned();
        let (unread, read): (Vec<_>, Vec<_>) = slots.partition(|slot| why.is_none() && slot.has_unread());
        let gone = self.gone(&worker);
        self.end_requests(gone, &read);
        for slot in unread {
            let pool = self.clone();
            drop(self.lane(id).1.spawn(async move {
                let _ = timeout(LAST_ANSWERS, slot.until_read()).await;
                pool.end_requests(gone, &[slot]);
            }));
        }
        let _ = self.messages.send(Message::WorkerGone(id, why));
    }

    /// Of workers that are gone, what is still being read.
    pub fn last_answers(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.last_answers.lock()
    }

    /// Why a worker is gone, as far as it is known here.
    fn gone(&self, worker: &Worker) -> Gone {
        let (id, pid, app) = (worker.id, worker.pid, self.app.as_deref());
        let died_of_memory = worker.reason.is_none() && self.kernel_has_killed();
        let (reason, death) = match worker.reason {
            Some(reason) => (reason, Death::Crash),
            None if died_of_memory => (Reason::OutOfMemory, Death::OutOfMemory),
            None => (Reason::Crash, Death::Crash),
        };
        if died_of_memory {
            let (words, name) = (reason.words(), reason.name());
            self.has_told_end(id);
            tracing::error!(
                target: "engine",
                worker = id, pid, reason = name, signal = "SIGKILL", app,
                "worker {id} (pid {pid}) exited: {words}"
            );
            let _ = self.messages.send(Message::OutOfMemory(id));
        }
        let is_ending = self.is_ending.load(Ordering::SeqCst);
        // Workers that end because the server ends have not crashed.
        if !is_ending || worker.reason.is_some() || died_of_memory {
            *self.ends.lock().entry(reason.name()).or_default() += 1;
        }
        Gone { id, pid, death }
    }

    /// What such a worker has left in these slots runs elsewhere or is answered.
    fn end_requests(&self, gone: Gone, slots: &[Arc<Slot>]) {
        let (Gone { id, pid, death }, app) = (gone, self.app.as_deref());
        let (mut lost, is_ending) = (0, self.is_ending.load(Ordering::SeqCst));
        let fault = match is_ending {
            true => Fault::Stopping,
            false => Fault::WorkerDied(format!("worker {id} (pid {pid}) exited while it ran this request")),
        };
        let (mut replays, mut last_tries) = (Vec::new(), Vec::new());
        for Left { mut job, sink, has_begun } in slots.iter().flat_map(|slot| slot.close(fault.clone())) {
            if let Some(sink) = sink.as_ref().filter(|_| !is_ending) {
                job.take_back(sink);
            }
            if !is_ending && job.may_replay(has_begun, death) {
                if has_begun && job.is_last_try() { &mut last_tries } else { &mut replays }.push(job);
                continue;
            }
            lost += 1;
            if let Some(sink) = sink {
                sink.fail(fault.clone());
            }
            job.answer(Err(fault.clone()));
        }
        let replayed = replays.len() + last_tries.len();
        if is_ending && lost > 0 {
            let words = count(lost, "request");
            tracing::warn!(target: "engine", worker = id, pid, lost, app, "worker {id} (pid {pid}): {words} cut off");
        } else if replayed + lost > 0 {
            let words = count(replayed, "request");
            tracing::warn!(
                target: "engine",
                worker = id, pid, replayed, lost, app,
                "worker {id} (pid {pid}): {words} replayed on another worker, {lost} lost"
            );
        }
        {
            let (mut dispatch, now) = (self.dispatch(), Instant::now());
            dispatch.put_back(replays, now);
            last_tries.into_iter().for_each(|job| dispatch.rest(job, now));
            self.wake_watch(&mut dispatch);
            self.last_answers().retain(|other| !slots.iter().any(|slot| Arc::ptr_eq(other, slot)));
        }
        self.pump();
    }

    /// Whether the kernel has killed somebody because memory was full, since this was asked, so that a worker that has
    /// just ended without a word may be the one. Each is answered for once.
    pub fn kernel_has_killed(&self) -> bool {
        let (known, now) = (&self.kernel_kills, self.memory.kills());
        known.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |known| (known < now).then(|| known + 1)).is_ok()
    }

    /// Notes that the log says how this worker ended, and why.
    pub fn has_told_end(&self, worker: u32) {
        self.told_ends.lock().insert(worker);
    }

    /// Whether it does, and forgets it: asked once, when the end of the process is known.
    pub fn is_end_told(&self, worker: u32) -> bool {
        self.told_ends.lock().remove(&worker)
    }

    /// Nothing is made any more of what the kernel had killed when its count was this.
    pub fn forget_kills(&self, kills: u64) {
        self.kernel_kills.fetch_max(kills, Ordering::SeqCst);
    }

    /// Waits until something runs; after that the watch looks by itself until nothing does.
    pub async fn until_active(&self) {
        let may_rest = self.dispatch().may_rest();
        if may_rest {
            self.active.notified().await;
        }
    }

    /// To be called when something was given to run or to wait, under the same lock.
    fn wake_watch(&self, dispatch: &mut Dispatch) {
        if dispatch.lacks_watch() {
            self.active.notify_one();
        }
    }

    /// How many workers have ended, by reason.
    pub fn restarts_by(&self) -> BTreeMap<String, u64> {
        self.ends.lock().iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
    }

    /// Shows what the supervisor knows.
    pub fn show(&self, view: View) {
        *self.view.lock() = view;
    }

    /// All there is to see.
    pub fn snapshot(&self) -> Snapshot {
        self.looked.store(self.start.elapsed().as_secs().max(1), Ordering::Relaxed);
        let view = self.view.lock();
        let snapshot = board::snapshot(&view, &mut self.dispatch(), Instant::now());
        Snapshot { status: self.status(), restarts_by: self.restarts_by(), ..snapshot }
    }

    /// See [`View::processes`].
    pub fn processes(&self) -> usize {
        self.view.lock().processes
    }

    /// Whether somebody looks at snapshots, now and then.
    pub fn is_watched_by_somebody(&self) -> bool {
        let looked = self.looked.load(Ordering::Relaxed);
        looked != 0 && self.start.elapsed().as_secs().saturating_sub(looked) <= WATCHED_S
    }

    /// More workers would be of use.
    pub fn want(&self) {
        let _ = self.messages.send(Message::Wanted);
    }

    /// The slot with this number in this worker.
    pub fn slot(&self, worker: u32, number: u32) -> Option<Arc<Slot>> {
        let mut dispatch = self.dispatch();
        dispatch.worker(worker)?.slots().nth(number as usize).cloned()
    }
}

impl Engine for Pool {
    fn call(&self, request: Request) -> Reply {
        let (responder, reply) = reply::metered(&self.meter, &request);
        let job = match Job::new(request, responder, LANE.get()) {
            Ok(job) => job,
            Err((responder, fault)) => {
                responder.send(Err(fault), std::time::Duration::ZERO);
                return reply;
            }
        };
        let offer = {
            let mut dispatch = self.dispatch();
            let offer = dispatch.offer(job);
            self.wake_watch(&mut dispatch);
            offer
        };
        match offer {
            Offer::Send(slot, job) => {
                let is_here = job.lane == self.lane(slot.worker).0;
                self.push(&slot, job);
                if is_here { slot.flush_later() } else { slot.flush() }
            }
            Offer::Queued => {}
            Offer::Late(job) => {
                let allowed = job.request.queue_deadline.saturating_duration_since(job.offered);
                job.refuse(Fault::QueueWait(allowed));
            }
            Offer::Full(job) => job.refuse(Fault::QueueFull(self.queue_places)),
            Offer::Closed(job) => job.refuse(Fault::Stopping),
        }
        reply
    }

    fn status(&self) -> Status {
        let dispatch = self.dispatch();
        let (restarts, gone) = {
            let ends = self.ends.lock();
            let gone = [Reason::Scale, Reason::Idle].map(|reason| ends.get(reason.name()).copied().unwrap_or(0));
            (ends.values().sum::<u64>(), gone.iter().sum())
        };
        let capacity = dispatch.workers.iter().map(Worker::thread_count).sum();
        let busy: usize = dispatch.workers.iter().map(|worker| worker.busy).sum();
        Status {
            capacity,
            idle: capacity.saturating_sub(busy),
            queued: dispatch.waiting(),
            served: dispatch.served,
            restarts: restarts.saturating_sub(gone),
        }
    }

    fn close(&self) {
        self.dispatch().is_closed = true;
        self.leave();
        // Those that wait are still answered: in a pause they would wait for nothing.
        self.resume(Instant::now());
    }
}

#[cfg(test)]
#[path = "pool_test.rs"]
mod tests;
