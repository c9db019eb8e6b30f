//! The recipe of a study: a file of arena/studies, parsed and checked.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::effort::Effort;
use super::expect::Expected;
use crate::contender::Allocator;
use crate::record::summary::PlotKind;
use loadgen::Form;
use loadgen::metric::{ELAPSED, FAILED, RATE};

/// Default timeout in seconds, longer than any right answer takes; siege in the original studies had the same.
const TIME_OUT_S: u32 = 30;

/// A study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Name of its file, without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// Text of its file.
    #[serde(skip)]
    pub text: String,
    /// Title for people.
    pub title: String,
    /// Question that the study answers.
    pub question: String,
    /// Sentences on its origin and how it differs from the original.
    pub about: Vec<String>,
    /// Name of the application's folder in apps/.
    pub app: String,
    /// Services that the application needs.
    #[serde(default)]
    pub services: Vec<ServiceName>,
    /// Name of its figures in published.toml, if it has some.
    pub published: Option<String>,
    /// Memory limit of a server and its workers, in MiB; without it, all of the machine's.
    pub memory_mib: Option<u64>,
    /// Contenders that take part.
    pub contenders: Vec<Entry>,
    /// Effort of the full form.
    pub full: Effort,
    /// Effort of the quick form, which shows in minutes that everything works; its figures are not reliable.
    pub quick: Effort,
    /// Metrics that are shown of each case, most important first; the first one ranks.
    pub metrics: Vec<String>,
    /// Cases to measure.
    #[serde(rename = "case")]
    pub cases: Vec<CaseRecipe>,
    /// Plots of the report. By default bars of the first metric, and of p99 where it is shown.
    #[serde(rename = "plot", default)]
    pub plots: Vec<PlotRecipe>,
    /// Uses for which a winner is named.
    #[serde(rename = "verdict", default)]
    pub verdicts: Vec<VerdictRecipe>,
}

/// A service that an application may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceName {
    /// A PostgreSQL of the run's own, with the application's tables.
    Postgresql,
    /// The upstream that the arena application's /feed reads.
    Upstream,
}

/// A contender of a study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name of its recipe.
    pub recipe: String,
    /// Its name in the study, if the recipe takes part more than once.
    pub name: Option<String>,
    /// Worker processes.
    pub workers: u32,
    /// Threads per worker.
    pub threads: u32,
    /// Allocator to preload: glibc, tcmalloc or jemalloc.
    pub allocator: Option<Allocator>,
    /// Rackup file other than config.ru.
    pub rackup: Option<String>,
    /// Idle seconds after which it may shut down its workers, if it can.
    pub idle_s: Option<u32>,
    /// Most seconds of its warm-up in the full form, in place of the study's. If it is longer, the time of its requests
    /// is not divided, since that takes another start.
    pub warm_up_s: Option<f64>,
    /// Whether it keeps its default limits (queues, connections), which are raised for all others: as a published study
    /// ran it.
    #[serde(default)]
    pub stock: bool,
    /// Its name among the published figures.
    pub published: Option<String>,
    /// Sentence that a reader should know.
    pub note: Option<String>,
    /// Libraries that its Ruby needs for this application.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Whether it also takes part in the quick form, which only takes minutes.
    #[serde(default = "yes")]
    pub in_quick: bool,
    /// Additional environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// A case to measure, or a series of cases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseRecipe {
    /// Name in records.
    pub name: String,
    /// Title for people.
    pub title: String,
    /// How it is measured.
    pub tool: Tool,
    /// Path that is requested.
    pub path: String,
    /// For closed: the requests are POSTs with a body of this many bytes, the line `FoolsGold` repeated.
    pub send_bytes: Option<usize>,
    /// The right answer.
    pub expect: Expected,
    /// Ruby libraries that it needs; without them it is left out, and the report mentions it.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Whether it also runs in the quick form, which only takes minutes.
    #[serde(default = "yes")]
    pub in_quick: bool,
    /// Number of concurrent clients. Of ladder and overload the capacity is measured by four times as many, 512 at
    /// least: a ladder's open loop may have as many connections.
    pub clients: Option<u32>,
    /// Alternatively, one case for each of these numbers of clients.
    #[serde(default)]
    pub users: Vec<u32>,
    /// For ladder and overload: one case for each of these shares of the contender's own capacity, in percent.
    #[serde(default)]
    pub load_pct: Vec<u32>,
    /// For ladder: one case for each of these shares of the slowest contender's capacity, in percent: the same requests
    /// per second for all. From the second round on, since all capacities must be known.
    #[serde(default)]
    pub slowest_pct: Vec<u32>,
    /// For stuck: path that hangs.
    pub stuck_path: Option<String>,
    /// Of stuck: the right answer of what hangs.
    pub stuck_expect: Option<Expected>,
    /// Requests per second, the same for all contenders. Of uneven: short and long ones together; of slow-clients and
    /// stuck: those of the others.
    pub per_s: Option<f64>,
    /// For uneven: path that takes long.
    pub long_path: Option<String>,
    /// Of uneven: the right answer of what takes long.
    pub long_expect: Option<Expected>,
    /// Of uneven: how many of all requests take long, in percent.
    pub long_pct: Option<u32>,
    /// For idle-connections: number of connections.
    pub connections: Option<u32>,
    /// For slow-clients: number of slow clients.
    pub slow: Option<u32>,
    /// Seconds of the load, if not the study's.
    pub seconds: Option<f64>,
    /// Timeout of wrk or ab in seconds; 30 by default.
    pub timeout_s: Option<u32>,
    /// Number of requests, instead of seconds.
    pub requests: Option<u64>,
    /// Metrics, if not the study's.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Keys of the original's rows of figures for this case: `{ primes = 10 }`; `{ }` if all rows are about it.
    pub published: Option<toml::Table>,
}

