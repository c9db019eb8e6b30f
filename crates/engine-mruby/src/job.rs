//! A request that waits for an interpreter.

use std::time::{Duration, Instant};

use engine::queue;
use engine::snapshot::Past;
use engine::{Fault, Request, Responder};

/// A request with the responder that takes its answer.
pub struct Job {
    /// The request, boxed: a job moves several times on its way to an interpreter.
    pub request: Box<Request>,
    /// The receiver of the answer.
    pub responder: Responder,
    /// When the engine received the request.
    pub offered: Instant,
}

impl Job {
    /// Answers the request with a fault, without running the application.
    pub fn refuse(self, fault: Fault) {
        self.responder.send_noting(Err(fault), self.offered.elapsed(), || past_of(*self.request));
    }

    /// Answers the request with the fault of the interpreter with this number, which cannot run it.
    pub fn fail(self, fault: Fault, queued: Duration, interpreter: usize) {
        let worker = u32::try_from(interpreter).ok();
        self.responder.send_noting(Err(fault), queued, || Past { worker, ..past_of(*self.request) });
    }

    /// Refuses the request at once: the queue has not taken it.
    pub fn turn_away(self, fault: Fault) {
        self.responder.turn_away(fault, || past_of(*self.request));
    }
}

/// A request for the recorder.
fn past_of(request: Request) -> Past {
    let Request { id, method, path, .. } = request;
    Past { id, method: method.to_string(), path, ..Past::default() }
}

impl queue::Job for Job {
    fn is_abandoned(&self) -> bool {
        self.responder.is_abandoned()
    }

    fn offered(&self) -> Instant {
        self.offered
    }

    fn wait_ends(&self) -> Instant {
        self.request.must_begin_by()
    }

    fn pause_ends(&self) -> Instant {
        self.request.deadline
    }

    fn add_pause(&mut self, since: Instant, now: Instant) {
        self.request.queue_deadline += now.saturating_duration_since(since.max(self.offered));
    }
}
