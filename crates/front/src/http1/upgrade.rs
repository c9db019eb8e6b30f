//! A connection that leaves HTTP: after a head (upgrade, partial hijack) or without one (full hijack), its bytes are
//! relayed between the socket and the application until both directions have ended.

use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Duplex, Fault, Sink, Source};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::connection::link::Link;
use crate::connection::upgraded::Upgraded;
use crate::log::record::Record;
use crate::parse::websocket::{self, Tracker};
use crate::transport::socket::Socket;

/// Bytes read at once after the last response.
const READ_BYTES: usize = 16 * 1024;
/// Time for a client to answer a close frame, and for an application to end.
const CLOSE_TIME: Duration = Duration::from_secs(1);
/// Interval at which a relay that waits for its client checks whether the server, or the worker, shuts down.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// State shared by the two directions of a relay.
#[derive(Default)]
struct RelayState {
    /// The application has sent everything.
    has_app_ended: AtomicBool,
    /// The client has sent everything, or is gone.
    has_client_ended: AtomicBool,
    /// Input from the client is relayed no more.
    is_over: AtomicBool,
    /// Bytes sent to the client.
    sent: AtomicU64,
    changed: Notify,
}

impl RelayState {
    fn set(&self, flag: &AtomicBool) {
        flag.store(true, SeqCst);
        self.changed.notify_waiters();
    }

    async fn wait(&self, flag: &AtomicBool) {
        loop {
            let changed = self.changed.notified();
            if flag.load(SeqCst) {
                return;
            }
            changed.await;
        }
    }
}

/// The data for the access log entry of a relay, also of one that is cut off.
struct RelayRecord<'a> {
    record: Option<Box<Record>>,
    link: &'a Link,
    state: &'a RelayState,
}

impl Drop for RelayRecord<'_> {
    fn drop(&mut self) {
        let Some(record) = &mut self.record else { return };
        record.bytes = self.state.sent.load(SeqCst);
        if !record.is_over {
            record.fault = self.link.cut_by().name();
        }
    }
}

/// Relays until both directions have ended, or until the connection is closed because the server, or the application's
/// worker, shuts down. `early` holds the bytes that the client sent before that. Returns whether the application has
/// ended its output, and all of it was relayed.
pub(crate) async fn relay(link: &Link, socket: &Socket, early: Vec<u8>, upgraded: Upgraded) -> bool {
    let Upgraded { head, duplex, reply, record, tracker } = upgraded;
    let Duplex { incoming: from_app, outgoing: to_app } = duplex;
    let state = RelayState::default();
    let mut relay_record = RelayRecord { record, link, state: &state };
    let from_client = client_to_app(socket, early, to_app, &state);
    let to_client = async {
        let state = &state;
        let (closes_at, is_closed_by_us, is_whole, fault) = (None, false, false, "");
        let mut to_client =
            AppToClient { link, socket, from_app, tracker, state, closes_at, is_closed_by_us, is_whole, fault };
        to_client.run(head).await;
        (if to_client.is_closed_by_us { "going_away" } else { to_client.fault }, to_client.is_whole)
    };
    // The application may continue after the connection has ended; its reply is kept until it is done.
    let running = async {
        if let Some(reply) = reply {
            reply.await;
        }
    };
    let ((), (fault, is_whole), ()) = tokio::join!(from_client, to_client, running);
    if let Some(record) = &mut relay_record.record {
        record.is_over = true;
        record.fault = fault;
    }
    is_whole
}

/// Relays from the client to the application, until the client ends, the application has closed both directions, or the
/// relay is over.
async fn client_to_app(socket: &Socket, early: Vec<u8>, to_app: Sink, state: &RelayState) {
    // An application that reads nothing must not hold the connection of a client that has gone.
    let send = async |bytes| {
        tokio::select! {
            sent = to_app.send(bytes) => sent.is_ok(),
            () = state.wait(&state.is_over) => false,
        }
    };
    if early.is_empty() || send(Bytes::from(early)).await {
        loop {
            let app_closes = async {
                to_app.gone().await;
                state.wait(&state.has_app_ended).await;
            };
            let read = tokio::select! {
                read = socket.read_some() => read,
                () = state.wait(&state.is_over) => {
                    to_app.finish();
                    break;
                }
                () = app_closes => break,
            };
            match read {
                Ok(bytes) if bytes.is_empty() => {
                    to_app.finish();
                    break;
                }
                Ok(bytes) => {
                    if !send(bytes).await {
                        break;
                    }
                }
                Err(_) => {
                    to_app.fail(Fault::ClientGone);
                    break;
                }
            }
        }
    }
    state.set(&state.has_client_ended);
}

