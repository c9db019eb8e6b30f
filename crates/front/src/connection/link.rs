//! What the three sides of one connection share: the wire (bytes), the service (requests) and, now and then, an
//! engine's thread (early hints, take-over). All but the last two run in one task, so a state changes with a plain
//! store, and the locks are never waited for.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::request::Takeover;
use engine::{Duplex, Engine, Fault, Hints, Peer, Reply, body};
use http::{HeaderMap, Method, Uri};
use parking_lot::Mutex;

use crate::connection::awaited::Awaited;
use crate::connection::clock::Clock;
use crate::connection::deadline::Deadline;
use crate::connection::epoch::Epoch;
use crate::connection::eviction::Eviction;
use crate::connection::raw_head::write_head;
use crate::connection::room::{Occupant, Room};
use crate::connection::state::{Stage, State, StateCell};
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

/// What one connection shares. Its state is one enum (`state.rs`), which changes here and nowhere else; beside it stand
/// what the sides wait for, each a small type of its own, and what an engine's thread has left.
pub(crate) struct Link {
    pub(crate) common: Arc<Common>,
    pub(crate) peer: Peer,
    /// Whether the peer's word about the client before it is taken.
    pub(crate) is_trusted: bool,
    /// Which connection this is, for the room.
    number: u64,
    /// What it is at. Only its own task changes it.
    state: StateCell,
    /// What it was at when it was put on a shelf of the room, whose lock protects this; nothing when it is not there.
    shelved: StateCell,
    /// Whether its place is wanted for another.
    eviction: Eviction,
    /// When the service must have what it waits for; the wire's timer watches it.
    deadline: Deadline,
    /// What the task wants to be woken for.
    awaited: Awaited,
    /// Whether the wire finds that the connection has been idle for long enough to be parked.
    is_parking: AtomicBool,
    /// When the first byte of the present request arrived.
    received: AtomicU64,
    /// What is wrong with the body that arrives.
    malformed: OnceLock<Refusal>,
    /// Whose hints and take-overs are taken.
    epoch: Epoch,
    aside: Mutex<Aside>,
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

/// Bytes of a connection that was taken over which are on the way, in each direction.
const TAKEN_BYTES: usize = 64 * 1024;

impl Link {
    pub(crate) fn new(common: Arc<Common>, socket: &Socket) -> Arc<Link> {
        let peer = socket.peer();
        let is_trusted = trust::trusts(&common.settings.trusted, peer.remote, socket.is_unix());
        let number = common.room.number();
        let opened = State::opened(common.room.clock().now());
        let link = Arc::new(Link {
            common,
            peer,
            is_trusted,
            number,
            state: StateCell::new(opened),
            shelved: StateCell::default(),
            eviction: Eviction::default(),
            deadline: Deadline::default(),
            awaited: Awaited::default(),
            is_parking: AtomicBool::new(false),
            received: AtomicU64::new(0),
            malformed: OnceLock::new(),
            epoch: Epoch::default(),
            aside: Mutex::new(Aside::default()),
            waker: OnceLock::new(),
        });
        link.common.room.enter(&link);
        link
    }

    fn clock(&self) -> Clock {
        self.common.room.clock()
    }

    /// What the connection is at.
    pub(crate) fn state(&self) -> State {
        // There always is one.
        self.state.get().unwrap_or(State::opened(0))
    }

    /// What the connection is at, without since when.
    pub(crate) fn stage(&self) -> Stage {
        self.state().stage
    }

    /// Since when it is at that.
    pub(crate) fn since(&self) -> Instant {
        self.clock().instant(self.state().since)
    }

    pub(crate) fn received(&self) -> Instant {
        self.clock().instant(self.received.load(Relaxed))
    }

    /// Changes the state; whether that changed anything. One that cannot be spared stands on no shelf of the room, and
    /// comes back to one when it can. Only then the order matters in which this and the room look: each writes first.
    fn change(self: &Arc<Link>, transition: impl FnOnce(State) -> State) -> bool {
        let before = self.state();
        let next = transition(before);
        if next == before {
            return false;
        }
        if next.stage.spare().is_none() || next.is_same_wait(before) {
            self.state.set_soon(next);
            return true;
        }
        self.state.set(Some(next));
        if self.shelved.get().is_none() {
            self.common.room.shelve(self);
        }
        true
    }

    /// A part of a head has come, its first byte at this moment.
    pub(crate) fn head_began(self: &Arc<Link>, at: Instant) {
        self.change(|state| state.head_began(self.clock().nanos(at)));
    }

    /// A head is refused, whose first byte came at this moment.
    pub(crate) fn head_refused(self: &Arc<Link>, at: Instant) {
        self.change(|state| state.head_refused(self.clock().nanos(at)));
    }

    /// hyper is given a whole head, whose first byte came at this moment: a request begins.
    pub(crate) fn head_given(self: &Arc<Link>, at: Instant) {
        let at = self.clock().nanos(at);
        self.received.store(at, Relaxed);
        self.deadline.clear();
        self.awaited.clear();
        self.change(|state| state.head_given(at));
    }

    /// The service has the request.
    pub(crate) fn head_parsed(self: &Arc<Link>) {
        self.change(State::head_parsed);
    }

