//! A worker that is ready, as dispatch sees it: its threads and the number of requests in flight on each.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::activity::{Activity, Found, Interval, Probe};
use super::concurrency::Concurrency;
use super::relay::Leaving;
use super::worker_thread::WorkerThread;
use crate::exit_reason::ExitReason;
use crate::wire::control::Control;

/// Whether a worker is reserved for a single request on its last try, which may be what has ended its workers before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Not reserved: it takes any request.
    None,
    /// Since this time it takes nothing new; it gets the request on its last try when it has answered what it has.
    Emptying(Instant),
    /// Since this time it runs a request on its last try.
    Running(Instant),
}

/// The number of samples in a row that must have shown a worker waiting, while requests waited for it, before it may
/// have requests in more of its threads, or gets further threads. The first of them also looks back on a time before
/// the last of its requests came.
pub const FULL_WAITS: u32 = 3;

/// The same where a thread may have several requests at once: the worker often waits for a moment until the server has
/// handled its answers.
pub const PIPELINED_WAITS: u32 = 8;

/// The age from which a request that runs is not short: it no longer counts against the number of threads that get
/// short ones.
pub const LASTS: Duration = Duration::from_millis(100);

/// The time after which a worker is asked again for threads that it was ordered to open and has not. What kept it from
/// opening them, such as a limit of threads or of open files, may be over.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// A worker that is ready.
pub struct Worker {
    /// The number of the worker, new for each process.
    pub id: u32,
    /// Its process id.
    pub pid: i32,
    /// The user that its process belongs to, if the server runs processes as another user.
    pub user: Option<u32>,
    /// The number of the I/O thread that reads its answers.
    pub io_thread: usize,
    /// The control connection, for orders to it.
    pub control: Arc<Control>,
    /// Number of its threads that have a request.
    pub busy: usize,
    /// Number of its upgraded connections, which the application has taken over.
    pub upgraded: usize,
    /// Retired: it takes nothing new and ends when it has nothing to do.
    pub is_leaving: bool,
    /// Notifies its upgraded connections that it leaves, and that it has ended.
    pub leaving: Arc<Leaving>,
    /// Since when it has been retired with nothing left but upgraded connections.
    pub lingers: Option<Instant>,
    /// Since when it has been told to stop, with nothing left that it may finish.
    pub told_to_stop: Option<Instant>,
    /// Whether it is reserved for one request on its last try.
    pub isolation: Isolation,
    /// What it did between the last two samples of its processor time.
    pub activity: Activity,
    /// For how long it has been computing without a pause, and without answering a request.
    pub computing: Duration,
    /// Whether a request that it runs computes for much longer than most take, as the deadline timer last saw it.
    pub computes_long: bool,
    /// How many of its threads get requests at once.
    pub concurrency: Concurrency,
    /// Number of samples in a row, since a request last entered a free thread of it, that have shown it waiting while
    /// requests waited for it in the queue.
    pub full_waits: u32,
    /// Number of its requests whose answer is a stream, as the deadline timer last saw them.
    pub streams: usize,
    /// Number of its other requests that have run for long ([`LASTS`]), as the deadline timer last saw them.
    pub lasting: usize,
    /// Number of requests it has answered.
    pub served: u64,
    /// How many of them the server itself had made, as probes.
    pub own: u64,
    /// Number of requests after which it should be replaced.
    pub quota: Option<u64>,
    /// It has out-of-band hooks, which run between requests.
    pub has_out_of_band: bool,
    /// Since when its out-of-band hooks run; it gets no request meanwhile.
    pub out_of_band: Option<Instant>,
    /// It does not run, and another worker does: it gets no request until it runs again.
    pub is_avoided: bool,
    /// Why it ends, if the server ends it.
    pub reason: Option<ExitReason>,
    /// When its process title was last changed, if that shows a request.
    pub titled: Option<Instant>,
    /// It has served a request since its out-of-band hooks last ran.
    is_due: bool,
    threads: Vec<ThreadLoad>,
    /// Number of threads with which it began.
    first_threads: usize,
    /// Number of its threads, with those that were ordered and have not come, or never will.
    ordered: u32,
    /// When threads were last ordered.
    asked: Option<Instant>,
    /// The age of the oldest request that it runs and that is no stream, as the deadline timer last saw it.
    oldest: Duration,
    /// What is known of its processor time. `None` during a sample, which has it.
    probe: Option<Probe>,
    /// When it last answered a request.
    last_answer: Option<Instant>,
    /// Number of times that it has become idle. A sample that began before the last of them does not count.
    rests: u64,
}

