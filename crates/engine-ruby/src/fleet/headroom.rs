//! The memory left for workers: none is added that would not fit, and when memory runs short the largest worker leaves
//! before the kernel chooses which process it kills.

use std::time::{Duration, Instant};

use engine::snapshot::Shortage;
use machine::MemoryUse;

/// Percentage of the memory limit up to which workers are added. The rest is for requests and their bodies.
const FULL_PERCENT: u64 = 90;
/// The most bytes that are kept free for requests.
const SPARE_MAX: u64 = 512 << 20;
/// Percentage of a control group's limit from which the memory of workers is read often.
const TIGHT_PERCENT: u64 = 70;
/// Bytes that a worker that loads the application itself may need, as long as no worker has been measured.
const LOADED_MAX: u64 = 256 << 20;
/// The number of further workers that must fit for the next to be added before the last has been measured.
const PLENTY: u64 = 4;
/// The time after a worker had to leave for want of memory in which none is added.
pub const REST: Duration = Duration::from_secs(30);
/// The time after which the memory of a worker that left shows as free: it must exit, and memory be read again.
pub const RELIEF: Duration = Duration::from_secs(2);

/// The last measurement of memory, and what followed from it.
#[derive(Debug, Default)]
pub struct Headroom {
    /// The use of memory at the last reading; none where the kernel does not report it.
    pub memory: Option<MemoryUse>,
    /// When it was last read.
    pub read_at: Option<Instant>,
    /// Set while no worker is added for want of memory.
    pub held: Option<Held>,
    /// The worker that was last retired, or killed, for want of memory, and when.
    pub relieved: Option<(u32, Instant)>,
}

/// A period in which no worker is added.
#[derive(Debug)]
pub struct Held {
    /// When the want of memory was last seen.
    pub seen: Instant,
    pub why: Shortage,
    /// The log has an entry with the number of workers that run instead. The entry about a worker that had to leave
    /// does not count.
    pub is_logged: bool,
}

/// Whether there is memory for one more worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Yes,
    /// Not known until the youngest worker has been measured.
    Unknown,
    No,
}

/// The private memory that workers need, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// For one more worker.
    pub one: u64,
    /// For the present workers, beyond what they use now.
    pub others: u64,
    /// Whether some of the present workers have not been measured since they serve.
    pub is_guess: bool,
}

impl Headroom {
    /// Returns the shortage for which no worker is added, if there is one.
    pub fn shortage(&self) -> Option<Shortage> {
        self.held.as_ref().map(|held| held.why)
    }

    /// Returns whether the memory of workers should be read often.
    pub fn is_tight(&self) -> bool {
        let is_tight = |one: &MemoryUse| !one.is_machine && one.used > one.limit / 100 * TIGHT_PERCENT;
        self.held.is_some() || self.memory.as_ref().is_some_and(is_tight)
    }

    /// Returns whether a worker had to leave, or was killed, so recently that the memory it freed does not show yet.
    pub fn is_being_relieved(&self, now: Instant) -> bool {
        self.relieved.is_some_and(|(_, then)| now.saturating_duration_since(then) < RELIEF)
    }

    /// Returns whether a worker had to leave, or was killed, so recently that none is added.
    pub fn rests(&self, now: Instant) -> bool {
        self.relieved.is_some_and(|(_, then)| now.saturating_duration_since(then) < REST)
    }

    pub fn room(&self, need: Need, now: Instant) -> Room {
        let Some(memory) = self.memory else { return Room::Yes };
        let full = full(&memory);
        let used = memory.used + need.others;
        if self.rests(now) || used + need.one > full {
            return Room::No;
        }
        if need.is_guess && used + PLENTY * need.one > full { Room::Unknown } else { Room::Yes }
    }
}

/// Returns the use of memory, in bytes, up to which workers are added.
pub fn full(memory: &MemoryUse) -> u64 {
    (memory.limit / 100 * FULL_PERCENT).max(memory.limit.saturating_sub(SPARE_MAX))
}

/// Returns whether there may not be room for this number of workers that load the application themselves.
pub fn is_close(memory: &MemoryUse, missing: usize) -> bool {
    memory.left() / LOADED_MAX < missing as u64
}

pub fn shortage(memory: &MemoryUse, need: Need, is_rest: bool) -> Shortage {
    let kib = |bytes: u64| bytes / 1024;
    Shortage {
        limit_kib: kib(memory.limit),
        is_machine: memory.is_machine,
        used_kib: kib(memory.used),
        full_kib: kib(full(memory)),
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
        let memory = MemoryUse { limit, used, is_machine: false, stalled_percent: None };
        Headroom { memory: Some(memory), ..Headroom::default() }
    }

    #[test]
    fn workers_are_added_while_all_could_become_as_large_as_the_largest() {
        let now = Instant::now();
        let need = |one: u64, others: u64, is_guess| Need { one: one * MIB, others: others * MIB, is_guess };
        assert_eq!(headroom(100).room(need(20, 40, false), now), Room::Yes);
        assert_eq!(headroom(100).room(need(20, 61, false), now), Room::No);
        assert_eq!(headroom(100).room(need(20, 0, true), now), Room::Yes);
        assert_eq!(headroom(100).room(need(21, 0, true), now), Room::Unknown);
        assert_eq!(Headroom { memory: None, ..headroom(0) }.room(need(1 << 20, 0, true), now), Room::Yes);
    }

    #[test]
    fn the_words_have_the_numbers_of_the_decision() {
        let memory = headroom(100).memory.unwrap();
        let need = Need { one: 20 * MIB, others: 61 * MIB, is_guess: false };
        assert_eq!(
            shortage(&memory, need, false).to_string(),
            "100 MiB of the 200 MiB that the control group may use are used, one more worker may need 20 MiB of its \
             own, those that run 61 MiB more, and workers are added up to 180 MiB"
        );
        let rest = shortage(&memory, need, true).to_string();
        assert!(rest.ends_with("are used, and a worker has just ended for want of memory"), "{rest}");
    }

    #[test]
    fn of_much_memory_not_more_is_kept_than_is_of_use() {
        let memory = |limit_mib: u64| MemoryUse { limit: limit_mib * MIB, ..headroom(0).memory.unwrap() };
        assert_eq!((full(&memory(200)) / MIB, full(&memory(64 << 10)) / MIB), (180, (64 << 10) - 512));
        assert!(is_close(&memory(1000), 4) && !is_close(&memory(1024), 4));
    }

    #[test]
    fn memory_is_tight_from_a_share_of_a_groups_limit_or_where_it_holds_workers_back() {
        let tight = |used_mib: u64| headroom(used_mib).is_tight();
        assert_eq!([tight(140), tight(141), tight(199)], [false, true, true]);
        let machine = headroom(199).memory.map(|memory| MemoryUse { is_machine: true, ..memory });
        assert!(!Headroom { memory: machine, ..Headroom::default() }.is_tight(), "others fill it as well");
        let held = Held { seen: Instant::now(), why: Shortage::default(), is_logged: true };
        assert!(Headroom { held: Some(held), ..headroom(10) }.is_tight());
    }
}
