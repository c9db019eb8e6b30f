//! The contract between the front and the engines: a request goes in, a response or a fault comes out. This crate knows
//! no HTTP library and no Ruby, and it does no I/O: a client's socket is only passed on here, for a direct write. The
//! engines and the front depend on it and not on each other.

use std::sync::Arc;
use std::time::{Duration, Instant};

mod answer;
pub mod body;
pub mod counters;
pub mod direct_write;
pub mod env;
pub mod fault;
mod forecast;
mod human;
pub mod io_thread;
pub mod meter;
pub mod order;
pub mod queue;
pub mod quota;
pub mod recorder;
pub mod reply;
pub mod request;
pub mod response;
mod secrets;
pub mod snapshot;
pub mod status;
mod tally;

pub use answer::Answer;
pub use body::{Duplex, Sink, Source};
pub use counters::Counters;
pub use direct_write::{DirectRequest, DirectWrite};
pub use fault::{AppError, Culprit, Fault, Overrun};
pub use human::{brief, count, panic_words};
pub use io_thread::IoThread;
pub use meter::Meter;
pub use order::{Order, Surroundings, Variables};
pub use queue::Handover;
pub use recorder::unix_ms;
pub use reply::{Reply, Responder};
pub use request::{Hints, Input, Peer, Request, Scheme, Takeover};
pub use response::{Body, HeadError, Response, ResponseHead};
pub use secrets::SECRET_VARIABLES;
pub use snapshot::{Recorded, Snapshot};
pub use status::Status;
pub use tally::{BodyTally, Tally};

/// A request that waits in the queue of an engine, on its way to another engine.
pub struct Waiting {
    /// The request.
    pub request: Request,
    /// The receiver of its answer.
    pub responder: Responder,
    /// When the first engine received it.
    pub offered: Instant,
}

/// A runtime for Rack applications.
///
/// The front calls this from its I/O threads, so an implementation returns quickly: it may run the application in the
/// calling thread only as [`IoThread`] work, which holds up nothing else.
pub trait Engine: Send + Sync {
    /// Starts a request. Dropping the returned [`Reply`] means that the client has disconnected: a request that has not
    /// begun is not run, and one that runs gets an error at its next write.
    fn call(&self, request: Request) -> Reply;

    /// The name of the application that would serve this request, if the engine has several.
    fn app_of(&self, request: &Request) -> Option<Arc<str>> {
        let _ = request;
        None
    }

    /// The meter of an application, in which the front counts a request that it refuses or gives up itself. `app` is
    /// its name as [`Engine::app_of`] returns it; without a name, it is the only application, and there is no meter if
    /// the engine has several. By default there is none, and such requests are not counted.
    fn meter_of(&self, app: Option<&str>) -> Option<Arc<Meter>> {
        let _ = app;
        None
    }

    /// Whether clients may see what went wrong in an application, as they may in development. `app` is its name as
    /// [`Engine::app_of`] returns it; without a name, the answer is for all applications of the engine. By
    /// default they may not.
    fn shows_faults(&self, app: Option<&str>) -> bool {
        let _ = app;
        false
    }

    /// The current load of the engine, as plain numbers for logs, metrics and the status page.
    fn status(&self) -> Status;

    /// Refuses new requests from now on; accepted ones are completed.
    fn close(&self);

    /// Removes and returns the requests that wait for a worker, for [`Engine::take_over`] of another engine. None if
    /// this kind of engine has no queue. The engine must get no requests afterwards: they would wait here.
    fn hand_over_waiting(&self) -> Option<Handover<Waiting>> {
        None
    }

    /// Takes the waiting requests of another engine into the queue, as if they had been offered here at the time when
    /// they were offered there. By default, refuses them.
    fn take_over(&self, waiting: Handover<Waiting>) {
        for Waiting { responder, offered, .. } in waiting.into_jobs() {
            responder.send(Err(Fault::Stopping), offered.elapsed());
        }
    }

    /// Number of accepted requests that are not complete, and of upgraded connections. When it is 0, a closed engine
    /// can be dropped.
    fn unfinished(&self) -> usize {
        let status = self.status();
        status.busy + status.queued
    }

    /// Number of accepted requests whose response has not begun; the others may take as long as the application likes.
    fn unanswered(&self) -> usize {
        self.unfinished()
    }

    /// The status of each worker, for people and monitoring.
    fn snapshot(&self) -> Snapshot {
        Snapshot { status: self.status(), ..Snapshot::default() }
    }

    /// As [`Engine::snapshot`], for the server's own looks: these do not count as an operator who watches, so what it
    /// takes processor time to measure may be older.
    fn glance(&self) -> Snapshot {
        self.snapshot()
    }

    /// Recent requests that were slow, failed or refused.
    fn recorded(&self) -> Recorded {
        Recorded::default()
    }

    /// Carries out a command of the operator, and returns a message about the result, or why it failed. Blocks the
    /// calling thread, so it must not run on an I/O thread.
    fn order(&self, order: Order) -> Result<String, String> {
        Err(format!("this engine cannot do that: {order:?}"))
    }

    /// Runs the user's hooks before the program executes itself anew. Returns the environment that they ask for, or why
    /// the program must not be executed. Blocks the calling thread for `limit` at most.
    fn before_exec(&self, limit: Duration) -> Result<Surroundings, String> {
        let _ = limit;
        Ok(Surroundings::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl Engine for Plain {
        fn call(&self, _: Request) -> Reply {
            Reply::ready(Err(Fault::Stopping))
        }

        fn status(&self) -> Status {
            Status { capacity: 6, idle: 2, busy: 4, queued: 3, ..Status::default() }
        }

        fn close(&self) {}
    }

    #[test]
    fn what_runs_and_what_waits_is_unfinished() {
        assert_eq!((Plain.unfinished(), Plain.unanswered(), Plain.snapshot().status), (7, 7, Plain.status()));
        assert!(Plain.order(Order::Recycle).is_err());
    }

    #[test]
    fn an_engine_that_does_not_say_otherwise_shows_no_faults_to_clients() {
        assert!(!Plain.shows_faults(None) && !Plain.shows_faults(Some("shop")));
    }
}
