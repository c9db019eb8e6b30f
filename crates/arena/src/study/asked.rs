//! What was asked of a run.

use serde::{Deserialize, Serialize};

use super::challenge::Challenge;
use super::effort::Effort;
use super::origin::Origin;

/// What was asked for; kept in the run folder, so that the run can be resumed as it was meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The study.
    pub study: String,
    /// Its quick form.
    pub is_quick: bool,
    /// What it may take.
    pub effort: Effort,
    /// Only contenders with one of these words in their names; empty: all.
    pub only: Vec<String>,
    /// Only cases with one of these words in their names; empty: all.
    pub cases: Vec<String>,
    /// Makes the orders.
    pub seed: u64,
    /// The command line.
    pub command: String,
    /// What must be the same when it goes on; nothing in the folders of older programs.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// With k6 in the place of each case's own load, where it has one like it: its version.
    #[serde(default)]
    pub k6: Option<String>,
    /// What was loaded elsewhere and imported: the machine of the servers, in words.
    #[serde(default)]
    pub machine: Option<String>,
    /// A recipe that is not the arena's and takes part.
    #[serde(default)]
    pub challenge: Option<Challenge>,
}
