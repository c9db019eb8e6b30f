//! The summary of a run, from which the report, the comparison and the tables of the README are made. One JSON file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Course, TWIN, machine};
use loadgen::metric::{
    CHECKED, CHECKED_FAILED_PPM, Direction, FAILED, Metric, OTHERS_RIGHT, PERCENTILES, REQUESTS, counts_failures,
    is_of_latencies,
};

/// Format that this program writes. An older or newer one is refused with a clear error.
pub const FORMAT: u32 = 1;

/// Summary of a whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the study's recipe, or `duel`.
    pub study: String,
    /// Title of the study.
    pub title: String,
    /// Question that the study answers.
    pub question: String,
    /// Sentences on the origin of the study and how it differs from the original.
    pub about: Vec<String>,
    /// Whether this was the quick form, whose figures are not reliable.
    pub is_quick: bool,
    /// Start time, RFC 3339.
    pub started: String,
    /// Seconds that the run took.
    pub took_s: f64,
    /// Number of rounds measured.
    pub rounds: u32,
    /// Command line of the run.
    pub command: String,
    /// Facts of the machine and versions of tools, in order: ("processor", "2 x Intel …").
    pub machine: Vec<(String, String)>,
    /// Contenders that took part or are missing.
    pub contenders: Vec<Who>,
    /// Contender that was measured twice, as if it were two: any difference that the run shows between the two is
    /// noise. `None` in runs of one round, and in older ones.
    pub twin_of: Option<String>,
    /// Cases with their results.
    pub cases: Vec<Case>,
    /// Plots of the report.
    pub plots: Vec<Plot>,
    /// Winners for each use.
    pub verdicts: Vec<Verdict>,
    /// Recommendation of a duel.
    pub advice: Option<Advice>,
    /// Results of a duel at the user's own request rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// Sentences that a reader must know: departures, missing things, caveats.
    pub notes: Vec<String>,
    /// Requirements of METHOD.md for published figures that the run does not meet, in words. Determined anew by each
    /// program that shows the run, and not stored.
    #[serde(skip)]
    pub shortcomings: Vec<String>,
    /// Whether its loads were made by k6 elsewhere and imported: a round is one such load of a contender in a case.
    /// Determined from the run's request by each program that shows the run, and not stored.
    #[serde(skip)]
    pub is_imported: bool,
}

/// Start of a contender's note that names its allocator.
pub const ALLOCATED_BY: &str = "memory is allocated by ";

/// Start of a contender's note on a turn after which it did not stop by itself, or left a process behind.
pub const NOT_STOPPED: &str = "it did not stop as it should: ";

/// Note of a contender that chooses the number of its workers itself, and may add some while it runs.
pub const CHOOSES_WORKERS: &str = "workers: it chooses their number";

/// A contender with its version and settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Who {
    /// Name of its recipe; in a duel with its settings: `puma -w 2 -t 5`.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Version, as the program itself reports it.
    pub version: String,
    /// Ruby implementation and version, or `mruby inside`.
    pub ruby: String,
    /// Sentences on what is missing, and how to get it. Empty if it took part.
    pub missing: Vec<String>,
    /// Worker processes that were requested.
    pub workers: u32,
    /// Threads per worker that were requested.
    pub threads: u32,
    /// Worker processes counted while it ran.
    pub counted_workers: Option<u32>,
    /// Serving threads counted while it ran, of all workers together.
    pub counted_threads: Option<u32>,
    /// Its command lines and generated files.
    pub commands: Vec<String>,
    /// Sentences on what it cannot do, and on how it was treated differently.
    pub notes: Vec<String>,
}