    /// Some of a body has come, and it is not whole.
    pub(crate) fn body_came(self: &Arc<Link>) {
        self.change(|state| state.body_came(self.clock().now()));
    }

    /// The body, if there is one, is whole.
    pub(crate) fn body_read(self: &Arc<Link>) {
        self.change(|state| state.body_read(|| self.clock().now()));
    }

    /// hyper has all of the answer: the next request may come when that is written.
    pub(crate) fn answered(self: &Arc<Link>) {
        self.change(|state| state.answered(self.clock().now()));
        if self.awaited.is_end() || self.common.stop.is_draining() {
            self.wake();
        }
    }

    /// Whether the task must let others go first before it writes; true once for each write.
    pub(crate) fn must_yield(self: &Arc<Link>) -> bool {
        self.change(State::yielded)
    }

    /// The task has let others go first: the next write need not.
    pub(crate) fn has_yielded(self: &Arc<Link>) {
        self.change(State::yielded);
    }

    /// The socket took all it was given.
    pub(crate) fn wrote(self: &Arc<Link>) {
        self.change(|state| state.wrote(|| self.clock().now()));
    }

    /// The socket took a part of what it was given.
    pub(crate) fn wrote_part(self: &Arc<Link>) {
        self.change(|state| state.wrote_part(|| self.clock().now()));
    }

    /// The socket takes nothing; since when.
    pub(crate) fn stalled(self: &Arc<Link>) -> Instant {
        self.change(|state| state.stalled(|| self.clock().now()));
        self.since()
    }

    /// All that came before the next bytes of hyper is written.
    pub(crate) fn caught_up(self: &Arc<Link>) {
        self.change(State::caught_up);
    }

    /// hyper has nothing left to write.
    pub(crate) fn flushed(self: &Arc<Link>) {
        self.change(State::flushed);
    }

    /// The last answer is out, and the connection is about to be closed.
    pub(crate) fn closing(self: &Arc<Link>) {
        self.change(|state| state.closing(self.clock().now()));
    }

    /// The connection may give its buffers back.
    pub(crate) fn park(&self) {
        self.is_parking.store(true, Relaxed);
    }

    /// Whether the connection is to give its buffers back now. Only the task itself says so and asks.
    pub(crate) fn takes_parking(&self) -> bool {
        self.is_parking.load(Relaxed) && self.is_parking.swap(false, Relaxed)
    }

    /// Whether its place is wanted for another connection, and it is still at what it was at then.
    pub(crate) fn is_evicted(&self) -> bool {
        self.eviction.is_asked(self.state())
    }

    /// The connection obeys and goes.
    pub(crate) fn obey_eviction(&self) {
        self.eviction.obey();
    }

    pub(crate) fn obeys_eviction(&self) -> bool {
        self.eviction.is_obeyed()
    }

    pub(crate) fn wait_until(&self, at: Option<Instant>) {
        match at {
            Some(at) => self.deadline.set(self.clock().nanos(at)),
            None => self.deadline.clear(),
        }
    }

    pub(crate) fn waits_until(&self) -> Option<Instant> {
        self.deadline.at().map(|at| self.clock().instant(at))
    }

    /// The service is polled right after this and looks.
    pub(crate) fn set_late(&self) {
        self.deadline.pass();
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_passed()
    }

    /// The task wants to be woken at the end of the request, if something is held for then.
    pub(crate) fn await_end_if(&self, is_something_held: bool) {
        self.awaited.end_if(is_something_held);
    }

    /// The task wants to be woken when all is written: for the next request's head, or to break a response off.
    pub(crate) fn await_flush(&self) {
        self.awaited.flush();
    }

    /// Whether that was said and not all is written yet.
    pub(crate) fn awaits_flush(&self) -> bool {
        self.awaited.is_flush()
    }

    /// All is written, and the task is woken.
    pub(crate) fn await_nothing(&self) {
        self.awaited.clear();
    }

    /// A connection with such a body ends with it, so there is never a second one.
    pub(crate) fn set_malformed(&self, refusal: Refusal) {
        let _ = self.malformed.set(refusal);
    }

    pub(crate) fn malformed(&self) -> Option<Refusal> {
        self.malformed.get().copied()
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
    pub(crate) fn end_epoch(&self) {
        if self.epoch.end() {
            // Whoever left something in this epoch holds the lock until it is done.
            let mut aside = self.aside.lock();
            if !self.stage().is_flushed() {
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
        self.epoch.is_left()
    }

    pub(crate) fn take_hints(&self) -> Vec<u8> {
        let mut aside = self.aside.lock();
        if aside.taken.is_none() {
            self.epoch.is_taken();
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
    pub(crate) fn hand_over(self: &Arc<Link>, handover: Handover) {
        self.aside.lock().handover = Some(handover);
        self.change(State::upgraded);
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

    fn evict(&self, state: State) {
        self.eviction.ask(state);
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
        Turn { link: link.clone(), number: link.epoch.number() }
    }

    /// Does something unless the response has begun.
    fn with(&self, act: impl FnOnce(&mut Aside)) {
        let mut aside = self.link.aside.lock();
        if self.link.epoch.leave(self.number) {
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
