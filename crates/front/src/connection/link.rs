//! State shared by the three sides of a connection: the wire (bytes), the service (requests) and, now and then, an
//! engine's thread (early hints, takeover). Wire and service run in one task, so the state changes by a plain store,
//! and the locks are never contended.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::Instant;

use engine::{Engine, Fault, Peer};
use parking_lot::Mutex;

use crate::connection::awaited::Awaited;
use crate::connection::clock::Clock;
use crate::connection::deadline::Deadline;
use crate::connection::eviction::Eviction;
use crate::connection::out_of_band::OutOfBand;
use crate::connection::state::{Stage, State, StateCell, Step};
use crate::connection::table::{ConnectionTable, Evictable};
use crate::connection::upgraded::Upgraded;
use crate::drain::Stop;
use crate::log::access_log::AccessLog;
use crate::log::body_fault::BodyRequest;
use crate::log::fault_log;
use crate::log::notices::Notices;
use crate::log::record::{Logged, Record};
use crate::parse::refusal::{NO_END, Refusal};
use crate::proxy::trust;
use crate::settings::Settings;
use crate::transport::sendfile::{self, Part};
use crate::transport::socket::Socket;

/// State shared by all connections.
pub(crate) struct Common {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) stop: Stop,
    pub(crate) connections: Arc<ConnectionTable>,
    pub(crate) http: hyper::server::conn::http1::Builder,
    pub(crate) notices: Notices,
}

/// State shared by the sides of one connection. Its [`State`] changes only here. The other fields are what the sides
/// wait for, each of a small type of its own, and what they pass to each other.
pub(crate) struct Link {
    pub(crate) common: Arc<Common>,
    pub(crate) peer: Peer,
    /// Whether the peer is trusted to name the client behind it.
    pub(crate) is_trusted: bool,
    /// Number of the connection in the connection table.
    number: u64,
    /// State of the connection. Only the connection's task changes it.
    state: StateCell,
    /// State under which the connection is in an eviction queue; `None` if it is in none. Protected by the lock of the
    /// connection table.
    queued_as: StateCell,
    /// Whether the connection must close for another one.
    eviction: Eviction,
    /// Deadline of what the service waits for; the wire's timer watches it.
    pub(crate) deadline: Deadline,
    /// Event for which the task must be woken.
    pub(crate) awaited: Awaited,
    // The next five are facts that the sides tell each other. Although they run in one task, none can reach a field of
    // another, since hyper owns wire and service while it serves. Atomics, and not in `pending`, since the reason of an
    // abandoned request is asked for while that is locked.
    /// Whether the wire finds that the connection has been idle for long enough to be parked: set by the wire, for the
    /// task, which takes it from hyper.
    is_parking: AtomicBool,
    /// Whether the end of the connection marks the end of the response's body, since HTTP/1.0 has no chunks, or the
    /// application writes the body itself: set by the service, for the task, which closes the connection.
    ends_body: AtomicBool,
    /// Whether the file of a response could not be read while it was sent, which ends the connection: set by the wire
    /// or the response, for the logs.
    is_file_broken: AtomicBool,
    /// Whether an engine writes to the socket at the moment: set by the response, for the wire.
    is_lent: AtomicBool,
    /// Whether an engine has ever been given the socket: set by the response, for the end of the connection.
    was_lent: AtomicBool,
    /// Bytes that hyper has offered and the socket has not taken: set by the wire, for the access log.
    unwritten: AtomicU64,
    /// Time when the first byte of the current request arrived.
    received: AtomicU64,
    /// Time when its head was complete.
    head_ended: AtomicU64,
    /// Time when the current request was complete, with its body.
    completed: AtomicU64,
    /// The error in the request body that is arriving.
    malformed: OnceLock<Refusal>,
    /// Early hints and a takeover, left by an engine's thread.
    pub(crate) out_of_band: OutOfBand,
    pending: Mutex<Pending>,
    waker: OnceLock<Waker>,
}

