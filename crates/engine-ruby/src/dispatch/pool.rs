//! The pool of ready workers, and the path of a request through it: from an I/O thread to a worker thread, and back or
//! to another worker.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use engine::body::make_room;
use engine::{Engine, Fault, Handover, Meter, Reply, Request, Snapshot, Status, Waiting, count, reply};
use machine::Memory;
use parking_lot::{Mutex, MutexGuard};
use tokio::io::AsyncReadExt;
use tokio::net::unix::OwnedReadHalf;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::in_flight::Step;
use super::job::{self, Death, Job};
use super::snapshot;
use super::worker::Worker;
use super::worker_thread::{ThreadOwner, Unfinished, WorkerThread};
use super::{Admission, Completion, Dispatch, Orders};
use crate::exit_reason::ExitReason;
use crate::fleet::{Event, View};
use crate::message::Message;
use crate::process::is_stopped;
use crate::settings::Settings;
use crate::wire::frames::{self, WireError};

/// Bytes read at once from a worker.
const READ_BYTES: usize = 64 << 10;
/// The free space in a read buffer below which it is enlarged before the next read.
const ROOM_BYTES: usize = 16 << 10;

/// Seconds after a snapshot for which an operator is taken to watch: longer than the page takes from one to the next,
/// and much shorter than monitoring does.
const WATCHED_S: u64 = 4;
/// The longest time for reading the last answers of a dead worker. They are there at once, but a client may take one
/// slowly.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// The most requests of a dead worker that the log names.
const NAMED_MOST: usize = 5;

/// A worker that is gone, and how it ended.
#[derive(Debug, Clone, Copy)]
struct DeadWorker {
    id: u32,
    pid: i32,
    death: Death,
}

/// The fault of a response that the death of its worker has broken off.
pub fn died(worker: u32, pid: impl Display) -> Fault {
    Fault::WorkerDied(format!("worker {worker} (pid {pid}) exited while it ran this request"))
}

