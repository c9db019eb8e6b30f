//! The rule by which two are told apart, filled into the words of pages.

use serde::Serialize;

use crate::stats::paired::{CONFIDENCE_PERCENT, SMALLEST_PART};

/// Both in percent.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Rule {
    /// Of the intervals.
    pub confidence: u32,
    /// The smallest difference of interest.
    pub interest: u32,
}

impl Rule {
    /// That of this program.
    pub fn now() -> Rule {
        Rule { confidence: CONFIDENCE_PERCENT, interest: (SMALLEST_PART * 100.0) as u32 }
    }
}
