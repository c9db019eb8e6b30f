//! Buffer for a streamed response: takes it from the engine as fast as it is made and keeps it for a client that reads
//! slowly, first in memory, then in an unlinked temporary file. The engine's thread is held back only when that is full
//! too, when the disk is full, or for moments while the client keeps up, to avoid the file.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::body::Next;
use engine::{DirectRequest, Fault};
use files::TempFile;
use parking_lot::Mutex;

use crate::log::body_fault::BodyRequest;
use crate::log::fault_log;
use crate::response::chunked_by_app::CodedSource;
use crate::transport::deadline_timer::DeadlineTimer;

/// Bytes of one response kept in memory.
const MEMORY_BYTES: usize = 256 * 1024;
/// Bytes read back from the file at once.
const READ_BYTES: u64 = 64 * 1024;
/// Number of bytes that are read back before their space in the file is freed.
const FREED_BYTES: u64 = 1024 * 1024;

/// Total time for which a response may be held back for a client that keeps up: an initial amount, and as long as the
/// client's bytes would take at [`KEEPS_UP_RATE`], up to a maximum.
const FIRST_HOLD: Duration = Duration::from_millis(10);
const KEEPS_UP_RATE: u64 = 32 << 20;
const HOLD_MAX: Duration = Duration::from_secs(1);

/// The reading end.
pub(crate) struct Spool(Arc<Shared>);

struct Shared {
    state: Mutex<SpoolState>,
    file_bytes: u64,
    request: Arc<BodyRequest>,
}

#[derive(Default)]
struct SpoolState {
    memory: VecDeque<Bytes>,
    memory_len: usize,
    /// Bytes from `read` to `written` in the file come after those in memory.
    file: Option<TempFile>,
    read: u64,
    written: u64,
    /// Bytes at the start of the file whose space has been given back. Where the file system cannot do that, it is
    /// given back when all is read.
    freed: u64,
    /// Bytes that the disk refused. They come after all that is in the file, and nothing more is accepted before they
    /// are read.
    refused: Option<Bytes>,
    /// A request of the engine to write to the client itself. It comes after everything above, and nothing more is
    /// accepted before it is granted or declined.
    direct: Option<DirectRequest>,
    has_complained: bool,
    hold: Hold,
    end: Option<Result<(), Fault>>,
    /// Whether the fault with which the stream has ended is in the log.
    is_fault_logged: bool,
    is_reader_gone: bool,
    reader: Option<Waker>,
    pump: Option<Waker>,
    /// Whether the pump waits for room, and not for the engine: only then the reader wakes it when it takes bytes.
    awaits_room: bool,
}

/// Time for which a response was held back.
#[derive(Default)]
struct Hold {
    /// Beginning of the current hold.
    since: Option<Instant>,
    /// Duration of all earlier holds.
    spent: Duration,
    /// Bytes that the client has taken.
    taken: u64,
}

impl Hold {
    /// Time until which the response may be held back from now on.
    fn until(&mut self, now: Instant) -> Instant {
        let earned = Duration::from_millis(self.taken.saturating_mul(1_000) / KEEPS_UP_RATE);
        let allowed = (FIRST_HOLD + earned).min(HOLD_MAX);
        *self.since.get_or_insert(now) + allowed.saturating_sub(self.spent)
    }

    fn end(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.spent += now.saturating_duration_since(since);
        }
    }
}

