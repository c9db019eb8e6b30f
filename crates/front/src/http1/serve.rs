//! One connection from its socket to its close: hyper over our wire, then, when hyper is done, the response to a
//! refused head, the relay of an upgraded connection, or a close that loses no response.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;

use crate::connection::link::{Common, Link};
use crate::http1::refused;
use crate::http1::service;
use crate::http1::upgrade;
use crate::http1::wire::Wire;
use crate::limits::Limits;
use crate::transport::socket::Socket;

/// Size of hyper's buffer: its default. hyper accepts no less than 8 KiB.
const BUFFER_BYTES: usize = 400 * 1024;
/// After the last response, input is read and discarded (RFC 9112 section 9.6) until none has come for this long.
const LINGER_PAUSE: Duration = Duration::from_secs(2);
/// Maximum time for that, as in nginx and Apache: many clients read a response only after they have sent all of their
/// body.
const LINGER_TIME: Duration = Duration::from_secs(30);

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Finished,
    Cut,
}

/// hyper's settings. The wire limits time and size of heads before hyper sees them.
pub(crate) fn http(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.keep_alive(!limits.keep_alive.is_zero());
    builder.header_read_timeout(None).max_buf_size(BUFFER_BYTES.max(limits.header_bytes + 64 * 1024));
    if limits.header_count > 100 {
        builder.max_headers(limits.header_count);
    }
    builder
}

/// What a connection has come to.
enum Turn {
    /// hyper is done.
    Ended(hyper::Result<()>),
    /// It leaves HTTP, and everything of earlier responses is out.
    Upgraded,
    /// It has been idle for long enough to give its buffers back.
    Parked,
    /// All connections are to be cut off.
    Cut,
}

/// Serves a connection to its end. One that is idle is parked: it has no hyper and no buffers, which are most of what a
/// connection takes, until something comes.
pub(crate) async fn serve(socket: Socket, common: Arc<Common>) -> End {
    let _open = common.settings.counts.connection();
    // What a client has sent before it reset its connection could still be read. But its address is unknown by then,
    // and an application may take a client without an address for one on this machine, and trust it.
    let Ok(peer) = socket.peer() else { return End::Finished };
    let link = Link::new(common.clone(), peer, &socket);
    let _ending = Ending(&link);
    let wire = Wire::new(socket, link.clone());
    serve_turns(&link, wire).await
}

/// The end of a connection, which comes also when its task is dropped, or panics.
struct Ending<'a>(&'a Link);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.common.connections.remove(self.0);
        self.0.end();
    }
}

async fn serve_turns(link: &Arc<Link>, mut wire: Wire) -> End {
    loop {
        if until_stopped(link, poll_fn(|cx| wire.poll_parked(cx))).await.is_none() {
            return End::Cut;
        }
        // The connection ends between two requests, or before the first: hyper is not needed. At a shutdown, thousands
        // of idle connections would each get its buffers for that.
        if wire.is_ended() {
            return Box::pin(close(link, wire, Ok(()))).await;
        }
        let (turn, io, unused) = exchange(link, wire).await;
        wire = io;
        match turn {
            Turn::Parked => wire.park(&unused),
            Turn::Cut => {
                reset_if_incomplete(link, &mut wire);
                return End::Cut;
            }
            // These end a connection, and would make the task of every other one larger.
            Turn::Upgraded => {
                let early = unused.to_vec();
                // It keeps all of hyper's read buffer, however little is in it.
                drop(unused);
                return Box::pin(relay(link, wire, early)).await;
            }
            Turn::Ended(ended) => return Box::pin(close(link, wire, ended)).await,
        }
    }
}

/// Lets hyper work until there is something else to do: what, the wire, and what hyper has read and not used.
async fn exchange(link: &Arc<Link>, wire: Wire) -> (Turn, Wire, Bytes) {
    let theirs = link.clone();
    let service = service_fn(move |request| service::answer(theirs.clone(), request));
    let mut http = Box::new(link.common.http.serve_connection(wire, service));
    let turn = poll_fn(|cx| {
        let mut polled = Pin::new(&mut *http).poll(cx);
        // After a request with an Upgrade header, hyper ends without writing what it has; polled again it does that.
        if matches!(polled, Poll::Ready(Ok(()))) && link.stage().is_unwritten() {
            polled = Pin::new(&mut *http).poll(cx);
        }
        if let Poll::Ready(ended) = polled {
            return Poll::Ready(Turn::Ended(ended));
        }
        let stage = link.stage();
        if stage.is_upgraded() && stage.is_flushed() {
            return Poll::Ready(Turn::Upgraded);
        }
        if link.takes_parking() { Poll::Ready(Turn::Parked) } else { Poll::Pending }
    });
    let turn = until_stopped(link, turn).await.unwrap_or(Turn::Cut);
    let parts = http.into_parts();
    (turn, parts.io, parts.read_buf)
}

