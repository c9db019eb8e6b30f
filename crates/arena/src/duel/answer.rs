//! Knowledge of the right answers: learned from several answers of the reference server, and widened by those of the
//! other contenders. What stays the same is compared in every later answer; what varies is not. Only another status or
//! another kind of body disqualifies a contender. Pure; `fetch` sends the requests.

use super::glob::Glob;
use super::kind::Kind;
use super::request::DuelRequest;

/// The parts of a response that are judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Content type, as sent.
    pub content_type: String,
    /// Value of the `Location` header; empty without one.
    pub location: String,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Knowledge of the right answer to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownAnswer {
    /// The request that is answered.
    pub asked: DuelRequest,
    /// Status of a right answer.
    pub status: u16,
    /// Kind of body of a right answer.
    pub kind: Kind,
    /// Parts of the body that stay the same.
    pub body: Glob,
    /// Parts of the redirect's `Location` that stay the same.
    pub location: Glob,
    /// Bytes of the shortest and of the longest body seen.
    pub lengths: (usize, usize),
}

/// Result of comparing an answer with what was learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerVerdict {
    /// Everything that stays the same is there.
    Right,
    /// Right status and kind, but other content; the difference is reported and learned.
    Differs(String),
    /// Another status, or another kind of body; it disqualifies.
    Wrong(String),
}

impl KnownAnswer {
    /// Learns from several answers of the reference server. An error is a reason why the request cannot be part of a
    /// duel: an application that fails, whose error page would be measured; answers without a common status or kind; a
    /// status that is not the one that the user or the log gives.
    pub fn from_answers(asked: &DuelRequest, answers: &[Answer]) -> Result<KnownAnswer, String> {
        let words = asked.in_words();
        let Some(first) = answers.first() else { return Err(format!("{words} was never answered")) };
        if let Some(fault) = answers.iter().find(|answer| answer.status >= 500) {
            return Err(format!("{words} is answered with {}", fault.status));
        }
        if let Some(wanted) = asked.status.filter(|wanted| *wanted != first.status) {
            return Err(format!("{words} is answered with {}, not with {wanted}", in_words(first)));
        }
        let kind = kind(first);
        let mut learned = KnownAnswer {
            asked: asked.clone(),
            status: first.status,
            kind,
            body: Glob::of(&first.body),
            location: Glob::of(first.location.as_bytes()),
            lengths: (first.body.len(), first.body.len()),
        };
        for answer in &answers[1..] {
            if let AnswerVerdict::Wrong(_) = learned.judge(answer) {
                let (one, other) = (in_words(first), in_words(answer));
                return Err(format!("{words} is answered now with {one}, now with {other}"));
            }
            learned.widen(answer);
        }
        Ok(learned)
    }

    /// Compares this answer with what was learned.
    pub fn judge(&self, answer: &Answer) -> AnswerVerdict {
        let words = self.asked.in_words();
        let found = kind(answer);
        if answer.status != self.status || found != self.kind {
            let wanted = format!("{} and {}", self.status, self.kind.in_words());
            let found = in_words(answer);
            return AnswerVerdict::Wrong(format!(
                "{words} is answered with {found}, not with {wanted}: {}",
                start(answer)
            ));
        }
        if !self.location.matches(answer.location.as_bytes()) {
            return AnswerVerdict::Differs(format!("{words} leads to {}", answer.location.escape_debug()));
        }
        if !self.body.matches(&answer.body) {
            let length = answer.body.len();
            let at = self.body.before_first_difference(&answer.body);
            return AnswerVerdict::Differs(format!("{words}: {length} bytes, which differ after `{at}`"));
        }
        if !self.is_of_usual_length(answer.body.len()) {
            let (length, (low, high)) = (answer.body.len(), self.lengths);
            return AnswerVerdict::Differs(format!("{words}: {length} bytes, where {low} to {high} are usual"));
        }
        AnswerVerdict::Right
    }

    /// Learns that this answer is right, too. Its status and kind must be right.
    pub fn widen(&mut self, answer: &Answer) {
        self.body.widen(&answer.body);
        self.location.widen(answer.location.as_bytes());
        let length = answer.body.len();
        self.lengths = (self.lengths.0.min(length), self.lengths.1.max(length));
    }

    /// Whether so little of the body stays the same that a wrong page could pass.
    pub fn is_loose(&self) -> bool {
        !self.body.is_exact() && self.body.fixed_bytes() * 2 < self.lengths.0
    }

    /// Describes what is checked: status, redirect, kind, length and the places that vary.
    pub fn in_words(&self) -> String {
        let words = self.asked.in_words();
        let status = self.status;
        let kind = self.kind.in_words();
        let (low, high) = self.lengths;
        let body = if self.kind == Kind::Empty {
            "no body".to_owned()
        } else if self.body.is_exact() {
            format!("{kind}, all {low} bytes")
        } else if self.body.fixed_bytes() == 0 {
            format!("{kind} of about {low} to {high} bytes; its content varies and is not checked")
        } else {
            let places = match self.body.gaps() {
                1 => "one place that varies".to_owned(),
                gaps => format!("{gaps} places that vary"),
            };
            let share = (self.body.fixed_bytes() * 100 / low.max(1)).min(100);
            let at = self.body.before_first_gap();
            let length = if low == high { low.to_string() } else { format!("{low} to {high}") };
            format!("{kind}, {share} % of {length} bytes; {places}, the first after `{at}`")
        };
        let location = match (self.location.is_exact(), self.location.fixed_bytes()) {
            (true, 0) => String::new(),
            (true, _) => format!(", to {}", String::from_utf8_lossy(self.location.longest()).escape_debug()),
            (false, _) => format!(", to {}…", self.location.before_first_gap()),
        };
        format!("{words}: {status}{location}, {body}")
    }

    /// Whether the length is within a quarter of what was seen, plus 64 bytes for short bodies.
    fn is_of_usual_length(&self, length: usize) -> bool {
        let (low, high) = self.lengths;
        self.body.is_exact() || (length + low / 4 + 64 >= low && length <= high + high / 4 + 64)
    }
}

fn kind(answer: &Answer) -> Kind {
    Kind::of(&answer.content_type, &answer.body)
}

fn in_words(answer: &Answer) -> String {
    format!("{} and {}", answer.status, kind(answer).in_words())
}

/// Start of the body in one line, for messages.
fn start(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(answer.body.get(..200).unwrap_or(&answer.body)).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    super::request::shortened(&words.join(" "))
}

#[cfg(test)]
impl KnownAnswer {
    /// What is learned of one path from answers with these bodies.
    pub(super) fn of_bodies(method: &str, bodies: &[&str]) -> KnownAnswer {
        let answer = |body: &&str| Answer { status: 200, body: body.as_bytes().to_vec(), ..Answer::default() };
        let answers: Vec<Answer> = bodies.iter().map(answer).collect();
        KnownAnswer::from_answers(&DuelRequest::new(method, "/a"), &answers).unwrap()
    }
}

#[cfg(test)]
#[path = "answer_test.rs"]
mod tests;