impl Spool {
    /// Puts `first` in, and then a request of the engine to write to the client itself, and starts a task that reads
    /// the source, the body of the response to `request`.
    pub(crate) fn start(
        first: Vec<Bytes>,
        direct: Option<DirectRequest>,
        source: CodedSource,
        file_bytes: u64,
        request: Arc<BodyRequest>,
    ) -> Spool {
        let memory_len = first.iter().map(Bytes::len).sum();
        let state = SpoolState { memory: first.into(), memory_len, direct, ..SpoolState::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), file_bytes, request });
        tokio::spawn(pump(source, shared.clone()));
        Spool(shared)
    }

    /// The request to which this is the response.
    pub(crate) fn request(&self) -> Arc<BodyRequest> {
        self.0.request.clone()
    }

    /// Whether everything has been read, without a fault.
    pub(crate) fn is_read_out(&self) -> bool {
        let state = self.0.state.lock();
        let is_empty = state.memory.is_empty() && state.read == state.written && state.refused.is_none();
        is_empty && state.end == Some(Ok(()))
    }

    /// Whether the fault with which the stream has ended is in the log already.
    pub(crate) fn has_logged_fault(&self) -> bool {
        self.0.state.lock().is_fault_logged
    }

    /// The length that the engine asks to write to the client itself, if that comes next; this task is then woken when
    /// the request is declined.
    pub(crate) fn poll_direct(&self, cx: &mut Context<'_>) -> Option<u64> {
        let mut state = self.0.state.lock();
        let is_next = state.memory.is_empty() && state.read == state.written && state.refused.is_none();
        let length = state.direct.as_ref().filter(|_| is_next).map(DirectRequest::length)?;
        state.reader = Some(cx.waker().clone());
        Some(length)
    }

    /// Takes the request of the engine to write to the client itself: to grant it, or to decline it by dropping it.
    pub(crate) fn take_direct(&mut self) -> Option<DirectRequest> {
        let mut state = self.0.state.lock();
        state.make_room();
        state.direct.take()
    }

    /// Notes that the client has taken bytes that the engine has written to it.
    pub(crate) fn note_written(&self, bytes: u64) {
        let mut state = self.0.state.lock();
        state.hold.taken = state.hold.taken.saturating_add(bytes);
    }

    /// The next bytes for the client. Reading back from the file blocks for one piece, which was written recently.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Fault>>> {
        let mut state = self.0.state.lock();
        if let Some(bytes) = state.memory.pop_front() {
            state.memory_len -= bytes.len();
            state.hold.taken = state.hold.taken.saturating_add(bytes.len() as u64);
            state.make_room();
            return Poll::Ready(Some(Ok(bytes)));
        }
        if state.read < state.written {
            let bytes = state.read_back().map_err(|error| {
                let fault = Fault::Broken(format!("temporary file of a response: {error}"));
                let what = "cannot read back the temporary file of a response";
                fault_log::write_unread(&fault, &self.0.request.identity, what, &error);
                fault
            });
            state.is_fault_logged |= bytes.is_err();
            state.make_room();
            return Poll::Ready(Some(bytes));
        }
        if let Some(bytes) = state.refused.take() {
            state.make_room();
            return Poll::Ready(Some(Ok(bytes)));
        }
        let Some(end) = state.end.take() else {
            state.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        state.end = Some(Ok(()));
        Poll::Ready(end.err().map(Err))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.is_reader_gone = true;
        state.memory.clear();
        (state.file, state.refused, state.direct) = (None, None, None);
        wake(&mut state.pump);
    }
}

/// Moves chunks until the source ends or the reader is gone. Dropping the source then tells the engine.
async fn pump(mut source: CodedSource, shared: Arc<Shared>) {
    let mut timer = DeadlineTimer::default();
    let mut logged = None;
    loop {
        let next = poll_fn(|cx| {
            let room = shared.poll_room(cx, &mut timer);
            if room != Poll::Ready(true)
                && logged.is_none()
                && let Poll::Ready(fault) = source.poll_fault(cx)
            {
                shared.log(&fault);
                logged = Some(fault);
            }
            if !ready!(room) {
                return Poll::Ready(None);
            }
            source.poll_next(cx).map(Some)
        })
        .await;
        let Some(next) = next else { return };
        if let Some(Err(fault)) = &next
            && logged.as_ref() != Some(fault)
        {
            shared.log(fault);
        }
        let is_in_file = {
            let mut state = shared.state.lock();
            match next {
                Some(Ok(Next::Bytes(bytes))) => {
                    if let Some(error) = state.put(bytes) {
                        fault_log::write_held_back(&shared.request.identity, &error);
                    }
                }
                Some(Ok(Next::Direct(request))) => state.put_direct(request),
                Some(Err(fault)) => state.end = Some(Err(fault)),
                None => state.end = Some(Ok(())),
            }
            wake(&mut state.reader);
            if state.end.is_some() {
                return;
            }
            state.written > state.read
        };
        if is_in_file {
            // A source uses none of tokio's budget: an application that makes bytes as fast as they are written would
            // keep all other connections of this thread waiting until the file is full.
            tokio::task::yield_now().await;
        }
    }
}

