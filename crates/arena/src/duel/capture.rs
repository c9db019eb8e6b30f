//! Captures the answers of a running server: asks for each request several times and learns what stays the same; checks
//! later that the answers are still right.

use std::time::{Duration, Instant};

use crate::measure::QUEUE_LEFT;
use loadgen::process::until;
use loadgen::{Ask, BodyRule, Expect, Known, SEARCHED_BYTES, Workload, is_busy};

use super::answer::{Answer, AnswerVerdict, KnownAnswer};
use super::fetch::{Unanswered, fetch, fetch_with_notice, sent};
use super::plan::DuelPlan;
use super::request::DuelRequest;

/// Timeout of one answer in a check.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Number of passes over all requests in which answers are learned, if they do not take too long.
const PASSES: usize = 5;
/// Time since the beginning of the first pass after which no third or later pass begins.
const PASSES_LIMIT: Duration = Duration::from_secs(15);
/// Differences that are listed for each contender; the rest is counted.
const DIFFERENCES_LISTED: usize = 3;
/// Pause before a busy server is asked again.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// Shortest piece of a body that is searched for under load; shorter ones prove too little.
const PIECE_BYTES_MIN: usize = 8;

/// Factor by which the timeout of a server's first answer is longer.
const FIRST: u32 = 3;
/// Share of the timeout after which the user is notified of the wait.
const SLOW: f64 = 0.3;

/// Timeout of an answer while there is no load, and the receiver of messages about slow ones.
pub struct AnswerTimeout<'a> {
    /// Timeout of one answer: a request that takes longer cannot be repeated a thousand times.
    pub limit: Duration,
    /// Pause between two passes over all requests.
    pub apart: Duration,
    /// Receives messages about what is waited for.
    pub tell: &'a mut dyn FnMut(&str),
}

impl<'a> AnswerTimeout<'a> {
    /// Timeout and pause of a duel's plan.
    pub fn of(plan: &DuelPlan, tell: &'a mut dyn FnMut(&str)) -> AnswerTimeout<'a> {
        let [limit, apart] = [plan.answer_s, plan.apart_s].map(Duration::from_secs_f64);
        AnswerTimeout { limit, apart, tell }
    }

    fn fetch(&mut self, port: u16, asked: &DuelRequest, times: u32) -> Result<Answer, Unanswered> {
        let limit = self.limit * times;
        let slow = self.limit.mul_f64(SLOW);
        let mut notice = || {
            let asked = asked.in_words();
            let so_far = slow.as_secs_f64();
            let most = limit.as_secs_f64();
            (self.tell)(&format!("{asked} has not been answered for {so_far} s; it is waited for {most} s"));
        };
        fetch_with_notice(port, asked, limit, (slow, &mut notice))
    }
}

/// Answers captured from the reference server.
#[derive(Debug, Default)]
pub struct Capture {
    /// What was learned, for each request that takes part.
    pub learned: Vec<KnownAnswer>,
    /// Requests that were left out, by weight and reason.
    pub left_out: Vec<(f64, String)>,
}

/// Reason why no answers were captured.
#[derive(Debug)]
pub enum CaptureError {
    /// This server does not answer; another one may.
    Silent(String),
    /// The application takes a request and does not answer it; it would do so on another server, too.
    Hangs(String),
    /// The application or the workload cannot be used for a duel.
    Unfit(String),
}

/// Captures the right answers from the reference server. An unfit request is an error, or is left out where that is
/// allowed and most of the weight remains.
pub fn from_reference(
    port: u16,
    asked: &[DuelRequest],
    may_leave_out: bool,
    timeout: &mut AnswerTimeout<'_>,
) -> Result<Capture, CaptureError> {
    let answers = several(port, asked, timeout).map_err(|error| match error.is_late {
        true => CaptureError::Hangs(error.words),
        false => CaptureError::Silent(error.words),
    })?;
    let mut capture = Capture::default();
    for (one, answers) in asked.iter().zip(answers) {
        match KnownAnswer::from_answers(one, &answers) {
            Ok(learned) => capture.learned.push(learned),
            Err(why) => capture.left_out.push((one.weight, why)),
        }
    }
    let kept: f64 = capture.learned.iter().map(|one| one.asked.weight).sum();
    let left: f64 = capture.left_out.iter().map(|(weight, _)| weight).sum();
    if !capture.left_out.is_empty() && (!may_leave_out || kept < left) {
        let complaints = capture.left_out.into_iter().map(|(_, why)| why).collect();
        return Err(CaptureError::Unfit(shortened(complaints).join("\n")));
    }
    Ok(capture)
}

/// Compares another server's answers with the learned ones, learns the differences, and returns them as sentences. An
/// error disqualifies the server.
pub fn from_other(
    port: u16,
    learned: &mut [KnownAnswer],
    timeout: &mut AnswerTimeout<'_>,
) -> Result<Vec<String>, String> {
    let asked: Vec<DuelRequest> = learned.iter().map(|one| one.asked.clone()).collect();
    let answers = several(port, &asked, timeout).map_err(|error| error.words)?;
    let mut differences = Vec::new();
    for (known, answers) in learned.iter_mut().zip(answers) {
        let mut difference = None;
        for answer in answers {
            match known.judge(&answer) {
                AnswerVerdict::Right => {}
                AnswerVerdict::Wrong(why) => return Err(why),
                AnswerVerdict::Differs(how) => {
                    known.widen(&answer);
                    difference.get_or_insert(how);
                }
            }
        }
        differences.extend(difference);
    }
    Ok(shortened(differences))
}

/// Result of a check of the answers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Reason of the first wrong answer, which disqualifies.
    pub wrong: Option<String>,
    /// Differences, as sentences; they have been learned.
    pub changed: Vec<String>,
    /// Number of requests that were checked.
    pub count: usize,
}

