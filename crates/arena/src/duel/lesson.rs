//! Asks a running server for all answers, several times, and learns of them; and checks later that they are still
//! right.

use std::time::{Duration, Instant};

use crate::measure::QUEUE_LEFT;
use loadgen::process::until;
use loadgen::{Ask, BodyRule, Expect, Workload, is_busy};

use super::asked::Asked;
use super::fetch::{HOST, Unanswered, fetch, fetch_patiently};
use super::learn::{Answer, Learned, Unfit, Verdict};

/// How long one answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How often everything is asked, if that does not take too long.
const PASSES: usize = 5;
/// All passes after the second end by then.
const PASSES_LIMIT: Duration = Duration::from_secs(15);
/// Pages that show the time in seconds differ after this.
const SECOND: Duration = Duration::from_millis(1100);
/// Differences that are told of each contender; the others are counted.
const DIFFERENCES_TOLD: usize = 3;
/// Before a busy server is asked again.
const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// Shorter pieces of a body say too little of it.
const PIECE_BYTES_MIN: usize = 8;

/// A first answer may take so many times as long as one of a server that has answered before.
const FIRST: u32 = 3;
/// After this share of the time a person wants to know what is waited for.
const SLOW: f64 = 0.3;

/// How long an answer may take while nothing is loaded, and who is told when it does.
pub struct Patience<'a> {
    /// Of one answer: what takes longer cannot be asked a thousand times.
    pub limit: Duration,
    /// Hears what is waited for.
    pub tell: &'a mut dyn FnMut(&str),
}

impl Patience<'_> {
    fn fetch(&mut self, port: u16, asked: &Asked, times: u32) -> Result<Answer, Unanswered> {
        let limit = self.limit * times;
        let slow = self.limit.mul_f64(SLOW);
        let mut told = || {
            let asked = asked.in_words();
            let so_far = slow.as_secs_f64();
            let most = limit.as_secs_f64();
            (self.tell)(&format!("{asked} has not been answered for {so_far} s; it is waited for {most} s"));
        };
        fetch_patiently(port, asked, limit, (slow, &mut told))
    }
}

/// What came of learning.
#[derive(Debug, Default)]
pub struct Lesson {
    /// For each request that takes part.
    pub learned: Vec<Learned>,
    /// Those that were left out, with their weight and the reason.
    pub left_out: Vec<(f64, String)>,
}

/// Why nothing was learned.
#[derive(Debug)]
pub enum NoLesson {
    /// This server does not answer: another may.
    Silent(String),
    /// The application hangs: it would with another, too.
    Hangs(String),
    /// The application or the workload is not fit for a duel.
    Unfit(String),
}

/// Learns the right answers from the reference. What is unfit ends it, or is left out where that is allowed.
pub fn from_reference(
    port: u16,
    asked: &[Asked],
    may_leave_out: bool,
    patience: &mut Patience<'_>,
) -> Result<Lesson, NoLesson> {
    let answers = several(port, asked, patience).map_err(|error| match error.is_late {
        true => NoLesson::Hangs(error.words),
        false => NoLesson::Silent(error.words),
    })?;
    let mut lesson = Lesson::default();
    let mut complaints = Vec::new();
    for (one, answers) in asked.iter().zip(answers) {
        match Learned::from_answers(one, &answers) {
            Ok(learned) => lesson.learned.push(learned),
            Err(Unfit::Broken(why) | Unfit::Unsteady(why) | Unfit::Unexpected(why)) => {
                lesson.left_out.push((one.weight, why.clone()));
                complaints.push(why);
            }
        }
    }
    let weight = |weights: &mut dyn Iterator<Item = f64>| weights.sum::<f64>();
    let kept = weight(&mut lesson.learned.iter().map(|one| one.asked.weight));
    let left = weight(&mut lesson.left_out.iter().map(|(weight, _)| *weight));
    if !complaints.is_empty() && (!may_leave_out || kept < left) {
        let more = complaints.len().saturating_sub(DIFFERENCES_TOLD);
        complaints.truncate(DIFFERENCES_TOLD);
        let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
        return Err(NoLesson::Unfit(format!("{}{more}", complaints.join("\n"))));
    }
    Ok(lesson)
}

/// Compares another server's answers, learns its differences, and tells them. An error disqualifies it.
pub fn from_other(port: u16, learned: &mut [Learned], patience: &mut Patience<'_>) -> Result<Vec<String>, String> {
    let asked: Vec<Asked> = learned.iter().map(|one| one.asked.clone()).collect();
    let answers = several(port, &asked, patience).map_err(|error| error.words)?;
    let mut differences = Vec::new();
    for (known, answers) in learned.iter_mut().zip(answers) {
        let mut told = None;
        for answer in answers {
            match known.judge(&answer) {
                Verdict::Right => {}
                Verdict::Wrong(why) => return Err(why),
                Verdict::Differs(how) => {
                    known.widen(&answer);
                    told.get_or_insert(how);
                }
            }
        }
        differences.extend(told);
    }
    Ok(shortened(differences))
}

/// How the answers are now, most frequent paths first, for as long as `limit`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The first one that disqualifies.
    pub wrong: Option<String>,
    /// What changed; it has been learned.
    pub changed: Vec<String>,
    /// How many were asked.
    pub count: usize,
}