thread_local! {
    /// The number of this I/O thread.
    static IO_THREAD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The workers of one application.
pub struct Pool {
    dispatch: Mutex<Dispatch>,
    io_threads: Vec<Handle>,
    queue_places: usize,
    meter: Arc<Meter>,
    /// The name of the application in the log.
    app: Option<String>,
    messages: UnboundedSender<Message>,
    exits: Mutex<BTreeMap<ExitReason, u64>>,
    /// The last view from the supervisor: snapshots never wait for it.
    view: Mutex<View>,
    /// When a snapshot was last taken, in seconds since the start; 0 for never.
    snapshot_at: AtomicU64,
    start: Instant,
    /// All workers are being ended, so no request is replayed.
    is_ending: AtomicBool,
    active: Notify,
    /// Whether the deadline timer runs less often. It sends the beginnings of responses that are held back, so each of
    /// them has to wake it then.
    reports_held_back: AtomicBool,
    memory: Memory,
    /// The count of out-of-memory kills by the kernel, as far as each has been attributed to a worker or dismissed.
    kernel_kills: AtomicU64,
    /// Workers whose exit was logged before their mold reported it.
    logged_exits: Mutex<HashSet<u32>>,
    last_answers: Mutex<Vec<Arc<WorkerThread>>>,
}

impl Pool {
    /// Creates a pool without workers. Answers are read on these runtimes, each of which has one thread.
    pub fn new(io_threads: Vec<Handle>, settings: &Settings, messages: UnboundedSender<Message>) -> Arc<Pool> {
        for (number, io_thread) in io_threads.iter().enumerate() {
            drop(io_thread.spawn(async move { IO_THREAD.set(number) }));
        }
        let growth = settings.growth(settings.min_workers, settings.max_workers);
        let pool = Pool::of(io_threads, settings.queue_places, messages);
        {
            let mut dispatch = pool.dispatch();
            dispatch.growth = growth;
            dispatch.max_threads = settings.max_threads;
        }
        Arc::new(Pool { meter: settings.meter.clone(), app: settings.app.clone(), ..pool })
    }

    /// Creates a pool without workers, with a meter of its own, of an application without a name.
    fn of(io_threads: Vec<Handle>, queue_places: usize, messages: UnboundedSender<Message>) -> Pool {
        let memory = Memory::of_this_process();
        Pool {
            dispatch: Mutex::new(Dispatch::new(queue_places)),
            io_threads,
            queue_places,
            meter: Arc::default(),
            app: None,
            messages,
            exits: Mutex::default(),
            view: Mutex::default(),
            snapshot_at: AtomicU64::new(0),
            start: Instant::now(),
            is_ending: AtomicBool::new(false),
            active: Notify::new(),
            reports_held_back: AtomicBool::new(false),
            kernel_kills: memory.kills().into(),
            memory,
            logged_exits: Mutex::default(),
            last_answers: Mutex::default(),
        }
    }

    /// Returns the name of the application in the log.
    pub fn app(&self) -> Option<&str> {
        self.app.as_deref()
    }

    /// Locks the state of workers and requests.
    pub fn dispatch(&self) -> MutexGuard<'_, Dispatch> {
        self.dispatch.lock()
    }

    /// Returns the I/O thread that reads the answers of a worker: its number and its runtime.
    pub fn io_thread(&self, worker: u32) -> (usize, &Handle) {
        let number = worker as usize % self.io_threads.len();
        (number, &self.io_threads[number])
    }

    /// Adds a worker, and sends it waiting requests. If the pool is closed, its upgraded connections are told at once
    /// that the worker leaves. One that has ended since it reported that it is ready is not added: what it was sent
    /// would count as begun, and the reader of its connection, which found no worker to remove, looks only once.
    pub fn add(&self, worker: Worker) {
        let orders = {
            let mut dispatch = self.dispatch();
            // Under the lock: a reader that ends after this removes the worker.
            if worker.threads().any(|thread| thread.has_ended()) {
                drop(dispatch);
                worker.leaving.end();
                self.record_exit(&worker);
                return self.tell(Event::WorkerGone(worker.id, None));
            }
            if dispatch.is_closed {
                worker.leaving.announce();
            }
            dispatch.workers.push(worker);
            dispatch.pump(Instant::now())
        };
        self.send_all(orders);
    }

    /// Adds a thread that a worker was ordered to open, and sends it a waiting request. Returns false if the worker is
    /// gone, or it is not the next thread.
    pub fn add_thread(&self, thread: Arc<WorkerThread>) -> bool {
        let orders = {
            let mut dispatch = self.dispatch();
            let worker = dispatch.worker(thread.owner.worker);
            if !worker.is_some_and(|worker| worker.add_thread(thread)) {
                return false;
            }
            dispatch.pump(Instant::now())
        };
        self.send_all(orders);
        true
    }

    /// Returns the numbers of the threads that a worker was ordered to open and has not, if there are any, and what its
    /// threads belong to.
    pub fn awaited_threads(&self, worker: u32) -> Option<(ThreadOwner, Range<u32>)> {
        let mut dispatch = self.dispatch();
        let worker = dispatch.worker(worker)?;
        let owner = worker.threads().next()?.owner.clone();
        Some((owner, worker.awaited_threads())).filter(|(_, awaited)| !awaited.is_empty())
    }

    /// Returns the number of workers that are not on their way out.
    pub fn workers(&self) -> usize {
        self.dispatch().workers.iter().filter(|worker| !worker.is_leaving).count()
    }

    /// Reads the answers of a worker thread until its connection ends, then removes the worker.
    pub async fn read(self: Arc<Pool>, thread: Arc<WorkerThread>, mut reader: OwnedReadHalf) {
        let mut buffer = BytesMut::with_capacity(READ_BYTES);
        let why = loop {
            make_room(&mut buffer, ROOM_BYTES, READ_BYTES);
            thread.set_waiting(true);
            let read = reader.read_buf(&mut buffer).await;
            thread.set_waiting(false);
            match read {
                Ok(0) => break None,
                Ok(_) => {}
                // The process has ended without reading everything it was sent.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break None,
                Err(error) => break Some(format!("its connection broke: {error}")),
            }
            if let Err(error) = self.take_frames(&thread, &mut buffer).await {
                break Some(format!("it broke the protocol: {error}"));
            }
            thread.flush();
        };
        thread.end_reading();
        self.remove(thread.owner.worker, why);
    }

    async fn take_frames(&self, thread: &Arc<WorkerThread>, buffer: &mut BytesMut) -> Result<(), WireError> {
        while let Some(frame) = frames::take(buffer)? {
            let (step, withdrawn) = thread.receive(frames::join_chunks(frame, buffer))?;
            if self.reports_held_back.load(Ordering::SeqCst) && thread.holds_back() {
                self.active.notify_one();
            }
            if withdrawn > 0 && !matches!(step, Step::Refused(_)) {
                let completion = self.dispatch().release(thread, withdrawn);
                self.complete(thread, completion);
            }
            match step {
                Step::Nothing => {}
                Step::Refused(mut job) => {
                    job.ran_on = None;
                    let completion = {
                        let mut dispatch = self.dispatch();
                        dispatch.put_back(vec![job], Instant::now());
                        self.wake_watch(&mut dispatch);
                        dispatch.release(thread, withdrawn)
                    };
                    self.complete(thread, completion);
                    self.pump();
                    self.refuse_at_end();
                }
                Step::Chunk(sink, chunk) => {
                    // The next frame is read when this chunk has found room: that is the backpressure on the worker.
                    thread.set_awaiting_client(true);
                    let result = sink.send(chunk).await;
                    thread.set_awaiting_client(false);
                    thread.return_sink(sink, result);
                }
                Step::Memory(sink, lent) => {
                    thread.set_awaiting_client(true);
                    thread.send_lent(sink, lent).await;
                    thread.set_awaiting_client(false);
                }
                Step::Done { took, was_interrupted, is_own } => {
                    if was_interrupted {
                        self.retire(thread.owner.worker, ExitReason::Timeout);
                    }
                    let completion = {
                        let mut dispatch = self.dispatch();
                        let completion = dispatch.done(thread, took);
                        if is_own {
                            dispatch.discount(thread.owner.worker);
                        }
                        completion
                    };
                    self.complete(thread, completion);
                }
            }
        }
        Ok(())
    }

    /// Carries out what a worker thread, and its worker, do next.
    fn complete(&self, thread: &Arc<WorkerThread>, completion: Completion) {
        for job in completion.next {
            self.push(thread, job);
        }
        if completion.is_worker_expired {
            self.tell(Event::Expired(thread.owner.worker, ExitReason::MaxRequests));
        }
        if completion.begins_out_of_band {
            thread.owner.control.out_of_band();
        }
        if completion.has_left {
            self.stop(thread.owner.worker);
        }
    }

    /// Queues a request on a worker thread, or puts it back if the worker has just died.
    fn push(&self, thread: &Arc<WorkerThread>, job: Box<Job>) {
        if let Err(job) = thread.push(job) {
            {
                let mut dispatch = self.dispatch();
                dispatch.put_back(vec![job], Instant::now());
                self.wake_watch(&mut dispatch);
            }
            self.pump();
            self.refuse_at_end();
        }
    }

    /// Sends requests to the worker threads that dispatch has chosen.
    pub fn send_all(&self, orders: Orders) {
        for (thread, job) in orders {
            self.push(&thread, job);
            thread.flush();
        }
    }

    /// Sends waiting requests to all worker threads that can take one.
    pub fn pump(&self) {
        let orders = self.dispatch().pump(Instant::now());
        self.send_all(orders);
    }

    /// Retires a worker: it gets no new requests and ends when it has answered those it has.
    pub fn retire(&self, worker: u32, reason: ExitReason) {
        let (is_idle, is_new, pid) = {
            let mut dispatch = self.dispatch();
            let Some(worker) = dispatch.worker(worker) else { return };
            worker.reason.get_or_insert(reason);
            worker.leaving.announce();
            let is_new = !std::mem::replace(&mut worker.is_leaving, true);
            if is_new {
                worker.control.closing(); // Its endless responses may end.
            }
            (worker.is_done(), is_new, worker.pid)
        };
        if is_new {
            let what = if reason.has_successor() { "is being replaced" } else { "shutting down" };
            let app = self.app.as_deref();
            let words = reason.words();
            let name = reason.name();
            tracing::info!(
                target: "engine",
                worker, pid, reason = name, app,
                "worker {worker} (pid {pid}) {what}: {words}"
            );
            // Its successor is started before it is gone.
            self.tell(Event::Leaving(worker, reason));
        }
        if is_idle {
            self.stop(worker);
        }
    }

    /// Notes why a worker is about to be killed.
    pub fn mark(&self, worker: u32, reason: ExitReason) {
        if let Some(worker) = self.dispatch().worker(worker) {
            worker.reason = Some(reason);
        }
    }

    /// Notes that the out-of-band hooks of a worker are done.
    pub fn out_of_band_done(&self, worker: u32) {
        if let Some(worker) = self.dispatch().worker(worker) {
            worker.out_of_band = None;
        }
        self.pump();
    }

    /// Lets workers that do not run get no requests while another worker runs: those that a signal or a debugger has
    /// stopped, and these, which do not answer.
    pub fn avoid_hung(&self, silent: &[u32], now: Instant) {
        // The kernel is asked without the lock.
        let all: Vec<(u32, i32)> = self.dispatch().workers.iter().map(|worker| (worker.id, worker.pid)).collect();
        let is_hung = |(id, pid): &(u32, i32)| silent.contains(id) || is_stopped(pid.cast_unsigned());
        let hung: Vec<u32> = all.into_iter().filter(is_hung).map(|(id, _)| id).collect();
        if self.dispatch().avoid(&hung, now) {
            self.pump();
        }
    }

    /// Pauses: starts no more requests, and takes pipelined ones back.
    pub fn pause(&self, now: Instant) {
        let mut dispatch = self.dispatch();
        dispatch.queue.pause(now);
        let mut back = Vec::new();
        for worker in &dispatch.workers {
            for thread in worker.threads() {
                back.extend(thread.withdraw());
            }
        }
        dispatch.put_back(back, now);
    }

    /// Ends a pause; returns how many requests have waited, if there was one.
    pub fn resume(&self, now: Instant) -> Option<usize> {
        let waiting = {
            let mut dispatch = self.dispatch();
            dispatch.queue.resume(now).then(|| dispatch.queue.len())
        };
        self.pump();
        waiting
    }

    /// Notes that all workers are being ended: from now on no request is replayed.
    pub fn set_ending(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
    }

    /// Sends an event to the supervisor, which may have ended.
    fn tell(&self, event: Event) {
        let _ = self.messages.send(Message::Event(event));
    }

    fn stop(&self, worker: u32) {
        if let Some(worker) = self.dispatch().worker(worker) {
            worker.control.stop();
        }
    }

    /// Removes a worker that is gone, or must be ended for the given reason. It gets no more requests; those that it
    /// has left are replayed or answered with a fault. What it wrote before it ended is read first: the end of a
    /// process shows on one of its connections, while another one may still have the last bytes of an answer.
    pub fn remove(self: &Arc<Pool>, id: u32, why: Option<String>) {
        let worker = {
            let mut dispatch = self.dispatch();
            let Some(at) = dispatch.workers.iter().position(|worker| worker.id == id) else { return };
            let worker = dispatch.workers.remove(at);
            // A thread that was chosen just now must not get its request any more.
            worker.threads().for_each(|thread| thread.refuse_requests());
            worker.leaving.end();
            self.last_answers().extend(worker.threads().filter(|thread| thread.load() > 0).cloned());
            worker
        };
        let threads = worker.threads().cloned();
        let (unread, read): (Vec<_>, Vec<_>) = threads.partition(|thread| why.is_none() && thread.has_unread());
        let gone = self.record_exit(&worker);
        self.end_requests(gone, &read);
        for thread in unread {
            let pool = self.clone();
            drop(self.io_thread(id).1.spawn(async move {
                let _ = timeout(LAST_ANSWERS, thread.until_read()).await;
                pool.end_requests(gone, &[thread]);
            }));
        }
        self.tell(Event::WorkerGone(id, why));
    }

    /// Locks the connections of dead workers that are still being read.
    pub fn last_answers(&self) -> MutexGuard<'_, Vec<Arc<WorkerThread>>> {
        self.last_answers.lock()
    }

    /// Determines why a worker is gone, logs it if the kernel killed it, and counts it.
    fn record_exit(&self, worker: &Worker) -> DeadWorker {
        let id = worker.id;
        let pid = worker.pid;
        let app = self.app.as_deref();
        let died_of_memory = worker.reason.is_none() && self.kernel_has_killed();
        let (reason, death) = match worker.reason {
            Some(reason) => (reason, Death::Crash),
            None if died_of_memory => (ExitReason::OutOfMemory, Death::OutOfMemory),
            None => (ExitReason::Crash, Death::Crash),
        };
        if died_of_memory {
            let words = reason.words();
            let name = reason.name();
            self.note_logged_exit(id);
            tracing::error!(
                target: "engine",
                worker = id, pid, reason = name, signal = "SIGKILL", app,
                "worker {id} (pid {pid}) exited: {words}"
            );
            self.tell(Event::OutOfMemory(id));
        }
        let is_ending = self.is_ending.load(Ordering::SeqCst);
        // Workers that end because the server ends have not crashed.
        if !is_ending || worker.reason.is_some() || died_of_memory {
            *self.exits.lock().entry(reason).or_default() += 1;
        }
        DeadWorker { id, pid, death }
    }

    /// Replays the requests that a dead worker has left on these threads, or answers them with a fault.
    fn end_requests(&self, gone: DeadWorker, threads: &[Arc<WorkerThread>]) {
        let DeadWorker { id, pid, death } = gone;
        let app = self.app.as_deref();
        let is_ending = self.is_ending.load(Ordering::SeqCst);
        let fault = match is_ending {
            true => Fault::Stopping,
            false => died(id, pid),
        };
        let mut replayed = 0;
        let mut unanswered = Vec::new();
        let mut begun = Vec::new();
        {
            // Under one lock, so that a request that is replayed is counted at each moment, on its thread or in the
            // queue: otherwise old code could be ended before the request has run again.
            let mut dispatch = self.dispatch();
            let now = Instant::now();
            let mut replays = Vec::new();
            let unfinished = threads.iter().flat_map(|thread| thread.close(fault.clone()));
            for Unfinished { mut job, sink, has_begun, is_untouched } in unfinished {
                if let Some(sink) = sink.as_ref().filter(|_| !is_ending) {
                    job.take_back(sink);
                }
                if has_begun {
                    let Request { id, method, path, .. } = &job.request;
                    begun.push(job::in_words(id, method.as_str(), path));
                }
                let is_untouched = is_untouched && !job.is_answered() && !job.is_taken;
                if is_ending || !job.may_replay(has_begun, death) && !is_untouched {
                    unanswered.push((job, sink));
                    continue;
                }
                replayed += 1;
                if has_begun && job.is_last_try() { dispatch.rest(job, now) } else { replays.push(job) }
            }
            dispatch.put_back(replays, now);
            self.wake_watch(&mut dispatch);
            self.last_answers().retain(|other| !threads.iter().any(|thread| Arc::ptr_eq(other, thread)));
        }
        let lost = unanswered.len();
        for (mut job, sink) in unanswered {
            if let Some(sink) = sink {
                sink.fail(fault.clone());
            }
            job.answer(Err(fault.clone()));
        }
        if is_ending && lost > 0 {
            let words = count(lost, "request");
            tracing::warn!(target: "engine", worker = id, pid, lost, app, "worker {id} (pid {pid}): {words} cut off");
        } else if replayed + lost > 0 {
            let words = count(replayed, "request");
            let ran = runs_in_words(&begun);
            tracing::warn!(
                target: "engine",
                worker = id, pid, replayed, lost, app,
                "worker {id} (pid {pid}): {words} replayed on another worker, {lost} lost{ran}"
            );
        }
        self.pump();
        self.refuse_at_end();
    }

    /// Returns whether the kernel has killed a process for memory that is not accounted for yet, and accounts for it: a
    /// worker that has just ended without a message may be that process.
    pub fn kernel_has_killed(&self) -> bool {
        let now = self.memory.kills();
        let next = |known: u64| (known < now).then(|| known + 1);
        self.kernel_kills.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).is_ok()
    }

    /// Notes that the log has the exit of this worker, and why.
    pub fn note_logged_exit(&self, worker: u32) {
        self.logged_exits.lock().insert(worker);
    }

    /// Returns whether the log has the exit of this worker, and forgets it; called once, when the end of the process is
    /// known.
    pub fn take_logged_exit(&self, worker: u32) -> bool {
        self.logged_exits.lock().remove(&worker)
    }

    /// Dismisses all out-of-memory kills up to this count.
    pub fn forget_kills(&self, kills: u64) {
        self.kernel_kills.fetch_max(kills, Ordering::SeqCst);
    }

    /// Waits until a request runs or waits; after that the deadline timer runs until none does.
    pub async fn until_active(&self) {
        let may_rest = self.dispatch().may_rest();
        if may_rest {
            self.active.notified().await;
        }
    }

    /// Begins a tick of the deadline timer. It sees what was reported until now, which therefore does not end the next
    /// [`Pool::until_added`]. The beginning of a response that is held back is reported from now on: the tick may have
    /// looked at its thread before that.
    pub fn begin_tick(&self) {
        let mut reported = pin!(self.active.notified());
        reported.as_mut().enable();
        self.report_held_back(true);
    }

    /// Sets whether the beginning of a response that is held back ends [`Pool::until_added`].
    pub fn report_held_back(&self, is_so: bool) {
        self.reports_held_back.store(is_so, Ordering::SeqCst);
    }

    /// Waits for `time`, or until a request is added or, after [`Pool::report_held_back`], a response is held back.
    /// Returns false if the time was over before.
    pub async fn until_added(&self, time: Duration) -> bool {
        timeout(time, self.active.notified()).await.is_ok()
    }

    /// Wakes the deadline timer if needed. Must be called when a request was added, under the same lock.
    fn wake_watch(&self, dispatch: &mut Dispatch) {
        if dispatch.lacks_watch() {
            self.active.notify_one();
        }
    }

    /// Returns how many workers have ended, by exit reason.
    pub fn restarts_by(&self) -> BTreeMap<String, u64> {
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        for (reason, count) in self.exits.lock().iter() {
            *by_name.entry(reason.name().to_owned()).or_default() += count;
        }
        by_name
    }

    /// Answers all requests that wait with [`Fault::Stopping`]: there will be no worker for them.
    pub fn refuse_waiting(&self) {
        let waiting = self.dispatch().take_waiting();
        waiting.into_iter().for_each(|job| job.refuse(Fault::Stopping));
    }

    /// Refuses what has just come back to the queue if all workers are being ended: that may have refused those that
    /// waited a moment ago.
    fn refuse_at_end(&self) {
        if self.is_ending.load(Ordering::SeqCst) {
            self.refuse_waiting();
        }
    }

    /// Publishes a new view from the supervisor.
    pub fn show(&self, view: View) {
        *self.view.lock() = view;
    }

    /// Returns the snapshot of this engine for operators.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_at.store(self.start.elapsed().as_secs().max(1), Ordering::Relaxed);
        self.glance()
    }

    /// Returns the snapshot of this engine for the server itself, which looks each second.
    pub fn glance(&self) -> Snapshot {
        let view = self.view.lock();
        let snapshot = snapshot::snapshot(&view, &mut self.dispatch(), Instant::now());
        Snapshot { status: self.status(), restarts_by: self.restarts_by(), ..snapshot }
    }

    /// See [`View::processes`].
    pub fn processes(&self) -> usize {
        self.view.lock().processes
    }

    /// Returns whether a snapshot was taken within the last `WATCHED_S` seconds.
    pub fn is_watched_by_somebody(&self) -> bool {
        let taken = self.snapshot_at.load(Ordering::Relaxed);
        taken != 0 && self.start.elapsed().as_secs().saturating_sub(taken) <= WATCHED_S
    }

    /// Reports to the supervisor that more workers would be of use, unless it can add none: while requests wait, this
    /// is called at each tick of the deadline timer.
    pub fn want(&self) {
        let is_complete = self.view.lock().is_complete;
        if !is_complete {
            self.tell(Event::Wanted);
        }
    }

    /// Returns the connection to this thread of this worker.
    pub fn thread(&self, worker: u32, number: u32) -> Option<Arc<WorkerThread>> {
        let mut dispatch = self.dispatch();
        dispatch.worker(worker)?.threads().nth(number as usize).cloned()
    }
}