impl Shared {
    /// Logs and counts the fault with which the stream ends. Called before the client has read all that precedes it,
    /// and even before there is room for that: the client may be slow, or leave first.
    fn log(&self, fault: &Fault) {
        fault_log::write(fault, &self.request.identity, Duration::ZERO);
        self.request.fail(fault);
        self.state.lock().is_fault_logged = true;
    }

    /// Ready with true when there is room, and with false when the reader is gone. The pump is woken by the end of the
    /// reader also when there is room, since the source may have nothing.
    fn poll_room(&self, cx: &mut Context<'_>, timer: &mut DeadlineTimer) -> Poll<bool> {
        let mut state = self.state.lock();
        if state.is_reader_gone {
            return Poll::Ready(false);
        }
        if !state.pump.as_ref().is_some_and(|pump| pump.will_wake(cx.waker())) {
            state.pump = Some(cx.waker().clone());
        }
        state.awaits_room = !state.has_room(self.file_bytes, cx, timer);
        if state.awaits_room { Poll::Pending } else { Poll::Ready(true) }
    }
}

impl SpoolState {
    /// Whether there is room for more. If not, the pump is woken when the response has been held back for long enough.
    fn has_room(&mut self, file_bytes: u64, cx: &mut Context<'_>, timer: &mut DeadlineTimer) -> bool {
        let would_go_to_file = self.memory_len >= MEMORY_BYTES && self.read == self.written;
        // An engine that asks to write to the client itself waits for it no longer than that.
        let may_be_held = would_go_to_file || self.direct.is_some();
        if may_be_held && !timer.is_over(cx, self.hold.until(Instant::now())) {
            return false;
        }
        if self.hold.since.is_some() {
            self.hold.end(Instant::now());
        }
        if self.direct.take().is_some() {
            wake(&mut self.reader);
        }
        let in_file = self.written - self.freed;
        let is_full = in_file >= file_bytes && (self.memory_len >= MEMORY_BYTES || self.written > self.read);
        !is_full && self.refused.is_none()
    }

    /// Wakes the pump if it waits for the room that the reader has just made.
    fn make_room(&mut self) {
        if self.awaits_room {
            wake(&mut self.pump);
        }
    }

    /// Puts bytes into memory if there is space and the file is empty, since its bytes must come first; else into the
    /// file. Returns why the file takes no more, the first time.
    fn put(&mut self, bytes: Bytes) -> Option<io::Error> {
        if self.is_reader_gone {
            return None;
        }
        if self.read == self.written && self.memory_len < MEMORY_BYTES {
            self.memory_len += bytes.len();
            self.memory.push_back(bytes);
            return None;
        }
        let error = self.put_in_file(&bytes).err()?;
        self.refused = Some(bytes);
        (!std::mem::replace(&mut self.has_complained, true)).then_some(error)
    }

    /// Keeps a request of the engine to write to the client itself; declines it while there is a file, for a client
    /// that lags.
    fn put_direct(&mut self, request: DirectRequest) {
        if !self.is_reader_gone && self.read == self.written && self.refused.is_none() {
            self.direct = Some(request);
        }
    }

    fn put_in_file(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(TempFile::new()?),
        };
        file.put(bytes, self.written)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn read_back(&mut self) -> io::Result<Bytes> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut bytes = vec![0; (self.written - self.read).min(READ_BYTES) as usize];
        file.read_exact_at(&mut bytes, self.read)?;
        self.read += bytes.len() as u64;
        if self.read == self.written {
            // Everything is read: the disk space is freed.
            (self.read, self.written, self.freed) = (0, 0, 0);
            file.clear()?;
        } else if self.read - self.freed >= FREED_BYTES && file.free_before(self.read) {
            self.freed = self.read;
        }
        Ok(Bytes::from(bytes))
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    use engine::body::{SendError, stream};

