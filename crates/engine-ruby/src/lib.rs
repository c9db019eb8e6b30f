//! The engine that runs a Rack application on worker processes of the user's own Ruby, behind one queue.
//!
//! Reading order: PROTOCOL.md and `wire`; `dispatch`, which assigns requests to workers; `fleet`, the state machine
//! that decides which processes there are and does no I/O; `supervisor`, which carries its decisions out, with
//! `process`.

#![expect(clippy::vec_box, reason = "a job is large, goes from hand to hand, and keeps its place in memory")]

mod boot;
mod budget;
#[cfg(test)]
mod dice;
mod dispatch;
mod exit;
mod exit_reason;
mod fleet;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod message;
mod preload;
mod process;
mod scheduling;
mod settings;
mod start_error;
mod supervisor;
mod weight;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, Handover, Meter, Order, Recorded, Reply, Request, Snapshot, Status, Surroundings, Waiting};
use tokio::runtime::Handle;

pub use budget::Budget;
pub use dispatch::upgraded::EXIT_TIME;
pub use preload::Preload;
pub use process::reader::Evaluated;
pub use process::user::{User, command};
pub use process::{bundle, native, reader, user};
pub use settings::{PUMA_SINGLE, Settings};
pub use start_error::{LATER_BOOT_TIME, StartError, boot_limit, no_ruby};

use dispatch::pool::Pool;
use supervisor::Supervisor;

/// A running application on worker processes of Ruby.
pub struct RubyEngine {
    pool: Arc<Pool>,
    supervisor: Supervisor,
    meter: Arc<Meter>,
    /// Names and values that the mold reported when it was ready, such as the version of Ruby.
    facts: Vec<(String, String)>,
}

impl RubyEngine {
    /// Loads the application and starts the workers. Returns when the first worker is ready, or, where the minimum is
    /// none, when the application is loaded; or with the error that prevented that. Answers are read on the event loops
    /// of `io_threads`.
    pub fn start(settings: Settings, io_threads: Vec<Handle>) -> Result<Arc<RubyEngine>, StartError> {
        let is_batch = settings.is_batch;
        let meter = settings.meter.clone();
        let (pool, supervisor, facts) = boot::boot(settings, io_threads.clone())?;
        let engine = RubyEngine { pool, supervisor, meter, facts };
        // I/O threads that give way to workers that do not would only wait longer.
        if is_batch && engine.fact("native") == Some("yes") {
            io_threads.iter().for_each(|io_thread| drop(io_thread.spawn(async { scheduling::batch_io_thread() })));
        }
        Ok(Arc::new(engine))
    }

    /// Returns a value that the mold reported when it was ready, such as `ruby`, its version.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the number of worker processes, including retired ones that have not ended yet.
    pub fn processes(&self) -> usize {
        self.pool.processes()
    }

    /// Returns the number of workers that serve, without those that are on their way out.
    pub fn workers(&self) -> usize {
        self.pool.workers()
    }

    /// Reports that clients reach the application from now on, for its hooks that run then. Does not wait.
    pub fn serve(&self) {
        self.supervisor.serve();
    }

    /// Ends all processes. Those that have not ended within `time` are killed.
    pub fn stop(&self, time: Duration) {
        self.pool.close();
        self.pool.set_ending();
        self.pool.refuse_waiting();
        self.supervisor.stop(time);
        // Those that were sent ahead to workers that have ended wait again.
        self.pool.refuse_waiting();
    }

    /// Leaves at most this time to a [stop](RubyEngine::stop) that has begun. Does not wait.
    pub fn hurry(&self, time: Duration) {
        self.supervisor.hurry(time);
    }
}

impl Engine for RubyEngine {
    fn call(&self, request: Request) -> Reply {
        self.pool.call(request)
    }

    fn status(&self) -> Status {
        self.pool.status()
    }

    fn close(&self) {
        self.pool.close();
    }

    fn hand_over_waiting(&self) -> Option<Handover<Waiting>> {
        self.pool.hand_over_waiting()
    }

    fn take_over(&self, waiting: Handover<Waiting>) {
        self.pool.take_over(waiting);
    }

    fn unfinished(&self) -> usize {
        self.pool.unfinished()
    }

    fn unanswered(&self) -> usize {
        self.pool.unanswered()
    }

    fn snapshot(&self) -> Snapshot {
        self.pool.snapshot()
    }

    fn glance(&self) -> Snapshot {
        self.pool.glance()
    }

    fn recorded(&self) -> Recorded {
        self.meter.recorder.read()
    }

    fn order(&self, order: Order) -> Result<String, String> {
        self.supervisor.order(order)
    }

    fn before_exec(&self, limit: Duration) -> Result<Surroundings, String> {
        self.supervisor.before_exec(limit)
    }
}
