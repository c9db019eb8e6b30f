//! Assignment of requests to workers: one queue of waiting requests for all workers, and the state of each worker,
//! under one lock.
//!
//! An idle worker comes first. While requests are short, busy workers get a few more in advance (pipelining). While
//! they are long, a request goes to a further thread of a worker that waits for I/O. A worker that computes gets no
//! second request at once: the request waits for the first worker that becomes free, but not for long ([`HOLD`],
//! [`SHORT_HOLD`]). One that computes short requests has them in as few threads as keep it computing (`concurrency`).
//!
//! Reading order: `job`, `claims`, `in_flight`, `worker_memory`, `direct_writes` and `worker_thread` (one thread of a
//! worker), `run_queue`, `activity`, `concurrency` and `worker`, `service_time` and `utilization`, this file, `pool`
//! (the path of a request), `watch` (deadlines), `relay` and `upgraded` (upgraded connections), `snapshot`.

mod activity;
pub mod buffered_response;
pub mod claims;
mod concurrency;
pub mod direct_writes;
pub mod in_flight;
pub mod job;
pub mod pool;
pub mod process_title;
#[cfg(test)]
mod random_test;
pub mod relay;
mod run_queue;
pub mod service_time;
pub mod snapshot;
pub mod upgraded;
pub mod utilization;
pub mod watch;
pub mod worker;
pub mod worker_memory;
pub mod worker_thread;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Waiting;
use engine::queue::{Backlog, Handover, Job as _, Refused};

use job::Job;
use service_time::ServiceTime;
use utilization::Utilization;
use worker::{ActivitySample, Isolation, Worker};
use worker_thread::WorkerThread;

use crate::settings::Growth;

/// The wait after which a request goes to a busy worker all the same, if that has fewer requests than threads with
/// which it began. There it gets its share of processor time, in slices of up to 100 ms, which is how long a Ruby
/// thread keeps the interpreter lock.
const HOLD: Duration = Duration::from_millis(500);

/// The same for a worker that computes a request for much longer than most take, where Ruby's time slices are short
/// (`has_short_slices`). It is longer than [`GROW`], so that a worker is added first where one can be.
const SHORT_HOLD: Duration = Duration::from_millis(30);

/// A worker may take a request that is not the first in the queue when it arrived on the worker's own I/O thread, is
/// among this many, and came at most this long after the first. So the first is overtaken by nothing that came later
/// than that, however long both have waited: a bound of the time for which it has waited would be passed as soon as
/// many wait, and from then on half of the answers would wake another I/O thread.
const REACH: usize = 32;
const OVERTAKES: Duration = Duration::from_millis(2);

/// The wait of the first request in the queue after which one more worker, or further threads, would be of use.
const GROW: Duration = Duration::from_millis(20);

/// The age of a request that counts as computing for long: at least this, and at least this multiple of the mean
/// service time. Where all requests compute for about the same time, however long, further processes would make none of
/// them end sooner.
const COMPUTES_LONG: Duration = Duration::from_millis(20);
const LONGER_THAN_MEAN: u32 = 4;

/// The pause of a request that has cost two workers, before its last try, for which it has a worker to itself. If all
/// workers are being killed one after the other from outside, that is over before the request runs again; if the
/// request itself is the cause, it takes no other request along.
const REST: Duration = Duration::from_millis(100);

/// The longest time for which a worker takes nothing new for the sake of such a last try: to become empty for it, and
/// then while it runs. What it waits for may never end, such as a stream of events.
const RESERVED: Duration = Duration::from_secs(3);

/// Properties of a request that decide which worker thread it is placed on.
struct Placement {
    is_safe: bool,
    /// How long it has been in the queue.
    waited: Duration,
    io_thread: usize,
}

impl Placement {
    fn of(job: &Job, now: Instant) -> Placement {
        let waited = now.saturating_duration_since(job.offered);
        Placement { is_safe: job.is_safe, waited, io_thread: job.io_thread }
    }
}

