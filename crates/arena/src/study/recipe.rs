//! The recipe of a study: a file in arena/studies, as it is written, checked.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::effort::Effort;
use super::expect::Expected;
use crate::contender::Allocator;
use crate::record::summary::PlotKind;

/// Longer than any right answer takes, where a study says nothing; the original studies' siege had the same.
const TIME_OUT_S: u32 = 30;

/// A study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// All that is written in it.
    #[serde(skip)]
    pub text: String,
    /// For people.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// Where it comes from, and how it differs from the original: a sentence each.
    pub about: Vec<String>,
    /// The folder in apps/.
    pub app: String,
    /// What the application needs beside itself.
    #[serde(default)]
    pub services: Vec<ServiceName>,
    /// Which part of published.toml it is, when it is one of those.
    #[serde(default)]
    pub published: Option<String>,
    /// The memory that a server and its workers may have, in MiB; none: all that the machine has.
    #[serde(default)]
    pub memory_mib: Option<u64>,
    /// Who takes part.
    pub contenders: Vec<Entry>,
    /// What it takes.
    pub full: Effort,
    /// The form that shows in minutes that everything works; its figures are not to be believed.
    pub quick: Effort,
    /// What is shown of each case, most important first; the first one ranks.
    pub metrics: Vec<String>,
    /// What is measured.
    #[serde(rename = "case")]
    pub cases: Vec<CaseRecipe>,
    /// What is drawn. None: bars of the first metric, and of p99 where it is shown.
    #[serde(rename = "plot", default)]
    pub plots: Vec<PlotRecipe>,
    /// For which uses a winner is named.
    #[serde(rename = "verdict", default)]
    pub verdicts: Vec<VerdictRecipe>,
}

/// What an application may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceName {
    /// A PostgreSQL of the run's own, with the application's tables.
    Postgresql,
    /// The upstream that the arena application's /feed reads.
    Upstream,
}

/// A contender in this study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The name of its recipe.
    pub recipe: String,
    /// Its name here, when it takes part more than once.
    #[serde(default)]
    pub name: Option<String>,
    /// Processes.
    pub workers: u32,
    /// Threads of each.
    pub threads: u32,
    /// In whose place memory is allocated: glibc, tcmalloc or jemalloc.
    #[serde(default)]
    pub allocator: Option<Allocator>,
    /// Another file than config.ru.
    #[serde(default)]
    pub rackup: Option<String>,
    /// It may shut down its workers after so many seconds without a request, if it can.
    #[serde(default)]
    pub idle_s: Option<u32>,
    /// With the limits (queues, connections) that it comes with, which are raised for all others: as a published study
    /// ran it.
    #[serde(default)]
    pub stock: bool,
    /// Its name among the published figures.
    #[serde(default)]
    pub published: Option<String>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
    /// Libraries that its Ruby needs for this application.
    #[serde(default)]
    pub needs: Vec<String>,
    /// In the quick form as well, which is about minutes.
    #[serde(default = "yes")]
    pub in_quick: bool,
    /// More environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// One thing to be measured, or a series of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseRecipe {
    /// In records.
    pub name: String,
    /// For people.
    pub title: String,
    /// How it is measured.
    pub tool: Tool,
    /// What is asked.
    pub path: String,
    /// Of closed: the requests are POSTs with a body of so many bytes, the line `FoolsGold` again and again.
    #[serde(default)]
    pub send_bytes: Option<usize>,
    /// The right answer.
    pub expect: Expected,
    /// Ruby libraries that it needs; without them it is left out, and the report says so.
    #[serde(default)]
    pub needs: Vec<String>,
    /// In the quick form as well, which is about minutes.
    #[serde(default = "yes")]
    pub in_quick: bool,
    /// Clients at a time.
    #[serde(default)]
    pub clients: Option<u32>,
    /// Instead: one case for each of these numbers of clients.
    #[serde(default)]
    pub users: Vec<u32>,
    /// Of ladder and overload: one case for each of these shares of the contender's own capacity, in percent.
    #[serde(default)]
    pub load_pct: Vec<u32>,
    /// Of ladder: one case for each of these shares of the slowest contender's capacity, in percent: the same requests
    /// per second for all. From the second round on, since all must have shown what they can do.
    #[serde(default)]
    pub slowest_pct: Vec<u32>,
    /// Of stuck: what hangs.
    #[serde(default)]
    pub stuck_path: Option<String>,
    /// Of stuck: the right answer of what hangs.
    #[serde(default)]
    pub stuck_expect: Option<Expected>,
    /// Requests per second, the same for all contenders. Of uneven: short and long ones together; of slow-clients and
    /// stuck: those of the others.
    #[serde(default)]
    pub per_s: Option<f64>,
    /// Of uneven: what takes long.
    #[serde(default)]
    pub long_path: Option<String>,
    /// Of uneven: the right answer of what takes long.
    #[serde(default)]
    pub long_expect: Option<Expected>,
    /// Of uneven: how many of all requests take long, in percent.
    #[serde(default)]
    pub long_pct: Option<u32>,
    /// Of idle-connections: how many there are.
    #[serde(default)]
    pub connections: Option<u32>,
    /// Of slow-clients: how many trickle.
    #[serde(default)]
    pub slow: Option<u32>,
    /// Longer or shorter than the study's.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// How long wrk or ab waits for an answer, in seconds; 30 if nothing is said.
    #[serde(default)]
    pub timeout_s: Option<u32>,
    /// So many requests rather than seconds.
    #[serde(default)]
    pub requests: Option<u64>,
    /// Other metrics than the study's.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// What stands in the original's rows of figures for it: `{ primes = 10 }`; `{ }` when all rows are about it.
    #[serde(default)]
    pub published: Option<toml::Table>,
}

