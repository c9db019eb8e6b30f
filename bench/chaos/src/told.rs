//! What a scenario tells: numbers of its requests, remarks, and all that was not as it should be.

use std::time::Duration;

use crate::count::{Count, SHED};
use crate::pace;

/// The result of one scenario.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// All requests.
    pub requests: u64,
    /// Those that failed and may not.
    pub failed: u64,
    /// Those that were refused with a 503.
    pub shed: u64,
    /// The longest wait.
    pub longest_ms: f64,
    /// What was done, in words.
    pub remarks: Vec<String>,
    /// What went wrong. None: all is well.
    pub complaints: Vec<String>,
    /// It was not tried: this machine has not what it needs.
    pub is_skipped: bool,
}

impl Told {
    /// It cannot be tried here, for this reason.
    pub fn skipped(why: impl Into<String>) -> Told {
        Told { remarks: vec![format!("not tried: {}", why.into())], is_skipped: true, ..Told::default() }
    }

    /// Takes the numbers of the load that is called `which`, in which only these kinds of failures may be.
    pub fn count(&mut self, which: &str, count: &Count, allowed: &[&str]) {
        self.take(count, allowed);
        self.complaints.extend(count.complaint(allowed).map(|complaint| format!("{which}: {complaint}")));
    }

    /// The numbers without a judgement.
    pub fn take(&mut self, count: &Count, allowed: &[&str]) {
        self.requests += count.requests();
        self.failed += count.failed(&[allowed, &[SHED]].concat());
        self.shed += count.shed();
        self.longest_ms = self.longest_ms.max(count.longest_ms);
    }

    /// Takes what a part of the scenario has told.
    pub fn join(&mut self, other: Told) {
        self.requests += other.requests;
        self.failed += other.failed;
        self.shed += other.shed;
        self.longest_ms = self.longest_ms.max(other.longest_ms);
        self.remarks.extend(other.remarks);
        self.complaints.extend(other.complaints);
    }

    /// Nobody may have waited longer, as far as this machine lets anybody be quick.
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

    /// Something was done.
    pub fn remark(&mut self, words: impl Into<String>) {
        self.remarks.push(words.into());
    }

    /// Something is wrong.
    pub fn complain(&mut self, words: impl Into<String>) {
        self.complaints.push(words.into());
    }

    /// Something is wrong unless this is so.
    pub fn expect(&mut self, is_so: bool, otherwise: impl FnOnce() -> String) {
        if !is_so {
            self.complaints.push(otherwise());
        }
    }
}