/// Requests to be sent, each with the worker thread that gets it.
pub type Orders = Vec<(Arc<WorkerThread>, Box<Job>)>;

/// Outcome of the admission of a request.
pub enum Admission {
    /// The request goes to this worker thread.
    Send(Arc<WorkerThread>, Box<Job>),
    /// The request waits in the queue.
    Queued,
    /// Refused: the queue is full.
    Full(Box<Job>),
    /// Refused: the queue is so long that the request would time out in it.
    Late(Box<Job>),
    /// Refused: the engine is closed to new requests.
    Closed(Box<Job>),
}

/// Workers, waiting requests and statistics of one engine.
pub struct Dispatch {
    /// Workers that have booted, with the requests that each has in flight.
    pub workers: Vec<Worker>,
    /// The queue of waiting requests.
    pub queue: Backlog<Box<Job>>,
    /// Requests that pause before their last try, each with the time until which it pauses.
    pub resting: Vec<(Instant, Box<Job>)>,
    /// Requests whose pause is over and that wait for a worker to themselves.
    pub suspects: VecDeque<Box<Job>>,
    /// Estimate of the service time of requests.
    pub service_time: ServiceTime,
    /// True when new requests are refused.
    pub is_closed: bool,
    /// Number of requests of clients that were answered.
    pub served: u64,
    /// Record of how many workers were busy at the same time.
    pub utilization: Utilization,
    /// True where threads of one worker compute at the same time, as JRuby's do: one that computes does not keep
    /// others from it.
    pub is_parallel: bool,
    /// True where a thread that computes leaves Ruby's lock to others after a short time slice (`ruby/slices.rb`): a
    /// request that enters a worker while that computes soon begins.
    pub has_short_slices: bool,
    /// True where each worker loads the application itself: a further one comes too late for what computes now.
    pub loads_in_workers: bool,
    /// Why a worker is added above the minimum.
    pub growth: Growth,
    /// Maximum number of threads of a worker. Those with which it begins may be more.
    pub max_threads: u32,
    /// True while the deadline timer (`watch`) runs each millisecond; else the next request has to wake it
    /// (`lacks_watch`).
    pub is_watched: bool,
}

/// The next steps of a worker thread, and of its worker, after a completed request.
#[derive(Default)]
pub struct Completion {
    /// Requests that the thread runs next.
    pub next: Vec<Box<Job>>,
    /// The worker is retired and has no request left: it can be stopped.
    pub has_left: bool,
    /// The worker has just served its maximum number of requests and should be replaced.
    pub is_worker_expired: bool,
    /// The worker is idle and runs its out-of-band hooks now.
    pub begins_out_of_band: bool,
}

impl Dispatch {
    /// Creates a dispatch without workers, whose queue holds at most `queue_places` requests.
    pub fn new(queue_places: usize) -> Dispatch {
        Dispatch {
            workers: Vec::new(),
            queue: Backlog::new(queue_places, Instant::now()),
            resting: Vec::new(),
            suspects: VecDeque::new(),
            service_time: ServiceTime::new(),
            is_closed: false,
            served: 0,
            utilization: Utilization::default(),
            is_parallel: false,
            has_short_slices: false,
            loads_in_workers: false,
            growth: Growth::Waiting,
            max_threads: 0,
            is_watched: false,
        }
    }

    /// Admits a request: assigns it to a worker thread, queues it or refuses it.
    pub fn admit(&mut self, job: Box<Job>) -> Admission {
        if self.is_closed {
            return Admission::Closed(job);
        }
        // A new request never overtakes those in the queue.
        if self.queue.is_empty()
            && !self.queue.is_paused()
            && let Some(thread) = self.pick(&Placement::of(&job, job.offered))
        {
            self.queue.count_begun(job.offered);
            return Admission::Send(thread, job);
        }
        let now = job.offered;
        match self.queue.push(job, now) {
            Ok(()) => Admission::Queued,
            Err(Refused::Full(job)) => Admission::Full(job),
            Err(Refused::Late(job)) => Admission::Late(job),
        }
    }

