//! One attempt to bring code to life, and what came of it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// One attempt to bring code to life, for people who want to know what runs since when.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deploy {
    /// When it began, in milliseconds since 1970.
    pub at_ms: u64,
    /// The number of the generation; that of one that failed is not used again.
    pub generation: u64,
    pub outcome: Outcome,
    /// Why it failed.
    pub error: Option<String>,
    /// Until it was ready for requests, or had failed.
    pub took_ms: f64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The server started with it.
    Started,
    /// It took the place of the one before.
    Live,
    /// It did not; the one before went on.
    Failed,
}

impl Deploy {
    /// One that is decided now.
    pub fn new(generation: u64, begun: Instant, outcome: Outcome, error: Option<String>) -> Deploy {
        let took = begun.elapsed();
        let at = SystemTime::now().checked_sub(took).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let at_ms = u64::try_from(at.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
        Deploy { at_ms, generation, outcome, error, took_ms: (took.as_secs_f64() * 1e6).round() / 1e3 }
    }
}
