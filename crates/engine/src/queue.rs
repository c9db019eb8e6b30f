//! The global queue: idle workers on one side, waiting jobs on the other, never both.
//!
//! First come, first served, except under an overload that makes all late: then every second job that begins is the
//! newest ([`Forecast::favours_newest`]), so that half of the capacity serves requests whose clients still wait for
//! them, and the other half those that came first. Both sides change under one lock, so a job never waits while a
//! worker is idle, and no wake-up is lost between looking and parking. The worker that was used last is used first,
//! since its memory is still in the processor's cache.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::forecast::Forecast;

/// Interval between searches of the whole queue, rather than its front alone, for jobs that have timed out or are
/// abandoned. With ten thousand waiting, a search takes a millisecond.
const SWEEP: Duration = Duration::from_millis(50);
/// Time for which operators are still shown that the newest jobs come first, after the last one that began before older
/// ones: long enough that what they see does not change from moment to moment.
const FAVOUR_SHOWN: Duration = Duration::from_secs(30);

/// The properties of a job that the queue needs.
pub trait Job {
    /// Whether the client has disconnected; the job is then dropped instead of run.
    fn is_abandoned(&self) -> bool;
    /// Time when the job was offered to the queue.
    fn offered(&self) -> Instant;
    /// Time when the job times out in the queue.
    fn wait_ends(&self) -> Instant;
    /// Time when the job times out during a pause, which does not count as waiting otherwise.
    fn pause_ends(&self) -> Instant;
    /// Extends the job's time to wait by its share of a pause from `since` to `now`.
    fn add_pause(&mut self, since: Instant, now: Instant);
}

/// Outcome of offering a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Offer<W, J> {
    /// This idle worker is the caller's now, with the job.
    Run(W, J),
    /// The job waits.
    Queued,
    /// The queue is full; returns the job.
    Full(J),
    /// The job would time out before a worker is free, by the forecast; returns the job.
    Late(J),
    /// The queue is closed; returns the job.
    Closed(J),
}

/// Reason why a job was not queued.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused<J> {
    /// The queue is full.
    Full(J),
    /// The job would time out before a worker is free, by the forecast.
    Late(J),
}

/// Content of a queue on its way to another one: the waiting jobs, in their order, and the forecast with what it has
/// counted of the load.
#[derive(Debug)]
pub struct Handover<J> {
    jobs: Vec<J>,
    forecast: Forecast,
    favoured: Option<Instant>,
}

impl<J> Handover<J> {
    /// Number of the jobs.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether no job waited.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The jobs, in their order.
    pub fn into_jobs(self) -> Vec<J> {
        self.jobs
    }

    /// Converts each job; leaves out those for which `into` returns none.
    pub fn map<K>(self, into: impl FnMut(J) -> Option<K>) -> Handover<K> {
        let Handover { jobs, forecast, favoured } = self;
        Handover { jobs: jobs.into_iter().filter_map(into).collect(), forecast, favoured }
    }
}

/// A bounded queue of waiting jobs. An engine that chooses among its workers keeps one under its
/// own lock, beside its records of them; an engine whose workers are all alike uses [`Queue`]. It never reads a clock:
/// the caller passes `now`.
#[derive(Debug)]
pub struct Backlog<J> {
    waiting: VecDeque<J>,
    capacity: usize,
    forecast: Forecast,
    /// Time since which the queue is paused and gives out nothing.
    paused: Option<Instant>,
    /// Time of the last search for abandoned jobs.
    swept: Instant,
    /// Time of the last search behind the front for jobs that have timed out.
    searched: Instant,
    /// Time when a job last began before older ones, as the newest.
    favoured: Option<Instant>,
    /// Whether, under overload, the next job that begins is the newest; otherwise it is the first.
    is_newest_next: bool,
    /// Whether the place of the newest job is free: that job has begun, and none has come since.
    lacks_newest: bool,
}

impl<J: Job> Backlog<J> {
    /// Creates an empty queue for at most `capacity` jobs.
    pub fn new(capacity: usize, now: Instant) -> Backlog<J> {
        let forecast = Forecast::new(now);
        let waiting = VecDeque::new();
        Backlog {
            waiting,
            capacity,
            forecast,
            paused: None,
            swept: now,
            searched: now,
            favoured: None,
            is_newest_next: true,
            lacks_newest: false,
        }
    }

    /// Appends a job. Returns it if the queue is full, or if it would time out by the forecast
    /// ([`Forecast::is_too_late`]): a client that is refused at once can go elsewhere, and does not hold a connection
    /// in vain. One that takes the place of the newest job, which has begun, is not refused by the forecast: it is the
    /// next to begin as such.
    pub fn push(&mut self, job: J, now: Instant) -> Result<(), Refused<J>> {
        self.forecast.arrives(now);
        if self.waiting.len() >= self.capacity || self.is_too_late(&job, now) {
            self.sweep(now);
        }
        if self.waiting.len() >= self.capacity {
            self.forecast.loses(now);
            return Err(Refused::Full(job));
        }
        let is_newest = std::mem::take(&mut self.lacks_newest);
        if !is_newest && self.is_too_late(&job, now) {
            self.forecast.loses(now);
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
            self.drop_abandoned(now);
        }
    }

