//! The requests in flight on one worker thread: sent and not answered completely.

use std::collections::VecDeque;
use std::mem;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Fault, Request, Sink};
use http::HeaderMap;

use super::buffered_response::BufferedResponse;
use super::claims;
use super::job::{self, Job};
use super::worker_memory::Lent;
use crate::wire::frames::{WireError, flag};

/// Requests in flight, in the order in which they were sent: the first one runs.
#[derive(Default)]
pub struct InFlight {
    /// The requests, including withdrawn ones that the worker has not answered yet.
    pub sent: VecDeque<SentRequest>,
    /// The number of the last request that the worker was asked to withdraw; 0 if it was asked for none.
    pub withdrawn_up_to: u32,
    /// Number of withdrawn requests that the worker has answered since this was last taken.
    withdrawn: usize,
}

/// A request in flight.
pub struct SentRequest {
    /// Its sequence number on the connection.
    pub seq: u32,
    /// The request; empty when it was withdrawn, so that its answer is dropped.
    pub job: Option<Box<Job>>,
    /// Since when it runs, or waits behind the one that does.
    pub since: Instant,
    /// Its buffered response, of which nothing has been sent yet.
    pub buffered: Option<BufferedResponse>,
    /// The sink of its body, once its answer has begun.
    pub sink: Option<Sink>,
    /// It was sent before another one of the connection was over.
    pub is_ahead: bool,
    /// A chunk of its body is just being sent, with the sink.
    pub is_sending: bool,
    /// The time by which its answer must have begun, or, without a client, by which it must be over; after the answer,
    /// the time by which the thread must be free.
    pub until: Option<Instant>,
    /// How long it may take until its answer begins, and how long the work after the answer.
    time_allowed: Duration,
    /// Its client has gone, and the worker has been notified.
    pub is_left: bool,
    /// When it was seen that its deadline had passed; its client has been answered then.
    pub expired: Option<Instant>,
    /// It ran on after it was interrupted.
    pub is_stuck: bool,
    /// Its answer is complete, and the thread has more to do for it.
    pub is_finishing: bool,
    /// It was interrupted, while it ran or in its work after the answer.
    pub was_interrupted: bool,
}

/// The next step of the reader after a frame.
pub enum Step {
    /// Nothing.
    Nothing,
    /// A request is over.
    Done {
        /// Its service time.
        took: Duration,
        was_interrupted: bool,
        /// The server itself made it, as a probe.
        is_own: bool,
    },
    /// The worker does not run this request, which was withdrawn when it seemed to have begun.
    Refused(Box<Job>),
    /// A chunk of a body, to be sent on before the next frame is read.
    Chunk(Sink, Bytes),
    /// A part of a body in the memory of the worker, to be sent on and released before the next frame is read. Without
    /// a sink nobody wants it any more.
    Memory(Option<Sink>, Lent),
}

/// Whether a worker says that it did not run a request because that was withdrawn or cancelled before (errors.rb).
fn is_cancelled(fault: &Fault) -> bool {
    matches!(fault, Fault::App(error) if error.class == "FoolsGold::Cancelled")
}

/// Classes and messages of the exceptions by which the worker ends the code of a request whose client has disconnected,
/// or that is interrupted (errors.rb, channel.rb).
const ENDINGS: [&str; 3] = ["FoolsGold::Cancelled", "FoolsGold::RequestTimeout", "the client has gone"];

/// Whether an exception is one of [`ENDINGS`], or was caused by one.
fn is_ending(fault: &Fault) -> bool {
    let Fault::App(error) = fault else { return false };
    let mut texts = error.causes.iter().chain([&error.class, &error.message]);
    texts.any(|text| ENDINGS.iter().any(|words| text.contains(*words)))
}

