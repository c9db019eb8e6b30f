//! Counts of a load's requests by outcome, and whether they are as they should be.

use std::collections::BTreeMap;

use loadgen::Outcome;

/// Refused on purpose.
pub const SHED: &str = "status 503";
/// Timed out.
pub const LATE: &str = "status 504";
/// Connection refused: right after a shutdown has begun.
pub const REFUSED: &str = "connect";

/// Counts of requests by outcome.
#[derive(Debug, Clone, Default)]
pub struct Count {
    /// Right responses.
    pub right: u64,
    /// Failures by kind.
    pub errors: BTreeMap<String, u64>,
    /// Longest latency in milliseconds, failures included.
    pub longest_ms: f64,
    /// The first wrong response, as text.
    pub wrong: Option<String>,
}

impl Count {
    /// The counts of a load with this outcome.
    pub fn of(outcome: Outcome) -> Count {
        let number = |name: &str| outcome.numbers.get(name).copied().unwrap_or(0.0);
        let (right, longest_ms) = (number("requests") as u64, number("max_ms"));
        Count { right, errors: outcome.errors, longest_ms, wrong: outcome.wrong }
    }

    /// Adds another count.
    pub fn join(&mut self, other: &Count) {
        self.right += other.right;
        for (kind, many) in &other.errors {
            *self.errors.entry(kind.clone()).or_default() += many;
        }
        self.longest_ms = self.longest_ms.max(other.longest_ms);
        self.wrong = self.wrong.take().or_else(|| other.wrong.clone());
    }

    /// Number of all requests.
    pub fn requests(&self) -> u64 {
        self.right + self.errors.values().sum::<u64>()
    }

    /// Number of requests refused with 503.
    pub fn shed(&self) -> u64 {
        self.errors.get(SHED).copied().unwrap_or(0)
    }

    /// Number of failures except these kinds.
    pub fn failed(&self, allowed: &[&str]) -> u64 {
        self.errors.iter().filter(|(kind, _)| !allowed.contains(&kind.as_str())).map(|(_, many)| many).sum()
    }

    /// A complaint, if there are failures except these kinds, or no right response.
    pub fn complaint(&self, allowed: &[&str]) -> Option<String> {
        if self.right == 0 {
            return Some("not one request was answered rightly".into());
        }
        let bad = self.errors.iter().filter(|(kind, _)| !allowed.contains(&kind.as_str()));
        let kinds: Vec<String> = bad.map(|(kind, many)| format!("{many} x {kind}")).collect();
        let first = self.wrong.as_ref().map(|wrong| format!(" ({wrong})")).unwrap_or_default();
        (!kinds.is_empty()).then(|| format!("failed requests: {}{first}", kinds.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_allowed_may_fail() {
        let errors = BTreeMap::from([(SHED.to_owned(), 3), ("closed early".to_owned(), 2)]);
        let count = Count { right: 10, errors, ..Count::default() };
        assert_eq!((count.requests(), count.shed(), count.failed(&[SHED])), (15, 3, 2));
        assert_eq!(count.complaint(&[SHED]).as_deref(), Some("failed requests: 2 x closed early"));
        assert_eq!(count.complaint(&[SHED, "closed early"]), None);
        assert!(Count::default().complaint(&[]).is_some());
    }
}