struct ThreadLoad {
    thread: Arc<WorkerThread>,
    load: usize,
}

impl Worker {
    /// Creates a worker with all threads free.
    pub fn new(id: u32, pid: i32, io_thread: usize, control: Arc<Control>, threads: Vec<Arc<WorkerThread>>) -> Worker {
        let threads: Vec<_> = threads.into_iter().map(|thread| ThreadLoad { thread, load: 0 }).collect();
        Worker {
            id,
            pid,
            user: None,
            io_thread,
            control,
            busy: 0,
            upgraded: 0,
            is_leaving: false,
            leaving: Arc::default(),
            isolation: Isolation::None,
            lingers: None,
            told_to_stop: None,
            activity: Activity::Unknown,
            computing: Duration::ZERO,
            computes_long: false,
            concurrency: Concurrency::unlimited(),
            full_waits: 0,
            streams: 0,
            lasting: 0,
            served: 0,
            own: 0,
            quota: None,
            has_out_of_band: false,
            out_of_band: None,
            is_avoided: false,
            reason: None,
            titled: None,
            is_due: false,
            first_threads: threads.len(),
            ordered: u32::try_from(threads.len()).unwrap_or(u32::MAX),
            asked: None,
            threads,
            oldest: Duration::ZERO,
            probe: Some(Probe::of(pid)),
            last_answer: None,
            rests: 0,
        }
    }

    /// Counts one more request, answered now; returns whether that was the last of its quota.
    pub fn count(&mut self, now: Instant) -> bool {
        self.served += 1;
        self.last_answer = Some(now);
        self.is_due = true;
        // What it computes next is for another request.
        self.computing = Duration::ZERO;
        self.quota == Some(self.served)
    }

    /// Returns whether its out-of-band hooks may run now.
    pub fn may_run_out_of_band(&self) -> bool {
        self.has_out_of_band && self.is_due && self.busy == 0 && self.is_taking()
    }

    /// Notes that its out-of-band hooks begin to run.
    pub fn begin_out_of_band(&mut self, now: Instant) {
        self.out_of_band = Some(now);
        self.is_due = false;
    }

    /// Returns whether it may get requests.
    pub fn is_taking(&self) -> bool {
        let is_free = self.out_of_band.is_none() && self.isolation == Isolation::None;
        is_free && !self.is_leaving && !self.is_avoided
    }

    /// Returns whether it has been for at least this long in its current stage of isolation.
    pub fn is_reserved_for(&self, time: Duration, now: Instant) -> bool {
        match self.isolation {
            Isolation::None => false,
            Isolation::Emptying(since) | Isolation::Running(since) => now.saturating_duration_since(since) >= time,
        }
    }

    /// Returns whether it has nothing left to do, not even for an upgraded connection, opened or about to be.
    pub fn is_done(&self) -> bool {
        self.busy == 0 && self.upgraded == 0 && !self.threads().any(|thread| thread.awaits_takeover())
    }

    /// Returns whether it may get requests and has a thread without one.
    pub fn has_room(&self) -> bool {
        self.is_taking() && self.busy < self.threads.len()
    }

    /// Returns whether it has fewer requests than threads with which it began, apart from streams. The threads that it
    /// has got since then are for requests that wait: as many that compute would take turns until all time out.
    pub fn has_first_room(&self) -> bool {
        self.busy.saturating_sub(self.streams) < self.first_threads
    }

