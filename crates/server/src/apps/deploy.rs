//! Deploys: attempts to load code, and their outcomes.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// An attempt to load code, as the control API shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deploy {
    /// When it began, in milliseconds since 1970.
    pub at_ms: u64,
    /// Number of the generation; a failed one's is not used again.
    pub generation: u64,
    pub outcome: DeployOutcome,
    /// Why it failed.
    pub error: Option<String>,
    /// Time until it was ready for requests, or had failed.
    pub took_ms: f64,
}

/// Outcome of a deploy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeployOutcome {
    /// The server started with it.
    Started,
    /// The new generation replaced the one before.
    Live,
    /// The new generation failed; the one before went on.
    Failed,
}

impl Deploy {
    /// A deploy that has its outcome now.
    pub fn new(generation: u64, begun: Instant, outcome: DeployOutcome, error: Option<String>) -> Deploy {
        let took = begun.elapsed();
        let at = SystemTime::now().checked_sub(took).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let at_ms = u64::try_from(at.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
        Deploy { at_ms, generation, outcome, error, took_ms: (took.as_secs_f64() * 1e6).round() / 1e3 }
    }
}
