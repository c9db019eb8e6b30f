//! The deadline timer: checks all running and waiting requests each millisecond while there are any, and less often
//! where all have been running for long. It enforces deadlines, expires requests that wait too long, takes back
//! requests that stand behind a long one, and samples which workers compute.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Fault;
use engine::snapshot::RunView;

use super::job::{self, Job};
use super::pool::Pool;
use super::process_title;
use super::service_time::LONG;
use super::worker::Look;
use super::worker_thread::{RequestState, WorkerThread};
use crate::exit_reason::ExitReason;
use crate::process::kill_now;
use crate::settings::Growth;
use crate::wire::control::Control;

const TICK: Duration = Duration::from_millis(1);
/// The time after which a request has shown what it does: it waits, or computes.
const SETTLED: Duration = Duration::from_millis(50);
/// The tick while all that runs is settled, as streams and long polls are, and no request is added: each tick takes
/// some 50 us of a processor.
const SETTLED_TICK: Duration = Duration::from_millis(10);
/// Ticks without any request after which the timer stops and has to be woken, which costs more than a tick.
const IDLE_TICKS: u32 = 50;

/// Runs the timer for as long as the engine lives. A worker whose request is not over `kill_time` after its deadline is
/// killed.
pub async fn watch(pool: Arc<Pool>, kill_time: Duration) {
    let mut idle_ticks = IDLE_TICKS;
    loop {
        if idle_ticks >= IDLE_TICKS {
            pool.until_active().await;
        }
        tokio::time::sleep(TICK).await;
        let seen = look(&pool, kill_time, Instant::now());
        idle_ticks = if seen == Seen::Nothing { idle_ticks + 1 } else { 0 };
        if seen == Seen::Settled {
            pool.until_added(SETTLED_TICK - TICK).await;
        }
    }
}

/// What a tick has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nothing runs or waits.
    Nothing,
    /// All that runs has been running for longer than [`SETTLED`], and there is no free thread for what waits.
    Settled,
    /// Something else.
    Active,
}

/// Checks all requests as of `now`.
pub fn look(pool: &Pool, kill_time: Duration, now: Instant) -> Seen {
    let looks = look_at_processors(pool);
    let lacks_workers;
    let (late, given_up, seen): (Vec<Box<Job>>, Vec<Box<Job>>, Seen) = {
        let mut dispatch = pool.dispatch();
        dispatch.end_looks(looks);
        let mut back = Vec::new();
        let mut is_settled = true;
        let is_waiting = !dispatch.queue.is_empty();
        let mut is_long = false;
        let grows = dispatch.growth == Growth::Computing;
        for worker in &mut dispatch.workers {
            is_settled &= !(is_waiting && worker.has_free_thread());
            if worker.busy == 0 {
                process_title::clear(worker);
                continue;
            }
            let mut oldest: Option<(Duration, &Arc<WorkerThread>)> = None;
            let threads: Vec<Arc<WorkerThread>> = worker.threads().cloned().collect();
            for thread in &threads {
                let look = thread.look(now, kill_time);
                is_long |= look.age > 2 * LONG;
                is_settled &= look.age.is_zero() || look.age > SETTLED;
                if escalate(worker.pid, &worker.control, thread, &look, pool.app()) {
                    worker.reason = Some(ExitReason::Timeout);
                }
                if oldest.is_none_or(|(age, _)| look.age > age) {
                    oldest = Some((look.age, thread));
                }
                if look.age > 2 * LONG && look.pipelined > 0 {
                    back.extend(thread.withdraw());
                }
            }
            if let Some((age, thread)) = oldest {
                process_title::show(worker, thread, age, now);
            }
        }
        if is_long {
            dispatch.service_time.note_long();
        }
        if grows {
            let computing = dispatch.computing_long();
            dispatch.utilization.observe(computing, now);
        }
        dispatch.put_back(back, now);
        dispatch.wake(now);
        lacks_workers = dispatch.lacks_workers(now).is_some();
        let (late, given_up) = (dispatch.overdue(now), dispatch.end_isolation(now));
        let seen = match dispatch.is_active() {
            false => Seen::Nothing,
            true if is_settled => Seen::Settled,
            true => Seen::Active,
        };
        (late, given_up, seen)
    };
    late.into_iter().for_each(|job| job.expire(now));
    for job in given_up {
        let why = "others exited while they ran this request, and none has become free to run it alone";
        job.refuse(Fault::WorkerDied(why.to_owned()));
    }
    pool.pump();
    if lacks_workers {
        pool.want();
    }
    seen
}

/// Asks the kernel which workers compute. It does so without the lock of the dispatch: with many workers it takes
/// longer than all that the requests of this time need the lock for.
fn look_at_processors(pool: &Pool) -> Vec<Look> {
    let (mut looks, is_wanted) = {
        let mut dispatch = pool.dispatch();
        // Only then a request may enter a worker that is busy, or another worker be of use.
        let is_wanted = !dispatch.queue.is_empty() && dispatch.depth() == 1;
        (dispatch.begin_looks(Instant::now()), is_wanted)
    };
    looks.iter_mut().for_each(|look| look.make(Instant::now(), is_wanted));
    looks
}

/// Escalates a deadline that has passed, of an answer or of the work after it. The client has been answered by now;
/// the backtraces of all threads go to the log, the thread is interrupted, and at last the worker is killed. Returns
/// whether it was killed.
fn escalate(pid: i32, control: &Control, thread: &WorkerThread, look: &RequestState, app: Option<&str>) -> bool {
    if look.expired.is_none() && !look.is_stuck {
        return false;
    }
    let worker = thread.worker;
    let run = thread.running(Instant::now()).unwrap_or_default();
    let RunView { id, method, path, .. } = &run;
    let request = match id.is_empty() {
        true => "a request that had been withdrawn".to_owned(),
        false => job::in_words(id, method, path),
    };
    if let Some(seq) = look.expired {
        let what = match (look.is_finishing, look.is_left) {
            (true, _) => " in its work after the answer",
            (false, true) => ", its client has gone",
            (false, false) => "",
        };
        tracing::warn!(
            target: "engine",
            worker, pid, id, method, path, app,
            "worker {worker} (pid {pid}): {request} timed out{what}; interrupting it"
        );
        control.dump(thread.number, seq);
        control.interrupt(thread.number, seq);
        return false;
    }
    tracing::error!(
        target: "engine",
        worker, pid, id, method, path, app,
        "worker {worker} (pid {pid}) killed: {request} timed out and could not be interrupted"
    );
    kill_now(pid.cast_unsigned());
    true
}
