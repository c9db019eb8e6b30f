//! A dispatch under random requests, answers, samples and deaths of workers in any order: the invariants that must hold
//! all the same. The newest request is never favoured here: where a thread has answered, that goes by the real clock,
//! which is behind the times of all requests.

use std::collections::BTreeMap;

use bytes::{BufMut, BytesMut};
use engine::{Fault, Reply, Request, reply};
use http::Method;

use super::activity::{Activity, Interval};
use super::in_flight::Step;
use super::job::Death;
use super::worker::FULL_WAITS;
use super::worker_thread::Unfinished;
use super::*;
use crate::dice::Dice;
use crate::wire::control::Control;
use crate::wire::frames::{Frame, flag, kind};

const IO_THREADS: usize = 3;
const WORKERS_MOST: usize = 6;
/// The length from which a full queue is not searched for requests whose clients have gone.
const SWEPT_MOST: usize = 100;

/// A request that is not over.
struct Known {
    is_safe: bool,
    io_thread: usize,
    offered: Instant,
    /// None when its client has gone.
    reply: Option<Reply>,
}

/// A request that was sent to a thread, or is about to be.
struct Sent {
    id: u32,
    seq: u32,
    /// It was taken back, and keeps its place until the worker answers it.
    is_withdrawn: bool,
    is_stream: bool,
}

/// A thread, with the requests that have a place on it.
struct Thread {
    thread: Arc<WorkerThread>,
    seq: u32,
    sent: VecDeque<Sent>,
    /// The number of the last request sent ahead that the worker has begun while it held the answers before it.
    begun: u32,
}

impl Thread {
    fn new(thread: Arc<WorkerThread>) -> Thread {
        Thread { thread, seq: 0, sent: VecDeque::new(), begun: 0 }
    }

    /// Lets the worker begin one of the requests behind the first one.
    fn begin(&mut self, dice: &mut Dice) {
        let begun = self.begun;
        let waiting = self.sent.iter().skip(1).filter(|sent| !sent.is_withdrawn && sent.seq > begun);
        let Some(seq) = dice.any_of(&waiting.map(|sent| sent.seq).collect::<Vec<_>>()) else { return };
        let claims = self.thread.owner.claims.as_ref().unwrap();
        assert!(claims.begin(self.thread.number, seq), "request {seq} was not taken back");
        self.begun = seq;
    }

    /// Notes that the requests behind the first one are taken back, but those that have begun, and returns them.
    fn withdraw(&mut self) -> Vec<u32> {
        let begun = self.begun;
        let behind = self.sent.iter_mut().skip(1).filter(|sent| !sent.is_withdrawn && sent.seq > begun);
        let withdrawn = behind.map(|sent| {
            sent.is_withdrawn = true;
            sent.id
        });
        withdrawn.collect()
    }
}

/// A worker that the dispatch knows.
struct Process {
    io_thread: usize,
    control: Arc<Control>,
    /// Number of threads with which it began.
    first: usize,
    /// Number of its threads, with those that were ordered and have not come.
    ordered: u32,
    threads: Vec<Thread>,
}

impl Process {
    fn busy(&self) -> usize {
        self.threads.iter().filter(|thread| !thread.sent.is_empty()).count()
    }
}

/// How a request came to its thread.
enum Taken {
    /// A place was found for it after this wait.
    Chosen(Duration),
    /// The thread has answered, and went on with it.
    Next,
    /// On its last try.
    Alone,
}

/// How often something has happened that should happen now and then.
#[derive(Debug, Default)]
struct Seen {
    behind_another: usize,
    out_of_order: usize,
    alone: usize,
    ordered: usize,
}

/// A dispatch, its workers, and where each request must be.
struct World {
    dispatch: Dispatch,
    now: Instant,
    dice: Dice,
    /// The seed, and the step.
    at: (u64, usize),
    /// Set when nothing goes wrong any more.
    is_calm: bool,
    are_short: bool,
    has_out_of_band: bool,
    first_threads: u32,
    places: usize,
    requests: BTreeMap<u32, Known>,
    queue: VecDeque<u32>,
    resting: Vec<(Instant, u32)>,
    suspects: VecDeque<u32>,
    workers: BTreeMap<u32, Process>,
    /// Threads of dead workers, from which something may still be read.
    dead: Vec<Thread>,
    next_request: u32,
    next_worker: u32,
    seen: Seen,
}

fn id_of(job: &Job) -> u32 {
    job.request.id.parse().unwrap()
}