    /// Removes and returns all waiting jobs and the forecast, for [`Self::take_over`] of another queue. During a pause,
    /// extends the jobs' time to wait by the pause so far.
    pub fn hand_over(&mut self, now: Instant) -> Handover<J> {
        self.drop_abandoned(now);
        self.count_pause(now);
        let forecast = std::mem::replace(&mut self.forecast, Forecast::new(now));
        Handover { jobs: self.waiting.drain(..).collect(), forecast, favoured: self.favoured.take() }
    }

    /// Inserts the jobs of another queue in the order in which all were offered, even if this queue is full: they were
    /// accepted before. The forecast continues with the counts of both queues.
    pub fn take_over(&mut self, handover: Handover<J>, now: Instant) {
        self.count_pause(now);
        self.forecast.join(handover.forecast, now);
        self.favoured = self.favoured.max(handover.favoured);
        self.waiting.extend(handover.jobs);
        self.waiting.make_contiguous().sort_by_key(J::offered);
        if self.waiting.is_empty() {
            self.forecast.empties();
        }
    }

    /// During a pause, extends the time to wait of all jobs by the pause so far.
    fn count_pause(&mut self, now: Instant) {
        if let Some(since) = self.paused.as_mut() {
            let since = std::mem::replace(since, now);
            self.waiting.iter_mut().for_each(|job| job.add_pause(since, now));
        }
    }

    /// Removes and returns all waiting jobs, since no worker will run them.
    pub fn take_all(&mut self) -> Vec<J> {
        self.forecast.empties();
        self.waiting.drain(..).collect()
    }

    fn drop_abandoned(&mut self, now: Instant) {
        self.swept = now;
        let Backlog { waiting, forecast, .. } = self;
        waiting.retain(|job| !has_left(job, forecast, now));
    }

    /// Whether the job would time out by the forecast; false in a pause, when nothing can be predicted.
    fn is_too_late(&mut self, job: &J, now: Instant) -> bool {
        let Some(first) = self.waiting.front().filter(|_| self.paused.is_none()) else { return false };
        let first_waited = now.saturating_duration_since(first.offered());
        let patience = job.wait_ends().saturating_duration_since(now);
        self.forecast.is_too_late(self.waiting.len(), first_waited, patience, now)
    }

    /// Counts a job that begins without having waited, as the forecast needs the rate of all jobs.
    pub fn count_begun(&mut self, now: Instant) {
        self.forecast.arrives(now);
        self.forecast.begins(now);
    }

    /// Puts a job back at the front, even if the queue is full: it has been taken out before.
    pub fn push_front(&mut self, job: J, now: Instant) {
        if self.waiting.is_empty() {
            self.forecast.fills(now);
        }
        self.waiting.push_front(job);
    }

    /// Pauses the queue: it accepts jobs and gives out none.
    pub fn pause(&mut self, now: Instant) {
        self.paused.get_or_insert(now);
    }

    /// Ends a pause. Returns whether the queue was paused.
    pub fn resume(&mut self, now: Instant) -> bool {
        self.count_pause(now);
        if self.paused.take().is_none() {
            return false;
        }
        if !self.waiting.is_empty() {
            self.forecast.fills(now);
        }
        true
    }

    /// Whether the queue is paused.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// The first job, even if it is abandoned or the queue is paused.
    pub fn first(&self) -> Option<&J> {
        self.waiting.front()
    }

    /// The first job that is not abandoned; drops those before it. `None` in a pause.
    pub fn peek(&mut self, now: Instant) -> Option<&J> {
        if self.is_paused() {
            return None;
        }
        while self.waiting.front().is_some_and(|job| has_left(job, &mut self.forecast, now)) {
            self.waiting.pop_front();
        }
        if self.waiting.is_empty() {
            self.forecast.empties();
        }
        self.waiting.front()
    }

    /// Removes and returns the job that [`Self::peek`] would return.
    pub fn pop(&mut self, now: Instant) -> Option<J> {
        self.pop_if(|_| true, now)
    }

    /// Removes and returns the job that [`Self::peek`] has just returned, even if its client has left since: a worker
    /// was chosen for that job, and may not suit the next one. `None` in a pause.
    pub fn pop_peeked(&mut self, now: Instant) -> Option<J> {
        if self.is_paused() || self.waiting.is_empty() {
            return None;
        }
        self.take(0, now)
    }

