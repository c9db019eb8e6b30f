//! The snapshot of an engine for operators: the last view of the fleet, completed from the current state of dispatch.

use std::time::{Duration, Instant};

use engine::Snapshot;
use engine::snapshot::{Bounds, WorkerView};

use super::Dispatch;
use crate::fleet::View;
use crate::process::is_stopped;
use crate::settings::Growth;

/// Builds the snapshot except for the counters of the pool, with the requests that run in each worker.
pub fn snapshot(view: &View, dispatch: &mut Dispatch, now: Instant) -> Snapshot {
    let mut workers = Vec::new();
    for (since, process) in &view.workers {
        let age_s = seconds(now.saturating_duration_since(*since));
        let mut shown = WorkerView { age_s, ..process.clone() };
        if let Some(worker) = dispatch.worker(process.id) {
            shown.threads = worker.thread_count();
            shown.served = worker.served - worker.own;
            shown.running = worker.threads().filter_map(|thread| thread.running(now)).collect();
            shown.running.sort_by(|one, other| other.age_ms.total_cmp(&one.age_ms));
            if worker.is_leaving {
                shown.state = "draining".to_owned();
            } else if process.pid.is_some_and(is_stopped) {
                shown.state = "stopped".to_owned();
            } else if worker.out_of_band.is_some() && shown.state == "ready" {
                shown.state = "out_of_band".to_owned();
            }
        }
        workers.push(shown);
    }
    let waited = dispatch.queue.first().map(|job| job.waited(now));
    let is_paused = dispatch.queue.is_paused();
    let grows_while = match dispatch.growth {
        _ if view.pool.min == view.pool.max => "",
        Growth::Computing if dispatch.is_parallel || dispatch.loads_in_workers => "",
        Growth::Waiting => "waiting",
        Growth::Computing => "computing",
    };
    Snapshot {
        engine: "ruby".to_owned(),
        runtime: view.runtime.clone(),
        oldest_wait_ms: seconds(waited.unwrap_or_default()) * 1e3,
        is_paused,
        is_newest_first: dispatch.queue.favours_newest(now),
        pool: Bounds { grows_while, ..view.pool },
        workers,
        molds: view.molds.clone(),
        ..Snapshot::default()
    }
}

/// Seconds, rounded to the microsecond.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}