/// Asks again. At least one answer is judged. A server that is busy with what a load has left in its queue is waited
/// for.
pub fn check(port: u16, learned: &mut [Learned], limit: Duration) -> Checked {
    let patience_ends = Instant::now() + QUEUE_LEFT;
    let mut end = None;
    let mut checked = Checked::default();
    for known in learned {
        if end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        checked.count += 1;
        let answer = patiently(port, known, patience_ends).map_err(|error| error.words);
        end.get_or_insert_with(|| Instant::now() + limit);
        match answer.map(|answer| (known.judge(&answer), answer)) {
            Ok((Verdict::Right, _)) => {}
            Ok((Verdict::Differs(how), answer)) => {
                known.widen(&answer);
                checked.changed.push(how);
            }
            Ok((Verdict::Wrong(why), _)) | Err(why) => {
                checked.wrong = Some(why);
                break;
            }
        }
    }
    checked
}

fn patiently(port: u16, known: &Learned, patience_ends: Instant) -> Result<Answer, Unanswered> {
    loop {
        let answer = fetch(port, &known.asked, ANSWER_LIMIT);
        let waits = match &answer {
            Ok(answer) => answer.status != known.status && is_busy(answer.status),
            Err(error) => error.is_late,
        };
        if !waits || Instant::now() >= patience_ends {
            return answer;
        }
        until(BUSY_PAUSE, || false);
    }
}

/// Whether it answers at all: what `wait_ready` waits for.
pub fn answers(port: u16, known: &Asked, patience: &mut Patience<'_>) -> Result<(), Unanswered> {
    let answer = patience.fetch(port, known, FIRST)?;
    // A proxy says so while what is behind it still starts.
    if [502, 503, 504].contains(&answer.status) {
        return Err(Unanswered { words: format!("status {}", answer.status), is_late: false });
    }
    Ok(())
}

/// What is asked under load, with as much of the right answer as can be held against every one.
pub fn workload(learned: &[Learned]) -> Result<Workload, String> {
    Workload::of(learned.iter().map(ask).collect())
}

fn ask(known: &Learned) -> Ask {
    let mut headers = known.asked.headers.clone();
    headers.push(("host".to_owned(), HOST.to_owned()));
    Ask {
        method: known.asked.method.clone(),
        path: known.asked.path.clone(),
        headers,
        body: known.asked.body.clone(),
        expect: Expect { status: known.status, body: rule(known) },
        weight: known.asked.weight,
    }
}

fn rule(known: &Learned) -> BodyRule {
    let longest = known.body.longest();
    if known.body.is_exact() {
        return BodyRule::Exactly(longest.to_vec());
    }
    match std::str::from_utf8(longest) {
        Ok(text) if text.len() >= PIECE_BYTES_MIN => BodyRule::Contains(text.to_owned()),
        _ => BodyRule::Any,
    }
}

/// All answers to each, of several passes. The second pass begins more than a second after the first.
fn several(port: u16, asked: &[Asked], patience: &mut Patience<'_>) -> Result<Vec<Vec<Answer>>, Unanswered> {
    let begin = Instant::now();
    let mut answers: Vec<Vec<Answer>> = vec![Vec::new(); asked.len()];
    for pass in 0..PASSES {
        if pass == 1 {
            until(SECOND.saturating_sub(begin.elapsed()), || false);
        }
        if pass > 1 && begin.elapsed() > PASSES_LIMIT {
            break;
        }
        for (one, answers) in asked.iter().zip(&mut answers) {
            answers.push(patience.fetch(port, one, 1)?);
        }
    }
    Ok(answers)
}

/// The first few, and how many more there are.
pub fn shortened(mut list: Vec<String>) -> Vec<String> {
    let more = list.len().saturating_sub(DIFFERENCES_TOLD);
    if more > 0 {
        list.truncate(DIFFERENCES_TOLD);
        list.push(format!("and {more} more"));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(bodies: &[&str]) -> Learned {
        let answer = |body: &&str| Answer { status: 200, body: body.as_bytes().to_vec(), ..Answer::default() };
        let answers: Vec<Answer> = bodies.iter().map(answer).collect();
        Learned::from_answers(&Asked::new("GET", "/a"), &answers).unwrap()
    }

    #[test]
    fn under_load_as_much_is_checked_as_stays() {
        assert!(matches!(rule(&learned(&["one", "one"])), BodyRule::Exactly(body) if body == b"one"));
        let varying = rule(&learned(&["the page says (1)", "the page says (2)"]));
        assert!(matches!(varying, BodyRule::Contains(text) if text == "the page says ("));
        assert!(matches!(rule(&learned(&["1", "2"])), BodyRule::Any));
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
        let port = loadgen::process::free_ports(1).unwrap()[0];
        let mut patience = Patience { limit: SECOND, tell: &mut |_| {} };
        assert!(matches!(
            from_reference(port, &[Asked::new("GET", "/")], false, &mut patience),
            Err(NoLesson::Silent(_))
        ));
        assert!(check(port, &mut [learned(&["x"])], SECOND).wrong.is_some());
        assert!(answers(port, &Asked::new("GET", "/"), &mut patience).is_err());
    }
}
