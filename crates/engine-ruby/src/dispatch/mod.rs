//! Who gets the next request. One line of waiting requests for all workers, under one lock with what is known of them.
//!
//! An idle worker first; then, while requests are short, a little ahead to busy ones; while they are long, a further
//! thread of a worker that is waiting for something. A worker that computes has no use for a second request: the
//! request waits for whoever is free first.
//!
//! Reading order: `job`, `row` and `slot` (one thread of a worker), `worker`, `pace` and `usage`, this file, `pool`
//! (the way of a request), `watch` (deadlines), `relay` and `taken` (upgraded connections), `board`.

pub mod board;
pub mod held;
pub mod job;
pub mod pace;
pub mod pool;
pub mod relay;
pub mod row;
pub mod slot;
pub mod taken;
pub mod title;
pub mod usage;
pub mod watch;
pub mod worker;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::queue::{Job as _, Line, Refused};

use job::Job;
use pace::Pace;
use slot::Slot;
use usage::Usage;
use worker::{Isolation, Worker};

/// After waiting so long a request goes to a busy worker all the same: there it gets its share of the time, in turns of
/// a tenth of a second, which is how long a Ruby thread keeps the interpreter lock.
const HOLD: Duration = Duration::from_millis(500);

/// A worker may take a request that is not the first in the queue when it arrived on the worker's own I/O thread, is
/// among this many, and came at most this long after the first. So the first is overtaken by nothing that came later
/// than that, however long both have waited: a bound of the time for which it has waited would be passed as soon as
/// many wait, and from then on half of the answers would wake another I/O thread.
const REACH: usize = 32;
const OVERTAKES: Duration = Duration::from_millis(2);

/// When the first in the line has waited so long, one more worker would be of use.
const GROW: Duration = Duration::from_millis(20);

/// So long a request rests that has cost two workers, before its last try, for which it has a worker to itself. When
/// somebody kills all workers, one after the other, this is over before it runs again; if it is the one that kills, it
/// takes no other along.
const REST: Duration = Duration::from_millis(100);

/// What matters of a request when a place is looked for.
struct Wish {
    is_safe: bool,
    is_urgent: bool,
    lane: usize,
}

impl Wish {
    fn of(job: &Job, is_urgent: bool) -> Wish {
        Wish { is_safe: job.is_safe, is_urgent, lane: job.lane }
    }
}

/// Requests for one slot.
pub type Orders = Vec<(Arc<Slot>, Box<Job>)>;

/// What became of a request that was handed in.
pub enum Offer {
    /// It goes to this slot.
    Send(Arc<Slot>, Box<Job>),
    /// It waits.
    Queued,
    /// As many wait as may.
    Full(Box<Job>),
    /// So many wait that it would not have its turn in time.
    Late(Box<Job>),
    /// Nothing is taken any more.
    Closed(Box<Job>),
}

/// All that dispatch knows.
pub struct Dispatch {
    /// Workers that are ready.
    pub workers: Vec<Worker>,
    /// Requests that wait.
    pub line: Line<Box<Job>>,
    /// Those that rest before their last try, and until when.
    pub resting: Vec<(Instant, Box<Job>)>,
    /// Those that have rested, and wait for a worker to themselves.
    pub suspects: VecDeque<Box<Job>>,
    /// How long requests take.
    pub pace: Pace,
    /// Whether new requests are refused.
    pub is_closed: bool,
    /// Requests answered.
    pub served: u64,
    /// How many workers were needed at once.
    pub usage: Usage,
    /// Whether threads of one worker compute at the same time, as JRuby's do: then one that computes keeps no other from
    /// it.
    pub is_parallel: bool,
    /// Whether somebody looks, again and again, at what runs and waits: deadlines are kept by that.
    is_watched: bool,
}

/// What a slot, or its worker, does after a request.
#[derive(Default)]
pub struct After {
    /// The slot runs these.
    pub next: Vec<Box<Job>>,
    /// The worker is to leave and has nothing left to do.
    pub has_left: bool,
    /// The worker has served its number of requests.
    pub is_worn: bool,
    /// The worker is free for what it does between requests.
    pub goes_out: bool,
}

impl Dispatch {
    /// Without a worker.
    pub fn new(queue_places: usize) -> Dispatch {
        let line = Line::new(queue_places, Instant::now());
        Dispatch {
            workers: Vec::new(),
            line,
            resting: Vec::new(),
            suspects: VecDeque::new(),
            pace: Pace::new(),
            is_closed: false,
            served: 0,
            usage: Usage::default(),
            is_parallel: false,
            is_watched: false,
        }
    }

