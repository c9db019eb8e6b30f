//! A worker that is ready, as dispatch sees it: its threads and the number of requests in flight on each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::time::ClockId;
use nix::unistd::Pid;

use super::relay::Leaving;
use super::run_queue::RunQueue;
use super::worker_thread::WorkerThread;
use crate::exit_reason::ExitReason;
use crate::wire::control::Control;

/// The shortest time over which the processor time of a process is sampled.
const SAMPLE: Duration = Duration::from_millis(1);
/// The pause after a look at a worker is at least this many times as long as the look took: to know whether it stands
/// in the run queue, a file is read for each of its threads.
const LOOK_PART: u32 = 100;
/// A process that had or wanted a processor for more of the time than this computes; another request would only wait in
/// it.
const COMPUTING_SHARE: f64 = 0.85;
/// The longest time for which a computing worker may stand in the run queue before it counts as waiting: the kernel
/// counts that time only when the worker has a processor again, which takes a few milliseconds with two of them per
/// core.
const QUEUED_MAX: Duration = Duration::from_millis(20);

/// What the threads of a process have done since its start.
struct Sample {
    at: Instant,
    /// Time on a processor.
    used: Duration,
    /// Time in which a thread was ready to run while others had the processors, summed over threads. Unknown where
    /// nobody needed it: it takes the reading of a file for each thread.
    queued: Option<Duration>,
}

/// Whether a request that comes to a busy worker finds Ruby's lock free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Not known yet: it has been busy for less than two looks.
    Unknown,
    /// It waits for something else than a processor for a part of the time.
    Waiting,
    /// It has a processor all the time, or would if there were one for it.
    Computing,
}

/// Whether a worker is reserved for a single request on its last try, which may be what has ended its workers before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Not reserved: it takes any request.
    None,
    /// It takes nothing new, and gets the request on its last try when it has answered what it has.
    Emptying,
    /// It runs a request on its last try.
    Running,
}

/// A worker that is ready.
pub struct Worker {
    /// The number of the worker, new for each process.
    pub id: u32,
    /// Its process id.
    pub pid: i32,
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
    /// Notifies its upgraded connections that it leaves.
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
    /// Number of requests it has answered.
    pub served: u64,
    /// Number of requests after which it should be replaced.
    pub quota: Option<u64>,
    /// It has out-of-band hooks, which run between requests.
    pub has_out_of_band: bool,
    /// Since when its out-of-band hooks run; it gets no request meanwhile.
    pub out_of_band: Option<Instant>,
    /// Why it ends, if the server ends it.
    pub reason: Option<ExitReason>,
    /// When its process title was last changed, if that shows a request.
    pub titled: Option<Instant>,
    /// It has served a request since its out-of-band hooks last ran.
    is_due: bool,
    threads: Vec<ThreadLoad>,
    sample: Option<Sample>,
    run_queue: RunQueue,
    /// Time after a look before the next one.
    pause: Duration,
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
            served: 0,
            quota: None,
            has_out_of_band: false,
            out_of_band: None,
            reason: None,
            titled: None,
            is_due: false,
            threads,
            sample: None,
            run_queue: RunQueue::of(pid),
            pause: SAMPLE,
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
        (self.out_of_band, self.is_due) = (Some(now), false);
    }

    /// Returns whether it may get requests.
    pub fn is_taking(&self) -> bool {
        !self.is_leaving && self.out_of_band.is_none() && self.isolation == Isolation::None
    }

    /// Returns whether it has nothing left to do, not even for an upgraded connection, opened or about to be.
    pub fn is_done(&self) -> bool {
        self.busy == 0 && self.upgraded == 0 && !self.threads().any(|thread| thread.awaits_takeover())
    }

    /// Returns whether one of its threads has no request.
    pub fn has_free_thread(&self) -> bool {
        self.busy < self.threads.len()
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
            (self.activity, self.sample) = (Activity::Unknown, None);
            self.computing = Duration::ZERO;
        }
    }

    /// Whether a further request is better off in it than in the queue.
    pub fn waits(&self) -> bool {
        self.activity == Activity::Waiting
    }

    /// Whether it has been computing for one request for this long.
    pub fn computes_for(&self, time: Duration) -> bool {
        self.computing >= time
    }

    /// Returns the connections of its threads.
    pub fn threads(&self) -> impl Iterator<Item = &Arc<WorkerThread>> {
        self.threads.iter().map(|entry| &entry.thread)
    }

    /// Looks whether it computes all the time. Only the kernel can tell: a request that waits for a database and one
    /// that computes look the same from outside. Time in which it was ready to run counts as computing: with more
    /// processes that compute than processors, each has one for a part of the time only. That part is read when
    /// `is_wanted`: while requests wait.
    pub fn look(&mut self, now: Instant, is_wanted: bool) {
        if self.busy == 0 {
            return;
        }
        if self.sample.as_ref().is_some_and(|last| now.saturating_duration_since(last.at) < self.pause) {
            return;
        }
        let begun = Instant::now();
        self.compare(now, is_wanted);
        self.pause = (begun.elapsed() * LOOK_PART).clamp(SAMPLE, QUEUED_MAX / 2);
    }

    /// Compares what it has done with the last look, and remembers it for the next one.
    fn compare(&mut self, now: Instant, is_wanted: bool) {
        let Some(used) = processor_time(self.pid) else {
            // Where nothing is known of it for good, its threads are there to be used.
            (self.activity, self.computing) = (Activity::Waiting, Duration::ZERO);
            return;
        };
        let queued = if is_wanted { self.run_queue.time(now) } else { None };
        if let Some(last) = &self.sample {
            let waited = queued.zip(last.queued).map_or(Duration::ZERO, |(now, then)| now.saturating_sub(then));
            let wanted = used.saturating_sub(last.used) + waited;
            let passed = now - last.at;
            let is_computing = wanted.as_secs_f64() / passed.as_secs_f64() > COMPUTING_SHARE;
            let may_be_queued = is_wanted && self.activity == Activity::Computing && passed < QUEUED_MAX;
            if !is_computing && may_be_queued && self.run_queue.is_runnable() {
                // The sample stays: it is compared again when the time in the run queue has been counted.
                return;
            }
            self.activity = if is_computing { Activity::Computing } else { Activity::Waiting };
            self.computing = if is_computing { self.computing + passed } else { Duration::ZERO };
        }
        self.sample = Some(Sample { at: now, used, queued });
    }
}

