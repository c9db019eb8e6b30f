//! Memory and the number of workers: none is added that the memory would not hold, and when it runs short the largest
//! leaves before the kernel chooses whom it kills.

use std::time::{Duration, Instant};

use engine::snapshot::Shortage;
use machine::Standing;

/// Workers are added until so much of the limit is used, in percent. The rest is for requests and their bodies.
const FULL_PERCENT: u64 = 90;
/// The most bytes that are kept for these.
const SPARE_MAX: u64 = 512 << 20;
/// From here on, in percent of a control group's limit, workers are weighed often.
const TIGHT_PERCENT: u64 = 70;
/// A worker that loads the application itself may need so much, in bytes, as long as none has been weighed.
const LOADED_MAX: u64 = 256 << 20;
/// Where there is room for fewer more workers than this, each is weighed before the next is added.
const PLENTY: u64 = 4;
/// After one had to leave none is added for so long.
pub const REST: Duration = Duration::from_secs(30);
/// What a worker has freed shows only after it is gone, and after the next look.
pub const RELIEF: Duration = Duration::from_secs(2);

/// What was last seen, and done.
#[derive(Debug, Default)]
pub struct Headroom {
    pub standing: Option<Standing>,
    pub looked: Option<Instant>,
    /// No worker is added for want of memory.
    pub held: Option<Held>,
    /// The worker that was sent away last, and when.
    pub relieved: Option<(u32, Instant)>,
}

/// A time in which no worker is added.
#[derive(Debug)]
pub struct Held {
    /// When that was seen last.
    pub seen: Instant,
    pub why: Shortage,
    /// The log has said how many workers run instead. That one had to leave does not say it.
    pub is_logged: bool,
}

/// Whether there is room for one more worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Yes,
    /// That is not known before the youngest has been weighed.
    Unknown,
    No,
}

/// What workers need of their own, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// One more.
    pub one: u64,
    /// Those that are there, beyond what they use now.
    pub others: u64,
    /// Of those, some have not been weighed since they work.
    pub is_guess: bool,
}

impl Headroom {
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
    pub fn is_being_relieved(&self, now: Instant) -> bool {
        self.relieved.is_some_and(|(_, then)| now.saturating_duration_since(then) < RELIEF)
    }

    /// Whether one had to leave, or was killed, so short a time ago that none is added.
    pub fn rests(&self, now: Instant) -> bool {
        self.relieved.is_some_and(|(_, then)| now.saturating_duration_since(then) < REST)
    }

    pub fn room(&self, need: Need, now: Instant) -> Room {
        let Some(standing) = self.standing else { return Room::Yes };
        let (full, used) = (full(&standing), standing.used + need.others);
        if self.rests(now) || used + need.one > full {
            return Room::No;
        }
        if need.is_guess && used + PLENTY * need.one > full { Room::Unknown } else { Room::Yes }
    }
}

/// Workers are added up to here, in bytes.
pub fn full(standing: &Standing) -> u64 {
    (standing.limit / 100 * FULL_PERCENT).max(standing.limit.saturating_sub(SPARE_MAX))
}

/// Whether there may not be room for this number of workers that load the application themselves.
pub fn is_close(standing: &Standing, missing: usize) -> bool {
    standing.left() / LOADED_MAX < missing as u64
}

pub fn shortage(standing: &Standing, need: Need, is_rest: bool) -> Shortage {
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
        Headroom { standing: Some(standing), ..Headroom::default() }
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