    /// Hands in a request.
    pub fn offer(&mut self, job: Box<Job>) -> Offer {
        if self.is_closed {
            return Offer::Closed(job);
        }
        // Nobody overtakes the line.
        if self.line.is_empty()
            && !self.line.is_paused()
            && let Some(slot) = self.pick(&Wish::of(&job, false))
        {
            self.line.count_begun(job.offered);
            return Offer::Send(slot, job);
        }
        let now = job.offered;
        match self.line.push(job, now) {
            Ok(()) => Offer::Queued,
            Err(Refused::Full(job)) => Offer::Full(job),
            Err(Refused::Late(job)) => Offer::Late(job),
        }
    }

    /// Finds a place for one request and counts it as taken.
    fn pick(&mut self, wish: &Wish) -> Option<Arc<Slot>> {
        if let Some(idle) = self.idle(wish.lane) {
            return self.workers[idle].take_thread();
        }
        let depth = self.pace.depth();
        if depth > 1 && wish.is_safe && !wish.is_urgent {
            let workers = self.workers.iter_mut().filter(|worker| worker.is_taking());
            let workers = workers.filter(|worker| worker.least_ahead() < depth);
            // One whose answers wake no other thread first: what stands ahead in it takes less than half a millisecond.
            let least = workers.min_by_key(|worker| (worker.lane != wish.lane, worker.least_ahead()))?;
            return least.take_ahead(depth);
        }
        let workers = self.workers.iter_mut().filter(|worker| worker.is_taking() && worker.has_free_thread());
        let any = wish.is_urgent || self.is_parallel;
        let waiting = workers.filter(|worker| any || worker.waits());
        waiting.min_by_key(|worker| worker.busy).and_then(Worker::take_thread)
    }

    /// An idle worker, at best one whose answers arrive on the lane where the request did.
    fn idle(&self, lane: usize) -> Option<usize> {
        let idle = self.workers.iter().enumerate().filter(|(_, worker)| worker.busy == 0 && worker.is_taking());
        let mut found = None;
        for (at, worker) in idle {
            if worker.lane == lane {
                return Some(at);
            }
            found = found.or(Some(at));
        }
        found
    }

    /// A slot has answered a request that took so long; what it does next.
    pub fn done(&mut self, slot: &Slot, took: Duration) -> After {
        self.pace.learn(took);
        self.served += 1;
        let busy = self.busy_workers();
        let Some(at) = self.workers.iter().position(|worker| worker.id == slot.worker) else {
            return After::default();
        };
        let worker = &mut self.workers[at];
        let mut after = After { is_worn: worker.count(), ..After::default() };
        worker.release(slot.number, 1);
        if worker.is_leaving {
            after.has_left = worker.is_done();
            return after;
        }
        if self.workers[at].isolation != Isolation::None && self.workers[at].busy == 0 {
            after.next.extend(self.next_suspect(at, slot.number));
        }
        if self.workers[at].isolation == Isolation::None {
            after.next = self.next_of(at, slot);
        }
        let worker = &self.workers[at];
        if worker.busy == 0 {
            self.usage.was(busy, Instant::now());
            // One at a time: the others are there for requests.
            if worker.may_go_out() && self.workers.iter().all(|worker| worker.out.is_none()) {
                self.workers[at].go_out(Instant::now());
                after.goes_out = true;
            }
        }
        after
    }

    /// The next request on its last try, for this worker, which has no other; without one the worker is free again.
    fn next_suspect(&mut self, at: usize, thread: u32) -> Option<Box<Job>> {
        let job = self.suspects.pop_front();
        let worker = &mut self.workers[at];
        worker.isolation = if job.is_some() { Isolation::Running } else { Isolation::None };
        if job.is_some() {
            worker.take(thread);
        }
        job
    }

    /// Finds a worker for requests on their last try: one that is idle, or else the least busy one gets nothing new
    /// until it is. One worker at a time: the others are there for the other requests.
    fn place_suspect(&mut self) -> Option<(Arc<Slot>, Box<Job>)> {
        self.suspects.retain(|job| !job.is_abandoned());
        let is_kept = |worker: &Worker| worker.isolation != Isolation::None && !worker.is_leaving;
        let kept = self.workers.iter().position(is_kept);
        if self.suspects.is_empty() {
            let empties = kept.filter(|at| self.workers[*at].isolation == Isolation::Emptying);
            empties.into_iter().for_each(|at| self.workers[at].isolation = Isolation::None);
            return None;
        }
        if self.line.is_paused() {
            return None;
        }
        let taking = || self.workers.iter().enumerate().filter(|(_, worker)| worker.is_taking());
        let at = kept.or_else(|| taking().min_by_key(|(_, worker)| worker.busy).map(|(at, _)| at))?;
        let worker = &mut self.workers[at];
        if worker.busy > 0 {
            if worker.isolation == Isolation::None {
                worker.isolation = Isolation::Emptying;
            }
            return None;
        }
        let slot = worker.slots().next()?.clone();
        Some((slot, self.next_suspect(at, 0)?))
    }

