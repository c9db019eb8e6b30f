//! Places for connections, so that nobody keeps others out: when all are taken and somebody new comes, the connection
//! that has asked for nothing the longest is closed; where none is idle, the one that has sent its request most slowly;
//! where there is no such one either, the one that has taken nothing of its answer the longest. Those that are so only
//! for a moment come last. An answer that an engine still owes is never cut off.
//!
//! Connections stand in order on three shelves, with what they were at when they were put there. Their own tasks change
//! what they are at without a word to anybody: whoever looks for a place puts those aside, or on another shelf, that he
//! finds changed. One that was put aside comes back by itself. So each request costs at most one such step, and none as
//! long as there is room.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::connection::clock::Clock;
use crate::connection::state::{Spare, State, StateCell};
use crate::limits::Limits;

/// One that was told to go is gone much sooner; where none can be told, it is looked again: some grow old meanwhile.
const LOOK: Duration = Duration::from_millis(20);
/// Who is closed, in this order: the first of a shelf that has stood there so long. A client that has just come must
/// have time for its request, even where others only say half of theirs.
const STEPS: [(Spare, Duration); 5] = [
    (Spare::Idle, Duration::from_secs(1)),
    (Spare::Slow, Duration::from_secs(1)),
    (Spare::Stalled, Duration::from_secs(5)),
    (Spare::Idle, Duration::ZERO),
    LAST_STEP,
];
/// Not as long as connections are just coming or going.
const LAST_STEP: (Spare, Duration) = (Spare::Slow, Duration::from_millis(100));
/// Up to this many connections always leave enough open files to everything else.
const FEW: usize = 16;
/// For this long no connection could be closed before the log says so.
const STUCK: Duration = Duration::from_millis(200);
/// The log says at most so often that places were short.
const SAID_EACH: Duration = Duration::from_secs(10);
/// Addresses of IPv6 with so many equal bits are one client: a single one has at least so many for itself.
const CLIENT_BITS: u32 = 64;

/// A connection, as the room sees it.
pub(crate) trait Occupant: Send + Sync {
    /// Which one it is.
    fn number(&self) -> u64;

    /// Who is at its other end; `None` for a Unix socket.
    fn remote(&self) -> Option<SocketAddr>;

    /// What it is at.
    fn state(&self) -> State;

    /// What it was at when it was put on a shelf; nothing when it is not there. The room's lock protects this.
    fn shelved(&self) -> &StateCell;

    /// Asks it to end, if it is still at what it was at, and counts that.
    fn evict(&self, state: State);
}

/// All connections of one front, as far as they live.
pub(crate) struct Room {
    permits: Arc<Semaphore>,
    places: usize,
    per_client: Option<usize>,
    clock: Clock,
    serial: AtomicU64,
    inside: Mutex<Inside>,
    /// A connection has come to a shelf.
    changed: Notify,
    /// A connection has ended.
    left: Notify,
}

#[derive(Default)]
struct Inside {
    /// One for each [`Spare`], by the moment since when, and the number of the connection.
    shelves: [BTreeMap<(u64, u64), Weak<dyn Occupant>>; 3],
    /// Connections that live, on a shelf or not.
    present: usize,
    clients: HashMap<IpAddr, usize>,
    displaced: Notice,
    refused: Notice,
    full: Notice,
    /// Since when no connection can be closed.
    stuck: Option<Instant>,
}

impl Room {
    pub(crate) fn new(limits: &Limits) -> Room {
        Room {
            permits: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            places: limits.connections,
            per_client: limits.connections_per_client,
            clock: Clock::start(),
            serial: AtomicU64::new(0),
            inside: Mutex::default(),
            changed: Notify::new(),
            left: Notify::new(),
        }
    }

    /// A number for a connection.
    pub(crate) fn number(&self) -> u64 {
        self.serial.fetch_add(1, Relaxed)
    }