    /// Removes and returns the job that [`Self::peek`] would return, if `suits` is true for it. Between two calls the
    /// client of the first job may leave: what was peeked at is not always what is next.
    pub fn pop_if(&mut self, suits: impl FnOnce(&J) -> bool, now: Instant) -> Option<J> {
        if !self.peek(now).is_some_and(suits) {
            return None;
        }
        self.take(0, now)
    }

    /// Removes and returns the newest job that is not abandoned, if there is an overload, it is the turn of the newest
    /// and `suits` is true for it. `None` otherwise: then the first job is next. To be called once for each job that
    /// can begin. An engine whose workers are all alike calls [`Self::pop_next`].
    pub fn pop_newest(&mut self, suits: impl FnOnce(&J) -> bool, now: Instant) -> Option<J> {
        let first = self.peek(now)?;
        let first_waited = now.saturating_duration_since(first.offered());
        let patience = first.wait_ends().saturating_duration_since(first.offered());
        if !self.forecast.favours_newest(first_waited, patience, now) {
            return None;
        }
        if !self.is_newest_next {
            self.is_newest_next = true;
            return None;
        }
        while self.waiting.back().is_some_and(|job| has_left(job, &mut self.forecast, now)) {
            self.waiting.pop_back();
        }
        // It keeps its turn, for a worker that suits it.
        if !self.waiting.back().is_some_and(suits) {
            return None;
        }
        let last = self.waiting.len().checked_sub(1)?;
        self.is_newest_next = false;
        self.lacks_newest = true;
        if last > 0 {
            self.favoured = Some(now);
        }
        self.take(last, now)
    }

    /// Removes and returns the job for a worker that has become free: the newest if it is its turn, else the first.
    pub fn pop_next(&mut self, now: Instant) -> Option<J> {
        self.pop_newest(|_| true, now).or_else(|| self.pop(now))
    }

    /// Whether jobs begin before older ones, as the newest, or did so within the last half minute.
    pub fn favours_newest(&self, now: Instant) -> bool {
        self.favoured.is_some_and(|last| now.saturating_duration_since(last) < FAVOUR_SHOWN)
    }

    /// Removes and returns the first job for which `suits` is true, among the first `reach`. `None` in a pause.
    pub fn pop_near(&mut self, reach: usize, suits: impl Fn(&J) -> bool, now: Instant) -> Option<J> {
        if self.is_paused() {
            return None;
        }
        let at = self.waiting.iter().take(reach).position(|job| !job.is_abandoned() && suits(job))?;
        self.take(at, now)
    }

    fn take(&mut self, at: usize, now: Instant) -> Option<J> {
        self.forecast.begins(now);
        let job = self.waiting.remove(at);
        if self.waiting.is_empty() {
            self.forecast.empties();
        }
        job
    }

    /// Removes and returns the jobs that have timed out by `now`. Those at the front are found at once; another one,
    /// behind jobs with longer time to wait, within [`SWEEP`]. Drops abandoned jobs as often.
    pub fn overdue(&mut self, now: Instant) -> Vec<J> {
        let is_paused = self.is_paused();
        let is_late = |job: &J| if is_paused { job.pause_ends() <= now } else { job.wait_ends() <= now };
        let mut late = Vec::new();
        while self.waiting.front().is_some_and(is_late) {
            late.extend(self.waiting.pop_front());
        }
        if now.saturating_duration_since(self.searched) >= SWEEP {
            self.searched = now;
            self.drop_abandoned(now);
            if self.waiting.iter().any(is_late) {
                let (found, rest) = self.waiting.drain(..).partition(is_late);
                self.waiting = rest;
                let found: VecDeque<J> = found;
                late.extend(found);
            }
        }
        if !late.is_empty() {
            self.forecast.loses(now);
        }
        if self.waiting.is_empty() {
            self.forecast.empties();
        }
        late
    }

    /// Number of waiting jobs.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no job waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// Whether the client of a job has gone, which the forecast learns; the job is then dropped.
fn has_left<J: Job>(job: &J, forecast: &mut Forecast, now: Instant) -> bool {
    let has_left = job.is_abandoned();
    if has_left {
        forecast.leaves(job.offered(), now);
    }
    has_left
}

/// The queue. `W` stands for a worker: whoever holds a value may use that worker.
#[derive(Debug)]
pub struct Queue<W, J> {
    state: Mutex<State<W, J>>,
}

#[derive(Debug)]
struct State<W, J> {
    idle: Vec<W>,
    backlog: Backlog<J>,
    closed: bool,
}

/// Numbers of idle workers and waiting jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// Idle workers.
    pub idle: usize,
    /// Waiting jobs.
    pub waiting: usize,
}

impl<W, J: Job> State<W, J> {
    /// Pairs idle workers with waiting jobs, as far as both last.
    fn begin_all(&mut self, now: Instant) -> Vec<(W, J)> {
        let mut pairs = Vec::new();
        while let Some(worker) = self.idle.pop() {
            match self.backlog.pop(now) {
                Some(job) => pairs.push((worker, job)),
                None => {
                    self.idle.push(worker);
                    break;
                }
            }
        }
        pairs
    }
}

