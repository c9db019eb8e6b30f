//! What can be seen of the engine from outside: the supervisor's part is put on a board, for nobody who looks may wait.

use std::time::{Duration, Instant};

use engine::Snapshot;
use engine::snapshot::{Bounds, MoldView, WorkerView};

use crate::boot::Facts;
use crate::pool::Pool;
use crate::process::is_stopped;
use crate::supervisor::Work;

/// Of molds and workers, whether they serve yet or not.
#[derive(Default)]
pub struct Board {
    runtime: String,
    pool: Bounds,
    molds: Vec<MoldView>,
    workers: Vec<Card>,
    /// Workers whose processes have not ended, as far as anybody has heard.
    processes: usize,
}

/// A worker.
struct Card {
    id: u32,
    pid: Option<u32>,
    since: Instant,
    is_ready: bool,
    is_leaving: bool,
    is_hung: bool,
    pss_kib: Option<u64>,
}

impl Work {
    /// Puts what there is on the board.
    pub(crate) fn publish(&self) {
        let (min, max) = (self.settings.min_workers, self.settings.max_workers);
        let state = |ready: Option<bool>| if ready.is_some() { "ready" } else { "loading" }.to_owned();
        let molds = self.molds.iter().filter(|(_, mold)| mold.worker.is_none());
        let mut molds: Vec<MoldView> =
            molds.map(|(pid, mold)| MoldView { pid: *pid, state: state(mold.ready), pss_kib: mold.pss_kib }).collect();
        molds.sort_by_key(|mold| mold.pid);
        let hush = self.hush();
        let mut workers: Vec<Card> = self
            .workers
            .iter()
            .map(|(id, worker)| Card {
                id: *id,
                pid: worker.pid,
                since: worker.since,
                is_ready: worker.is_ready,
                is_leaving: worker.is_leaving,
                is_hung: worker.is_ready && worker.silent > hush,
                pss_kib: worker.pss_kib,
            })
            .collect();
        workers.sort_by_key(|worker| worker.id);
        // A decision of the last half minute says nothing any more where all are there.
        let shortage = self.headroom.shortage().filter(|_| self.staying() < max);
        let pool = Bounds { min, max, wanted: self.wanted, is_held_by_memory: shortage.is_some(), shortage };
        let processes = self.workers.len() + self.molds.values().map(|mold| mold.untold.len()).sum::<usize>();
        self.pool.show(Board { runtime: runtime(&self.facts), pool, molds, workers, processes });
    }
}

/// `ruby 3.3.8, rack 3.1`: what comes first of the Ruby's own words; and where the application is not preloaded, that.
fn runtime(facts: &Facts) -> String {
    let fact = |name: &str| facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let ruby: Vec<&str> = fact("ruby").unwrap_or_default().split(' ').take(2).collect();
    let rack = fact("rack").map_or_else(String::new, |rack| format!(", rack {rack}"));
    let loaded = if fact("preload") == Some("no") { ", loaded in each worker" } else { "" };
    format!("{}{rack}{loaded}", ruby.join(" "))
}

impl Board {
    /// How many workers still take memory: more than serve, until the processes of those that left have ended.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// All there is to see, with what the pool knows of those that serve.
    pub fn snapshot(&self, pool: &Pool, now: Instant) -> Snapshot {
        let mut dispatch = pool.dispatch();
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
        drop(dispatch);
        Snapshot {
            engine: "ruby".to_owned(),
            runtime: self.runtime.clone(),
            status: engine::Engine::status(pool),
            oldest_wait_ms: seconds(waited.unwrap_or_default()) * 1e3,
            is_paused,
            pool: self.pool,
            workers,
            molds: self.molds.clone(),
            restarts_by: pool.restarts_by(),
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