/// A case: one thing that was measured, with the results of all contenders.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Name of the case in its study.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// Description of what was done: tool and path.
    pub what: String,
    /// Tool that made its loads, one of [`LOAD_TOOLS`]; `None` for the arena's own load generator, and in older runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Metrics that are shown, most important first. The first one ranks.
    pub metrics: Vec<String>,
    /// Metrics of these that are no merit of a server in this case, whatever they are elsewhere: no contender is best
    /// in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_merit: Vec<String>,
    /// Place on the x axis of a line plot, such as the number of users.
    pub x: Option<f64>,
    /// Most requests of its load that are in progress at once, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_once_most: Option<u32>,
    /// Results, one for each contender.
    pub results: Vec<Measured>,
    /// Figures of the original study, by the server's name there.
    pub published: Vec<Published>,
    /// Names in order, best first; those in one group share the rank of its first one.
    pub ranking: Vec<Vec<String>>,
    /// Ranked contenders whose place rests on their median alone: neither shown to be worse than the first one of a
    /// group nor of its rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<String>,
    /// Result of the twin of [`Summary::twin_of`]; neither ranked nor compared with others.
    pub twin: Option<Measured>,
    /// Whether the case is about failures, so that failed requests do not exclude a contender from the ranking.
    #[serde(default)]
    pub is_about_failures: bool,
}

/// Result of a contender in a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the contender.
    pub contender: String,
    /// Figures by metric.
    pub numbers: BTreeMap<String, Spread>,
    /// Number of errors of all rounds, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Reason why it is disqualified and not ranked.
    pub disqualified: Option<String>,
    /// Reason why its figures are shown but compared with no other's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// Share of the offered requests that it answered, if it did not keep up: its latencies then depend on the length
    /// of the load, and are not ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_share: Option<f64>,
    /// Sentences that a reader of its figures must know.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Values over the time of one load, that of the first round that counts.
    #[serde(default, skip_serializing_if = "Course::is_empty")]
    pub course: Course,
}

/// A number of several rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Spread {
    /// Median of the rounds.
    pub median: f64,
    /// Lowest number.
    #[serde(skip_serializing)]
    pub low: f64,
    /// Highest number.
    #[serde(skip_serializing)]
    pub high: f64,
    /// Numbers in the order of the rounds.
    pub all: Vec<f64>,
    /// Numbers of their rounds, so that two contenders can be compared within a round; empty stands for 1, 2, 3, …
    #[serde(default, skip_serializing_if = "is_plain")]
    pub at: Vec<u32>,
}

/// The part of a stored [`Spread`] that is read. The rest is computed from the rounds, since a file may be edited.
#[derive(Deserialize)]
struct Written {
    all: Vec<f64>,
    #[serde(default)]
    at: Vec<u32>,
}

impl From<Written> for Spread {
    fn from(Written { all, at }: Written) -> Spread {
        let unsound = Spread { median: f64::NAN, low: f64::NAN, high: f64::NAN, ..Spread::default() };
        Spread { at, ..Spread::of(&all).unwrap_or(unsound) }
    }
}

fn is_plain(rounds: &[u32]) -> bool {
    rounds.iter().copied().eq(1..=rounds.len() as u32)
}

/// Figures of the original study for a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Name of the server there.
    pub server: String,
    /// Contender that stands for it today, if there is one.
    pub contender: Option<String>,
    /// Figures by metric.
    pub numbers: BTreeMap<String, f64>,
}

/// A plot of the report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// Title for people.
    pub title: String,
    /// Kind of the plot.
    pub kind: PlotKind,
    /// Metric that is shown.
    pub metric: String,
    /// Names of its cases, in order: groups of bars, or points of lines.
    pub cases: Vec<String>,
    /// Title of the x axis of a line plot: "users".
    pub x_title: String,
    /// Whether both axes are logarithmic.
    pub is_log: bool,
    /// Marked place on the x axis of a line plot over rates, with its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<(f64, String)>,
}

/// Kind of a plot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// A bar with its spread for each contender.
    #[default]
    Bars,
    /// A line for each contender over the x values of its cases.
    Lines,
}

