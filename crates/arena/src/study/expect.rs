//! The right answer of a case, as its recipe gives it.

use regex::Regex;
use serde::Deserialize;

use loadgen::{Ask, BodyRule, Expect, Known, Workload};

/// Expected answer, with at most one rule for the body; without one only the status counts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Status; 200 by default.
    pub status: Option<u16>,
    /// The whole body.
    pub exactly: Option<String>,
    /// A part of the body.
    pub contains: Option<String>,
    /// A regular expression that matches the body.
    pub matches: Option<String>,
    /// Length of the body in bytes.
    pub length: Option<usize>,
}

impl Expected {
    /// Error in the rules, if there is one.
    pub fn complaints(&self) -> Option<String> {
        let rules = [&self.exactly, &self.contains, &self.matches];
        if rules.iter().filter(|rule| rule.is_some()).count() + usize::from(self.length.is_some()) > 1 {
            return Some("expect has one of exactly, contains, matches and length".into());
        }
        if let Some(status) = self.status.filter(|status| !(200..600).contains(status)) {
            return Some(format!("expect.status is {status}: a final status is from 200 to 599"));
        }
        self.rule().err()
    }

    /// A GET of this path, with this as the right answer.
    pub fn ask(&self, path: &str) -> Result<Ask, String> {
        let expect = Expect { status: self.status.unwrap_or(200), body: self.rule()?, known: Known::default() };
        Ok(Ask { expect, ..Ask::get(path) })
    }

    /// A workload of this one request: a GET of the path, or a POST to it with a body of `send_bytes` bytes.
    pub fn workload(&self, path: &str, send_bytes: Option<usize>) -> Result<Workload, String> {
        let get = self.ask(path)?;
        let Some(bytes) = send_bytes else { return Workload::of(vec![get]) };
        // Not a form, which Rack would parse.
        let headers = vec![("content-type".to_owned(), "application/octet-stream".to_owned())];
        let body = b"FoolsGold\n".iter().copied().cycle().take(bytes).collect();
        Workload::of(vec![Ask { method: "POST".to_owned(), headers, body, ..get }])
    }

    fn rule(&self) -> Result<BodyRule, String> {
        if let Some(body) = &self.exactly {
            return Ok(BodyRule::Exactly(body.clone().into_bytes()));
        }
        if let Some(part) = &self.contains {
            return Ok(BodyRule::Contains(part.clone()));
        }
        if let Some(bytes) = self.length {
            return Ok(BodyRule::Length(bytes));
        }
        let Some(pattern) = &self.matches else { return Ok(BodyRule::Any) };
        Regex::new(pattern).map(BodyRule::Matches).map_err(|error| format!("expect.matches: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_a_post_of_so_many_bytes() {
        let expected: Expected = toml::from_str("length = 5").unwrap();
        let workload = expected.workload("/up", Some(23)).unwrap();
        let ask = &workload.asks[0];
        assert_eq!((ask.in_words().as_str(), ask.body.as_slice()), ("POST /up", &b"FoolsGold\nFoolsGold\nFoo"[..]));
        assert!(matches!(ask.expect.body, BodyRule::Length(5)));
        assert_eq!(expected.workload("/up", None).unwrap().asks[0].in_words(), "GET /up");
    }
}
