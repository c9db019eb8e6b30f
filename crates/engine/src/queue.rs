//! The global queue: idle workers on one side, waiting jobs on the other, never both.
//!
//! First come, first served. A job never waits while a worker is idle, and a worker is never idle while a job waits:
//! both sides change under one lock, so there is no moment between looking and parking in which a wake-up could be
//! lost. The worker used last is used first, since its memory is still in the processor's cache.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::forecast::Forecast;

/// How often the whole queue is searched for jobs that are out of time or abandoned, rather than its front alone. With
/// ten thousand waiting, a search costs a millisecond.
const SWEEP: Duration = Duration::from_millis(50);

/// What the queue must know of a job.
pub trait Job {
    /// Whether nobody waits for its answer any more; it is then dropped instead of run.
    fn is_abandoned(&self) -> bool;
    /// When it was handed in.
    fn offered(&self) -> Instant;
    /// When it has waited too long.
    fn wait_ends(&self) -> Instant;
    /// When it has waited too long although nothing is begun on purpose: its time in a pause does not count otherwise.
    fn pause_ends(&self) -> Instant;
    /// A pause from `since` to `now` is over: as long as it waited in it, it may wait longer.
    fn add_pause(&mut self, since: Instant, now: Instant);
}

/// What became of a job that was offered.
#[derive(Debug, PartialEq, Eq)]
pub enum Offer<W, J> {
    /// This worker was idle and is the caller's now, with the job.
    Run(W, J),
    /// It waits.
    Queued,
    /// As many wait as may; the job comes back.
    Full(J),
    /// So many wait that it would not have its turn in time; the job comes back.
    Late(J),
    /// The queue takes nothing any more; the job comes back.
    Closed(J),
}

/// Why a job may not wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused<J> {
    /// As many wait as may.
    Full(J),
    /// It would not have its turn in time.
    Late(J),
}

/// Waiting jobs, first come, first served, bounded. An engine that chooses among its workers keeps a line under a lock
/// of its own, beside what it knows of them; one to which all workers are alike uses [`Queue`]. It never looks at a
/// clock: `now` is the caller's.
#[derive(Debug)]
pub struct Line<J> {
    waiting: VecDeque<J>,
    places: usize,
    forecast: Forecast,
    /// Since when nothing is taken out.
    paused: Option<Instant>,
    /// When abandoned jobs were last searched for.
    swept: Instant,
    /// When overdue jobs behind the front were last searched for.
    searched: Instant,
}

impl<J: Job> Line<J> {
    /// An empty line with room for so many.
    pub fn new(places: usize, now: Instant) -> Line<J> {
        let forecast = Forecast::new(now);
        Line { waiting: VecDeque::new(), places, forecast, paused: None, swept: now, searched: now }
    }

    /// To the end of the line; the job comes back when there is no place, or when it is plain that its time would be
    /// over before its turn ([`Forecast::is_too_late`]): a client that is told so at once can go elsewhere, and does
    /// not hold a connection for nothing.
    pub fn push(&mut self, job: J, now: Instant) -> Result<(), Refused<J>> {
        if self.waiting.len() >= self.places || self.is_too_late(&job, now) {
            self.sweep(now);
        }
        if self.waiting.len() >= self.places {
            return Err(Refused::Full(job));
        }
        if self.is_too_late(&job, now) {
            return Err(Refused::Late(job));
        }
        if self.waiting.is_empty() {
            self.forecast.fills(now);
        }
        self.waiting.push_back(job);
        Ok(())
    }

    fn sweep(&mut self, now: Instant) {
        if now.saturating_duration_since(self.swept) >= SWEEP || self.waiting.len() < 100 {
            self.swept = now;
            self.waiting.retain(|waiting| !waiting.is_abandoned());
        }
    }

    /// In a pause nothing can be predicted.
    fn is_too_late(&mut self, job: &J, now: Instant) -> bool {
        let Some(first) = self.waiting.front().filter(|_| self.paused.is_none()) else { return false };
        let first_waited = now.saturating_duration_since(first.offered());
        let patience = job.wait_ends().saturating_duration_since(now);
        self.forecast.is_too_late(self.waiting.len(), first_waited, patience, now)
    }