/// Share of failed requests above which a contender is neither ranked nor the best at anything, nor recommended; it
/// does not carry a rate at which its share is higher.
pub const FAILED_SHARE_MAX: f64 = 0.01;

/// Number of requests of each round that must lie beyond a percentile. With fewer, it is nearly the longest request,
/// which a single pause of the machine decides.
const REQUESTS_BEYOND: f64 = 4.0;

/// Checked answers among which one wrong answer in a thousand is found in 99 of 100 runs: ln 0.01 / ln 0.999.
pub const CHECKED_ENOUGH: u64 = 4603;

/// Names of the programs beside the arena's own load generator that make loads. The commands of their loads begin with
/// them.
pub const LOAD_TOOLS: [&str; 4] = ["wrk", "ab", "siege", "k6"];

/// Words that a remark contains if the rate had not settled when the warm-up was over, or is not known to have settled.
pub const SETTLED_BEFORE: &str = "settled before the load";

/// Share of requests without a right answer. `right` counts only those with one.
pub fn failed_share(failed: f64, right: f64) -> f64 {
    if failed > 0.0 { failed / (right + failed) } else { 0.0 }
}

/// Tool of [`LOAD_TOOLS`] with which this command begins.
pub fn load_tool(command: &str) -> Option<&str> {
    command.split([' ', ',']).next().filter(|word| LOAD_TOOLS.contains(word))
}

/// Number of requests of each round that this percentile needs: 400 for a p99. 0 for a metric that is no percentile.
pub fn requests_needed(metric: &str) -> f64 {
    let found = PERCENTILES.iter().find(|(_, name)| *name == metric);
    found.map_or(0.0, |(one_in, _)| one_in * REQUESTS_BEYOND)
}

/// Whether the share of failed requests is above [`FAILED_SHARE_MAX`].
pub fn is_failing(failed: f64, right: f64) -> bool {
    failed_share(failed, right) > FAILED_SHARE_MAX
}

/// Number of requests that a contender serves at once, by its name: the number of threads that were counted, or that
/// the settings ask for, whichever is less, since some servers have further threads for other work. The twin has that
/// of its original.
pub fn at_once(whos: &[Who], twin_of: Option<&str>) -> impl Fn(&str) -> Option<u32> + use<> {
    let of = |who: &Who| {
        let asked = who.workers.saturating_mul(who.threads);
        who.counted_threads.map_or(asked, |counted| counted.min(asked))
    };
    let all: BTreeMap<String, u32> = whos.iter().map(|who| (who.name.clone(), of(who))).collect();
    let original = twin_of.map(str::to_owned);
    move |name| all.get(if name == TWIN { original.as_deref()? } else { name }).copied().filter(|count| *count > 0)
}

#[cfg(test)]
impl Measured {
    /// A contender's figures of these rounds, by metric; none of a metric without rounds.
    pub(crate) fn of<R: AsRef<[f64]>>(contender: &str, rounds: &[(&str, R)]) -> Measured {
        let mut measured = Measured { contender: contender.into(), ..Measured::default() };
        measured.add(rounds);
        measured
    }

    /// Adds the figures of these metrics, in place of those that it already has of them.
    pub(crate) fn add<R: AsRef<[f64]>>(&mut self, rounds: &[(&str, R)]) {
        let figure = |(metric, all): &(&str, R)| Some(((*metric).to_owned(), Spread::of(all.as_ref())?));
        self.numbers.extend(rounds.iter().filter_map(figure));
    }
}

#[cfg(test)]
impl Case {
    /// A case with one metric, and its rounds by contender.
    pub(crate) fn of<R: AsRef<[f64]>>(metric: &str, figures: &[(&str, R)]) -> Case {
        let result = |(contender, rounds): &(&str, R)| Measured::of(contender, &[(metric, rounds)]);
        Case { metrics: vec![metric.into()], results: figures.iter().map(result).collect(), ..Case::default() }
    }
}

