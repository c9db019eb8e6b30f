//! The deadline timer: checks all running and waiting requests each millisecond while there are any, and less often
//! where all have been running for long. It enforces deadlines, expires requests that wait too long, takes back
//! requests that stand behind a long one, and samples which workers compute.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Fault;
use engine::snapshot::RunView;

use super::job::{self, Job};
use super::pool::Pool;
use super::service_time::LONG;
use super::worker::{ActivitySample, LASTS, Worker};
use super::worker_thread::{RequestState, WorkerThread};
use super::{Dispatch, process_title};
use crate::exit_reason::ExitReason;
use crate::process::kill_of;
use crate::settings::Growth;

const TICK: Duration = Duration::from_millis(1);
/// The time after which a request has shown what it does: it waits, or computes.
const SETTLED: Duration = Duration::from_millis(50);
/// The same while the mean service time is longer than [`LONG_MEAN`], as that of streams and long polls is. Few
/// requests are added in a second then, and each of them wakes the timer. In a worker without a free thread a request
/// is settled at once: what it does matters only when the worker could get another one.
const SETTLED_AMONG_LONG: Duration = Duration::from_millis(5);
/// The mean service time above which requests are long enough for that.
const LONG_MEAN: Duration = Duration::from_millis(200);
/// The tick while all that runs is settled, as streams and long polls are, no request is added and no response begins:
/// each tick takes some 50 us of a processor.
const SETTLED_TICK: Duration = Duration::from_millis(10);
/// Ticks without any request after which the timer stops and has to be woken, which costs more than a tick.
const IDLE_TICKS: u32 = 50;

/// Runs the timer for as long as the engine lives. A worker whose request is not over `kill_time` after its deadline is
/// killed.
pub async fn watch(pool: Arc<Pool>, kill_time: Duration) {
    let mut idle_ticks = IDLE_TICKS;
    let mut is_due = false;
    loop {
        if idle_ticks >= IDLE_TICKS {
            pool.until_active().await;
        }
        if !is_due {
            tokio::time::sleep(TICK).await;
        }
        pool.begin_tick();
        let seen = check(&pool, kill_time, Instant::now());
        idle_ticks = if seen == Seen::Nothing { idle_ticks + 1 } else { 0 };
        let is_settled = seen == Seen::Settled;
        pool.report_held_back(is_settled);
        // If nothing comes meanwhile, the next tick follows at once: two short sleeps would be two wake-ups.
        is_due = is_settled && !pool.until_added(SETTLED_TICK).await;
    }
}

/// What a tick has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nothing runs or waits.
    Nothing,
    /// All that runs is settled (see [`SETTLED`] and [`SETTLED_AMONG_LONG`]) and has nothing behind it, no response is
    /// held back, and there is no free thread for what waits.
    Settled,
    /// Something else.
    Active,
}

/// Makes the checks of one tick, as of `now`.
pub fn check(pool: &Pool, kill_time: Duration, now: Instant) -> Seen {
    let samples = sample_activity(pool);
    let tick = Tick { app: pool.app(), kill_time, now };
    let checked = tick.check_dispatch(&mut pool.dispatch(), samples);
    checked.overdue.into_iter().for_each(|job| job.expire(now, checked.is_paused));
    for job in checked.given_up {
        let why = "others exited while they ran this request, and none has become free to run it alone";
        job.refuse(Fault::WorkerDied(why.to_owned()));
    }
    pool.pump();
    if checked.lacks_workers {
        pool.want();
    }
    checked.seen
}

/// Asks the kernel which workers compute. It does so without the lock of the dispatch: with many workers it takes
/// longer than all that the requests of this time need the lock for.
fn sample_activity(pool: &Pool) -> Vec<ActivitySample> {
    let mut samples = pool.dispatch().begin_samples(Instant::now());
    samples.iter_mut().for_each(|sample| sample.take(Instant::now()));
    samples
}

/// One tick of the timer.
struct Tick<'a> {
    /// The name of the application in the log.
    app: Option<&'a str>,
    /// The time that a request has to end after its deadline.
    kill_time: Duration,
    now: Instant,
}

/// The findings of a tick.
struct Checked {
    /// Requests that have waited too long.
    overdue: Vec<Box<Job>>,
    /// Whether they have waited in a pause.
    is_paused: bool,
    /// Requests on their last try, for which no worker has become free.
    given_up: Vec<Box<Job>>,
    /// Whether another worker would be of use.
    lacks_workers: bool,
    seen: Seen,
}

/// The findings of a tick about the requests that run.
struct Running {
    /// Requests that were taken back from behind a long one.
    withdrawn: Vec<Box<Job>>,
    /// Whether one of them is long.
    has_long: bool,
    /// The age from which one of them is settled.
    settled_age: Duration,
    /// Whether the requests of the worker that is being checked are settled at any age: it has no free thread.
    is_full: bool,
    /// Whether all of them are settled, as in [`Seen::Settled`].
    is_settled: bool,
}

