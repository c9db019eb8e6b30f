//! The socket as hyper sees it, with what hyper cannot do: a head is checked before hyper gets it in one piece, bytes
//! of the next request are held back, slow heads and slow readers time out by one timer per connection, and early hints
//! are written between responses. Where the wire refuses something, hyper sees the end of input, and `serve.rs` sends
//! the response. If hyper itself refuses a head, its output is discarded and the response is made in the same place.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use http::StatusCode;
use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::link::Link;
use crate::connection::state::{Stage, Step};
use crate::parse::input_buffer::InputBuffer;
use crate::parse::refusal::Refusal;
use crate::transport::deadline_timer::DeadlineTimer;
use crate::transport::sendfile;
use crate::transport::socket::Socket;

/// Bytes read from a socket at once.
const READ_BYTES: usize = 32 * 1024;
/// Bytes of pipelined requests held while one is being answered; the rest stays in the kernel.
const AHEAD_BYTES: usize = 32 * 1024;
/// While draining, time after its opening or last response in which a connection may still bring a request: one that
/// was sent before the client could know of the shutdown must be answered.
const FRESH_TIME: Duration = Duration::from_secs(1);
/// An idle connection gives its buffers back after this. Long beside the time between two requests of a busy client, so
/// that it costs a client nothing but the first request after a pause.
const PARK_TIME: Duration = Duration::from_millis(500);
/// Time for which a request continues after its client has closed its side, which may only mean that it has sent
/// everything, and after each write to such a client.
const HALF_CLOSED_TIME: Duration = Duration::from_millis(100);
/// How often the service is asked for the response after that time. Where other tasks have held up the thread, those
/// that bring the response, one that reads from a worker and one that fills the spool, may run only after this one.
const LAST_LOOKS: u8 = 3;

thread_local! {
    /// Read buffer, used until it is known where the bytes belong: one per thread instead of per connection.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into_boxed_slice());
}

/// A connection below hyper.
pub(crate) struct Wire {
    pub(crate) socket: Socket,
    link: Arc<Link>,
    held: InputBuffer,
    incoming: InputState,
    /// Number of times that a client which has closed its side was found to be out of time, up to [`LAST_LOOKS`].
    looks: u8,
    /// The refusal of a head.
    pub(crate) refusal: Option<Refusal>,
    timer: DeadlineTimer,
    /// Early hints being written.
    hints: Vec<u8>,
    /// Whether the connection ends with a reset.
    is_reset: bool,
}

/// Whether more input may come from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputState {
    Open,
    /// The client has closed its side, or its input is ignored.
    Ended,
    /// The client has closed its side while its request continues; time when this was noticed, or of the last write.
    HalfClosed(Instant),
}

impl Wire {
    pub(crate) fn new(socket: Socket, link: Arc<Link>) -> Wire {
        Wire {
            socket,
            link,
            held: InputBuffer::default(),
            incoming: InputState::Open,
            looks: 0,
            refusal: None,
            timer: DeadlineTimer::default(),
            hints: Vec::new(),
            is_reset: false,
        }
    }

    /// Takes the bytes that arrived and that hyper did not get.
    pub(crate) fn take_held(&mut self) -> Vec<u8> {
        self.held.take_rest()
    }

    /// Whether no more input comes, or is wanted.
    pub(crate) fn is_ended(&self) -> bool {
        self.incoming != InputState::Open
    }

    /// Whether there is, or will be, input that is never read.
    pub(crate) fn has_leftovers(&self) -> bool {
        !self.held.rest().is_empty() || !self.held.is_at_a_head() || self.socket.has_unread()
    }

    /// Makes the end of the connection an error for the client, as far as its kind allows that.
    pub(crate) fn reset_when_dropped(&mut self) {
        self.is_reset = true;
        self.socket.reset_when_dropped();
    }