    /// The clock by which all its connections go.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// A connection begins.
    pub(crate) fn enter<O: Occupant + 'static>(&self, link: &Arc<O>) {
        let mut inside = self.inside.lock();
        inside.present += 1;
        inside.put(link.clone());
        drop(inside);
        self.changed.notify_waiters();
    }

    /// A connection can be closed again after it could not.
    pub(crate) fn shelve<O: Occupant + 'static>(&self, link: &Arc<O>) {
        let mut inside = self.inside.lock();
        inside.take(&**link);
        inside.put(link.clone());
        drop(inside);
        self.changed.notify_waiters();
    }

    /// A connection ends.
    pub(crate) fn leave(&self, link: &dyn Occupant) {
        let mut inside = self.inside.lock();
        inside.present = inside.present.saturating_sub(1);
        inside.take(link);
        inside.stuck = None;
        drop(inside);
        self.left.notify_waiters();
    }

    /// A place, if one is free.
    pub(crate) fn place_now(&self) -> Option<OwnedSemaphorePermit> {
        self.permits.clone().try_acquire_owned().ok()
    }

    /// A place for somebody who is here already.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        if let Some(permit) = self.place_now() {
            return Some(permit);
        }
        // In the queue for permits from now on: nobody who comes later is first.
        let mut permit = pin!(self.permits.clone().acquire_owned());
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let is_told = self.evict("places for connections");
            tokio::select! {
                permit = &mut permit => return permit.ok(),
                () = changed, if !is_told => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Returns when one more file may be opened: until then those connections are closed that can be spared. Where
    /// there are few it does not ask.
    pub(crate) async fn file(&self, is_there: impl Fn() -> bool) {
        while self.places - self.permits.available_permits().min(self.places) > FEW && !is_there() {
            self.file_or_soon().await;
        }
    }

    /// Closes a connection, if one can be spared, and returns when one has ended, or it is time to look again.
    pub(crate) async fn file_or_soon(&self) {
        let mut left = pin!(self.left.notified());
        left.as_mut().enable();
        self.evict("open files");
        tokio::select! {
            () = left => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }

    /// Closes the connection that can best be spared, of which there is too little; whether there was one.
    fn evict(&self, short_of: &str) -> bool {
        let mut inside = self.inside.lock();
        let places = self.places;
        let is_settled = inside.present >= places || self.permits.available_permits() > 0;
        let Some((link, state)) = inside.find(self.clock.now(), is_settled) else {
            let is_nobody = is_settled && inside.shelves.iter().all(BTreeMap::is_empty);
            // Those that were told to go need a moment.
            let since = is_nobody.then(|| *inside.stuck.get_or_insert_with(Instant::now));
            if since.is_some_and(|since| since.elapsed() > STUCK) && inside.full.due().is_some() {
                let why = if inside.present > 0 { "since all wait for answers" } else { "since there are none" };
                tracing::warn!(
                    target: "front",
                    "there are no {short_of} left ({places} connections are allowed), and none can be closed, {why}: \
                     new ones wait"
                );
            }
            return false;
        };
        inside.stuck = None;
        link.evict(state);
        if let Some((times, ago)) = inside.displaced.due() {
            let what = match state.stage.spare() {
                Some(Spare::Idle) => "that asked nothing",
                Some(Spare::Slow) => "whose request came slowly",
                Some(Spare::Stalled) | None => "that took nothing of its answer",
            };
            let peer =
                link.remote().map_or_else(|| "a Unix socket".to_owned(), |peer| peer.ip().to_canonical().to_string());
            tracing::warn!(
                target: "front",
                "there are no {short_of} left ({places} connections are allowed): {times} closed for new ones{ago}, \
                 this time one {what}, from {peer}"
            );
        }
        true
    }

    /// Counts a connection of a client, unless it has all it may have.
    pub(crate) fn admit(self: &Arc<Room>, peer: SocketAddr) -> Result<Option<Visitor>, Refused> {
        let Some(most) = self.per_client else { return Ok(None) };
        let client = client(peer.ip());
        let mut inside = self.inside.lock();
        let count = inside.clients.entry(client).or_default();
        if *count >= most {
            if let Some((times, ago)) = inside.refused.due() {
                tracing::warn!(
                    target: "front",
                    "{times} refused{ago} of clients that have all {most} connections they may have, this time one \
                     from {client}"
                );
            }
            return Err(Refused);
        }
        *count += 1;
        Ok(Some(Visitor { room: self.clone(), client }))
    }
}

impl Inside {
    fn put(&mut self, link: Arc<dyn Occupant>) {
        let state = link.state();
        if let Some(spare) = state.stage.spare() {
            link.shelved().set(Some(state));
            self.shelf(spare).insert((state.since, link.number()), Arc::downgrade(&link));
        }
    }

    fn take(&mut self, link: &dyn Occupant) {
        if let Some(state) = link.shelved().get()
            && let Some(spare) = state.stage.spare()
        {
            self.shelf(spare).remove(&(state.since, link.number()));
        }
        link.shelved().set(None);
    }

    fn shelf(&mut self, spare: Spare) -> &mut BTreeMap<(u64, u64), Weak<dyn Occupant>> {
        &mut self.shelves[spare as usize]
    }

    /// Who is to be closed at this moment, and what it is at; those that changed go where they belong.
    fn find(&mut self, now: u64, is_settled: bool) -> Option<(Arc<dyn Occupant>, State)> {
        loop {
            let steps = STEPS.iter().filter(|step| is_settled || **step != LAST_STEP);
            let is_due = |(spare, time): &&(Spare, Duration)| {
                let first = self.shelves[*spare as usize].first_key_value();
                first.is_some_and(|((since, _), _)| u128::from(now.saturating_sub(*since)) >= time.as_nanos())
            };
            let (spare, _) = steps.clone().find(is_due)?;
            let (_, link) = self.shelf(*spare).pop_first()?;
            let Some(link) = link.upgrade() else { continue };
            let before = link.shelved().get();
            // Its task writes what it is at, then looks here; this is the other way round, so that one of both sees it.
            link.shelved().set(None);
            let state = link.state();
            if before.is_some_and(|before| state.is_same_wait(before)) {
                return Some((link, state));
            }
            self.put(link);
        }
    }
}

/// One client, for a limit on its connections.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> (128 - CLIENT_BITS) << (128 - CLIENT_BITS);
            Ipv6Addr::from(network).into()
        }
        address => address,
    }
}

