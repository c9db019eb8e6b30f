//! What memory does to the number of workers: whether one more may be started, and who leaves when it runs short.

use std::time::{Duration, Instant};

use engine::count;
use machine::Standing;

use crate::headroom::{Held, Need, RELIEF, REST, Room, full, is_close, shortage};
use crate::process::Loading;
use crate::reason::Reason;
use crate::work::Work;

/// How often memory is looked at: two or three small files of the kernel.
const LOOK: Duration = Duration::from_millis(500);
/// What a worker needs of its own, in bytes, as long as none has been weighed that has worked.
const WORKER_MIN: u64 = 16 << 20;
/// A worker that was ready for so long has shown what it needs.
const GROWN: Duration = Duration::from_secs(1);
/// A worker that does not come to its end holds up the next for no longer.
const RELIEF_MAX: Duration = Duration::from_secs(10);
/// What the kernel has killed shows within this time; a worker that ends later has ended of something else.
const KILL_TIME: Duration = Duration::from_secs(5);

impl Work {
    /// Whether one more worker may be added because requests wait.
    pub(crate) fn has_room(&mut self, now: Instant) -> bool {
        let need = self.need(now);
        let room = self.headroom.room(need, now);
        if room == Room::No {
            self.hold(need, now);
        }
        room == Room::Yes
    }

    /// How many of so many workers that are missing may be started beside those that are there.
    pub(crate) fn fitting(&mut self, missing: usize, now: Instant) -> usize {
        if self.headroom.standing.is_none() {
            self.headroom.standing = self.headroom.memory.look();
        }
        let mut need = self.need(now);
        let loads = self.loads_in_workers();
        let fits = match self.headroom.standing {
            None => missing,
            // Without a worker nothing is answered; but one that the kernel has just killed may be killed again.
            Some(standing) if self.staying() == 0 => {
                let is_killed_again =
                    self.headroom.is_being_relieved(now) && standing.used + need.one > full(&standing);
                let is_close = loads && is_close(&standing, missing);
                if is_killed_again { 0 } else { if is_close { 1 } else { missing } }
            }
            Some(_) if self.headroom.is_being_relieved(now) => 0,
            // What the first one needs decides about the others.
            Some(standing) if loads && is_close(&standing, missing) && self.is_any_unknown() => return 0,
            // All of them could become as large as the largest.
            Some(standing) if loads || self.headroom.relieved.is_some() => {
                let left = full(&standing).saturating_sub(standing.used + need.others);
                missing.min(usize::try_from(left / need.one).unwrap_or(missing))
            }
            // Somebody has said that there are to be so many: they are held back only by what was seen, not by what
            // others might still need.
            Some(standing) => {
                need = Need { one: self.largest_own(), others: 0, is_guess: false };
                if standing.used + need.one > full(&standing) { 0 } else { missing }
            }
        };
        if fits < missing && self.staying() > 0 {
            self.hold(need, now);
        }
        fits
    }

    /// Whether the application is in none of the molds, so that each worker loads it.
    fn loads_in_workers(&self) -> bool {
        let says = |name: &str| self.facts.iter().any(|(known, value)| known == name && value == "no");
        says("preload") || says("fork")
    }

    /// Whether a worker that stays has not been weighed at all.
    fn is_any_unknown(&self) -> bool {
        self.workers.values().any(|worker| !worker.is_leaving && worker.own_kib.is_none())
    }

    /// No worker is added for now, if there are fewer than there may be. The first time the log says so.
    fn hold(&mut self, need: Need, now: Instant) {
        let there = self.staying();
        let Some(standing) = self.headroom.standing.filter(|_| there < self.settings.max_workers) else { return };
        let shortage = shortage(&standing, need, self.headroom.rests(now));
        let held = Held { seen: now, why: shortage, is_logged: true };
        if self.headroom.held.replace(held).is_none_or(|before| !before.is_logged) {
            let wanted = match self.wanted {
                wanted if wanted > there => format!("{there} of {} run", count(wanted, "worker")),
                _ => format!("{} run, and requests wait", count(there, "worker")),
            };
            tracing::warn!(target: "engine", app = self.app(), "no memory for another worker: {shortage}; {wanted}");
        }
    }