    /// Finds a worker thread for one request and counts the request on it.
    fn pick(&mut self, placement: &Placement) -> Option<Arc<WorkerThread>> {
        if let Some(idle) = self.idle(placement.io_thread) {
            return self.workers[idle].take_thread();
        }
        let depth = self.depth();
        let is_urgent = placement.waited >= HOLD;
        if depth > 1 && placement.is_safe && !is_urgent {
            let workers = self.workers.iter_mut().filter(|worker| worker.is_taking());
            let workers = workers.filter(|worker| worker.least_in_flight() < depth);
            // Workers of the same I/O thread come first, because their answers wake no other thread; what stands ahead
            // in one takes less than half a millisecond.
            let load = |worker: &&mut Worker| (worker.io_thread != placement.io_thread, worker.least_in_flight());
            if let Some(least) = workers.min_by_key(load) {
                return least.take_pipelined(depth);
            }
            let waiting = self.workers.iter_mut().filter(|worker| worker.may_use_another());
            return waiting.min_by_key(|worker| worker.busy).and_then(Worker::take_thread);
        }
        let workers = self.workers.iter_mut().filter(|worker| worker.has_room());
        let is_parallel = self.is_parallel;
        let may_share = self.has_short_slices && placement.waited >= SHORT_HOLD;
        let is_open = |worker: &Worker| is_urgent && worker.has_first_room() || may_share && worker.computes_long;
        let waiting = workers.filter(|worker| is_parallel || worker.may_begin_another() || is_open(worker));
        // Of equally busy ones, one of the same I/O thread: otherwise each part of a stream wakes two of them.
        let load = |worker: &&mut Worker| (worker.busy, worker.io_thread != placement.io_thread);
        waiting.min_by_key(load).and_then(Worker::take_thread)
    }

    /// Returns the number of requests that one thread may have at once. Where threads compute at the same time that is
    /// one: a request behind another would wait although another thread is free, and so would the answer before it,
    /// which nobody but that thread may send.
    pub fn depth(&self) -> usize {
        if self.is_parallel { 1 } else { self.service_time.depth() }
    }

    /// Returns the index of an idle worker, preferably one whose answers arrive on this I/O thread.
    fn idle(&self, io_thread: usize) -> Option<usize> {
        let idle = self.workers.iter().enumerate().filter(|(_, worker)| worker.busy == 0 && worker.is_taking());
        idle.min_by_key(|(_, worker)| worker.io_thread != io_thread).map(|(at, _)| at)
    }

    /// Records that a worker thread has answered a request with this service time, and returns what it does next.
    pub fn done(&mut self, thread: &WorkerThread, took: Duration) -> Completion {
        self.service_time.observe(took);
        self.served += 1;
        let now = Instant::now();
        let is_worker_expired = self.worker(thread.owner.worker).is_some_and(|worker| worker.count(now));
        Completion { is_worker_expired, ..self.release(thread, 1) }
    }

    /// Removes an answered request that the server itself had made, a probe, from the counts that operators see.
    pub fn discount(&mut self, worker: u32) {
        self.served = self.served.saturating_sub(1);
        if let Some(worker) = self.worker(worker) {
            worker.own += 1;
        }
    }