    use crate::log::fault_log::RequestIdentity;
    use crate::tests_support::block_on;

    /// Bytes of which each differs from its neighbours.
    fn piece(number: usize) -> Bytes {
        (0..MEMORY_BYTES).map(|at| (at + number) as u8).collect::<Vec<u8>>().into()
    }

    /// The spool of a body that begins with these pieces.
    fn start(first: Vec<Bytes>, source: engine::Source, file_bytes: u64) -> Spool {
        let request = BodyRequest::new(RequestIdentity::default(), Instant::now(), Duration::ZERO);
        Spool::start(first, None, CodedSource::new(source, false), file_bytes, Arc::new(request))
    }

    /// Lets the pump do what it can.
    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_full_disk_holds_the_sender_back_and_loses_nothing() {
        block_on(async {
            let (sink, source) = stream(1);
            let full = File::options().read(true).write(true).open("/dev/full").unwrap();
            let mut spool = start(Vec::new(), source, 1 << 30);
            spool.0.state.lock().file = Some(full.into());
            // One piece in memory, one that the disk refused, one waiting in the stream; then everything is full.
            for number in 0..3 {
                sink.send(piece(number)).await.unwrap();
                settle().await;
            }
            assert_eq!(sink.send_blocking(piece(3), Instant::now()), Err(SendError::Late));
            for number in 0..3 {
                let got = poll_fn(|cx| spool.poll_next(cx)).await;
                assert!(got == Some(Ok(piece(number))), "piece {number}");
                settle().await;
            }
            // The disk has space again.
            spool.0.state.lock().file = None;
            for number in 3..6 {
                sink.send(piece(number)).await.unwrap();
                settle().await;
            }
            sink.finish();
            settle().await;
            let mut rest = Vec::new();
            while let Some(bytes) = poll_fn(|cx| spool.poll_next(cx)).await {
                rest.extend_from_slice(&bytes.unwrap());
            }
            assert!(rest == [piece(3), piece(4), piece(5)].concat(), "{} bytes", rest.len());
            assert!(spool.is_read_out());
        });
    }

