//! Judgement whether a response is right.

use http::HeaderMap;

use super::ask::{Ask, BodyRule};
use super::fault::Fault;

/// Characters of a wrong body that are shown.
const SHOWN: usize = 80;
/// Bytes at the beginning of each body that are compared with a text that it repeats; a load keeps no fewer.
pub(crate) const BEGINNING_BYTES: usize = 1_024;

/// Checks that a response to `ask` is right. `length` is that of the whole body; `body` may lack its end if the rule
/// does not need it.
pub(crate) fn judge_parts(ask: &Ask, status: u16, length: u64, body: &[u8]) -> Result<(), Fault> {
    let expect = &ask.expect;
    if status != expect.status {
        let words = format!("{}: status {status}, not {}: {}", ask.in_words(), expect.status, shown(body));
        return Err(Fault::Status(status, words));
    }
    let beginning = &body[..body.len().min(BEGINNING_BYTES)];
    let of_text = || expect.known.repeats.as_ref().and_then(|text| by_text(text, beginning));
    let complaint = by_rule(&expect.body, length, body).or_else(of_text);
    complaint.map_or(Ok(()), |what| Err(wrong(ask, &what)))
}

/// Checks that a whole response to `ask` is right, also by all that is known of it beyond its rule.
pub(crate) fn judge_whole(ask: &Ask, status: u16, headers: &HeaderMap, body: &[u8]) -> Result<(), Fault> {
    judge(ask, status, body)?;
    let known = &ask.expect.known;
    let of_text = known.repeats.as_ref().and_then(|text| by_text(text, body));
    let of_pattern = || {
        let pattern = known.matches.as_ref().filter(|it| !it.is_match(&String::from_utf8_lossy(body)))?;
        Some(format!("the body is another one: it does not match {pattern}: {}", shown(body)))
    };
    let complaint = of_text.or_else(of_pattern).or_else(|| by_headers(&known.headers, headers));
    complaint.map_or(Ok(()), |what| Err(wrong(ask, &what)))
}

fn wrong(ask: &Ask, what: &str) -> Fault {
    Fault::Wrong(format!("{}: {what}", ask.in_words()))
}

/// What is wrong with a body by its rule.
fn by_rule(rule: &BodyRule, length: u64, body: &[u8]) -> Option<String> {
    match rule {
        BodyRule::Any => None,
        BodyRule::Exactly(right) if length == right.len() as u64 && body == right => None,
        BodyRule::Exactly(right) => {
            let same = body.iter().zip(right).take_while(|(one, other)| one == other).count();
            let (has, rest) = (right.len(), shown(body.get(same..).unwrap_or_default()));
            Some(format!(
                "a body of {length} bytes, not the right one of {has}: it differs from byte {same} on: {rest}"
            ))
        }
        BodyRule::Contains(text) if holds(body, text.as_bytes()) => None,
        BodyRule::Contains(text) => Some(format!("there is no {text:?} in the body: {}", shown(body))),
        BodyRule::Matches(pattern) if pattern.is_match(&String::from_utf8_lossy(body)) => None,
        BodyRule::Matches(pattern) => Some(format!("the body does not match {pattern}: {}", shown(body))),
        BodyRule::Length(right) if length == *right as u64 => None,
        BodyRule::Length(right) => Some(format!("a body of {length} bytes, not of {right}")),
    }
}

/// What is wrong with a body, or a part of it from its beginning, if it is to repeat this text.
fn by_text(text: &str, body: &[u8]) -> Option<String> {
    let text = text.as_bytes();
    // What follows the first text is what stood one text before it.
    let (first, rest) = body.split_at(text.len().min(body.len()));
    if text.starts_with(first) && body.starts_with(rest) {
        return None;
    }
    let right = text.iter().cycle();
    let same = body.iter().zip(right).take_while(|(one, other)| one == other).count();
    let (text, rest) = (String::from_utf8_lossy(text), shown(&body[same..]));
    Some(format!("the body is another one: it does not repeat {text:?} from byte {same} on: {rest}"))
}

/// What is wrong with the header fields, if these are known.
fn by_headers(known: &[(String, String)], headers: &HeaderMap) -> Option<String> {
    let has = |(name, right): &(String, String)| {
        headers.get_all(name.as_str()).iter().any(|value| value.as_bytes() == right.as_bytes())
    };
    let missing = || known.iter().filter(|field| !has(field));
    let (name, value) = missing().next()?;
    let (count, all) = (missing().count(), known.len());
    Some(format!("{count} of the {all} known header fields are missing or have other values, such as {name}: {value}"))
}

/// Checks that a response to `ask` is right.
pub fn judge(ask: &Ask, status: u16, body: &[u8]) -> Result<(), Fault> {
    judge_parts(ask, status, body.len() as u64, body)
}

fn holds(body: &[u8], text: &[u8]) -> bool {
    // Compared as bytes, since a page may have another encoding.
    text.is_empty() || body.windows(text.len()).any(|window| window == text)
}