fn processor_time(pid: i32) -> Option<Duration> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid)).ok()?;
    clock.now().ok().map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker without threads whose process is this one.
    fn this_process() -> Worker {
        Worker::new(1, std::process::id().cast_signed(), 0, Arc::new(Control::new().0), Vec::new())
    }

    /// While requests wait, a look reads a file for each thread: with many threads that is too much for each
    /// millisecond.
    #[test]
    fn a_look_that_takes_long_is_followed_by_a_long_pause() {
        let mut worker = this_process();
        worker.busy = 1;
        let now = Instant::now();
        worker.look(now, true);
        assert!(worker.pause >= SAMPLE && worker.pause <= QUEUED_MAX / 2, "{:?}", worker.pause);
        worker.pause = QUEUED_MAX / 2;
        let used = worker.sample.as_ref().map(|sample| sample.at);
        worker.look(now + 2 * SAMPLE, true);
        assert_eq!(worker.sample.as_ref().map(|sample| sample.at), used, "it is too soon");
        worker.look(now + QUEUED_MAX, true);
        assert!(worker.sample.as_ref().is_some_and(|sample| sample.at > now));
    }

    #[test]
    fn a_computing_worker_in_the_run_queue_goes_on_computing() {
        let mut worker = this_process();
        let now = Instant::now();
        let looked = |worker: &mut Worker, after: Duration, is_wanted| {
            // Used no processor since then, as the kernel tells it.
            let used = Duration::MAX;
            worker.sample = Some(Sample { at: now, used, queued: None });
            (worker.busy, worker.activity, worker.computing) = (1, Activity::Computing, SAMPLE);
            worker.pause = SAMPLE;
            worker.look(now + after, is_wanted);
            (worker.activity, worker.computing)
        };
        assert_eq!(looked(&mut worker, 2 * SAMPLE, true), (Activity::Computing, SAMPLE), "this thread runs");
        assert_eq!(looked(&mut worker, QUEUED_MAX, true), (Activity::Waiting, Duration::ZERO), "not for ever");
        assert_eq!(looked(&mut worker, 2 * SAMPLE, false), (Activity::Waiting, Duration::ZERO));
    }

    #[test]
    fn computing_is_of_one_request() {
        let mut worker = this_process();
        worker.computing = QUEUED_MAX;
        assert!(worker.computes_for(QUEUED_MAX));
        worker.count();
        assert!(!worker.computes_for(SAMPLE));
    }

    #[test]
    fn a_worker_that_becomes_idle_is_unknown_again() {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        drop(ours);
        let mut worker = this_process();
        worker.activity = Activity::Computing;
        worker.release(0, 1);
        assert!(!worker.waits() && worker.activity == Activity::Unknown);
    }
}
