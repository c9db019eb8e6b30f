//! A request on its way to a worker. It is kept whole until its answer begins, because it may have to be sent to
//! another worker.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::queue;
use engine::snapshot::Past;
use engine::{Body, Fault, Input, Request, Responder, Sink, Waiting};
use files::TempFile;
use http::Method;

/// The blame after which a request is not run again. Each death of a worker under a request adds to its blame, less if
/// the kernel killed the worker for memory, which another process may have caused. So a request is run again on two
/// other workers after crashes, or on six.
const BLAME_MAX: u8 = 6;

/// How a worker ended, as far as the blame of its requests is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// It exited, or was killed from outside.
    Crash,
    /// The kernel killed it because memory was full.
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

/// The largest body in bytes that is sent in the frame of its request; a larger one is passed as a file.
const INLINE_BYTES: usize = 512 << 10;

/// A request and the responder for its answer.
pub struct Job {
    /// The request itself.
    pub request: Request,
    /// Whether the method is safe, so that the request may run twice: RFC 9110 section 9.2.1, without TRACE.
    pub is_safe: bool,
    /// The number of the I/O thread that serves its client.
    pub io_thread: usize,
    /// When the engine received it.
    pub offered: Instant,
    /// How long it waited for a worker before it was last sent to one, without the time that it ran on others.
    pub queued: Duration,
    /// How long it ran on workers that died.
    pub ran_in_vain: Duration,
    /// The application has taken the client's connection over: it cannot have it a second time.
    pub is_taken: bool,
    /// The worker that has it or ran it last: its number and its process. One that it came back from without having
    /// begun does not count.
    pub ran_on: Option<(u32, u32)>,
    responder: Option<Responder>,
    /// Takes a second answer, if the first can be taken back.
    again: Option<Responder>,
    blame: u8,
}

impl Job {
    /// Creates a job for a new request; none if it was refused, since its large body cannot be written to a file.
    pub fn new(mut request: Request, responder: Responder, io_thread: usize) -> Option<Box<Job>> {
        if let Input::Memory(bytes) = &request.input
            && bytes.len() > INLINE_BYTES
        {
            match to_file(bytes) {
                Ok(input) => request.input = input,
                Err(error) => {
                    let fault = match files::is_short_of_files(&error) {
                        true => Fault::OutOfFiles,
                        false => Fault::Broken(format!("no file in memory for the body of a request: {error}")),
                    };
                    responder.turn_away(fault, || past_of(&request, None));
                    return None;
                }
            }
        }
        let is_safe = matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS);
        Some(Box::new(Job {
            request,
            is_safe,
            io_thread,
            offered: Instant::now(),
            queued: Duration::ZERO,
            ran_in_vain: Duration::ZERO,
            is_taken: false,
            ran_on: None,
            responder: Some(responder),
            again: None,
            blame: 0,
        }))
    }

    /// Creates a job for a request that another engine has accepted; none if it was refused, as by [`Job::new`].
    pub fn taken_over(waiting: Waiting, io_thread: usize) -> Option<Box<Job>> {
        let Waiting { request, responder, offered } = waiting;
        Job::new(request, responder, io_thread).map(|job| Box::new(Job { offered, ..*job }))
    }

    /// Gives the request to another engine. Returns it if it had begun, or if it has taken a connection over.
    pub fn hand_over(mut self: Box<Job>) -> Result<Waiting, Box<Job>> {
        if self.has_begun() || self.is_taken {
            return Err(self);
        }
        let Some(responder) = self.responder.take() else { return Err(self) };
        Ok(Waiting { request: self.request, responder, offered: self.offered })
    }

    /// Answers the request. Only the first answer counts.
    pub fn answer(&mut self, result: Result<engine::Response, Fault>) {
        let Some(responder) = self.responder.take() else { return };
        let about = || past_of(&self.request, self.ran_on);
        match result {
            Ok(response) if self.is_safe && matches!(response.body, Body::Stream(_)) => {
                self.again = Some(responder.send_for_now(response, self.queued, about));
            }
            result => responder.send_noting(result, self.queued, about),
        }
    }

    /// Takes back a streamed answer of which the client has seen nothing yet, as if there had been none.
    pub fn take_back(&mut self, sink: &Sink) {
        if let Some(again) = &mut self.again
            && sink.take_back()
        {
            again.replace_withdrawn();
            self.responder = self.again.take();
        }
    }

    /// Answers the request with a fault because it has waited too long for a worker, or for the end of a pause, or, if
    /// it had begun, for another worker after its own died.
    pub fn expire(self: Box<Job>, now: Instant, is_paused: bool) {
        let waited = now.saturating_duration_since(self.offered);
        let fault = match (self.has_begun(), is_paused) {
            (true, _) => Fault::OutOfTime(self.request.time_allowed().into()),
            (false, true) => Fault::QueuePaused(waited),
            (false, false) => Fault::QueueWait(waited),
        };
        self.refuse(fault);
    }

    /// Answers the request with a fault without running it.
    pub fn refuse(mut self: Box<Job>, fault: Fault) {
        self.queued = self.waited(Instant::now());
        self.answer(Err(fault));
    }

    /// Returns how long it has waited for a worker.
    pub fn waited(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.offered).saturating_sub(self.ran_in_vain)
    }

    /// Refuses the request at once: the queue has not taken it.
    pub fn turn_away(mut self: Box<Job>, fault: Fault) {
        let Some(responder) = self.responder.take() else { return };
        responder.turn_away(fault, || past_of(&self.request, None));
    }

    /// Returns whether the answer has begun.
    pub fn is_answered(&self) -> bool {
        self.responder.is_none()
    }

    /// Returns whether the client went away before the answer.
    pub fn has_lost_client(&self) -> bool {
        self.responder.as_ref().is_some_and(Responder::is_abandoned)
    }

    /// Returns whether it had begun on a worker that died.
    fn has_begun(&self) -> bool {
        self.blame > 0
    }

    /// Returns whether the request may run on another worker after the death of its own, and adds to its blame if it
    /// had begun. A request that was only pipelined behind another cannot have killed the worker.
    pub fn may_replay(&mut self, has_begun: bool, death: Death) -> bool {
        if has_begun {
            self.blame = self.blame.saturating_add(death.blame());
        } else {
            self.ran_on = None;
        }
        self.is_safe && !self.is_taken && !self.is_answered() && self.blame <= BLAME_MAX
    }

    /// Returns whether the next run is the last: one more crash, and the request is not run again.
    pub fn is_last_try(&self) -> bool {
        self.blame.saturating_add(Death::Crash.blame()) > BLAME_MAX
    }
}

/// Names a request for the log, without its query, which may contain secrets.
pub fn in_words(id: &str, method: &str, path: &str) -> String {
    format!("request {id}, {method} {path}")
}

/// Describes a request for the recorder, with the worker that ran it last: its number and its process.
fn past_of(request: &Request, ran_on: Option<(u32, u32)>) -> Past {
    Past {
        id: request.id.clone(),
        method: request.method.to_string(),
        path: request.path.clone(),
        worker: ran_on.map(|(worker, _)| worker),
        pid: ran_on.map(|(_, pid)| pid),
        ..Past::default()
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
        // One that had begun when its worker died was out of the queue: its deadline alone limits how long it waits.
        if self.has_begun() { self.request.deadline } else { self.request.must_begin_by() }
    }

    fn pause_ends(&self) -> Instant {
        self.request.deadline
    }

    fn add_pause(&mut self, since: Instant, now: Instant) {
        self.request.queue_deadline += now.saturating_duration_since(since.max(self.offered));
    }
}
