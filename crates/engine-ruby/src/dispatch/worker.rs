//! A worker that is ready, as dispatch sees it: its threads and the number of requests in flight on each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::activity::{Activity, Found, Probe};
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
    /// Whether the oldest request that it runs computes for much longer than most take, as the deadline timer last saw
    /// it.
    pub computes_long: bool,
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
    /// The age of the oldest request that it runs, as the deadline timer last saw it.
    oldest: Duration,
    /// What is known of its processor time. `None` during a sample, which has it.
    probe: Option<Probe>,
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
        let threads = threads.into_iter().map(|thread| ThreadLoad { thread, load: 0 }).collect();
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
            served: 0,
            own: 0,
            quota: None,
            has_out_of_band: false,
            out_of_band: None,
            is_avoided: false,
            reason: None,
            titled: None,
            is_due: false,
            threads,
            oldest: Duration::ZERO,
            probe: Some(Probe::of(pid)),
            rests: 0,
        }
    }

    /// Counts one more answered request; returns whether that was the last of its quota.
    pub fn count(&mut self) -> bool {
        self.served += 1;
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

    /// Returns the number of its threads.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Reserves the first free thread: the same one as long as one is enough, so that its stack and caches stay warm.
    pub fn take_thread(&mut self) -> Option<Arc<WorkerThread>> {
        let entry = self.threads.iter_mut().find(|entry| entry.load == 0)?;
        entry.load = 1;
        self.busy += 1;
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
            // What comes next is another request, of which nothing is known.
            (self.activity, self.computing) = (Activity::Unknown, Duration::ZERO);
            (self.computes_long, self.oldest) = (false, Duration::ZERO);
            self.rests += 1;
            self.probe.iter_mut().for_each(Probe::forget);
        }
    }

    /// Whether a further request is better off in it than in the queue.
    pub fn waits(&self) -> bool {
        self.activity == Activity::Waiting
    }

    /// Notes the age of the oldest request that it runs. If the worker has been computing for `long`, that request
    /// counts as computing for long until it is over or the worker waits, whatever others are answered meanwhile. Its
    /// age alone would not do: a stream is old, and what computes beside it may be as short as most.
    pub fn note_oldest(&mut self, age: Duration, long: Option<Duration>) {
        let goes_on = self.computes_long && self.activity == Activity::Computing && age >= self.oldest;
        self.computes_long = goes_on || long.is_some_and(|long| self.computing >= long);
        self.oldest = age;
    }

    /// Returns the connections of its threads.
    pub fn threads(&self) -> impl Iterator<Item = &Arc<WorkerThread>> {
        self.threads.iter().map(|entry| &entry.thread)
    }

    /// Begins a sample of what it does with the processor, if it has a request and it is time for one. `is_wanted`: see
    /// [`Probe::sample`].
    pub fn begin_sample(&mut self, now: Instant, is_wanted: bool) -> Option<ActivitySample> {
        let probe = self.probe.take_if(|probe| self.busy > 0 && probe.is_due(now))?;
        let (worker, rests, was) = (self.id, self.rests, self.activity);
        Some(ActivitySample { worker, is_wanted, rests, was, probe, found: Found::Nothing })
    }

    /// Ends a sample. It counts if the worker has had a request all the time.
    pub fn end_sample(&mut self, mut sample: ActivitySample) {
        if sample.rests != self.rests {
            sample.probe.forget();
            sample.found = Found::Nothing;
        }
        self.probe = Some(sample.probe);
        match sample.found {
            Found::Nothing => {}
            Found::Waiting => (self.activity, self.computing) = (Activity::Waiting, Duration::ZERO),
            Found::Computing(time) => {
                self.activity = Activity::Computing;
                self.computing += time;
            }
        }
    }
}

/// A sample of what a worker does with the processor. It is taken without the lock of the dispatch.
#[derive(Debug)]
pub struct ActivitySample {
    /// The number of the worker.
    pub worker: u32,
    /// Whether a request waits that the worker could take, or for which another worker could be added.
    pub is_wanted: bool,
    rests: u64,
    was: Activity,
    probe: Probe,
    found: Found,
}

impl ActivitySample {
    /// Asks the kernel.
    pub fn take(&mut self, now: Instant) {
        self.found = self.probe.sample(now, self.is_wanted, self.was);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A worker without threads whose process is this one.
    fn this_process() -> Worker {
        Worker::new(1, std::process::id().cast_signed(), 0, Arc::new(Control::new().0), Vec::new())
    }

    #[test]
    fn a_sample_counts_while_the_worker_has_a_request() {
        let mut worker = this_process();
        let now = Instant::now();
        assert!(worker.begin_sample(now, true).is_none(), "it has nothing to do");
        worker.busy = 1;
        let mut sample = worker.begin_sample(now, true).expect("it is time for one");
        assert!(worker.begin_sample(now, true).is_none(), "one at a time");
        sample.found = Found::Computing(MINUTE);
        worker.end_sample(sample);
        assert_eq!((worker.activity, worker.computing), (Activity::Computing, MINUTE));
        let mut sample = worker.begin_sample(now, true).expect("the next one");
        sample.found = Found::Computing(MINUTE);
        worker.end_sample(sample);
        assert_eq!(worker.computing, 2 * MINUTE);
        let mut sample = worker.begin_sample(now, true).expect("the next one");
        sample.found = Found::Waiting;
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
        worker.busy = 1;
        sample.take(now);
        sample.found = Found::Computing(MINUTE);
        worker.end_sample(sample);
        assert_eq!((worker.activity, worker.computing), (Activity::Unknown, Duration::ZERO));
        assert!(worker.begin_sample(now, true).is_some(), "what was read for the former request is forgotten");
    }

    #[test]
    fn computing_is_of_one_request() {
        let mut worker = this_process();
        worker.computing = MINUTE;
        worker.count();
        assert_eq!(worker.computing, Duration::ZERO);
    }

    #[test]
    fn a_request_computes_for_long_until_it_is_over_or_the_worker_waits() {
        let computing = || {
            let mut worker = this_process();
            (worker.activity, worker.computing) = (Activity::Computing, MINUTE);
            worker.note_oldest(MINUTE, Some(MINUTE));
            // One that has entered meanwhile is answered.
            worker.count();
            worker
        };
        let computes_long = |mut worker: Worker, age: Duration| {
            worker.note_oldest(age, Some(MINUTE));
            worker.computes_long
        };
        assert!(computes_long(computing(), 2 * MINUTE));
        assert!(!computes_long(computing(), MINUTE / 2), "another one is the oldest");
        assert!(!computes_long(Worker { activity: Activity::Waiting, ..computing() }, 2 * MINUTE));
        assert!(!computes_long(Worker { computes_long: false, ..computing() }, 2 * MINUTE), "a stream is old");
    }

    #[test]
    fn a_worker_that_becomes_idle_is_unknown_again() {
        let mut worker = this_process();
        (worker.activity, worker.computes_long) = (Activity::Computing, true);
        worker.release(0, 1);
        assert!(!worker.waits() && !worker.computes_long && worker.activity == Activity::Unknown);
    }
}