/// Checks the answers again, the most frequent paths first, until `limit` is over; at least one is judged. Waits for a
/// server that is still busy with its queue from a load.
pub fn check(port: u16, learned: &mut [KnownAnswer], limit: Duration) -> Checked {
    let retry_until = Instant::now() + QUEUE_LEFT;
    let mut end = None;
    let mut checked = Checked::default();
    for known in learned {
        if end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        checked.count += 1;
        let answer = fetch_when_free(port, known, retry_until).map_err(|error| error.words);
        end.get_or_insert_with(|| Instant::now() + limit);
        match answer.map(|answer| (known.judge(&answer), answer)) {
            Ok((AnswerVerdict::Right, _)) => {}
            Ok((AnswerVerdict::Differs(how), answer)) => {
                known.widen(&answer);
                checked.changed.push(how);
            }
            Ok((AnswerVerdict::Wrong(why), _)) | Err(why) => {
                checked.wrong = Some(why);
                break;
            }
        }
    }
    checked
}

fn fetch_when_free(port: u16, known: &KnownAnswer, retry_until: Instant) -> Result<Answer, Unanswered> {
    loop {
        let answer = fetch(port, &known.asked, ANSWER_LIMIT);
        let waits = match &answer {
            Ok(answer) => answer.status != known.status && is_busy(answer.status),
            Err(error) => error.is_late,
        };
        if !waits || Instant::now() >= retry_until {
            return answer;
        }
        until(BUSY_PAUSE, || false);
    }
}

/// Whether the server answers at all; used as the condition of `when_ready`.
pub fn answers(port: u16, known: &DuelRequest, timeout: &mut AnswerTimeout<'_>) -> Result<(), Unanswered> {
    let answer = timeout.fetch(port, known, FIRST)?;
    // A proxy answers with these while the server behind it still starts.
    if [502, 503, 504].contains(&answer.status) {
        return Err(Unanswered { words: format!("status {}", answer.status), is_late: false });
    }
    Ok(())
}

/// Workload for a load generator, with the parts of the right answers that every answer is checked against.
pub fn workload(learned: &[KnownAnswer]) -> Result<Workload, String> {
    Workload::of(learned.iter().map(ask).collect())
}

fn ask(known: &KnownAnswer) -> Ask {
    let expect = Expect { status: known.status, body: rule(known), known: Known::default() };
    Ask { expect, ..sent(&known.asked) }
}