    /// The bytes of a head that hyper does not get, if any.
    pub(crate) fn head(&self) -> &[u8] {
        if matches!(self.link.stage(), Stage::Head | Stage::Refused) { self.held.rest() } else { &[] }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>, cursor: &mut ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.link.set_waker(cx.waker());
        let stage = self.link.stage();
        if stage.is_unwritten() {
            // The next request waits until the last response is written: hyper drops unwritten output when it sees the
            // end of input, and a bad head ends the connection.
            self.link.awaited.flush();
            return Poll::Pending;
        }
        if matches!(stage, Stage::Request(Step::Answered, _)) {
            self.link.flushed();
        }
        loop {
            if self.give(cursor)? || self.refusal.is_some() {
                return Poll::Ready(Ok(()));
            }
            if self.is_ended() {
                return if self.hides_end(cx) { Poll::Pending } else { Poll::Ready(Ok(())) };
            }
            if self.link.stage().is_busy() && self.held.rest().len() >= AHEAD_BYTES {
                return self.pending(cx);
            }
            match self.fill(cx, cursor)? {
                Poll::Ready(true) => return Poll::Ready(Ok(())),
                Poll::Ready(false) => {}
                Poll::Pending => return self.pending(cx),
            }
        }
    }

    /// Whether the end of input must be hidden from hyper for now: hyper would drop the request, whose response may be
    /// wanted. Further requests may be held behind it.
    fn hides_end(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.link.stage().is_busy() || !self.held.is_at_a_head() {
            return false;
        }
        self.link.awaited.end_if(true);
        let since = match self.incoming {
            // A client that is being sent its response is waited for as any other: the time to write is limited.
            InputState::HalfClosed(since) if self.link.stage().is_flushed() && !self.link.is_lent() => since,
            _ => Instant::now(),
        };
        self.incoming = InputState::HalfClosed(since);
        if !self.timer.is_over(cx, since + HALF_CLOSED_TIME) {
            self.looks = 0;
            return true;
        }
        if self.looks == LAST_LOOKS {
            return false;
        }
        // hyper asks the service right afterwards, and sees the end if that has nothing.
        self.looks += 1;
        cx.waker().wake_by_ref();
        true
    }

    /// Gives hyper what it may have. Returns whether that was anything.
    fn give(&mut self, cursor: &mut ReadBufCursor<'_>) -> io::Result<bool> {
        if self.held.rest().is_empty() {
            return Ok(false);
        }
        if self.held.is_at_a_head() && !self.link.stage().is_busy() {
            self.scan_head();
        }
        self.held.give(cursor).map_err(|refusal| {
            self.link.set_malformed(refusal);
            io::Error::new(io::ErrorKind::InvalidData, refusal.why)
        })
    }

    fn scan_head(&mut self) {
        let began = if self.link.stage() == Stage::Head {
            self.link.since()
        } else if self.held.begins_a_head() {
            Instant::now()
        } else {
            return;
        };
        match self.held.scan(&self.link.common.settings.limits) {
            Ok(false) => self.link.head_began(began),
            Ok(true) => {
                let is_in_one_piece = self.link.stage() != Stage::Head;
                self.link.head_given(began, if is_in_one_piece { began } else { Instant::now() });
            }
            Err(refusal) => self.refuse(refusal, began),
        }
    }

    #[cold]
    fn refuse(&mut self, refusal: Refusal, began: Instant) {
        self.refusal = Some(refusal);
        self.link.head_refused(began);
    }

