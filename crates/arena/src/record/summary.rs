//! The summary of a run: all that the report, the comparison and the tables of the README are made of. One JSON file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Course;
use crate::metric::FAILED;

/// The format that this program writes. An older or newer one is refused with a clear error.
pub const FORMAT: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// The name of the study's recipe, or `duel`.
    pub study: String,
    /// Its title.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// Where it comes from and how it differs from the original, in sentences.
    pub about: Vec<String>,
    /// Whether this was the quick form, whose figures are not to be believed.
    pub is_quick: bool,
    /// RFC 3339.
    pub started: String,
    /// Seconds.
    pub took_s: f64,
    /// How many rounds were wanted.
    pub rounds: u32,
    /// The command line.
    pub command: String,
    /// Facts of the machine and versions of tools, in order: ("processor", "2 x Intel …").
    pub machine: Vec<(String, String)>,
    /// Who took part or should have.
    pub contenders: Vec<Who>,
    /// Which of them was measured twice, as if it were two: what the run tells apart there is no difference. None in
    /// runs of one round, and in older ones.
    #[serde(default)]
    pub twin_of: Option<String>,
    /// What was measured.
    pub cases: Vec<Case>,
    /// Which pictures show it.
    pub plots: Vec<Plot>,
    /// Who is best for what.
    pub verdicts: Vec<Verdict>,
    /// The recommendation of a duel.
    pub advice: Option<Advice>,
    /// What a reader must know: departures, things that were missing, doubts.
    pub notes: Vec<String>,
}

/// A contender.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Who {
    /// Of the recipe; in a duel with the settings: `puma -w 2 -t 5`.
    pub name: String,
    /// For people.
    pub title: String,
    /// As the program itself says.
    pub version: String,
    /// The Ruby it runs on, or `mruby inside`.
    pub ruby: String,
    /// What is missing, and how to get it. Empty when it took part.
    pub missing: Vec<String>,
    /// What was asked for.
    pub workers: u32,
    /// Threads of each worker.
    pub threads: u32,
    /// What was counted while it ran: processes that serve.
    pub counted_workers: Option<u32>,
    /// Threads that serve, of all of them together.
    pub counted_threads: Option<u32>,
    /// Its command lines and generated files.
    pub commands: Vec<String>,
    /// What it cannot do, and what was different for it.
    pub notes: Vec<String>,
}

/// One thing that was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// In the study.
    pub name: String,
    /// For people.
    pub title: String,
    /// What was done: tool and path.
    pub what: String,
    /// Which metrics are shown, most important first. The first one ranks.
    pub metrics: Vec<String>,
    /// A place on the axis of a line plot, such as the number of users.
    pub x: Option<f64>,
    /// By contender.
    pub results: Vec<Measured>,
    /// What the original study published for it, by the server's name there.
    pub published: Vec<Published>,
    /// Best first; those in one group are not told apart from its first one.
    pub ranking: Vec<Vec<String>>,
    /// What the twin of [`Summary::twin_of`] did: neither ranked nor compared with others.
    #[serde(default)]
    pub twin: Option<Measured>,
    /// Whether failing is what it is about, so that failures do not keep a contender out of the ranking.
    #[serde(default)]
    pub is_about_failures: bool,
}

/// What a contender did in a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Its name.
    pub contender: String,
    /// By metric.
    pub numbers: BTreeMap<String, Spread>,
    /// By kind, of all rounds.
    pub errors: BTreeMap<String, u64>,
    /// Why it is not ranked.
    pub disqualified: Option<String>,
    /// What a reader must know of its figures, in sentences.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Over the time of one load: that of the first round that counts.
    #[serde(default, skip_serializing_if = "Course::is_empty")]
    pub course: Course,
}

/// One number of several rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle one.
    pub median: f64,
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// In the order of the rounds.
    pub all: Vec<f64>,
    /// The rounds' numbers, so that those of one round can be compared; none stands for 1, 2, 3, …
    #[serde(default, skip_serializing_if = "is_plain")]
    pub at: Vec<u32>,
}

fn is_plain(rounds: &[u32]) -> bool {
    rounds.iter().copied().eq(1..=rounds.len() as u32)
}

/// Figures of the original study.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Its name there.
    pub server: String,
    /// The contender that stands in its place today, if there is one.
    #[serde(default)]
    pub contender: Option<String>,
    /// By metric.
    pub numbers: BTreeMap<String, f64>,
}

/// A picture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// For people.
    pub title: String,
    /// How it is drawn.
    pub kind: PlotKind,
    /// What is shown.
    pub metric: String,
    /// The cases, in order: groups of bars, or points of lines.
    pub cases: Vec<String>,
    /// What the places of a line plot are: "users".
    pub x_title: String,
    /// Whether both axes grow by factors.
    pub is_log: bool,
}

/// How a picture is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// A bar with its spread for each contender.
    #[default]
    Bars,
    /// A line for each contender over the places of its cases.
    Lines,
}

/// A contender that fails more of its requests than this is shown, and neither ranked nor the best of anything.
pub const FAILED_SHARE_MAX: f64 = 0.01;

impl Measured {
    /// The share of its requests that got no right answer, over all rounds.
    pub fn failed_share(&self) -> f64 {
        let sum = |name: &str| self.numbers.get(name).map_or(0.0, |spread| spread.all.iter().sum::<f64>());
        let (failed, requests) = (sum(FAILED), sum("requests"));
        // What is counted as a request had a right answer.
        if failed > 0.0 { failed / (requests + failed) } else { 0.0 }
    }
}

impl Case {
    /// Whether this result can be ranked and be the best of something.
    pub fn counts(&self, result: &Measured) -> bool {
        result.disqualified.is_none() && (self.is_about_failures || result.failed_share() <= FAILED_SHARE_MAX)
    }
}

impl Published {
    /// Whether this contender stands in its place today.
    pub fn is_of(&self, contender: &str) -> bool {
        self.contender.as_deref().unwrap_or(&self.server) == contender
    }
}

/// Who is best for one use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// "waiting on other services".
    pub use_case: String,
    /// Best first, level ones together.
    pub winners: Vec<String>,
    /// The figures that say so.
    pub why: String,
    /// Who won in the original study, if it said.
    pub published: String,
}

/// What a duel recommends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// One sentence: for this application on this machine, use X with -w A -t B; …
    pub sentence: String,
    /// Why, each with figures.
    pub reasons: Vec<String>,
    /// How sure it is, and what would change it.
    pub uncertainty: Vec<String>,
    /// The command line to start it.
    pub command: String,
}
