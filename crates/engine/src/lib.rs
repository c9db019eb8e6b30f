//! What an engine is: a request goes in, a response or a fault comes out.
//! This crate knows no HTTP library, no Ruby and no socket, and it does no I/O. Both engines and the front are
//! written against it, and against nothing else of each other.

use std::sync::Arc;
use std::time::Duration;

mod answer;
pub mod body;
mod brief;
pub mod counters;
pub mod env;
pub mod fault;
mod forecast;
pub mod io_thread;
pub mod meter;
pub mod order;
pub mod queue;
pub mod recorder;
pub mod reply;
pub mod request;
pub mod response;
mod secrets;
pub mod snapshot;
pub mod status;
pub mod wear;

pub use answer::Answer;
pub use body::{Duplex, Sink, Source};
pub use brief::{brief, count};
pub use counters::Counters;
pub use fault::{AppError, Culprit, Fault, Overrun};
pub use io_thread::IoThread;
pub use meter::Meter;
pub use order::{Order, Surroundings, Variables};
pub use reply::{Reply, Responder};
pub use request::{Hints, Input, Peer, Request, Scheme, Takeover};
pub use response::{Body, HeadError, Response, ResponseHead};
pub use secrets::SECRET_VARIABLES;
pub use snapshot::{Recorded, Snapshot};
pub use status::Status;

/// Runs a Rack application, somewhere.
///
/// The front calls this from its I/O threads, so an implementation returns quickly: it may run the application in the
/// calling thread only as [`IoThread`] work, which holds up nothing else.
pub trait Engine: Send + Sync {
    /// Starts one request. Dropping the returned [`Reply`] says that the client has gone: a request that has not
    /// begun is then never run, and one that runs is told at its next write.
    fn call(&self, request: Request) -> Reply;

    /// The name of the application that would get this request, where there are several.
    fn app_of(&self, request: &Request) -> Option<Arc<str>> {
        let _ = request;
        None
    }

    /// What the engine is doing now, for logs, metrics and the status page.
    fn status(&self) -> Status;

    /// Refuses new requests from now on; those accepted go on to their end.
    fn close(&self);

    /// Requests that were accepted and are not over, and connections that the application took over: an engine that has
    /// been closed may be ended when there are none.
    fn unfinished(&self) -> usize {
        let status = self.status();
        status.capacity.saturating_sub(status.idle) + status.queued
    }

    /// Those of them whose answer has not begun: all else may go on for as long as the application likes.
    fn unanswered(&self) -> usize {
        self.unfinished()
    }

    /// The same worker by worker, for a person or a machine that watches.
    fn snapshot(&self) -> Snapshot {
        Snapshot { status: self.status(), ..Snapshot::default() }
    }

    /// Requests of the past that were slow or failed.
    fn recorded(&self) -> Recorded {
        Recorded::default()
    }

    /// Does what it is told, or says why it cannot. Waits for it; not for I/O threads.
    fn order(&self, order: Order) -> Result<String, String> {
        Err(format!("this engine cannot do that: {order:?}"))
    }

    /// Runs what the user wants to happen before the program is started anew, and returns what that has changed for it,
    /// or why the program may not be started anew. Waits for it, at most for this time.
    fn before_exec(&self, limit: Duration) -> Result<Surroundings, String> {
        let _ = limit;
        Ok(Surroundings::default())
    }
}