impl Measured {
    /// Share of requests without a right answer, over all rounds. For a tool that takes failures for answers, it is the
    /// share in the load after it, which checks all answers.
    pub fn failed_share(&self) -> f64 {
        failed_share(self.failed(), self.right()).max(self.found_share())
    }

    /// Whether its share of failed requests is that of the loads which check all answers: the tool's own is lower.
    pub fn fails_more_when_checked(&self) -> bool {
        self.found_share() > failed_share(self.failed(), self.right())
    }

    /// Share of failed requests in the loads that check all answers; 0 where there were none.
    pub fn found_share(&self) -> f64 {
        let rounds = self.numbers.get(CHECKED_FAILED_PPM).map_or(&[][..], |spread| &spread.all);
        rounds.iter().sum::<f64>() / rounds.len().max(1) as f64 / 1e6
    }

    /// Whether fewer than [`CHECKED_ENOUGH`] answers were checked beside the load of a tool that checks none.
    pub fn is_checked_too_little(&self) -> bool {
        self.numbers.contains_key(CHECKED) && self.sum(CHECKED) < CHECKED_ENOUGH as f64
    }

    /// Whether the rate had not settled when the warm-up was over, or is not known to have settled, in most rounds.
    pub fn is_unsettled(&self) -> bool {
        self.remarks.iter().any(|remark| remark.contains(SETTLED_BEFORE))
    }

    /// Number of right answers in the round that has fewest; `None` where they were not counted.
    pub fn fewest_requests(&self) -> Option<f64> {
        self.numbers.get(REQUESTS)?.all.iter().copied().min_by(f64::total_cmp)
    }

    /// Whether this percentile rests on fewer requests than it needs, so that it is nearly the longest of them.
    pub fn is_of_few(&self, percentile: &str) -> bool {
        self.fewest_requests().is_some_and(|fewest| fewest < requests_needed(percentile))
    }

    /// Requests without a right answer, over all rounds.
    pub fn failed(&self) -> f64 {
        self.sum(FAILED)
    }

    /// Requests with a right answer, over all rounds, including those of a second load in the same scenario whose
    /// failures count.
    pub fn right(&self) -> f64 {
        self.sum(REQUESTS) + self.sum(OTHERS_RIGHT)
    }

    fn sum(&self, name: &str) -> f64 {
        self.numbers.get(name).map_or(0.0, |spread| spread.all.iter().sum())
    }
}

impl Case {
    /// Figures of the results that can be ranked, with the contenders' names.
    pub fn figures<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = (&'a str, &'a Spread)> {
        let counting = self.results.iter().filter(move |result| self.counts(result, metric));
        counting.filter_map(move |one| Some((one.contender.as_str(), one.numbers.get(metric)?)))
    }

    /// Whether contenders of this case can be ranked by this metric.
    pub fn has_merit(&self, metric: &Metric) -> bool {
        metric.direction != Direction::Plain && !self.without_merit.iter().any(|name| name == metric.name)
    }

    /// Whether a difference in this metric makes one of two results the better one: [`Case::has_merit`], but not the
    /// number of failures, since a faster server is sent more requests that can fail.
    pub fn tells_better(&self, metric: &Metric) -> bool {
        metric.name != FAILED && self.has_merit(metric)
    }

    /// Whether this result can be ranked by a metric and be the best in it.
    pub fn counts(&self, result: &Measured, metric: &str) -> bool {
        let is_in = result.disqualified.is_none() && result.not_compared.is_none();
        is_in && !self.fails(result, metric) && !(is_of_latencies(metric) && result.served_share.is_some())
    }

    /// Whether a result has too many failed requests to be ranked by this metric. In a case about failures, the metrics
    /// that count failures are ranked all the same, and no others: a server that refuses at once seems fast.
    pub fn fails(&self, result: &Measured, metric: &str) -> bool {
        let is_exempt = self.is_about_failures && counts_failures(metric);
        !is_exempt && result.failed_share() > FAILED_SHARE_MAX
    }
}

