//! Tests of the state that the sides of a connection share, without a byte on a socket: evictions, wake-ups, deadlines,
//! the access log and upgrades.

use std::fs::File;
use std::sync::atomic::AtomicUsize;
use std::task::Wake;
use std::time::Duration;

use engine::{Reply, Request, Status};
use http::Method;
use tokio::net::UnixStream;

use super::*;
use crate::connection::state::Output;
use crate::log::body_fault::FaultCount;
use crate::log::fault_log::RequestIdentity;
use crate::log::log_line::LogFormat;
use crate::log::query_log::QueryLog;
use crate::parse::websocket::Tracker;
use crate::proxy::remote::RemoteAddress;
use crate::proxy::request_id::RequestId;
use crate::tests_support::{Shelf, block_on, limits};

/// Time after which a test fails.
const SOON: Duration = Duration::from_secs(10);

/// An engine that is never called.
struct NoEngine;

impl Engine for NoEngine {
    fn call(&self, _: Request) -> Reply {
        Reply::ready(Err(Fault::Stopping))
    }

    fn status(&self) -> Status {
        Status::default()
    }

    fn close(&self) {}
}

/// Waits until the log has this number of lines, and returns them all.
pub(crate) fn wait_for(count: usize, log: &Shelf) -> Vec<String> {
    let ends = Instant::now() + SOON;
    loop {
        let text = String::from_utf8_lossy(&log.0.lock()).into_owned();
        if text.lines().count() >= count {
            return text.lines().map(str::to_owned).collect();
        }
        assert!(Instant::now() < ends, "{count} lines, of {text:?}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Counts how often a task is woken.
#[derive(Default)]
pub(crate) struct Woken(AtomicUsize);

impl Woken {
    pub(crate) fn times(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn link_with(access_log: Option<AccessLog>) -> Arc<Link> {
    let settings = Settings {
        limits: limits(),
        trusted: Vec::new(),
        passes_underscores: true,
        remote_address: RemoteAddress::Socket,
        scheme: None,
        access_log,
        more_connections: "",
        json_errors: false,
        counts: Arc::default(),
    };
    let common = Common {
        engine: Arc::new(NoEngine),
        stop: Stop::new(),
        connections: Arc::new(ConnectionTable::new(&settings.limits, settings.more_connections)),
        http: hyper::server::conn::http1::Builder::new(),
        notices: Notices::default(),
        settings: Arc::new(settings),
    };
    connected(&Arc::new(common), Peer::default())
}

fn connected(common: &Arc<Common>, peer: Peer) -> Arc<Link> {
    let (socket, _) = block_on(async { UnixStream::pair().unwrap() });
    Link::new(common.clone(), peer, &Socket::Unix(socket))
}

/// The link of a connection that has just been accepted.
pub(crate) fn link() -> Arc<Link> {
    link_with(None)
}

/// The link of a connection that has just been accepted, and its access log.
pub(crate) fn logged() -> (Arc<Link>, Shelf) {
    let lines = Shelf::default();
    let log = AccessLog::new(LogFormat::Text, QueryLog::default(), lines.clone(), Arc::default());
    (link_with(Some(log)), lines)
}

/// Gives the connection a task, and returns the count of its wake-ups.
pub(crate) fn watched(link: &Link) -> Arc<Woken> {
    let woken = Arc::new(Woken::default());
    link.set_waker(&Waker::from(woken.clone()));
    woken
}

/// Begins a request without a body: its head is complete, and the service has the request.
pub(crate) fn run(link: &Arc<Link>) {
    link.head_given(Instant::now(), Instant::now());
    link.head_parsed();
}

/// The data for the access log of a request whose response has this status and seven bytes so far.
pub(crate) fn record(link: &Arc<Link>, status: u16) -> Box<Record> {
    Box::new(Record {
        connection: link.clone(),
        received: Instant::now(),
        complete: Instant::now(),
        method: Method::GET,
        target: "/page".parse().unwrap(),
        id: RequestId::new(),
        status,
        bytes: 7,
        queued: Duration::ZERO,
        fault: "",
        reason: "",
        app: None,
        is_over: false,
        faults: FaultCount::default(),
    })
}

#[test]
fn a_connection_that_is_to_go_may_stay_when_it_asks_for_something_and_can_be_found_again() {
    let link = link();
    let woken = watched(&link);
    let opened = link.state();
    assert_eq!((link.stage(), link.queued_as.get()), (Stage::Opened, Some(opened)));
    block_on(link.common.connections.evict_for_file());
    assert!(link.is_evicted() && !link.closes_for_eviction());
    let displaced = || link.common.settings.counts.displaced_connections();
    assert_eq!((woken.times(), displaced()), (1, 0), "it is asked, and may stay");
    assert_eq!(link.queued_as.get(), None);
    let at = Instant::now();
    link.head_began(at);
    assert_eq!((link.is_evicted(), link.stage(), link.since()), (false, Stage::Head, at));
    assert_eq!(link.queued_as.get(), Some(link.state()));
    // It stays where it was until it is searched for.
    let queued = link.queued_as.get();
    run(&link);
    assert_eq!(link.queued_as.get(), queued);
    link.confirm_eviction();
    link.confirm_eviction();
    assert!(link.closes_for_eviction() && displaced() == 1);
}

#[test]
fn a_request_is_counted_from_its_first_byte() {
    let link = link();
    let first = Instant::now();
    link.head_began(first);
    let whole = Instant::now();
    link.head_given(first, whole);
    assert_eq!((link.received(), link.completed(), link.since()), (first, whole, first));
    link.head_parsed();
    let with_body = self::link();
    let begun = Instant::now();
    with_body.head_given(begun, begun);
    with_body.body_came();
    with_body.body_read();
    assert!(with_body.completed() > begun && with_body.received() == begun && with_body.head_ended() == begun);
    link.answered();
    assert!(link.received() == first && link.since() >= whole);
    link.flushed();
    assert_eq!(link.stage(), Stage::Idle);
    link.head_refused(whole);
    assert_eq!((link.stage(), link.since()), (Stage::Refused, whole));
    let stalled = self::link();
    run(&stalled);
    let complete = stalled.completed();
    let since = stalled.stalled();
    assert!(since >= whole && stalled.stalled() == since, "it stalls since the first time");
    // Early hints, say, are written in the end.
    stalled.wrote();
    assert!(stalled.since() >= since && stalled.completed() == complete, "it was complete before");
    stalled.closing();
    assert!(stalled.stage() == Stage::Closing && stalled.since() >= since);
}

#[test]
fn a_body_is_arriving_until_all_of_it_is_read() {
    let link = link();
    run(&link);
    link.body_came();
    assert_eq!(link.stage(), Stage::Request(Step::Body, Output::Flushed));
    link.body_read();
    assert_eq!(link.stage(), Stage::Request(Step::Running, Output::Flushed));
}

#[test]
fn a_task_yields_once_before_a_write() {
    let link = link();
    assert!(!link.must_yield(), "there is nothing to write");
    run(&link);
    assert!(link.must_yield() && !link.must_yield());
    link.wrote();
    assert!(link.must_yield(), "before the next write again");
    link.wrote();
    link.has_yielded();
    assert!(!link.must_yield());
    link.wrote_part();
    assert!(!link.stage().is_flushed() && link.must_yield());
    link.caught_up();
    assert!(link.stage().is_flushed());
}

#[test]
fn a_task_is_woken_at_the_end_of_a_request_if_something_waits_for_it() {
    let link = link();
    let woken = watched(&link);
    // The task is the same all the time.
    watched(&link);
    let ends = |with: &dyn Fn()| {
        let before = woken.times();
        run(&link);
        with();
        link.answered();
        link.flushed();
        woken.times() - before
    };
    assert_eq!(ends(&|| ()), 0);
    assert_eq!(ends(&|| link.awaited.end_if(true)), 1);
    assert_eq!(ends(&|| link.awaited.end_if(false)), 0, "the next request awaits nothing");
    assert_eq!(ends(&|| link.awaited.flush()), 0);
    assert!(link.awaited.is_flush());
    link.awaited.clear();
    assert!(!link.awaited.is_flush());
    assert_eq!(ends(&|| link.common.stop.drain()), 1);
}

#[test]
fn a_deadline_ends_with_its_request() {
    let link = link();
    let at = Instant::now() + Duration::from_secs(3);
    link.wait_until(Some(at));
    assert_eq!((link.waits_until(), link.deadline.is_passed()), (Some(at), false));
    link.deadline.pass();
    assert_eq!((link.waits_until(), link.deadline.is_passed()), (None, true));
    link.head_given(Instant::now(), Instant::now());
    assert_eq!((link.waits_until(), link.deadline.is_passed()), (None, false));
    link.wait_until(Some(at));
    link.wait_until(None);
    assert_eq!(link.waits_until(), None);
}

#[test]
fn buffers_are_given_back_once_each_time() {
    let link = link();
    assert!(!link.takes_parking());
    link.park();
    assert!(link.takes_parking() && !link.takes_parking());
    assert!(!link.ends_body());
    link.set_ends_body();
    assert!(link.ends_body());
}

/// The engine would write before what was written earlier, or the descriptor stay open.
#[test]
fn a_socket_is_given_once_to_a_response_that_asks_for_it_and_still_wants_it() {
    let link = link();
    let socket = || File::open("/proc/self/exe").map(OwnedFd::from);
    link.give_socket(|| panic!("nobody asks"));
    assert!(link.ask_for_socket().is_none() && link.awaited.is_flush());
    assert!(link.ask_for_socket().is_none(), "it waits");
    link.keep_socket();
    link.give_socket(|| panic!("nobody asks any more"));
    assert!(link.ask_for_socket().is_none());
    link.give_socket(socket);
    link.give_socket(|| panic!("it is there"));
    assert!(link.ask_for_socket().is_some_and(|socket| socket.is_ok()));
    assert!(link.ask_for_socket().is_none(), "it was given");
    link.give_socket(socket);
    link.keep_socket();
    assert!(link.ask_for_socket().is_none(), "it came too late");
}

#[test]
fn a_socket_that_an_engine_has_given_back_was_lent() {
    let link = link();
    let is = |is_lent, was_lent| assert_eq!((link.is_lent(), link.was_lent()), (is_lent, was_lent));
    is(false, false);
    link.set_lent(true);
    is(true, true);
    link.set_lent(false);
    is(false, true);
}

#[test]
fn a_response_is_in_the_access_log_when_it_is_written() {
    let (link, lines) = logged();
    run(&link);
    link.keep_until_flushed(record(&link, 200));
    link.flushed();
    assert!(link.pending.lock().answered.is_some(), "there is more to come");
    link.answered();
    link.flushed();
    assert!(link.pending.lock().answered.is_none());
    let written = wait_for(1, &lines);
    assert!(written[0].contains(" 200 ") && !written[0].contains(Fault::ClientGone.name()), "{written:?}");
    assert_eq!(written.len(), 1);
}

#[test]
fn a_response_that_is_not_written_to_its_end_is_logged_as_cut_off() {
    let gone = Fault::ClientGone.name();
    let (link, lines) = logged();
    run(&link);
    link.wrote_part();
    link.answered();
    link.keep_until_flushed(record(&link, 200));
    link.set_unwritten(5);
    link.end();
    let written = wait_for(1, &lines);
    assert!(written[0].contains(gone) && written[0].contains(" 200 2 "), "of 7 bytes: {written:?}");
    // All of it is written.
    let (link, lines) = logged();
    run(&link);
    link.answered();
    link.keep_until_flushed(record(&link, 200));
    link.end();
    assert!(!wait_for(1, &lines)[0].contains(gone), "{:?}", wait_for(1, &lines));
    // What went wrong before is the reason.
    let (link, lines) = logged();
    run(&link);
    link.wrote_part();
    link.answered();
    let mut stopped = record(&link, 200);
    stopped.fault = Fault::Stopping.name();
    link.keep_until_flushed(stopped);
    link.end();
    let written = wait_for(1, &lines);
    assert!(!written[0].contains(gone) && written[0].contains(Fault::Stopping.name()), "{written:?}");
}

/// A body that came slowly is no time of the application.
#[test]
fn a_request_that_was_cut_off_has_run_since_it_was_complete_and_had_waited() {
    let link = link();
    let mut record = record(&link, 200);
    record.received -= 3 * SOON;
    assert!(record.past().took_ms < SOON.as_secs_f64() * 1e3, "{:?}", record.past());
    record.complete -= 2 * SOON;
    record.queued = SOON;
    let seen = record.past();
    let times = [SOON, 2 * SOON].map(|time| time.as_secs_f64() * 1e3);
    assert!((times[0]..times[1]).contains(&seen.took_ms) && seen.queued_ms == times[0], "{seen:?}");
}

#[test]
fn who_cut_a_request_off_is_the_client_unless_the_server_stops_or_a_file_cannot_be_read() {
    let link = link();
    let by = || link.cut_by().name();
    let fails = |kind: io::ErrorKind| link.send_part(|_| Poll::Ready(Err(kind.into())));
    assert!(
        matches!(fails(io::ErrorKind::BrokenPipe), Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Other)
    );
    let file = Arc::new(File::open("/proc/self/exe").unwrap());
    let identity = || {
        let [id, method, path] = ["1", "GET", "/file"].map(str::to_owned);
        let identity = RequestIdentity { id, method, path, app: None };
        Some(Arc::new(BodyRequest::new(identity, Instant::now(), Duration::ZERO)))
    };
    link.add_part(Part::new(file.clone(), 0, 0), identity());
    link.add_part(Part::new(file, 0, 10), identity());
    // One part of a file after the other.
    let sent = link.send_part(|part| {
        assert!(part.is_sent());
        Poll::Ready(Ok(0))
    });
    assert!(matches!(sent, Poll::Ready(Ok(0))));
    let waits = link.send_part(|part| {
        assert!(!part.is_sent());
        Poll::Pending
    });
    assert!(waits.is_pending());
    assert_eq!(by(), Fault::ClientGone.name());
    assert!(matches!(fails(io::ErrorKind::BrokenPipe), Poll::Ready(Err(_))));
    assert_eq!(by(), Fault::ClientGone.name(), "an error of the socket");
    link.common.stop.drain();
    assert_eq!(by(), Fault::ClientGone.name());
    link.common.stop.now();
    link.common.stop.drain();
    assert_eq!(by(), Fault::Stopping.name(), "it is not taken back");
    assert!(matches!(fails(io::ErrorKind::UnexpectedEof), Poll::Ready(Err(_))));
    assert_eq!(by(), Fault::Broken(String::new()).name());
    assert!(!link.set_file_broken(), "it is in the log");
}

#[test]
fn an_upgrade_is_passed_on_once_and_ends_with_its_connection() {
    let upgraded = || Upgraded {
        head: bytes::Bytes::new(),
        duplex: engine::body::duplex(16).0,
        reply: None,
        record: None,
        tracker: Tracker::after_handshake(),
    };
    let link = link();
    run(&link);
    assert!(link.take_upgraded().is_none());
    link.upgrade(upgraded());
    assert!(link.stage().is_upgraded());
    assert!(link.take_upgraded().is_some() && link.take_upgraded().is_none());
    link.upgrade(upgraded());
    let epoch = link.out_of_band.epoch();
    link.end();
    assert!(link.take_upgraded().is_none());
    link.out_of_band.leave(epoch, |_| panic!("it would be kept for ever"));
}

#[test]
fn a_connection_has_its_own_number_and_is_known_by_it() {
    let link = link();
    let peer = "192.0.2.1:80".parse().unwrap();
    let other = connected(&link.common, Peer::new(Some(peer), None));
    assert_ne!(Evictable::number(&*link), Evictable::number(&*other));
    assert_eq!((Evictable::remote(&*link), Logged::remote(&*link)), (None, None));
    assert_eq!((Evictable::remote(&*other), Logged::remote(&*other)), (Some(peer), Some(peer)));
    assert_eq!(Logged::cut_by(&*other).name(), Fault::ClientGone.name());
}