    /// Counts a job that begins without having waited: how many can begin in a second is known from these, too.
    pub fn count_begun(&mut self, now: Instant) {
        self.forecast.count(now);
    }

    /// Back to where it came from: a job that had its turn already is not refused for want of a place.
    pub fn push_front(&mut self, job: J, now: Instant) {
        if self.waiting.is_empty() {
            self.forecast.fills(now);
        }
        self.waiting.push_front(job);
    }

    /// From now on nothing is taken out: who comes, waits.
    pub fn pause(&mut self, now: Instant) {
        self.paused.get_or_insert(now);
    }

    /// Goes on; whether it was paused.
    pub fn resume(&mut self, now: Instant) -> bool {
        let Some(since) = self.paused.take() else { return false };
        self.waiting.iter_mut().for_each(|job| job.add_pause(since, now));
        if !self.waiting.is_empty() {
            self.forecast.fills(now);
        }
        true
    }

    /// Whether nothing is taken out.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// The first, whoever it is, even in a pause.
    pub fn first(&self) -> Option<&J> {
        self.waiting.front()
    }

    /// The first that somebody still waits for; those before it are dropped. None in a pause.
    pub fn peek(&mut self) -> Option<&J> {
        if self.is_paused() {
            return None;
        }
        while self.waiting.front().is_some_and(J::is_abandoned) {
            self.waiting.pop_front();
        }
        if self.waiting.is_empty() {
            self.forecast.empties();
        }
        self.waiting.front()
    }

    /// Takes that one.
    pub fn pop(&mut self, now: Instant) -> Option<J> {
        self.peek()?;
        self.take(0, now)
    }

    /// Takes the first of these kind among the next `reach` places.
    pub fn pop_near(&mut self, reach: usize, suits: impl Fn(&J) -> bool, now: Instant) -> Option<J> {
        if self.is_paused() {
            return None;
        }
        let at = self.waiting.iter().take(reach).position(|job| !job.is_abandoned() && suits(job))?;
        self.take(at, now)
    }

    fn take(&mut self, at: usize, now: Instant) -> Option<J> {
        self.forecast.count(now);
        let job = self.waiting.remove(at);
        if self.waiting.is_empty() {
            self.forecast.empties();
        }
        job
    }

    /// Takes out the jobs that have waited too long by `now`. Where all wait equally long they are at the front; one
    /// that is not is found a little later, within [`SWEEP`].
    pub fn overdue(&mut self, now: Instant) -> Vec<J> {
        let is_paused = self.is_paused();
        let is_late = |job: &J| if is_paused { job.pause_ends() <= now } else { job.wait_ends() <= now };
        let mut late = Vec::new();
        while self.waiting.front().is_some_and(is_late) {
            late.extend(self.waiting.pop_front());
        }
        if now.saturating_duration_since(self.searched) >= SWEEP {
            self.searched = now;
            if self.waiting.iter().any(is_late) {
                let (found, rest) = self.waiting.drain(..).partition(is_late);
                self.waiting = rest;
                let found: VecDeque<J> = found;
                late.extend(found);
            }
        }
        if self.waiting.is_empty() {
            self.forecast.empties();
        }
        late
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// The queue. `W` is whatever stands for a worker: holding one means having the right to use it.
#[derive(Debug)]
pub struct Queue<W, J> {
    state: Mutex<State<W, J>>,
}

#[derive(Debug)]
struct State<W, J> {
    idle: Vec<W>,
    line: Line<J>,
    closed: bool,
}

/// How many are on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// Idle workers.
    pub idle: usize,
    /// Waiting jobs.
    pub waiting: usize,
}

impl<W, J: Job> Queue<W, J> {
    /// An empty queue in which `places` jobs may wait.
    pub fn new(places: usize) -> Self {
        let line = Line::new(places, Instant::now());
        Queue { state: Mutex::new(State { idle: Vec::new(), line, closed: false }) }
    }