    /// Reads available input. Returns whether hyper got any of it.
    fn fill(&mut self, cx: &mut Context<'_>, cursor: &mut ReadBufCursor<'_>) -> io::Result<Poll<bool>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            if Pin::new(&mut self.socket).poll_read(cx, &mut buffer)?.is_pending() {
                return Ok(Poll::Pending);
            }
            let bytes: &[u8] = buffer.filled();
            if bytes.is_empty() {
                self.incoming = InputState::Ended;
                return Ok(Poll::Ready(false));
            }
            let count = self.held.pass(bytes, cursor);
            self.held.add(&bytes[count..]);
            // Recorded here: while a body comes faster than it is stored, there is always something to read.
            self.link.body_goes_on();
            Ok(Poll::Ready(count > 0))
        })
    }

    /// Gives all buffers back until more comes. hyper has read these bytes and not used them.
    pub(crate) fn park(&mut self, unused: &[u8]) {
        self.held.give_back(unused);
        self.hints = Vec::new();
    }

    /// Whether a parked connection has something to read, or is to end.
    pub(crate) fn poll_parked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.link.set_waker(cx.waker());
        if !self.held.rest().is_empty() || self.socket.poll_read_ready(cx).is_ready() {
            return Poll::Ready(());
        }
        // Whatever it is, hyper's next wire sees the same.
        self.pending_between(cx, self.link.stage()).map(|_| ())
    }

    /// Nothing can be read now: sets the timer to the time until which that is acceptable.
    fn pending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stage = self.link.stage();
        if matches!(stage, Stage::Request(..)) {
            return self.pending_while_busy(cx);
        }
        if self.pending_between(cx, stage).is_ready() {
            return Poll::Ready(Ok(()));
        }
        self.park_when_idle(cx);
        Poll::Pending
    }

    /// Parks a connection that has been idle for long enough, or as long as it may; otherwise sets the timer to then.
    fn park_when_idle(&mut self, cx: &mut Context<'_>) {
        let is_idle = matches!(self.link.stage(), Stage::Opened | Stage::Idle) && self.held.rest().is_empty();
        let time = PARK_TIME.min(self.link.common.settings.limits.keep_alive);
        if is_idle && self.timer.is_over(cx, self.link.since() + time) {
            self.link.park();
        }
    }

    /// Waits for a head, or for the rest of one; ready when it is waited for no longer.
    fn pending_between(&mut self, cx: &mut Context<'_>, stage: Stage) -> Poll<io::Result<()>> {
        let limits = &self.link.common.settings.limits;
        let since = self.link.since();
        let mut until = since + if stage == Stage::Idle { limits.keep_alive } else { limits.header_time };
        let is_between = matches!(stage, Stage::Opened | Stage::Idle);
        if is_between && self.link.common.stop.is_draining() {
            until = until.min(since + FRESH_TIME);
        }
        // Input in the kernel is a request: its event is on the way.
        let is_evicted = self.link.is_evicted() && !self.socket.has_unread();
        // The same after the time is over: other tasks of this thread may have kept this one from reading in time.
        let is_over = self.timer.is_over(cx, until) && !(is_between && self.socket.has_unread());
        if !is_evicted && !is_over {
            return Poll::Pending;
        }
        if is_evicted {
            self.link.confirm_eviction();
        }
        if stage == Stage::Head {
            let why = match is_evicted {
                true => "there are no places for connections left, and the head of the request came slowly",
                false => "the head of the request did not arrive in time",
            };
            self.refuse(Refusal { status: StatusCode::REQUEST_TIMEOUT, why }, since);
        } else {
            self.incoming = InputState::Ended;
        }
        Poll::Ready(Ok(()))
    }

    /// hyper does not poll again by itself: neither when the service begins to wait, which happens after this, nor when
    /// a request ends. So the timer is always set to the shortest of the possible waits, and the task is woken at the
    /// end of the request if input is held back until then.
    fn pending_while_busy(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.link.awaited.end_if(self.is_ended() || !self.held.rest().is_empty());
        let is_body_expected = matches!(self.link.stage(), Stage::Request(Step::Body, _));
        if !self.held.is_at_a_head() && !is_body_expected {
            self.link.body_came();
        }
        let limits = &self.link.common.settings.limits;
        let time = limits.request_time.min(limits.body_time);
        // The state began before now: a timer that expires by then is early enough, and no clock need be read.
        let earliest = self.link.since() + time;
        let next_check = if self.timer.expires_by(earliest) { earliest } else { Instant::now() + time };
        let until = self.link.waits_until();
        if self.timer.is_over(cx, until.map_or(next_check, |until| until.min(next_check))) {
            // The service is polled right afterwards and sees it.
            self.link.deadline.pass();
        }
        Poll::Pending
    }

    /// Records the result of a write. Returns an error if the client has taken nothing for too long.
    fn wrote(&mut self, cx: &mut Context<'_>, wanted: usize, went: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(went) = went {
            match &went {
                Ok(count) if *count < wanted => self.link.wrote_part(),
                Ok(_) => self.link.wrote(),
                // The rest of the response stays unwritten.
                Err(_) => {}
            }
            if let InputState::HalfClosed(since) = &mut self.incoming {
                *since = Instant::now();
            }
            return Poll::Ready(went);
        }
        let since = self.link.stalled();
        let write_time = self.link.common.settings.limits.write_time;
        if self.link.is_evicted() || self.timer.is_over(cx, since + write_time) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client reads nothing")));
        }
        Poll::Pending
    }

    /// Tries to write once more before a client that seems to read nothing is let go: it may have read too little for
    /// the event loop to report room in the socket. Pending if the kernel takes no byte.
    fn write_now(&mut self, bytes: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let Some(first) = bytes.iter().find(|slice| !slice.is_empty()) else { return Poll::Pending };
        let went = if sendfile::is_placeholder(first) {
            self.link.send_part(|part| Poll::Ready(part.send(&self.socket, first.len())))
        } else {
            Poll::Ready(self.socket.write_now(first))
        };
        if matches!(went, Poll::Ready(Ok(_))) { went } else { Poll::Pending }
    }

    /// Returns the error with which a connection ends whose client takes nothing. It may end for another connection.
    fn let_go(&self, error: io::Error) -> io::Error {
        if self.link.is_evicted() {
            self.link.confirm_eviction();
        }
        error
    }

    /// Writes early hints, if there are any and no response is partly written.
    fn poll_hints(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.hints.is_empty() {
            if !self.link.out_of_band.has_items() || !self.link.stage().is_flushed() {
                return Poll::Ready(Ok(()));
            }
            self.hints = self.link.out_of_band.take_hints();
        }
        while !self.hints.is_empty() {
            let went = Pin::new(&mut self.socket).poll_write(cx, &self.hints);
            let went = match self.wrote(cx, 0, went) {
                // As with a response: see `write_now`.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::TimedOut => {
                    let count = self.socket.write_now(&self.hints).map_err(|_| self.let_go(error))?;
                    self.wrote(cx, 0, Poll::Ready(Ok(count)))
                }
                went => went,
            };
            let count = ready!(went)?;
            self.hints.drain(..count);
        }
        self.link.caught_up();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Wire {
    /// A process that an application has forked while its worker wrote to the socket has the socket, too: the client
    /// would never see the end of the connection, nor its reset.
    fn drop(&mut self) {
        if !self.link.was_lent() {
            return;
        }
        if self.is_reset {
            self.socket.reset_for_all();
        } else {
            self.socket.end_for_all();
        }
    }
}

