//! Records of deploys: attempts to load code, and their outcomes.

use std::time::{Instant, SystemTime};

use engine::unix_ms;
use serde::Serialize;

/// The record of a deploy, as the control API shows it: of the start or of a reload, successful or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeployRecord {
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

impl DeployRecord {
    /// The record of a deploy that has ended just now.
    pub fn new(generation: u64, begun: Instant, outcome: DeployOutcome, error: Option<String>) -> DeployRecord {
        let took = begun.elapsed();
        let at_ms = SystemTime::now().checked_sub(took).map_or(0, unix_ms);
        DeployRecord { at_ms, generation, outcome, error, took_ms: (took.as_secs_f64() * 1e6).round() / 1e3 }
    }
}
