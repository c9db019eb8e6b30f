//! Settings of one application: engine, workers, limits. A server has one or several applications.

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use engine_ruby::LATER_BOOT_TIME;
pub use front::FOREVER;

use crate::config::arguments::Problem;
use crate::config::engine_kind::EngineKind;
use crate::config::incompatible::Incompatible;

/// Settings of embedded interpreters.
#[derive(Debug, Clone)]
pub struct Mruby {
    pub interpreters: usize,
    pub fresh: bool,
    pub memory_bytes: usize,
}

/// How a Ruby worker reads requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RubyWorker {
    /// With the C extension if possible.
    Auto,
    Plain,
    Native,
}

/// Settings of Ruby processes.
#[derive(Debug, Clone)]
pub struct Ruby {
    /// A name on PATH, or a path.
    pub program: PathBuf,
    /// User of the processes, if not the server's.
    pub user: Option<engine_ruby::User>,
    /// Least and greatest number of workers.
    pub min_workers: usize,
    pub max_workers: usize,
    /// These bounds, if a worker is added within them only while all compute.
    pub computing_bounds: Option<(usize, usize)>,
    /// Whether the application is loaded before workers are forked.
    pub preload: engine_ruby::Preload,
    /// Time after which a surplus idle worker exits.
    pub idle_time: Duration,
    /// Limit of a worker's proportional set size in bytes.
    pub worker_memory: Option<u64>,
    /// Time for a worker to answer the server; zero is no limit.
    pub worker_timeout: Duration,
    pub oob_gc: bool,
    pub early_hints: bool,
    /// Whether the I/O threads and the threads of native workers have the scheduling policy SCHED_BATCH.
    pub is_batch: bool,
    /// Threads with which each worker begins.
    pub threads: usize,
    /// Greatest number of threads of a worker, which it gets while requests wait.
    pub max_threads: usize,
    /// Whether a worker with clients of databases keeps the number of its threads.
    pub spares_databases: bool,
    pub worker: RubyWorker,
    /// The configured hooks file; [`crate::config::rackup::hooks`] finds the default one.
    pub hooks: Option<PathBuf>,
    /// The folder of a script (`ruby app.rb`), for which the gem makes a config.ru in another folder.
    pub script_folder: Option<PathBuf>,
    /// Another server's configuration, after its evaluation.
    pub evaluated: Option<engine_ruby::Evaluated>,
    /// Variables that such a configuration sets for the application.
    pub variables: Vec<(String, String)>,
    /// With this configuration Puma would run in single mode, without workers' hooks.
    pub is_single: bool,
    /// This configuration is of Passenger, whose hooks the application gives to `PhusionPassenger`.
    pub is_passenger: bool,
    /// Time to load the application, and for a worker to be ready; [`FOREVER`] is no limit. Holds for the embedded
    /// engine, too.
    pub boot_time: Duration,
    /// Time from the interruption of a request to the kill of its worker.
    pub kill_time: Duration,
}

impl Ruby {
    /// The folder whose `config/foolsgold.rb` has the hooks by default: that of the script, or of config.ru.
    pub fn hooks_folder<'a>(&'a self, rackup: &'a Path) -> &'a Path {
        self.script_folder.as_deref().or(rackup.parent()).unwrap_or(rackup)
    }
}

/// Bounds of the number of workers.
pub struct WorkerBounds {
    /// Least number.
    pub min: usize,
    /// Greatest number.
    pub max: usize,
    /// Whether one is added above the least number only while all compute.
    pub is_for_computing: bool,
}

/// The probe that new code must pass before it gets requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Probe {
    /// `/up` or `/`, unless the old code fails there, too.
    #[default]
    Usual,
    None,
    Path(String),
}

/// How a reload replaces old code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reload {
    pub probe: Probe,
    /// Number of workers of the new code beside the old ones; `None` is all.
    pub surge: Option<usize>,
    /// Number of old workers replaced at a time; `None` is `surge`.
    pub batch: Option<usize>,
}

/// The environment in which a person works on the application.
pub const DEVELOPMENT: &str = "development";

/// Source of the environment's name, which decides what variables beside RACK_ENV are set to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentSource {
    /// It is set for this program: it replaces the RAILS_ENV and APP_ENV of the server's environment.
    OwnSetting,
    /// A variable that other programs read, too, or another server's file: RAILS_ENV and APP_ENV keep their values.
    OtherSetting,
    /// The default: the application may choose another environment in RAILS_ENV or APP_ENV.
    Default,
}

/// Default boot time of embedded interpreters.
const MRUBY_BOOT_TIME: Duration = Duration::from_secs(60);

/// Name of an application without a configured one.
pub const DEFAULT_NAME: &str = "app";

