//! One thread of a worker, seen from here: its connection, the requests it was sent, and where its answers go.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use engine::body::SendError;
use engine::{Duplex, Fault, Input, Response, Sink};
use http::HeaderMap;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::Notify;

use crate::answer;
use crate::control::Control;
use crate::frames::{Frame, Reader, WireError, kind};
use crate::job::Job;
use crate::shapes::Shapes;

/// A buffer that grew beyond this for one request is given back.
const KEPT_BYTES: usize = 256 << 10;

/// The application comes for its connection at once; more than this are not kept for one that does not.
const UPGRADES_MAX: usize = 15;

/// One thread of a worker.
pub struct Slot {
    /// The number of the worker.
    pub worker: u32,
    /// The number of the thread in it.
    pub number: u32,
    control: Arc<Control>,
    writer: OwnedWriteHalf,
    state: Mutex<State>,
    /// There are bytes to be written.
    dirty: Notify,
}

struct State {
    shapes: Shapes,
    out: BytesMut,
    running: VecDeque<Running>,
    seq: u32,
    /// Connections that are the application's, until it comes for them.
    upgrades: VecDeque<(u32, Duplex)>,
    is_open: bool,
    is_writing: bool,
}

/// A request that was sent. The first in the row is the one that runs.
struct Running {
    seq: u32,
    /// Empty when it was withdrawn: its answer is of no interest.
    job: Option<Box<Job>>,
    since: Instant,
    sink: Option<Sink>,
    is_expired: bool,
    is_stuck: bool,
}

/// What came of a frame.
pub enum Step {
    /// Nothing that anybody else must know.
    Nothing,
    /// A request is over, after so long; whether it had been interrupted.
    Done(Duration, bool),
    /// A part of a body, to be sent on before the next frame is read.
    Chunk(Sink, bytes::Bytes),
}

/// What the watch sees of a slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// How long the request that runs has been running.
    pub age: Duration,
    /// The number of the request that runs, when its deadline has just passed.
    pub expired: Option<u32>,
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
            running: VecDeque::new(),
            seq: 0,
            upgrades: VecDeque::new(),
            is_open: true,
            is_writing: false,
        };
        Slot { worker, number, control, writer, state: Mutex::new(state), dirty: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request on; it comes back when the worker has just died. [`Slot::flush`] sends it.
    pub fn push(&self, mut job: Box<Job>) -> Result<(), Box<Job>> {
        let mut state = self.lock();
        if !state.is_open {
            return Err(job);
        }
        let now = Instant::now();
        job.queued = now.saturating_duration_since(job.offered);
        state.seq = state.seq.wrapping_add(1);
        let seq = state.seq;
        let State { shapes, out, .. } = &mut *state;
        shapes.put(out, seq, &job.request);
        state.running.push_back(Running {
            seq,
            job: Some(job),
            since: now,
            sink: None,
            is_expired: false,
            is_stuck: false,
        });
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
                let mut state = self.lock();
                if state.is_writing || state.out.is_empty() {
                    return false;
                }
                state.is_writing = true;
                mem::swap(&mut state.out, &mut out);
            }
            let written = self.write(&out);
            let mut state = self.lock();
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
        let mut state = self.lock();
        match frame.kind {
            kind::ANSWER => self.answer(&mut state, frame),
            kind::CHUNK => Ok(match state.first("CHUNK")?.sink.take() {
                Some(sink) => Step::Chunk(sink, frame.payload),
                None => Step::Nothing,
            }),
            kind::END => {
                if let Some(sink) = state.first("END")?.sink.take() {
                    sink.finish();
                }
                Ok(state.done())
            }
            kind::FAULT => {
                let mut reader = Reader::new(frame.payload, "FAULT");
                let seq = reader.u32()?;
                state.fail(seq, &answer::fault(reader.list()))
            }
            kind::BAD => {
                let mut reader = Reader::new(frame.payload, "BAD");
                let seq = reader.u32()?;
                state.fail(seq, &Fault::BadAnswer(reader.text()))
            }
            kind::HINTS => {
                let mut reader = Reader::new(frame.payload, "HINTS");
                let seq = reader.u32()?;
                let headers = answer::hints(&mut reader)?;
                state.hint(seq, headers);
                Ok(Step::Nothing)
            }
            other => Err(WireError(format!("a frame of kind {other} on a slot, where it has no meaning"))),
        }
    }

    fn answer(&self, state: &mut State, frame: Frame) -> Result<Step, WireError> {
        let answer = answer::read(frame.payload)?;
        let is_open = answer.is_open();
        state.skip_to(answer.seq)?;
        let running = state.first("ANSWER")?;
        let Some(job) = &mut running.job else {
            return Ok(if is_open { Step::Nothing } else { state.done() });
        };
        let seq = answer.seq;
        match answer.response() {
            Ok(made) => {
                running.sink = made.sink;
                job.answer(Ok(Response { head: made.head, body: made.body }));
                if let Some(duplex) = made.duplex {
                    state.upgrades.truncate(UPGRADES_MAX);
                    state.upgrades.push_front((seq, duplex));
                }
            }
            Err(fault) => {
                job.answer(Err(fault));
                if is_open {
                    self.control.cancel(self.number, seq);
                }
            }
        }
        Ok(if is_open { Step::Nothing } else { state.done() })
    }

    /// Gives a sink back after a chunk, or word that nobody wants more.
    pub fn sent(&self, sink: Sink, went: Result<(), SendError>) {
        let mut state = self.lock();
        let Some(running) = state.running.front_mut() else { return };
        match went {
            Ok(()) => running.sink = Some(sink),
            Err(_) => self.control.cancel(self.number, running.seq),
        }
    }

    /// The connection has ended: all that was sent and not answered.
    pub fn close(&self) -> Vec<(Box<Job>, Option<Sink>)> {
        let mut state = self.lock();
        state.is_open = false;
        state.upgrades.clear();
        let running = mem::take(&mut state.running);
        running.into_iter().filter_map(|running| Some((running.job?, running.sink))).collect()
    }

    /// Takes back what has not begun, oldest first.
    pub fn withdraw(&self) -> Vec<Box<Job>> {
        let mut state = self.lock();
        let ahead = state.running.iter_mut().skip(1);
        let taken = ahead.filter_map(|running| {
            let job = running.job.take()?;
            self.control.cancel(self.number, running.seq);
            Some(job)
        });
        taken.collect()
    }

    /// How it stands. A deadline that has passed is told once, and its client is answered; and once more when it has been
    /// over for `patience`.
    pub fn look(&self, now: Instant, patience: Duration) -> Look {
        let mut state = self.lock();
        let ahead = state.running.iter().skip(1).filter(|running| running.job.is_some()).count();
        let Some(running) = state.running.front_mut() else { return Look::default() };
        let mut look = Look { age: now.saturating_duration_since(running.since), ahead, ..Look::default() };
        let Some(job) = &mut running.job else { return look };
        if job.is_answered() && !running.is_expired {
            return look;
        }
        let overdue = now.saturating_duration_since(job.request.deadline);
        look.is_stuck = overdue > patience && !std::mem::replace(&mut running.is_stuck, overdue > patience);
        if !overdue.is_zero() && !running.is_expired {
            running.is_expired = true;
            let allowed = job.request.deadline.saturating_duration_since(job.request.received);
            job.answer(Err(Fault::OutOfTime(Duration::from_secs_f64((allowed.as_secs_f64() * 1e3).round() / 1e3))));
            look.expired = Some(running.seq);
        }
        look
    }

    /// A file that a worker fetches: the body of the request that runs.
    pub fn file(&self, seq: u32) -> Option<Arc<std::fs::File>> {
        let state = self.lock();
        let running = state.running.iter().find(|running| running.seq == seq)?;
        match &running.job.as_ref()?.request.input {
            Input::File(file, _) => Some(file.clone()),
            _ => None,
        }
    }

    /// Takes the connection to the client away from HTTP.
    pub fn take_over(&self, seq: u32) -> Option<Duplex> {
        let mut state = self.lock();
        let running = state.running.iter_mut().find(|running| running.seq == seq)?;
        let job = running.job.as_mut().filter(|job| !job.is_answered())?;
        job.request.takeover.take().map(|takeover| takeover.take())
    }

    /// The application's end of an upgraded connection.
    pub fn upgrade(&self, seq: u32) -> Option<Duplex> {
        let mut state = self.lock();
        let at = state.upgrades.iter().position(|(waiting, _)| *waiting == seq)?;
        state.upgrades.remove(at).map(|(_, duplex)| duplex)
    }

    /// What runs, for the log: method and path.
    pub fn title(&self) -> String {
        let state = self.lock();
        let job = state.running.front().and_then(|running| running.job.as_ref());
        job.map_or_else(String::new, |job| format!("{} {}", job.request.method, job.request.path))
    }
}

