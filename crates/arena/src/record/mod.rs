//! The record of a run: a folder with every sample as a line of JSON, a summary, the servers' logs, and the report made
//! from the summary.

pub mod date;
pub mod folder;
pub mod machine;
pub mod summary;

use std::collections::BTreeMap;

use loadgen::metric::DIVIDED;
pub use loadgen::{Course, Outcome};
use serde::{Deserialize, Serialize};

/// FNV-1a hash of these bytes, in hexadecimal. Not meant to resist attacks.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Checks a name that becomes part of files, folders and command lines.
pub(crate) fn plain(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && name.len() <= 64 && name.chars().all(is_plain) && !name.contains("..") {
        return Ok(());
    }
    Err(format!("{name:?} is no plain name: letters, digits, -, _ and single dots, at most 64"))
}

/// Name in records of the contender that takes part a second time, as if it were another.
pub const TWIN: &str = "twin";

/// One measurement: a contender under one case in one round. A line of `raw.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Name of the case in its study.
    pub case: String,
    /// Name of the contender's recipe.
    pub contender: String,
    /// Number of the round, from 1.
    pub round: u32,
    /// Command line of the tool, or a description of what our own load generator did.
    pub command: String,
    /// Start time, RFC 3339.
    pub started: String,
    /// Seconds that it took, with checks and warm-up.
    pub took_s: f64,
    /// Numbers by metric, under the names of `metric.rs`.
    pub numbers: BTreeMap<String, f64>,
    /// Number of errors by kind: "connect", "read", "write", "timeout", "status 500", "wrong answer", …
    pub errors: BTreeMap<String, u64>,
    /// Values over the time of the load.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub course: Course,
    /// Remarks on the load and what came of it, in sentences for people.
    #[serde(rename = "told", default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Reasons why numbers of this load are missing, by metric.
    #[serde(rename = "lacking", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing_numbers: BTreeMap<String, String>,
    /// Reason why it does not count, for people.
    pub disqualified: Option<String>,
    /// Reason why it does not show where a request's time goes, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undivided: Option<String>,
    /// Files from which a load of other machines was imported; empty for one of this arena.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<ImportedFile>,
}

/// A file from which a load was imported, so that it is recognised when it is given again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// Its name, without its folder.
    pub name: String,
    /// Fingerprint of its contents.
    pub fingerprint: String,
}

#[cfg(test)]
impl Sample {
    /// A sample of this contender with these numbers.
    pub(crate) fn of(contender: &str, numbers: &[(&str, f64)]) -> Sample {
        let numbers = numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
        Sample { contender: contender.into(), numbers, ..Sample::default() }
    }
}

impl Sample {
    /// Whether it is one of a case's own loads, not the extra load that divides a request's time.
    pub fn is_timed(&self) -> bool {
        self.undivided.is_none() && !self.numbers.contains_key(DIVIDED)
    }

    /// Whether it is one of a case's own loads, and has numbers: a load that could not be made has none.
    pub fn is_made(&self) -> bool {
        self.is_timed() && !self.numbers.is_empty()
    }

    /// Whether it is of this contender in this case.
    pub fn is_of(&self, case: &str, contender: &str) -> bool {
        self.case == case && self.contender == contender
    }

    /// Number of this metric; 0 if the sample has none.
    pub fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(0.0)
    }
}