impl World {
    fn new(seed: u64) -> World {
        let mut dice = Dice(seed);
        // Long after all that reads the real clock.
        let now = Instant::now() + Duration::from_secs(3600);
        let (workers, first_threads) = dice.any_of(&[(1, 1), (1, 2), (2, 5), (4, 1), (3, 2)]).unwrap();
        let places = dice.any_of(&[3, 20, 60]).unwrap();
        let mut dispatch = Dispatch::new(places);
        dispatch.queue = Backlog::new(places, now);
        dispatch.is_parallel = dice.one_in(4);
        dispatch.has_short_slices = dice.one_in(2);
        dispatch.growth = if dice.one_in(2) { Growth::Computing } else { Growth::Waiting };
        dispatch.max_threads = dice.any_of(&[0, 8, 32]).unwrap();
        let are_short = dice.one_in(2);
        if are_short {
            (0..500).for_each(|_| dispatch.service_time.observe(Duration::from_micros(50)));
        }
        let mut world = World {
            dispatch,
            now,
            at: (seed, 0),
            is_calm: false,
            are_short,
            has_out_of_band: dice.one_in(3),
            dice,
            first_threads,
            places,
            requests: BTreeMap::new(),
            queue: VecDeque::new(),
            resting: Vec::new(),
            suspects: VecDeque::new(),
            workers: BTreeMap::new(),
            dead: Vec::new(),
            next_request: 1,
            next_worker: 0,
            seen: Seen::default(),
        };
        (0..workers).for_each(|_| world.worker_is_added());
        world
    }

    fn has_gone(&self, id: u32) -> bool {
        self.requests[&id].reply.is_none()
    }

    /// Returns the number of requests in the queue whose clients wait.
    fn waiting(&self) -> usize {
        self.queue.iter().filter(|id| !self.has_gone(**id)).count()
    }

    /// Returns all threads that have a request, with their workers.
    fn busy_threads(&self) -> Vec<(u32, usize)> {
        let threads = self.workers.iter().flat_map(|(id, process)| {
            let threads = process.threads.iter().enumerate();
            threads.filter(|(_, thread)| !thread.sent.is_empty()).map(move |(number, _)| (*id, number))
        });
        threads.collect()
    }

    fn any_worker(&mut self, is_so: impl Fn(&Worker) -> bool) -> Option<u32> {
        let all: Vec<u32> = self.dispatch.workers.iter().filter(|one| is_so(one)).map(|one| one.id).collect();
        self.dice.any_of(&all)
    }

    fn end(&mut self, id: u32) {
        assert!(self.requests.remove(&id).is_some(), "{:?}: request {id} ends a second time", self.at);
    }

    /// Notes that a request on its last try begins. Returns false if the request is not on its last try.
    fn leaves_suspects(&mut self, id: u32) -> bool {
        let Some(place) = self.suspects.iter().position(|other| *other == id) else { return false };
        let is_first = self.suspects.iter().take(place).all(|ahead| self.has_gone(*ahead));
        assert!(is_first, "{:?}: request {id} overtakes others of {:?}", self.at, self.suspects);
        self.suspects.remove(place);
        true
    }

    /// Notes that a request in the queue begins. `io_thread` is that of its worker, if this has just answered another.
    fn leaves_queue(&mut self, id: u32, io_thread: Option<usize>) {
        let place = self.queue.iter().position(|other| *other == id);
        let place = place.unwrap_or_else(|| panic!("{:?}: request {id} begins, and was not in the queue", self.at));
        let ahead: Vec<u32> = self.queue.iter().take(place).copied().filter(|ahead| !self.has_gone(*ahead)).collect();
        if let Some(first) = ahead.first() {
            let (first, overtaking) = (&self.requests[first], &self.requests[&id]);
            let is_near = io_thread == Some(overtaking.io_thread)
                && overtaking.offered.saturating_duration_since(first.offered) <= OVERTAKES
                && ahead.len() < REACH;
            assert!(is_near, "{:?}: request {id} overtakes {ahead:?}", self.at);
            self.seen.out_of_order += 1;
        }
        self.queue.remove(place);
    }

