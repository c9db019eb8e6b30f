//! What the three sides of one connection share: the wire (bytes), the service (requests) and, now and then, an
//! engine's thread (early hints, take-over). All but the last two run in one task, so the numbers are plain relaxed
//! atomics and the locks are never waited for.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::request::Takeover;
use engine::{Duplex, Engine, Fault, Hints, Peer, Reply, body};
use http::{HeaderMap, Method, Uri};
use parking_lot::Mutex;

use crate::connection::raw_head::write_head;
use crate::connection::room::{Occupant, Room};
use crate::connection::stage::{Stage, State, StateCell};
use crate::drain::Stop;
use crate::log::log_line::{Entry, Target};
use crate::log::notices::Notices;
use crate::parse::refusal::Refusal;
use crate::parse::websocket::Tracker;
use crate::proxy::request_id::RequestId;
use crate::proxy::trust;
use crate::settings::Settings;
use crate::transport::sendfile::Part;
use crate::transport::socket::Socket;

/// What all connections share.
pub(crate) struct Common {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) stop: Stop,
    pub(crate) room: Arc<Room>,
    pub(crate) http: hyper::server::conn::http1::Builder,
    pub(crate) notices: Notices,
}

/// What one connection shares.
pub(crate) struct Link {
    pub(crate) common: Arc<Common>,
    pub(crate) peer: Peer,
    /// Whether the peer's word about the client before it is taken.
    pub(crate) is_trusted: bool,
    opened: Instant,
    /// A request is with the service: set by the wire when it lets a head through, cleared with the response's body.
    busy: AtomicBool,
    /// Whether the wire holds something for when this request is done, and when the last one was, as below.
    wakes_at_end: AtomicBool,
    ended: AtomicU64,
    /// When the service must have what it waits for, in nanoseconds since `opened`; the wire's timer watches it.
    until: AtomicU64,
    /// That moment is over.
    late: AtomicBool,
    /// When the first byte of the current head arrived, in nanoseconds since `opened`.
    received: AtomicU64,
    /// What is wrong with the body that arrives.
    malformed: OnceLock<Refusal>,
    /// The service has the request whose head hyper was given last.
    served: AtomicBool,
    /// hyper holds no byte that the socket did not take yet.
    flushed: AtomicBool,
    /// The task wants to be woken when all is written: for the next request's head, or to break a response off.
    awaits_flush: AtomicBool,
    /// Changes when a response begins, so that hints and take-overs of older requests are known as such.
    turn: AtomicU64,
    /// The task has let others go first since the request was handed in.
    gave_way: AtomicBool,
    aside_flag: AtomicBool,
    aside: Mutex<Aside>,
    handed: AtomicBool,
    /// Which connection this is, for the room.
    number: u64,
    /// What it is at.
    state: StateCell,
    /// What it was at when it was put on a shelf of the room, whose lock protects this; nothing when it is not there.
    shelved: StateCell,
    /// What it was at when its place was wanted for somebody else.
    dismissed: StateCell,
    /// It is on its way out for that reason.
    displaced: AtomicBool,
    waker: OnceLock<Waker>,
}

/// What comes from an engine's thread, or goes from the service to the task of the connection.
#[derive(Default)]
struct Aside {
    hints: Vec<u8>,
    taken: Option<Duplex>,
    handover: Option<Handover>,
    /// What is to be sent in the place of placeholders that hyper has, in their order.
    parts: VecDeque<Part>,
}

/// A connection that leaves HTTP.
pub(crate) struct Handover {
    /// To be sent first; empty where the application writes all by itself.
    pub(crate) head: Bytes,
    /// Our end of what the application reads and writes.
    pub(crate) duplex: Duplex,
    /// Kept while the application still runs: dropping it would say that the client has gone.
    pub(crate) reply: Option<Reply>,
    pub(crate) record: Option<Box<Record>>,
    /// Follows what the application sends.
    pub(crate) tracker: Tracker,
}

const NEVER: u64 = u64::MAX;
/// Bytes of a connection that was taken over which are on the way, in each direction.
const TAKEN_BYTES: usize = 64 * 1024;