    /// Returns the number of its threads.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Adds a thread that was ordered. Returns false if it is not the next one.
    pub fn add_thread(&mut self, thread: Arc<WorkerThread>) -> bool {
        let is_next = self.awaited_threads().next() == Some(thread.number);
        if is_next {
            self.threads.push(ThreadLoad { thread, load: 0 });
            self.full_waits = 0;
        }
        is_next
    }

    /// Returns the numbers of the threads that were ordered and have not come. A worker that cannot open them, or may
    /// not, is asked again after a while.
    pub fn awaited_threads(&self) -> Range<u32> {
        let count = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        count..self.ordered
    }

    /// Returns whether it may be ordered to open further threads, up to this number in all, or be asked again for those
    /// that have not come.
    pub fn may_get_threads(&self, most: u32, now: Instant) -> bool {
        let may_be_asked = match self.awaited_threads().is_empty() {
            true => self.ordered < most,
            false => self.asked.is_none_or(|asked| now.saturating_duration_since(asked) >= ASK_AGAIN),
        };
        self.is_taking() && may_be_asked
    }

    /// Returns whether it could use further threads, up to this number in all: each has a request, and they wait for
    /// something other than a processor.
    pub fn lacks_threads(&self, most: u32, now: Instant) -> bool {
        self.busy == self.threads.len() && self.full_waits >= FULL_WAITS && self.may_get_threads(most, now)
    }

    /// Orders `count` further threads, but no more than there are already, and no more than `most` in all; or, if some
    /// have not come, those once more. Returns how many further ones were ordered.
    pub fn order_threads(&mut self, count: usize, most: u32, now: Instant) -> usize {
        let before = self.ordered;
        if self.awaited_threads().is_empty() {
            let count = u32::try_from(count).unwrap_or(u32::MAX).min(before);
            self.ordered = before.saturating_add(count).min(most).max(before);
        }
        self.asked = Some(now);
        self.control.grow(self.ordered);
        (self.ordered - before) as usize
    }

    /// Reserves the first free thread: the same one as long as one is enough, so that its stack and caches stay warm.
    pub fn take_thread(&mut self) -> Option<Arc<WorkerThread>> {
        let entry = self.threads.iter_mut().find(|entry| entry.load == 0)?;
        entry.load = 1;
        self.busy += 1;
        // Whether one more is enough is not known yet.
        self.full_waits = 0;
        Some(entry.thread.clone())
    }

    /// Returns the smallest number of requests in flight on a busy thread.
    pub fn least_in_flight(&self) -> usize {
        let busy = self.threads.iter().filter(|entry| entry.load > 0);
        busy.map(|entry| entry.load).min().unwrap_or(usize::MAX)
    }

    /// Reserves a place behind a running request, on the thread with the fewest requests if that has less than `depth`.
    pub fn take_pipelined(&mut self, depth: usize) -> Option<Arc<WorkerThread>> {
        let busy = self.threads.iter_mut().filter(|entry| (1..depth).contains(&entry.load));
        let entry = busy.min_by_key(|entry| entry.load)?;
        entry.load += 1;
        Some(entry.thread.clone())
    }

    /// Returns the number of requests in flight on a thread.
    pub fn load(&self, thread: u32) -> usize {
        self.threads.get(thread as usize).map_or(usize::MAX, |entry| entry.load)
    }

    /// Returns the number of its requests whose answer has not begun, with those that are just being sent to it.
    pub fn unanswered(&self) -> usize {
        self.threads.iter().map(|entry| entry.load.saturating_sub(entry.thread.settled())).sum()
    }

    /// Counts one more request on a thread.
    pub fn take(&mut self, thread: u32) {
        if let Some(entry) = self.threads.get_mut(thread as usize) {
            self.busy += usize::from(entry.load == 0);
            entry.load += 1;
        }
    }

