//! Which answers are right: learned from one server, the reference, by asking several times, and completed by the
//! others. What stays is held against every later answer; what varies is not. Nobody is disqualified for a difference
//! in what varies: only for another status, or a body of another kind. Pure; `fetch` does the asking.

use super::asked::Asked;
use super::glob::Glob;
use super::kind::Kind;

/// One answer, as far as it is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its content type, as sent.
    pub content_type: String,
    /// Where a redirect leads.
    pub location: String,
    /// All of it.
    pub body: Vec<u8>,
}

/// What is known of the right answer to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// The request.
    pub asked: Asked,
    /// The status that counts as right.
    pub status: u16,
    /// The kind of body that counts as right.
    pub kind: Kind,
    /// What stays of the body.
    pub body: Glob,
    /// What stays of where a redirect leads.
    pub location: Glob,
    /// The shortest and the longest body that was seen.
    pub lengths: (usize, usize),
}

/// Why a request cannot be part of a duel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// The application fails: the duel would measure its error page.
    Broken(String),
    /// Its answers have no common status or kind.
    Unsteady(String),
    /// It is answered otherwise than the user or the log says.
    Unexpected(String),
}

/// How an answer compares with what was learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All that stays is there.
    Right,
    /// Right status and kind, another content: told, and learned.
    Differs(String),
    /// Another status, or a body of another kind: it disqualifies.
    Wrong(String),
}

impl Learned {
    /// From several answers of the reference.
    pub fn from_answers(asked: &Asked, answers: &[Answer]) -> Result<Learned, Unfit> {
        let words = asked.in_words();
        let Some(first) = answers.first() else { return Err(Unfit::Unsteady(format!("{words} was never answered"))) };
        if let Some(fault) = answers.iter().find(|answer| answer.status >= 500) {
            return Err(Unfit::Broken(format!("{words} is answered with {}", fault.status)));
        }
        if let Some(wanted) = asked.status.filter(|wanted| *wanted != first.status) {
            return Err(Unfit::Unexpected(format!("{words} is answered with {}, not with {wanted}", in_words(first))));
        }
        let kind = kind(first);
        let mut learned = Learned {
            asked: asked.clone(),
            status: first.status,
            kind,
            body: Glob::of(&first.body),
            location: Glob::of(first.location.as_bytes()),
            lengths: (first.body.len(), first.body.len()),
        };
        for answer in &answers[1..] {
            if let Verdict::Wrong(_) = learned.judge(answer) {
                let (one, other) = (in_words(first), in_words(answer));
                return Err(Unfit::Unsteady(format!("{words} is answered now with {one}, now with {other}")));
            }
            learned.widen(answer);
        }
        Ok(learned)
    }

    /// How this answer compares.
    pub fn judge(&self, answer: &Answer) -> Verdict {
        let words = self.asked.in_words();
        let found = kind(answer);
        if answer.status != self.status || found != self.kind {
            let wanted = format!("{} and {}", self.status, self.kind.in_words());
            let found = in_words(answer);
            return Verdict::Wrong(format!("{words} is answered with {found}, not with {wanted}: {}", start(answer)));
        }
        if !self.location.matches(answer.location.as_bytes()) {
            return Verdict::Differs(format!("{words} leads to {}", answer.location.escape_debug()));
        }
        if !self.body.matches(&answer.body) {
            let length = answer.body.len();
            let at = self.body.before_first_difference(&answer.body);
            return Verdict::Differs(format!("{words}: {length} bytes, which differ after `{at}`"));
        }
        if !self.is_of_usual_length(answer.body.len()) {
            let (length, (low, high)) = (answer.body.len(), self.lengths);
            return Verdict::Differs(format!("{words}: {length} bytes, where {low} to {high} are usual"));
        }
        Verdict::Right
    }

    /// Learns that this answer is right, too. Its status and kind must be.
    pub fn widen(&mut self, answer: &Answer) {
        self.body.widen(&answer.body);
        self.location.widen(answer.location.as_bytes());
        let length = answer.body.len();
        self.lengths = (self.lengths.0.min(length), self.lengths.1.max(length));
    }

    /// Whether so little stays that a wrong page could pass.
    pub fn is_loose(&self) -> bool {
        !self.body.is_exact() && self.body.fixed_bytes() * 2 < self.lengths.0
    }

    /// What is checked, for people.
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

    /// A quarter to either side of what was seen, and some bytes for short ones.
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

/// How it begins, on one line.
fn start(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(answer.body.get(..200).unwrap_or(&answer.body)).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    super::asked::shortened(&words.join(" "))
}

#[cfg(test)]
#[path = "learn_test.rs"]
mod tests;