impl Tick<'_> {
    /// Makes all checks that need the lock of the dispatch.
    fn check_dispatch(&self, dispatch: &mut Dispatch, samples: Vec<ActivitySample>) -> Checked {
        dispatch.end_samples(samples);
        let running = self.check_workers(dispatch);
        if running.has_long {
            dispatch.service_time.note_long();
        }
        if dispatch.growth == Growth::Computing {
            let computing = dispatch.computing_long();
            dispatch.utilization.observe(computing, self.now);
        }
        dispatch.put_back(running.withdrawn, self.now);
        dispatch.wake(self.now);
        dispatch.grow_threads(self.now);
        let checked = Checked {
            lacks_workers: dispatch.lacks_workers(self.now).is_some(),
            overdue: dispatch.overdue(self.now),
            is_paused: dispatch.queue.is_paused(),
            given_up: dispatch.end_isolation(self.now),
            seen: match dispatch.is_active() {
                false => Seen::Nothing,
                true if running.is_settled => Seen::Settled,
                true => Seen::Active,
            },
        };
        // After this the timer sleeps for longer, and what is added from now on wakes it.
        dispatch.is_watched = checked.seen != Seen::Settled;
        checked
    }

    /// Checks the running requests of all workers, and shows long ones in the titles of their processes.
    fn check_workers(&self, dispatch: &mut Dispatch) -> Running {
        let is_waiting = !dispatch.queue.is_empty();
        let are_long = dispatch.service_time.mean().is_some_and(|mean| mean > LONG_MEAN);
        let mut running = Running {
            withdrawn: Vec::new(),
            has_long: false,
            settled_age: if are_long { SETTLED_AMONG_LONG } else { SETTLED },
            is_full: false,
            is_settled: true,
        };
        let long = dispatch.long_computing();
        for worker in &mut dispatch.workers {
            running.is_full = are_long && !worker.has_room();
            running.is_settled &= !(is_waiting && worker.has_room());
            if worker.busy == 0 {
                process_title::clear(worker);
            } else if let Some((thread, age)) = self.check_worker(worker, &mut running, long) {
                process_title::show(worker, &thread, age, self.now);
            }
        }
        running
    }

    /// Checks the running requests of one worker; see [`Worker::note_oldest`] for `long`. Returns the thread that has
    /// been running one for longest, and for how long.
    fn check_worker(
        &self,
        worker: &mut Worker,
        running: &mut Running,
        long: Option<Duration>,
    ) -> Option<(Arc<WorkerThread>, Duration)> {
        let mut oldest: Option<(Arc<WorkerThread>, Duration)> = None;
        let mut oldest_unanswered: Option<Duration> = None;
        (worker.streams, worker.lasting) = (0, 0);
        let threads: Vec<Arc<WorkerThread>> = worker.threads().cloned().collect();
        for thread in threads {
            let request = thread.check(self.now, self.kill_time);
            if self.escalate(worker, &thread, &request) {
                worker.reason = Some(ExitReason::Timeout);
            }
            running.add(&thread, &request);
            if request.is_stream {
                worker.streams += 1;
            } else if request.is_running {
                worker.lasting += usize::from(request.age >= LASTS);
                oldest_unanswered = oldest_unanswered.max(Some(request.age));
            }
            if oldest.as_ref().is_none_or(|(_, age)| request.age > *age) {
                oldest = Some((thread, request.age));
            }
        }
        worker.note_oldest(oldest_unanswered, long);
        oldest
    }

    /// Escalates a deadline that has passed, of an answer or of the work after it. The client has been answered by now;
    /// the backtraces of all threads go to the log, the thread is interrupted, and at last the worker is killed.
    /// Returns whether it was killed.
    fn escalate(&self, process: &Worker, thread: &WorkerThread, state: &RequestState) -> bool {
        if state.expired.is_none() && !state.is_stuck {
            return false;
        }
        let app = self.app;
        let worker = process.id;
        let pid = process.pid;
        let run = thread.running(Instant::now()).unwrap_or_default();
        let RunView { id, method, path, .. } = &run;
        let request = match id.is_empty() {
            true => "a request that had been withdrawn".to_owned(),
            false => job::in_words(id, method, path),
        };
        if let Some(seq) = state.expired {
            let what = match (state.is_finishing, state.is_left) {
                (true, _) => " in its work after the answer",
                (false, true) => ", its client has gone",
                (false, false) => "",
            };
            tracing::warn!(
                target: "engine",
                worker, pid, id, method, path, app,
                "worker {worker} (pid {pid}): {request} timed out{what}; interrupting it"
            );
            process.control.dump(thread.number, seq);
            process.control.interrupt(thread.number, seq);
            return false;
        }
        tracing::error!(
            target: "engine",
            worker, pid, id, method, path, app,
            "worker {worker} (pid {pid}) killed: {request} timed out and could not be interrupted"
        );
        kill_of(process.user, pid.cast_unsigned());
        true
    }
}

impl Running {
    /// Adds the request that runs on a thread. If it is long, those behind it are taken back.
    fn add(&mut self, thread: &WorkerThread, request: &RequestState) {
        let is_long = request.age > 2 * LONG;
        self.has_long |= is_long;
        let is_settled = !request.is_running || self.is_full || request.age > self.settled_age;
        // Those behind it are taken back when it is long, and may find a free thread at the next tick.
        self.is_settled &= is_settled && !request.is_held_back && request.pipelined == 0;
        if is_long && request.pipelined > 0 {
            self.withdrawn.extend(thread.withdraw());
        }
    }
}