    /// Notes that a request gets a place on a thread, and checks that it may.
    fn place(&mut self, id: u32, thread: &WorkerThread, taken: &Taken) {
        let at = self.at;
        assert!(!self.dispatch.queue.is_paused(), "{at:?}: request {id} begins in a pause");
        assert!(!self.has_gone(id), "{at:?}: request {id} begins, and nobody waits for it");
        let depth = self.dispatch.depth();
        let is_parallel = self.dispatch.is_parallel;
        let has_short_slices = self.dispatch.has_short_slices;
        let is_safe = self.requests[&id].is_safe;
        let worker = self.dispatch.worker(thread.owner.worker).unwrap();
        let process = self.workers.get_mut(&worker.id).unwrap();
        let busy = process.busy();
        let has_first_room = busy.saturating_sub(worker.streams) < process.first;
        let is_waiting = worker.activity == Activity::Waiting;
        let is_allowed = worker.concurrency.allows(busy.saturating_sub(worker.streams + worker.lasting));
        let Thread { sent, seq, .. } = &mut process.threads[thread.number as usize];
        let is_right = match taken {
            Taken::Alone => {
                let is_reserved = matches!(worker.isolation, Isolation::Running(_));
                is_reserved && busy == 0 && !worker.is_avoided && !worker.is_leaving && worker.out_of_band.is_none()
            }
            _ if !worker.is_taking() => false,
            _ if !sent.is_empty() => is_safe && sent.len() < depth,
            _ if busy == 0 || is_parallel => true,
            Taken::Next if worker.computes_long && has_first_room => true,
            Taken::Next => is_allowed && (is_waiting || has_first_room),
            Taken::Chosen(waited) => {
                let may_share = has_short_slices && worker.computes_long;
                let is_late = *waited >= HOLD && has_first_room || *waited >= SHORT_HOLD && may_share;
                is_late || is_allowed && is_waiting
            }
        };
        let (number, load) = (thread.number, sent.len());
        assert!(is_right, "{at:?}: request {id} on thread {number} of worker {}: {busy} busy, {load} there", worker.id);
        self.seen.behind_another += usize::from(load > 0);
        self.seen.alone += usize::from(matches!(taken, Taken::Alone));
        *seq += 1;
        sent.push_back(Sent { id, seq: *seq, is_withdrawn: false, is_stream: false });
    }

    /// Assigns waiting requests, and checks each assignment.
    fn pump(&mut self) -> Orders {
        let orders = self.dispatch.pump(self.now);
        for (thread, job) in &orders {
            let id = id_of(job);
            let taken = if self.leaves_suspects(id) {
                Taken::Alone
            } else {
                self.leaves_queue(id, None);
                Taken::Chosen(self.now.saturating_duration_since(job.offered))
            };
            self.place(id, thread, &taken);
        }
        orders
    }

    /// Sends requests to their threads, as the pool does. Now and then a worker dies just before it gets one.
    fn send_all(&mut self, orders: Orders) {
        let mut orders = VecDeque::from(orders);
        while let Some((thread, job)) = orders.pop_front() {
            if !self.is_calm && self.dice.one_in(100) {
                self.dies(thread.owner.worker);
            }
            let Err(job) = thread.push(job) else { continue };
            let id = id_of(&job);
            let dead = self.dead.iter_mut().find(|dead| Arc::ptr_eq(&dead.thread, &thread)).unwrap();
            dead.sent.retain(|sent| sent.id != id || sent.is_withdrawn);
            self.put_back(vec![job]);
            orders.extend(self.pump());
        }
    }

    fn pump_and_send(&mut self) {
        let orders = self.pump();
        self.send_all(orders);
    }

    fn put_back(&mut self, jobs: Vec<Box<Job>>) {
        for job in jobs.iter().rev() {
            let id = id_of(job);
            if job.is_last_try() && !self.has_gone(id) {
                self.suspects.push_front(id);
            } else {
                self.comes_back(id);
            }
        }
        self.dispatch.put_back(jobs, self.now);
    }

    /// Notes that a request is the first of the queue again, if its client waits.
    fn comes_back(&mut self, id: u32) {
        if self.has_gone(id) { self.end(id) } else { self.queue.push_front(id) }
    }

    /// Takes the requests back that stand behind the first one of a thread.
    fn withdraw(&mut self, worker: u32, number: usize) -> Vec<Box<Job>> {
        let thread = &mut self.workers.get_mut(&worker).unwrap().threads[number];
        let expected = thread.withdraw();
        let jobs = thread.thread.withdraw();
        assert_eq!(jobs.iter().map(|job| id_of(job)).collect::<Vec<_>>(), expected, "{:?}", self.at);
        jobs
    }