/// Items that the service leaves for the wire and the connection's task.
#[derive(Default)]
struct Pending {
    /// The connection, if it is to leave HTTP.
    upgraded: Option<Upgraded>,
    /// Data of the request whose response hyper has taken, while the socket may not have all of it.
    answered: Option<Box<Record>>,
    /// File parts to send in place of hyper's placeholders, in their order, each with its request.
    parts: VecDeque<(Part, Option<Arc<BodyRequest>>)>,
    /// The socket, on its way from the wire to an engine that writes to it.
    lending: Lending,
}

/// The loan of a connection's socket to an engine.
#[derive(Default)]
enum Lending {
    #[default]
    Nothing,
    /// A response waits for the socket, and for everything before to be written.
    Asked,
    /// A descriptor for the engine, or why there is none.
    Ready(io::Result<OwnedFd>),
}

impl Link {
    pub(crate) fn new(common: Arc<Common>, peer: Peer, socket: &Socket) -> Arc<Link> {
        let is_trusted = trust::trusts(&common.settings.trusted, peer.remote, socket.is_unix());
        let number = common.connections.number();
        let opened = State::opened(common.connections.clock().now());
        let link = Arc::new(Link {
            common,
            peer,
            is_trusted,
            number,
            state: StateCell::new(opened),
            queued_as: StateCell::default(),
            eviction: Eviction::default(),
            deadline: Deadline::default(),
            awaited: Awaited::default(),
            is_parking: AtomicBool::new(false),
            ends_body: AtomicBool::new(false),
            is_file_broken: AtomicBool::new(false),
            is_lent: AtomicBool::new(false),
            was_lent: AtomicBool::new(false),
            unwritten: AtomicU64::new(0),
            received: AtomicU64::new(0),
            head_ended: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            malformed: OnceLock::new(),
            out_of_band: OutOfBand::default(),
            pending: Mutex::new(Pending::default()),
            waker: OnceLock::new(),
        });
        link.common.connections.add(&link);
        link
    }

    fn clock(&self) -> Clock {
        self.common.connections.clock()
    }

    /// State of the connection.
    pub(crate) fn state(&self) -> State {
        // The cell of a connection is never empty.
        self.state.get().unwrap_or(State::opened(0))
    }

    /// Stage of the connection.
    pub(crate) fn stage(&self) -> Stage {
        self.state().stage
    }

    /// Time when the current stage, or wait, began.
    pub(crate) fn since(&self) -> Instant {
        self.clock().instant(self.state().since)
    }

    pub(crate) fn received(&self) -> Instant {
        self.clock().instant(self.received.load(Relaxed))
    }

    /// Time when the head of the current request was complete.
    pub(crate) fn head_ended(&self) -> Instant {
        self.clock().instant(self.head_ended.load(Relaxed))
    }

    /// Time when the current request was complete: when its head was, or, if it has a body, when [`Link::body_read`]
    /// was called.
    pub(crate) fn completed(&self) -> Instant {
        self.clock().instant(self.completed.load(Relaxed))
    }

