//! The view of the fleet for operators.

use std::time::Instant;

use engine::snapshot::{Bounds, MoldView, WorkerView};

use super::Fleet;
use super::action::Facts;
use super::mold::Mold;
use super::worker::{Life, WorkerProcess};

/// The state of all molds and workers, booting ones included.
#[derive(Debug, Default)]
pub struct View {
    pub runtime: String,
    pub pool: Bounds,
    pub molds: Vec<MoldView>,
    /// The workers, each with the time of its order; what only dispatch knows of them is missing.
    pub workers: Vec<(Instant, WorkerView)>,
    /// Number of workers that still use memory: more than serve, until the exit of retired ones has been reported.
    pub processes: usize,
    /// Whether as many workers serve as there may be: none can be added, and none is missing.
    pub is_complete: bool,
}

impl Fleet {
    /// Returns the current view.
    pub fn view(&self) -> View {
        let (min, max) = (self.policy.min_workers, self.policy.max_workers);
        let molds = self.molds.iter().filter(|(_, mold)| !mold.is_worker());
        // A shortage of the last half minute means nothing any more when all workers are there.
        let shortage = self.headroom.shortage().filter(|_| self.staying() < max);
        let serving = self.workers.values().filter(|worker| worker.serves()).count();
        View {
            runtime: runtime(&self.facts),
            pool: Bounds {
                min,
                max,
                wanted: self.wanted,
                is_held_by_memory: shortage.is_some(),
                shortage,
                ..Bounds::default()
            },
            molds: molds.map(|(pid, mold)| mold_view(*pid, mold)).collect(),
            workers: self.workers.iter().map(|(id, worker)| (worker.since, self.worker_view(*id, worker))).collect(),
            processes: self.workers.len() + self.molds.values().map(|mold| mold.unreported.len()).sum::<usize>(),
            is_complete: self.wanted >= max && serving >= max,
        }
    }

    /// Returns the number of processes that are loading the application: molds, or workers that load it themselves.
    pub fn loading(&self) -> usize {
        let boots = |worker: &&WorkerProcess| worker.pid.is_some() && worker.life == Life::Starting;
        let loads = self.says("preload", "no");
        self.loading_molds() + self.workers.values().filter(|worker| loads && boots(worker)).count()
    }

    /// Returns the number of molds that have not loaded the application yet.
    pub(super) fn loading_molds(&self) -> usize {
        self.molds.values().filter(|mold| !mold.is_loaded()).count()
    }

    /// Returns the workers that do not answer the server.
    pub fn silent_workers(&self) -> Vec<u32> {
        let silent = self.workers.iter().filter(|(_, worker)| self.is_silent(worker));
        silent.map(|(id, _)| *id).collect()
    }

    /// Returns the numbers of the workers whose end has not been reported, each with its pid, but for those that the
    /// server itself has started and waits for. The end of a connection does not show that of the process where a child
    /// that the application has forked holds it open, and the mold that would report the exit may be busy, or gone.
    pub fn living_workers(&self) -> Vec<(u32, u32)> {
        let living = self.workers.iter().filter(|(_, worker)| worker.end.is_none());
        let living = living.filter_map(|(id, worker)| Some((*id, worker.pid?)));
        living.filter(|(_, pid)| !self.has_mold(*pid)).collect()
    }

    fn is_silent(&self, worker: &WorkerProcess) -> bool {
        !worker.is_booting() && worker.silent > self.hung_after()
    }

    fn worker_view(&self, id: u32, worker: &WorkerProcess) -> WorkerView {
        let state = match worker.life {
            _ if self.is_silent(worker) => "hung",
            _ if !worker.stays() => "draining",
            Life::Ready => "ready",
            _ => "booting",
        };
        let (state, pss_kib) = (state.to_owned(), worker.pss_kib());
        WorkerView { id, pid: worker.pid, state, pss_kib, ..WorkerView::default() }
    }
}

fn mold_view(pid: u32, mold: &Mold) -> MoldView {
    let state = if mold.is_loaded() { "ready" } else { "loading" };
    MoldView { pid, state: state.to_owned(), pss_kib: mold.pss_kib }
}

/// Returns a text such as `ruby 3.3.8, rack 3.1`, from the first words of the Ruby's own description; it says so if the
/// application is not preloaded.
fn runtime(facts: &Facts) -> String {
    let fact = |name: &str| facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let ruby: Vec<&str> = fact("ruby").unwrap_or_default().split(' ').take(2).collect();
    let rack = fact("rack").map_or_else(String::new, |rack| format!(", rack {rack}"));
    let loaded = if fact("preload") == Some("no") { ", loaded in each worker" } else { "" };
    format!("{}{rack}{loaded}", ruby.join(" "))
}

#[cfg(test)]
#[path = "view_test.rs"]
mod tests;