    fn request_arrives(&mut self) {
        let id = self.next_request;
        self.next_request += 1;
        let is_safe = !self.dice.one_in(4);
        let io_thread = self.dice.below(IO_THREADS);
        let patience = self.dice.any_of(&[100, 2000, 5000]).unwrap();
        let offered = self.now;
        let request = Request {
            id: id.to_string(),
            complete: offered,
            deadline: offered + Duration::from_secs(10),
            queue_deadline: offered + Duration::from_millis(patience),
            ..Request::sample(if is_safe { Method::GET } else { Method::POST }, "/")
        };
        let (responder, reply) = reply::pair();
        let mut job = Job::new(request, responder, io_thread).unwrap();
        job.offered = offered;
        if is_safe && self.dice.one_in(4) {
            assert!(job.may_replay(true, Death::Crash), "it may have ended one worker before");
        }
        let waiting = self.waiting();
        self.requests.insert(id, Known { is_safe, io_thread, offered, reply: Some(reply) });
        let at = self.at;
        match self.dispatch.admit(job) {
            Admission::Send(thread, job) => {
                assert_eq!(waiting, 0, "{at:?}: request {id} overtakes the queue");
                self.place(id, &thread, &Taken::Chosen(Duration::ZERO));
                self.send_all(vec![(thread, job)]);
            }
            Admission::Queued => {
                assert!(!self.dispatch.is_closed, "{at:?}: request {id} waits in a closed queue");
                self.queue.push_back(id);
            }
            Admission::Full(_) => {
                let is_full = waiting >= self.places || self.queue.len() >= SWEPT_MOST;
                assert!(is_full, "{at:?}: the queue is full with {waiting} requests");
                self.end(id);
            }
            Admission::Late(_) => self.end(id),
            Admission::Closed(_) => {
                assert!(self.dispatch.is_closed, "{at:?}: request {id} is refused");
                self.end(id);
            }
        }
    }

    /// Lets a thread answer the first request that it has.
    fn answer(&mut self, id: u32, number: usize) {
        let process = self.workers.get_mut(&id).unwrap();
        let io_thread = process.io_thread;
        let Thread { thread, sent, .. } = &mut process.threads[number];
        let thread = thread.clone();
        let over = sent.pop_front().unwrap();
        let busy = process.busy();
        let mut payload = BytesMut::new();
        payload.put_u32(over.seq);
        let kind = if over.is_withdrawn {
            payload.put_u8(flag::WITHDRAWN);
            payload.put_slice(b"FoolsGold::Cancelled\0\0");
            kind::FAULT
        } else {
            payload.put_u16(200);
            payload.put_slice(&[0; 7]);
            kind::ANSWER
        };
        let (step, withdrawn) = thread.receive(Frame { kind, payload: payload.freeze() }).unwrap();
        let is_done = matches!(step, Step::Done { .. });
        let at = self.at;
        assert_eq!((is_done, withdrawn), (!over.is_withdrawn, usize::from(over.is_withdrawn)), "{at:?}");
        let completion = if is_done {
            self.end(over.id);
            let is_short = self.are_short && !self.dice.one_in(64);
            let long = self.dice.any_of(&[200, 5_000, 100_000]).unwrap();
            self.dispatch.done(&thread, Duration::from_micros(if is_short { 50 } else { long }))
        } else {
            self.dispatch.release(&thread, 1)
        };
        let worker = self.dispatch.worker(id).unwrap();
        if worker.is_leaving {
            assert!(completion.next.is_empty(), "{at:?}: worker {id} leaves");
            assert_eq!(completion.has_left, busy == 0, "{at:?}: worker {id} leaves");
        }
        let mut orders = Orders::new();
        for job in completion.next {
            let next = id_of(&job);
            if self.leaves_suspects(next) {
                self.place(next, &thread, &Taken::Alone);
                // By the clock of this world.
                self.dispatch.worker(id).unwrap().isolation = Isolation::Running(self.now);
            } else {
                self.leaves_queue(next, Some(io_thread));
                self.place(next, &thread, &Taken::Next);
            }
            orders.push((thread.clone(), job));
        }
        self.send_all(orders);
    }

    fn somebody_answers(&mut self) {
        let busy = self.busy_threads();
        if let Some((worker, number)) = self.dice.any_of(&busy) {
            self.answer(worker, number);
        }
    }

