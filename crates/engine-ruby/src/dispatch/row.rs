//! The requests that a slot was sent and that have no answer yet.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::{Fault, Sink};
use http::HeaderMap;

use super::held::Held;
use super::job::Job;
use crate::wire::frames::WireError;

/// In the order in which they were sent: the first one runs.
#[derive(Default)]
pub struct Row(pub VecDeque<Running>);

/// A request that was sent.
pub struct Running {
    /// Its number.
    pub seq: u32,
    /// Empty when it was withdrawn: its answer is of no interest.
    pub job: Option<Box<Job>>,
    /// Since when it runs, or waits behind the one that does.
    pub since: Instant,
    /// Its answer, of which nothing has gone out yet.
    pub held: Option<Held>,
    /// Where its body goes, once its answer has gone out.
    pub sink: Option<Sink>,
    /// A piece of its body is on its way, with the sink.
    pub is_sending: bool,
    /// When its answer must have begun, or, without a client, when it must be over.
    pub until: Option<Instant>,
    /// Its client has gone; the worker has been told.
    pub is_left: bool,
    /// Its deadline has passed, and its client has been answered.
    pub is_expired: bool,
    /// It could not be interrupted.
    pub is_stuck: bool,
}

/// What came of a frame.
pub enum Step {
    /// Nothing that anybody else must know.
    Nothing,
    /// A request is over, after so long; whether it had been interrupted.
    Done(Duration, bool),
    /// A part of a body, to be sent on before the next frame is read.
    Chunk(Sink, Bytes),
}

impl Running {
    /// Lets go of the answer: its body will come in pieces.
    pub fn release(&mut self) {
        let (Some(held), Some(job)) = (self.held.take(), &mut self.job) else { return };
        let (response, sink) = held.stream();
        job.answer(Ok(response));
        self.sink = Some(sink);
        if !self.is_expired && !self.is_left {
            self.until = None;
        }
    }

    /// Whether its client has just been found to be gone.
    pub fn is_newly_left(&self) -> bool {
        let is_gone = |job: &Job| job.has_lost_client() || self.sink.as_ref().is_some_and(Sink::is_gone);
        !self.is_left && self.job.as_deref().is_some_and(is_gone)
    }

    /// Nobody waits for it any more. The application learns of it at its next write; to come to one it has, once it
    /// is answering, as much time as a request has in all.
    pub fn leave(&mut self, now: Instant) {
        self.is_left = true;
        if let (None, Some(job)) = (self.until, &self.job) {
            self.until = Some(now + job.request.time_allowed());
        }
    }

    /// Whether its answer is whole: the worker has more to do for it all the same, after the answer.
    pub fn is_whole(&self) -> bool {
        let is_answered = self.job.as_deref().is_some_and(Job::is_answered);
        is_answered && self.held.is_none() && self.sink.is_none() && !self.is_sending
    }

    /// A piece of the body.
    pub fn chunk(&mut self, piece: Bytes) -> Step {
        if let Some(held) = &mut self.held {
            if held.has_room(&piece) {
                held.push(piece);
                return Step::Nothing;
            }
            self.release();
        }
        let Some(sink) = self.sink.take() else { return Step::Nothing };
        self.is_sending = true;
        Step::Chunk(sink, piece)
    }

    /// The end of the body.
    pub fn end(&mut self) {
        if let (Some(held), Some(job)) = (self.held.take(), &mut self.job) {
            job.answer(Ok(held.whole()));
        }
        if let Some(sink) = self.sink.take() {
            sink.finish();
        }
        self.until = None;
    }
}

impl Row {
    /// One more.
    pub fn push(&mut self, seq: u32, job: Box<Job>, since: Instant) {
        let (until, job) = (Some(job.request.deadline), Some(job));
        self.0.push_back(Running {
            seq,
            job,
            since,
            held: None,
            sink: None,
            is_sending: false,
            until,
            is_left: false,
            is_expired: false,
            is_stuck: false,
        });
    }

    /// The one that runs, for a frame of this name.
    pub fn first(&mut self, frame: &str) -> Result<&mut Running, WireError> {
        self.0.front_mut().ok_or_else(|| WireError(format!("{frame} while no request runs")))
    }

    /// Withdrawn requests that the worker did not run have no answer.
    pub fn skip_to(&mut self, seq: u32) -> Result<(), WireError> {
        let now = Instant::now();
        while let Some(first) = self.0.front_mut() {
            if first.seq == seq {
                return Ok(());
            }
            if first.job.is_some() {
                let waited_for = first.seq;
                return Err(WireError(format!(
                    "an answer to request {seq}; request {waited_for} is the one that runs"
                )));
            }
            self.0.pop_front();
            if let Some(next) = self.0.front_mut() {
                next.since = now;
            }
        }
        Err(WireError(format!("an answer to request {seq}, which does not run")))
    }

    /// The first is over.
    pub fn done(&mut self) -> Step {
        let now = Instant::now();
        let Some(over) = self.0.pop_front() else { return Step::Nothing };
        if let Some(next) = self.0.front_mut() {
            next.since = now;
        }
        // A withdrawn one is no longer counted as this slot's.
        match over.job {
            None => Step::Nothing,
            Some(_) => Step::Done(now.saturating_duration_since(over.since), over.is_expired),
        }
    }

    /// A request ends with a fault; the slot may have more to do for it.
    pub fn fail(&mut self, seq: u32, fault: &Fault, is_free_later: bool) -> Result<Step, WireError> {
        self.skip_to(seq)?;
        let running = self.first("FAULT")?;
        if let Some(sink) = running.sink.take() {
            sink.fail(fault.clone());
        }
        if let Some(job) = &mut running.job {
            job.answer(Err(fault.clone()));
        }
        (running.held, running.until) = (None, None);
        Ok(if is_free_later { Step::Nothing } else { self.done() })
    }

    /// Early hints of a request.
    pub fn hint(&mut self, seq: u32, headers: HeaderMap) {
        let running = self.0.iter().find(|running| running.seq == seq);
        if let Some(hints) = running.and_then(|running| running.job.as_ref()?.request.hints.as_ref()) {
            hints.send(headers);
        }
    }
}
