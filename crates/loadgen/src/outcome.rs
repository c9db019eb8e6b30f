//! Results of a load, as named numbers.

use std::collections::BTreeMap;

use super::size::{MeanSize, Size};

/// Courses over the time of one load, by the names of `metric.rs`: pairs of seconds since its beginning and a value.
pub type Course = BTreeMap<String, Vec<(f64, f64)>>;

/// Results of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The command line of the tool, or a description of our own loop.
    pub command: String,
    /// Numbers by the names of `metric.rs`.
    pub numbers: BTreeMap<String, f64>,
    /// Number of failures by kind: "connect", "read", "write", "timeout", "status 500", "wrong answer", …
    pub errors: BTreeMap<String, u64>,
    /// Courses over the time of the load.
    pub course: Course,
    /// Description of the first wrong response, which disqualifies the server.
    pub wrong: Option<String>,
    /// Remarks on the load and what came of it, in sentences for people. What the load was is in `command`.
    pub remarks: Vec<String>,
    /// Reason why this load does not count, by a fault of the tool and not of the server: it may be repeated.
    pub void: Option<String>,
    /// Reasons why numbers of this load are missing, by the names of `metric.rs`.
    pub missing_numbers: BTreeMap<String, String>,
    /// Size of the right responses to a tool that looks at none, if it says how many bytes it was sent.
    pub mean_size: Option<MeanSize>,
    /// Size of the smallest right response in a load that looks at all.
    pub least_size: Option<Size>,
}

impl Outcome {
    /// Outcome of a load that does not count, with the reason.
    pub fn nothing(why: String) -> Outcome {
        Outcome { void: Some(why), ..Outcome::default() }
    }
}