    /// Counts `count` requests fewer on a thread.
    pub fn release(&mut self, thread: u32, count: usize) {
        if let Some(entry) = self.threads.get_mut(thread as usize) {
            let was = entry.load;
            entry.load = was.saturating_sub(count);
            self.busy -= usize::from(was > 0 && entry.load == 0);
        }
        if self.busy == 0 {
            // What comes next is another request. That one may compute too, and not wait.
            if self.waits() {
                self.activity = Activity::Unknown;
            }
            (self.computing, self.computes_long) = (Duration::ZERO, false);
            (self.oldest, self.streams, self.lasting) = (Duration::ZERO, 0, 0);
        }
    }

    /// Forgets what it has done if it has no request: it rests until the next one comes.
    pub fn rest_if_idle(&mut self) {
        if self.busy == 0 {
            (self.activity, self.full_waits) = (Activity::Unknown, 0);
            self.rests += 1;
            self.probe.iter_mut().for_each(Probe::forget);
        }
    }

    /// Whether a further request is better off in it than in the queue.
    pub fn may_begin_another(&self) -> bool {
        self.waits() && self.concurrency.allows(self.busy_with_short())
    }

    /// Whether a free thread of it may be used although its other threads could have several requests at once: these
    /// have as many as they may, and yet it waits.
    pub fn may_use_another(&self) -> bool {
        self.has_room() && self.full_waits >= PIPELINED_WAITS && self.may_begin_another()
    }

    /// Whether a thread of it that has no request left gets the next one from the queue at once.
    pub fn may_go_on(&self) -> bool {
        let has_first_room = self.has_first_room();
        self.computes_long && has_first_room
            || (self.waits() || has_first_room) && self.concurrency.allows(self.busy_with_short())
    }

    /// Number of its threads whose request may be a short one.
    pub fn busy_with_short(&self) -> usize {
        self.busy.saturating_sub(self.streams + self.lasting)
    }

    /// Whether it waits for something other than a processor for a part of the time.
    fn waits(&self) -> bool {
        self.activity == Activity::Waiting
    }

    /// Notes the age of the oldest request that it runs and that is no stream, if there is one. If the worker has been
    /// computing for `long`, that request counts as computing for long until it is over or the worker waits, whatever
    /// others are answered meanwhile. A stream does not: it is old, and what computes beside it may be short.
    pub fn note_oldest(&mut self, age: Option<Duration>, long: Option<Duration>) {
        let is_same = age.is_some_and(|age| age >= self.oldest);
        let goes_on = self.computes_long && self.activity == Activity::Computing && is_same;
        self.computes_long = goes_on || long.is_some_and(|long| self.computing >= long);
        self.oldest = age.unwrap_or_default();
    }

    /// Returns the connections of its threads.
    pub fn threads(&self) -> impl Iterator<Item = &Arc<WorkerThread>> {
        self.threads.iter().map(|entry| &entry.thread)
    }

    /// Begins a sample of what it does with the processor, if it has a request and it is time for one. `is_wanted`: see
    /// [`Probe::sample`].
    pub fn begin_sample(&mut self, now: Instant, is_wanted: bool) -> Option<ActivitySample> {
        let probe = self.probe.take_if(|probe| self.busy > 0 && probe.is_due(now))?;
        let (worker, rests, was, answered) = (self.id, self.rests, self.activity, self.served);
        Some(ActivitySample { worker, is_wanted, rests, was, answered, probe, at: now, found: Found::Nothing })
    }

    /// Notes that it waits.
    pub fn note_waiting(&mut self, interval: Interval, is_wanted: bool) {
        let busy = self.busy_with_short();
        // Then it may have waited for this server, which is busy.
        if is_wanted && self.threads.iter().any(|entry| entry.load > 0 && entry.thread.has_answer_to_read()) {
            self.full_waits = 0;
            return self.concurrency.computed(interval, busy);
        }
        self.concurrency.waited(interval, busy);
        self.full_waits = if is_wanted { self.full_waits.saturating_add(1) } else { 0 };
    }

