//! The connection to one thread of a worker: the requests it was sent, and where its answers go.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use engine::body::SendError;
use engine::snapshot::RunView;
use engine::{Duplex, Fault, Input, Response, Sink};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use parking_lot::Mutex;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::buffered_response::BufferedResponse;
use super::claims::{self, Claims};
use super::direct_writes::DirectWrites;
use super::in_flight::{InFlight, Step};
use super::job::Job;
use super::worker_memory::{Lent, Pieces, WorkerMemory};
use crate::wire::answer::{self, Answer};
use crate::wire::control::Control;
use crate::wire::frames::{Frame, Reader, WireError, kind};
use crate::wire::shapes::Shapes;

/// The largest capacity that a write buffer keeps; one that grew beyond this for one request is dropped.
const KEPT_BYTES: usize = 256 << 10;

/// The interval of checks whether everything that a dead worker has written is read.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The most upgraded connections, and bodies that were left to threads, that wait for the connection of the application
/// to be accepted; when there are more, the oldest is dropped. A thread does not wait for that, so it may leave many
/// streams while this process is busy. It is as many as a worker may leave at a time (`MOST` in rest.rb).
const UPGRADES_MAX: usize = 10_000;

/// The connection to one thread of a worker.
pub struct WorkerThread {
    /// Its worker.
    pub owner: ThreadOwner,
    /// The number of the thread in the worker.
    pub number: u32,
    /// The connection for direct writes, when the worker has opened it. An exception in the worker may end it, and
    /// another one takes its place.
    direct: Mutex<Option<Arc<DirectWrites>>>,
    writer: OwnedWriteHalf,
    state: Mutex<State>,
    /// Notified when there are bytes to be written.
    dirty: Notify,
    /// Everything that the worker has written is read.
    is_read: AtomicBool,
    read: Notify,
    /// True while its reader waits for bytes.
    is_waiting: AtomicBool,
    /// True while its reader waits for a client to take what was read.
    awaits_client: AtomicBool,
}

/// The worker that a thread belongs to.
#[derive(Clone)]
pub struct ThreadOwner {
    /// The number of the worker.
    pub worker: u32,
    /// The process id of the worker.
    pub pid: u32,
    /// The name of the application in the log.
    pub app: Option<String>,
    /// The control connection of the worker, for orders to it.
    pub control: Arc<Control>,
    /// Whether its answers may name files that the server opens; not where the server has rights that the worker does
    /// not have.
    pub may_name_files: bool,
    /// The memory of the worker, if this process may read it.
    pub memory: Option<Arc<WorkerMemory>>,
    /// Which requests the worker has begun; none if it has not asked for them: then nothing is taken back from it.
    pub claims: Option<Arc<Claims>>,
}

/// A request left unfinished by a worker that is gone.
pub struct Unfinished {
    /// The request.
    pub job: Box<Job>,
    /// The sink of its body, if its answer had begun and no chunk was just being sent.
    pub sink: Option<Sink>,
    /// Whether it was the one that ran, and not pipelined behind it.
    pub has_begun: bool,
    /// Whether it was pipelined, and the worker has not begun it and never will: it may run on another one, whatever
    /// its method.
    pub is_untouched: bool,
}

struct State {
    shapes: Shapes,
    out: BytesMut,
    in_flight: InFlight,
    seq: u32,
    /// Upgraded connections, and bodies that were left to threads, that wait for the application to open its end, by
    /// the number of the request.
    upgrades: VecDeque<(u32, Duplex)>,
    /// Hijacks whose connections are relayed, by the number of the request: whether the application's code has failed.
    hijacks: HashMap<u32, Arc<AtomicBool>>,
    is_open: bool,
    /// The fault with which it was closed.
    closed_by: Option<Fault>,
    is_writing: bool,
}