/// Runs `work`; returns `None` if all connections are to be cut off. A drain or an eviction only wakes the task; wire
/// and service check for themselves.
async fn until_stopped<T>(link: &Link, work: impl Future<Output = T>) -> Option<T> {
    let stop = &link.common.stop;
    let mut work = pin!(work);
    let mut changed = pin!(stop.changed());
    let mut is_registered = false;
    poll_fn(|cx| {
        // Registered once, to stay off the hot path. Each notification ends the registration, and a drain may be
        // requested several times before all connections are to be cut off: during a drain it is renewed at each poll.
        if !is_registered || stop.is_draining() {
            is_registered = true;
            while changed.as_mut().poll(cx).is_ready() {
                changed.set(stop.changed());
            }
        }
        if stop.is_now() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Relays an upgraded connection between client and application.
async fn relay(link: &Arc<Link>, mut wire: Wire, mut early: Vec<u8>) -> End {
    let Some(upgraded) = link.take_upgraded() else { return End::Finished };
    early.extend(wire.take_held());
    let relay = upgrade::relay(link, &wire.socket, early, upgraded);
    let relayed = until_stopped(link, relay).await;
    if relayed == Some(true) {
        linger(link, &mut wire, LINGER_PAUSE).await;
    } else {
        reset_if_incomplete(link, &mut wire);
    }
    if relayed.is_some() { End::Finished } else { End::Cut }
}

/// Closes a connection after hyper is done, because of an error or because the wire reported the end of input.
async fn close(link: &Arc<Link>, mut wire: Wire, ended: hyper::Result<()>) -> End {
    if let Some((status, why)) = refusal(&wire, &ended) {
        let text = refused::answer(link, wire.head(), link.since(), status, &why);
        // It is no answer of an application, and such a connection is not evicted: a client that does not take it soon
        // goes without it.
        let time = link.common.settings.limits.write_time.min(LINGER_PAUSE);
        let write = upgrade::write(&wire.socket, &text, time);
        if !matches!(until_stopped(link, write).await, Some(Ok(()))) {
            return End::Finished;
        }
    } else {
        if !wire.head().is_empty() {
            refused::gone(link, wire.head(), link.since());
        }
        if let Err(error) = ended {
            tracing::debug!(target: "front", "connection ended: {error}");
            reset_if_incomplete(link, &mut wire);
            return End::Finished;
        }
    }
    if !wire.is_ended() && !link.closes_for_eviction() && (wire.refusal.is_some() || wire.has_leftovers()) {
        let most_time = LINGER_TIME.min(link.common.settings.limits.body_time);
        linger(link, &mut wire, most_time).await;
    }
    End::Finished
}

/// Waits for the client to close, within limits, and discards what it still sends. No response is owed to it any more.
async fn linger(link: &Arc<Link>, wire: &mut Wire, most_time: Duration) {
    link.closing();
    let began = Instant::now();
    let mut linger = pin!(upgrade::linger(&mut wire.socket, LINGER_PAUSE, most_time));
    let linger = poll_fn(|cx| {
        // Otherwise a client that keeps sending would delay a shutdown.
        if link.common.stop.is_draining() && began.elapsed() >= LINGER_PAUSE {
            return Poll::Ready(());
        }
        if link.is_evicted() {
            link.confirm_eviction();
            return Poll::Ready(());
        }
        linger.as_mut().poll(cx)
    });
    let _ = until_stopped(link, linger).await;
}

/// Makes the connection end with a reset if its end would otherwise tell the client that the body is complete.
fn reset_if_incomplete(link: &Link, wire: &mut Wire) {
    if link.ends_body() {
        wire.reset_when_dropped();
    }
}

/// Status and reason of a refused head: refused by the wire, or, if the wire missed something, by hyper.
fn refusal(wire: &Wire, ended: &hyper::Result<()>) -> Option<(StatusCode, String)> {
    if let Some(refusal) = wire.refusal {
        return Some((refusal.status, refusal.why.to_owned()));
    }
    let error = ended.as_ref().err().filter(|error| error.is_parse())?;
    let status = StatusCode::BAD_REQUEST;
    let status = if error.is_parse_too_large() { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE } else { status };
    Some((status, error.to_string().replace(['"', '\\'], "'")))
}