    /// Frees `count` places on a worker thread, of requests that are over or that were withdrawn from it, and returns
    /// what it does next.
    pub fn release(&mut self, thread: &WorkerThread, count: usize) -> Completion {
        let busy = self.busy_workers();
        let Some(at) = self.workers.iter().position(|worker| worker.id == thread.owner.worker) else {
            return Completion::default();
        };
        let mut completion = Completion::default();
        let worker = &mut self.workers[at];
        worker.release(thread.number, count);
        if worker.is_leaving {
            worker.rest_if_idle();
            completion.has_left = worker.is_done();
            return completion;
        }
        if self.workers[at].isolation != Isolation::None && self.workers[at].busy == 0 {
            completion.next.extend(self.next_suspect(at, thread.number, Instant::now()));
        }
        // One that does not run may have written the answer before it was stopped.
        if self.workers[at].is_taking() {
            completion.next = self.next_of(at, thread);
        }
        let worker = &mut self.workers[at];
        worker.rest_if_idle();
        if worker.busy == 0 {
            if self.growth == Growth::Waiting {
                self.utilization.observe(busy, Instant::now());
            }
            // One worker at a time: the others serve requests.
            if self.workers[at].may_run_out_of_band() && self.workers.iter().all(|worker| worker.out_of_band.is_none())
            {
                self.workers[at].begin_out_of_band(Instant::now());
                completion.begins_out_of_band = true;
            }
        }
        completion
    }

    /// Takes the next request on its last try for this worker, which has no other request; without one, in a pause, and
    /// if the worker does not run, ends the isolation of the worker.
    fn next_suspect(&mut self, at: usize, thread: u32, now: Instant) -> Option<Box<Job>> {
        self.suspects.retain(|job| !job.is_abandoned());
        let is_held = self.queue.is_paused() || self.workers[at].is_avoided;
        let job = if is_held { None } else { self.suspects.pop_front() };
        let worker = &mut self.workers[at];
        worker.isolation = if job.is_some() { Isolation::Running(now) } else { Isolation::None };
        if job.is_some() {
            worker.take(thread);
        }
        job
    }

    /// Assigns a request on its last try to an idle worker. If none is idle, the least busy one gets nothing new until
    /// it is. One worker at a time: the others serve the other requests.
    fn place_suspect(&mut self, now: Instant) -> Option<(Arc<WorkerThread>, Box<Job>)> {
        self.suspects.retain(|job| !job.is_abandoned());
        let is_kept = |worker: &Worker| worker.isolation != Isolation::None && !worker.is_leaving;
        let kept = self.workers.iter().position(is_kept);
        if self.suspects.is_empty() {
            let empties = kept.filter(|at| matches!(self.workers[*at].isolation, Isolation::Emptying(_)));
            empties.into_iter().for_each(|at| self.workers[at].isolation = Isolation::None);
            return None;
        }
        if self.queue.is_paused() {
            return None;
        }
        let taking = || self.workers.iter().enumerate().filter(|(_, worker)| worker.is_taking());
        let at = kept.or_else(|| taking().min_by_key(|(_, worker)| worker.busy).map(|(at, _)| at))?;
        let worker = &mut self.workers[at];
        if worker.busy > 0 {
            if worker.isolation == Isolation::None {
                worker.isolation = Isolation::Emptying(now);
            }
            return None;
        }
        let thread = worker.threads().next()?.clone();
        Some((thread, self.next_suspect(at, 0, now)?))
    }

    /// Takes requests from the queue for a worker thread that has become free.
    fn next_of(&mut self, at: usize, thread: &WorkerThread) -> Vec<Box<Job>> {
        let depth = self.depth();
        let is_parallel = self.is_parallel;
        let Dispatch { workers, queue, .. } = self;
        let worker = &mut workers[at];
        let mut next = Vec::new();
        let is_open = is_parallel || worker.may_go_on();
        if queue.is_empty() || !is_open && worker.load(thread.number) == 0 {
            return next;
        }
        let now = Instant::now();
        loop {
            let load = worker.load(thread.number);
            let Some(job) = queue.peek(now) else { break };
            if load > 0 && (load >= depth || !job.is_safe) {
                break;
            }
            // Slightly out of order where that spares a wakeup of another I/O thread.
            let io_thread = worker.io_thread;
            let first = job.offered;
            let is_near = |job: &Job| {
                job.io_thread == io_thread
                    && (load == 0 || job.is_safe)
                    && job.offered.saturating_duration_since(first) <= OVERTAKES
            };
            // Behind another request only a safe one. The client of the first may have left since it was looked at.
            let newest = queue.pop_newest(|job| load == 0 || job.is_safe, now);
            let near = newest.or_else(|| queue.pop_near(REACH, |job| is_near(job), now));
            let Some(job) = near.or_else(|| queue.pop_if(|job| load == 0 || job.is_safe, now)) else { break };
            worker.take(thread.number);
            next.push(job);
        }
        next
    }

