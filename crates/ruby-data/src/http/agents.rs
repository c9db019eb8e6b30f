//! HTTP clients, kept for the next request of the same interpreter.

use std::path::PathBuf;

use ureq::Agent;

/// Whom a client believes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// Whether certificates are checked.
    pub verify: bool,
    /// The file of certificates that are believed, if it is not the system's.
    pub file: Option<PathBuf>,
}

/// The clients of an interpreter, by whom they believe.
pub type Agents = Vec<(Trust, Agent)>;
