//! The table of all connections, which bounds their number and evicts idle ones. When the table is full and a
//! connection comes, the connection that has been idle longest is closed; if none is idle, the one whose request has
//! been arriving longest; if there is none either, the one that has not read its response for the longest time.
//! Connections in such a wait for only a moment come last. A response that an engine still owes is never cut off.
//!
//! Connections that may be evicted are in one of three queues, ordered by the beginning of their wait. Their own tasks
//! change their state without touching the queues: a search removes a connection whose state has changed, or moves it
//! to another queue. A removed connection enters a queue again by itself. So a request costs at most one such step, and
//! none while the table is not full.

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

/// Interval between searches. An evicted connection ends much sooner; where none can be evicted, some become old enough
/// meanwhile.
const SEARCH_INTERVAL: Duration = Duration::from_millis(20);
/// The order of eviction: the first of a queue that has waited for this long. A client that has just connected, or has
/// just got its answer, must have time for its request, even if others send only half of theirs: it may be on its way.
const STEPS: [(Spare, Duration); 4] = [
    (Spare::Idle, Duration::from_secs(1)),
    (Spare::Slow, Duration::from_secs(1)),
    (Spare::Stalled, Duration::from_secs(5)),
    (Spare::Idle, JUST_NOW),
];
/// Time in which a client that waits for nothing else sends its next request.
const JUST_NOW: Duration = Duration::from_millis(20);
/// The steps after these, for a connection that has waited for [`PATIENCE`]: others ask all the time.
const LATE_STEPS: [(Spare, Duration); 2] = [(Spare::Idle, Duration::ZERO), LAST_STEP];
/// Last resort. Not used while connections are just arriving or ending.
const LAST_STEP: (Spare, Duration) = (Spare::Slow, Duration::from_millis(100));
/// Time for which a connection waits for one that can well be spared.
const PATIENCE: Duration = Duration::from_millis(100);
/// Up to this many connections always leave enough open files for everything else.
const FEW: usize = 16;
/// Time without a connection to evict after which the log says so.
const STUCK: Duration = Duration::from_millis(200);
/// Interval at which the log says that connections were short.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Leading bits by which IPv6 addresses count as one client: a client has at least one network of this size.
const CLIENT_BITS: u32 = 64;

/// What a new connection may lack, and what allows more of it, for the log.
struct Scarce {
    name: &'static str,
    remedy: &'static str,
}

const FILES: Scarce =
    Scarce { name: "open files", remedy: "LimitNOFILE= in a systemd unit, or ulimit -Hn, allows more" };

/// A connection, as the table sees it.
pub(crate) trait Evictable: Send + Sync {
    /// Number of the connection.
    fn number(&self) -> u64;

    /// Address of the peer; `None` for a Unix socket.
    fn remote(&self) -> Option<SocketAddr>;

    /// Current state.
    fn state(&self) -> State;

    /// State under which it is in a queue; `None` if it is in none. Protected by the lock of the table.
    fn queued_as(&self) -> &StateCell;

    /// Requests its eviction, unless its state changes meanwhile.
    fn evict(&self, state: State);
}

/// All live connections of a front.
pub(crate) struct ConnectionTable {
    permits: Arc<Semaphore>,
    limit: usize,
    places: Scarce,
    per_client: Option<usize>,
    clock: Clock,
    serial: AtomicU64,
    entries: Mutex<Entries>,
    /// Notified when a connection enters a queue.
    changed: Notify,
    /// Notified when a connection has ended.
    left: Notify,
}

#[derive(Default)]
struct Entries {
    /// One queue per [`Spare`], ordered by beginning of the wait and number of the connection.
    queues: [BTreeMap<(u64, u64), Weak<dyn Evictable>>; 3],
    /// Number of live connections, in a queue or not.
    present: usize,
    clients: HashMap<IpAddr, usize>,
    displaced: Notice,
    refused: Notice,
    full: Notice,
    /// Time since which no connection can be evicted.
    stuck: Option<Instant>,
}