/// The state of a worker thread, as the deadline timer sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestState {
    /// Whether there is a current request.
    pub is_running: bool,
    /// How long the current request has been running; zero also if it began after the time of the check.
    pub age: Duration,
    /// Whether the current request has no deadline: its answer has begun, or the application has taken its connection.
    pub is_stream: bool,
    /// The number of the current request, if its deadline has just passed.
    pub expired: Option<u32>,
    /// Whether the client of the expired request has gone.
    pub is_left: bool,
    /// Whether the expired request has its answer, and the work after that has taken too long.
    pub is_finishing: bool,
    /// Whether the request did not end when it was interrupted. True once per request.
    pub is_stuck: bool,
    /// Number of requests pipelined behind the current one.
    pub pipelined: usize,
    /// Whether the beginning of a response is held back.
    pub is_held_back: bool,
}

impl State {
    fn await_takeover(&mut self, seq: u32, duplex: Duplex) {
        self.upgrades.truncate(UPGRADES_MAX);
        self.upgrades.push_front((seq, duplex));
    }
}

impl WorkerThread {
    /// Creates the state of a connection whose HELLO has been received: of the thread with this number.
    pub fn new(owner: ThreadOwner, number: u32, writer: OwnedWriteHalf) -> WorkerThread {
        let state = State {
            shapes: Shapes::default(),
            out: BytesMut::new(),
            in_flight: InFlight::default(),
            seq: 0,
            upgrades: VecDeque::new(),
            hijacks: HashMap::new(),
            is_open: true,
            closed_by: None,
            is_writing: false,
        };
        WorkerThread {
            owner,
            number,
            direct: Mutex::new(None),
            writer,
            state: Mutex::new(state),
            dirty: Notify::new(),
            is_read: AtomicBool::new(false),
            read: Notify::new(),
            is_waiting: AtomicBool::new(false),
            awaits_client: AtomicBool::new(false),
        }
    }