impl Engine for Pool {
    fn call(&self, request: Request) -> Reply {
        let (responder, reply) = reply::metered(&self.meter, &request, Instant::now());
        let Some(job) = Job::new(request, responder, IO_THREAD.get()) else { return reply };
        let admission = {
            let mut dispatch = self.dispatch();
            let admission = dispatch.admit(job);
            self.wake_watch(&mut dispatch);
            admission
        };
        match admission {
            Admission::Send(thread, job) => {
                let is_here = job.io_thread == self.io_thread(thread.owner.worker).0;
                self.push(&thread, job);
                if is_here { thread.flush_later() } else { thread.flush() }
            }
            Admission::Queued => {}
            Admission::Late(job) => {
                let allowed = job.request.must_begin_by().saturating_duration_since(job.offered);
                job.turn_away(Fault::QueueLate(allowed));
            }
            Admission::Full(job) => job.turn_away(Fault::QueueFull(self.queue_places)),
            Admission::Closed(job) => job.turn_away(Fault::Stopping),
        }
        reply
    }

    fn status(&self) -> Status {
        let dispatch = self.dispatch();
        let restarts = {
            let exits = self.exits.lock();
            exits.iter().filter(|(reason, _)| reason.has_successor()).map(|(_, count)| count).sum()
        };
        // A retired worker has no places any more; one that runs out-of-band hooks has none that is free.
        let staying = dispatch.workers.iter().filter(|worker| !worker.is_leaving);
        let free = dispatch.workers.iter().filter(|worker| worker.is_taking());
        Status {
            capacity: staying.map(Worker::thread_count).sum(),
            idle: free.map(|worker| worker.thread_count().saturating_sub(worker.busy)).sum(),
            busy: dispatch.workers.iter().map(|worker| worker.busy).sum(),
            queued: dispatch.waiting(),
            served: dispatch.served,
            restarts,
        }
    }