    /// Lets more of its threads have a request if it waits all the same. When all have one, it could use further ones
    /// ([`Worker::lacks_threads`]).
    pub fn raise_limit(&mut self, is_pipelined: bool) {
        let waits = if is_pipelined { PIPELINED_WAITS } else { FULL_WAITS };
        if self.full_waits >= waits && !self.concurrency.allows(self.busy_with_short()) {
            self.concurrency.raise(self.threads.len());
        }
    }

    /// Ends a sample. It counts if the worker has not been idle since, but for a moment between two requests.
    pub fn end_sample(&mut self, mut sample: ActivitySample) {
        if sample.rests != self.rests {
            sample.probe.forget();
            sample.found = Found::Nothing;
        }
        self.probe = Some(sample.probe);
        match sample.found {
            Found::Nothing => {}
            Found::Waiting(interval) => {
                (self.activity, self.computing) = (Activity::Waiting, Duration::ZERO);
                // Otherwise its time in the run queue was not read: it may have waited for a processor.
                self.note_waiting(interval, sample.is_wanted);
            }
            Found::Computing(interval) => {
                (self.activity, self.full_waits) = (Activity::Computing, 0);
                // The time before the last answer was for other requests.
                let since_answer = self.last_answer.map(|last| sample.at.saturating_duration_since(last));
                self.computing += since_answer.map_or(interval.time, |since| interval.time.min(since));
                self.concurrency.computed(interval, self.busy_with_short());
            }
        }
    }
}

/// A sample of what a worker does with the processor. It is taken without the lock of the dispatch.
#[derive(Debug)]
pub struct ActivitySample {
    /// The number of the worker.
    pub worker: u32,
    /// Whether a request waits, and what the worker does decides who gets it ([`Probe::sample`]).
    pub is_wanted: bool,
    rests: u64,
    was: Activity,
    /// Number of requests that the worker has answered in all.
    answered: u64,
    probe: Probe,
    /// When it was taken.
    at: Instant,
    /// What it has shown.
    pub found: Found,
}