    /// Changes the state. Returns whether it changed.
    ///
    /// A connection that may be evicted is in a queue of the connection table, where it enters here. The search for a
    /// connection to evict, in another thread, takes out one whose state has changed, and does not put it back if it
    /// must not be evicted. If it may be evicted again at that moment, it would be in no queue. Therefore both write
    /// before they read: this sets the state and then reads `queued_as`; the search clears `queued_as` and then reads
    /// the state (`Entries::find`). At least one of the two sees what the other wrote, and puts the connection in. The
    /// cheaper store is enough for states that put it into no queue, or leave it where it is.
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
        if self.queued_as.get().is_none() {
            self.common.connections.make_evictable(self);
        }
        true
    }

    /// Records that part of a head has arrived; its first byte at this time.
    pub(crate) fn head_began(self: &Arc<Link>, at: Instant) {
        self.change(|state| state.head_began(self.clock().nanos(at)));
    }

    /// Records that a head was refused; its first byte arrived at this time.
    pub(crate) fn head_refused(self: &Arc<Link>, at: Instant) {
        self.change(|state| state.head_refused(self.clock().nanos(at)));
    }

    /// Records that hyper gets a whole head, whose first byte arrived and which was complete at these times: a request
    /// begins.
    pub(crate) fn head_given(self: &Arc<Link>, began: Instant, ended: Instant) {
        let at = self.clock().nanos(began);
        let ended = self.clock().nanos(ended);
        self.received.store(at, Relaxed);
        self.head_ended.store(ended, Relaxed);
        self.completed.store(ended, Relaxed);
        self.deadline.clear();
        self.awaited.clear();
        self.change(|state| state.head_given(at));
    }

    /// Records that hyper has passed the request to the service.
    pub(crate) fn head_parsed(self: &Arc<Link>) {
        self.change(State::head_parsed);
    }

    /// Records that part of a body has arrived, and more is expected.
    pub(crate) fn body_came(self: &Arc<Link>) {
        self.change(|state| state.body_came(self.clock().now()));
    }

    /// Records that more of a body that is waited for has arrived, or was stored.
    pub(crate) fn body_goes_on(self: &Arc<Link>) {
        if matches!(self.stage(), Stage::Request(Step::Body, _)) {
            self.body_came();
        }
    }

    /// Records that the body of a request that has one is complete.
    pub(crate) fn body_read(self: &Arc<Link>) {
        let now = self.clock().now();
        self.completed.store(now, Relaxed);
        self.change(|state| state.body_read(now));
    }

    /// Records that hyper has the whole response: the next request may come when it is written.
    pub(crate) fn answered(self: &Arc<Link>) {
        self.change(|state| state.answered(self.clock().now()));
        if self.awaited.is_end() || self.common.stop.is_draining() {
            self.wake();
        }
    }

    /// Whether the task must yield before it writes; true once for each write.
    pub(crate) fn must_yield(self: &Arc<Link>) -> bool {
        self.change(State::yielded)
    }

    /// Records that the task has yielded: the next write need not.
    pub(crate) fn has_yielded(self: &Arc<Link>) {
        self.change(State::yielded);
    }

    /// Records that the socket took everything.
    pub(crate) fn wrote(self: &Arc<Link>) {
        self.change(|state| state.wrote(|| self.clock().now()));
    }

    /// Records that the socket took a part.
    pub(crate) fn wrote_part(self: &Arc<Link>) {
        self.change(|state| state.wrote_part(|| self.clock().now()));
    }

    /// Notes how many bytes hyper has offered that the socket has not taken.
    pub(crate) fn set_unwritten(&self, bytes: usize) {
        self.unwritten.store(bytes as u64, Relaxed);
    }

    /// Records that the socket takes nothing. Returns since when.
    pub(crate) fn stalled(self: &Arc<Link>) -> Instant {
        self.change(|state| state.stalled(|| self.clock().now()));
        self.since()
    }

    /// Records that everything before hyper's next bytes is written.
    pub(crate) fn caught_up(self: &Arc<Link>) {
        self.change(State::caught_up);
    }

    /// Records that hyper has nothing left to write. The access log entry of an answered request is written now.
    pub(crate) fn flushed(self: &Arc<Link>) {
        let is_answered = matches!(self.stage(), Stage::Request(Step::Answered, _));
        self.change(State::flushed);
        if is_answered && self.common.settings.access_log.is_some() {
            let record = self.pending.lock().answered.take();
            drop(record);
        }
    }

    /// Keeps the data of an answered request for its access log entry until the socket has the whole response.
    pub(crate) fn keep_until_flushed(&self, record: Box<Record>) {
        let earlier = self.pending.lock().answered.replace(record);
        drop(earlier);
    }

    /// Drops what is kept for a response or an upgrade, as the connection ends: both hold the link in turn, which would
    /// live for ever. A response that is not written to its end is logged as cut off, with the bytes of its body that
    /// the socket has taken, as far as they are known: sizes of chunks that it has not taken are subtracted as well. An
    /// engine's thread that takes the connection over from now on, or has just done so, finds it closed.
    pub(crate) fn end(&self) {
        self.end_epoch();
        let (answered, upgraded) = {
            let mut pending = self.pending.lock();
            (pending.answered.take(), pending.upgraded.take())
        };
        if let Some(mut record) = answered
            && self.stage().is_unwritten()
        {
            record.bytes = record.bytes.saturating_sub(self.unwritten.load(Relaxed));
            record.cut(&self.cut_by());
        }
        drop(upgraded);
    }

    /// Records that the last response is written, and the connection is about to close.
    pub(crate) fn closing(self: &Arc<Link>) {
        self.change(|state| state.closing(self.clock().now()));
    }

    /// Notes that the end of the connection marks the end of the body that follows.
    pub(crate) fn set_ends_body(&self) {
        self.ends_body.store(true, Relaxed);
    }

    /// Whether the client takes the end of the connection for the end of the body.
    pub(crate) fn ends_body(&self) -> bool {
        self.ends_body.load(Relaxed)
    }

    /// Notes that the connection may give its buffers back.
    pub(crate) fn park(&self) {
        self.is_parking.store(true, Relaxed);
    }

    /// Whether the connection is to give its buffers back now; true once for each [`Link::park`].
    pub(crate) fn takes_parking(&self) -> bool {
        self.is_parking.load(Relaxed) && self.is_parking.swap(false, Relaxed)
    }

    /// Whether the connection is to be evicted and has not progressed since that was requested.
    pub(crate) fn is_evicted(&self) -> bool {
        self.eviction.is_requested(self.state())
    }

    /// Records that the connection closes because it is evicted, and counts it.
    pub(crate) fn confirm_eviction(&self) {
        if self.eviction.confirm() {
            self.common.settings.counts.displaced();
        }
    }

    pub(crate) fn closes_for_eviction(&self) -> bool {
        self.eviction.is_confirmed()
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

    /// Asks the wire for a descriptor of the socket, for an engine that is to write to it when all output is written.
    /// Returns it when it is there; until then the task is woken by the flush.
    pub(crate) fn ask_for_socket(&self) -> Option<io::Result<OwnedFd>> {
        let mut pending = self.pending.lock();
        match mem::take(&mut pending.lending) {
            Lending::Ready(socket) => Some(socket),
            Lending::Nothing | Lending::Asked => {
                pending.lending = Lending::Asked;
                self.awaited.flush();
                None
            }
        }
    }

    /// Gives a descriptor of the socket to the response, if one was asked for.
    pub(crate) fn give_socket(&self, socket: impl FnOnce() -> io::Result<OwnedFd>) {
        let mut pending = self.pending.lock();
        if matches!(pending.lending, Lending::Asked) {
            pending.lending = Lending::Ready(socket());
        }
    }

    /// Asks for no descriptor any more, and closes one that came too late.
    pub(crate) fn keep_socket(&self) {
        self.pending.lock().lending = Lending::Nothing;
    }

    /// Notes that an engine writes to the socket from now on, or does not any more.
    pub(crate) fn set_lent(&self, is_lent: bool) {
        self.was_lent.fetch_or(is_lent, Relaxed);
        self.is_lent.store(is_lent, Relaxed);
    }

    /// Whether an engine writes to the socket.
    pub(crate) fn is_lent(&self) -> bool {
        self.is_lent.load(Relaxed)
    }

    /// Whether an engine has ever been given the socket. A process that its worker has forked at that moment may still
    /// have it.
    pub(crate) fn was_lent(&self) -> bool {
        self.was_lent.load(Relaxed)
    }

    /// Records the error in a request body. The connection ends with that request, so there is never a second one.
    pub(crate) fn set_malformed(&self, refusal: Refusal) {
        let _ = self.malformed.set(refusal);
    }

    /// Whether a request body has an error.
    pub(crate) fn is_malformed(&self) -> bool {
        self.malformed.get().is_some()
    }

    /// The refusal of a request body that has an error, or breaks off.
    pub(crate) fn body_refusal(&self) -> Refusal {
        self.malformed.get().copied().unwrap_or(NO_END)
    }

    /// Records that the file of a response cannot be read. Returns false if that was known: the wire, which sends one
    /// part, and the response, which reads the next, may both find it.
    pub(crate) fn set_file_broken(&self) -> bool {
        !self.is_file_broken.swap(true, Relaxed)
    }

    /// Reason why a request was abandoned: the file of its response could not be read, the server cut it off while
    /// shutting down, or its client disconnected.
    pub(crate) fn cut_by(&self) -> Fault {
        if self.is_file_broken.load(Relaxed) {
            return Fault::Broken("the file of a response cannot be read".to_owned());
        }
        if self.common.stop.is_now() { Fault::Stopping } else { Fault::ClientGone }
    }

    /// Remembers the waker of the task, which is the same for the life of the connection.
    pub(crate) fn set_waker(&self, waker: &Waker) {
        if self.waker.get().is_none() {
            let _ = self.waker.set(waker.clone());
        }
    }

    /// Wakes the connection's task.
    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Ends the epoch of the request, as a response begins: hints already given may still precede it, later ones and
    /// takeovers are discarded.
    pub(crate) fn end_epoch(&self) {
        self.out_of_band.end_epoch(self.stage());
    }

    /// Adds a part whose placeholder hyper was given.
    pub(crate) fn add_part(&self, part: Part, request: Option<Arc<BodyRequest>>) {
        self.pending.lock().parts.push_back((part, request));
    }

    /// Sends from the part whose placeholder hyper writes now.
    pub(crate) fn send_part(&self, send: impl FnOnce(&mut Part) -> Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let mut pending = self.pending.lock();
        let Some((part, request)) = pending.parts.front_mut() else {
            return Poll::Ready(Err(io::Error::other("a placeholder that stands for no file")));
        };
        let sent = send(part);
        if let Poll::Ready(Err(error)) = &sent
            && sendfile::is_of_file(error)
            && self.set_file_broken()
            && let Some(request) = request
        {
            let fault = self.cut_by();
            fault_log::write_unread(&fault, &request.identity, "cannot read the file of a response", error);
            request.fail(&fault);
        }
        if part.is_sent() {
            pending.parts.pop_front();
        }
        sent
    }

    /// Passes the connection from the service to its task, which takes it away from hyper.
    pub(crate) fn upgrade(self: &Arc<Link>, upgraded: Upgraded) {
        self.pending.lock().upgraded = Some(upgraded);
        self.change(State::upgraded);
    }

    /// The connection that the service has passed on, if it has.
    pub(crate) fn take_upgraded(&self) -> Option<Upgraded> {
        self.pending.lock().upgraded.take()
    }
}

impl Evictable for Link {
    fn number(&self) -> u64 {
        self.number
    }

    fn remote(&self) -> Option<SocketAddr> {
        self.peer.remote
    }

    fn state(&self) -> State {
        Link::state(self)
    }

    fn queued_as(&self) -> &StateCell {
        &self.queued_as
    }

    fn evict(&self, state: State) {
        self.eviction.request(state);
        self.wake();
    }
}

impl Logged for Link {
    fn access_log(&self) -> Option<&AccessLog> {
        self.common.settings.access_log.as_ref()
    }

    fn remote(&self) -> Option<SocketAddr> {
        self.peer.remote
    }

    fn cut_by(&self) -> Fault {
        Link::cut_by(self)
    }
}

#[cfg(test)]
#[path = "link_test.rs"]
pub(crate) mod tests;