    /// Hands in a job: to an idle worker if there is one, else to the end of the line.
    pub fn offer(&self, job: J) -> Offer<W, J> {
        let mut state = self.state.lock();
        if state.closed {
            return Offer::Closed(job);
        }
        if !state.line.is_paused()
            && let Some(worker) = state.idle.pop()
        {
            state.line.count_begun(job.offered());
            return Offer::Run(worker, job);
        }
        let now = job.offered();
        match state.line.push(job, now) {
            Ok(()) => Offer::Queued,
            Err(Refused::Full(job)) => Offer::Full(job),
            Err(Refused::Late(job)) => Offer::Late(job),
        }
    }

    /// Gives a worker back. The first job that still matters comes back with it; without one the worker is idle.
    pub fn release(&self, worker: W) -> Option<(W, J)> {
        let mut state = self.state.lock();
        if !state.line.is_empty()
            && let Some(job) = state.line.pop(Instant::now())
        {
            return Some((worker, job));
        }
        state.idle.push(worker);
        None
    }

    /// Takes out the jobs that have waited too long by `now`.
    pub fn overdue(&self, now: Instant) -> Vec<J> {
        self.state.lock().line.overdue(now)
    }

    /// Begins nothing from now on: workers that are released stay idle.
    pub fn pause(&self, now: Instant) {
        self.state.lock().line.pause(now);
    }

    /// Goes on: jobs that have waited, each with a worker that is idle.
    pub fn resume(&self, now: Instant) -> Vec<(W, J)> {
        let mut state = self.state.lock();
        state.line.resume(now);
        let mut pairs = Vec::new();
        while let Some(worker) = state.idle.pop() {
            match state.line.pop(now) {
                Some(job) => pairs.push((worker, job)),
                None => {
                    state.idle.push(worker);
                    break;
                }
            }
        }
        pairs
    }

    /// Whether nothing is begun.
    pub fn is_paused(&self) -> bool {
        self.state.lock().line.is_paused()
    }

    /// Asks something of the first job that waits.
    pub fn first<T>(&self, ask: impl Fn(&J) -> T) -> Option<T> {
        self.state.lock().line.first().map(ask)
    }

    /// Takes an idle worker out of its turn, if there is one of this kind.
    pub fn take_idle(&self, suits: impl Fn(&W) -> bool) -> Option<W> {
        let mut state = self.state.lock();
        let at = state.idle.iter().position(suits)?;
        Some(state.idle.remove(at))
    }

    /// Refuses offers from now on. What waits is still served.
    pub fn close(&self) {
        self.state.lock().closed = true;
    }

