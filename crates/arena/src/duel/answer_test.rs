//! Tests with made-up answers.

use super::*;

fn page(body: &str) -> Answer {
    Answer { status: 200, content_type: "text/html".into(), location: String::new(), body: body.into() }
}

fn learned(answers: &[Answer]) -> KnownAnswer {
    KnownAnswer::from_answers(&DuelRequest::new("GET", "/a"), answers).unwrap()
}

#[test]
fn what_stays_is_checked_byte_for_byte() {
    let known = learned(&[page("<p>one</p>"), page("<p>one</p>")]);
    assert!(known.body.is_exact() && !known.is_loose());
    assert_eq!(known.judge(&page("<p>one</p>")), AnswerVerdict::Right);
    assert!(matches!(known.judge(&page("<p>two</p>")), AnswerVerdict::Differs(_)));
    assert_eq!(known.in_words(), "GET /a: 200, a page of HTML, all 10 bytes");
}

#[test]
fn what_varies_is_masked_and_told() {
    let with = |token: &str| page(&format!("<html><title>the shop</title><input value=\"{token}\"><p>more</p></html>"));
    let known = learned(&[with("aaa"), with("bb-b"), with("c")]);
    assert_eq!(known.judge(&with("something else")), AnswerVerdict::Right);
    assert!(known.in_words().contains("one place that varies, the first after"), "{}", known.in_words());
    let half = page("<html><title>the shop</title><input value=\"c\"></html>");
    assert!(matches!(known.judge(&half), AnswerVerdict::Differs(_)));
}

#[test]
fn what_varies_wholly_is_held_to_its_length() {
    let known = learned(&[page("aaaa bbbb"), page("cccc(dddd"), page("x")]);
    assert!(known.is_loose());
    assert!(known.in_words().contains("not checked"), "{}", known.in_words());
    assert_eq!(known.judge(&page("zzzz")), AnswerVerdict::Right);
    let AnswerVerdict::Differs(words) = known.judge(&page(&"z ".repeat(500))) else { panic!("a long one passed") };
    assert!(words.contains("1000 bytes, where 1 to 9 are usual"), "{words}");
}

#[test]
fn another_status_or_kind_disqualifies() {
    let known = learned(&[page("<p>one</p>")]);
    let other = Answer { status: 404, ..page("<p>one</p>") };
    let AnswerVerdict::Wrong(words) = known.judge(&other) else { panic!("it passed") };
    assert!(words.contains("GET /a is answered with 404") && words.contains("not with 200"), "{words}");
    assert!(matches!(known.judge(&page("")), AnswerVerdict::Wrong(_)));
    let json = Answer { content_type: "application/json".into(), ..page("{\"error\":\"no\"}") };
    assert!(matches!(known.judge(&json), AnswerVerdict::Wrong(_)));
}

#[test]
fn redirects_and_missing_pages_are_right_when_they_stay() {
    let there = |place: &str| Answer { status: 302, location: place.into(), ..page("") };
    let known = learned(&[there("/login"), there("/login")]);
    assert_eq!(known.in_words(), "GET /a: 302, to /login, no body");
    assert_eq!(known.judge(&there("/login")), AnswerVerdict::Right);
    assert!(matches!(known.judge(&there("/logout")), AnswerVerdict::Differs(_)));
    let missing = Answer { status: 404, ..page("<p>no</p>") };
    assert_eq!(learned(&[missing.clone(), missing]).status, 404);
}

#[test]
fn what_cannot_be_learned_says_why() {
    let ask = |status: Option<u16>, answers: &[Answer]| {
        KnownAnswer::from_answers(&DuelRequest { status, ..DuelRequest::new("GET", "/a") }, answers).unwrap_err()
    };
    let failing = Answer { status: 500, ..page("oh") };
    assert_eq!(ask(None, &[page("a"), failing]), "GET /a is answered with 500");
    let words = ask(None, &[page("a"), Answer { status: 302, ..page("") }]);
    assert!(words.contains("now with 200 and a page of HTML, now with 302 and nothing"), "{words}");
    let words = ask(Some(200), &[Answer { status: 302, ..page("") }]);
    assert!(words.contains("302 and nothing, not with 200"), "{words}");
    assert_eq!(ask(None, &[]), "GET /a was never answered");
}

#[test]
fn a_difference_that_was_learned_is_right() {
    let mut known = learned(&[page("<p>served by one, with the rest of the page</p>")]);
    let other = page("<p>served by another, with the rest of the page</p>");
    assert!(matches!(known.judge(&other), AnswerVerdict::Differs(_)));
    known.widen(&other);
    assert_eq!(known.judge(&other), AnswerVerdict::Right);
}
