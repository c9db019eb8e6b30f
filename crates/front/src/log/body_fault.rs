//! Faults of response bodies: their count, and their request for the log and the recorder. The request is shared by the
//! body, the task that buffers it, and the parts of a file that are being sent: the first that finds a fault counts it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::snapshot::Past;
use engine::{BodyTally, Fault};
use parking_lot::Mutex;

use crate::log::fault_log::RequestIdentity;

/// A request whose response may break off.
#[derive(Debug)]
pub(crate) struct BodyRequest {
    pub(crate) identity: RequestIdentity,
    /// Time when the request was complete.
    complete: Instant,
    /// Time that it waited for a worker.
    queued: Duration,
    /// Status of the response, and the count of a fault, from when the head is made; before that nothing is counted.
    begun: Mutex<(u16, BodyTally)>,
}

impl BodyRequest {
    pub(crate) fn new(identity: RequestIdentity, complete: Instant, queued: Duration) -> BodyRequest {
        BodyRequest { identity, complete, queued, begun: Mutex::default() }
    }

    /// Notes that the head of the response is made, with this status; from now on a fault is counted.
    pub(crate) fn begin(&self, status: u16, tally: BodyTally) {
        *self.begun.lock() = (status, tally);
    }

    /// Counts and records the fault, the first time.
    pub(crate) fn fail(&self, fault: &Fault) {
        let mut begun = self.begun.lock();
        let (status, tally) = &mut *begun;
        tally.fail(fault, || Some(past(self.identity.clone(), *status, self.complete, self.queued)));
    }
}

/// Where the first fault of a response is counted.
#[derive(Debug)]
pub(crate) enum FaultCount {
    /// In the request of a body that can fail.
    Request(Arc<BodyRequest>),
    /// Here, for a body that cannot: its client may leave before the socket has all of it.
    Own(BodyTally),
}

impl Default for FaultCount {
    fn default() -> FaultCount {
        FaultCount::Own(BodyTally::default())
    }
}

impl FaultCount {
    /// The request of a body that can fail.
    pub(crate) fn request(&self) -> Option<&Arc<BodyRequest>> {
        match self {
            FaultCount::Request(request) => Some(request),
            FaultCount::Own(_) => None,
        }
    }

    /// Counts and records the fault, the first time; `past` gives the request if it is not here.
    pub(crate) fn fail(&mut self, fault: &Fault, past: impl FnOnce() -> Option<Past>) {
        match self {
            FaultCount::Request(request) => request.fail(fault),
            FaultCount::Own(tally) => tally.fail(fault, past),
        }
    }
}

/// The entry of the recorder for a request whose response, with this status, breaks off now. The request was complete
/// at a time, waited for a worker, and has run since.
pub(crate) fn past(identity: RequestIdentity, status: u16, complete: Instant, queued: Duration) -> Past {
    let RequestIdentity { id, method, path, .. } = identity;
    let took = complete.elapsed().saturating_sub(queued);
    Past {
        id,
        method,
        path,
        status: Some(status),
        queued_ms: queued.as_secs_f64() * 1e3,
        took_ms: took.as_secs_f64() * 1e3,
        ..Past::default()
    }
}