    /// Begins to sample what each worker does with the processor, where that matters and it is time for it.
    pub fn begin_samples(&mut self, now: Instant) -> Vec<ActivitySample> {
        let grows = self.growth == Growth::Computing;
        let max_threads = self.max_threads;
        let is_waiting = !self.queue.is_empty();
        let is_parallel = self.is_parallel;
        // Only then are further workers or threads of use.
        let are_long = self.depth() == 1;
        // A request never enters a worker of one thread that is busy.
        let sampled = self.workers.iter_mut().filter(|worker| grows || worker.thread_count() > 1 || max_threads > 1);
        let samples = sampled.filter_map(|worker| {
            // Otherwise the next request waits for one of the threads, whatever the worker does.
            let may_use_more = worker.has_room() || are_long && (grows || worker.may_get_threads(max_threads, now));
            let may_have_too_many = !is_parallel && worker.busy > 1;
            worker.begin_sample(now, is_waiting && (may_use_more || may_have_too_many))
        });
        samples.collect()
    }

    /// Takes what samples have shown. A worker may have been removed meanwhile: its sample is dropped.
    pub fn end_samples(&mut self, samples: Vec<ActivitySample>) {
        let is_pipelined = self.depth() > 1;
        for sample in samples {
            if let Some(worker) = self.worker(sample.worker) {
                worker.end_sample(sample);
                worker.raise_limit(is_pipelined);
            }
        }
    }

    /// Returns the number of workers that have a request.
    pub fn busy_workers(&self) -> usize {
        self.workers.iter().filter(|worker| worker.busy > 0).count()
    }

    /// Returns the workers whose out-of-band hooks have run for longer than `time`, as pairs of worker number and
    /// process.
    pub fn out_of_band_for(&self, time: Duration, now: Instant) -> Vec<(u32, u32)> {
        let is_late = |out: Option<Instant>| out.is_some_and(|since| now.saturating_duration_since(since) > time);
        let late = self.workers.iter().filter(|worker| is_late(worker.out_of_band));
        late.map(|worker| (worker.id, worker.pid.cast_unsigned())).collect()
    }

    /// Returns the number of workers that are of use now: those that have a request, or, where a worker is added only
    /// while all compute, those that compute one for long. In the others a thread would do for what they run.
    pub fn needed_workers(&self) -> usize {
        match self.growth {
            Growth::Waiting => self.busy_workers(),
            Growth::Computing => self.computing_long(),
        }
    }

    /// Returns how long the first waiting request has waited, if that means that workers are missing.
    pub fn lacks_workers(&self, now: Instant) -> Option<Duration> {
        // What still waits after the end of new requests is little, and other processes may be starting beside these.
        if self.queue.is_paused() || (self.is_closed && !self.workers.is_empty()) {
            return None;
        }
        let first = self.queue.first().or_else(|| self.suspects.front())?;
        let waited = now.saturating_duration_since(first.offered);
        let is_missing = waited >= GROW && (self.growth == Growth::Waiting || self.all_compute_long());
        Some(waited).filter(|_| is_missing || self.workers.is_empty())
    }

