//! What can be seen of the engine from outside: the supervisor's part is put on a board, for nobody who looks may wait.

use std::time::{Duration, Instant};

use engine::Snapshot;
use engine::snapshot::{Bounds, MoldView, WorkerView};

use crate::dispatch::Dispatch;
use crate::process::is_stopped;

/// Of molds and workers, whether they serve yet or not.
#[derive(Default)]
pub struct Board {
    pub runtime: String,
    pub pool: Bounds,
    pub molds: Vec<MoldView>,
    pub workers: Vec<Card>,
    /// Workers whose processes have not ended, as far as anybody has heard.
    pub processes: usize,
}

/// A worker.
pub struct Card {
    pub id: u32,
    pub pid: Option<u32>,
    pub since: Instant,
    pub is_ready: bool,
    pub is_leaving: bool,
    pub is_hung: bool,
    pub pss_kib: Option<u64>,
}

impl Board {
    /// How many workers still take memory: more than serve, until the processes of those that left have ended.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// All there is to see but numbers of the pool, with what is known of those that serve.
    pub fn snapshot(&self, dispatch: &mut Dispatch, now: Instant) -> Snapshot {
        let mut workers = Vec::new();
        for card in &self.workers {
            let mut view = WorkerView {
                id: card.id,
                pid: card.pid,
                state: state(card).to_owned(),
                age_s: seconds(now.saturating_duration_since(card.since)),
                pss_kib: card.pss_kib,
                ..WorkerView::default()
            };
            if let Some(worker) = dispatch.worker(card.id) {
                (view.threads, view.served) = (worker.thread_count(), worker.served);
                view.running = worker.slots().filter_map(|slot| slot.running(now)).collect();
                view.running.sort_by(|one, other| other.age_ms.total_cmp(&one.age_ms));
                if worker.is_leaving {
                    view.state = "draining".to_owned();
                } else if card.pid.is_some_and(is_stopped) {
                    view.state = "stopped".to_owned();
                } else if worker.out.is_some() && view.state == "ready" {
                    view.state = "out_of_band".to_owned();
                }
            }
            workers.push(view);
        }
        let waited = dispatch.line.first().map(|job| now.saturating_duration_since(job.offered));
        let is_paused = dispatch.line.is_paused();
        Snapshot {
            engine: "ruby".to_owned(),
            runtime: self.runtime.clone(),
            oldest_wait_ms: seconds(waited.unwrap_or_default()) * 1e3,
            is_paused,
            pool: self.pool,
            workers,
            molds: self.molds.clone(),
            ..Snapshot::default()
        }
    }
}

fn state(card: &Card) -> &'static str {
    match card {
        Card { is_hung: true, .. } => "hung",
        Card { is_leaving: true, .. } => "draining",
        Card { is_ready: true, .. } => "ready",
        _ => "booting",
    }
}

/// To the microsecond, which is what a person can use.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}