impl<W, J: Job> Queue<W, J> {
    /// Creates a queue for at most `capacity` jobs, without workers.
    pub fn new(capacity: usize) -> Self {
        let backlog = Backlog::new(capacity, Instant::now());
        Queue { state: Mutex::new(State { idle: Vec::new(), backlog, closed: false }) }
    }

    /// Offers a job: to an idle worker if there is one, else to the queue.
    pub fn offer(&self, job: J) -> Offer<W, J> {
        let state = self.state.lock();
        if state.closed { Offer::Closed(job) } else { Self::place(state, job) }
    }

    /// The same for a job that was accepted before the queue was closed.
    pub fn offer_accepted(&self, job: J) -> Offer<W, J> {
        Self::place(self.state.lock(), job)
    }

    fn place(mut state: MutexGuard<'_, State<W, J>>, job: J) -> Offer<W, J> {
        if !state.backlog.is_paused()
            && let Some(worker) = state.idle.pop()
        {
            state.backlog.count_begun(job.offered());
            return Offer::Run(worker, job);
        }
        let now = job.offered();
        match state.backlog.push(job, now) {
            Ok(()) => Offer::Queued,
            Err(Refused::Full(job)) => Offer::Full(job),
            Err(Refused::Late(job)) => Offer::Late(job),
        }
    }

    /// Returns a worker. The next job that is not abandoned comes back with it; otherwise the worker becomes idle.
    pub fn release(&self, worker: W) -> Option<(W, J)> {
        let mut state = self.state.lock();
        if !state.backlog.is_empty()
            && let Some(job) = state.backlog.pop_next(Instant::now())
        {
            return Some((worker, job));
        }
        state.idle.push(worker);
        None
    }

    /// Removes and returns the jobs that have timed out by `now`.
    pub fn overdue(&self, now: Instant) -> Vec<J> {
        self.state.lock().backlog.overdue(now)
    }

    /// Removes and returns all waiting jobs: see [`Backlog::take_all`].
    pub fn take_all(&self) -> Vec<J> {
        self.state.lock().backlog.take_all()
    }

    /// Begins no jobs from now on: workers that are returned stay idle.
    pub fn pause(&self, now: Instant) {
        self.state.lock().backlog.pause(now);
    }

    /// Ends a pause. Returns the waiting jobs that can begin, each with an idle worker.
    pub fn resume(&self, now: Instant) -> Vec<(W, J)> {
        let mut state = self.state.lock();
        state.backlog.resume(now);
        state.begin_all(now)
    }

    /// Gives up all waiting jobs: see [`Backlog::hand_over`].
    pub fn hand_over(&self, now: Instant) -> Handover<J> {
        self.state.lock().backlog.hand_over(now)
    }

    /// Takes the jobs of another queue: see [`Backlog::take_over`]. Returns the waiting jobs that can begin, each with
    /// an idle worker.
    pub fn take_over(&self, handover: Handover<J>, now: Instant) -> Vec<(W, J)> {
        let mut state = self.state.lock();
        state.backlog.take_over(handover, now);
        state.begin_all(now)
    }

    /// Whether the queue is paused.
    pub fn is_paused(&self) -> bool {
        self.state.lock().backlog.is_paused()
    }

    /// Whether jobs begin before older ones: see [`Backlog::favours_newest`].
    pub fn favours_newest(&self, now: Instant) -> bool {
        self.state.lock().backlog.favours_newest(now)
    }

    /// Applies `ask` to the first waiting job.
    pub fn first<T>(&self, ask: impl Fn(&J) -> T) -> Option<T> {
        self.state.lock().backlog.first().map(ask)
    }

    /// Takes the first idle worker for which `suits` is true.
    pub fn take_idle(&self, suits: impl Fn(&W) -> bool) -> Option<W> {
        let mut state = self.state.lock();
        let at = state.idle.iter().position(suits)?;
        Some(state.idle.remove(at))
    }

    /// Refuses jobs from now on. Those that wait are still served.
    pub fn close(&self) {
        self.state.lock().closed = true;
    }