impl ConnectionTable {
    /// An empty table; the log says with `more` what allows more connections.
    pub(crate) fn new(limits: &Limits, more: &'static str) -> ConnectionTable {
        ConnectionTable {
            permits: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            limit: limits.connections,
            places: Scarce { name: "places for connections", remedy: more },
            per_client: limits.connections_per_client,
            clock: Clock::start(),
            serial: AtomicU64::new(0),
            entries: Mutex::default(),
            changed: Notify::new(),
            left: Notify::new(),
        }
    }

    /// A number for a new connection.
    pub(crate) fn number(&self) -> u64 {
        self.serial.fetch_add(1, Relaxed)
    }

    /// The clock for the times of all connections.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Adds a connection.
    pub(crate) fn add<O: Evictable + 'static>(&self, link: &Arc<O>) {
        let mut entries = self.entries.lock();
        entries.present += 1;
        entries.put(link.clone());
        drop(entries);
        self.changed.notify_waiters();
    }

    /// Puts a connection into a queue when it may be evicted again.
    pub(crate) fn make_evictable<O: Evictable + 'static>(&self, link: &Arc<O>) {
        let mut entries = self.entries.lock();
        entries.take(&**link);
        entries.put(link.clone());
        drop(entries);
        self.changed.notify_waiters();
    }

    /// Removes a connection that has ended.
    pub(crate) fn remove(&self, link: &dyn Evictable) {
        let mut entries = self.entries.lock();
        entries.present = entries.present.saturating_sub(1);
        entries.take(link);
        entries.stuck = None;
        drop(entries);
        self.left.notify_waiters();
    }

    /// A permit for a connection, if one is free.
    pub(crate) fn permit_now(&self) -> Option<OwnedSemaphorePermit> {
        self.permits.clone().try_acquire_owned().ok()
    }

    /// Waits for a permit for a connection that is accepted already, and evicts another one for it.
    pub(crate) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        if let Some(permit) = self.permit_now() {
            return Some(permit);
        }
        // This enters the queue for permits, ahead of all later connections.
        let mut permit = pin!(self.permits.clone().acquire_owned());
        let since = Instant::now();
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let has_evicted = self.evict(&self.places, since.elapsed());
            tokio::select! {
                permit = &mut permit => return permit.ok(),
                () = changed, if !has_evicted => {}
                () = tokio::time::sleep(SEARCH_INTERVAL) => {}
            }
        }
    }

    /// Returns when `is_there` says that another file can be opened; evicts connections until then. Returns at once if
    /// there are only few connections.
    pub(crate) async fn wait_for_file(&self, is_there: impl Fn() -> bool) {
        let since = Instant::now();
        while self.limit - self.permits.available_permits() > FEW && !is_there() {
            self.evict_for(&FILES, since.elapsed()).await;
        }
    }

    /// Evicts a connection, if one may be, and returns when one has ended, or after [`SEARCH_INTERVAL`].
    pub(crate) async fn evict_for_file(&self) {
        self.evict_for(&FILES, PATIENCE).await;
    }

    async fn evict_for(&self, scarce: &Scarce, waited: Duration) {
        let mut left = pin!(self.left.notified());
        left.as_mut().enable();
        self.evict(scarce, waited);
        tokio::select! {
            () = left => {}
            () = tokio::time::sleep(SEARCH_INTERVAL) => {}
        }
    }

    /// Evicts the connection that can best be spared for one that has waited for this long. Returns whether there was
    /// one. The log names what is scarce.
    fn evict(&self, &Scarce { name, remedy }: &Scarce, waited: Duration) -> bool {
        let mut entries = self.entries.lock();
        let limit = self.limit;
        let is_settled = entries.present >= limit || self.permits.available_permits() > 0;
        let Some((link, state)) = entries.find(self.clock.now(), is_settled, waited) else {
            let is_none_evictable = is_settled && entries.queues.iter().all(BTreeMap::is_empty);
            // Connections that were just evicted need a moment to end.
            let since = is_none_evictable.then(|| *entries.stuck.get_or_insert_with(Instant::now));
            if since.is_some_and(|since| since.elapsed() > STUCK) && entries.full.due().is_some() {
                let why = if entries.present > 0 { "since all wait for answers" } else { "since there are none" };
                tracing::warn!(
                    target: "front",
                    "there are no {name} left ({limit} connections are allowed), and none can be closed, {why}: \
                     new ones wait; {remedy}"
                );
            }
            return false;
        };
        entries.stuck = None;
        link.evict(state);
        if let Some((times, ago)) = entries.displaced.due() {
            let what = match state.stage.spare() {
                Some(Spare::Idle) => "that asked nothing",
                Some(Spare::Slow) => "whose request came slowly",
                Some(Spare::Stalled) | None => "that took nothing of its answer",
            };
            let peer =
                link.remote().map_or_else(|| "a Unix socket".to_owned(), |peer| peer.ip().to_canonical().to_string());
            tracing::warn!(
                target: "front",
                "there are no {name} left ({limit} connections are allowed): {times} closed for new ones{ago}, this \
                 time one {what}, from {peer}; {remedy}"
            );
        }
        true
    }

    /// Counts a connection of a client, or refuses it if the client has reached its limit.
    pub(crate) fn admit_client(self: &Arc<ConnectionTable>, peer: SocketAddr) -> Result<Option<ClientPermit>, Refused> {
        let Some(most) = self.per_client else { return Ok(None) };
        let client = client(peer.ip());
        let mut entries = self.entries.lock();
        let count = entries.clients.entry(client).or_default();
        if *count >= most {
            if let Some((times, ago)) = entries.refused.due() {
                tracing::warn!(
                    target: "front",
                    "{times} refused{ago} of clients that have all {most} connections they may have, this time one \
                     from {client} (--connections-per-client)"
                );
            }
            return Err(Refused);
        }
        *count += 1;
        Ok(Some(ClientPermit { table: self.clone(), client }))
    }
}