impl SentRequest {
    /// Sends the buffered response as a stream.
    pub fn release(&mut self) {
        let (Some(buffered), Some(job)) = (self.buffered.take(), &mut self.job) else { return };
        let (response, sink) = buffered.stream();
        job.answer(Ok(response));
        self.sink = Some(sink);
        if self.expired.is_none() && !self.is_left {
            self.until = None;
        }
    }

    /// Returns whether its client has gone and that was not noted yet.
    pub fn is_newly_left(&self) -> bool {
        let is_gone = |job: &Job| job.has_lost_client() || self.sink.as_ref().is_some_and(Sink::is_gone);
        !self.is_left && self.job.as_deref().is_some_and(is_gone)
    }

    /// Notes that its client has gone. The application learns of it at its next write; if it is answering already, it
    /// gets the full time of a request to reach one.
    pub fn leave(&mut self, now: Instant) {
        self.is_left = true;
        self.limit(now);
    }

    /// Logs a fault of the application whose client has disconnected. The front logs only faults that it answers with,
    /// and does not learn of this one.
    pub fn log_unseen(&self, fault: &Fault, app: Option<&str>) {
        let is_unseen = (self.is_left || self.is_newly_left()) && !self.was_interrupted && !is_ending(fault);
        let Some(job) = self.job.as_deref().filter(|job| is_unseen && !job.is_taken) else { return };
        let Request { id, method, path, .. } = &job.request;
        let name = fault.name();
        let request = job::in_words(id, method.as_str(), path);
        let lines = fault.log_lines();
        tracing::error!(
            target: "app",
            id, %method, path, app, fault = name,
            "{request}: its client has disconnected: {fault}{lines}"
        );
    }

    /// Gives a request without a deadline the full time of a request from now on.
    pub fn limit(&mut self, now: Instant) {
        if self.until.is_none() {
            self.until = Some(now + self.time_allowed);
        }
    }

    /// Notes that its answer is complete and that the thread has more to do for it: what the application does then is
    /// limited like a request.
    fn finish(&mut self, now: Instant) {
        self.expired = None;
        self.until = Some(now + self.time_allowed);
        self.is_finishing = true;
        self.is_stuck = false;
    }

    /// Returns whether its answer is complete; the worker may have more to do after the answer.
    pub fn is_whole(&self) -> bool {
        let is_answered = self.job.as_deref().is_some_and(Job::is_answered);
        is_answered && self.buffered.is_none() && self.sink.is_none() && !self.is_sending
    }

    /// Handles a chunk of the body.
    pub fn chunk(&mut self, piece: Bytes) -> Step {
        if let Some(buffered) = &mut self.buffered {
            if buffered.has_room(&piece) {
                buffered.push(piece);
                return Step::Nothing;
            }
            self.release();
        }
        let Some(sink) = self.sink.take() else { return Step::Nothing };
        self.is_sending = true;
        Step::Chunk(sink, piece)
    }

    /// Handles a part of the body in the memory of the worker.
    pub fn memory(&mut self, lent: Lent) -> Step {
        self.release();
        let sink = self.sink.take();
        self.is_sending = sink.is_some();
        Step::Memory(sink, lent)
    }

    /// Takes the sink of the body, the rest of which comes on another connection. None if no one reads the body any
    /// more.
    pub fn take_rest(&mut self) -> Option<Sink> {
        self.release();
        self.until = None;
        self.sink.take()
    }

    /// Handles the end of the body.
    pub fn end(&mut self) {
        if let (Some(buffered), Some(job)) = (self.buffered.take(), &mut self.job) {
            job.answer(Ok(buffered.whole()));
        }
        if let Some(sink) = self.sink.take() {
            sink.finish();
        }
        self.until = None;
    }
}

impl InFlight {
    /// Adds a request that is being sent.
    pub fn push(&mut self, seq: u32, job: Box<Job>, since: Instant) {
        let until = Some(job.request.deadline);
        let time_allowed = job.request.time_allowed();
        let is_ahead = !self.sent.is_empty();
        self.sent.push_back(SentRequest {
            seq,
            is_ahead,
            job: Some(job),
            since,
            buffered: None,
            sink: None,
            is_sending: false,
            until,
            time_allowed,
            is_left: false,
            expired: None,
            is_stuck: false,
            is_finishing: false,
            was_interrupted: false,
        });
    }