    /// Orders further threads while the first request in the queue has waited for long: as many as requests wait, for
    /// workers whose own all wait for something other than a processor. A worker has at most twice as many then: what
    /// they do shows whether it needs more.
    pub fn grow_threads(&mut self, now: Instant) {
        let most = self.max_threads;
        let waited = self.queue.first().map(|first| now.saturating_duration_since(first.offered));
        if self.is_closed || self.queue.is_paused() || waited.is_none_or(|waited| waited < GROW) {
            return;
        }
        let mut missing = self.queue.len();
        for worker in self.workers.iter_mut().filter(|worker| worker.lacks_threads(most, now)) {
            if missing > 0 {
                missing -= worker.order_threads(missing, most, now);
            }
        }
    }

    /// Whether every worker that runs computes one request for much longer than most take. One that does something
    /// else, such as its out-of-band hooks, takes requests again in a moment. Where threads of a worker compute at the
    /// same time, further workers give no request more of the processors.
    fn all_compute_long(&self) -> bool {
        let mut running = self.workers.iter().filter(|worker| !worker.is_leaving && !worker.is_avoided);
        let may_grow = !self.is_parallel && !self.loads_in_workers;
        may_grow && running.all(|worker| worker.is_taking() && self.is_computing_long(worker))
    }

    /// Returns the number of workers that compute one request for much longer than most take.
    pub fn computing_long(&self) -> usize {
        self.workers.iter().filter(|worker| !worker.is_leaving && self.is_computing_long(worker)).count()
    }

    /// Whether a worker computes one request for much longer than most take.
    fn is_computing_long(&self, worker: &Worker) -> bool {
        self.long_computing().is_some_and(|long| worker.computes_long || worker.computing >= long)
    }

    /// Returns the time for which a worker must have been computing to count as computing one request for long; none
    /// while too few requests have been observed.
    fn long_computing(&self) -> Option<Duration> {
        self.service_time.mean().map(|mean| COMPUTES_LONG.max(mean * LONGER_THAN_MEAN))
    }

    /// Assigns waiting requests to all worker threads that can take one now.
    pub fn pump(&mut self, now: Instant) -> Orders {
        let mut orders: Orders = self.place_suspect(now).into_iter().collect();
        while let Some(job) = self.queue.peek(now) {
            let placement = Placement::of(job, now);
            let Some(thread) = self.pick(&placement) else { break };
            // Not the next one if the client has left meanwhile: the thread is reserved, and for this request.
            let Some(job) = self.queue.pop_peeked(now) else { break };
            orders.push((thread, job));
        }
        orders
    }

    /// Lets these workers, which do not run, get no requests while another worker runs, and takes back what they have
    /// not begun. Where all are like that, requests wait in them as well as in the queue, where they would be refused.
    /// Returns whether waiting requests may have a worker now that they had not before.
    pub fn avoid(&mut self, hung: &[u32], now: Instant) -> bool {
        let has_others = self.workers.iter().any(|worker| !worker.is_leaving && !hung.contains(&worker.id));
        let mut back = Vec::new();
        let mut is_changed = false;
        for worker in &mut self.workers {
            let is_avoided = has_others && hung.contains(&worker.id);
            if is_avoided != std::mem::replace(&mut worker.is_avoided, is_avoided) {
                is_changed = true;
            }
            if is_avoided {
                // Another one is emptied for a last try.
                if matches!(worker.isolation, Isolation::Emptying(_)) {
                    worker.isolation = Isolation::None;
                }
                back.extend(worker.threads().flat_map(|thread| thread.withdraw()));
            }
        }
        is_changed |= !back.is_empty();
        self.put_back(back, now);
        is_changed
    }

    /// Puts requests that were already assigned back at the front of the queue, in their order; one on its last try,
    /// whose worker has died before it was sent, waits for another one to itself. Requests whose clients have gone are
    /// dropped.
    pub fn put_back(&mut self, jobs: Vec<Box<Job>>, now: Instant) {
        for job in jobs.into_iter().rev().filter(|job| !job.is_abandoned()) {
            if job.is_last_try() { self.suspects.push_front(job) } else { self.queue.push_front(job, now) }
        }
    }