    /// Lets samples show what workers do, and answers become streams.
    fn sample(&mut self) {
        let is_pipelined = self.dispatch.depth() > 1;
        for worker in &mut self.dispatch.workers {
            let process = self.workers.get_mut(&worker.id).unwrap();
            (worker.streams, worker.lasting) = (0, 0);
            for first in process.threads.iter_mut().filter_map(|thread| thread.sent.front_mut()) {
                first.is_stream |= self.dice.one_in(40);
                worker.streams += usize::from(first.is_stream);
                worker.lasting += usize::from(!first.is_stream && self.dice.one_in(8));
            }
            if worker.busy == 0 {
                continue;
            }
            match self.dice.below(6) {
                0..=3 => {
                    (worker.activity, worker.computing) = (Activity::Waiting, Duration::ZERO);
                    worker.note_waiting(Interval::default(), true);
                    worker.raise_limit(is_pipelined);
                }
                4 => {
                    (worker.activity, worker.full_waits) = (Activity::Computing, 0);
                    worker.computing += Duration::from_millis(10);
                    let answered = self.dice.any_of(&[0, 100]).unwrap();
                    let interval = Interval { time: Duration::from_millis(1), answered };
                    (0..20).for_each(|_| worker.concurrency.computed(interval, worker.busy_with_short()));
                }
                _ => {}
            }
            worker.computes_long = worker.activity == Activity::Computing && self.dice.one_in(2);
        }
    }

    /// Lets the dispatch order threads, and checks that it may.
    fn order_threads(&mut self) {
        let (at, now, most) = (self.at, self.now, self.dispatch.max_threads);
        let first = self.dispatch.queue.first();
        let is_late = first.is_some_and(|first| now.saturating_duration_since(first.offered) >= GROW);
        let may_order = is_late && !self.dispatch.is_closed && !self.dispatch.queue.is_paused();
        let is_lacking = |worker: &Worker| {
            let is_full = worker.busy == worker.thread_count() && worker.full_waits >= FULL_WAITS;
            is_full && worker.is_taking() && worker.activity != Activity::Computing
        };
        let lacking: Vec<bool> = self.dispatch.workers.iter().map(is_lacking).collect();
        self.dispatch.grow_threads(now);
        let mut ordered = 0;
        for (worker, is_lacking) in self.dispatch.workers.iter().zip(lacking) {
            let process = self.workers.get_mut(&worker.id).unwrap();
            let (before, after) = (process.ordered, worker.awaited_threads().end);
            if after != before {
                let have_come = process.threads.len() == before as usize;
                let is_measured = before < after && after <= most && after <= 2 * before;
                assert!(may_order && is_lacking && have_come && is_measured, "{at:?}: {before} to {after} threads");
                ordered += (after - before) as usize;
                process.ordered = after;
            }
        }
        assert!(ordered <= self.dispatch.queue.len(), "{at:?}: {ordered} threads are ordered");
        self.seen.ordered += ordered;
    }

    /// Lets time pass, and makes the checks of the deadline timer.
    fn tick(&mut self, passed: Duration) {
        self.now += passed;
        self.sample();
        for (worker, number) in self.busy_threads() {
            if self.dice.one_in(4) {
                self.workers.get_mut(&worker).unwrap().threads[number].begin(&mut self.dice);
            }
        }
        if !self.is_calm && self.dice.one_in(8) {
            self.dispatch.service_time.note_long();
            let busy = self.busy_threads();
            if let Some((worker, number)) = self.dice.any_of(&busy) {
                let jobs = self.withdraw(worker, number);
                self.put_back(jobs);
            }
        }
        let now = self.now;
        self.dispatch.wake(now);
        let (awake, resting): (Vec<_>, Vec<_>) = self.resting.drain(..).partition(|(until, _)| *until <= now);
        self.resting = resting;
        self.suspects.extend(awake.into_iter().map(|(_, id)| id));
        self.order_threads();
        for job in self.dispatch.overdue(now) {
            assert!(job.request.must_begin_by() <= now, "{:?}: request {} has time", self.at, id_of(&job));
            self.gives_up(id_of(&job));
        }
        for job in self.dispatch.end_isolation(now) {
            assert!(job.is_last_try(), "{:?}: request {} waits for any worker", self.at, id_of(&job));
            self.gives_up(id_of(&job));
        }
        self.pump_and_send();
    }

    /// Notes that the dispatch gives up a request, in the queue or on its last try.
    fn gives_up(&mut self, id: u32) {
        let before = self.queue.len() + self.suspects.len();
        self.queue.retain(|other| *other != id);
        self.suspects.retain(|other| *other != id);
        let after = self.queue.len() + self.suspects.len();
        assert_eq!(before, after + 1, "{:?}: request {id} is given up", self.at);
        self.end(id);
    }

