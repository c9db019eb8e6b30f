//! How much is done: rounds, seconds, requests, clients. A study says it twice, for its full and for its quick form.

use serde::{Deserialize, Serialize};

/// What a whole study spends on each of its cases, unless the case says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Each contender has a turn in each of them.
    pub rounds: u32,
    /// What is not decided by then has further ones, up to so many; none if nothing is said.
    #[serde(default)]
    pub rounds_most: Option<u32>,
    /// Of each timed load.
    pub seconds: f64,
    /// Of loads that are counted rather than timed.
    #[serde(default)]
    pub requests: Option<u64>,
    /// The most that a warm-up may take; it ends earlier when the rate is steady.
    pub warm_up_s: f64,
    /// Clients of cases that do not name a number.
    pub clients: u32,
}

impl Effort {
    /// The last round that there can be.
    pub fn most(&self) -> u32 {
        self.rounds_most.unwrap_or(self.rounds)
    }

    /// What is wrong with it.
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
        check((0.0..=600.0).contains(&self.warm_up_s), "warm_up_s is a number of seconds from 0 to 600");
        check((1..=10_000).contains(&self.clients), "clients is a number from 1 to 10000");
        check(self.requests.is_none_or(|requests| requests > 0), "requests is a number above 0");
        found
    }
}
