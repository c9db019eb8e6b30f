//! Processor time that is lost with a process. When a process ends, the kernel adds its time to that of its parent, but
//! only if the parent waits for it. It does not if the parent ignores SIGCHLD, and no process of the server gets the
//! time of an orphan. The time that such a process was last seen to have used stays counted here. Pure.

use std::collections::BTreeMap;
use std::mem::take;

/// Processor time of a process in one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spent {
    /// Time of its start, which distinguishes it from a later process with the same id.
    pub start: u64,
    /// Process id of its parent.
    pub parent: u32,
    /// Its own time.
    pub own_us: u64,
    /// Time of the children that it has waited for.
    pub children_us: u64,
    /// Whether it is a zombie: it has ended, and its parent has not waited for it yet.
    pub has_ended: bool,
}

/// Time of processes that were seen and are gone.
#[derive(Debug, Default)]
pub(super) struct Lost {
    seen: BTreeMap<u32, Spent>,
    gone_us: u64,
    waiting_us: u64,
}

impl Lost {
    /// Time that no running process has.
    pub fn us(&self) -> u64 {
        self.gone_us + self.waiting_us
    }

    /// Records the processes that were seen to run. `again` samples one once more, also a zombie: the time of those
    /// that are gone by then has been added to their parent, if it ever is.
    pub fn note(&mut self, mut now: BTreeMap<u32, Spent>, again: &dyn Fn(u32) -> Option<Spent>) {
        let before = take(&mut self.seen);
        let gone = before.iter().filter(|(id, one)| !is_there(&now, **id, one));
        let (waiting, gone): (Vec<_>, Vec<_>) =
            gone.map(|(id, one)| (*id, *one)).partition(|(id, one)| again(*id).is_some_and(|now| now.waits(one)));
        // The time that they leave, by the process that should have taken it over.
        let mut left: BTreeMap<Option<u32>, u64> = BTreeMap::new();
        for (_, one) in &gone {
            *left.entry(heir(&before, &now, one)).or_default() += one.all_us();
        }
        for (heir, us) in left {
            let taken = heir.and_then(|id| {
                let (was, is) = (before.get(&id)?, now.get_mut(&id)?);
                let later = again(id).filter(|later| later.start == is.start)?;
                // What it has taken over since that sample is theirs only up to the time that they had. The rest is of
                // processes that were still seen to run, and must be left for when these are found to be gone.
                is.children_us = is.children_us.max(later.children_us.min(was.children_us + us));
                Some(later.children_us.saturating_sub(was.children_us))
            });
            self.gone_us += us.saturating_sub(taken.unwrap_or(0));
        }
        self.waiting_us = waiting.iter().map(|(_, one)| one.all_us()).sum();
        for (id, one) in waiting {
            now.entry(id).or_insert(one);
        }
        self.seen = now;
    }
}

impl Spent {
    pub fn all_us(&self) -> u64 {
        self.own_us + self.children_us
    }

    /// Whether this is the same process, as a zombie.
    fn waits(&self, other: &Spent) -> bool {
        self.has_ended && self.start == other.start
    }
}

fn is_there(now: &BTreeMap<u32, Spent>, id: u32, one: &Spent) -> bool {
    now.get(&id).is_some_and(|there| there.start == one.start)
}

/// The nearest ancestor that still runs; `None` if there is none among those that were seen.
fn heir(before: &BTreeMap<u32, Spent>, now: &BTreeMap<u32, Spent>, one: &Spent) -> Option<u32> {
    let mut id = one.parent;
    for _ in 0..before.len() {
        let parent = before.get(&id)?;
        if is_there(now, id, parent) {
            return Some(id);
        }
        id = parent.parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(parent: u32, own_us: u64, children_us: u64) -> Spent {
        Spent { start: 1, parent, own_us, children_us, has_ended: false }
    }

    /// The lost time after each of these samples. No process is ever a zombie.
    fn lost(looks: &[&[(u32, Spent)]]) -> Vec<u64> {
        let mut lost = Lost::default();
        let looks = looks.iter().map(|look| look.iter().copied().collect::<BTreeMap<u32, Spent>>());
        looks
            .map(|look| {
                let again = look.clone();
                lost.note(look, &|id| again.get(&id).copied());
                lost.us()
            })
            .collect()
    }

    #[test]
    fn time_that_a_parent_has_taken_is_not_lost() {
        let worker = (2, spent(1, 40, 0));
        assert_eq!(lost(&[&[(1, spent(0, 5, 0)), worker], &[(1, spent(0, 6, 42))]]), [0, 0]);
        // With a child of its own, which it had waited for, or which its parent then had.
        let child = (3, spent(2, 7, 0));
        assert_eq!(lost(&[&[(1, spent(0, 5, 0)), worker, child], &[(1, spent(0, 5, 47))]]), [0, 0]);
    }

    #[test]
    fn time_that_nobody_has_taken_stays_counted() {
        let worker = (2, spent(1, 40, 3));
        // The parent ignores its children.
        let master = (1, spent(0, 5, 0));
        assert_eq!(lost(&[&[master, worker], &[master], &[master]]), [0, 43, 43]);
        // An orphan; and the whole server.
        assert_eq!(lost(&[&[master, (9, spent(77, 8, 0))], &[master], &[]]), [0, 8, 13]);
        // Both end, and the parent is waited for by the first process.
        let helper = (4, spent(2, 10, 0));
        assert_eq!(lost(&[&[master, worker, helper], &[(1, spent(0, 5, 43))]]), [0, 10]);
        // Another process has its id.
        let other = (2, Spent { start: 2, ..spent(1, 1, 0) });
        assert_eq!(lost(&[&[master, worker], &[master, other]]), [0, 43]);
    }

    #[test]
    fn one_that_ends_just_after_it_was_looked_at_is_counted_once() {
        let (first, second) = ((2, spent(1, 40, 0)), (3, spent(1, 50, 0)));
        let mut lost = Lost::default();
        lost.note([(1, spent(0, 5, 0)), first, second].into(), &|_| None);
        // As at a reload: the first one is gone, and the second one ends before the master is looked at again.
        let later = spent(0, 5, 93);
        lost.note([(1, spent(0, 5, 41)), (3, spent(1, 51, 0))].into(), &|id| (id == 1).then_some(later));
        assert_eq!(lost.us(), 0);
        lost.note([(1, later)].into(), &|id| (id == 1).then_some(later));
        assert_eq!(lost.us(), 0);
    }

    #[test]
    fn one_that_nobody_has_waited_for_yet_has_its_time() {
        let master = (1, spent(0, 5, 0));
        let worker = (2, spent(1, 40, 0));
        let ended = Spent { has_ended: true, ..worker.1 };
        let mut lost = Lost::default();
        lost.note([master, worker].into(), &|_| None);
        lost.note([master].into(), &|id| if id == 2 { Some(ended) } else { Some(master.1) });
        assert_eq!(lost.us(), 40);
        // Then its parent waits for it, just after it was looked at.
        let later = spent(0, 5, 41);
        lost.note([master].into(), &|id| (id == 1).then_some(later));
        assert_eq!(lost.us(), 0);
        lost.note([(1, later)].into(), &|id| (id == 1).then_some(later));
        assert_eq!(lost.us(), 0);
    }
}
