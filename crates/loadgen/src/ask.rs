//! Requests of a workload, and the rules for right responses.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, Method, Uri};
use regex::Regex;
use serde::Deserialize;

/// A kind of request.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The method, such as `GET`.
    pub method: String,
    /// The path with the query: `/posts?page=2`.
    pub path: String,
    /// Header fields. `Host` is added unless it is here.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// The rule for the right response.
    pub expect: Expect,
    /// Frequency of the request, relative to the others of its workload.
    pub weight: f64,
}

/// The rule for a right response.
#[derive(Debug, Clone)]
pub struct Expect {
    /// Its status.
    pub status: u16,
    /// The rule for its body.
    pub body: BodyRule,
    /// What is known of it beyond the rule.
    pub known: Known,
}

/// What is known of a right response beyond its rule. A check before or after a load looks at all of it; a load looks
/// only at the first KiB of a body that repeats a text.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The text that the body repeats from its first byte to its last.
    pub repeats: Option<String>,
    /// A pattern that matches in the whole body.
    pub matches: Option<Regex>,
    /// Header fields by their lowercase names; there may be others.
    pub headers: Vec<(String, String)>,
}

impl Known {
    /// Whether anything is known.
    pub fn is_empty(&self) -> bool {
        self.repeats.is_none() && self.matches.is_none() && self.headers.is_empty()
    }
}

/// A rule for the body of a response.
#[derive(Debug, Clone, Default)]
pub enum BodyRule {
    /// Any body.
    #[default]
    Any,
    /// Exactly these bytes.
    Exactly(Vec<u8>),
    /// A body that contains this text.
    Contains(String),
    /// A body in which this pattern matches.
    Matches(Regex),
    /// A body with this number of bytes.
    Length(usize),
}

/// A workload: kinds of requests, drawn at random by their weights.
#[derive(Debug, Clone, Default)]
pub struct Workload {
    /// The kinds of requests, at least one.
    pub asks: Vec<Ask>,
}

/// An [`Ask`] as written in a recipe.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskParts {
    /// The path with the query.
    pub path: String,
    /// The method; GET by default.
    #[serde(default = "get")]
    pub method: String,
    /// Header fields by name.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body of the request.
    #[serde(default)]
    pub body: String,
    /// Status of the right response; 200 by default.
    #[serde(default = "ok")]
    pub status: u16,
    /// The whole right body.
    pub exactly: Option<String>,
    /// A text that the right body contains.
    pub contains: Option<String>,
    /// A regular expression that matches in the right body.
    pub matches: Option<String>,
    /// Length of the right body in bytes.
    pub length: Option<usize>,
    /// Relative frequency; 1 by default.
    #[serde(default = "once")]
    pub weight: f64,
}

fn get() -> String {
    "GET".into()
}

const fn ok() -> u16 {
    200
}

const fn once() -> f64 {
    1.0
}

impl Ask {
    /// A GET request for this path, to which any body is right.
    pub fn get(path: &str) -> Ask {
        let expect = Expect { status: ok(), body: BodyRule::Any, known: Known::default() };
        Ask { method: get(), path: path.into(), headers: Vec::new(), body: Vec::new(), expect, weight: once() }
    }

    /// Sets the rule for the right body.
    pub fn with_body(self, rule: BodyRule) -> Ask {
        Ask { expect: Expect { body: rule, ..self.expect }, ..self }
    }

    /// Method and path, for messages.
    pub fn in_words(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The first error in this request, if there is one.
    fn complaint(&self) -> Option<String> {
        let wrong = |what: String| Some(format!("{}: {what}", self.in_words()));
        if Method::from_bytes(self.method.as_bytes()).is_err() {
            return wrong("this is no method; GET is one".into());
        }
        if !self.path.starts_with('/') || self.path.parse::<Uri>().is_err() {
            return wrong("a path begins with / and has no spaces; write others as %20 and so on".into());
        }
        let is_header = |name: &str, value: &str| {
            HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
        };
        if let Some((name, value)) = self.headers.iter().find(|(name, value)| !is_header(name, value)) {
            return wrong(format!("{name:?}: {value:?} is no header field"));
        }
        if !(100..=999).contains(&self.expect.status) {
            return wrong(format!("{} is no status; 200 is one", self.expect.status));
        }
        if !self.weight.is_finite() || self.weight <= 0.0 {
            return wrong(format!("its weight is {}: it is a number above 0", self.weight));
        }
        None
    }
}

impl TryFrom<AskParts> for Ask {
    type Error = String;

    fn try_from(parts: AskParts) -> Result<Ask, String> {
        let path = parts.path.clone();
        let mut rules = Vec::new();
        rules.extend(parts.exactly.map(|text| BodyRule::Exactly(text.into_bytes())));
        rules.extend(parts.contains.map(BodyRule::Contains));
        if let Some(pattern) = parts.matches {
            rules.push(BodyRule::Matches(Regex::new(&pattern).map_err(|error| format!("{path}: matches: {error}"))?));
        }
        rules.extend(parts.length.map(BodyRule::Length));
        if rules.len() > 1 {
            return Err(format!("{path}: give one of exactly, contains, matches and length"));
        }
        let ask = Ask {
            method: parts.method,
            path: parts.path,
            headers: parts.headers.into_iter().collect(),
            body: parts.body.into_bytes(),
            expect: Expect { status: parts.status, body: rules.pop().unwrap_or_default(), known: Known::default() },
            weight: parts.weight,
        };
        ask.complaint().map_or(Ok(ask), Err)
    }
}

impl Workload {
    /// A workload of these requests, or the first error in them.
    pub fn of(asks: Vec<Ask>) -> Result<Workload, String> {
        let workload = Workload { asks };
        workload.complaint().map_or(Ok(workload), Err)
    }

    /// A workload as written in a recipe, or the first error in it.
    pub fn from_parts(parts: Vec<AskParts>) -> Result<Workload, String> {
        Workload::of(parts.into_iter().map(Ask::try_from).collect::<Result<_, _>>()?)
    }

    /// The first error in the workload, if there is one.
    pub(crate) fn complaint(&self) -> Option<String> {
        if self.asks.is_empty() {
            return Some("this workload asks nothing: give it a path".into());
        }
        self.asks.iter().find_map(Ask::complaint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Ask, String> {
        Ask::try_from(toml::from_str::<AskParts>(text).map_err(|error| error.to_string())?)
    }

    #[test]
    fn an_ask_of_a_recipe_has_defaults() {
        let ask = parsed("path = '/x?y=1'\ncontains = 'hello'").unwrap();
        assert_eq!((ask.in_words().as_str(), ask.expect.status, ask.weight), ("GET /x?y=1", 200, 1.0));
        assert!(matches!(ask.expect.body, BodyRule::Contains(text) if text == "hello"));
    }

    #[test]
    fn bad_asks_say_what_would_be_right() {
        for (text, says) in [
            ("path = 'x'", "begins with /"),
            ("path = '/a b'", "%20"),
            ("path = '/'\nmethod = 'G T'", "no method"),
            ("path = '/'\nstatus = 20", "no status"),
            ("path = '/'\nweight = 0.0", "above 0"),
            ("path = '/'\nweight = nan", "above 0"),
            ("path = '/'\nmatches = '('", "matches"),
            ("path = '/'\nlength = 1\nexactly = 'x'", "one of"),
            ("path = '/'\nheaders = { 'a b' = 'x' }", "header field"),
            ("path = '/'\nheader = 'x'", "unknown field"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(Workload::of(Vec::new()).unwrap_err().contains("asks nothing"));
    }
}