impl hyper::rt::Read for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut cursor: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_bytes(cx, &mut cursor)
    }
}

impl hyper::rt::Write for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wanted = bytes.iter().map(|slice| slice.len()).sum();
        if this.link.stage().is_parsing() {
            return Poll::Ready(Ok(wanted));
        }
        this.link.set_unwritten(wanted);
        // A write wakes its reader, and on a busy machine the reader takes the processor at once, so that every request
        // that was ready would wait for every client. Reading and answering all of them first, then writing, gave a
        // sixth more requests per second at 64 clients, and two thirds of the p99 at 16 (docs/performance.md).
        if this.link.must_yield() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(this.poll_hints(cx))?;
        let went = match sendfile::before_placeholder(bytes) {
            count if count == bytes.len() => Pin::new(&mut this.socket).poll_write_vectored(cx, bytes),
            0 => this.link.send_part(|part| this.socket.poll_send_part(cx, part, bytes[0].len())),
            count => this.socket.poll_write_more(cx, &bytes[..count]),
        };
        let went = match this.wrote(cx, wanted, went) {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::TimedOut => {
                let went = this.write_now(bytes);
                if went.is_ready() { this.wrote(cx, wanted, went) } else { Poll::Ready(Err(this.let_go(error))) }
            }
            went => went,
        };
        if let Poll::Ready(Ok(count)) = went {
            this.link.set_unwritten(wanted - count);
        }
        went
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper calls this when its own buffer is empty.
        let this = self.get_mut();
        if this.hints.is_empty() {
            this.link.flushed();
            // hyper may not read again before the client sends something: a response that was there at once leaves no
            // other timer than that of its request.
            this.park_when_idle(cx);
        }
        if this.link.awaited.is_flush() {
            if this.hints.is_empty() {
                this.link.give_socket(|| this.socket.as_fd().try_clone_to_owned());
            }
            this.link.awaited.clear();
            cx.waker().wake_by_ref();
        }
        this.poll_hints(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The connection's task may have a response of its own to send before it closes.
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixStream;

    use super::*;
    use crate::connection::link::tests::{link, run};
    use crate::tests_support::block_on;

    /// One read of hyper: the number of bytes that it gets.
    fn poll_read(wire: &mut Wire, cx: &mut Context<'_>) -> Poll<usize> {
        let mut space = vec![0; READ_BYTES];
        let mut buffer = hyper::rt::ReadBuf::new(&mut space);
        let read = hyper::rt::Read::poll_read(Pin::new(wire), cx, buffer.unfilled());
        read.map(|read| {
            read.unwrap();
            buffer.filled().len()
        })
    }

    /// A thread that is held for longer than that time would otherwise drop a response that has come in time.
    #[test]
    fn the_response_to_a_client_that_has_closed_its_side_is_looked_for_when_its_time_is_over() {
        let link = link();
        run(&link);
        block_on(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            drop(theirs);
            let mut wire = Wire::new(Socket::Unix(ours), link);
            while !wire.is_ended() {
                assert!(poll_fn(|cx| Poll::Ready(poll_read(&mut wire, cx).is_pending())).await);
                tokio::task::yield_now().await;
            }
            let until = Instant::now() + 2 * HALF_CLOSED_TIME;
            while Instant::now() < until {
                std::thread::park_timeout(HALF_CLOSED_TIME);
            }
            // The timer has expired by the next turn of the event loop.
            tokio::task::yield_now().await;
            for look in 1..=3 {
                assert!(poll_fn(|cx| Poll::Ready(poll_read(&mut wire, cx).is_pending())).await, "{look}");
            }
            assert_eq!(poll_fn(|cx| poll_read(&mut wire, cx)).await, 0, "none has come");
        });
    }

    /// As where the network is faster than the disk. Its client must not be let go as a slow one.
    #[test]
    fn a_body_makes_progress_although_there_is_always_more_of_it_to_read() {
        let link = link();
        block_on(async {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut wire = Wire::new(Socket::Unix(ours), link.clone());
            let head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
            theirs.write_all(head).await.unwrap();
            assert_eq!(poll_fn(|cx| poll_read(&mut wire, cx)).await, head.len());
            link.head_parsed();
            assert!(poll_fn(|cx| Poll::Ready(poll_read(&mut wire, cx).is_pending())).await);
            assert!(matches!(link.stage(), Stage::Request(Step::Body, _)), "{:?}", link.stage());
            theirs.write_all(&[b'x'; 3 * READ_BYTES]).await.unwrap();
            for _ in 0..3 {
                let before = link.since();
                assert_eq!(poll_fn(|cx| poll_read(&mut wire, cx)).await, READ_BYTES);
                assert!(link.since() > before);
            }
        });
    }
}