impl Entries {
    fn put(&mut self, link: Arc<dyn Evictable>) {
        let state = link.state();
        if let Some(spare) = state.stage.spare() {
            link.queued_as().set(Some(state));
            self.queue(spare).insert((state.since, link.number()), Arc::downgrade(&link));
        }
    }

    fn take(&mut self, link: &dyn Evictable) {
        if let Some(state) = link.queued_as().get()
            && let Some(spare) = state.stage.spare()
        {
            self.queue(spare).remove(&(state.since, link.number()));
        }
    }

    fn queue(&mut self, spare: Spare) -> &mut BTreeMap<(u64, u64), Weak<dyn Evictable>> {
        &mut self.queues[spare as usize]
    }

    /// The connection to evict at this time and its state; puts connections whose state has changed where they belong.
    fn find(&mut self, now: u64, is_settled: bool, waited: Duration) -> Option<(Arc<dyn Evictable>, State)> {
        let late = LATE_STEPS.iter().filter(|step| waited >= PATIENCE && (is_settled || **step != LAST_STEP));
        let steps = STEPS.iter().chain(late);
        loop {
            let is_due = |(spare, time): &&(Spare, Duration)| {
                let first = self.queues[*spare as usize].first_key_value();
                first.is_some_and(|((since, _), _)| u128::from(now.saturating_sub(*since)) >= time.as_nanos())
            };
            let (spare, _) = steps.clone().find(is_due)?;
            let (_, link) = self.queue(*spare).pop_first()?;
            let Some(link) = link.upgrade() else { continue };
            let before = link.queued_as().get();
            // The connection's task writes its state, then reads `queued_as`; this does both in reverse order, so that
            // one of them sees the other's change.
            link.queued_as().set(None);
            let state = link.state();
            if before.is_some_and(|before| state.is_same_wait(before)) {
                return Some((link, state));
            }
            self.put(link);
        }
    }
}

/// The address that identifies a client for the limit on its connections.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> (128 - CLIENT_BITS) << (128 - CLIENT_BITS);
            Ipv6Addr::from(network).into()
        }
        address => address,
    }
}

/// The client has reached its limit of connections.
#[derive(Debug)]
pub(crate) struct Refused;

/// A counted connection of a client; dropping it reduces the count.
pub(crate) struct ClientPermit {
    table: Arc<ConnectionTable>,
    client: IpAddr,
}

impl Drop for ClientPermit {
    fn drop(&mut self) {
        let mut entries = self.table.entries.lock();
        if let Some(count) = entries.clients.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                entries.clients.remove(&self.client);
            }
        }
    }
}

/// A log message at intervals, with the number of events since the last one.
#[derive(Default)]
struct Notice {
    logged: Option<Instant>,
    count: u64,
}

