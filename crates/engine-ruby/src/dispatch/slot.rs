//! One thread of a worker, seen from here: its connection, the requests it was sent, and where its answers go.

use std::collections::VecDeque;
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

use super::held::Held;
use super::job::Job;
use super::row::{Row, Step};
use crate::wire::answer;
use crate::wire::control::Control;
use crate::wire::frames::{Frame, Reader, WireError, flag, kind};
use crate::wire::shapes::Shapes;

/// A buffer that grew beyond this for one request is given back.
const KEPT_BYTES: usize = 256 << 10;

/// How often it is looked whether all is read that a worker has left.
const LOOK: Duration = Duration::from_millis(10);

/// The application comes for its connection at once; more than this are not kept for one that does not.
const UPGRADES_MAX: usize = 15;

/// One thread of a worker.
pub struct Slot {
    /// The number of the worker.
    pub worker: u32,
    /// The number of the thread in it.
    pub number: u32,
    /// The way to give the worker orders.
    pub control: Arc<Control>,
    /// The process of the worker.
    pid: u32,
    /// Whether we may open files for it: we must not where we have rights that it has not.
    may_name_files: bool,
    writer: OwnedWriteHalf,
    state: Mutex<State>,
    /// There are bytes to be written.
    dirty: Notify,
    /// All that the worker has written is read.
    is_read: AtomicBool,
    read: Notify,
    /// Its reader waits for bytes.
    waits: AtomicBool,
}

/// A request that a worker has left.
pub struct Left {
    /// The request.
    pub job: Box<Job>,
    /// Where its body went, if its answer had begun and was not just being written.
    pub sink: Option<Sink>,
    /// Whether it was the first, which ran.
    pub has_begun: bool,
}

struct State {
    shapes: Shapes,
    out: BytesMut,
    row: Row,
    seq: u32,
    /// Connections that are the application's, until it comes for them.
    upgrades: VecDeque<(u32, Duplex)>,
    is_open: bool,
    /// Why it was closed.
    closed_by: Option<Fault>,
    is_writing: bool,
}

/// What the watch sees of a slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// How long the request that runs has been running.
    pub age: Duration,
    /// The number of the request that runs, when its deadline has just passed.
    pub expired: Option<u32>,
    /// That one has no client any more.
    pub is_left: bool,
    /// The request did not end when it was interrupted. Told once.
    pub is_stuck: bool,
    /// How many were handed ahead.
    pub ahead: usize,
}

impl Slot {
    /// Of a connection that has said HELLO.
    pub fn new(worker: u32, number: u32, control: Arc<Control>, writer: OwnedWriteHalf) -> Slot {
        let state = State {
            shapes: Shapes::default(),
            out: BytesMut::new(),
            row: Row::default(),
            seq: 0,
            upgrades: VecDeque::new(),
            is_open: true,
            closed_by: None,
            is_writing: false,
        };
        Slot {
            worker,
            number,
            control,
            pid: 0,
            may_name_files: true,
            writer,
            state: Mutex::new(state),
            dirty: Notify::new(),
            is_read: AtomicBool::new(false),
            read: Notify::new(),
            waits: AtomicBool::new(false),
        }
    }

    /// With what is known of its process.
    pub fn of_process(self, pid: u32, may_name_files: bool) -> Slot {
        Slot { pid, may_name_files, ..self }
    }

    /// Takes a request on; it comes back when the worker has just died. [`Slot::flush`] sends it.
    pub fn push(&self, mut job: Box<Job>) -> Result<(), Box<Job>> {
        let mut state = self.state.lock();
        if !state.is_open {
            return Err(job);
        }
        let now = Instant::now();
        job.queued = now.saturating_duration_since(job.offered);
        job.ran_on = Some((self.worker, self.pid));
        state.seq = state.seq.wrapping_add(1);
        let seq = state.seq;
        let State { shapes, out, .. } = &mut *state;
        shapes.put(out, seq, &job.request);
        state.row.push(seq, job, now);
        Ok(())
    }

    /// Writes what is there; what the socket does not take now goes later.
    pub fn flush(&self) {
        if self.is_clogged_after_flush() {
            self.dirty.notify_one();
        }
    }

    /// Has it written when everything else that is ready on this slot's lane has had its turn: requests that arrived
    /// together go out together. To be called on that lane.
    pub fn flush_later(&self) {
        self.dirty.notify_one();
    }

    /// Flushes whenever there is something; never ends by itself.
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

