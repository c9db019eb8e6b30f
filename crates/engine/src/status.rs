//! The current load of an engine, as plain numbers.

use serde::Serialize;

/// The current load of an engine. Each number is right, but they are not taken at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Number of requests that can run at once.
    pub capacity: usize,
    /// Number of further requests that could begin now. A place that is neither idle nor busy is kept free, such as
    /// that of a worker that collects garbage.
    pub idle: usize,
    /// Number of requests that are running, also in workers that take no more and whose places do not count.
    pub busy: usize,
    /// Requests waiting for a free worker.
    pub queued: usize,
    /// Requests of clients given to the application since the start.
    pub served: u64,
    /// Interpreters or workers replaced since the start, for any reason.
    pub restarts: u64,
}