/// The beginning of a body, quoted.
pub(crate) fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * SHOWN)]);
    let mut start: String = text.chars().take(SHOWN).collect();
    if start.len() < body.len() {
        start.push('…');
    }
    format!("{start:?}")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use regex::Regex;

    use super::*;
    use crate::ask::{Expect, Known};

    fn failed(rule: BodyRule, status: u16, body: &str) -> Option<String> {
        judge(&Ask::get("/x").with_body(rule), status, body.as_bytes()).err().map(|fault| fault.in_words())
    }

    #[test]
    fn right_answers_pass() {
        let rules = [
            BodyRule::Any,
            BodyRule::Exactly(b"hello".to_vec()),
            BodyRule::Contains("ell".into()),
            BodyRule::Contains(String::new()),
            BodyRule::Matches(Regex::new("^h.*o$").unwrap()),
            BodyRule::Length(5),
        ];
        for rule in rules {
            assert_eq!(failed(rule.clone(), 200, "hello"), None, "{rule:?}");
            assert!(failed(rule, 500, "hello").unwrap().contains("status 500, not 200"));
        }
    }

    #[test]
    fn what_is_known_beyond_the_length_counts_in_a_load_at_the_beginning_and_else_in_the_whole_body() {
        let known = Known { repeats: Some("gold\n".into()), ..Known::default() };
        let of = |known: &Known, length: usize| {
            let ask = Ask::get("/x").with_body(BodyRule::Length(length));
            Ask { expect: Expect { known: known.clone(), ..ask.expect }, ..ask }
        };
        let failed = |known: &Known, body: &str| {
            let whole = judge_whole(&of(known, body.len()), 200, &HeaderMap::new(), body.as_bytes());
            whole.err().map(|fault| fault.in_words())
        };
        for right in ["", "gold\ngo", "gold\ngold\n", "go"] {
            assert_eq!(failed(&known, right), None, "{right:?}");
        }
        for (wrong, at) in [("gold\ngolf\ngold\n", 8), ("gold\ngold\n!", 10), ("old\n", 0), ("gold\ngolf\ngolf\n", 8)] {
            let words = failed(&known, wrong).unwrap();
            assert!(words.starts_with("GET /x: the body is another one: it does not repeat"), "{words}");
            assert!(words.contains(&format!(" from byte {at} on: ")), "{words}");
        }
        // A load does not look beyond the beginning of a body, which may be all that it has kept.
        let late = format!("{}iron\n", "gold\n".repeat(300));
        assert_eq!(judge(&of(&known, late.len()), 200, late.as_bytes()), Ok(()));
        assert!(failed(&known, &late).unwrap().contains("from byte 1500 on"));
        assert_eq!(judge_parts(&of(&known, 5_000), 200, 5_000, b"gold\ngold\ng"), Ok(()));
        assert!(judge_parts(&of(&known, 5_000), 200, 5_000, b"iron\n").is_err());
        let known = Known { matches: Some(Regex::new("^<p>.*</p>$").unwrap()), ..Known::default() };
        assert_eq!(failed(&known, "<p>gold</p>"), None);
        assert!(failed(&known, "<p>gold</q>").unwrap().contains("does not match"));
        assert_eq!(judge_parts(&of(&known, 5_000), 200, 5_000, b"<p>go"), Ok(()));
    }

    #[test]
    fn known_header_fields_are_compared_and_others_may_be_there() {
        let headers = ["x-a", "x-b"].map(|name| (name.to_owned(), format!("value of {name}"))).to_vec();
        let ask = Ask::get("/x");
        let expect = Expect { known: Known { headers, ..Known::default() }, ..ask.expect };
        let ask = Ask { expect, ..ask };
        let failed = |fields: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            judge_whole(&ask, 200, &headers, b"").err().map(|fault| fault.in_words())
        };
        assert_eq!(failed(&[("date", "now"), ("x-b", "value of x-b"), ("x-a", "value of x-a")]), None);
        let words = failed(&[("x-a", "value of x-a"), ("x-b", "value of x-c")]).unwrap();
        assert!(words.starts_with("GET /x: 1 of the 2 known header fields") && words.ends_with("x-b: value of x-b"));
        assert!(failed(&[]).unwrap().contains("2 of the 2"));
    }

    #[test]
    fn wrong_answers_are_described() {
        let cases = [
            (BodyRule::Exactly(b"help".to_vec()), "differs from byte 3 on: \"lo\""),
            (BodyRule::Exactly(b"hello!".to_vec()), "5 bytes, not the right one of 6"),
            (BodyRule::Contains("bye".into()), "there is no \"bye\""),
            (BodyRule::Matches(Regex::new("^x").unwrap()), "does not match ^x"),
            (BodyRule::Length(6), "5 bytes, not of 6"),
        ];
        for (rule, says) in cases {
            let words = failed(rule, 200, "hello").unwrap();
            assert!(words.starts_with("GET /x: ") && words.contains(says), "{words}");
        }
        assert!(failed(BodyRule::Length(0), 200, &"é".repeat(500)).is_some());
        assert!(failed(BodyRule::Contains("x".into()), 200, &"é".repeat(500)).unwrap().chars().count() < 200);
    }
}