/// A client has as many connections as it may have.
#[derive(Debug)]
pub(crate) struct Refused;

/// A connection of a client, which is counted as long as this is kept.
pub(crate) struct Visitor {
    room: Arc<Room>,
    client: IpAddr,
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let mut inside = self.room.inside.lock();
        if let Some(count) = inside.clients.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                inside.clients.remove(&self.client);
            }
        }
    }
}

/// Something the log is told now and then, with how often it happened.
#[derive(Default)]
struct Notice {
    said: Option<Instant>,
    count: u64,
}

impl Notice {
    /// Counts one; how many there were since the log was last told, and since when, if it is to be told again.
    fn due(&mut self) -> Option<(u64, String)> {
        self.count += 1;
        let passed = self.said.map(|said| said.elapsed());
        if passed.is_some_and(|passed| passed < SAID_EACH) {
            return None;
        }
        self.said = Some(Instant::now());
        let ago = passed.map_or_else(String::new, |passed| format!(" in {} s", passed.as_secs()));
        Some((std::mem::take(&mut self.count), ago))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::limits;

    /// A connection without a socket.
    struct Seat {
        state: StateCell,
        shelved: StateCell,
    }

    impl Occupant for Seat {
        fn number(&self) -> u64 {
            7
        }

        fn remote(&self) -> Option<SocketAddr> {
            None
        }

        fn state(&self) -> State {
            self.state.get().unwrap()
        }

        fn shelved(&self) -> &StateCell {
            &self.shelved
        }

        fn evict(&self, _: State) {}
    }

    #[test]
    fn a_connection_is_found_on_the_shelf_where_it_belongs_or_not_at_all() {
        let room = Room::new(&limits());
        let opened = State::opened(0);
        let seat = Arc::new(Seat { state: StateCell::new(opened), shelved: StateCell::default() });
        let found = || room.inside.lock().find(u64::MAX, true).map(|(_, state)| state);
        room.enter(&seat);
        assert_eq!(found(), Some(opened));
        assert_eq!((found(), seat.shelved.get()), (None, None), "it was asked to go, and stands nowhere");
        room.shelve(&seat);
        let running = opened.head_given(1).head_parsed();
        seat.state.set_soon(running);
        assert_eq!((found(), seat.shelved.get()), (None, None), "its answer is owed");
        let stalled = running.stalled(|| 2);
        seat.state.set(Some(stalled));
        room.shelve(&seat);
        seat.state.set_soon(stalled.answered(3));
        assert_eq!(found(), Some(stalled.answered(3)), "it still waits for the same");
        room.shelve(&seat);
        room.leave(&*seat);
        assert_eq!(found(), None);
        assert!(room.inside.lock().shelves.iter().all(BTreeMap::is_empty));
    }

    #[test]
    fn a_client_of_ipv6_is_its_network() {
        let of = |address: &str| client(address.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.7"), "192.0.2.7");
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }

    #[test]
    fn the_log_is_told_once_in_a_while_how_often_it_was() {
        let mut notice = Notice::default();
        assert_eq!(notice.due(), Some((1, String::new())));
        assert_eq!((notice.due(), notice.due()), (None, None));
        notice.said = Instant::now().checked_sub(SAID_EACH);
        assert_eq!(notice.due(), Some((3, " in 10 s".to_owned())));
    }
}
