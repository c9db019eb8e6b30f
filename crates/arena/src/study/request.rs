//! The request for a run.

use serde::{Deserialize, Serialize};

use super::challenge::Challenge;
use super::effort::Effort;
use super::origin::Origin;

/// A request for a run, stored in the run folder, so that the run can be resumed with the same options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// Name of the study.
    pub study: String,
    /// Whether it is the quick form.
    pub is_quick: bool,
    /// Rounds, seconds, requests and clients.
    pub effort: Effort,
    /// Words of which a contender's name must contain one; empty for all.
    pub only: Vec<String>,
    /// Words of which a contender's name must contain none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Words of which a case's name must contain one; empty for all.
    pub cases: Vec<String>,
    /// Seed of the random orders.
    pub seed: u64,
    /// Command line.
    pub command: String,
    /// Servers and recipes, which must be the same when the run is resumed; `None` for imported loads.
    pub origin: Option<Origin>,
    /// Version of k6, if it replaces each case's own load where it has one like it.
    pub k6: Option<String>,
    /// For imported loads of other machines: the machine of the servers, in words.
    pub machine: Option<String>,
    /// Recipe of a user that takes part.
    pub challenge: Option<Challenge>,
}