    fn client_leaves(&mut self) {
        let all: Vec<u32> = self.requests.keys().copied().collect();
        if let Some(id) = self.dice.any_of(&all) {
            self.requests.get_mut(&id).unwrap().reply = None;
        }
    }

    fn worker_is_added(&mut self) {
        let id = self.next_worker;
        self.next_worker += 1;
        let control = Arc::new(Control::new().0);
        let open = |number| Arc::new(WorkerThread::sample(id, number, control.clone()).unwrap().0);
        let threads: Vec<Arc<WorkerThread>> = (0..self.first_threads).map(open).collect();
        let io_thread = self.dice.below(IO_THREADS);
        let mut worker = Worker::new(id, 1, io_thread, control.clone(), threads.clone());
        worker.has_out_of_band = self.has_out_of_band;
        let (first, ordered) = (threads.len(), self.first_threads);
        let threads = threads.into_iter().map(Thread::new).collect();
        self.workers.insert(id, Process { io_thread, control, first, ordered, threads });
        self.dispatch.workers.push(worker);
        self.pump_and_send();
    }

    /// Lets a worker open a thread: the next one that was ordered, or another one.
    fn thread_comes(&mut self) {
        let awaits = |worker: &Worker| !worker.awaited_threads().is_empty();
        let any = self.any_worker(awaits).or_else(|| self.any_worker(|_| true));
        let Some(id) = any else { return };
        let process = self.workers.get_mut(&id).unwrap();
        let count = u32::try_from(process.threads.len()).unwrap();
        let number = if self.dice.one_in(3) { count + 1 } else { count };
        let is_next = number == count && number < process.ordered;
        let thread = Arc::new(WorkerThread::sample(id, number, process.control.clone()).unwrap().0);
        let is_added = self.dispatch.worker(id).unwrap().add_thread(thread.clone());
        assert_eq!(is_added, is_next, "{:?}: thread {number} of worker {id}", self.at);
        if is_added {
            process.threads.push(Thread::new(thread));
            self.pump_and_send();
        }
    }

    /// Ends a worker, as the pool does. What it has left is replayed later, when its last answers are read.
    fn dies(&mut self, id: u32) {
        let Some(place) = self.dispatch.workers.iter().position(|worker| worker.id == id) else { return };
        let worker = self.dispatch.workers.remove(place);
        worker.threads().for_each(|thread| thread.refuse_requests());
        self.dead.extend(self.workers.remove(&id).unwrap().threads);
    }

    /// Replays or ends what a thread of a dead worker has left, as the pool does.
    fn last_answers_are_read(&mut self) {
        if self.dead.is_empty() {
            return;
        }
        let place = self.dice.below(self.dead.len());
        let Thread { thread, sent, begun, .. } = self.dead.swap_remove(place);
        let left = sent.iter().enumerate().filter(|(_, sent)| !sent.is_withdrawn);
        let left: Vec<(u32, bool)> = left.map(|(number, sent)| (sent.id, number == 0 || sent.seq <= begun)).collect();
        let unfinished = thread.close(Fault::Stopping);
        let closed: Vec<(u32, bool)> = unfinished.iter().map(|one| (id_of(&one.job), one.has_begun)).collect();
        assert_eq!(closed, left, "{:?}", self.at);
        let death = if self.dice.one_in(4) { Death::OutOfMemory } else { Death::Crash };
        let mut again = Vec::new();
        for Unfinished { mut job, has_begun, .. } in unfinished {
            let id = id_of(&job);
            if !job.may_replay(has_begun, death) {
                self.end(id);
            } else if has_begun && job.is_last_try() {
                self.resting.push((self.now + REST, id));
                self.dispatch.rest(job, self.now);
            } else {
                again.push(job);
            }
        }
        self.put_back(again);
        self.pump_and_send();
    }

    fn pause(&mut self) {
        self.dispatch.queue.pause(self.now);
        let mut back = Vec::new();
        for (worker, number) in self.busy_threads() {
            back.extend(self.withdraw(worker, number));
        }
        self.put_back(back);
    }

    fn resume(&mut self) {
        self.dispatch.queue.resume(self.now);
        self.pump_and_send();
    }