    /// The lock is not held while it writes: a write wakes the worker, which on a busy machine takes the processor at
    /// once.
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
                // The buffer is used again, unless it has grown for one large request.
                if out.capacity() <= KEPT_BYTES {
                    state.out = out;
                }
                return false;
            }
        }
    }

    /// Writes as much as goes; how much that was.
    fn write(&self, out: &[u8]) -> usize {
        let mut written = 0;
        while written < out.len() {
            match self.writer.try_write(&out[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The reader will see the end.
                Err(_) => return out.len(),
            }
        }
        written
    }

    /// Takes a frame of the worker.
    pub fn receive(&self, frame: Frame) -> Result<Step, WireError> {
        let mut state = self.state.lock();
        match frame.kind {
            kind::ANSWER => self.answer(&mut state, frame),
            kind::CHUNK => Ok(state.row.first("CHUNK")?.chunk(frame.payload)),
            kind::END => {
                state.row.first("END")?.end();
                // With a byte in it, the end of the slot's work is told by FREE.
                Ok(if frame.payload.is_empty() { state.row.done() } else { Step::Nothing })
            }
            kind::FREE => {
                state.row.first("FREE")?;
                Ok(state.row.done())
            }
            kind::FAULT => {
                let mut reader = Reader::new(frame.payload, "FAULT");
                let (seq, flags) = (reader.u32()?, reader.u8()?);
                state.row.fail(seq, &answer::fault(reader.list()), flags & flag::LATER != 0)
            }
            kind::BAD => {
                let mut reader = Reader::new(frame.payload, "BAD");
                let (seq, flags) = (reader.u32()?, reader.u8()?);
                state.row.fail(seq, &Fault::BadAnswer(reader.text()), flags & flag::LATER != 0)
            }
            kind::HINTS => {
                let mut reader = Reader::new(frame.payload, "HINTS");
                let seq = reader.u32()?;
                let headers = answer::hints(&mut reader)?;
                state.row.hint(seq, headers);
                Ok(Step::Nothing)
            }
            other => Err(WireError(format!("a frame of kind {other} on a slot, where it has no meaning"))),
        }
    }

    /// Requests whose answer has not begun.
    pub fn unanswered(&self) -> usize {
        let is_unanswered = |job: &Job| !job.is_answered();
        self.state.lock().row.0.iter().filter(|running| running.job.as_deref().is_some_and(is_unanswered)).count()
    }

    /// Whether a connection is the application's that it has not come for yet.
    pub fn awaits_takeover(&self) -> bool {
        !self.state.lock().upgrades.is_empty()
    }

    fn answer(&self, state: &mut State, frame: Frame) -> Result<Step, WireError> {
        let answer = answer::read(frame.payload)?;
        let (is_more, is_open) = (answer.is_open(), answer.is_open() || answer.is_free_later());
        state.row.skip_to(answer.seq)?;
        let running = state.row.first("ANSWER")?;
        let Some(job) = &mut running.job else {
            return Ok(if is_open { Step::Nothing } else { state.row.done() });
        };
        let seq = answer.seq;
        match answer.response(self.may_name_files) {
            Ok(made) => {
                match made.first {
                    Some(first) => running.held = Some(Held::new(made.head, first)),
                    None => {
                        job.answer(Ok(Response { head: made.head, body: made.body }));
                        running.until = None;
                    }
                }
                if let Some(duplex) = made.duplex {
                    state.upgrades.truncate(UPGRADES_MAX);
                    state.upgrades.push_front((seq, duplex));
                }
            }
            Err(fault) => {
                job.answer(Err(fault));
                if is_more {
                    self.control.cancel(self.number, seq);
                }
            }
        }
        Ok(if is_open { Step::Nothing } else { state.row.done() })
    }

    /// Gives a sink back after a chunk, or word that nobody wants more.
    pub fn sent(&self, sink: Sink, went: Result<(), SendError>) {
        let mut state = self.state.lock();
        let Some(running) = state.row.0.front_mut() else {
            if let Some(fault) = &state.closed_by {
                sink.fail(fault.clone());
            }
            return;
        };
        running.is_sending = false;
        match went {
            Ok(()) => running.sink = Some(sink),
            Err(_) => {
                running.leave(Instant::now());
                self.control.cancel(self.number, running.seq);
            }
        }
    }

    /// The connection has ended: all that was sent and is not answered to its end. A body in the middle of which it has
    /// ended fails by this fault.
    pub fn close(&self, fault: Fault) -> Vec<Left> {
        let mut state = self.state.lock();
        state.is_open = false;
        state.closed_by = Some(fault);
        state.upgrades.clear();
        let running = mem::take(&mut state.row.0);
        let all = running.into_iter().enumerate().filter(|(_, running)| !running.is_whole());
        all.filter_map(|(at, running)| Some(Left { job: running.job?, sink: running.sink, has_begun: at == 0 }))
            .collect()
    }

    /// From now on it takes no request.
    pub fn refuse(&self) {
        self.state.lock().is_open = false;
    }

    /// How many requests it has.
    pub fn load(&self) -> usize {
        self.state.lock().row.0.iter().filter(|running| running.job.is_some()).count()
    }

    /// Whether something was sent that may have an answer among what is still to be read.
    pub fn has_unread(&self) -> bool {
        !self.is_read.load(Ordering::SeqCst) && self.load() > 0
    }

    /// Whether the reader waits for bytes, or does something with those that it has.
    pub fn waits(&self, waits: bool) {
        self.waits.store(waits, Ordering::SeqCst);
    }

    /// All that the worker has written is read.
    pub fn end_reading(&self) {
        self.is_read.store(true, Ordering::SeqCst);
        self.read.notify_waiters();
    }

    /// Waits until all is read that a worker has written that writes nothing more. To be called on the lane of its
    /// reader, which cannot be in the middle of something then. A child of the worker may hold the connection open, so
    /// it need not have come to its end.
    pub async fn until_read(&self) {
        loop {
            // Made before the look, so that an end in between is not missed.
            let read = self.read.notified();
            if self.is_read.load(Ordering::SeqCst) || (self.waits.load(Ordering::SeqCst) && self.is_empty()) {
                return;
            }
            let _ = timeout(LOOK, read).await;
        }
    }

    /// Whether the socket has nothing to be read.
    fn is_empty(&self) -> bool {
        let socket: &UnixStream = self.writer.as_ref();
        let looked = recv(socket.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
        matches!(looked, Err(Errno::EAGAIN))
    }

    /// Takes back what has not begun, oldest first.
    pub fn withdraw(&self) -> Vec<Box<Job>> {
        let mut state = self.state.lock();
        let ahead = state.row.0.iter_mut().skip(1);
        let taken = ahead.filter_map(|running| {
            let job = running.job.take()?;
            self.control.cancel(self.number, running.seq);
            Some(job)
        });
        taken.collect()
    }

    /// How it stands. A deadline that has passed is told once, and its client is answered; and once more when it has
    /// been over for `patience`.
    pub fn look(&self, now: Instant, patience: Duration) -> Look {
        let mut state = self.state.lock();
        for running in state.row.0.iter_mut().filter(|running| running.is_newly_left()) {
            running.leave(now);
            self.control.cancel(self.number, running.seq);
        }
        let ahead = state.row.0.iter().skip(1).filter(|running| running.job.is_some()).count();
        let Some(running) = state.row.0.front_mut() else { return Look::default() };
        let mut look = Look { age: now.saturating_duration_since(running.since), ahead, ..Look::default() };
        if running.held.as_ref().is_some_and(|held| held.is_due(now)) {
            running.release();
        }
        let (Some(job), Some(until)) = (&mut running.job, running.until) else { return look };
        let overdue = now.saturating_duration_since(until);
        look.is_stuck = overdue > patience && !std::mem::replace(&mut running.is_stuck, overdue > patience);
        if !overdue.is_zero() && !running.is_expired {
            running.is_expired = true;
            let allowed = job.request.time_allowed();
            job.answer(Err(Fault::OutOfTime(allowed.into())));
            look.expired = Some(running.seq);
            look.is_left = running.is_left;
        }
        look
    }

    /// A file that a worker fetches: the body of the request that runs.
    pub fn file(&self, seq: u32) -> Option<Arc<files::TempFile>> {
        let state = self.state.lock();
        let running = state.row.0.iter().find(|running| running.seq == seq)?;
        match &running.job.as_ref()?.request.input {
            Input::File(file, _) => Some(file.clone()),
            _ => None,
        }
    }

    /// Takes the connection to the client away from HTTP.
    pub fn take_over(&self, seq: u32) -> Option<Duplex> {
        let mut state = self.state.lock();
        let running = state.row.0.iter_mut().find(|running| running.seq == seq)?;
        let job = running.job.as_mut().filter(|job| !job.is_answered())?;
        job.request.takeover.take().map(|takeover| takeover.take())
    }

    /// The application's end of an upgraded connection.
    pub fn upgrade(&self, seq: u32) -> Option<Duplex> {
        let mut state = self.state.lock();
        let at = state.upgrades.iter().position(|(waiting, _)| *waiting == seq)?;
        state.upgrades.remove(at).map(|(_, duplex)| duplex)
    }

    /// What runs, for the log: method and path.
    pub fn title(&self) -> String {
        self.running(Instant::now()).map_or_else(String::new, |run| format!("{} {}", run.method, run.path))
    }

    /// What runs.
    pub fn running(&self, now: Instant) -> Option<RunView> {
        let state = self.state.lock();
        let running = state.row.0.front()?;
        let request = &running.job.as_ref()?.request;
        Some(RunView {
            id: request.id.clone(),
            method: request.method.to_string(),
            path: request.path.clone(),
            age_ms: now.saturating_duration_since(running.since).as_secs_f64() * 1e3,
            thread: self.number,
        })
    }
}