/// How a case is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// wrk with connections that stay.
    Wrk,
    /// ApacheBench, a connection for each request.
    Ab,
    /// siege as a benchmark (-b), a connection for each request.
    Siege,
    /// siege with its pauses, each client one request.
    SiegeOnce,
    /// Our own closed loop, every answer checked.
    Closed,
    /// Our own open loop, at shares of the capacity that our closed loop found.
    Ladder,
    /// Nothing is loaded: from the start of the server to its first right answer.
    Start,
    /// The first request after the server had nothing to do for a while.
    Idle,
    /// Clients that trickle, and fast ones beside them.
    SlowClients,
    /// An endpoint that hangs, and fast ones beside it.
    Stuck,
    /// Short requests with some long ones among them, at a rate that is the same for all.
    Uneven,
    /// Connections on which nothing is asked any more.
    IdleConnections,
    /// A worker killed now and then under load.
    Killed,
    /// Reloads under load.
    Reload,
    /// More than it can do, and afterwards.
    Overload,
}

impl CaseRecipe {
    /// How long an answer is waited for.
    pub fn timeout_s(&self) -> u32 {
        self.timeout_s.unwrap_or(TIME_OUT_S)
    }
}

impl Tool {
    /// Whether k6 can have this load in its place.
    pub fn is_for_k6(self) -> bool {
        matches!(self, Tool::Wrk | Tool::Ab | Tool::Siege | Tool::SiegeOnce | Tool::Closed | Tool::Ladder)
    }

    /// Whether what loads the server does not look at its answers.
    pub fn is_blind(self) -> bool {
        matches!(self, Tool::Wrk | Tool::Ab | Tool::Siege | Tool::SiegeOnce)
    }
}

/// A picture.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotRecipe {
    /// For people.
    pub title: String,
    /// How it is drawn.
    pub kind: PlotKind,
    /// What is shown.
    pub metric: String,
    /// Names of cases; a series by its recipe's name.
    pub cases: Vec<String>,
    /// What the places of lines are.
    #[serde(default)]
    pub x_title: String,
    /// Of a ladder's cases those at shares of the slowest contender's capacity, rather than of each one's own.
    #[serde(default)]
    pub at_equal_rates: bool,
    /// Both axes grow by factors.
    #[serde(default)]
    pub is_log: bool,
}

/// A use, and what decides it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRecipe {
    /// "waiting on other services".
    pub use_case: String,
    /// All of these count alike.
    pub cases: Vec<String>,
    /// By which number; the cases' first one if nothing is said.
    #[serde(default)]
    pub metric: Option<String>,
    /// Who won in the original.
    #[serde(default)]
    pub published: String,
    /// What a reader must know before believing it, where one of these contenders took part.
    #[serde(default)]
    pub note: Option<VerdictNote>,
}

/// A remark on a verdict.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictNote {
    /// Names of contenders.
    pub contenders: Vec<String>,
    /// For people.
    pub words: String,
}

fn yes() -> bool {
    true
}

impl Entry {
    /// Its name in records.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.recipe)
    }
}
