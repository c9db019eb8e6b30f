//! The right answer of a case, as a recipe says it.

use regex::Regex;
use serde::Deserialize;

use crate::load::{Ask, BodyRule, Expect, Workload};

/// One of the rules for the body; none means that only the status counts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// 200 if nothing is said.
    #[serde(default)]
    pub status: Option<u16>,
    /// The whole body.
    #[serde(default)]
    pub exactly: Option<String>,
    /// A part of it.
    #[serde(default)]
    pub contains: Option<String>,
    /// A regular expression.
    #[serde(default)]
    pub matches: Option<String>,
}

impl Expected {
    /// What is wrong with it.
    pub fn complaints(&self) -> Option<String> {
        let count = [&self.exactly, &self.contains, &self.matches].iter().filter(|rule| rule.is_some()).count();
        if count > 1 {
            return Some("expect has one of exactly, contains and matches".into());
        }
        if let Some(status) = self.status.filter(|status| !(200..600).contains(status)) {
            return Some(format!("expect.status is {status}: a final status is from 200 to 599"));
        }
        self.rule().err()
    }

    /// A workload of this one request.
    pub fn workload(&self, path: &str) -> Result<Workload, String> {
        let expect = Expect { status: self.status.unwrap_or(200), body: self.rule()? };
        Workload::of(vec![Ask { expect, ..Ask::get(path) }])
    }

    fn rule(&self) -> Result<BodyRule, String> {
        if let Some(body) = &self.exactly {
            return Ok(BodyRule::Exactly(body.clone().into_bytes()));
        }
        if let Some(part) = &self.contains {
            return Ok(BodyRule::Contains(part.clone()));
        }
        let Some(pattern) = &self.matches else { return Ok(BodyRule::Any) };
        Regex::new(pattern).map(BodyRule::Matches).map_err(|error| format!("expect.matches: {error}"))
    }
}