    #[test]
    fn a_full_disk_is_reported_once_for_each_response() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut state = SpoolState { memory_len: MEMORY_BYTES, file: Some(full.into()), ..SpoolState::default() };
        let is_reported = [(); 3].map(|()| state.put("part".into()).is_some());
        assert_eq!(is_reported, [true, false, false]);
    }

    /// Sends 40 pieces to a client that takes each as soon as it comes; whether all stayed in memory.
    async fn stays_in_memory() -> bool {
        let (sink, source) = stream(1);
        let mut spool = start(Vec::new(), source, 1 << 30);
        // The client has taken so much that it may be waited for.
        spool.0.state.lock().hold.taken = u64::MAX;
        let sender = tokio::spawn(async move {
            for number in 0..40 {
                sink.send(piece(number)).await.unwrap();
            }
            sink.finish();
        });
        let mut all = Vec::new();
        while let Some(bytes) = poll_fn(|cx| spool.poll_next(cx)).await {
            all.extend_from_slice(&bytes.unwrap());
        }
        assert!(all == (0..40).flat_map(piece).collect::<Vec<u8>>(), "{} bytes", all.len());
        sender.await.unwrap();
        spool.0.state.lock().file.is_none()
    }

    /// The pump that waits for the engine has nothing to do when the client has taken a part.
    #[test]
    fn a_client_that_takes_bytes_wakes_the_pump_if_that_waits_for_room_and_only_then() {
        block_on(async {
            let is_woken = |spool: &Spool| spool.0.state.lock().pump.is_none();
            let (sink, source) = stream(1);
            let mut spool = start(Vec::new(), source, 1 << 30);
            sink.send("part".into()).await.unwrap();
            settle().await;
            assert_eq!(spool.0.state.lock().memory.len(), 1, "it is not held back");
            assert!(poll_fn(|cx| spool.poll_next(cx)).await == Some(Ok("part".into())) && !is_woken(&spool));
            sink.send("next".into()).await.unwrap();
            assert!(poll_fn(|cx| spool.poll_next(cx)).await == Some(Ok("next".into())) && !is_woken(&spool));
            sink.finish();
            assert!(poll_fn(|cx| spool.poll_next(cx)).await.is_none());
            let (sink, source) = stream(1);
            let mut spool = start(vec![piece(0)], source, 0);
            settle().await;
            assert!(!is_woken(&spool));
            assert!(poll_fn(|cx| spool.poll_next(cx)).await == Some(Ok(piece(0))) && is_woken(&spool));
            sink.send("last".into()).await.unwrap();
            assert!(poll_fn(|cx| spool.poll_next(cx)).await == Some(Ok("last".into())));
        });
    }

    /// While it waits for the engine, and while it waits for room.
    #[test]
    fn a_client_that_has_gone_is_noticed_at_once() {
        block_on(async {
            for first in [Vec::new(), vec![piece(0)]] {
                let (sink, source) = stream(1);
                let spool = start(first, source, 0);
                settle().await;
                assert!(!sink.is_gone());
                drop(spool);
                settle().await;
                assert!(sink.is_gone());
            }
        });
    }

    /// There is no room for the bytes before the exception, and the client takes none.
    #[test]
    fn an_exception_is_logged_at_once_also_when_the_spool_is_full() {
        block_on(async {
            let (sink, source) = stream(1);
            let mut spool = start(vec![piece(0)], source, 0);
            sink.send(piece(1)).await.unwrap();
            settle().await;
            assert!(!spool.has_logged_fault());
            sink.fail(Fault::OutOfFiles);
            settle().await;
            assert!(spool.has_logged_fault());
            for number in 0..2 {
                assert!(poll_fn(|cx| spool.poll_next(cx)).await == Some(Ok(piece(number))), "piece {number}");
            }
            assert!(poll_fn(|cx| spool.poll_next(cx)).await == Some(Err(Fault::OutOfFiles)));
        });
    }

    #[test]
    fn a_body_is_read_out_when_it_has_ended_in_order_and_nothing_of_it_is_left_anywhere() {
        block_on(async {
            let (_sink, source) = stream(1);
            let spool = start(Vec::new(), source, 1 << 30);
            let is_read_out = |change: fn(&mut SpoolState)| {
                let mut state = spool.0.state.lock();
                (state.memory, state.read, state.written) = (VecDeque::new(), 7, 7);
                (state.refused, state.end) = (None, Some(Ok(())));
                change(&mut state);
                drop(state);
                spool.is_read_out()
            };
            assert!(is_read_out(|_| {}));
            let changes: [fn(&mut SpoolState); 5] = [
                |state| state.memory.push_back("left".into()),
                |state| state.written += 1,
                |state| state.refused = Some("left".into()),
                |state| state.end = None,
                |state| state.end = Some(Err(Fault::OutOfFiles)),
            ];
            for (number, change) in changes.into_iter().enumerate() {
                assert!(!is_read_out(change), "{number}");
            }
        });
    }

    /// Begins a body of one piece, after which the engine asks for a direct write of 77 bytes.
    fn asking() -> (Spool, tokio::task::JoinHandle<bool>) {
        let (sink, source) = stream(1);
        let spool = start(vec![piece(0)], source, 1 << 30);
        let sender = tokio::spawn(async move {
            let is_granted = sink.ask_for_direct_write(77).await.is_some();
            sink.finish();
            is_granted
        });
        (spool, sender)
    }

    #[test]
    fn a_direct_write_comes_after_all_bytes_before_it() {
        block_on(async {
            let (mut spool, sender) = asking();
            spool.0.state.lock().hold.taken = u64::MAX;
            settle().await;
            let first = poll_fn(|cx| Poll::Ready(spool.poll_direct(cx))).await;
            assert_eq!(first, None, "a piece comes before it");
            assert!(poll_fn(|cx| spool.poll_next(cx)).await == Some(Ok(piece(0))));
            settle().await;
            assert_eq!(poll_fn(|cx| Poll::Ready(spool.poll_direct(cx))).await, Some(77));
            let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
            drop(spool.take_direct().unwrap().grant(ours.into()));
            assert!(sender.await.unwrap());
            assert_eq!(poll_fn(|cx| spool.poll_next(cx)).await, None);
        });
    }

    #[test]
    fn an_engine_waits_no_longer_to_write_to_a_client_than_for_one_that_keeps_up() {
        block_on(async {
            let (spool, sender) = asking();
            // The client takes nothing.
            assert!(!sender.await.unwrap());
            assert!(spool.0.state.lock().direct.is_none());
        });
    }

    /// On a busy machine this thread may be stopped for longer than a client is waited for: one attempt must go well.
    #[test]
    fn for_a_client_that_keeps_up_nothing_goes_to_a_file() {
        block_on(async {
            for _ in 0..50 {
                if stays_in_memory().await {
                    return;
                }
            }
            panic!("a client that keeps up was given a file each time");
        });
    }

    #[test]
    fn who_keeps_up_is_waited_for_longer_and_nobody_for_long() {
        let now = Instant::now();
        let mut hold = Hold::default();
        assert_eq!(hold.until(now), now + FIRST_HOLD);
        let later = now + FIRST_HOLD / 2;
        assert_eq!(hold.until(later), now + FIRST_HOLD, "it is the same wait");
        hold.end(later);
        assert_eq!(hold.until(later), later + FIRST_HOLD / 2);
        hold.end(later + FIRST_HOLD);
        assert_eq!(hold.until(later), later, "all is spent");
        hold.taken = KEEPS_UP_RATE / 2;
        assert_eq!(hold.until(later), later + Duration::from_millis(500) - FIRST_HOLD / 2);
        hold.taken = u64::MAX;
        assert!(hold.until(later) < later + HOLD_MAX);
    }

    #[test]
    fn the_file_of_a_client_that_lags_all_the_time_stays_small() {
        block_on(async {
            let (sink, source) = stream(1);
            let most = 4 * FREED_BYTES;
            let mut spool = start(Vec::new(), source, most);
            let sender = tokio::spawn(async move {
                for number in 0..100 {
                    sink.send(piece(number)).await.unwrap();
                }
                sink.finish();
            });
            let (mut read, mut largest) = (0, 0);
            while let Some(bytes) = poll_fn(|cx| spool.poll_next(cx)).await {
                read += bytes.unwrap().len();
                settle().await;
                let state = spool.0.state.lock();
                let blocks = |file: &TempFile| std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap());
                largest = largest.max(state.file.as_ref().map_or(0, blocks) * 512);
            }
            sender.await.unwrap();
            assert_eq!(read, 100 * MEMORY_BYTES);
            assert!(largest <= most + 2 * MEMORY_BYTES as u64, "{largest} bytes on the disk");
        });
    }

    #[test]
    fn the_disk_has_its_space_back_when_the_file_was_read() {
        block_on(async {
            let (sink, source) = stream(1);
            let mut spool = start(Vec::new(), source, 1 << 30);
            for number in 0..3 {
                sink.send(piece(number)).await.unwrap();
                settle().await;
            }
            let kept = |spool: &Spool| spool.0.state.lock().file.as_ref().map(|file| file.metadata().unwrap().len());
            assert_eq!(kept(&spool), Some(2 * MEMORY_BYTES as u64));
            let mut read = 0;
            while read < 3 * MEMORY_BYTES {
                read += poll_fn(|cx| spool.poll_next(cx)).await.unwrap().unwrap().len();
            }
            assert_eq!(kept(&spool), Some(0));
            sink.finish();
        });
    }
}