/// Relay from the application to the client.
struct AppToClient<'a> {
    link: &'a Link,
    socket: &'a Socket,
    from_app: Source,
    tracker: Tracker,
    state: &'a RelayState,
    /// Time at which it is to be closed, once the server, or the application's worker, shuts down.
    closes_at: Option<Instant>,
    is_closed_by_us: bool,
    /// The application has ended its output, and all of it is relayed.
    is_whole: bool,
    /// Name of the fault that has broken the output off, or empty.
    fault: &'static str,
}

enum Next {
    Bytes(Bytes),
    End,
    /// The server, or the application's worker, shuts down.
    Close,
}

impl AppToClient<'_> {
    async fn run(&mut self, head: Bytes) {
        if self.write(&head).await.is_ok() && self.until_closing().await {
            self.close().await;
        }
        self.state.set(&self.state.has_app_ended);
        if self.link.ends_body() && !self.is_whole {
            // The client would take the end of the output for that of the body: the connection is reset instead.
            self.state.set(&self.state.is_over);
        } else {
            // A client that has only half-closed learns here that nothing more will come.
            self.socket.end_output();
            self.until_input_ends().await;
        }
    }

    /// Waits until the client, or the application, has ended the input. An application that has ended its output may
    /// read on for any time, so the input ends when the connection is to be closed. One that has closed its socket is
    /// gone within [`CLOSE_TIME`].
    async fn until_input_ends(&mut self) {
        let ended = Instant::now();
        let AppToClient { link, from_app, closes_at, state, .. } = self;
        let closing = async {
            while closes_at.is_none() {
                if link.common.stop.is_draining() || from_app.is_leaving() {
                    *closes_at = Some(closing_time(link));
                } else {
                    tokio::time::sleep(CHECK_INTERVAL).await;
                }
            }
            until(closes_at.map(|at| at.max(ended + CLOSE_TIME))).await;
        };
        tokio::select! {
            () = state.wait(&state.has_client_ended) => {}
            () = closing => state.set(&state.is_over),
        }
    }

    /// Relays until the stream ends, or the connection is to be closed, for which it returns true. Connections are
    /// closed at random times within the drain time and not all at once, since their clients reconnect.
    async fn until_closing(&mut self) -> bool {
        loop {
            let closes_at = self.closes_at;
            let next = tokio::select! {
                next = self.next(closes_at.is_none()) => next,
                () = until(closes_at) => return true,
            };
            match next {
                Next::End => return false,
                Next::Close => self.closes_at = Some(closing_time(self.link)),
                Next::Bytes(bytes) => {
                    if self.relay(&bytes).await.is_err() {
                        return false;
                    }
                }
            }
        }
    }

    /// The next chunk of the application, its end, or, if `asks`, the request to close. Checked at each poll.
    async fn next(&mut self, asks: bool) -> Next {
        let stop = &self.link.common.stop;
        let AppToClient { from_app, is_whole, fault, .. } = self;
        poll_fn(|cx| match from_app.poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => Poll::Ready(Next::Bytes(bytes)),
            Poll::Ready(Some(Err(found))) => {
                *fault = found.name();
                Poll::Ready(Next::End)
            }
            Poll::Ready(None) => {
                *is_whole = fault.is_empty();
                Poll::Ready(Next::End)
            }
            // A stop wakes this task.
            Poll::Pending if asks && (stop.is_draining() || from_app.is_leaving()) => Poll::Ready(Next::Close),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Closes by the protocol: a WebSocket between two frames, with status 1001, which its client answers; any other
    /// connection by ending the client's input, upon which the application can end in order.
    async fn close(&mut self) {
        self.is_closed_by_us = true;
        let ends = Instant::now() + CLOSE_TIME;
        while self.tracker.is_within_frame() {
            let Some(bytes) = self.next_until(ends).await else { return };
            // An application that always has more to send begins the next frame in the same chunk.
            let count = self.tracker.take_to_gap(&bytes);
            if self.send(&bytes[..count]).await.is_err() {
                return;
            }
        }
        if !self.tracker.is_between_frames() {
            self.state.set(&self.state.is_over);
            while let Some(bytes) = self.next_until(ends).await {
                if self.relay(&bytes).await.is_err() {
                    return;
                }
            }
            return;
        }
        if self.write(&websocket::GOING_AWAY).await.is_err() {
            return;
        }
        // The application reads the client's close frame and ends. The client then waits for the server to close the
        // connection (RFC 6455 section 7.1.1).
        let state = self.state;
        tokio::select! {
            () = state.wait(&state.has_client_ended) => {}
            () = self.until_app_ends() => {}
            () = until(Some(ends)) => state.set(&state.is_over),
        }
    }

    /// Discards the application's output until it ends. Nothing may be sent after the close frame.
    async fn until_app_ends(&mut self) {
        while matches!(self.next(false).await, Next::Bytes(_)) {}
    }

    /// The next chunk of the application; `None` after the last. If none comes until `ends`, the relay is over.
    async fn next_until(&mut self, ends: Instant) -> Option<Bytes> {
        let next = tokio::select! {
            next = self.next(false) => next,
            () = until(Some(ends)) => {
                self.state.set(&self.state.is_over);
                return None;
            }
        };
        if let Next::Bytes(bytes) = next { Some(bytes) } else { None }
    }

    async fn relay(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tracker.take(bytes);
        self.send(bytes).await
    }

    /// Sends bytes that the tracker has followed.
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes).await?;
        self.state.sent.fetch_add(bytes.len() as u64, SeqCst);
        Ok(())
    }

    /// Writes all bytes. If that fails, the client is gone or takes nothing any more: the relay is over in both
    /// directions. The same holds for a client that has not taken them by the time of closing.
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let write_time = self.link.common.settings.limits.write_time;
        let socket = self.socket;
        let AppToClient { link, from_app, closes_at, .. } = self;
        let cut = async {
            if closes_at.is_none() {
                // Checked at each poll, since a stop wakes this task, and at each interval.
                let leaves = || link.common.stop.is_draining() || from_app.is_leaving();
                loop {
                    let leaving = poll_fn(|_| if leaves() { Poll::Ready(()) } else { Poll::Pending });
                    if timeout(CHECK_INTERVAL, leaving).await.is_ok() {
                        break;
                    }
                }
                *closes_at = Some(closing_time(link));
            }
            until(closes_at.map(|at| at + CLOSE_TIME)).await;
        };
        let wrote = tokio::select! {
            // The client takes most parts at once: then no timer is set.
            biased;
            wrote = write(socket, bytes, write_time) => wrote,
            () = cut => {
                self.is_closed_by_us = true;
                Err(io::ErrorKind::TimedOut.into())
            }
        };
        if wrote.is_err() {
            self.state.set(&self.state.is_over);
        }
        wrote
    }
}