impl Link {
    pub(crate) fn new(common: Arc<Common>, socket: &Socket) -> Arc<Link> {
        let peer = socket.peer();
        let is_trusted = trust::trusts(&common.settings.trusted, peer.remote, socket.is_unix());
        let (opened, number) = (Instant::now(), common.room.number());
        let link = Arc::new(Link {
            common,
            peer,
            is_trusted,
            opened,
            busy: AtomicBool::new(false),
            wakes_at_end: AtomicBool::new(false),
            ended: AtomicU64::new(0),
            until: AtomicU64::new(NEVER),
            late: AtomicBool::new(false),
            received: AtomicU64::new(0),
            malformed: OnceLock::new(),
            served: AtomicBool::new(false),
            flushed: AtomicBool::new(true),
            awaits_flush: AtomicBool::new(false),
            turn: AtomicU64::new(0),
            gave_way: AtomicBool::new(false),
            aside_flag: AtomicBool::new(false),
            aside: Mutex::new(Aside::default()),
            handed: AtomicBool::new(false),
            number,
            state: StateCell::default(),
            shelved: StateCell::default(),
            dismissed: StateCell::default(),
            displaced: AtomicBool::new(false),
            waker: OnceLock::new(),
        });
        link.state.set(Some(link.common.room.state(Stage::Idle, opened)));
        link.common.room.enter(&link);
        link
    }

    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.opened).as_nanos()).unwrap_or(NEVER - 1)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    pub(crate) fn begin(&self, received: Instant) {
        self.received.store(self.nanos(received), Relaxed);
        self.until.store(NEVER, Relaxed);
        self.late.store(false, Relaxed);
        self.served.store(false, Relaxed);
        self.busy.store(true, Relaxed);
        self.state.set(Some(self.common.room.state(Stage::Busy, received)));
    }

    pub(crate) fn end(&self) {
        self.ended.store(self.nanos(Instant::now()), Relaxed);
        self.busy.store(false, Relaxed);
        if self.wakes_at_end.load(Relaxed) || self.common.stop.is_draining() {
            self.wake();
        }
    }

    pub(crate) fn set_wakes_at_end(&self, wakes: bool) {
        self.wakes_at_end.store(wakes, Relaxed);
    }

    pub(crate) fn ended(&self) -> Instant {
        self.opened + Duration::from_nanos(self.ended.load(Relaxed))
    }

    pub(crate) fn received(&self) -> Instant {
        self.opened + Duration::from_nanos(self.received.load(Relaxed))
    }

    /// The connection is at something else from now on. One that cannot be spared stands on no shelf of the room, and
    /// comes back to one when it can.
    pub(crate) fn enter(self: &Arc<Link>, stage: Stage, since: Instant) {
        self.state.set(Some(self.common.room.state(stage, since)));
        if stage != Stage::Busy && self.shelved.get().is_none() {
            self.common.room.shelve(self);
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state.get().unwrap_or(State::new(Stage::Busy, 0))
    }

    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed.get().is_some_and(|state| state == self.state())
    }

    /// The connection obeys and goes.
    pub(crate) fn set_displaced(&self) {
        self.displaced.store(true, Relaxed);
    }

    pub(crate) fn is_displaced(&self) -> bool {
        self.displaced.load(Relaxed)
    }

    pub(crate) fn wait_until(&self, at: Option<Instant>) {
        self.until.store(at.map_or(NEVER, |at| self.nanos(at)), Relaxed);
        self.late.store(false, Relaxed);
    }

    pub(crate) fn waits_until(&self) -> Option<Instant> {
        Some(self.until.load(Relaxed)).filter(|nanos| *nanos != NEVER).map(|at| self.opened + Duration::from_nanos(at))
    }

    /// The next write need not let others go first.
    pub(crate) fn set_gave_way(&self) {
        self.gave_way.store(true, Relaxed);
    }

    /// Whether that was said, once.
    pub(crate) fn takes_gave_way(&self) -> bool {
        self.gave_way.load(Relaxed) && self.gave_way.swap(false, Relaxed)
    }

    pub(crate) fn set_late(&self) {
        self.late.store(true, Relaxed);
    }

    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Relaxed)
    }

    /// A connection with such a body ends with it, so there is never a second one.
    pub(crate) fn set_malformed(&self, refusal: Refusal) {
        let _ = self.malformed.set(refusal);
    }

    pub(crate) fn malformed(&self) -> Option<Refusal> {
        self.malformed.get().copied()
    }

    pub(crate) fn set_served(&self) {
        self.served.store(true, Relaxed);
    }

    /// Whether hyper was given a head of which the service has not heard: what it says then is a refusal of its own.
    pub(crate) fn is_unserved(&self) -> bool {
        self.is_busy() && !self.served.load(Relaxed)
    }

    /// Notes whether hyper holds no byte that the socket did not take yet.
    pub(crate) fn set_flushed(&self, flushed: bool) {
        self.flushed.store(flushed, Relaxed);
    }

    /// The task wants to be woken when all is written. It is unset then.
    pub(crate) fn set_awaits_flush(&self, awaits: bool) {
        self.awaits_flush.store(awaits, Relaxed);
    }

    /// Whether that was said and not all is written yet.
    pub(crate) fn awaits_flush(&self) -> bool {
        self.awaits_flush.load(Relaxed)
    }

    /// Whether all is written.
    pub(crate) fn is_flushed(&self) -> bool {
        self.flushed.load(Relaxed)
    }

    /// Why a request was given up in the middle: the server cuts off what runs at its end, or else its client has gone.
    pub(crate) fn cut_by(&self) -> Fault {
        if self.common.stop.is_now() { Fault::Stopping } else { Fault::ClientGone }
    }

    /// Remembers the task to wake. It is the same for the life of the connection.
    pub(crate) fn set_waker(&self, waker: &Waker) {
        if self.waker.get().is_none() {
            let _ = self.waker.set(waker.clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// A response begins: hints already given may still go out before it, later ones and take-overs may not.
    ///
    /// Here the turn changes first and the flag is looked at then; `Turn::with` does it the other way round. So
    /// either it sees the new turn, or we see its flag and wait here until it is done.
    pub(crate) fn close_turn(&self) {
        self.turn.fetch_add(1, SeqCst);
        if self.aside_flag.load(SeqCst) {
            let mut aside = self.aside.lock();
            if !self.is_flushed() {
                // Bytes of an earlier response are still in hyper's hands: the hints could come only after this one.
                aside.hints.clear();
            }
        }
    }

    /// hyper was given a placeholder for this.
    pub(crate) fn add_part(&self, part: Part) {
        self.aside.lock().parts.push_back(part);
    }

    /// Sends of the part whose placeholder hyper writes now.
    pub(crate) fn send_part(&self, send: impl FnOnce(&mut Part) -> Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let mut aside = self.aside.lock();
        let Some(part) = aside.parts.front_mut() else {
            return Poll::Ready(Err(io::Error::other("a placeholder that stands for no file")));
        };
        let sent = send(part);
        if part.is_sent() {
            aside.parts.pop_front();
        }
        sent
    }

    /// Whether an engine's thread has left something.
    pub(crate) fn has_aside(&self) -> bool {
        self.aside_flag.load(SeqCst)
    }

    pub(crate) fn take_hints(&self) -> Vec<u8> {
        let mut aside = self.aside.lock();
        if aside.taken.is_none() {
            self.aside_flag.store(false, Relaxed);
        }
        std::mem::take(&mut aside.hints)
    }

    /// Whether the connection has been taken over.
    pub(crate) fn has_taken(&self) -> bool {
        self.has_aside() && self.aside.lock().taken.is_some()
    }

    pub(crate) fn take_taken(&self) -> Option<Duplex> {
        if self.has_aside() { self.aside.lock().taken.take() } else { None }
    }

    /// Gives the connection from the service to its task, which takes it away from hyper.
    pub(crate) fn hand_over(&self, handover: Handover) {
        self.aside.lock().handover = Some(handover);
        self.handed.store(true, Relaxed);
    }

    pub(crate) fn is_handed(&self) -> bool {
        self.handed.load(Relaxed)
    }

    pub(crate) fn take_handover(&self) -> Option<Handover> {
        self.aside.lock().handover.take()
    }
}

impl Occupant for Link {
    fn number(&self) -> u64 {
        self.number
    }

    fn remote(&self) -> Option<SocketAddr> {
        self.peer.remote
    }

    fn state(&self) -> State {
        Link::state(self)
    }

    fn shelved(&self) -> &StateCell {
        &self.shelved
    }

    fn dismiss(&self, state: State) {
        self.dismissed.set(Some(state));
        self.wake();
        self.common.settings.counts.displaced();
    }
}

/// What is remembered of a request until its line is written, which happens when this is dropped.
pub(crate) struct Record {
    pub(crate) link: Arc<Link>,
    pub(crate) received: Instant,
    pub(crate) method: Method,
    pub(crate) target: Uri,
    pub(crate) id: RequestId,
    /// 0 as long as there is none.
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) queued: Duration,
    /// One word for what went wrong, or nothing.
    pub(crate) fault: &'static str,
    /// The same in words, if there is more to say.
    pub(crate) reason: &'static str,
    /// The application, where there are several.
    pub(crate) app: Option<Arc<str>>,
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(log) = &self.link.common.settings.access_log else { return };
        if self.status == 0 && self.fault.is_empty() {
            self.fault = self.link.cut_by().name();
        }
        let entry = Entry {
            client: self.link.peer.remote,
            method: self.method.as_str().as_bytes(),
            target: Target::Whole(&self.target),
            status: self.status,
            bytes: self.bytes,
            took: self.received.elapsed(),
            queued: self.queued,
            id: self.id.as_str(),
            fault: self.fault,
            reason: self.reason,
            app: self.app.as_deref().unwrap_or_default(),
        };
        log.write(&entry);
    }
}