impl State {
    fn first(&mut self, frame: &str) -> Result<&mut Running, WireError> {
        self.running.front_mut().ok_or_else(|| WireError(format!("{frame} while no request runs")))
    }

    /// Withdrawn requests that the worker did not run have no answer.
    fn skip_to(&mut self, seq: u32) -> Result<(), WireError> {
        let now = Instant::now();
        while let Some(first) = self.running.front_mut() {
            if first.seq == seq {
                return Ok(());
            }
            if first.job.is_some() {
                let waited_for = first.seq;
                return Err(WireError(format!(
                    "an answer to request {seq}; request {waited_for} is the one that runs"
                )));
            }
            self.running.pop_front();
            if let Some(next) = self.running.front_mut() {
                next.since = now;
            }
        }
        Err(WireError(format!("an answer to request {seq}, which does not run")))
    }

    fn done(&mut self) -> Step {
        let now = Instant::now();
        let Some(over) = self.running.pop_front() else { return Step::Nothing };
        if let Some(next) = self.running.front_mut() {
            next.since = now;
        }
        // A withdrawn one is no longer counted as this slot's.
        match over.job {
            None => Step::Nothing,
            Some(_) => Step::Done(now.saturating_duration_since(over.since), over.is_expired),
        }
    }

    fn fail(&mut self, seq: u32, fault: &Fault) -> Result<Step, WireError> {
        self.skip_to(seq)?;
        let running = self.first("FAULT")?;
        if let Some(sink) = running.sink.take() {
            sink.fail(fault.clone());
        }
        if let Some(job) = &mut running.job {
            job.answer(Err(fault.clone()));
        }
        Ok(self.done())
    }

    fn hint(&mut self, seq: u32, headers: HeaderMap) {
        let running = self.running.iter().find(|running| running.seq == seq);
        if let Some(hints) = running.and_then(|running| running.job.as_ref()?.request.hints.as_ref()) {
            hints.send(headers);
        }
    }
}
