//! The rule by which figures differ significantly, for the texts of pages.

use serde::Serialize;

use crate::stats::paired::{CONFIDENCE_PERCENT, SMALLEST_PART};

/// Numbers of the rule, both in percent.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Rule {
    /// Confidence of the intervals.
    pub confidence: u32,
    /// Smallest difference of interest.
    pub interest: u32,
}

impl Rule {
    /// The rule of this program.
    pub fn now() -> Rule {
        Rule { confidence: CONFIDENCE_PERCENT, interest: (SMALLEST_PART * 100.0) as u32 }
    }
}
