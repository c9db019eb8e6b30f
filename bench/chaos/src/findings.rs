//! Findings of a scenario: counts of its requests, remarks, and complaints.

use std::time::Duration;

use crate::count::{Count, SHED};
use crate::pace;

/// Findings of a scenario.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Number of requests.
    pub requests: u64,
    /// Number of failures that are not allowed.
    pub failed: u64,
    /// Number of requests refused with 503.
    pub shed: u64,
    /// Longest latency in milliseconds.
    pub longest_ms: f64,
    /// Texts about what was done.
    pub remarks: Vec<String>,
    /// Texts about failures; empty if all is well.
    pub complaints: Vec<String>,
    /// Whether it was skipped, as this machine lacks something.
    pub is_skipped: bool,
}

impl Findings {
    /// A scenario that is skipped for this reason.
    pub fn skipped(why: impl Into<String>) -> Findings {
        Findings { remarks: vec![format!("not tried: {}", why.into())], is_skipped: true, ..Findings::default() }
    }

    /// Adds the counts of the load named `which`, and complains about failures except the allowed kinds.
    pub fn count(&mut self, which: &str, count: &Count, allowed: &[&str]) {
        self.take(count, allowed);
        self.complaints.extend(count.complaint(allowed).map(|complaint| format!("{which}: {complaint}")));
    }

    /// Adds the counts without complaints.
    pub fn take(&mut self, count: &Count, allowed: &[&str]) {
        self.requests += count.requests();
        self.failed += count.failed(&[allowed, &[SHED]].concat());
        self.shed += count.shed();
        self.longest_ms = self.longest_ms.max(count.longest_ms);
    }

    /// Adds the findings of a part of the scenario.
    pub fn join(&mut self, other: Findings) {
        self.requests += other.requests;
        self.failed += other.failed;
        self.shed += other.shed;
        self.longest_ms = self.longest_ms.max(other.longest_ms);
        self.remarks.extend(other.remarks);
        self.complaints.extend(other.complaints);
    }

    /// Complains if the longest latency is above a limit, extended for a slow machine.
    pub fn bound(&mut self, limit: Duration) {
        let most = pace::allowed(limit).as_secs_f64() * 1_000.0;
        if self.longest_ms > most {
            let slowest = pace::slowest();
            self.complain(format!(
                "somebody waited {:.0} ms, more than {most:.0} ms (other programs took up to {slowest:?} to start)",
                self.longest_ms
            ));
        }
    }

    /// Adds a remark.
    pub fn remark(&mut self, words: impl Into<String>) {
        self.remarks.push(words.into());
    }

    /// Adds a complaint.
    pub fn complain(&mut self, words: impl Into<String>) {
        self.complaints.push(words.into());
    }

    /// Adds a complaint unless the condition holds.
    pub fn expect(&mut self, is_so: bool, otherwise: impl FnOnce() -> String) {
        if !is_so {
            self.complaints.push(otherwise());
        }
    }
}
