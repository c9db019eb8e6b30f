//! Differences between the responses of two engines. Each is asked twice: what changes between two responses of one
//! engine (a time, a token, a counter) is no difference between the engines.

use std::collections::BTreeSet;

use super::answer::{Answer, Content, KEPT_MAX};

/// Headers that change with each response, or would in a longer test.
const ALWAYS: [&str; 4] = ["date", "x-runtime", "x-request-id", "server-timing"];

/// Outcome of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Texts about real differences.
    pub real: Vec<String>,
    /// Parts that change each time and were not compared: names of headers, `body`, `status`.
    pub changing: Vec<String>,
    /// Whether status or body differ, and Ruby's response is no server error.
    pub another_answer: bool,
}

/// Compares two responses of each engine to the same path; the same one twice if there was no second request.
pub fn between(here: [&Answer; 2], there: [&Answer; 2]) -> Difference {
    let mut found = Difference::default();
    if here[0].status != here[1].status || there[0].status != there[1].status {
        found.changing.push("status".to_owned());
    } else if here[0].status != there[0].status {
        found.real.push(format!("status {} there", there[0].status));
    }
    let another_status = !found.real.is_empty();
    headers(here, there, &mut found);
    let before = found.real.len();
    body(here.map(|answer| &answer.body), there.map(|answer| &answer.body), &mut found);
    found.another_answer = (another_status || found.real.len() > before) && there[0].status < 500;
    found
}

fn headers(here: [&Answer; 2], there: [&Answer; 2], found: &mut Difference) {
    let all = here.iter().chain(&there).flat_map(|answer| &answer.headers);
    let names: BTreeSet<&str> = all.map(|(name, _)| name.as_str()).collect();
    let mut differing = Vec::new();
    for name in names {
        let (ours, theirs) = (here.map(|answer| values(answer, name)), there.map(|answer| values(answer, name)));
        if ours[0] == theirs[0] {
            continue;
        }
        let changes = ours[0] != ours[1] || theirs[0] != theirs[1] || ALWAYS.contains(&name);
        if !changes || keys(&ours[0]) != keys(&theirs[0]) {
            differing.push(name.to_owned());
        } else {
            found.changing.push(name.to_owned());
        }
    }
    if !differing.is_empty() {
        found.real.push(format!("other headers there: {}", differing.join(", ")));
    }
}

fn values<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    answer.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
}

/// The stable part of changing values: their number, and the names of cookies.
fn keys<'a>(values: &[&'a str]) -> Vec<Option<&'a str>> {
    values.iter().map(|value| value.split_once('=').map(|(key, _)| key)).collect()
}

fn body(here: [&Content; 2], there: [&Content; 2], found: &mut Difference) {
    if here[0].is_like(there[0]) || here[1].is_like(there[1]) {
        return;
    }
    match (here[0].is_like(here[1]), there[0].is_like(there[1])) {
        (true, true) => {
            let same = here[0].bytes.iter().zip(&there[0].bytes).take_while(|(one, two)| one == two).count();
            let from =
                if same == KEPT_MAX { format!("somewhere after byte {same}") } else { format!("from byte {same} on") };
            found.real.push(format!("another body there ({}), {from}", there[0].size()));
        }
        (true, false) => found.real.push("the body changes with each answer there, and not here".to_owned()),
        (false, true) => found.real.push("the body changes with each answer here, and not there".to_owned()),
        (false, false) => match line(here.map(|body| &*body.bytes), there.map(|body| &*body.bytes)) {
            Some(line) => found.real.push(format!("another body there, at line {line}")),
            None => found.changing.push("body".to_owned()),
        },
    }
}

/// The first line that is the same in both responses of each engine, but differs between the engines. `None` if the
/// number of lines changes, since lines cannot be matched then.
fn line(here: [&[u8]; 2], there: [&[u8]; 2]) -> Option<usize> {
    let is_end = |byte: &u8| *byte == b'\n';
    let lines = |body: &[u8]| body.split(is_end).count();
    let count = lines(here[0]);
    if [here[1], there[0], there[1]].iter().any(|body| lines(body) != count) {
        return None;
    }
    let [mut a, mut b, mut c, mut d] = [here[0], here[1], there[0], there[1]].map(|body| body.split(is_end));
    (1..=count).find(|_| {
        let (a, b, c, d) = (a.next(), b.next(), c.next(), d.next());
        a == b && c == d && a != c
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Answer { status, headers, body: Content::of(body.as_bytes().to_vec(), None) }
    }

    fn once(here: &Answer, there: &Answer) -> Vec<String> {
        between([here, here], [there, there]).real
    }

    #[test]
    fn all_differences_are_named() {
        let one = answer(200, &[("x", "1")], "gold");
        assert_eq!(once(&one, &one), [""; 0]);
        assert_eq!(once(&one, &answer(404, &[("x", "1")], "gold")), ["status 404 there"]);
        let words = ["other headers there: x, y", "another body there (5 bytes), from byte 3 on"];
        assert_eq!(once(&one, &answer(200, &[("x", "2"), ("y", "1")], "golly")), words);
    }

    #[test]
    fn another_answer_is_told_from_other_headers_and_from_an_error_there() {
        let is_another = |there: &Answer| {
            let here = answer(200, &[("x", "1")], "gold");
            between([&here, &here], [there, there]).another_answer
        };
        assert!(is_another(&answer(200, &[("x", "1")], "fool")));
        assert!(is_another(&answer(404, &[("x", "1")], "gold")));
        assert!(!is_another(&answer(200, &[("x", "2")], "gold")));
        assert!(!is_another(&answer(500, &[], "an error")));
    }

    #[test]
    fn what_changes_with_each_answer_is_no_difference() {
        let say = |time: &str, cookie: &str, word: &str| {
            answer(200, &[("set-cookie", cookie), ("x-t", time)], &format!("<p>\n{time}\n{word}"))
        };
        let (ours, again) = (say("1", "s=1", "gold"), say("2", "s=2", "gold"));
        let there = say("3", "s=3", "gold");
        let found = between([&ours, &again], [&there, &say("4", "s=4", "gold")]);
        assert_eq!(found.real, [""; 0]);
        assert_eq!(found.changing, ["set-cookie", "x-t", "body"]);
        let found = between([&ours, &again], [&say("3", "t=3", "tin"), &say("4", "t=4", "tin")]);
        assert_eq!(found.real, ["other headers there: set-cookie", "another body there, at line 3"]);
        let found = between([&ours, &again], [&there, &there]);
        assert_eq!(found.real, ["the body changes with each answer here, and not there"]);
        let known = |value| answer(200, &[("x-runtime", value)], "");
        assert_eq!(once(&known("1"), &known("2")), [""; 0]);
    }
}