    fn avoid(&mut self, hung: &[u32]) {
        let is_changed = self.dispatch.avoid(hung, self.now);
        let mut back = Vec::new();
        for worker in self.dispatch.workers.iter().filter(|worker| worker.is_avoided) {
            let process = self.workers.get_mut(&worker.id).unwrap();
            back.extend(process.threads.iter_mut().flat_map(|thread| thread.withdraw()));
        }
        let (at, workers) = (self.at, &self.dispatch.workers);
        let has_other = workers.iter().any(|worker| !worker.is_avoided && !worker.is_leaving);
        assert!(has_other || workers.iter().all(|worker| !worker.is_avoided), "{at:?}: no worker is left");
        assert!(is_changed || back.is_empty(), "{at:?}: {back:?} come back");
        back.into_iter().rev().for_each(|id| self.comes_back(id));
        if is_changed {
            self.pump_and_send();
        }
    }

    fn out_of_band_is_over(&mut self) {
        if let Some(id) = self.any_worker(|worker| worker.out_of_band.is_some()) {
            self.dispatch.worker(id).unwrap().out_of_band = None;
            self.pump_and_send();
        }
    }

    fn retire(&mut self) {
        if let Some(id) = self.any_worker(|worker| !worker.is_leaving) {
            self.dispatch.worker(id).unwrap().is_leaving = true;
        }
    }

    /// Makes one thing happen that does not happen to most requests.
    fn something_happens(&mut self) {
        match self.dice.below(9) {
            0 => self.pause(),
            1 => self.avoid(&[]),
            2 => {
                let hung: Vec<u32> = self.workers.keys().copied().filter(|_| self.dice.one_in(2)).collect();
                self.avoid(&hung);
            }
            3 | 4 if self.workers.len() < WORKERS_MOST => self.worker_is_added(),
            5 => self.retire(),
            6 => {
                let left = self.any_worker(|worker| worker.is_leaving && worker.is_done());
                left.into_iter().for_each(|id| self.dies(id));
            }
            7 => {
                let killed = self.any_worker(|_| true);
                killed.into_iter().for_each(|id| self.dies(id));
            }
            8 if self.dice.one_in(10) => {
                self.dispatch.is_closed = true;
                self.resume();
            }
            _ => {}
        }
    }

    /// Makes one thing happen.
    fn step(&mut self) {
        match self.dice.below(32) {
            0..=10 => self.request_arrives(),
            11..=17 => self.somebody_answers(),
            18..=24 => {
                let passed = self.dice.any_of(&[0, 1, 1, 5, 5, 25, 200, 1000]).unwrap();
                self.tick(Duration::from_millis(passed));
            }
            25 | 26 => self.thread_comes(),
            27 => self.last_answers_are_read(),
            28 => self.client_leaves(),
            29 => self.out_of_band_is_over(),
            30 if self.dispatch.queue.is_paused() => self.resume(),
            _ => self.something_happens(),
        }
        self.check();
    }

    /// Forgets the requests that the dispatch has dropped, because their clients have gone.
    fn forget_dropped(&mut self) {
        let at = self.at;
        let first = self.dispatch.queue.first().map(|job| id_of(job));
        while let Some(front) = self.queue.front().copied().filter(|front| Some(*front) != first) {
            assert!(self.has_gone(front), "{at:?}: request {front} is lost, before {first:?} in the queue");
            self.queue.pop_front();
            self.end(front);
        }
        let suspects: VecDeque<u32> = self.dispatch.suspects.iter().map(|job| id_of(job)).collect();
        let (kept, dropped): (VecDeque<_>, VecDeque<_>) = self.suspects.drain(..).partition(|id| suspects.contains(id));
        assert_eq!(kept, suspects, "{at:?}");
        self.suspects = kept;
        for id in dropped {
            assert!(self.has_gone(id), "{at:?}: request {id} on its last try is lost");
            self.end(id);
        }
    }