    /// The numbers of idle workers and waiting jobs.
    pub fn depth(&self) -> Depth {
        let state = self.state.lock();
        Depth { idle: state.idle.len(), waiting: state.backlog.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;
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
        // One job begins every 100 ms: 50 in the 5 s that a job may wait.
        let start = Instant::now();
        let overloaded = |waiting: u32, gone: bool| {
            let mut backlog = Backlog::new(1000, start);
            let later = |ms: u64| start + Duration::from_millis(ms);
            let job = |name, ms| Task { name, gone: false, ends: later(ms) + Duration::from_secs(60) };
            (0..waiting).for_each(|name| drop(backlog.push(Task { gone: gone && name > 0, ..job(name, 0) }, start)));
            (0..30).for_each(|at| backlog.count_begun(later(at * 100)));
            backlog.push(Task { ends: later(3000) + Duration::from_secs(5), ..job(waiting, 3000) }, later(3000))
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
    fn what_waits_goes_to_another_queue_in_the_order_of_its_coming_even_if_that_is_full() {
        let start = Instant::now();
        let later = |ms: u64| start + Duration::from_millis(ms);
        let job = |name, ms| Task { name, gone: name == 9, ends: later(ms) + Duration::from_secs(60) };
        let (mut old, mut new) = (Backlog::new(9, start), Backlog::new(1, start));
        for (name, ms) in [(1, 0), (9, 5), (2, 10), (4, 30)] {
            assert_eq!(old.push(job(name, ms), later(ms)), Ok(()));
        }
        assert_eq!(new.push(job(3, 20), later(20)), Ok(()));
        let handover = old.hand_over(later(40));
        assert_eq!((handover.len(), handover.is_empty(), old.len()), (3, false, 0), "one client has left");
        new.take_over(handover.map(|task| (task.name != 4).then_some(task)), later(40));
        let order: Vec<u32> = std::iter::from_fn(|| new.pop(later(50))).map(|task| task.name).collect();
        assert_eq!(order, [1, 2, 3]);
    }

    #[test]
    fn a_queue_with_an_idle_worker_begins_with_what_it_takes_over() {
        let now = Instant::now();
        let old: Queue<(), Task> = Queue::new(2);
        (1..=2).for_each(|name| assert_eq!(old.offer(task(name)), Offer::Queued));
        let new = Queue::new(2);
        assert!(new.release("w").is_none());
        let begun: Vec<_> = new.take_over(old.hand_over(now), now).iter().map(|(w, job)| (*w, job.name)).collect();
        assert_eq!((begun, new.depth()), (vec![("w", 1)], Depth { idle: 0, waiting: 1 }));
        assert!(new.take_over(old.hand_over(now), now).is_empty());
    }

    #[test]
    fn a_pause_counts_once_for_what_another_queue_takes_over() {
        let start = Instant::now();
        let later = |s: u64| start + Duration::from_secs(s);
        let mut queues = [0, 5].map(|since| {
            let mut backlog = Backlog::new(9, later(since));
            assert_eq!(backlog.push(Task { name: 1, gone: false, ends: later(60) }, later(since)), Ok(()));
            backlog.pause(later(since));
            backlog
        });
        let handover = queues[0].hand_over(later(10));
        let new = &mut queues[1];
        new.take_over(handover, later(10));
        assert!(new.is_paused() && new.resume(later(20)));
        let mut ends: Vec<_> = std::iter::from_fn(|| new.pop(later(20))).map(|task| task.ends).collect();
        ends.sort();
        assert_eq!(ends, [later(60 + 15), later(60 + 20)]);
    }

    #[test]
    fn a_closed_queue_refuses_but_serves_what_waits() {
        let queue = Queue::new(2);
        queue.offer(task(1));
        queue.close();
        assert!(matches!(queue.offer(task(2)), Offer::Closed(_)));
        assert_eq!(queue.release("w").map(|(_, job)| job.name), Some(1));
    }

    #[test]
    fn a_job_that_is_put_back_is_the_first_again_even_in_a_full_queue() {
        let start = Instant::now();
        let mut backlog: Backlog<Task> = Backlog::new(2, start);
        assert!(backlog.is_empty());
        (1..=2).for_each(|name| assert_eq!(backlog.push(task(name), start), Ok(())));
        backlog.push_front(task(0), start);
        assert_eq!((backlog.len(), backlog.is_empty(), backlog.first().map(|job| job.name)), (3, false, Some(0)));
        assert_eq!(backlog.pop(start).map(|job| job.name), Some(0));
    }

    #[test]
    fn among_the_first_jobs_only_one_that_suits_and_still_waits_is_taken() {
        let start = Instant::now();
        let mut backlog: Backlog<Task> = Backlog::new(9, start);
        for job in [task(1), Task { gone: true, ..task(2) }, task(3), task(4)] {
            assert_eq!(backlog.push(job, start), Ok(()));
        }
        let mut near = |reach: usize, least: u32| {
            backlog.pop_near(reach, |job: &Task| job.name >= least, start).map(|job| job.name)
        };
        assert_eq!((near(2, 2), near(3, 4), near(3, 2), near(9, 1)), (None, None, Some(3), Some(1)));
    }

    /// The client of the one that suited has left since it was looked at.
    #[test]
    fn the_job_behind_one_that_has_left_is_taken_only_if_it_suits_too() {
        let start = Instant::now();
        let clock = Rc::new(Cell::new(start));
        let mut backlog: Backlog<Visit> = Backlog::new(9, start);
        for (offered, leaves) in [(0, 5), (1, 1000)] {
            let [offered, leaves] = [offered, leaves].map(|ms| start + Duration::from_millis(ms));
            assert!(backlog.push(Visit { offered, leaves, clock: clock.clone() }, start).is_ok());
        }
        let is_first = |job: &Visit| job.offered == start;
        assert!(backlog.peek(start).is_some_and(is_first));
        clock.set(start + Duration::from_millis(10));
        assert!(backlog.pop_if(is_first, start).is_none());
        assert_eq!((backlog.len(), backlog.pop_if(|_| true, start).is_some()), (1, true));
    }

    /// A worker was chosen for it, and would wait for its answer for ever.
    #[test]
    fn the_job_that_was_peeked_at_is_taken_even_if_its_client_has_left_since() {
        let start = Instant::now();
        let clock = Rc::new(Cell::new(start));
        let mut backlog: Backlog<Visit> = Backlog::new(9, start);
        for offered in [start, start + Duration::from_millis(1)] {
            let leaves = start + Duration::from_millis(5);
            assert!(backlog.push(Visit { offered, leaves, clock: clock.clone() }, start).is_ok());
        }
        assert!(backlog.peek(start).is_some_and(|job| job.offered == start));
        clock.set(start + Duration::from_millis(10));
        assert!(backlog.pop_peeked(start).is_some_and(|job| job.offered == start));
        backlog.pause(start);
        assert!(backlog.pop_peeked(start).is_none() && backlog.len() == 1);
    }

    #[test]
    fn a_job_that_times_out_behind_one_with_more_time_is_found_by_the_next_search() {
        let start = Instant::now();
        let later = |ms: u64| start + Duration::from_millis(ms);
        let mut backlog: Backlog<Task> = Backlog::new(9, start);
        for (name, ends) in [(1, 60_000), (2, 10), (3, 60_000), (4, 120)] {
            assert_eq!(backlog.push(Task { name, gone: false, ends: later(ends) }, start), Ok(()));
        }
        let mut late = |ms: u64| backlog.overdue(later(ms)).iter().map(|job| job.name).collect::<Vec<u32>>();
        assert_eq!((late(49), late(50), late(99), late(130)), (vec![], vec![2], vec![], vec![4]));
    }

    #[test]
    fn right_after_a_pause_there_is_no_evidence_of_overload() {
        // One job begins every 100 ms, and 100 wait: without the pause, this one would be late.
        let start = Instant::now();
        let later = |ms: u64| start + Duration::from_millis(ms);
        let mut backlog: Backlog<Task> = Backlog::new(1000, start);
        (0..100).for_each(|name| drop(backlog.push(Task { name, gone: false, ends: later(60_000) }, start)));
        (0..30).for_each(|at| backlog.count_begun(later(at * 100)));
        backlog.pause(later(2900));
        assert!(backlog.resume(later(3000)) && !backlog.resume(later(3000)));
        let job = Task { name: 100, gone: false, ends: later(8000) };
        assert_eq!(backlog.push(job, later(3000)), Ok(()));
    }

    /// What became of the jobs of a simulated load.
    #[derive(Debug, Default)]
    struct Fate {
        /// Jobs that began less than a second after their arrival.
        fresh: u32,
        /// Jobs that began.
        begun: u32,
        /// Jobs that were refused or timed out.
        lost: u32,
        /// Jobs that began after a newer one.
        overtaken: u32,
    }

    /// A hundred jobs can begin per second. Jobs, each of which may wait for 10 s, arrive at `percent` of that for
    /// `arriving_ms`. What happened from `from_ms` on, until nothing waits.
    fn overload(percent: u64, arriving_ms: u64, from_ms: u64) -> Fate {
        overload_moved(percent, arriving_ms, from_ms, u64::MAX)
    }

    /// The same, if another queue takes the place of the first after `moved_ms`.
    fn overload_moved(percent: u64, arriving_ms: u64, from_ms: u64, moved_ms: u64) -> Fate {
        let start = Instant::now();
        let mut backlog: Backlog<Wait> = Backlog::new(100_000, start);
        let (mut fate, mut arrived, mut newest) = (Fate::default(), 0, start);
        for ms in 0.. {
            let now = start + Duration::from_millis(ms);
            if ms == moved_ms {
                let mut next = Backlog::new(100_000, now);
                next.take_over(backlog.hand_over(now), now);
                backlog = next;
            }
            let is_counted = u32::from(ms >= from_ms);
            fate.lost += is_counted * u32::try_from(backlog.overdue(now).len()).unwrap();
            while ms < arriving_ms && arrived < ms * percent / 1000 {
                arrived += 1;
                fate.lost += is_counted * u32::from(backlog.push(Wait(now), now).is_err());
            }
            if ms % 10 == 0
                && let Some(job) = backlog.pop_next(now)
            {
                fate.begun += is_counted;
                fate.fresh += is_counted * u32::from(now - job.0 < Duration::from_secs(1));
                fate.overtaken += is_counted * u32::from(job.0 < newest);
                newest = newest.max(job.0);
            }
            if ms > arriving_ms && backlog.is_empty() {
                break;
            }
        }
        fate
    }

    /// A job that arrived at a time and may wait for ten seconds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Wait(Instant);

    impl Job for Wait {
        fn is_abandoned(&self) -> bool {
            false
        }
        fn offered(&self) -> Instant {
            self.0
        }
        fn wait_ends(&self) -> Instant {
            self.0 + Duration::from_secs(10)
        }
        fn pause_ends(&self) -> Instant {
            self.wait_ends()
        }
        fn add_pause(&mut self, _: Instant, _: Instant) {}
    }

    /// In order, all would have waited for almost ten seconds. At 130 and 150 % that is so for a part of the minute,
    /// too, since nothing has been lost yet.
    #[test]
    fn under_a_lasting_overload_half_of_the_capacity_answers_within_a_second() {
        for (percent, fresh) in [(130, 1000), (150, 1700), (200, 1900), (300, 1900), (500, 1900), (1000, 1900)] {
            let fate = overload(percent, 60_000, 20_000);
            assert!(fate.fresh > fresh && fate.begun > 4000, "{percent} %, of 4000 that begin meanwhile: {fate:?}");
        }
    }

    #[test]
    fn a_queue_that_takes_over_from_another_goes_on_as_that_would_have() {
        let [stays, moves, begins_anew] = [u64::MAX, 20_000, 0].map(|ms| overload_moved(200, 25_000, 20_000, ms));
        let pairs = [(moves.fresh, stays.fresh), (moves.begun, stays.begun), (moves.lost, stays.lost)];
        // It begins with the newest job, whose turn it may not have been.
        assert!(pairs.iter().all(|(moved, stayed)| moved.abs_diff(*stayed) < 5), "{moves:?}, {stays:?}");
        assert!(stays.fresh > 200 && begins_anew.fresh == stays.fresh, "{stays:?}");
        let between_two_spans = overload_moved(200, 25_000, 20_000, 20_050);
        assert!(between_two_spans.fresh.abs_diff(stays.fresh) < 20, "{between_two_spans:?}, {stays:?}");
    }

    /// At 110 % nothing is out of order: so little does not count as an overload.
    #[test]
    fn who_would_be_served_in_order_is_served_with_half_of_the_newest_as_well() {
        for percent in [110, 125, 130, 140, 150, 200, 300, 500, 1000] {
            for share in [50, 90] {
                let arriving_ms = share * 10_000 / (percent - 100);
                let fate = overload(percent, arriving_ms, 0);
                assert_eq!(fate.lost, 0, "{percent} % for {arriving_ms} ms: {fate:?}");
                assert!(fate.overtaken == 0 || percent > 110, "{fate:?}");
                assert!(fate.overtaken > 0 || percent == 110 || share < 90, "{percent} %: {fate:?}");
            }
        }
    }

    /// A queue after three seconds in which 150 jobs arrived per second, and 50 began.
    fn three_seconds_of_overload(start: Instant) -> Backlog<Wait> {
        let mut backlog = Backlog::new(1000, start);
        for ten_ms in 0..300 {
            let now = start + Duration::from_millis(ten_ms * 10);
            assert_eq!(backlog.push(Wait(now), now), Ok(()));
            if ten_ms % 2 == 0 {
                backlog.count_begun(now);
            }
        }
        backlog
    }

    /// It reads the clock when a worker is returned, so the overload is one of the last three seconds.
    #[test]
    fn a_queue_shows_that_the_newest_job_has_begun_before_older_ones_and_for_how_long() {
        let start = Instant::now() - Duration::from_secs(3);
        let backlog = three_seconds_of_overload(start);
        let queue = Queue { state: Mutex::new(State { idle: Vec::new(), backlog, closed: false }) };
        assert!(!queue.favours_newest(Instant::now()));
        assert_eq!(queue.release("w"), Some(("w", Wait(start + Duration::from_millis(2990)))));
        let now = Instant::now();
        assert_eq!([now, now + FAVOUR_SHOWN].map(|at| queue.favours_newest(at)), [true, false]);
        assert_eq!(queue.release("w"), Some(("w", Wait(start))));
    }

    #[test]
    fn the_newest_job_keeps_its_turn_until_a_worker_suits_it_and_what_operators_see_outlasts_it() {
        let start = Instant::now();
        let later = |ms: u64| start + Duration::from_millis(ms);
        let mut backlog = three_seconds_of_overload(start);
        let now = later(3000);
        assert_eq!((backlog.pop_newest(|_| false, now), backlog.favours_newest(now)), (None, false));
        assert_eq!(backlog.pop(now), Some(Wait(start)));
        assert_eq!(backlog.pop_newest(|_| true, now), Some(Wait(later(2990))));
        assert_eq!(backlog.pop_newest(|_| true, now), None, "now it is the turn of the first");
        assert_eq!(backlog.pop_next(now), Some(Wait(later(2980))));
        assert_eq!((backlog.favours_newest(later(32_900)), backlog.favours_newest(later(33_000))), (true, false));
    }

    /// A job whose client leaves at a time by a clock that stands in for the real one.
    #[derive(Debug)]
    struct Visit {
        offered: Instant,
        leaves: Instant,
        clock: Rc<Cell<Instant>>,
    }

    impl Job for Visit {
        fn is_abandoned(&self) -> bool {
            self.leaves <= self.clock.get()
        }
        fn offered(&self) -> Instant {
            self.offered
        }
        fn wait_ends(&self) -> Instant {
            self.offered + Duration::from_secs(10)
        }
        fn pause_ends(&self) -> Instant {
            self.wait_ends()
        }
        fn add_pause(&mut self, _: Instant, _: Instant) {}
    }

    /// When the jobs that began had arrived. A hundred can begin per second, but none from the third to the sixth
    /// second. 90 arrive per second that wait, and 60 whose clients leave after `leaving_ms`.
    fn beside_leaving_clients(leaving_ms: u64) -> Vec<Instant> {
        let start = Instant::now();
        let clock = Rc::new(Cell::new(start));
        let mut backlog: Backlog<Visit> = Backlog::new(1000, start);
        let mut begun = Vec::new();
        for ten_ms in 0..2000 {
            let now = start + Duration::from_millis(ten_ms * 10);
            clock.set(now);
            backlog.overdue(now);
            let visit = |ms| Visit { offered: now, leaves: now + Duration::from_millis(ms), clock: clock.clone() };
            if ten_ms % 10 > 0 {
                assert!(backlog.push(visit(20_000), now).is_ok());
            }
            if ten_ms % 5 < 3 {
                assert!(backlog.push(visit(leaving_ms), now).is_ok());
            }
            if !(300..600).contains(&ten_ms) {
                begun.extend(backlog.pop_next(now).map(|job| job.offered));
            }
        }
        assert!(begun.len() > 1600, "{}", begun.len());
        begun
    }

    /// A browser, say, that sends a request for each letter typed, and cancels the one before.
    #[test]
    fn requests_whose_clients_leave_at_once_are_no_overload_but_those_who_have_waited_are() {
        assert!(beside_leaving_clients(100).is_sorted());
        assert!(!beside_leaving_clients(2000).is_sorted());
    }

    /// 500 clients wait for five seconds each, since no more than 100 requests begin per second.
    #[test]
    fn clients_that_wait_for_their_answers_are_served_in_order_however_many_they_are() {
        let start = Instant::now();
        let mut backlog: Backlog<Wait> = Backlog::new(1000, start);
        let asks = |backlog: &mut Backlog<Wait>, now| backlog.push(Wait(now), now).unwrap();
        (0..500).for_each(|_| asks(&mut backlog, start));
        for ten_ms in 1..3000 {
            let now = start + Duration::from_millis(ten_ms * 10);
            let job = backlog.pop_next(now).unwrap();
            assert_eq!((now - job.0).as_millis().max(5000), 5000, "after {ten_ms} cs");
            asks(&mut backlog, now);
        }
    }

    /// 50 requests per second wait for an application that stands still for three seconds and then serves 100.
    #[test]
    fn what_has_piled_up_during_a_standstill_is_served_in_order() {
        let start = Instant::now();
        let mut backlog: Backlog<Wait> = Backlog::new(1000, start);
        let mut served = Vec::new();
        for ten_ms in 0..1000 {
            let now = start + Duration::from_millis(ten_ms * 10);
            if ten_ms % 2 == 0 {
                backlog.push(Wait(now), now).unwrap();
            }
            if !(300..600).contains(&ten_ms) {
                served.extend(backlog.pop_next(now).map(|job| job.0));
            }
        }
        assert!(served.len() == 500 && served.is_sorted(), "{}", served.len());
    }

    #[test]
    fn one_can_ask_for_the_first_job_the_pause_and_an_idle_worker() {
        let queue = Queue::new(2);
        assert!(queue.release("a").is_none() && queue.release("b").is_none());
        assert_eq!((queue.take_idle(|name| *name == "b"), queue.take_idle(|name| *name == "c")), (Some("b"), None));
        assert!(!queue.is_paused());
        queue.pause(Instant::now());
        assert_eq!(queue.offer(task(7)), Offer::Queued);
        assert_eq!((queue.is_paused(), queue.first(|job| job.name)), (true, Some(7)));
    }
}
