//! The rule by which figures differ significantly, for the texts of reports.

use serde::Serialize;

use crate::record::summary::Advice;
use crate::stats;
use crate::stats::paired::{CONFIDENCE_PERCENT, SMALLEST_PART};

/// Percentages of the rule.
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

/// Words before a recommendation that was made by another rule than that of this program, by which it may differ; empty
/// for one by this rule.
pub fn older_rule_note(advice: &Advice) -> &'static str {
    if advice.rule == stats::rule() { "" } else { "By an older rule than the one of this page: " }
}
