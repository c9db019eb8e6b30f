//! A request on its way to a worker, kept whole until its answer begins: it may have to go to another one.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::queue;
use engine::snapshot::Past;
use engine::{Body, Fault, Input, Request, Responder, Sink};
use files::TempFile;
use http::Method;

/// A worker may die of a request. Each death under it is held against it, less so one by the kernel's hand, which may
/// have been somebody else's fault; it is run again until so much has come together: on two other workers, or six.
const BLAME_MAX: u8 = 6;

/// How a worker has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// By itself, or by whoever killed it.
    Crash,
    /// The kernel has killed it because memory was full.
    OutOfMemory,
}

impl Death {
    fn blame(self) -> u8 {
        match self {
            Death::Crash => 3,
            Death::OutOfMemory => 1,
        }
    }
}

/// A body up to this size travels in the frame of its request, a larger one as a file.
const INLINE_BYTES: usize = 512 << 10;

/// A request and the way back of its answer.
pub struct Job {
    /// The request.
    pub request: Request,
    /// Whether it may be run twice: RFC 9110 section 9.2.1, without TRACE.
    pub is_safe: bool,
    /// The lane on which its client waits.
    pub lane: usize,
    /// When it was handed in.
    pub offered: Instant,
    /// How long it waited for a worker, the last time it did.
    pub queued: Duration,
    /// The worker that it was given to last, and its process.
    pub ran_on: Option<(u32, u32)>,
    responder: Option<Responder>,
    /// For another answer, if the one that was given can be taken back.
    again: Option<Responder>,
    blame: u8,
}

impl Job {
    /// A request that was just handed in.
    pub fn new(mut request: Request, responder: Responder, lane: usize) -> Result<Box<Job>, (Responder, Fault)> {
        if let Input::Memory(bytes) = &request.input
            && bytes.len() > INLINE_BYTES
        {
            match to_file(bytes) {
                Ok(input) => request.input = input,
                Err(error) => {
                    let why = format!("no file in memory for the body of a request: {error}");
                    return Err((responder, Fault::Broken(why)));
                }
            }
        }
        let is_safe = matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let (offered, queued, ran_on, responder, again) = (Instant::now(), Duration::ZERO, None, Some(responder), None);
        Ok(Box::new(Job { request, is_safe, lane, offered, queued, ran_on, responder, again, blame: 0 }))
    }

    /// Answers it. Only the first answer counts.
    pub fn answer(&mut self, result: Result<engine::Response, Fault>) {
        let Some(responder) = self.responder.take() else { return };
        let about = || Past {
            id: self.request.id.clone(),
            method: self.request.method.to_string(),
            path: self.request.path.clone(),
            worker: self.ran_on.map(|(worker, _)| worker),
            pid: self.ran_on.map(|(_, pid)| pid),
            ..Past::default()
        };
        match result {
            Ok(response) if self.is_safe && matches!(response.body, Body::Stream(_)) => {
                self.again = Some(responder.send_for_now(response, self.queued, about));
            }
            result => responder.send_noting(result, self.queued, about),
        }
    }

    /// Takes an answer back that is a stream of which nobody has seen anything yet: it is as if there was none.
    pub fn take_back(&mut self, sink: &Sink) {
        if self.again.is_some() && sink.take_back() {
            self.responder = self.again.take();
        }
    }

    /// Answers it because it has waited too long: for a worker, or for another one after the death of its own.
    pub fn expire(self: Box<Job>, now: Instant) {
        let fault = match self.ran_on {
            Some(_) => Fault::OutOfTime(self.request.time_allowed().into()),
            None => Fault::QueueWait(now.saturating_duration_since(self.offered)),
        };
        self.refuse(fault);
    }

    /// Answers it without running it.
    pub fn refuse(mut self: Box<Job>, fault: Fault) {
        self.queued = self.offered.elapsed();
        self.answer(Err(fault));
    }

    /// Whether its answer has begun.
    pub fn is_answered(&self) -> bool {
        self.responder.is_none()
    }

    /// Whether its client has gone before its answer.
    pub fn has_lost_client(&self) -> bool {
        self.responder.as_ref().is_some_and(Responder::is_abandoned)
    }

    /// Whether it may run on another worker after the death of its own. Counts, if it had begun: what only stood behind
    /// another one cannot have killed anybody. One that had begun has had its turn: how long it may wait is from now on
    /// bounded by its deadline alone.
    pub fn may_replay(&mut self, has_begun: bool, death: Death) -> bool {
        if has_begun {
            self.blame = self.blame.saturating_add(death.blame());
            self.request.queue_deadline = self.request.deadline;
        }
        self.is_safe && !self.is_answered() && self.blame <= BLAME_MAX
    }

    /// Whether it may run once more, and if its worker crashes never again.
    pub fn is_last_try(&self) -> bool {
        self.blame.saturating_add(Death::Crash.blame()) > BLAME_MAX
    }
}

fn to_file(bytes: &[u8]) -> io::Result<Input> {
    Ok(Input::File(Arc::new(TempFile::of(bytes)?), bytes.len() as u64))
}

impl queue::Job for Box<Job> {
    fn is_abandoned(&self) -> bool {
        self.responder.as_ref().is_none_or(Responder::is_abandoned)
    }

    fn offered(&self) -> Instant {
        self.offered
    }

    fn wait_ends(&self) -> Instant {
        self.request.queue_deadline
    }

    fn pause_ends(&self) -> Instant {
        self.request.deadline
    }

    fn add_pause(&mut self, since: Instant, now: Instant) {
        self.request.queue_deadline += now.saturating_duration_since(since.max(self.offered));
    }
}
