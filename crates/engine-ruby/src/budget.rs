//! A limit on the workers of several applications together. When all places are taken, an application that needs a
//! worker makes another one give up a worker that has nothing to do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use crate::message::Message;

/// An application is asked for a place only if it has not needed all of its places for this long. Otherwise two
/// applications with bursts of work would keep taking a place from each other.
const SPARE_TIME: Duration = Duration::from_secs(1);

/// Time after which another application is asked, or the same one for another place, if the one that was asked has not
/// given its place up.
const ASKED_TIME: Duration = Duration::from_secs(3);

/// The number of workers that several applications share.
pub struct Budget {
    places: usize,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    next: u64,
    /// The applications, by the numbers of their shares.
    all: BTreeMap<u64, Member>,
}

/// One application with a share of the budget.
struct Member {
    messages: UnboundedSender<Message>,
    report: ShareReport,
    /// When it was asked to give a place up, if it has not done so yet.
    asked: Option<Instant>,
}

/// An application's report of its workers.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShareReport {
    /// Number of places it has.
    pub holds: usize,
    /// Number of those that it is giving up: each is free when its worker has exited.
    pub leaving: usize,
    /// Number of places it never gives up.
    pub floor: usize,
    /// For how long it has not needed all of its places; none while it does.
    pub spare_for: Option<Duration>,
}

impl ShareReport {
    /// Returns the number of places that the application can be asked for, besides those that it is giving up.
    fn to_spare(self) -> usize {
        self.holds.saturating_sub(self.leaving + self.floor)
    }
}

/// One application's share; its places are free again when it is dropped.
pub struct Share {
    budget: Arc<Budget>,
    id: u64,
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let held: usize = self.members.lock().held();
        write!(f, "Budget({held} of {})", self.places)
    }
}

impl Members {
    fn held(&self) -> usize {
        self.all.values().map(|member| member.report.holds).sum()
    }

    /// Asks another application to give up a place that it does not need; if none has one to spare and `must` is true,
    /// the one with the most places above its floor.
    fn ask(&mut self, id: u64, must: bool) {
        let others = self.all.iter_mut().filter(|(other, _)| **other != id).map(|(_, member)| member);
        let mut others: Vec<&mut Member> = others.collect();
        // One at a time, since the place may be enough; but its worker may have a request that lasts for ever.
        let now = Instant::now();
        if others.iter().any(|other| other.asked.is_some_and(|then| now.saturating_duration_since(then) < ASKED_TIME)) {
            return;
        }
        let may_ask = |report: &ShareReport| must || report.spare_for >= Some(SPARE_TIME);
        others.retain(|other| other.report.to_spare() > 0 && may_ask(&other.report));
        // Whoever was asked in vain comes last.
        others.sort_by_key(|other| (other.asked.is_none(), other.report.spare_for, other.report.to_spare()));
        if let Some(asked) = others.pop() {
            asked.asked = asked.messages.send(Message::GiveUp).is_ok().then_some(now);
        }
    }
}

impl Budget {
    /// Creates a budget of this number of workers.
    pub fn new(places: usize) -> Arc<Budget> {
        Arc::new(Budget { places, members: Mutex::default() })
    }

    /// Returns the total number of places.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Adds an application, which is asked for places by a message to its supervisor.
    pub(crate) fn join(self: &Arc<Budget>, messages: UnboundedSender<Message>) -> Share {
        let mut members = self.members.lock();
        members.next += 1;
        let id = members.next;
        members.all.insert(id, Member { messages, report: ShareReport::default(), asked: None });
        Share { budget: self.clone(), id }
    }
}

impl Share {
    /// Reports the current state of the application.
    pub fn report(&self, report: ShareReport) {
        let mut members = self.budget.members.lock();
        if let Some(member) = members.all.get_mut(&self.id) {
            member.asked = member.asked.filter(|_| report.holds >= member.report.holds);
            member.report = report;
        }
        // The floors may be more than there are places: what others do not need is taken from them.
        if members.held() > self.budget.places {
            members.ask(self.id, false);
        }
    }

    /// Declines to give up a place.
    pub fn keep(&self) {
        let mut members = self.budget.members.lock();
        if let Some(member) = members.all.get_mut(&self.id) {
            member.asked = None;
        }
    }