fn rule(known: &KnownAnswer) -> BodyRule {
    let longest = known.body.longest();
    if known.body.is_exact() {
        return BodyRule::Exactly(longest.to_vec());
    }
    // A load searches only the beginning of a long body, and a body may be longer than those that were learned.
    let is_all_searched = known.lengths.1 <= SEARCHED_BYTES / 2;
    let piece = if is_all_searched { longest } else { beginning(known.body.start()) };
    match std::str::from_utf8(piece) {
        Ok(text) if text.len() >= PIECE_BYTES_MIN => BodyRule::Contains(text.to_owned()),
        _ => BodyRule::Any,
    }
}

/// The part of a body's first piece that is searched for in answers under load, without a character that is cut in two.
fn beginning(piece: &[u8]) -> &[u8] {
    let cut = &piece[..piece.len().min(SEARCHED_BYTES)];
    cut.utf8_chunks().next().map_or(&[], |chunk| chunk.valid().as_bytes())
}

/// Answers of several passes, by request. The second pass begins a while after the first.
fn several(port: u16, asked: &[DuelRequest], timeout: &mut AnswerTimeout<'_>) -> Result<Vec<Vec<Answer>>, Unanswered> {
    let begin = Instant::now();
    let mut answers: Vec<Vec<Answer>> = vec![Vec::new(); asked.len()];
    for pass in 0..PASSES {
        if pass == 1 {
            until(timeout.apart.saturating_sub(begin.elapsed()), || false);
        }
        if pass > 1 && begin.elapsed() > PASSES_LIMIT {
            break;
        }
        for (one, answers) in asked.iter().zip(&mut answers) {
            answers.push(timeout.fetch(port, one, 1)?);
        }
    }
    Ok(answers)
}

/// The first few entries of a list, and the number of the others.
pub fn shortened(mut list: Vec<String>) -> Vec<String> {
    let more = list.len().saturating_sub(DIFFERENCES_LISTED);
    if more > 0 {
        list.truncate(DIFFERENCES_LISTED);
        list.push(format!("and {more} more"));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(bodies: &[&str]) -> KnownAnswer {
        KnownAnswer::of_bodies("GET", bodies)
    }

    #[test]
    fn under_load_as_much_is_checked_as_stays() {
        assert!(matches!(rule(&learned(&["one", "one"])), BodyRule::Exactly(body) if body == b"one"));
        let varying = rule(&learned(&["the page says (1)", "the page says (2)"]));
        assert!(matches!(varying, BodyRule::Contains(text) if text == "the page says ("));
        assert!(matches!(rule(&learned(&["1", "2"])), BodyRule::Any));
        // Most of it lies beyond the part that a load searches.
        let long = |number: u32| format!("the page says ({number}) {}", "x".repeat(SEARCHED_BYTES));
        let start = rule(&learned(&[&long(1), &long(2)]));
        assert!(matches!(start, BodyRule::Contains(text) if text == "the page says ("));
        assert_eq!(beginning(&"é".repeat(SEARCHED_BYTES).as_bytes()[1..]), b"");
        assert_eq!(beginning(format!("x{}", "é".repeat(SEARCHED_BYTES)).as_bytes()).len(), SEARCHED_BYTES - 1);
        let ask = ask(&learned(&["one"]));
        assert_eq!(ask.headers, [("host".to_owned(), "localhost".to_owned())]);
        assert!(workload(&[]).is_err() && workload(&[learned(&["x"])]).is_ok());
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let list: Vec<String> = (0..5).map(|n| n.to_string()).collect();
        assert_eq!(shortened(list).last().unwrap(), "and 2 more");
        assert_eq!(shortened(vec!["a".into()]), ["a"]);
    }

    #[test]
    fn nobody_there_is_told() {
        // A port that was free a moment ago.
        let port = loadgen::process::free_ports(1).unwrap().numbers[0];
        let mut timeout = AnswerTimeout { limit: Duration::from_secs(1), apart: Duration::ZERO, tell: &mut |_| {} };
        assert!(matches!(
            from_reference(port, &[DuelRequest::new("GET", "/")], false, &mut timeout),
            Err(CaptureError::Silent(_))
        ));
        assert!(check(port, &mut [learned(&["x"])], Duration::from_secs(1)).wrong.is_some());
        assert!(answers(port, &DuelRequest::new("GET", "/"), &mut timeout).is_err());
    }
}