impl ActivitySample {
    /// Asks the kernel.
    pub fn take(&mut self, now: Instant) {
        self.at = now;
        self.found = self.probe.sample(now, self.is_wanted, self.was, self.answered);
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const COMPUTING: Found = Found::Computing(Interval { time: MINUTE, answered: 0 });
    const WAITING: Found = Found::Waiting(Interval { time: MINUTE, answered: 0 });

    /// A worker without threads whose process is this one.
    fn this_process() -> Worker {
        Worker::new(1, std::process::id().cast_signed(), 0, Arc::new(Control::new().0), Vec::new())
    }

    /// The same with a thread, whose connection is closed at the other end.
    fn of_one_thread() -> Worker {
        let control = Arc::new(Control::new().0);
        let (thread, _, _) = WorkerThread::sample(1, 0, control.clone()).unwrap();
        Worker::new(1, std::process::id().cast_signed(), 0, control, vec![Arc::new(thread)])
    }

    #[test]
    fn a_sample_counts_while_the_worker_has_a_request() {
        let mut worker = this_process();
        let now = Instant::now();
        assert!(worker.begin_sample(now, true).is_none(), "it has nothing to do");
        worker.busy = 1;
        let mut sample = worker.begin_sample(now, true).expect("it is time for one");
        assert!(worker.begin_sample(now, true).is_none(), "one at a time");
        sample.found = COMPUTING;
        worker.end_sample(sample);
        assert_eq!((worker.activity, worker.computing), (Activity::Computing, MINUTE));
        let mut sample = worker.begin_sample(now, true).expect("the next one");
        sample.found = COMPUTING;
        worker.end_sample(sample);
        assert_eq!(worker.computing, 2 * MINUTE);
        let mut sample = worker.begin_sample(now, true).expect("the next one");
        sample.found = WAITING;
        worker.end_sample(sample);
        assert_eq!((worker.activity, worker.computing), (Activity::Waiting, Duration::ZERO));
    }

    #[test]
    fn a_sample_does_not_count_for_the_request_after_it() {
        let mut worker = this_process();
        let now = Instant::now();
        worker.busy = 1;
        let mut sample = worker.begin_sample(now, true).expect("it is time for one");
        worker.busy = 0;
        worker.release(0, 1);
        worker.rest_if_idle();
        worker.busy = 1;
        sample.take(now);
        sample.found = COMPUTING;
        worker.end_sample(sample);
        assert_eq!((worker.activity, worker.computing), (Activity::Unknown, Duration::ZERO));
        assert!(worker.begin_sample(now, true).is_some(), "what was read for the former request is forgotten");
    }

    /// Otherwise nothing would ever be known of a worker that answers a request in less than the time of a sample.
    #[tokio::test]
    async fn a_sample_counts_if_the_worker_goes_on_with_the_next_request_at_once() {
        let mut worker = of_one_thread();
        assert!(worker.take_thread().is_some());
        let mut sample = worker.begin_sample(Instant::now(), true).expect("it is time for one");
        worker.release(0, 1);
        worker.take(0);
        worker.rest_if_idle();
        sample.found = WAITING;
        worker.end_sample(sample);
        assert!(worker.waits());
    }

    #[tokio::test]
    async fn it_lacks_threads_when_some_samples_in_a_row_have_shown_it_waiting_with_requests_in_all() {
        let mut worker = of_one_thread();
        assert!(worker.take_thread().is_some());
        let mut lacks_after = |found: Found, is_wanted: bool| {
            let mut sample = worker.begin_sample(Instant::now(), is_wanted).expect("it is time for one");
            sample.found = found;
            worker.end_sample(sample);
            worker.lacks_threads(2, Instant::now())
        };
        let is_after_each = [WAITING; 4].map(|found| lacks_after(found, true));
        assert_eq!(is_after_each, [false, false, true, true]);
        assert!(!lacks_after(COMPUTING, true) && !lacks_after(WAITING, true));
        // It may have waited for a processor: that was not asked.
        let is_after_each = [WAITING; 4].map(|found| lacks_after(found, false));
        assert_eq!(is_after_each, [false; 4]);
    }

    /// A worker with a request in each of four threads, and the other ends of their connections.
    fn of_four_threads() -> (Worker, Vec<UnixStream>) {
        let control = Arc::new(Control::new().0);
        let samples = (0..4).map(|number| WorkerThread::sample(1, number, control.clone()).unwrap());
        let (threads, ends) = samples.map(|(thread, _, end)| (Arc::new(thread), end)).unzip();
        let mut worker = Worker::new(1, std::process::id().cast_signed(), 0, control, threads);
        (0..4).for_each(|_| assert!(worker.take_thread().is_some()));
        (worker, ends)
    }

    /// Takes samples of a millisecond in which ten requests were answered.
    fn shows(worker: &mut Worker, found: impl Fn(Interval) -> Found, samples: u32) {
        for _ in 0..samples {
            let mut sample = worker.begin_sample(Instant::now(), true).expect("it is time for one");
            sample.found = found(Interval { time: Duration::from_millis(1), answered: 10 });
            worker.end_sample(sample);
            worker.raise_limit(false);
        }
    }

    /// Returns how many of its threads may have a request, of those that have none and 100.
    fn limit(worker: &Worker) -> usize {
        (0..100).take_while(|busy| worker.concurrency.allows(*busy)).count()
    }

    #[tokio::test]
    async fn samples_show_how_many_of_its_threads_may_have_a_request() {
        let (mut worker, _ends) = of_four_threads();
        shows(&mut worker, Found::Computing, 8);
        assert_eq!((limit(&worker), worker.may_go_on()), (2, false));
        (0..2).for_each(|thread| worker.release(thread, 1));
        shows(&mut worker, Found::Waiting, FULL_WAITS - 1);
        assert_eq!((limit(&worker), worker.may_begin_another()), (2, false));
        shows(&mut worker, Found::Waiting, 1);
        assert_eq!((limit(&worker), worker.may_begin_another()), (100, true));
    }

    #[tokio::test]
    async fn streams_and_requests_that_last_do_not_count_among_those_that_may_be_short() {
        let (mut worker, _ends) = of_four_threads();
        shows(&mut worker, Found::Computing, 8);
        (worker.streams, worker.lasting) = (1, 1);
        shows(&mut worker, Found::Waiting, 1);
        assert!(!worker.may_begin_another());
        worker.lasting = 2;
        assert!(worker.may_begin_another());
        shows(&mut worker, Found::Waiting, FULL_WAITS);
        assert_eq!(limit(&worker), 2, "fewer than that have a short one");
        assert!(worker.lacks_threads(5, Instant::now()));
    }

    #[tokio::test]
    async fn a_worker_whose_answer_the_server_has_not_read_has_computed() {
        let (mut worker, ends) = of_four_threads();
        assert_eq!(ends[3].try_write(b"an answer").ok(), Some(9));
        shows(&mut worker, Found::Waiting, 8);
        assert_eq!((limit(&worker), worker.full_waits), (2, 0));
        worker.threads[3].thread.set_awaiting_client(true);
        shows(&mut worker, Found::Waiting, FULL_WAITS);
        assert_eq!(limit(&worker), 100, "it is not read because a client is slow");
        worker.threads[3].thread.set_awaiting_client(false);
        worker.release(3, 1);
        shows(&mut worker, Found::Waiting, 1);
        assert_eq!(worker.full_waits, FULL_WAITS + 1, "a thread without a request has sent none");
    }

    #[test]
    fn computing_is_of_one_request() {
        let mut worker = this_process();
        let now = Instant::now();
        let computed_after = |worker: &mut Worker, since_answer: Duration| {
            worker.computing = MINUTE;
            worker.count(now);
            worker.busy = 1;
            let mut sample = worker.begin_sample(now + since_answer, true).expect("it is time for one");
            sample.found = COMPUTING;
            worker.end_sample(sample);
            worker.computing
        };
        assert_eq!(computed_after(&mut worker, MINUTE / 2), MINUTE / 2, "the rest was for the one before");
        assert_eq!(computed_after(&mut worker, 2 * MINUTE), MINUTE);
    }

    #[test]
    fn a_request_computes_for_long_until_it_is_over_or_the_worker_waits() {
        let computing = || {
            let mut worker = this_process();
            (worker.activity, worker.computing) = (Activity::Computing, MINUTE);
            worker.note_oldest(Some(MINUTE), Some(MINUTE));
            // One that has entered meanwhile is answered.
            worker.count(Instant::now());
            worker
        };
        let computes_long = |mut worker: Worker, age: Option<Duration>| {
            worker.note_oldest(age, Some(MINUTE));
            worker.computes_long
        };
        assert!(computes_long(computing(), Some(2 * MINUTE)));
        assert!(!computes_long(computing(), Some(MINUTE / 2)), "another one is the oldest");
        assert!(!computes_long(computing(), None), "only streams are left");
        assert!(!computes_long(Worker { activity: Activity::Waiting, ..computing() }, Some(2 * MINUTE)));
        assert!(!computes_long(Worker { computes_long: false, ..computing() }, Some(2 * MINUTE)), "it is only old");
    }

    #[test]
    fn a_worker_that_becomes_idle_is_unknown_again() {
        let mut worker = this_process();
        (worker.activity, worker.computes_long) = (Activity::Computing, true);
        worker.release(0, 1);
        worker.rest_if_idle();
        assert!(!worker.waits() && !worker.computes_long && worker.activity == Activity::Unknown);
    }
}