    /// Takes one more place and returns whether there was one. If not, asks an application that does not need all of
    /// its places to give one up; if all need theirs and `has_none` says that this application has no worker at all,
    /// the one with the most.
    pub fn take(&self, has_none: bool) -> bool {
        let mut members = self.budget.members.lock();
        if members.held() < self.budget.places {
            if let Some(member) = members.all.get_mut(&self.id) {
                member.report.holds += 1;
            }
            return true;
        }
        members.ask(self.id, has_none);
        false
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.members.lock().all.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::UnboundedReceiver;

    use super::*;
    use crate::message::channel;

    fn member(budget: &Arc<Budget>, holds: usize, spare_s: Option<u64>) -> (Share, UnboundedReceiver<Message>) {
        let (messages, inbox) = channel();
        let share = budget.join(messages);
        let spare_for = spare_s.map(Duration::from_secs);
        share.report(ShareReport { holds, floor: 1, spare_for, ..ShareReport::default() });
        (share, inbox)
    }

    fn was_asked(inbox: &mut UnboundedReceiver<Message>) -> bool {
        matches!(inbox.try_recv(), Ok(Message::GiveUp))
    }

    #[test]
    fn places_are_taken_until_there_are_no_more() {
        let budget = Budget::new(2);
        assert_eq!(budget.places(), 2);
        let (share, _inbox) = member(&budget, 0, None);
        assert_eq!([share.take(true), share.take(false), share.take(false)], [true, true, false]);
        drop(share);
        assert!(member(&budget, 0, None).0.take(true));
    }

    #[test]
    fn whoever_has_had_one_to_spare_for_longest_gives_it_up() {
        let budget = Budget::new(6);
        let (asks, _inbox) = member(&budget, 0, None);
        let (_first, mut first) = member(&budget, 2, Some(1));
        let (second, mut second_inbox) = member(&budget, 4, Some(9));
        assert!(!asks.take(true) && !asks.take(true));
        assert_eq!((was_asked(&mut first), was_asked(&mut second_inbox)), (false, true));
        assert!(!was_asked(&mut second_inbox), "it is asked once");
        second.report(ShareReport { holds: 3, floor: 1, ..ShareReport::default() });
        assert!(asks.take(true));
    }

    #[test]
    fn what_was_needed_a_moment_ago_is_not_given_up() {
        let budget = Budget::new(3);
        let (asks, _inbox) = member(&budget, 1, None);
        let (other, mut inbox) = member(&budget, 2, Some(0));
        assert!(!asks.take(false) && !was_asked(&mut inbox));
        other.report(ShareReport { holds: 2, floor: 1, spare_for: Some(SPARE_TIME), ..ShareReport::default() });
        assert!(!asks.take(false) && was_asked(&mut inbox));
    }

    #[test]
    fn nobody_gives_up_what_it_needs_unless_another_has_nothing() {
        let budget = Budget::new(4);
        let (asks, _inbox) = member(&budget, 0, None);
        let (_keeps, mut keeps) = member(&budget, 1, Some(9));
        let (_busy, mut busy) = member(&budget, 3, None);
        assert!(!asks.take(false));
        assert_eq!((was_asked(&mut keeps), was_asked(&mut busy)), (false, false));
        assert!(!asks.take(true));
        assert_eq!((was_asked(&mut keeps), was_asked(&mut busy)), (false, true));
    }

    #[test]
    fn whoever_has_given_a_place_up_or_kept_it_is_asked_again_and_until_then_once() {
        let budget = Budget::new(3);
        let (asks, _inbox) = member(&budget, 0, None);
        let (other, mut inbox) = member(&budget, 3, Some(9));
        let spare = |holds| ShareReport { holds, floor: 1, spare_for: Some(SPARE_TIME), ..ShareReport::default() };
        assert!(!asks.take(true) && was_asked(&mut inbox));
        other.report(spare(3));
        assert!(!asks.take(true) && !was_asked(&mut inbox), "it has not decided");
        other.keep();
        assert!(!asks.take(true) && was_asked(&mut inbox), "it has kept it");
        other.report(spare(2));
        assert!(asks.take(true), "it has given one up");
        assert!(!asks.take(true) && was_asked(&mut inbox));
    }

    /// Lets the time pass within which an application that was asked should have given its place up.
    fn is_asked_in_vain(budget: &Budget, share: &Share) {
        let mut members = budget.members.lock();
        let member = members.all.get_mut(&share.id).unwrap();
        member.asked = Instant::now().checked_sub(ASKED_TIME);
    }

    #[test]
    fn an_application_that_gives_no_place_up_in_time_does_not_block_the_others() {
        let budget = Budget::new(6);
        let (asks, _inbox) = member(&budget, 0, None);
        let (silent, mut first) = member(&budget, 3, Some(9));
        let (_other, mut second) = member(&budget, 3, Some(1));
        assert!(!asks.take(true) && was_asked(&mut first) && !was_asked(&mut second));
        is_asked_in_vain(&budget, &silent);
        assert!(!asks.take(true) && was_asked(&mut second) && !was_asked(&mut first));
    }

    #[test]
    fn an_application_that_gives_no_place_up_in_time_is_asked_for_another_as_long_as_it_has_one() {
        let budget = Budget::new(3);
        let (asks, _inbox) = member(&budget, 0, None);
        let (other, mut inbox) = member(&budget, 3, None);
        let gives_up = |leaving| ShareReport { holds: 3, leaving, floor: 1, spare_for: None };
        assert!(!asks.take(true) && was_asked(&mut inbox));
        other.report(gives_up(1));
        assert!(!asks.take(true) && !was_asked(&mut inbox), "its worker may be about to exit");
        is_asked_in_vain(&budget, &other);
        assert!(!asks.take(true) && was_asked(&mut inbox), "its worker has a request that lasts for ever");
        other.report(gives_up(2));
        is_asked_in_vain(&budget, &other);
        assert!(!asks.take(true) && !was_asked(&mut inbox), "it keeps what it never gives up");
    }

    #[test]
    fn where_more_are_held_than_there_are_whoever_has_one_to_spare_is_asked_and_not_before() {
        let budget = Budget::new(4);
        let (_idle, mut idle) = member(&budget, 3, Some(9));
        let (busy, _inbox) = member(&budget, 1, None);
        assert!(!was_asked(&mut idle), "there are as many");
        busy.report(ShareReport { holds: 2, floor: 2, ..ShareReport::default() });
        assert!(was_asked(&mut idle));
    }

    #[test]
    fn of_those_that_need_all_the_one_with_the_most_above_its_floor_gives_one_up() {
        let budget = Budget::new(11);
        let (asks, _inbox) = member(&budget, 0, None);
        let (few, mut few_inbox) = member(&budget, 6, None);
        let (most, mut most_inbox) = member(&budget, 5, None);
        few.report(ShareReport { holds: 6, floor: 2, ..ShareReport::default() });
        most.report(ShareReport { holds: 5, floor: 0, ..ShareReport::default() });
        assert!(!asks.take(true));
        assert_eq!((was_asked(&mut few_inbox), was_asked(&mut most_inbox)), (false, true));
    }
}
