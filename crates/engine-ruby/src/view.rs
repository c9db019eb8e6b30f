//! Puts what the supervisor knows on the board.

use engine::snapshot::{Bounds, MoldView};

use crate::board::{Board, Card};
use crate::work::{Facts, Work};

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