/// A random time within the drain time.
fn closing_time(link: &Link) -> Instant {
    Instant::now() + link.common.settings.limits.websocket_drain.mul_f64(share())
}

/// Sleeps until this time; for ever without one.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// A random number from 0 to 1.
fn share() -> f64 {
    f64::from(u32::from_be_bytes(uuid::Uuid::new_v4().as_bytes()[..4].try_into().unwrap_or_default()))
        / f64::from(u32::MAX)
}

/// Writes all bytes; fails if the client takes none of them for `write_time`.
pub(crate) async fn write(socket: &Socket, mut bytes: &[u8], write_time: Duration) -> io::Result<()> {
    while !bytes.is_empty() {
        let wrote = timeout(write_time, poll_fn(|cx| socket.poll_write_some(cx, bytes))).await;
        // The client may have read too little for the event loop to report room in the socket.
        let count = wrote.unwrap_or_else(|_| socket.write_now(bytes))?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[count..];
    }
    Ok(())
}

/// Closes the connection so that the last response arrives: a socket closed with unread input is reset, and the reset
/// can overtake the response. So input is read and discarded until the client closes, or has sent nothing for the time
/// `pause`, but for `most_time` at most.
pub(crate) async fn linger(socket: &mut Socket, pause: Duration, most_time: Duration) {
    let ends = Instant::now() + most_time;
    let mut buffer = vec![0; READ_BYTES];
    if socket.shutdown().await.is_err() {
        return;
    }
    let left = || ends.saturating_duration_since(Instant::now());
    while let Ok(Ok(1..)) = timeout(pause.min(left()), socket.read(&mut buffer)).await {
        // With no time left, `timeout` still returns input that has already arrived.
        if left().is_zero() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_closed_all_over_the_drain_time() {
        let shares: Vec<f64> = (0..400).map(|_| share()).collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
        for from in [0.0, 0.25, 0.5, 0.75] {
            assert!(shares.iter().any(|share| (from..from + 0.25).contains(share)), "from {from}: {shares:?}");
        }
    }
}