    /// Returns the request that runs; without one, the error names this frame.
    pub fn first(&mut self, frame: &str) -> Result<&mut SentRequest, WireError> {
        self.sent.front_mut().ok_or_else(|| WireError(format!("{frame} while no request runs")))
    }

    /// Returns how many withdrawn requests the worker has answered since the last call.
    pub fn take_withdrawn(&mut self) -> usize {
        mem::take(&mut self.withdrawn)
    }

    /// Removes withdrawn requests that the worker did not run, which have no answer, up to the request with this
    /// number.
    pub fn skip_to(&mut self, seq: u32) -> Result<(), WireError> {
        let now = Instant::now();
        while let Some(first) = self.sent.front_mut() {
            if first.seq == seq {
                return Ok(());
            }
            if first.job.is_some() {
                let waited_for = first.seq;
                return Err(WireError(format!(
                    "an answer to request {seq}; request {waited_for} is the one that runs"
                )));
            }
            self.sent.pop_front();
            self.withdrawn += 1;
            if let Some(next) = self.sent.front_mut() {
                next.since = now;
            }
        }
        Err(WireError(format!("an answer to request {seq}, which does not run")))
    }

    /// Notes that the answer to the first request is complete. The request is over, unless the thread has more to do
    /// for it.
    pub fn complete(&mut self, is_free_later: bool) -> Step {
        match self.sent.front_mut().filter(|_| is_free_later) {
            Some(first) => {
                first.finish(Instant::now());
                Step::Nothing
            }
            None => self.done(),
        }
    }

    /// Removes the first request, which is over.
    pub fn done(&mut self) -> Step {
        let now = Instant::now();
        let Some(over) = self.sent.pop_front() else { return Step::Nothing };
        if let Some(next) = self.sent.front_mut() {
            next.since = now;
        }
        match over.job {
            None => {
                self.withdrawn += 1;
                Step::Nothing
            }
            Some(job) => Step::Done {
                took: now.saturating_duration_since(over.since),
                was_interrupted: over.was_interrupted,
                is_own: job.request.is_own,
            },
        }
    }

    /// Ends a request of this application with a fault; the thread may have more to do after it.
    /// `flags` are those of its frame.
    pub fn fail(&mut self, seq: u32, fault: &Fault, flags: u8, app: Option<&str>) -> Result<Step, WireError> {
        self.skip_to(seq)?;
        let is_withdrawn = flags & flag::WITHDRAWN != 0 && claims::is_up_to(seq, self.withdrawn_up_to);
        let sent = self.first("FAULT")?;
        if is_withdrawn && let Some(job) = sent.job.take_if(|job| !job.is_answered() && !job.has_lost_client()) {
            // Its place is that of a withdrawn one.
            let _ = self.done();
            return Ok(Step::Refused(job));
        }
        sent.log_unseen(fault, app);
        if let Some(sink) = sent.sink.take() {
            sink.fail(fault.clone());
        }
        if let Some(job) = &mut sent.job {
            // The application did not run it because its client had gone.
            job.answer(Err(if is_cancelled(fault) { Fault::ClientGone } else { fault.clone() }));
        }
        sent.buffered = None;
        sent.until = None;
        Ok(self.complete(flags & flag::LATER != 0))
    }

    /// Passes the early hints of a request on to its client.
    pub fn hint(&mut self, seq: u32, headers: HeaderMap) {
        let sent = self.sent.iter().find(|sent| sent.seq == seq);
        if let Some(hints) = sent.and_then(|sent| sent.job.as_ref()?.request.hints.as_ref()) {
            hints.send(headers);
        }
    }
}
