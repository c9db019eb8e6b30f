//! What a load generator saw, in numbers with names.

use std::collections::BTreeMap;

/// Over the time of one load, by the names of `metric.rs`: seconds since its beginning, each with a value.
pub type Course = BTreeMap<String, Vec<(f64, f64)>>;

/// What a load generator saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The command line of the tool, or what our own load generator did.
    pub command: String,
    /// By the names of `metric.rs`.
    pub numbers: BTreeMap<String, f64>,
    /// How often which kind of error happened: "connect", "read", "write", "timeout", "status 500", "wrong answer", …
    pub errors: BTreeMap<String, u64>,
    /// Over the time of the load.
    pub course: Course,
    /// The first wrong answer, described: it disqualifies.
    pub wrong: Option<String>,
    /// What else was seen, in sentences for a person. What the load was is the command; what came of it stands here.
    pub told: Vec<String>,
    /// Numbers that this load should have and has not, each with the reason: by the names of `metric.rs`.
    pub lacking: BTreeMap<String, String>,
}