    /// How many are on each side now.
    pub fn depth(&self) -> Depth {
        let state = self.state.lock();
        Depth { idle: state.idle.len(), waiting: state.line.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[derive(Debug, PartialEq, Eq, Clone, Copy)]
    struct Task {
        name: u32,
        gone: bool,
        ends: Instant,
    }

    impl Job for Task {
        fn is_abandoned(&self) -> bool {
            self.gone
        }
        fn offered(&self) -> Instant {
            self.ends - Duration::from_secs(60)
        }
        fn wait_ends(&self) -> Instant {
            self.ends
        }
        fn pause_ends(&self) -> Instant {
            self.ends + Duration::from_secs(20)
        }
        fn add_pause(&mut self, since: Instant, now: Instant) {
            self.ends += now - since;
        }
    }

    fn task(name: u32) -> Task {
        Task { name, gone: false, ends: Instant::now() + Duration::from_secs(60) }
    }

    #[test]
    fn an_idle_worker_is_used_at_once_and_the_last_one_first() {
        let queue = Queue::new(1);
        assert!(queue.release("a").is_none());
        assert!(queue.release("b").is_none());
        let job = task(1);
        assert_eq!(queue.offer(job), Offer::Run("b", job));
        assert_eq!(queue.depth(), Depth { idle: 1, waiting: 0 });
    }

    #[test]
    fn jobs_are_served_in_the_order_of_their_coming() {
        let queue = Queue::new(10);
        for name in 0..3 {
            assert_eq!(queue.offer(task(name)), Offer::Queued);
        }
        let order: Vec<u32> = (0..3).map(|_| queue.release("w").map(|(_, job)| job.name).unwrap()).collect();
        assert_eq!(order, [0, 1, 2]);
        assert!(queue.release("w").is_none());
    }

    #[test]
    fn a_full_queue_gives_the_job_back_and_abandoned_jobs_make_room() {
        let queue: Queue<(), Task> = Queue::new(2);
        assert_eq!(queue.offer(Task { gone: true, ..task(1) }), Offer::Queued);
        assert_eq!(queue.offer(task(2)), Offer::Queued);
        assert_eq!(queue.offer(task(3)), Offer::Queued);
        assert!(matches!(queue.offer(task(4)), Offer::Full(job) if job.name == 4));
    }

    #[test]
    fn who_would_wait_in_vain_is_refused_at_once_and_room_by_abandoned_jobs_counts() {
        // One begins each 100 ms: in the 5 s that a job may wait, 50 do.
        let start = Instant::now();
        let overloaded = |waiting: u32, gone: bool| {
            let mut line = Line::new(1000, start);
            let later = |ms: u64| start + Duration::from_millis(ms);
            let job = |name, ms| Task { name, gone: false, ends: later(ms) + Duration::from_secs(60) };
            (0..waiting).for_each(|name| drop(line.push(Task { gone: gone && name > 0, ..job(name, 0) }, start)));
            (0..30).for_each(|at| line.count_begun(later(at * 100)));
            line.push(Task { ends: later(3000) + Duration::from_secs(5), ..job(waiting, 3000) }, later(3000))
        };
        assert!(matches!(overloaded(100, false), Err(Refused::Late(job)) if job.name == 100));
        assert_eq!(overloaded(30, false), Ok(()));
        assert_eq!(overloaded(100, true), Ok(()), "99 of those before it wait no more");
    }

    #[test]
    fn an_abandoned_job_is_never_run() {
        let queue = Queue::new(2);
        queue.offer(Task { gone: true, ..task(1) });
        queue.offer(task(2));
        assert_eq!(queue.release("w").map(|(_, job)| job.name), Some(2));
    }

    #[test]
    fn only_overdue_jobs_are_taken_out() {
        let queue: Queue<(), Task> = Queue::new(9);
        let now = Instant::now();
        queue.offer(Task { ends: now, ..task(1) });
        queue.offer(task(2));
        assert_eq!(queue.overdue(now).iter().map(|job| job.name).collect::<Vec<_>>(), [1]);
        assert_eq!(queue.depth().waiting, 1);
    }

    #[test]
    fn in_a_pause_all_wait_and_their_time_stands_still() {
        let queue = Queue::new(2);
        let (now, late) = (Instant::now(), Instant::now() + Duration::from_secs(70));
        assert!(queue.release("w").is_none());
        queue.pause(now);
        assert_eq!(queue.offer(task(1)), Offer::Queued);
        assert!(queue.release("v").is_none());
        assert!(queue.overdue(late).is_empty());
        let jobs: Vec<u32> = queue.resume(late).iter().map(|(_, job)| job.name).collect();
        assert_eq!((jobs, queue.depth()), (vec![1], Depth { idle: 1, waiting: 0 }));
        queue.pause(now);
        queue.offer(task(2));
        assert_eq!(queue.overdue(late + Duration::from_secs(20)).len(), 1, "but not for ever");
    }

    #[test]
    fn a_closed_queue_refuses_but_serves_what_waits() {
        let queue = Queue::new(2);
        queue.offer(task(1));
        queue.close();
        assert!(matches!(queue.offer(task(2)), Offer::Closed(_)));
        assert_eq!(queue.release("w").map(|(_, job)| job.name), Some(1));
    }
}
