//! What an engine is doing at this moment, as plain numbers.

use serde::Serialize;

/// A snapshot; the numbers are each right but not taken at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// How many requests can run at once.
    pub capacity: usize,
    /// How many of those places are free.
    pub idle: usize,
    /// Requests waiting for a place.
    pub queued: usize,
    /// Requests given to the application since the start.
    pub served: u64,
    /// Interpreters or workers replaced since the start, for whatever reason.
    pub restarts: u64,
}