    /// Sets a request aside for a pause before its last try: what ended its workers may be ending all of them.
    pub fn rest(&mut self, job: Box<Job>, now: Instant) {
        self.resting.push((now + REST, job));
    }

    /// Makes requests whose pause is over eligible for their last try.
    pub fn wake(&mut self, now: Instant) {
        if self.resting.iter().any(|(until, _)| *until <= now) {
            let (awake, resting): (Vec<_>, Vec<_>) = self.resting.drain(..).partition(|(until, _)| *until <= now);
            self.resting = resting;
            self.suspects.extend(awake.into_iter().map(|(_, job)| job));
        }
    }

    /// Removes and returns the requests that have waited too long.
    pub fn overdue(&mut self, now: Instant) -> Vec<Box<Job>> {
        let mut late = self.queue.overdue(now);
        if self.suspects.iter().any(|job| job.pause_ends() <= now) {
            let (over, rest): (Vec<_>, Vec<_>) = self.suspects.drain(..).partition(|job| job.pause_ends() <= now);
            self.suspects = rest.into();
            late.extend(over);
        }
        late
    }

    /// Lets a worker that has been reserved for too long take any request again. If it had not become empty by then,
    /// removes and returns the requests on their last try. In a pause it stays reserved: nothing could begin.
    pub fn end_isolation(&mut self, now: Instant) -> Vec<Box<Job>> {
        if self.queue.is_paused() {
            return Vec::new();
        }
        let is_late = |worker: &Worker| !worker.is_leaving && worker.is_reserved_for(RESERVED, now);
        let Some(worker) = self.workers.iter_mut().find(|worker| is_late(worker)) else { return Vec::new() };
        match std::mem::replace(&mut worker.isolation, Isolation::None) {
            Isolation::Emptying(_) => self.suspects.drain(..).collect(),
            Isolation::Running(_) | Isolation::None => Vec::new(),
        }
    }

    /// Removes and returns the requests that wait in the queue, except those that had begun on workers that died or
    /// have taken a connection over: the code that began a request continues it.
    pub fn hand_over(&mut self, now: Instant) -> Handover<Waiting> {
        let mut kept = Vec::new();
        let waiting = self.queue.hand_over(now).map(|job| match job.hand_over() {
            Ok(waiting) => Some(waiting),
            Err(job) => {
                kept.push(job);
                None
            }
        });
        self.put_back(kept, now);
        waiting
    }

    /// Removes and returns the requests that no worker has.
    pub fn take_waiting(&mut self) -> Vec<Box<Job>> {
        let mut all = self.queue.take_all();
        all.extend(self.resting.drain(..).map(|(_, job)| job));
        all.extend(self.suspects.drain(..));
        all
    }

    /// Returns the number of requests that no worker has.
    pub fn waiting(&self) -> usize {
        self.queue.len() + self.resting.len() + self.suspects.len()
    }

    /// Returns the worker with this number.
    pub fn worker(&mut self, id: u32) -> Option<&mut Worker> {
        self.workers.iter_mut().find(|worker| worker.id == id)
    }

    /// Returns whether any request runs or waits.
    pub fn is_active(&self) -> bool {
        self.waiting() > 0 || self.workers.iter().any(|worker| worker.busy > 0)
    }

    /// Returns whether nothing runs or waits, so that the deadline timer may stop; the next request then has to wake
    /// it.
    pub fn may_rest(&mut self) -> bool {
        self.is_watched = self.is_active();
        !self.is_watched
    }

    /// Returns whether the deadline timer has to be woken, because something runs or waits while it is stopped, or
    /// runs less often. Returns true once, to the caller that wakes it.
    pub fn lacks_watch(&mut self) -> bool {
        !self.is_watched && self.is_active() && !std::mem::replace(&mut self.is_watched, true)
    }
}

#[cfg(test)]
#[path = "dispatch_test.rs"]
mod tests;