    /// What a slot that is free gets from the line.
    fn next_of(&mut self, at: usize, slot: &Slot) -> Vec<Box<Job>> {
        let depth = self.pace.depth();
        let Dispatch { workers, line, .. } = self;
        let worker = &mut workers[at];
        let mut next = Vec::new();
        if line.is_empty() {
            return next;
        }
        let now = Instant::now();
        loop {
            let load = worker.load(slot.number);
            let Some(job) = line.peek() else { break };
            if load > 0 && (load >= depth || !job.is_safe) {
                break;
            }
            // A little out of order, where it spares waking another I/O thread.
            let (lane, first) = (worker.lane, job.offered);
            let is_near = |job: &Box<Job>| {
                job.lane == lane
                    && (load == 0 || job.is_safe)
                    && job.offered.saturating_duration_since(first) < OVERTAKES
            };
            let Some(job) = line.pop_near(REACH, is_near, now).or_else(|| line.pop(now)) else { break };
            worker.take(slot.number);
            next.push(job);
        }
        next
    }

    /// How many workers have a request.
    pub fn busy_workers(&self) -> usize {
        self.workers.iter().filter(|worker| worker.busy > 0).count()
    }

    /// Workers that have been away between two requests for longer than this, with their processes.
    pub fn out_for(&self, time: Duration, now: Instant) -> Vec<(u32, u32)> {
        let is_late = |out: Option<Instant>| out.is_some_and(|since| now.saturating_duration_since(since) > time);
        let late = self.workers.iter().filter(|worker| is_late(worker.out));
        late.map(|worker| (worker.id, worker.pid.cast_unsigned())).collect()
    }

    /// For how long the first in the line has waited, if that means that workers are missing.
    pub fn lacks_workers(&self, now: Instant) -> Option<Duration> {
        if self.line.is_paused() {
            return None;
        }
        let first = self.line.first().or_else(|| self.suspects.front())?;
        let waited = now.saturating_duration_since(first.offered);
        Some(waited).filter(|waited| *waited >= GROW || self.workers.is_empty())
    }

    /// Sends what waits to whoever can take it by now.
    pub fn pump(&mut self, now: Instant) -> Orders {
        let mut orders: Orders = self.place_suspect().into_iter().collect();
        while let Some(job) = self.line.peek() {
            let wish = Wish::of(job, now.saturating_duration_since(job.offered) > HOLD);
            let Some(slot) = self.pick(&wish) else { break };
            let Some(job) = self.line.pop(now) else { break };
            orders.push((slot, job));
        }
        orders
    }

    /// Requests that had their turn come back, to the front of the line, in their order. Those that nobody waits for
    /// any more are dropped.
    pub fn put_back(&mut self, jobs: Vec<Box<Job>>, now: Instant) {
        for job in jobs.into_iter().rev().filter(|job| !job.is_abandoned()) {
            self.line.push_front(job, now);
        }
    }

    /// A request that may run once more, after a moment: what ended its workers may be ending all of them.
    pub fn rest(&mut self, job: Box<Job>, now: Instant) {
        self.resting.push((now + REST, job));
    }

    /// Those that have rested may run.
    pub fn wake(&mut self, now: Instant) {
        if self.resting.iter().any(|(until, _)| *until <= now) {
            let (awake, resting): (Vec<_>, Vec<_>) = self.resting.drain(..).partition(|(until, _)| *until <= now);
            self.resting = resting;
            self.suspects.extend(awake.into_iter().map(|(_, job)| job));
        }
    }

    /// Takes out the requests that have waited too long.
    pub fn overdue(&mut self, now: Instant) -> Vec<Box<Job>> {
        let mut late = self.line.overdue(now);
        if self.suspects.iter().any(|job| job.pause_ends() <= now) {
            let (over, rest): (Vec<_>, Vec<_>) = self.suspects.drain(..).partition(|job| job.pause_ends() <= now);
            self.suspects = rest.into();
            late.extend(over);
        }
        late
    }

    /// How many requests no worker has.
    pub fn waiting(&self) -> usize {
        self.line.len() + self.resting.len() + self.suspects.len()
    }

    /// The worker with this number.
    pub fn worker(&mut self, id: u32) -> Option<&mut Worker> {
        self.workers.iter_mut().find(|worker| worker.id == id)
    }

    /// Whether anything runs or waits.
    pub fn is_active(&self) -> bool {
        self.waiting() > 0 || self.workers.iter().any(|worker| worker.busy > 0)
    }

    /// Whether nothing runs or waits, so that the watch may stop looking. If so, the next request has to wake it
    /// (`lacks_watch`).
    pub fn may_rest(&mut self) -> bool {
        self.is_watched = self.is_active();
        !self.is_watched
    }

    /// Whether the watch has to be woken: something runs or waits, and it does not look. True once, for the caller who
    /// wakes it.
    pub fn lacks_watch(&mut self) -> bool {
        !self.is_watched && self.is_active() && !std::mem::replace(&mut self.is_watched, true)
    }
}

#[cfg(test)]
#[path = "dispatch_test.rs"]
mod tests;
