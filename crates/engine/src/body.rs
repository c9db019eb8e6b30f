//! A bounded stream of bytes between two sides, each of which may block a thread or be an asynchronous task.
//! Back-pressure is by bytes: a sink that is `capacity` bytes ahead of its source waits.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::direct_write::{DirectRequest, DirectWrite};
use crate::fault::Fault;

/// Bytes that [`poll_piece`] reads at once.
const PIECE_BYTES: usize = 16 * 1024;
/// A piece below this length is copied out of the read buffer. A longer one keeps all of that buffer while it waits for
/// its receiver, which is at most twice what it needs.
const COPIED_BYTES: usize = PIECE_BYTES / 2;

thread_local! {
    /// The read buffer of [`poll_piece`], shared by all connections of a thread.
    static PIECE: RefCell<BytesMut> = RefCell::new(BytesMut::new());
}

/// What a source gives next.
#[derive(Debug)]
pub enum Next {
    /// A chunk.
    Bytes(Bytes),
    /// A request of the sink to write the next bytes to the client itself.
    Direct(DirectRequest),
}

/// One end of an upgraded connection, which carries bytes in both directions and no HTTP. The front holds one end, the
/// application the other.
#[derive(Debug)]
pub struct Duplex {
    /// Bytes that the holder of the other end sends.
    pub incoming: Source,
    /// Bytes for the holder of the other end.
    pub outgoing: Sink,
}

/// Reserves `more` bytes in a read buffer that has less than `room` bytes of free space. Small pieces that are read and
/// then wait for their receiver share the buffer; reserved before every read, each would keep `more` bytes.
pub fn make_room(buffer: &mut BytesMut, room: usize, more: usize) {
    if buffer.capacity() - buffer.len() < room {
        buffer.reserve(more);
    }
}

/// Reads what has arrived on a connection, with `read`, which appends it to the buffer that it gets. The connections of
/// a thread share that buffer, so that an idle one has none. Small pieces are copied out of it: one that waits for its
/// receiver keeps no more memory than it needs.
pub fn poll_piece(read: impl FnOnce(&mut BytesMut) -> Poll<io::Result<usize>>) -> Poll<io::Result<BytesMut>> {
    PIECE.with_borrow_mut(|buffer| {
        buffer.clear();
        buffer.reserve(PIECE_BYTES);
        ready!(read(buffer))?;
        let is_small = buffer.len() < COPIED_BYTES;
        Poll::Ready(Ok(if is_small { BytesMut::from(&buffer[..]) } else { buffer.split() }))
    })
}

/// Returns both ends of an upgraded connection; each direction buffers about `capacity` bytes at most.
pub fn duplex(capacity: usize) -> (Duplex, Duplex) {
    let (one_out, other_in) = stream(capacity);
    let (other_out, one_in) = stream(capacity);
    (Duplex { incoming: one_in, outgoing: one_out }, Duplex { incoming: other_in, outgoing: other_out })
}

/// Reason why bytes could not be put into a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendError {
    /// The source was dropped, so the bytes have no reader.
    Gone,
    /// The stream was full until the deadline.
    Late,
}

/// The writing end of a stream. Dropping it without [`Sink::finish`] breaks the stream: the reader gets a fault.
pub struct Sink(Arc<Shared>);

/// The reading end of a stream. After it is dropped, every send fails with [`SendError::Gone`].
pub struct Source(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    capacity: usize,
}

struct State {
    chunks: VecDeque<Bytes>,
    bytes: usize,
    /// A request to write what comes after the chunks to the client; the sink waits for the decision.
    direct: Option<DirectRequest>,
    end: Option<Result<(), Fault>>,
    /// The process that writes is about to shut down; see [`Sink::leave`].
    is_leaving: bool,
    hold: Hold,
    source_gone: bool,
    source_waker: Option<Waker>,
    /// The task of a source that waits for a fault and takes no chunks.
    fault_waker: Option<Waker>,
    /// The task of a sink that waits for room.
    sink_waker: Option<Waker>,
    /// The task of a sink that waits for the end of the source: it has nothing to do when the source takes a chunk.
    gone_waker: Option<Waker>,
}

