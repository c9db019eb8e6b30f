//! Judgement whether a response is right.

use super::ask::{Ask, BodyRule};
use super::fault::Fault;

/// Characters of a wrong body that are shown.
const SHOWN: usize = 80;

/// Checks that a response to `ask` is right. `length` is that of the whole body; `body` may lack its end if the rule
/// does not need it.
pub(crate) fn judge_parts(ask: &Ask, status: u16, length: u64, body: &[u8]) -> Result<(), Fault> {
    let expect = &ask.expect;
    if status != expect.status {
        let words = format!("{}: status {status}, not {}: {}", ask.in_words(), expect.status, shown(body));
        return Err(Fault::Status(status, words));
    }
    let wrong = |what: String| Err(Fault::Wrong(format!("{}: {what}", ask.in_words())));
    match &expect.body {
        BodyRule::Any => Ok(()),
        BodyRule::Exactly(right) if length == right.len() as u64 && body == right => Ok(()),
        BodyRule::Exactly(right) => {
            let same = body.iter().zip(right).take_while(|(one, other)| one == other).count();
            let (has, rest) = (right.len(), shown(body.get(same..).unwrap_or_default()));
            wrong(format!(
                "a body of {length} bytes, not the right one of {has}: it differs from byte {same} on: {rest}"
            ))
        }
        BodyRule::Contains(text) if holds(body, text.as_bytes()) => Ok(()),
        BodyRule::Contains(text) => wrong(format!("there is no {text:?} in the body: {}", shown(body))),
        BodyRule::Matches(pattern) if pattern.is_match(&String::from_utf8_lossy(body)) => Ok(()),
        BodyRule::Matches(pattern) => wrong(format!("the body does not match {pattern}: {}", shown(body))),
        BodyRule::Length(right) if length == *right as u64 => Ok(()),
        BodyRule::Length(right) => wrong(format!("a body of {length} bytes, not of {right}")),
    }
}

/// Checks that a response to `ask` is right.
pub fn judge(ask: &Ask, status: u16, body: &[u8]) -> Result<(), Fault> {
    judge_parts(ask, status, body.len() as u64, body)
}

fn holds(body: &[u8], text: &[u8]) -> bool {
    // Compared as bytes, since a page may have another encoding.
    text.is_empty() || body.windows(text.len()).any(|window| window == text)
}

fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * SHOWN)]);
    let mut start: String = text.chars().take(SHOWN).collect();
    if start.len() < body.len() {
        start.push('…');
    }
    format!("{start:?}")
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

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