/// Settings of one application.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// Name in commands, metrics and process titles; `app` by default.
    pub name: String,
    /// Its config.ru, or the folder of that; `None` is the current folder.
    pub rackup: Option<PathBuf>,
    /// Host whose requests it gets, in lower case and without port; `None` is every host.
    pub host: Option<String>,
    /// Path prefix of its requests, without a slash at the end: `` for all, or `/shop`.
    pub prefix: String,
    /// Value of RACK_ENV.
    pub environment: String,
    /// Source of that value.
    pub environment_source: EnvironmentSource,
    /// The configured engine; `None` if the application decides.
    pub engine: Option<EngineKind>,
    /// Settings that only one engine has, if no engine is configured, each with a text for the log.
    pub leanings: Vec<(EngineKind, String)>,
    pub mruby: Mruby,
    pub ruby: Ruby,
    /// Name in process titles, if it is configured; without letters, they have none.
    pub tag: Option<String>,
    pub reload: Reload,
    /// Touching this file reloads the application.
    pub restart_file: Option<PathBuf>,
    pub queue_places: usize,
    /// Number of requests after which an interpreter or a worker is replaced; zero is never.
    pub max_requests: u64,
    /// Random addition to `max_requests`, at most this percentage.
    pub max_requests_jitter: u64,
    /// Duration from which on a request is recorded as slow.
    pub slow_time: Duration,
    /// Time from the last byte of a request to its answer; [`FOREVER`] is no limit.
    pub request_time: Duration,
    /// Whether `request_time` is configured.
    pub has_request_time: bool,
    /// Time that a request may wait in the queue; [`FOREVER`] is no limit.
    pub queue_wait: Duration,
    /// Warnings for the log at the start.
    pub notices: Vec<String>,
    /// Settings that do not fit an engine, for each engine, if none is configured.
    pub incompatible: Vec<(EngineKind, Incompatible)>,
}

impl AppSettings {
    /// The most threads that all workers of the application get while requests wait, beyond those they begin with.
    pub fn later_threads(&self) -> u64 {
        if self.engine == Some(EngineKind::Mruby) {
            return 0;
        }
        let Ruby { threads, max_threads, max_workers, .. } = self.ruby;
        max_threads.saturating_sub(threads).saturating_mul(max_workers) as u64
    }

    /// Adapts the settings to the engine, once the application has decided on it; the error lists settings that do not
    /// fit.
    pub fn fit_to(&mut self, engine: EngineKind) -> Result<(), Vec<Problem>> {
        match engine {
            EngineKind::Mruby if self.ruby.boot_time == FOREVER => self.ruby.boot_time = MRUBY_BOOT_TIME,
            EngineKind::Ruby if self.environment == DEVELOPMENT && !self.has_request_time => {
                self.request_time = FOREVER;
            }
            _ => {}
        }
        for (_, incompatible) in std::mem::take(&mut self.incompatible).into_iter().filter(|(kind, _)| *kind == engine)
        {
            self.notices.extend(incompatible.notices);
            if !incompatible.problems.is_empty() {
                return Err(incompatible.problems);
            }
        }
        Ok(())
    }
}

/// The path prefix that a text names, without a slash at the end; the error says what would be right.
pub fn path_prefix(word: &str) -> Result<String, String> {
    let prefix = word.trim_end_matches('/');
    let plain = |c: char| c.is_ascii_graphic() && !"?#%\"<>\\".contains(c);
    let fits = prefix.is_empty() || (prefix.starts_with('/') && !prefix.contains("//") && prefix.chars().all(plain));
    match fits {
        true => Ok(prefix.to_owned()),
        false => Err("must be a path such as /shop".to_owned()),
    }
}

/// Variables that tell the application its environment. Rails prefers RAILS_ENV, and Sinatra APP_ENV: one that is set
/// keeps its value, unless the environment was set for this program. If no setting names the environment, a missing
/// variable stays missing, as under Puma: Debian's Redmine sets it itself. Those that another server's file sets for
/// the application (`set`) keep theirs in any case, as in Passenger.
pub fn environment_variables(by: EnvironmentSource, set: &[(String, String)]) -> Vec<&'static str> {
    let is_free = |name: &&str| match by {
        EnvironmentSource::OwnSetting => true,
        EnvironmentSource::OtherSetting => std::env::var_os(name).is_none_or(|value| value.is_empty()),
        EnvironmentSource::Default => false,
    };
    let all = std::iter::once("RACK_ENV").chain(["APP_ENV", "RAILS_ENV"].into_iter().filter(is_free));
    all.filter(|name| !set.iter().any(|(other, _)| other == name)).collect()
}