/// The end of a stream that decides whether the client gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// The sink: the front has not begun to read.
    Sink,
    /// The sink, which has withdrawn the stream; another answer will be sent.
    TakenBack,
    /// The source: the front has claimed the stream for the client.
    Source,
}

/// Creates a stream that buffers about `capacity` bytes: a chunk is accepted whole as long as fewer are buffered.
pub fn stream(capacity: usize) -> (Sink, Source) {
    let state = State {
        chunks: VecDeque::new(),
        bytes: 0,
        direct: None,
        end: None,
        is_leaving: false,
        hold: Hold::Sink,
        source_gone: false,
        source_waker: None,
        fault_waker: None,
        sink_waker: None,
        gone_waker: None,
    };
    let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), capacity });
    (Sink(shared.clone()), Source(shared))
}

impl State {
    /// Appends a chunk. Returns the task of the source if that waits.
    fn push(&mut self, chunk: Bytes) -> Option<Waker> {
        self.bytes += chunk.len();
        self.chunks.push_back(chunk);
        self.source_waker.take()
    }
}

impl Sink {
    /// Puts a chunk in. Blocks this thread while the stream is full, until `deadline`.
    pub fn send_blocking(&self, chunk: Bytes, deadline: Instant) -> Result<(), SendError> {
        let mut state = self.0.state.lock();
        while !state.source_gone && state.bytes >= self.0.capacity {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(SendError::Late);
            }
            self.0.changed.wait_for(&mut state, left);
        }
        if state.source_gone {
            return Err(SendError::Gone);
        }
        let waker = state.push(chunk);
        self.0.unlock_and_wake(state, [waker]);
        Ok(())
    }

    /// Puts a chunk in, waiting without blocking a thread while the stream is full.
    pub async fn send(&self, chunk: Bytes) -> Result<(), SendError> {
        let mut chunk = Some(chunk);
        poll_fn(|context| {
            let mut state = self.0.state.lock();
            if state.source_gone {
                return Poll::Ready(Err(SendError::Gone));
            }
            if state.bytes >= self.0.capacity {
                state.sink_waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            if let Some(chunk) = chunk.take() {
                let waker = state.push(chunk);
                self.0.unlock_and_wake(state, [waker]);
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Asks to write the next bytes, of this number, to the client itself. Returns the client's connection when all
    /// earlier bytes are written to it; nothing if the source declines, or is gone: then the bytes are to be sent as
    /// usual.
    pub async fn ask_for_direct_write(&self, length: u64) -> Option<DirectWrite> {
        let (request, granted) = DirectRequest::new(length);
        {
            let mut state = self.0.state.lock();
            if state.source_gone {
                return None;
            }
            state.direct = Some(request);
            let waker = state.source_waker.take();
            self.0.unlock_and_wake(state, [waker]);
        }
        granted.await.ok()
    }

    /// Whether the source was dropped.
    pub fn is_gone(&self) -> bool {
        self.0.state.lock().source_gone
    }

    /// Waits until the source is dropped.
    pub async fn gone(&self) {
        poll_fn(|context| {
            let mut state = self.0.state.lock();
            if state.source_gone {
                return Poll::Ready(());
            }
            state.gone_waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Withdraws the stream unless its source has claimed it. Returns whether the stream is withdrawn.
    pub fn take_back(&self) -> bool {
        let mut state = self.0.state.lock();
        if state.hold == Hold::Sink && !state.source_gone {
            state.hold = Hold::TakenBack;
        }
        state.hold == Hold::TakenBack
    }

    /// Announces that the writing process is about to shut down, so that the front closes the connection as its
    /// protocol demands (a WebSocket close frame). The stream stays usable until it ends.
    pub fn leave(&self) {
        let mut state = self.0.state.lock();
        state.is_leaving = true;
        let waker = state.source_waker.take();
        self.0.unlock_and_wake(state, [waker]);
    }

    /// Ends the stream in order.
    pub fn finish(self) {
        self.end(Ok(()));
    }

    /// Breaks the stream off: the reader gets the bytes put in so far, then the fault.
    pub fn fail(self, fault: Fault) {
        self.end(Err(fault));
    }

    /// Ends the stream as [`Sink::finish`] or [`Sink::fail`] does, and keeps the sink: [`Sink::leave`] still counts.
    pub fn end(&self, how: Result<(), Fault>) {
        let mut state = self.0.state.lock();
        if state.end.is_none() {
            state.end = Some(how);
            let wakers = [state.source_waker.take(), state.fault_waker.take()];
            self.0.unlock_and_wake(state, wakers);
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.end(Err(Fault::Broken("a body was dropped before its end".into())));
    }
}

impl Source {
    /// Claims the stream, after which it cannot be withdrawn. Returns false if it was withdrawn before.
    pub fn claim(&self) -> bool {
        let mut state = self.0.state.lock();
        if state.hold == Hold::Sink {
            state.hold = Hold::Source;
        }
        state.hold == Hold::Source
    }

    /// Whether the writing process is about to shut down; see [`Sink::leave`].
    pub fn is_leaving(&self) -> bool {
        self.0.state.lock().is_leaving
    }

    /// The next chunk; `None` after the last. Declines direct writes.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Fault>>> {
        let mut state = self.0.state.lock();
        match self.0.take(&mut state) {
            Some(next) => Poll::Ready(next),
            None => {
                state.direct = None;
                state.source_waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The next chunk, or a request of the sink to write the bytes that come next to the client itself; `None` after
    /// the last.
    pub fn poll_next_or_direct(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Next, Fault>>> {
        let mut state = self.0.state.lock();
        if let Some(next) = self.0.take(&mut state) {
            return Poll::Ready(next.map(|chunk| chunk.map(Next::Bytes)));
        }
        if let Some(request) = state.direct.take() {
            return Poll::Ready(Some(Ok(Next::Direct(request))));
        }
        state.source_waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// The fault with which the stream has ended, even while chunks before it are not taken yet. Takes none.
    pub fn poll_fault(&self, context: &mut Context<'_>) -> Poll<Fault> {
        let mut state = self.0.state.lock();
        if let Some(Err(fault)) = &state.end {
            return Poll::Ready(fault.clone());
        }
        state.fault_waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// The next chunk, `None` after the last. Declines direct writes. Blocks this thread until `deadline`; `Err(None)`
    /// means that none came in time.
    pub fn next_blocking(&mut self, deadline: Instant) -> Result<Option<Bytes>, Option<Fault>> {
        let mut state = self.0.state.lock();
        loop {
            if let Some(next) = self.0.take(&mut state) {
                return next.transpose().map_err(Some);
            }
            state.direct = None;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(None);
            }
            self.0.changed.wait_for(&mut state, left);
        }
    }
}

impl Shared {
    /// Releases the lock, then wakes these tasks and the waiting threads: what is woken may run at once, in place of
    /// this thread, and would otherwise wait for the lock.
    fn unlock_and_wake<const N: usize>(&self, state: MutexGuard<'_, State>, wakers: [Option<Waker>; N]) {
        drop(state);
        wakers.into_iter().flatten().for_each(Waker::wake);
        self.changed.notify_all();
    }

    /// The next item that can be read at once: a chunk, a fault, or the end (`Some(None)`); `None` if there is nothing
    /// yet.
    fn take(&self, state: &mut State) -> Option<Option<Result<Bytes, Fault>>> {
        if let Some(chunk) = state.chunks.pop_front() {
            state.bytes -= chunk.len();
            if state.bytes < self.capacity {
                if let Some(waker) = state.sink_waker.take() {
                    waker.wake();
                }
                self.changed.notify_all();
            }
            return Some(Some(Ok(chunk)));
        }
        match &state.end {
            None => None,
            Some(Ok(())) => Some(None),
            Some(Err(fault)) => {
                let fault = fault.clone();
                state.end = Some(Ok(()));
                Some(Some(Err(fault)))
            }
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.source_gone = true;
        state.chunks.clear();
        state.bytes = 0;
        state.direct = None;
        let wakers = [state.sink_waker.take(), state.gone_waker.take()];
        self.0.unlock_and_wake(state, wakers);
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::task::Wake;
    use std::thread;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[test]
    fn bytes_arrive_in_order_and_then_the_end() {
        let (sink, mut source) = stream(100);
        sink.send_blocking(Bytes::from("a"), soon()).unwrap();
        sink.send_blocking(Bytes::from("b"), soon()).unwrap();
        sink.finish();
        assert_eq!(source.next_blocking(soon()), Ok(Some(Bytes::from("a"))));
        assert_eq!(source.next_blocking(soon()), Ok(Some(Bytes::from("b"))));
        assert_eq!(source.next_blocking(soon()), Ok(None));
    }

    #[test]
    fn a_small_piece_keeps_no_memory_beside_its_own_and_a_large_one_is_not_copied() {
        let read = |bytes: &[u8]| {
            let mut from = std::ptr::null();
            let piece = poll_piece(|buffer| {
                from = buffer.as_ptr();
                buffer.extend_from_slice(bytes);
                Poll::Ready(Ok(bytes.len()))
            });
            let Poll::Ready(Ok(piece)) = piece else { panic!("there was something") };
            assert_eq!(piece, bytes);
            (piece.capacity() < 99, piece.as_ptr() == from)
        };
        let half = [7_u8; PIECE_BYTES / 2];
        assert_eq!((read(b"gold"), read(b""), read(&half)), ((true, false), (true, false), (false, true)));
        assert_eq!(read(&half[1..]), (false, false), "it would keep more than as much again");
        assert!(poll_piece(|_| Poll::Pending).is_pending());
        let failed = poll_piece(|_| Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())));
        assert!(matches!(failed, Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset));
    }

    #[test]
    fn a_sink_that_is_ahead_waits_until_the_source_reads() {
        let (sink, mut source) = stream(1);
        sink.send_blocking(Bytes::from("a"), soon()).unwrap();
        assert_eq!(sink.send_blocking(Bytes::from("b"), Instant::now()), Err(SendError::Late));
        let reader = thread::spawn(move || source.next_blocking(soon()).map(|chunk| (chunk, source)));
        sink.send_blocking(Bytes::from("b"), soon()).unwrap();
        assert!(reader.join().unwrap().is_ok());
    }

    #[test]
    fn a_dropped_source_is_told_at_the_next_send() {
        let (sink, source) = stream(1);
        drop(source);
        assert!(sink.is_gone());
        assert_eq!(sink.send_blocking(Bytes::from("a"), soon()), Err(SendError::Gone));
    }

    #[test]
    fn a_sink_that_has_ended_may_still_leave() {
        let (sink, mut source) = stream(9);
        sink.end(Ok(()));
        assert_eq!((source.next_blocking(soon()), source.is_leaving()), (Ok(None), false));
        sink.leave();
        drop(sink);
        assert_eq!((source.next_blocking(soon()), source.is_leaving()), (Ok(None), true));
    }

    #[test]
    fn a_stream_is_claimed_or_taken_back_whichever_comes_first() {
        let (sink, source) = stream(9);
        assert!(sink.take_back() && sink.take_back() && !source.claim() && !source.claim());
        let (sink, source) = stream(9);
        assert!(source.claim() && !sink.take_back() && source.claim());
        let (sink, source) = stream(9);
        drop(source);
        assert!(!sink.take_back());
    }

    #[test]
    fn a_dropped_sink_breaks_the_stream_after_what_it_sent() {
        let (sink, mut source) = stream(9);
        sink.send_blocking(Bytes::from("a"), soon()).unwrap();
        drop(sink);
        assert_eq!(source.next_blocking(soon()), Ok(Some(Bytes::from("a"))));
        assert!(matches!(source.next_blocking(soon()), Err(Some(Fault::Broken(_)))));
    }

    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// A waker, and how often it was woken.
    fn counted() -> (Waker, impl Fn() -> usize) {
        let woken = Arc::new(Woken(AtomicUsize::default()));
        (Waker::from(woken.clone()), move || woken.0.load(SeqCst))
    }

    #[test]
    fn a_task_at_either_end_is_woken_and_gets_the_fault_after_the_bytes() {
        let (waker, count) = counted();
        let mut context = Context::from_waker(&waker);
        let (sink, mut source) = stream(1);
        assert!(!sink.is_gone() && source.poll_next(&mut context).is_pending());
        {
            let (mut first, mut second) = (Box::pin(sink.send("a".into())), Box::pin(sink.send("b".into())));
            assert_eq!(first.as_mut().poll(&mut context), Poll::Ready(Ok(())));
            assert!(second.as_mut().poll(&mut context).is_pending() && count() == 1);
            assert_eq!(source.poll_next(&mut context), Poll::Ready(Some(Ok(Bytes::from("a")))));
            assert_eq!((second.as_mut().poll(&mut context), count()), (Poll::Ready(Ok(())), 2));
        }
        sink.fail(Fault::ClientGone);
        assert_eq!(source.poll_next(&mut context), Poll::Ready(Some(Ok(Bytes::from("b")))));
        assert_eq!(source.poll_next(&mut context), Poll::Ready(Some(Err(Fault::ClientGone))));
    }

    #[test]
    fn whoever_waits_learns_that_the_other_end_leaves_or_is_gone() {
        let (waker, count) = counted();
        let mut context = Context::from_waker(&waker);
        let (sink, mut source) = stream(1);
        assert_eq!(source.next_blocking(Instant::now()), Err(None), "nothing has come in time");
        assert!(source.poll_next(&mut context).is_pending());
        sink.leave();
        assert_eq!((count(), source.is_leaving()), (1, true));
        sink.send_blocking("a".into(), soon()).unwrap();
        let mut second = Box::pin(sink.send("b".into()));
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(source);
        assert_eq!((second.as_mut().poll(&mut context), count()), (Poll::Ready(Err(SendError::Gone)), 2));
    }

    /// Polls a future once.
    fn poll_once<T>(future: &mut std::pin::Pin<Box<impl Future<Output = T>>>) -> Poll<T> {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_direct_write_comes_after_the_chunks_and_is_reported() {
        let mut context = Context::from_waker(Waker::noop());
        let (sink, mut source) = stream(9);
        sink.send_blocking("before".into(), soon()).unwrap();
        let mut asked = Box::pin(sink.ask_for_direct_write(77));
        assert!(poll_once(&mut asked).is_pending());
        let next = source.poll_next_or_direct(&mut context);
        assert!(matches!(next, Poll::Ready(Some(Ok(Next::Bytes(bytes)))) if bytes == "before"));
        let Poll::Ready(Some(Ok(Next::Direct(request)))) = source.poll_next_or_direct(&mut context) else {
            panic!("nothing was asked")
        };
        assert_eq!(request.length(), 77);
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut written = request.grant(ours.into());
        let Poll::Ready(Some(direct)) = poll_once(&mut asked) else { panic!("it was not granted") };
        write(direct.socket(), b"gold");
        assert!(written.try_recv().is_err());
        direct.finish(4);
        assert_eq!(written.try_recv(), Ok(4));
        let mut read = String::new();
        std::io::Read::read_to_string(&mut &theirs, &mut read).unwrap();
        assert_eq!(read, "gold", "and the connection is given back");
    }

    fn write(socket: &std::os::fd::OwnedFd, bytes: &[u8]) {
        let mut stream = std::os::unix::net::UnixStream::from(socket.try_clone().unwrap());
        std::io::Write::write_all(&mut stream, bytes).unwrap();
    }

    #[test]
    fn who_only_wants_chunks_declines_direct_writes() {
        let mut context = Context::from_waker(Waker::noop());
        let (sink, mut source) = stream(9);
        let mut asked = Box::pin(sink.ask_for_direct_write(77));
        assert!(poll_once(&mut asked).is_pending());
        assert!(source.poll_next(&mut context).is_pending());
        assert!(matches!(poll_once(&mut asked), Poll::Ready(None)), "by polling");
        let mut asked = Box::pin(sink.ask_for_direct_write(77));
        assert!(poll_once(&mut asked).is_pending());
        assert_eq!(source.next_blocking(Instant::now()), Err(None));
        assert!(matches!(poll_once(&mut asked), Poll::Ready(None)), "by blocking");
        let mut asked = Box::pin(sink.ask_for_direct_write(77));
        assert!(poll_once(&mut asked).is_pending());
        drop(source);
        assert!(matches!(poll_once(&mut asked), Poll::Ready(None)), "by its end");
        assert!(matches!(poll_once(&mut Box::pin(sink.ask_for_direct_write(77))), Poll::Ready(None)));
    }

    #[test]
    fn of_a_direct_write_that_is_given_up_nothing_is_known() {
        let (request, granted) = DirectRequest::new(77);
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(granted);
        assert!(request.grant(ours.into()).blocking_recv().is_err());
    }

    #[test]
    fn whoever_waits_for_the_end_of_the_source_is_woken_by_it_and_not_by_each_chunk_that_is_taken() {
        let (waker, count) = counted();
        let mut context = Context::from_waker(&waker);
        let (sink, mut source) = stream(1);
        let mut gone = Box::pin(sink.gone());
        assert!(gone.as_mut().poll(&mut context).is_pending());
        sink.send_blocking("a".into(), soon()).unwrap();
        assert_eq!((source.next_blocking(soon()), count()), (Ok(Some(Bytes::from("a"))), 0));
        drop(source);
        assert_eq!(count(), 1);
        assert_eq!(gone.as_mut().poll(&mut context), Poll::Ready(()));
    }

    #[test]
    fn who_waits_for_room_is_woken_when_there_is_some_and_not_by_each_chunk_that_is_taken() {
        let (waker, count) = counted();
        let mut context = Context::from_waker(&waker);
        let (sink, mut source) = stream(3);
        for chunk in ["a", "bbb"] {
            sink.send_blocking(chunk.into(), soon()).unwrap();
        }
        let mut sending = Box::pin(sink.send("c".into()));
        assert!(sending.as_mut().poll(&mut context).is_pending());
        assert_eq!((source.next_blocking(soon()), count()), (Ok(Some(Bytes::from("a"))), 0), "three bytes are left");
        assert_eq!((source.next_blocking(soon()), count()), (Ok(Some(Bytes::from("bbb"))), 1));
        assert_eq!(sending.as_mut().poll(&mut context), Poll::Ready(Ok(())));
        assert_eq!(source.next_blocking(soon()), Ok(Some(Bytes::from("c"))));
    }

    #[test]
    fn a_source_that_takes_no_chunks_learns_of_the_fault_behind_them_and_of_nothing_else() {
        let (waker, count) = counted();
        let mut context = Context::from_waker(&waker);
        let (sink, mut source) = stream(9);
        assert!(source.poll_fault(&mut context).is_pending());
        sink.send_blocking("a".into(), soon()).unwrap();
        assert!(count() == 0 && source.poll_fault(&mut context).is_pending());
        sink.fail(Fault::OutOfFiles);
        assert_eq!((count(), source.poll_fault(&mut context)), (1, Poll::Ready(Fault::OutOfFiles)));
        assert_eq!(source.next_blocking(soon()), Ok(Some(Bytes::from("a"))));
        assert_eq!(source.next_blocking(soon()), Err(Some(Fault::OutOfFiles)));
        let (sink, source) = stream(9);
        sink.finish();
        assert!(source.poll_fault(&mut context).is_pending(), "it has ended without one");
    }

    /// A task that is woken looks whether the stream is locked.
    struct Looks(Arc<Shared>, AtomicBool);

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.1.store(self.0.state.try_lock().is_some(), SeqCst);
        }
    }

    #[test]
    fn who_is_woken_by_a_chunk_the_end_or_the_other_end_does_not_wait_for_the_lock() {
        let looks = |shared: &Arc<Shared>| Arc::new(Looks(shared.clone(), AtomicBool::default()));
        let is_free = |looks: &Looks| looks.1.load(SeqCst);
        let acts: [fn(Sink); 3] =
            [|sink| sink.send_blocking("a".into(), soon()).unwrap(), |sink| sink.finish(), |sink| sink.leave()];
        for act in acts {
            let (sink, mut source) = stream(9);
            let reader = looks(&source.0);
            let waker = Waker::from(reader.clone());
            assert!(source.poll_next(&mut Context::from_waker(&waker)).is_pending());
            act(sink);
            assert!(is_free(&reader));
        }
        let (sink, source) = stream(9);
        let writer = looks(&sink.0);
        let waker = Waker::from(writer.clone());
        let mut gone = Box::pin(sink.gone());
        assert!(gone.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(source);
        assert!(is_free(&writer));
    }
}