    fn close(&self) {
        self.dispatch().is_closed = true;
        self.leave();
        // Waiting requests are still answered: in a pause they would wait for nothing.
        self.resume(Instant::now());
    }

    fn hand_over_waiting(&self) -> Option<Handover<Waiting>> {
        Some(self.dispatch().hand_over(Instant::now()))
    }

    fn take_over(&self, waiting: Handover<Waiting>) {
        let jobs = waiting.map(|waiting| Job::taken_over(waiting, IO_THREAD.get()));
        let orders = {
            let mut dispatch = self.dispatch();
            let now = Instant::now();
            dispatch.queue.take_over(jobs, now);
            self.wake_watch(&mut dispatch);
            dispatch.pump(now)
        };
        self.send_all(orders);
        self.refuse_at_end();
    }
}

/// Names requests that a dead worker had begun, for the log.
fn runs_in_words(begun: &[String]) -> String {
    let more = begun.len().saturating_sub(NAMED_MOST);
    let named = begun[..begun.len() - more].join("; ");
    match (begun.len(), more) {
        (0, _) => String::new(),
        (_, 0) => format!("; it ran {named}"),
        _ => format!("; it ran {named}; and {more} more"),
    }
}

#[cfg(test)]
#[path = "pool_test.rs"]
mod tests;