/// One request's hold on its connection.
pub(crate) struct Turn {
    link: Arc<Link>,
    number: u64,
}

impl Turn {
    pub(crate) fn new(link: &Arc<Link>) -> Turn {
        Turn { link: link.clone(), number: link.turn.load(Relaxed) }
    }

    /// Does something unless the response has begun.
    fn with(&self, act: impl FnOnce(&mut Aside)) {
        let mut aside = self.link.aside.lock();
        self.link.aside_flag.store(true, SeqCst);
        if self.link.turn.load(SeqCst) == self.number {
            act(&mut aside);
        }
        drop(aside);
        self.link.wake();
    }
}

/// Bytes of early hints that may wait for one connection; more are dropped, they are only hints.
const HINT_BYTES: usize = 32 * 1024;

impl Hints for Turn {
    fn send(&self, headers: HeaderMap) {
        self.with(|aside| {
            if aside.hints.len() < HINT_BYTES {
                write_head(&mut aside.hints, http::StatusCode::EARLY_HINTS, &headers);
            }
        });
    }
}

impl Takeover for Turn {
    fn take(self: Box<Self>) -> Duplex {
        let (ours, theirs) = body::duplex(TAKEN_BYTES);
        self.with(|aside| aside.taken = Some(ours));
        theirs
    }
}
