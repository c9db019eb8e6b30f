//! The summary of a run: all that the report, the comparison and the tables of the README are made of. One JSON file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Course;
use loadgen::metric::{FAILED, REQUESTS};

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
    /// What a duel found at the user's own rate of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// What a reader must know: departures, things that were missing, doubts.
    pub notes: Vec<String>,
    /// What it is not that METHOD.md wants of a run that is shown: worked out anew each time, and not kept.
    #[serde(skip)]
    pub shortcomings: Vec<String>,
}

/// How a note of a contender begins that says whose allocator was loaded.
pub const ALLOCATED_BY: &str = "memory is allocated by ";

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
    /// Why its figures stand beside those of the others and are compared with none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// What a reader must know of its figures, in sentences.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Over the time of one load: that of the first round that counts.
    #[serde(default, skip_serializing_if = "Course::is_empty")]
    pub course: Course,
}

/// One number of several rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Spread {
    /// The middle one.
    pub median: f64,
    /// The smallest.
    #[serde(skip_serializing)]
    pub low: f64,
    /// The largest.
    #[serde(skip_serializing)]
    pub high: f64,
    /// In the order of the rounds.
    pub all: Vec<f64>,
    /// The rounds' numbers, so that those of one round can be compared; none stands for 1, 2, 3, …
    #[serde(default, skip_serializing_if = "is_plain")]
    pub at: Vec<u32>,
}

/// The same as it stands in a file: its ends follow from its rounds. Files of before have them as well.
#[derive(Deserialize)]
struct Written {
    median: f64,
    #[serde(default)]
    all: Vec<f64>,
    #[serde(default)]
    at: Vec<u32>,
}

impl From<Written> for Spread {
    fn from(Written { median, all, at }: Written) -> Spread {
        let ends = || all.iter().copied().chain(all.is_empty().then_some(median));
        let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max));
        Spread { median, low, high, all, at }
    }
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
    /// A place on the axis of a line plot over rates that is marked, and what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<(f64, String)>,
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

/// A contender that fails more of its requests than this is shown, and neither ranked nor the best of anything; nor is
/// it recommended, and a rate at which it does so is one that it does not carry.
pub const FAILED_SHARE_MAX: f64 = 0.01;

/// The share of requests that got no right answer. What is counted as a request had one.
pub fn failed_share(failed: f64, right: f64) -> f64 {
    if failed > 0.0 { failed / (right + failed) } else { 0.0 }
}

/// Whether that is more than [`FAILED_SHARE_MAX`].
pub fn is_failing(failed: f64, right: f64) -> bool {
    failed_share(failed, right) > FAILED_SHARE_MAX
}

impl Measured {
    /// The share of its requests that got no right answer, over all rounds.
    pub fn failed_share(&self) -> f64 {
        failed_share(self.failed(), self.right())
    }

    /// Requests without a right answer, over all rounds.
    pub fn failed(&self) -> f64 {
        self.sum(FAILED)
    }

    /// Requests with a right answer, over all rounds.
    pub fn right(&self) -> f64 {
        self.sum(REQUESTS)
    }

    fn sum(&self, name: &str) -> f64 {
        self.numbers.get(name).map_or(0.0, |spread| spread.all.iter().sum())
    }
}

impl Case {
    /// The figures of those that can be ranked.
    pub fn figures(&self, metric: &str) -> impl Iterator<Item = (&str, &Spread)> {
        let counting = self.results.iter().filter(|result| self.counts(result));
        counting.filter_map(move |one| Some((one.contender.as_str(), one.numbers.get(metric)?)))
    }

    /// Whether this result can be ranked and be the best of something.
    pub fn counts(&self, result: &Measured) -> bool {
        let is_in = result.disqualified.is_none() && result.not_compared.is_none();
        is_in && (self.is_about_failures || !is_failing(result.failed(), result.right()))
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
    /// Whom: a contender's name, or nobody's.
    #[serde(default)]
    pub contender: String,
    /// One sentence: for this application on this machine, use X with -w A -t B; …
    pub sentence: String,
    /// Why, each with figures.
    pub reasons: Vec<String>,
    /// How sure it is, and what would change it.
    pub uncertainty: Vec<String>,
    /// The command line to start it.
    pub command: String,
    /// The rule by which contenders were told apart for it ([`crate::stats::rule`]); empty in older runs.
    #[serde(default)]
    pub rule: String,
}

/// What a duel found at the user's own rate of requests. The latencies stand in its cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Requests per second.
    pub per_s: f64,
    /// In the mean, where a log tells.
    pub mean_per_s: Option<f64>,
    /// Where the rate comes from.
    pub origin: String,
    /// When something is broken, in words.
    pub broken_when: String,
    /// Processors of the machine.
    pub cores: u32,
    /// All of it in a paragraph.
    pub answer: String,
    /// Of each that was asked at the rate.
    pub carried: Vec<Carried>,
    /// The cases at multiples of the rate, rising.
    pub cases: Vec<String>,
    /// The cases with fewer and fewer processors.
    pub smaller_cases: Vec<String>,
}

