//! State shared by the three sides of a connection: the wire (bytes), the service (requests) and, now and then, an
//! engine's thread (early hints, takeover). Wire and service run in one task, so the state changes by a plain store,
//! and the locks are never contended.

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
use crate::connection::state::{Stage, State, StateCell, Step};
use crate::connection::table::{ConnectionTable, Evictable};
use crate::drain::Stop;
use crate::log::fault_log::{self, RequestIdentity};
use crate::log::log_line::{Entry, LoggedTarget};
use crate::log::notices::Notices;
use crate::parse::refusal::Refusal;
use crate::parse::websocket::Tracker;
use crate::proxy::request_id::RequestId;
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
/// wait for, each of a small type of its own, and what an engine's thread has left.
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
    deadline: Deadline,
    /// Event for which the task must be woken.
    awaited: Awaited,
    /// Whether the wire finds that the connection has been idle for long enough to be parked.
    is_parking: AtomicBool,
    /// Whether the end of the connection marks the end of the response's body, since HTTP/1.0 has no chunks.
    ends_body: AtomicBool,
    /// Whether the file of a response could not be read while it was sent, which ends the connection.
    is_file_broken: AtomicBool,
    /// Time when the first byte of the current request arrived.
    received: AtomicU64,
    /// The error in the request body that is arriving.
    malformed: OnceLock<Refusal>,
    /// Epoch of the request whose hints and takeover are accepted.
    epoch: Epoch,
    out_of_band: Mutex<OutOfBand>,
    waker: OnceLock<Waker>,
}

/// Items that an engine's thread has left out of band, or that the service passes to the connection's task.
#[derive(Default)]
struct OutOfBand {
    hints: Vec<u8>,
    taken: Option<Duplex>,
    handover: Option<Handover>,
    /// Data of the request whose response hyper has taken, while the socket may not have all of it.
    answered: Option<Box<Record>>,
    /// File parts to send in place of hyper's placeholders, in their order, each with its request.
    parts: VecDeque<(Part, Arc<RequestIdentity>)>,
}

/// A connection that leaves HTTP.
pub(crate) struct Handover {
    /// Response head to send first; empty if the application writes everything itself.
    pub(crate) head: Bytes,
    /// The front's end of the bytes exchanged with the application.
    pub(crate) duplex: Duplex,
    /// Kept while the application runs, since dropping it would mean that the client has disconnected.
    pub(crate) reply: Option<Reply>,
    pub(crate) record: Option<Box<Record>>,
    /// Follows the WebSocket frames that the application sends.
    pub(crate) tracker: Tracker,
}

