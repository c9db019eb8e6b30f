//! Effort of a run: rounds, seconds, requests, clients. A study has one for its full and one for its quick form.

use serde::{Deserialize, Serialize};

/// Effort for each case of a study, unless the case overrides it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Number of rounds in which each contender has a turn.
    pub rounds: u32,
    /// Last of the further rounds for what is undecided after those; none by default.
    pub rounds_most: Option<u32>,
    /// Seconds of each timed load.
    pub seconds: f64,
    /// Requests of each counted load, at most.
    pub requests: Option<u64>,
    /// Most seconds of a warm-up; it ends earlier when the rate is steady.
    pub warm_up_s: f64,
    /// Clients of cases that name no number.
    pub clients: u32,
}

/// Error in the seconds of a warm-up, if there is one.
pub(super) fn wrong_warm_up(seconds: f64) -> Option<&'static str> {
    (!(0.0..=600.0).contains(&seconds)).then_some("warm_up_s is a number of seconds from 0 to 600")
}

impl Effort {
    /// Number of the last possible round.
    pub fn most(&self) -> u32 {
        self.rounds_most.unwrap_or(self.rounds)
    }

    /// Errors in the numbers; `name` stands before each.
    pub fn complaints(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |good: bool, words: &str| {
            if !good {
                found.push(format!("{name}: {words}"));
            }
        };
        check((1..=100).contains(&self.rounds), "rounds is a number from 1 to 100");
        let most = self.most();
        check((self.rounds..=100).contains(&most), "rounds_most is a number from rounds to 100");
        check(self.seconds > 0.0 && self.seconds <= 3600.0, "seconds is a number above 0, at most 3600");
        let wrong = wrong_warm_up(self.warm_up_s);
        check(wrong.is_none(), wrong.unwrap_or_default());
        check((1..=10_000).contains(&self.clients), "clients is a number from 1 to 10000");
        check(self.requests.is_none_or(|requests| requests > 0), "requests is a number above 0");
        found
    }
}