/// What a contender carried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// Its name.
    pub contender: String,
    /// At multiples of the rate, rising.
    pub steps: Vec<Step>,
    /// At the rate, with fewer and fewer processors.
    pub smaller: Vec<Step>,
    /// What it takes at the rate; none where it was broken there.
    pub cost: Option<Cost>,
}

/// A load in all rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How many times the rate; or how many processors.
    pub of: u32,
    /// Requests per second.
    pub per_s: f64,
    /// In so many rounds it is known whether it held.
    pub rounds: u32,
    /// In so many of them it was too much, or less was already too much.
    pub broke: u32,
    /// What broke and why, where something did: that of most rounds.
    pub what: String,
}

/// Whether something held, as far as the rounds can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// In all rounds but one of four or more, and in two at least.
    Yes,
    /// Broken in as many.
    No,
    /// The rounds differ, or there was only one.
    Unsure,
}

/// What a rate takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Processors busy.
    pub processors: f64,
    /// At the mean rate, worked out from the time of a request.
    pub processors_mean: Option<f64>,
    /// Seconds of processor time for a million requests.
    pub cpu_s_per_million: f64,
    /// The most memory, MiB.
    pub memory_mib: f64,
    /// The smallest machine that was tried and held.
    pub machine_processors: u32,
    /// Memory of a machine that has room for it.
    pub machine_mib: u64,
}

impl Traffic {
    /// Whether this case is one of it.
    pub fn has(&self, case: &str) -> bool {
        self.cases.iter().chain(&self.smaller_cases).any(|name| name == case)
    }
}

impl Step {
    /// What its rounds tell.
    pub fn held(&self) -> Held {
        let is_told = |against: u32| self.rounds >= 2 && (against == 0 || (against == 1 && self.rounds >= 4));
        match (is_told(self.broke), is_told(self.rounds - self.broke.min(self.rounds))) {
            (true, _) => Held::Yes,
            (_, true) => Held::No,
            _ => Held::Unsure,
        }
    }

    /// Where its rounds do not tell: in how many of them it held.
    pub fn unsure(&self) -> Option<String> {
        let held = self.rounds.saturating_sub(self.broke);
        let rounds = if self.rounds == 1 { "round" } else { "rounds" };
        (self.held() == Held::Unsure).then(|| format!("in {held} of {} {rounds}, not sure", self.rounds))
    }
}

impl Cost {
    /// The machine for people: `one processor and 512 MiB`.
    pub fn machine(&self) -> String {
        let processors = match self.machine_processors {
            1 => "one processor".to_owned(),
            more => format!("{more} processors"),
        };
        match self.machine_mib {
            large if large >= 1024 => format!("{processors} and {} GiB", large / 1024),
            small => format!("{processors} and {small} MiB"),
        }
    }
}

impl Carried {
    /// The highest multiple that the rounds tell it carries.
    pub fn highest(&self) -> Option<&Step> {
        self.steps.iter().take_while(|step| step.held() == Held::Yes).last()
    }

    /// The lowest multiple at which the rounds tell that it breaks.
    pub fn breaks_at(&self) -> Option<&Step> {
        self.steps.iter().find(|step| step.held() == Held::No)
    }

    /// Between the two: the multiples of which the rounds do not tell it, rising.
    pub fn between(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().skip_while(|step| step.held() == Held::Yes).take_while(|step| step.held() != Held::No)
    }

    /// Whether so many times the rate held. What breaks at less breaks at more; of a multiple that was not asked
    /// nothing else is known.
    pub fn holds(&self, times: u32) -> Held {
        let is_broken = self.steps.iter().any(|step| step.of <= times && step.held() == Held::No);
        let asked = self.steps.iter().find(|step| step.of == times);
        if is_broken { Held::No } else { asked.map_or(Held::Unsure, Step::held) }
    }
}