/// Bytes buffered in each direction of an upgraded connection.
const TAKEN_BYTES: usize = 64 * 1024;

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
            received: AtomicU64::new(0),
            malformed: OnceLock::new(),
            epoch: Epoch::default(),
            out_of_band: Mutex::new(OutOfBand::default()),
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

    /// Changes the state. Returns whether it changed. A connection that must not be evicted is in no eviction queue,
    /// and enters one again when it may be. Only for that the order matters in which this and the connection table act:
    /// each writes before it reads.
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

    /// Records that hyper gets a whole head, whose first byte arrived at this time: a request begins.
    pub(crate) fn head_given(self: &Arc<Link>, at: Instant) {
        let at = self.clock().nanos(at);
        self.received.store(at, Relaxed);
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

    /// Records that the body is complete, or that there is none.
    pub(crate) fn body_read(self: &Arc<Link>) {
        self.change(|state| state.body_read(|| self.clock().now()));
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
            let record = self.out_of_band.lock().answered.take();
            drop(record);
        }
    }

    /// Keeps the data of an answered request for its access log entry until the socket has the whole response.
    pub(crate) fn keep_until_flushed(&self, record: Box<Record>) {
        let earlier = self.out_of_band.lock().answered.replace(record);
        drop(earlier);
    }

    /// Lets go of what is kept for a response or a hand-over, as the connection ends: both hold the link in turn. The
    /// client did not get all of a response that is not written to its end. An engine's thread that takes the
    /// connection over from now on, or has just done so, finds it closed.
    pub(crate) fn end(&self) {
        self.end_epoch();
        let (answered, handover) = {
            let mut out_of_band = self.out_of_band.lock();
            (out_of_band.answered.take(), out_of_band.handover.take())
        };
        if let Some(mut record) = answered
            && record.fault.is_empty()
            && self.stage().is_unwritten()
        {
            record.fault = self.cut_by().name();
        }
        drop(handover);
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

    /// The connection may give its buffers back.
    pub(crate) fn park(&self) {
        self.is_parking.store(true, Relaxed);
    }

    /// Whether the connection is to give its buffers back now. Only the task itself says so and asks.
    pub(crate) fn takes_parking(&self) -> bool {
        self.is_parking.load(Relaxed) && self.is_parking.swap(false, Relaxed)
    }

    /// Whether the connection is to be evicted and has not progressed since that was requested.
    pub(crate) fn is_evicted(&self) -> bool {
        self.eviction.is_requested(self.state())
    }

    /// Records that the connection closes because it is evicted.
    pub(crate) fn confirm_eviction(&self) {
        self.eviction.confirm();
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

    /// Marks the deadline as passed. The service is polled right afterwards and sees it.
    pub(crate) fn set_late(&self) {
        self.deadline.pass();
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_passed()
    }

    /// Wakes the task at the end of the request, if input is held back until then.
    pub(crate) fn await_end_if(&self, is_something_held: bool) {
        self.awaited.end_if(is_something_held);
    }

    /// Wakes the task when all output is written: for the next request's head, or to break a response off.
    pub(crate) fn await_flush(&self) {
        self.awaited.flush();
    }

    /// Whether a flush is awaited and has not happened yet.
    pub(crate) fn awaits_flush(&self) -> bool {
        self.awaited.is_flush()
    }

    /// Awaits nothing any more: all output is written, and the task is woken.
    pub(crate) fn await_nothing(&self) {
        self.awaited.clear();
    }

    /// Records the error in a request body. The connection ends with that request, so there is never a second one.
    pub(crate) fn set_malformed(&self, refusal: Refusal) {
        let _ = self.malformed.set(refusal);
    }

    pub(crate) fn malformed(&self) -> Option<Refusal> {
        self.malformed.get().copied()
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

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Ends the epoch, as a response begins: hints already given may still precede it, later ones and takeovers are
    /// discarded.
    pub(crate) fn end_epoch(&self) {
        if self.epoch.end() {
            // An engine's thread that has left something in this epoch holds the lock until it is done.
            let mut out_of_band = self.out_of_band.lock();
            // A takeover that the service has not seen any more must not get the connection at the next request.
            let too_late = out_of_band.taken.take();
            if !self.stage().is_flushed() {
                // Bytes of an earlier response are still in hyper's buffer: the hints could come only after this
                // response.
                out_of_band.hints.clear();
            }
            drop(out_of_band);
            drop(too_late);
        }
    }

    /// Adds a part whose placeholder hyper was given.
    pub(crate) fn add_part(&self, part: Part, request: Arc<RequestIdentity>) {
        self.out_of_band.lock().parts.push_back((part, request));
    }

    /// Sends from the part whose placeholder hyper writes now.
    pub(crate) fn send_part(&self, send: impl FnOnce(&mut Part) -> Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let mut out_of_band = self.out_of_band.lock();
        let Some((part, request)) = out_of_band.parts.front_mut() else {
            return Poll::Ready(Err(io::Error::other("a placeholder that stands for no file")));
        };
        let sent = send(part);
        if let Poll::Ready(Err(error)) = &sent
            && sendfile::is_of_file(error)
        {
            self.is_file_broken.store(true, Relaxed);
            fault_log::write_unread_file(&self.cut_by(), request, error);
        }
        if part.is_sent() {
            out_of_band.parts.pop_front();
        }
        sent
    }

    /// Whether an engine's thread has left something.
    pub(crate) fn has_out_of_band(&self) -> bool {
        self.epoch.is_left()
    }

    pub(crate) fn take_hints(&self) -> Vec<u8> {
        let mut out_of_band = self.out_of_band.lock();
        if out_of_band.taken.is_none() {
            self.epoch.is_taken();
        }
        std::mem::take(&mut out_of_band.hints)
    }

    /// Whether an engine's thread has taken over the connection.
    pub(crate) fn has_taken(&self) -> bool {
        self.has_out_of_band() && self.out_of_band.lock().taken.is_some()
    }

    pub(crate) fn take_taken(&self) -> Option<Duplex> {
        if self.has_out_of_band() { self.out_of_band.lock().taken.take() } else { None }
    }

    /// Passes the connection from the service to its task, which takes it away from hyper.
    pub(crate) fn hand_over(self: &Arc<Link>, handover: Handover) {
        self.out_of_band.lock().handover = Some(handover);
        self.change(State::upgraded);
    }

    pub(crate) fn take_handover(&self) -> Option<Handover> {
        self.out_of_band.lock().handover.take()
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
        self.common.settings.counts.displaced();
    }
}

/// A request's data for the access log, written when this is dropped.
pub(crate) struct Record {
    pub(crate) link: Arc<Link>,
    pub(crate) received: Instant,
    pub(crate) method: Method,
    pub(crate) target: Uri,
    pub(crate) id: RequestId,
    /// Status of the response; 0 while there is none.
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) queued: Duration,
    /// Name of what went wrong, or empty.
    pub(crate) fault: &'static str,
    /// Description of what went wrong, or empty.
    pub(crate) reason: &'static str,
    /// Name of the application, if the engine has several.
    pub(crate) app: Option<Arc<str>>,
    /// Whether a connection that the application had taken over has ended in order: the missing status is no fault.
    pub(crate) is_over: bool,
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(log) = &self.link.common.settings.access_log else { return };
        if self.status == 0 && self.fault.is_empty() && !self.is_over {
            self.fault = self.link.cut_by().name();
        }
        let entry = Entry {
            client: self.link.peer.remote,
            method: self.method.as_str().as_bytes(),
            target: LoggedTarget::Whole(&self.target),
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

/// A handle by which an engine's thread reaches the connection during one request.
pub(crate) struct RequestEpoch {
    link: Arc<Link>,
    number: u64,
}

impl RequestEpoch {
    pub(crate) fn new(link: &Arc<Link>) -> RequestEpoch {
        RequestEpoch { link: link.clone(), number: link.epoch.number() }
    }

    /// Leaves something for the connection, unless the response has begun.
    fn with(&self, act: impl FnOnce(&mut OutOfBand)) {
        let mut out_of_band = self.link.out_of_band.lock();
        if self.link.epoch.leave(self.number) {
            act(&mut out_of_band);
        }
        drop(out_of_band);
        self.link.wake();
    }
}

/// Bytes of early hints that one connection buffers; more are dropped, since they are only hints.
const HINT_BYTES: usize = 32 * 1024;

impl Hints for RequestEpoch {
    fn send(&self, mut headers: HeaderMap) {
        // These belong to the connection or to the final response (RFC 9110 sections 7.6.1 and 8.6, RFC 9112 section
        // 6.1).
        for name in [http::header::CONNECTION, http::header::CONTENT_LENGTH, http::header::TRANSFER_ENCODING] {
            headers.remove(name);
        }
        self.with(|out_of_band| {
            if out_of_band.hints.len() < HINT_BYTES {
                write_head(&mut out_of_band.hints, http::StatusCode::EARLY_HINTS, &headers);
            }
        });
    }
}

impl Takeover for RequestEpoch {
    fn take(self: Box<Self>) -> Duplex {
        let (ours, theirs) = body::duplex(TAKEN_BYTES);
        self.with(|out_of_band| out_of_band.taken = Some(ours));
        theirs
    }
}