    /// Creates a thread for tests, of a worker without a process: its answers may name files, and its memory cannot be
    /// read. Returns it with the reader of its connection, and with the worker's end of that.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn sample(
        worker: u32,
        number: u32,
        control: Arc<Control>,
    ) -> io::Result<(WorkerThread, tokio::net::unix::OwnedReadHalf, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let (reader, writer) = ours.into_split();
        let claims = Some(Arc::new(Claims::new()?));
        let owner = ThreadOwner { worker, pid: 0, app: None, control, may_name_files: true, memory: None, claims };
        Ok((WorkerThread::new(owner, number, writer), reader, theirs))
    }

    /// Queues a request to be sent; [`WorkerThread::flush`] sends it. Returns the request if the worker has just died.
    pub fn push(&self, mut job: Box<Job>) -> Result<(), Box<Job>> {
        let mut state = self.state.lock();
        if !state.is_open {
            return Err(job);
        }
        let now = Instant::now();
        job.queued = job.waited(now);
        job.ran_on = Some((self.owner.worker, self.owner.pid));
        state.seq = state.seq.wrapping_add(1);
        let seq = state.seq;
        let State { shapes, out, in_flight, .. } = &mut *state;
        shapes.put(out, seq, &job.request, !in_flight.sent.is_empty());
        in_flight.push(seq, job, now);
        Ok(())
    }

    /// Writes all queued bytes; what the socket does not take now is written later.
    pub fn flush(&self) {
        if self.is_clogged_after_flush() {
            self.dirty.notify_one();
        }
    }

    /// Writes queued bytes after everything else that is ready on the I/O thread of this connection, so that requests
    /// that arrived together are sent together. Must be called on that I/O thread.
    pub fn flush_later(&self) {
        self.dirty.notify_one();
    }

    /// Flushes whenever there is something to write, until the connection fails.
    pub async fn keep_flushing(&self) {
        loop {
            self.dirty.notified().await;
            while self.is_clogged_after_flush() {
                if self.writer.writable().await.is_err() {
                    return;
                }
            }
        }
    }

    /// Flushes, and returns whether the socket would not take all. The lock is not held during the write: a write wakes
    /// the worker, which on a busy machine takes the processor at once.
    fn is_clogged_after_flush(&self) -> bool {
        let mut out = BytesMut::new();
        loop {
            {
                let mut state = self.state.lock();
                if state.is_writing || state.out.is_empty() {
                    return false;
                }
                state.is_writing = true;
                mem::swap(&mut state.out, &mut out);
            }
            let written = self.write(&out);
            let mut state = self.state.lock();
            state.is_writing = false;
            if written < out.len() {
                out.advance(written);
                out.unsplit(mem::take(&mut state.out));
                state.out = out;
                return true;
            }
            out.clear();
            if state.out.is_empty() {
                // The buffer is reused, unless it has grown for one large request.
                if out.capacity() <= KEPT_BYTES {
                    state.out = out;
                }
                return false;
            }
        }
    }

    /// Writes as much as the socket takes, and returns the number of bytes.
    fn write(&self, out: &[u8]) -> usize {
        let mut written = 0;
        while written < out.len() {
            match self.writer.try_write(&out[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The reader will see the end of the connection.
                Err(_) => return out.len(),
            }
        }
        written
    }

    /// Handles a frame from the worker. Returns the next step, and the number of withdrawn requests that the worker has
    /// answered.
    pub fn receive(&self, frame: Frame) -> Result<(Step, usize), WireError> {
        let mut state = self.state.lock();
        let step = self.handle_frame(&mut state, frame)?;
        Ok((step, state.in_flight.take_withdrawn()))
    }

    fn handle_frame(&self, state: &mut State, frame: Frame) -> Result<Step, WireError> {
        match frame.kind {
            kind::ANSWER => {
                let answer = answer::read(frame.payload)?;
                let awaits_opening = answer.awaits_opening();
                let step = self.handle_answer(state, answer)?;
                if awaits_opening {
                    self.owner.control.release(self.number, 0);
                }
                Ok(step)
            }
            kind::CHUNK => Ok(state.in_flight.first("CHUNK")?.chunk(frame.payload)),
            kind::MEMORY => {
                let mut reader = Reader::new(frame.payload, "MEMORY");
                let lent = Lent { address: reader.u64()?, length: reader.u64()?, offered_on: reader.u32()? };
                Ok(state.in_flight.first("MEMORY")?.memory(lent))
            }
            kind::END => {
                state.in_flight.first("END")?.end();
                // With a byte in it, the thread goes on after the answer and sends FREE when it is done.
                Ok(state.in_flight.complete(!frame.payload.is_empty()))
            }
            kind::LEFT => {
                let sent = state.in_flight.first("LEFT")?;
                let seq = sent.seq;
                let sink = sent.take_rest();
                state.await_takeover(seq, sink.map_or_else(answer::orphan, answer::rest));
                Ok(state.in_flight.complete(!frame.payload.is_empty()))
            }
            kind::FREE => {
                state.in_flight.first("FREE")?;
                Ok(state.in_flight.done())
            }
            number @ (kind::FAULT | kind::BAD) => {
                let is_bad = number == kind::BAD;
                let mut reader = Reader::new(frame.payload, if is_bad { "BAD" } else { "FAULT" });
                let (seq, flags) = (reader.u32()?, reader.u8()?);
                let fault = if is_bad { Fault::BadAnswer(reader.text()) } else { answer::fault(reader.list()) };
                state.in_flight.fail(seq, &fault, flags, self.owner.app.as_deref())
            }
            kind::HINTS => {
                let mut reader = Reader::new(frame.payload, "HINTS");
                let seq = reader.u32()?;
                let headers = answer::hints(&mut reader)?;
                state.in_flight.hint(seq, headers);
                Ok(Step::Nothing)
            }
            other => Err(WireError(format!("a frame of kind {other} on a slot, where it has no meaning"))),
        }
    }

    /// Returns the number of its requests whose answer has not begun.
    pub fn unanswered(&self) -> usize {
        let is_unanswered = |job: &Job| !job.is_answered();
        self.state.lock().in_flight.sent.iter().filter(|sent| sent.job.as_deref().is_some_and(is_unanswered)).count()
    }

    /// Returns the number of requests that have a place on it and were withdrawn, or whose answer has begun.
    pub fn settled(&self) -> usize {
        let state = self.state.lock();
        state.in_flight.sent.iter().filter(|sent| sent.job.as_deref().is_none_or(Job::is_answered)).count()
    }

    /// Returns whether this request was sent and is not over.
    pub fn is_in_flight(&self, seq: u32) -> bool {
        self.state.lock().in_flight.sent.iter().any(|sent| sent.seq == seq)
    }

    /// Returns whether the beginning of a response is held back.
    pub fn holds_back(&self) -> bool {
        self.state.lock().in_flight.sent.front().is_some_and(|sent| sent.buffered.is_some())
    }

    /// Returns whether an upgraded connection, or a body that was left to threads, waits for the application to open
    /// its end.
    pub fn awaits_takeover(&self) -> bool {
        !self.state.lock().upgrades.is_empty()
    }

    fn handle_answer(&self, state: &mut State, answer: Answer) -> Result<Step, WireError> {
        let is_more = answer.is_open();
        let is_free_later = answer.is_free_later();
        let is_upgrade = answer.is_upgrade();
        state.in_flight.skip_to(answer.seq)?;
        let sent = state.in_flight.first("ANSWER")?;
        let seq = answer.seq;
        let Some(job) = &mut sent.job else {
            // It was withdrawn, and the worker should have said so.
            if is_upgrade {
                state.await_takeover(seq, answer::orphan());
            }
            return Ok(if is_more { Step::Nothing } else { state.in_flight.complete(is_free_later) });
        };
        match answer.response(self.owner.may_name_files) {
            Ok(made) => {
                match made.first {
                    Some(first) => sent.buffered = Some(BufferedResponse::new(made.head, first)),
                    None => {
                        job.answer(Ok(Response { head: made.head, body: made.body }));
                        sent.until = None;
                    }
                }
                if let Some(duplex) = made.duplex {
                    state.await_takeover(seq, duplex);
                }
            }
            Err(fault) => {
                sent.log_unseen(&fault, self.owner.app.as_deref());
                if let Some(job) = &mut sent.job {
                    job.answer(Err(fault));
                }
                // The thread waits until its connection is the application's, which finds it closed then.
                if is_upgrade {
                    state.await_takeover(seq, answer::orphan());
                }
                if is_more {
                    self.owner.control.cancel(self.number, seq);
                }
            }
        }
        Ok(if is_more { Step::Nothing } else { state.in_flight.complete(is_free_later) })
    }

    /// Returns a sink after a chunk was sent to it, or failed to be because the client has gone.
    pub fn return_sink(&self, sink: Sink, result: Result<(), SendError>) {
        let mut state = self.state.lock();
        let Some(sent) = state.in_flight.sent.front_mut() else {
            if let Some(fault) = &state.closed_by {
                sink.fail(fault.clone());
            }
            return;
        };
        sent.is_sending = false;
        match result {
            Ok(()) => sent.sink = Some(sink),
            Err(_) => {
                sent.leave(Instant::now());
                self.owner.control.cancel(self.number, sent.seq);
            }
        }
    }

    /// Takes over the connection on which the worker gets clients' sockets, to write to them itself, unless the worker
    /// has opened a later one.
    pub fn write_directly_by(&self, direct: Arc<DirectWrites>) {
        let mut latest = self.direct.lock();
        if latest.as_ref().is_none_or(|latest| latest.is_before(&direct)) {
            *latest = Some(direct);
        }
    }

    /// Sends a part of a body in the memory of the worker to the client, and tells the worker how much of it is sent.
    /// The worker passes the rest on in frames.
    pub async fn send_lent(&self, sink: Option<Sink>, lent: Lent) {
        let direct = self.direct.lock().clone().filter(|direct| direct.is_offered(&lent));
        let Some(sink) = sink else {
            if let Some(direct) = direct {
                direct.decline();
            }
            // No one wants the body: all of it counts as read, so that the worker does not send it.
            return self.owner.control.release(self.number, lent.length);
        };
        let written = self.write_directly(direct.as_deref(), &sink, lent).await;
        let taken = match written {
            // The worker knows that it is over.
            Some(written) if written == lent.length => return self.return_sink(sink, Ok(())),
            Some(written) => self.forward_lent(sink, lent.after(written)).await.saturating_add(written),
            // The stream breaks off: its worker has ended, or sends the fault as its next frame.
            None => {
                self.return_sink(sink, Ok(()));
                lent.length
            }
        };
        self.owner.control.release(self.number, taken);
    }

    /// Lets the worker write a part of a body to the client itself, as much as the client takes soon. Returns the
    /// number of bytes; none if it is not known how much was written.
    async fn write_directly(&self, direct: Option<&DirectWrites>, sink: &Sink, lent: Lent) -> Option<u64> {
        let Some(direct) = direct else { return Some(0) };
        let Some(memory) = &self.owner.memory else {
            direct.decline();
            return Some(0);
        };
        let Some(granted) = sink.ask_for_direct_write(lent.length).await else {
            direct.decline();
            return Some(0);
        };
        let Some(written) = direct.write(granted.socket(), memory).await else {
            // What comes on it now would be taken for the report on another part.
            *self.direct.lock() = None;
            return None;
        };
        let written = written.min(lent.length);
        granted.finish(written);
        Some(written)
    }

    /// Forwards what can be read, and returns the number of bytes; all if the client has gone.
    async fn forward_lent(&self, sink: Sink, lent: Lent) -> u64 {
        let mut taken = 0;
        let mut result = Ok(());
        let mut pieces = self.owner.memory.as_ref().map(|memory| Pieces::new(memory, lent));
        while result.is_ok()
            && let Some(piece) = pieces.as_mut().and_then(Pieces::next)
        {
            taken += piece.len() as u64;
            result = sink.send(piece).await;
        }
        let is_wanted = result.is_ok();
        self.return_sink(sink, result);
        if is_wanted { taken } else { lent.length }
    }

    /// Closes the connection and returns all requests that were sent and are not answered completely. A body that was
    /// just being sent, and what still waits for the application to open its end, fail with this fault.
    pub fn close(&self, fault: Fault) -> Vec<Unfinished> {
        let mut state = self.state.lock();
        state.is_open = false;
        for (_, duplex) in mem::take(&mut state.upgrades) {
            duplex.outgoing.fail(fault.clone());
        }
        state.closed_by = Some(fault);
        let sent = mem::take(&mut state.in_flight.sent);
        let now = Instant::now();
        let all = sent.into_iter().enumerate().filter(|(_, sent)| !sent.is_whole());
        // The process may still run: it must begin none of them from now on.
        let begun = self.owner.claims.as_ref().and_then(|claims| claims.withdraw(self.number, state.seq));
        let unfinished = all.filter_map(|(at, sent)| {
            let mut job = sent.job?;
            let begun = begun.filter(|_| sent.is_ahead).map(|begun| claims::is_up_to(sent.seq, begun));
            let has_begun = at == 0 || begun == Some(true);
            if has_begun {
                job.ran_in_vain += now.saturating_duration_since(sent.since);
            }
            let is_untouched = at > 0 && begun == Some(false);
            Some(Unfinished { job, sink: sent.sink, has_begun, is_untouched })
        });
        unfinished.collect()
    }

    /// Takes no more requests from now on; those that were sent go on.
    pub fn refuse_requests(&self) {
        self.state.lock().is_open = false;
    }

    /// Returns the number of requests in flight.
    pub fn load(&self) -> usize {
        self.state.lock().in_flight.sent.iter().filter(|sent| sent.job.is_some()).count()
    }

    /// Returns whether a request was sent whose answer may be among what is still to be read.
    pub fn has_unread(&self) -> bool {
        !self.is_read.load(Ordering::SeqCst) && self.load() > 0
    }

    /// Notes whether its reader waits for bytes, or handles those that it has.
    pub fn set_waiting(&self, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Ordering::SeqCst);
    }

    /// Notes that everything that the worker has written is read.
    pub fn end_reading(&self) {
        self.is_read.store(true, Ordering::SeqCst);
        self.read.notify_waiters();
    }

    /// Waits until everything is read that a dead worker has written. Must be called on the I/O thread of its reader,
    /// which then cannot be in the middle of a frame. A child of the worker may hold the connection open, so it need
    /// not have reached its end.
    pub async fn until_read(&self) {
        loop {
            // Created before the check, so that an end in between is not missed.
            let read = self.read.notified();
            if self.is_read.load(Ordering::SeqCst) || (self.is_waiting.load(Ordering::SeqCst) && self.is_empty()) {
                return;
            }
            let _ = timeout(CHECK_INTERVAL, read).await;
        }
    }

    /// Notes whether its reader waits for a client to take what was read.
    pub fn set_awaiting_client(&self, awaits_client: bool) {
        self.awaits_client.store(awaits_client, Ordering::Relaxed);
    }

    /// Returns whether the worker has written something that its reader has not come to yet. What is not read because a
    /// client is slow does not count.
    pub fn has_answer_to_read(&self) -> bool {
        !self.awaits_client.load(Ordering::Relaxed) && self.peek().is_ok_and(|bytes| bytes > 0)
    }

    /// Returns whether the socket has nothing to be read, and has not reached its end.
    fn is_empty(&self) -> bool {
        self.peek() == Err(Errno::EAGAIN)
    }

    /// Returns whether its connection has ended, or is read no more.
    pub fn has_ended(&self) -> bool {
        self.is_read.load(Ordering::SeqCst) || self.peek() == Ok(0)
    }

    /// Looks for a byte to be read. Returns 0 at the end of the connection, and `EAGAIN` if there is none yet.
    fn peek(&self) -> Result<usize, Errno> {
        let socket: &UnixStream = self.writer.as_ref();
        recv(socket.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT)
    }

    /// Takes back the requests behind the first one that the worker has not begun, oldest first. Each keeps its place
    /// on this thread until the worker says, when its turn comes, that it does not run it. If the worker has begun one
    /// of them, it holds the answer to the first, and is ordered to send that.
    pub fn withdraw(&self) -> Vec<Box<Job>> {
        let mut state = self.state.lock();
        let last = state.seq;
        let in_flight = &mut state.in_flight;
        // Without a new one there is nothing else to be taken back than at the last time.
        if in_flight.sent.len() < 2 || in_flight.withdrawn_up_to == last {
            return Vec::new();
        }
        in_flight.withdrawn_up_to = last;
        let claims = self.owner.claims.as_ref();
        let Some(begun) = claims.and_then(|claims| claims.withdraw(self.number, last)) else { return Vec::new() };
        let mut sent = in_flight.sent.iter_mut();
        if let Some(first) = sent.next()
            && first.seq != begun
            && claims::is_up_to(first.seq, begun)
        {
            self.owner.control.flush(self.number, first.seq);
        }
        let waiting = sent.filter(|sent| !claims::is_up_to(sent.seq, begun));
        let withdrawn = waiting.filter_map(|sent| {
            let mut job = sent.job.take()?;
            job.ran_on = None;
            Some(job)
        });
        withdrawn.collect()
    }

    /// Checks the current request. A deadline that has passed is reported once, and a client without an answer gets
    /// one; a request that runs on for `kill_time` after that is reported once as stuck. A buffered response whose time
    /// is over is sent.
    pub fn check(&self, now: Instant, kill_time: Duration) -> RequestState {
        let mut state = self.state.lock();
        for sent in state.in_flight.sent.iter_mut().filter(|sent| sent.is_newly_left()) {
            sent.leave(now);
            self.owner.control.cancel(self.number, sent.seq);
        }
        let pipelined = state.in_flight.sent.iter().skip(1).filter(|sent| sent.job.is_some()).count();
        let Some(sent) = state.in_flight.sent.front_mut() else { return RequestState::default() };
        let age = now.saturating_duration_since(sent.since);
        let mut found = RequestState { is_running: true, age, pipelined, ..RequestState::default() };
        if sent.buffered.as_ref().is_some_and(|buffered| buffered.is_due(now)) {
            sent.release();
        }
        found.is_held_back = sent.buffered.is_some();
        found.is_stream = sent.until.is_none();
        let Some(until) = sent.until else { return found };
        if let Some(expired) = sent.expired {
            // From the interruption on: this process may have been stopped when the deadline passed.
            let is_stuck = now.saturating_duration_since(expired) > kill_time;
            found.is_stuck = is_stuck && !std::mem::replace(&mut sent.is_stuck, is_stuck);
        } else if now > until {
            sent.expired = Some(now);
            sent.was_interrupted = true;
            // Without a job it was withdrawn, and the worker has not said so yet.
            if let Some(job) = &mut sent.job {
                let allowed = job.request.time_allowed();
                job.answer(Err(Fault::OutOfTime(allowed.into())));
            }
            found.expired = Some(sent.seq);
            found.is_left = sent.is_left;
            found.is_finishing = sent.is_finishing;
        }
        found
    }

    /// Returns the file with the body of a request, for the worker to read.
    pub fn file(&self, seq: u32) -> Option<Arc<files::TempFile>> {
        let state = self.state.lock();
        let sent = state.in_flight.sent.iter().find(|sent| sent.seq == seq)?;
        match &sent.job.as_ref()?.request.input {
            Input::File(file, _) => Some(file.clone()),
            _ => None,
        }
    }

    /// Takes the client's connection over from HTTP, for `rack.hijack`. The application answers by itself, so from here
    /// on the request has no deadline, as after the beginning of any answer.
    pub fn take_over(&self, seq: u32) -> Option<Duplex> {
        let mut state = self.state.lock();
        let sent = state.in_flight.sent.iter_mut().find(|sent| sent.seq == seq)?;
        let job = sent.job.as_mut().filter(|job| !job.is_answered())?;
        let takeover = job.request.takeover.take()?;
        job.is_taken = true;
        sent.until = None;
        Some(takeover.take())
    }

    /// Gives a request whose connection the application has taken a deadline again: that is closed, or its client has
    /// gone.
    pub fn limit_taken(&self, seq: u32, now: Instant) {
        let mut state = self.state.lock();
        let sent = state.in_flight.sent.iter_mut().find(|sent| sent.seq == seq);
        if let Some(sent) = sent.filter(|sent| sent.job.as_deref().is_some_and(|job| !job.is_answered())) {
            sent.limit(now);
        }
    }

    /// Takes the application's end of an upgraded connection, or of a body that was left to threads.
    pub fn upgrade(&self, seq: u32) -> Option<Duplex> {
        let mut state = self.state.lock();
        let at = state.upgrades.iter().position(|(waiting, _)| *waiting == seq)?;
        state.upgrades.remove(at).map(|(_, duplex)| duplex)
    }

    /// Begins to relay a hijacked connection. What it returns says whether the application's code for it has failed.
    pub fn begin_hijack(&self, seq: u32) -> Arc<AtomicBool> {
        self.state.lock().hijacks.entry(seq).or_default().clone()
    }

    /// Notes that the application's code for a hijacked connection has failed, if that is still relayed.
    pub fn break_hijack(&self, seq: u32) {
        if let Some(has_failed) = self.state.lock().hijacks.get(&seq) {
            has_failed.store(true, Ordering::SeqCst);
        }
    }

    /// Forgets a hijacked connection, which is relayed no more.
    pub fn end_hijack(&self, seq: u32) {
        self.state.lock().hijacks.remove(&seq);
    }

    /// Returns the method and path of the current request, for the process title.
    pub fn request_line(&self) -> String {
        self.running(Instant::now()).map_or_else(String::new, |run| format!("{} {}", run.method, run.path))
    }

    /// Returns the current request, for snapshots.
    pub fn running(&self, now: Instant) -> Option<RunView> {
        let state = self.state.lock();
        let sent = state.in_flight.sent.front()?;
        let request = &sent.job.as_ref()?.request;
        Some(RunView {
            id: request.id.clone(),
            method: request.method.to_string(),
            path: request.path.clone(),
            age_ms: now.saturating_duration_since(sent.since).as_secs_f64() * 1e3,
            thread: self.number,
        })
    }
}