    /// Checks the invariants that hold after each step.
    fn check(&mut self) {
        self.forget_dropped();
        let at = self.at;
        let (waiting, length) = (self.waiting(), self.dispatch.queue.len());
        assert!((waiting..=self.queue.len()).contains(&length), "{at:?}: {length} of {:?} wait", self.queue);
        let resting = self.dispatch.resting.iter().map(|(until, job)| (*until, id_of(job)));
        assert!(resting.eq(self.resting.iter().copied()), "{at:?}: {:?} rest", self.resting);
        let threads = self.workers.values().flat_map(|process| &process.threads).chain(&self.dead);
        let sent = threads.flat_map(|thread| &thread.sent).filter(|sent| !sent.is_withdrawn).count();
        let placed = self.queue.len() + self.resting.len() + self.suspects.len() + sent;
        assert_eq!(placed, self.requests.len(), "{at:?}: each request is in one place");
        let workers = &self.dispatch.workers;
        assert!(workers.iter().map(|worker| worker.id).eq(self.workers.keys().copied()), "{at:?}");
        workers.iter().for_each(|worker| self.check_worker(worker));
        let is_isolated = |worker: &&Worker| worker.isolation != Isolation::None && !worker.is_leaving;
        assert!(workers.iter().filter(is_isolated).count() <= 1, "{at:?}: several workers are reserved");
        let are_out = workers.iter().filter(|worker| worker.out_of_band.is_some()).count();
        assert!(are_out <= 1, "{at:?}: several workers are out");
        let is_idle = |worker: &Worker| worker.busy == 0 && worker.is_taking();
        let is_missed = waiting > 0 && !self.dispatch.queue.is_paused() && workers.iter().any(is_idle);
        assert!(!is_missed, "{at:?}: {:?} wait while a worker is idle", self.queue);
    }

    fn check_worker(&self, worker: &Worker) {
        let (at, id, process) = (self.at, worker.id, &self.workers[&worker.id]);
        assert_eq!(worker.busy, process.busy(), "{at:?}: busy threads of worker {id}");
        assert_eq!(worker.thread_count(), process.threads.len(), "{at:?}: threads of worker {id}");
        let mut total = 0;
        for (number, Thread { thread, sent, .. }) in (0..).zip(&process.threads) {
            assert_eq!(worker.load(number), sent.len(), "{at:?}: thread {number} of worker {id}");
            let in_flight = sent.iter().filter(|sent| !sent.is_withdrawn).count();
            assert_eq!(thread.load(), in_flight, "{at:?}: thread {number} of worker {id}");
            total += sent.len();
        }
        let most = process.first.max(self.dispatch.max_threads as usize);
        assert_eq!(worker.awaited_threads().end, process.ordered, "{at:?}: threads of worker {id}");
        assert!(process.ordered as usize <= most, "{at:?}: {} threads of worker {id}", process.ordered);
        assert!(worker.out_of_band.is_none() || total == 0, "{at:?}: worker {id} is out, and has {total} requests");
        let is_reserved_rightly = match worker.isolation {
            _ if worker.is_leaving => true,
            Isolation::None => true,
            Isolation::Emptying(_) => total > 0,
            Isolation::Running(_) => total == 1,
        };
        assert!(is_reserved_rightly, "{at:?}: worker {id}, {:?}, has {total} requests", worker.isolation);
    }

    /// Lets all workers run and answer. Returns whether each request is over after some ticks, and no worker has one.
    fn comes_to_rest(&mut self) -> bool {
        self.is_calm = true;
        self.resume();
        self.avoid(&[]);
        (0..TICKS_MOST).any(|_| {
            while !self.dead.is_empty() {
                self.last_answers_are_read();
            }
            while let Some(id) = self.any_worker(|worker| worker.is_leaving && worker.is_done()) {
                self.dies(id);
            }
            if self.any_worker(|worker| !worker.is_leaving).is_none() {
                self.worker_is_added();
            }
            self.out_of_band_is_over();
            self.tick(Duration::from_millis(10));
            self.check();
            for (worker, number) in self.busy_threads() {
                self.answer(worker, number);
            }
            self.requests.is_empty() && !self.dispatch.is_active()
        })
    }
}

const SEEDS: u64 = 100;
const STEPS: usize = 200;
const TICKS_MOST: usize = 500;

#[tokio::test]
async fn whatever_happens_each_request_is_in_one_place_that_it_may_have_and_is_over_when_all_workers_answer() {
    let mut seen = Seen::default();
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        for step in 0..STEPS {
            world.at = (seed, step);
            world.step();
        }
        world.at = (seed, STEPS);
        let is_over = world.comes_to_rest();
        let left: Vec<u32> = world.requests.keys().copied().collect();
        assert!(is_over, "seed {seed}: {left:?} are left, {:?} in the queue", world.queue);
        seen.behind_another += world.seen.behind_another;
        seen.out_of_order += world.seen.out_of_order;
        seen.alone += world.seen.alone;
        seen.ordered += world.seen.ordered;
    }
    let least = seen.behind_another.min(seen.out_of_order).min(seen.alone).min(seen.ordered);
    assert!(least > 0, "something has never happened: {seen:?}");
}