impl Published {
    /// Whether this contender stands for the published server today.
    pub fn is_of(&self, contender: &str) -> bool {
        self.contender.as_deref().unwrap_or(&self.server) == contender
    }
}

/// Winners for one use of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The use: "waiting on other services".
    pub use_case: String,
    /// Names of the winners, best first, with those that share its rank.
    pub winners: Vec<String>,
    /// Whether it is undecided if other contenders are worse: then the first winner is best by its median alone.
    #[serde(default)]
    pub is_open: bool,
    /// Figures that show who the winners are.
    pub why: String,
    /// Winner in the original study, if it named one.
    pub published: String,
}

/// Recommendation of a duel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Name of the recommended contender; empty if there is none.
    #[serde(default)]
    pub contender: String,
    /// Recommendation in one sentence: for this application on this machine, use X with -w A -t B; …
    pub sentence: String,
    /// Reasons, each with figures.
    pub reasons: Vec<String>,
    /// Caveats: how sure it is, and what would change it.
    pub uncertainty: Vec<String>,
    /// Command line that starts the recommended contender.
    pub command: String,
    /// The rule for significant differences by which it was made ([`crate::stats::rule`]); empty in older runs.
    #[serde(default)]
    pub rule: String,
}

/// Results of a duel at the user's own request rate. The latencies are in its cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// The rate in requests per second.
    pub per_s: f64,
    /// Mean requests per second, where a log shows it.
    pub mean_per_s: Option<f64>,
    /// Source of the rate.
    pub origin: String,
    /// Bounds above which a load is too much, in words.
    pub broken_when: String,
    /// Highest p99 in milliseconds that is good enough; `None` in older runs, which have it only in `broken_when`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_max_ms: Option<f64>,
    /// Number of processors of the machine.
    pub cores: u32,
    /// All results in a paragraph.
    pub answer: String,
    /// Results of each contender that was asked at the rate.
    pub carried: Vec<Carried>,
    /// Results of the twin; `None` without one, and in older runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<Carried>,
    /// Names of the cases at multiples of the rate, rising.
    pub cases: Vec<String>,
    /// Names of the cases with fewer processors, falling.
    pub smaller_cases: Vec<String>,
}

/// Load that a contender carried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// Name of the contender.
    pub contender: String,
    /// Steps at multiples of the rate, rising.
    pub steps: Vec<Step>,
    /// Steps at the rate with fewer processors, falling.
    pub smaller: Vec<Step>,
    /// Cost at the rate; `None` if the contender does not carry it.
    pub cost: Option<Cost>,
}

/// A load over all rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Multiple of the rate; or number of processors.
    pub of: u32,
    /// Requests per second.
    pub per_s: f64,
    /// Number of rounds in which it is known whether the load held.
    pub rounds: u32,
    /// Number of those rounds in which it, or an easier load, was too much.
    pub broke: u32,
    /// Number of further rounds, which show nothing, since the load generator could not keep the rate.
    #[serde(default, skip_serializing_if = "is_0")]
    pub not_kept: u32,
    /// Sentence on what broke in those rounds and why, with the medians of their figures; empty if nothing broke.
    pub what: String,
}

/// Reason why nothing is known of a load.
const NOT_KEPT: &str = "the load generator could not keep the rate";

fn is_0(count: &u32) -> bool {
    *count == 0
}

/// Whether a load held, as far as the rounds show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// It held in all rounds, or in all but one of four or more, and in two at least.
    Yes,
    /// It broke in all rounds, or in all but one of four or more, and in two at least.
    No,
    /// The rounds differ, or there was only one.
    Unsure,
}