/// How a case is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// wrk, with persistent connections.
    Wrk,
    /// ApacheBench, with a connection for each request.
    Ab,
    /// siege as a benchmark (-b), with a connection for each request.
    Siege,
    /// siege with its pauses, one request per client.
    SiegeOnce,
    /// Our own closed loop, which checks every answer.
    Closed,
    /// Our own open loop, at shares of the capacity that our closed loop measured.
    Ladder,
    /// No load: the time from the start of the server to its first right answer.
    Start,
    /// The first request after the server was idle for a while.
    Idle,
    /// Clients that send slowly, and fast ones beside them.
    SlowClients,
    /// An endpoint that hangs, and fast ones beside it.
    Stuck,
    /// Short requests with some long ones among them, at a rate that is the same for all.
    Uneven,
    /// Idle connections.
    IdleConnections,
    /// A worker killed now and then under load.
    Killed,
    /// Reloads under load.
    Reload,
    /// More than the server can do, and the time afterwards.
    Overload,
}

impl CaseRecipe {
    /// Timeout of an answer, in seconds.
    pub fn timeout_s(&self) -> u32 {
        self.timeout_s.unwrap_or(TIME_OUT_S)
    }
}

impl Tool {
    /// Whether k6 can take the place of this load.
    pub fn is_for_k6(self) -> bool {
        matches!(self, Tool::Wrk | Tool::Ab | Tool::Siege | Tool::SiegeOnce | Tool::Closed | Tool::Ladder)
    }

    /// Whether a metric is a merit of a server in a load by this tool, which ends by the clock or, if `is_counted`,
    /// after a number of requests. siege's random pauses are most of the time of its requests, and so decide its rate;
    /// a load that ends by the clock takes as long as its plan says; and in a closed loop a faster server has more
    /// requests that can fail, so that only the share of failures can rank.
    pub fn is_merit(self, metric: &str, is_counted: bool) -> bool {
        match (metric, self) {
            (RATE | ELAPSED, Tool::SiegeOnce) => false,
            (ELAPSED, Tool::Ab | Tool::Siege | Tool::Closed) => is_counted,
            (ELAPSED, _) => false,
            (FAILED, Tool::Killed | Tool::Reload) => false,
            _ => true,
        }
    }

    /// Form of the requests of a tool that does not check answers; `None` of those that do.
    pub fn blind_form(self) -> Option<Form> {
        match self {
            Tool::Wrk => Some(Form::Wrk),
            Tool::Ab => Some(Form::Ab),
            Tool::Siege | Tool::SiegeOnce => Some(Form::Siege),
            _ => None,
        }
    }
}

/// A plot.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotRecipe {
    /// Title for people.
    pub title: String,
    /// Kind of the plot.
    pub kind: PlotKind,
    /// Metric that is shown.
    pub metric: String,
    /// Names of cases; a series by its recipe's name.
    pub cases: Vec<String>,
    /// Title of the x axis of lines.
    #[serde(default)]
    pub x_title: String,
    /// Whether a ladder's cases at shares of the slowest contender's capacity are shown, instead of those at shares of
    /// each one's own.
    #[serde(default)]
    pub at_equal_rates: bool,
    /// Whether both axes are logarithmic.
    #[serde(default)]
    pub is_log: bool,
}

/// A use, and what decides it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRecipe {
    /// The use: "waiting on other services".
    pub use_case: String,
    /// Cases that decide, with equal weight.
    pub cases: Vec<String>,
    /// Metric that decides; by default the first one of the cases.
    pub metric: Option<String>,
    /// Winner in the original study.
    #[serde(default)]
    pub published: String,
    /// Remark that a reader must know, if one of its contenders took part.
    pub note: Option<VerdictNote>,
}

/// A remark on a verdict.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictNote {
    /// Names of contenders.
    pub contenders: Vec<String>,
    /// Text for people.
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

impl Study {
    /// Names of its contenders.
    pub fn names(&self) -> Vec<&str> {
        self.contenders.iter().map(Entry::name).collect()
    }

    /// Its contender of this name, which was given with this option; the error lists those that it has.
    pub(super) fn named(&self, option: &str, name: &str) -> Result<&Entry, String> {
        let found = self.contenders.iter().find(|entry| entry.name() == name);
        found.ok_or_else(|| format!("{option} {name}: {} has {}", self.name, self.names().join(", ")))
    }
}

#[cfg(test)]
impl Study {
    /// A study without contenders, with these cases and further tables in TOML.
    pub(crate) fn sample(tables: &str) -> Study {
        let head = r#"
            title = "T"
            question = "Q?"
            about = []
            app = "a"
            contenders = []
            full = { rounds = 3, seconds = 10, warm_up_s = 0, clients = 16 }
            quick = { rounds = 1, seconds = 1, warm_up_s = 0, clients = 1 }
            metrics = ["requests_per_s"]
        "#;
        toml::from_str(&format!("{head}\n{tables}")).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tool_or_the_clock_decides_is_no_merit() {
        assert!(Tool::Siege.is_merit(RATE, false) && !Tool::SiegeOnce.is_merit(RATE, true));
        assert!(Tool::Siege.is_merit(ELAPSED, true) && !Tool::Siege.is_merit(ELAPSED, false));
        assert!(!Tool::Wrk.is_merit(ELAPSED, true) && !Tool::SiegeOnce.is_merit(ELAPSED, true));
        assert!(Tool::SiegeOnce.is_merit("mean_ms", true));
        assert!(!Tool::Reload.is_merit(FAILED, false) && Tool::Reload.is_merit("failed_ppm", false));
    }
}