    /// In bytes, of those that stay and have been weighed.
    fn largest_own(&self) -> u64 {
        let staying = self.workers.values().filter(|worker| !worker.is_leaving);
        staying.filter_map(|worker| worker.own_kib).max().unwrap_or(0) * 1024
    }

    fn need(&self, now: Instant) -> Need {
        let one = self.largest_own().max(WORKER_MIN);
        let staying = self.workers.values().filter(|worker| !worker.is_leaving);
        let others = staying.map(|worker| one.saturating_sub(worker.own_kib.unwrap_or(0) * 1024)).sum();
        Need { one, others, is_guess: self.has_young(now) }
    }

    /// Whether a worker has not been weighed since it works.
    pub(crate) fn has_young(&self, now: Instant) -> bool {
        let is_young = |weighed: Option<Instant>, since: Instant| {
            now.saturating_duration_since(since) < Duration::from_secs(60)
                && weighed.is_none_or(|weighed| weighed.saturating_duration_since(since) < GROWN)
        };
        self.workers.values().any(|worker| !worker.is_leaving && is_young(worker.weighed, worker.since))
    }

    /// The kernel has chosen a worker. Its successor would be the next, so it comes when it has been seen that there is
    /// room for it.
    pub(crate) fn memory_was_full(&mut self, id: u32, now: Instant) {
        self.headroom.relieved = Some((id, now));
        self.headroom.looked = None;
        self.watch_memory(now);
    }

    /// Whoever the kernel has killed some time ago was none of our workers, or has been accounted for.
    fn forget_kills(&mut self, now: Instant) {
        match self.headroom.kills {
            Some((then, _)) if now.saturating_duration_since(then) < KILL_TIME => return,
            Some((_, kills)) => self.pool.forget_kills(kills),
            None => {}
        }
        self.headroom.kills = Some((now, self.headroom.memory.kills()));
    }

    /// Looks at memory now and then; when it is short, the largest worker leaves.
    pub(crate) fn watch_memory(&mut self, now: Instant) {
        if self.is_stopping || self.headroom.looked.is_some_and(|then| now.saturating_duration_since(then) < LOOK) {
            return;
        }
        let (there, most) = (self.staying(), self.settings.max_workers);
        self.headroom.looked = Some(now);
        self.headroom.standing = self.headroom.memory.look();
        self.forget_kills(now);
        // It was long ago, or they are all there by now.
        self.headroom.held.take_if(|held| now.saturating_duration_since(held.seen) > REST || there >= most);
        let Some(standing) = self.headroom.standing.filter(Standing::is_short) else { return };
        let is_under_way = self.headroom.relieved.is_some_and(|(id, then)| {
            let passed = now.saturating_duration_since(then);
            passed < RELIEF || passed < RELIEF_MAX && self.workers.contains_key(&id)
        });
        // What is being loaded goes first, by the kernel's hand: a reload must cost the old code nothing.
        if is_under_way || Loading::is_under_way() {
            return;
        }
        let staying = self.workers.iter().filter(|(_, worker)| worker.is_ready && !worker.is_leaving);
        let weighed: Vec<(u64, u32)> = staying.filter_map(|(id, worker)| Some((worker.own_kib?, *id))).collect();
        // The last one stays: without it nothing is answered.
        let Some((own, id)) = weighed.iter().max().filter(|_| weighed.len() > 1) else { return };
        let why = shortage(&standing, self.need(now), true);
        tracing::warn!(
            target: "engine",
            worker = id,
            pid = self.workers.get(id).and_then(|worker| worker.pid),
            app = self.app(),
            "memory is short: {}; {} is the largest, with {} MiB of its own, and shuts down",
            why.used(), self.named(*id), own.div_ceil(1024)
        );
        let is_logged = self.headroom.held.as_ref().is_some_and(|held| held.is_logged);
        self.headroom.held = Some(Held { seen: now, why, is_logged });
        self.headroom.relieved = Some((*id, now));
        // Where fewer may be there are to be fewer; else its successor comes when there is room for it.
        if self.wanted > self.settings.min_workers.max(1) {
            self.wanted -= 1;
        }
        self.send_away(*id, Reason::Pressure);
    }
}