/// Cost of a rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Processors in use.
    pub processors: f64,
    /// Processors in use at the mean rate, computed from the processor time of a request.
    pub processors_mean: Option<f64>,
    /// Seconds of processor time for a million requests.
    pub cpu_s_per_million: f64,
    /// Peak memory in MiB.
    pub memory_mib: f64,
    /// Processors of the smallest machine that was tried and held.
    pub machine_processors: u32,
    /// Memory in MiB of a machine with enough room for it.
    pub machine_mib: u64,
}

impl Summary {
    /// Whether this case is one of a duel at the user's rate.
    pub fn is_at_users_rate(&self, case: &str) -> bool {
        self.traffic.as_ref().is_some_and(|traffic| traffic.has(case))
    }
}

impl Traffic {
    /// Whether this case is one at the rate.
    pub fn has(&self, case: &str) -> bool {
        self.cases.iter().chain(&self.smaller_cases).any(|name| name == case)
    }
}

impl Step {
    /// Whether the load held, from its rounds.
    pub fn held(&self) -> Held {
        let is_told = |against: u32| self.rounds >= 2 && (against == 0 || (against == 1 && self.rounds >= 4));
        match (is_told(self.broke), is_told(self.rounds - self.broke.min(self.rounds))) {
            (true, _) => Held::Yes,
            (_, true) => Held::No,
            _ => Held::Unsure,
        }
    }

    /// Words for a load that is [`Held::Unsure`]: in how many rounds it held.
    pub fn unsure(&self) -> Option<String> {
        let held = self.rounds.saturating_sub(self.broke);
        let rounds = if self.rounds == 1 { "round" } else { "rounds" };
        let more = match self.not_kept {
            0 => String::new(),
            more => format!(" (in {more} more {NOT_KEPT})"),
        };
        let is_unsure = self.held() == Held::Unsure && self.unknown().is_none();
        is_unsure.then(|| format!("in {held} of {} {rounds}, not sure{more}", self.rounds))
    }

    /// What broke, for a load that is [`Held::No`]: a round may have held it.
    pub fn too_much(&self) -> String {
        match self.broke < self.rounds {
            true => format!("in {} of {} rounds {}", self.broke, self.rounds, self.what),
            false => self.what.clone(),
        }
    }

    /// Reason why nothing is known of a load, if no round shows whether it held.
    pub fn unknown(&self) -> Option<String> {
        let rounds = if self.not_kept == 1 { "round" } else { "rounds" };
        let is_unknown = self.rounds == 0 && self.not_kept > 0;
        is_unknown.then(|| format!("in {} {rounds} {NOT_KEPT}", self.not_kept))
    }
}

impl Cost {
    /// Describes the machine: `one processor and 512 MiB`.
    pub fn machine(&self) -> String {
        let processors = machine::processors(self.machine_processors);
        match self.machine_mib {
            large if large >= 1024 => format!("{processors} and {} GiB", large / 1024),
            small => format!("{processors} and {small} MiB"),
        }
    }
}

impl Carried {
    /// The highest multiple up to which the rounds show that it carries all.
    pub fn highest(&self) -> Option<&Step> {
        self.steps.iter().take_while(|step| step.held() == Held::Yes).last()
    }

    /// The lowest multiple at which the rounds show that it breaks.
    pub fn breaks_at(&self) -> Option<&Step> {
        self.steps.iter().find(|step| step.held() == Held::No)
    }

    /// Multiples between those two, for which the rounds are unsure, rising.
    pub fn between(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().skip_while(|step| step.held() == Held::Yes).take_while(|step| step.held() != Held::No)
    }

    /// Whether a multiple of the rate held. A load that breaks at a lower multiple breaks at a higher one, too;
    /// otherwise nothing is known of a multiple that was not asked.
    pub fn holds(&self, times: u32) -> Held {
        let is_broken = self.steps.iter().any(|step| step.of <= times && step.held() == Held::No);
        let asked = self.steps.iter().find(|step| step.of == times);
        if is_broken { Held::No } else { asked.map_or(Held::Unsure, Step::held) }
    }
}
