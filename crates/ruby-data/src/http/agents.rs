//! HTTP clients, kept with their connections for the next request of the same interpreter.

use std::path::PathBuf;

use ureq::Agent;

/// The certificates that a client trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// Whether the server's certificate is verified.
    pub verify: bool,
    /// A PEM file of trusted certificates; None for those of the system.
    pub file: Option<PathBuf>,
}

/// The clients of an interpreter, by the certificates they trust.
pub type Agents = Vec<(Trust, Agent)>;