impl Notice {
    /// Counts an event. If the message is due, returns the number of events since the last one, and over what time.
    fn due(&mut self) -> Option<(u64, String)> {
        self.count += 1;
        let passed = self.logged.map(|logged| logged.elapsed());
        if passed.is_some_and(|passed| passed < LOG_INTERVAL) {
            return None;
        }
        self.logged = Some(Instant::now());
        let ago = passed.map_or_else(String::new, |passed| format!(" in {} s", passed.as_secs()));
        Some((std::mem::take(&mut self.count), ago))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicBool;
    use std::task::Poll;

    use super::*;
    use crate::tests_support::{block_on, limits};

    /// A connection without a socket.
    struct TestConnection {
        number: u64,
        state: StateCell,
        queued_as: StateCell,
        is_evicted: AtomicBool,
    }

    impl TestConnection {
        fn new(number: u64, state: State) -> Arc<TestConnection> {
            let (state, queued_as) = (StateCell::new(state), StateCell::default());
            Arc::new(TestConnection { number, state, queued_as, is_evicted: AtomicBool::new(false) })
        }

        fn is_evicted(&self) -> bool {
            self.is_evicted.load(Relaxed)
        }
    }

    impl Evictable for TestConnection {
        fn number(&self) -> u64 {
            self.number
        }

        fn remote(&self) -> Option<SocketAddr> {
            None
        }

        fn state(&self) -> State {
            self.state.get().unwrap()
        }

        fn queued_as(&self) -> &StateCell {
            &self.queued_as
        }

        fn evict(&self, _: State) {
            self.is_evicted.store(true, Relaxed);
        }
    }

    /// A table in which what began at 0 did not begin just now.
    fn table(connections: usize) -> ConnectionTable {
        let table = ConnectionTable::new(&Limits { connections, ..limits() }, "");
        while u128::from(table.clock.now()) < JUST_NOW.as_nanos() {
            std::thread::yield_now();
        }
        table
    }

    #[test]
    fn who_asks_nothing_goes_first_then_who_is_slow_to_ask_then_who_does_not_read() {
        let table = table(10);
        let ms = |ms: u64| ms * 1_000_000;
        let stalled = |since: u64| State::opened(0).head_given(1).head_parsed().stalled(|| since);
        // Each in its wait for this long at 6 s.
        let connections = [
            State::opened(ms(5_000)),                     // 1 s
            State::opened(0).head_began(ms(4_999)),       // 1.001 s
            State::opened(0).head_began(ms(5_000)),       // 1 s
            stalled(ms(1_000)),                           // 5 s
            State::opened(ms(5_001)),                     // 0.999 s
            State::opened(ms(5_980)),                     // 0.02 s
            State::opened(ms(5_981)),                     // 0.019 s
            State::opened(0).head_began(ms(5_900)),       // 0.1 s
            State::opened(0).head_began(ms(5_901)),       // 0.099 s: never
            stalled(ms(1_001)),                           // 4.999 s: never
            State::opened(0).head_given(1).head_parsed(), // an answer is owed: never
        ];
        let connections: Vec<_> =
            (0..).zip(connections).map(|(number, state)| TestConnection::new(number, state)).collect();
        // Their order in the table is another one.
        for connection in connections.iter().rev() {
            table.add(connection);
        }
        let find = |is_settled, waited| table.entries.lock().find(ms(6_000), is_settled, waited);
        let found = |is_settled, waited| find(is_settled, waited).map(|(link, _)| link.number());
        let soon = PATIENCE.checked_sub(Duration::from_nanos(1)).unwrap();
        let order: Vec<_> = std::iter::from_fn(|| found(true, soon)).collect();
        assert_eq!(order, [0, 1, 2, 3, 4, 5], "who has asked or come just now stays at first");
        let order: Vec<_> = std::iter::from_fn(|| found(false, PATIENCE)).collect();
        assert_eq!(order, [6], "while some are arriving, the last resort is not used");
        assert_eq!([found(true, PATIENCE), found(true, PATIENCE)], [Some(7), None]);
    }

    #[test]
    fn a_request_that_has_just_begun_ends_only_when_nobody_is_arriving() {
        let table = table(2);
        let slow = TestConnection::new(0, State::opened(0).head_began(0));
        table.add(&slow);
        let permits = (table.permit_now().unwrap(), table.permit_now().unwrap());
        assert!(table.permit_now().is_none());
        let end = Instant::now() + LAST_STEP.1;
        while Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(!table.evict(&table.places, PATIENCE), "the second of two is not here yet");
        drop(permits.1);
        assert!(table.evict(&FILES, PATIENCE) && slow.is_evicted(), "a place is free");
        let (slow, busy) = (TestConnection::new(1, State::opened(0).head_began(0)), TestConnection::new(2, owed()));
        table.add(&slow);
        table.add(&busy);
        let _permit = table.permit_now().unwrap();
        assert!(table.evict(&table.places, PATIENCE) && slow.is_evicted() && !busy.is_evicted(), "all are here");
        assert!(!table.evict(&table.places, PATIENCE));
    }

    /// The state of a connection whose answer is owed.
    fn owed() -> State {
        State::opened(0).head_given(1).head_parsed()
    }

    #[test]
    fn a_table_is_stuck_from_the_first_search_that_finds_none_until_one_ends() {
        let table = table(1);
        let busy = TestConnection::new(0, owed());
        table.add(&busy);
        let _permit = table.permit_now().unwrap();
        let stuck = || table.entries.lock().stuck;
        assert!(stuck().is_none());
        assert!(!table.evict(&table.places, PATIENCE));
        let since = stuck();
        assert!(since.is_some() && !table.evict(&table.places, PATIENCE) && stuck() == since);
        // One that was evicted needs a moment to end.
        let idle = TestConnection::new(1, State::opened(0));
        table.add(&idle);
        assert!(table.evict(&table.places, PATIENCE) && idle.is_evicted() && stuck().is_none());
        assert!(!table.evict(&table.places, PATIENCE) && stuck().is_some());
        for connection in [busy, idle] {
            table.remove(&*connection);
            assert_eq!(stuck(), None);
        }
        assert_eq!(table.entries.lock().present, 0);
    }

    #[test]
    fn the_log_says_that_none_can_be_closed_when_that_has_lasted_and_none_can_be_closed_soon() {
        let table = table(1);
        let _permit = table.permit_now().unwrap();
        let stuck = || table.entries.lock().stuck;
        let is_said = || table.entries.lock().full.logged.is_some();
        // By the clock of the table its request begins only later: it is to be closed soon.
        let slow = TestConnection::new(0, State::opened(0).head_began(1 << 58));
        table.add(&slow);
        assert!(!table.evict(&table.places, PATIENCE) && stuck().is_none());
        table.remove(&*slow);
        let busy = TestConnection::new(1, owed());
        table.add(&busy);
        assert!(!table.evict(&table.places, PATIENCE) && stuck().is_some() && !is_said(), "it is so since now");
        table.entries.lock().stuck = Instant::now().checked_sub(2 * STUCK);
        assert!(!table.evict(&table.places, PATIENCE) && is_said());
    }

    /// On a busy machine this thread may be stopped for longer than the interval of the searches: one attempt must go
    /// well.
    #[test]
    fn a_new_connection_has_one_evicted_at_a_time_whatever_others_come() {
        let is_one = || {
            let table = table(1);
            let _taken = table.permit_now().unwrap();
            let [first, next] = [0, 1].map(|number| TestConnection::new(number, State::opened(0)));
            block_on(async {
                let mut permit = pin!(table.permit());
                for connection in [&first, &next] {
                    table.add(connection);
                    let waits = poll_fn(|cx| Poll::Ready(permit.as_mut().poll(cx).is_pending())).await;
                    assert!(waits, "the place is taken");
                }
            });
            assert!(first.is_evicted());
            !next.is_evicted()
        };
        assert!((0..20).any(|_| is_one()));
    }

    #[test]
    fn a_new_connection_gets_the_place_of_one_that_was_evicted_for_it() {
        let table = table(1);
        let first = table.permit_now().unwrap();
        let idle = TestConnection::new(0, State::opened(0));
        table.add(&idle);
        block_on(async {
            let mut permit = pin!(table.permit());
            tokio::select! {
                biased;
                _ = &mut permit => panic!("the place is taken"),
                () = tokio::task::yield_now() => {}
            }
            assert!(idle.is_evicted());
            table.remove(&*idle);
            drop(first);
            assert!(permit.await.is_some());
        });
        // It was dropped.
        assert!(table.permit_now().is_some());
    }

    #[test]
    fn who_waits_for_an_open_file_has_connections_evicted_unless_they_are_few() {
        let table = table(100);
        let idle = TestConnection::new(0, State::opened(0));
        table.add(&idle);
        let mut permits: Vec<_> = (0..FEW).map(|_| table.permit_now().unwrap()).collect();
        block_on(table.wait_for_file(|| false));
        assert!(!idle.is_evicted(), "there are few");
        permits.push(table.permit_now().unwrap());
        block_on(table.wait_for_file(|| true));
        assert!(!idle.is_evicted(), "there is a file");
        block_on(table.wait_for_file(|| idle.is_evicted()));
        assert!(idle.is_evicted());
    }

    #[test]
    fn who_waits_for_an_open_file_looks_again_when_a_connection_has_ended() {
        let table = table(100);
        let idle = TestConnection::new(0, State::opened(0));
        table.add(&idle);
        block_on(async {
            let began = Instant::now();
            // Many times one after the other take less than one of these intervals each.
            for _ in 0..500 {
                let mut wait = pin!(table.evict_for_file());
                tokio::select! {
                    biased;
                    () = &mut wait => panic!("none has ended"),
                    () = tokio::task::yield_now() => {}
                }
                table.remove(&*idle);
                wait.await;
            }
            assert!(began.elapsed() < SEARCH_INTERVAL * 500, "{:?}", began.elapsed());
        });
    }

    #[test]
    fn a_connection_is_found_on_the_shelf_where_it_belongs_or_not_at_all() {
        let table = ConnectionTable::new(&limits(), "");
        let opened = State::opened(0);
        let connection = TestConnection::new(7, opened);
        let found = || table.entries.lock().find(u64::MAX, true, PATIENCE).map(|(_, state)| state);
        table.add(&connection);
        assert_eq!(found(), Some(opened));
        assert_eq!((found(), connection.queued_as.get()), (None, None), "it was asked to go, and stands nowhere");
        table.make_evictable(&connection);
        let running = opened.head_given(1).head_parsed();
        connection.state.set_soon(running);
        assert_eq!((found(), connection.queued_as.get()), (None, None), "its answer is owed");
        let stalled = running.stalled(|| 2);
        connection.state.set(Some(stalled));
        table.make_evictable(&connection);
        connection.state.set_soon(stalled.answered(3));
        assert_eq!(found(), Some(stalled.answered(3)), "it still waits for the same");
        for state in [opened, stalled] {
            connection.state.set(Some(state));
            table.make_evictable(&connection);
        }
        table.remove(&*connection);
        assert_eq!(found(), None);
        assert!(table.entries.lock().queues.iter().all(BTreeMap::is_empty));
    }

    #[test]
    fn a_client_has_as_many_connections_as_it_may_and_another_one_when_one_has_ended() {
        let unlimited = Arc::new(ConnectionTable::new(&limits(), ""));
        assert!(matches!(unlimited.admit_client("192.0.2.1:1".parse().unwrap()), Ok(None)));
        let limits = Limits { connections_per_client: Some(2), ..limits() };
        let table = Arc::new(ConnectionTable::new(&limits, ""));
        let admit = |peer: &str| table.admit_client(peer.parse().unwrap());
        let (first, second) = (admit("192.0.2.1:1"), admit("[::ffff:192.0.2.1]:2"));
        assert!(first.is_ok() && second.is_ok() && admit("192.0.2.1:3").is_err());
        assert!(admit("192.0.2.2:1").is_ok(), "another client");
        drop(first);
        let third = admit("192.0.2.1:4");
        assert!(third.is_ok() && admit("192.0.2.1:5").is_err(), "one has ended, and not both");
        drop((second, third));
        assert!(table.entries.lock().clients.is_empty(), "nothing is kept of clients that have gone");
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
        notice.logged = Instant::now().checked_sub(LOG_INTERVAL);
        assert_eq!(notice.due(), Some((3, " in 10 s".to_owned())));
    }
}
