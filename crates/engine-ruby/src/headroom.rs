//! Memory and the number of workers: none is added that the memory would not hold, and when it runs short the largest
//! leaves before the kernel chooses whom it kills.

use std::time::{Duration, Instant};

use engine::count;
use engine::snapshot::Shortage;
use machine::{Memory, Standing};

use crate::process::Loading;
use crate::reason::Reason;
use crate::supervisor::Work;

/// How often memory is looked at: two or three small files of the kernel.
const LOOK: Duration = Duration::from_millis(500);
/// What a worker needs of its own, in bytes, as long as none has been weighed that has worked.
const WORKER_MIN: u64 = 16 << 20;
/// Workers are added until so much of the limit is used, in percent. The rest is for requests and their bodies.
const FULL_PERCENT: u64 = 90;
/// No more than so many bytes are kept for these.
const SPARE_MAX: u64 = 512 << 20;
/// From here on, in percent of a control group's limit, workers are weighed often.
const TIGHT_PERCENT: u64 = 70;
/// A worker that loads the application itself may need so much, in bytes, as long as none has been weighed.
const LOADED_MAX: u64 = 256 << 20;
/// Where there is room for fewer than so many more workers, each is weighed before the next is added.
const PLENTY: u64 = 4;
/// A worker that was ready for so long has shown what it needs.
const GROWN: Duration = Duration::from_secs(1);
/// After one had to leave none is added for so long.
const REST: Duration = Duration::from_secs(30);
/// What a worker has freed shows only after it is gone, and after the next look.
const RELIEF: Duration = Duration::from_secs(2);
/// A worker that does not come to its end holds up the next for no longer.
const RELIEF_MAX: Duration = Duration::from_secs(10);
/// What the kernel has killed shows within this time; a worker that ends later has ended of something else.
const KILL_TIME: Duration = Duration::from_secs(5);

/// What was last seen, and done.
pub struct Headroom {
    memory: Memory,
    standing: Option<Standing>,
    looked: Option<Instant>,
    /// No worker is added for want of memory.
    held: Option<Held>,
    /// The worker that was sent away last, and when.
    relieved: Option<(u32, Instant)>,
    /// How often the kernel had killed somebody, and when.
    kills: Option<(Instant, u64)>,
}

/// A time in which no worker is added.
struct Held {
    /// When that was seen last.
    seen: Instant,
    why: Shortage,
    /// The log has said how many workers run instead. That one had to leave does not say it.
    is_logged: bool,
}

/// Whether there is room for one more worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Yes,
    /// That is not known before the youngest has been weighed.
    Unknown,
    No,
}

/// What workers need of their own, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Need {
    /// One more.
    one: u64,
    /// Those that are there, beyond what they use now.
    others: u64,
    /// Of those, some have not been weighed since they work.
    is_guess: bool,
}

impl Headroom {
    /// Nothing has been looked at.
    pub fn new() -> Headroom {
        let memory = Memory::of_this_process();
        Headroom { memory, standing: None, looked: None, held: None, relieved: None, kills: None }
    }

    /// Why no worker is added, if that is for want of memory.
    pub fn shortage(&self) -> Option<Shortage> {
        self.held.as_ref().map(|held| held.why)
    }

    /// Whether workers are to be weighed often.
    pub fn is_tight(&self) -> bool {
        let is_tight = |one: &Standing| !one.is_machine && one.used > one.limit / 100 * TIGHT_PERCENT;
        self.held.is_some() || self.standing.as_ref().is_some_and(is_tight)
    }

    /// Whether one had to leave, or was killed, just now: what that has freed is not seen yet.
    fn is_being_relieved(&self, now: Instant) -> bool {
        self.relieved.is_some_and(|(_, then)| now.saturating_duration_since(then) < RELIEF)
    }

    /// Whether one had to leave, or was killed, so short a time ago that none is added.
    fn rests(&self, now: Instant) -> bool {
        self.relieved.is_some_and(|(_, then)| now.saturating_duration_since(then) < REST)
    }

    fn room(&self, need: Need, now: Instant) -> Room {
        let Some(standing) = self.standing else { return Room::Yes };
        let (full, used) = (full(&standing), standing.used + need.others);
        if self.rests(now) || used + need.one > full {
            return Room::No;
        }
        if need.is_guess && used + PLENTY * need.one > full { Room::Unknown } else { Room::Yes }
    }
}

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

/// Workers are added up to here, in bytes.
fn full(standing: &Standing) -> u64 {
    (standing.limit / 100 * FULL_PERCENT).max(standing.limit.saturating_sub(SPARE_MAX))
}

/// Whether so many workers that load the application themselves may be more than there is room for.
fn is_close(standing: &Standing, missing: usize) -> bool {
    standing.left() / LOADED_MAX < missing as u64
}

fn shortage(standing: &Standing, need: Need, is_rest: bool) -> Shortage {
    let kib = |bytes: u64| bytes / 1024;
    Shortage {
        limit_kib: kib(standing.limit),
        is_machine: standing.is_machine,
        used_kib: kib(standing.used),
        full_kib: kib(full(standing)),
        worker_kib: kib(need.one),
        growth_kib: kib(need.others),
        is_rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn headroom(used_mib: u64) -> Headroom {
        let (limit, used) = (200 * MIB, used_mib * MIB);
        let standing = Standing { limit, used, is_machine: false, stalled_percent: None };
        Headroom { standing: Some(standing), ..Headroom::new() }
    }

    #[test]
    fn workers_are_added_while_all_could_become_as_large_as_the_largest() {
        let now = Instant::now();
        let need = |one: u64, others: u64, is_guess| Need { one: one * MIB, others: others * MIB, is_guess };
        assert_eq!(headroom(100).room(need(20, 40, false), now), Room::Yes);
        assert_eq!(headroom(100).room(need(20, 61, false), now), Room::No);
        assert_eq!(headroom(100).room(need(20, 0, true), now), Room::Yes);
        assert_eq!(headroom(100).room(need(21, 0, true), now), Room::Unknown);
        assert_eq!(Headroom { standing: None, ..headroom(0) }.room(need(1 << 20, 0, true), now), Room::Yes);
    }

    #[test]
    fn the_words_have_the_numbers_of_the_decision() {
        let standing = headroom(100).standing.unwrap();
        let need = Need { one: 20 * MIB, others: 61 * MIB, is_guess: false };
        assert_eq!(
            shortage(&standing, need, false).to_string(),
            "100 MiB of the 200 MiB that the control group may use are used, one more worker may need 20 MiB of its \
             own, those that run 61 MiB more, and workers are added up to 180 MiB"
        );
        let rest = shortage(&standing, need, true).to_string();
        assert!(rest.ends_with("are used, and a worker has just ended for want of memory"), "{rest}");
    }

    #[test]
    fn after_one_had_to_leave_none_is_added_for_a_while() {
        let now = Instant::now();
        let room = |then| {
            Headroom { relieved: Some((1, then)), ..headroom(10) }
                .room(Need { one: 1, others: 0, is_guess: false }, now)
        };
        assert_eq!(room(now), Room::No);
        assert_eq!(room(now.checked_sub(REST).unwrap()), Room::Yes);
    }

    #[test]
    fn of_much_memory_not_more_is_kept_than_is_of_use() {
        let standing = |limit_mib: u64| Standing { limit: limit_mib * MIB, ..headroom(0).standing.unwrap() };
        assert_eq!((full(&standing(200)) / MIB, full(&standing(64 << 10)) / MIB), (180, (64 << 10) - 512));
        assert!(is_close(&standing(1000), 4) && !is_close(&standing(1024), 4));
    }
}
