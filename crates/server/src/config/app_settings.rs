//! What one application is given: its engine, its workers, its limits. A server has one or several.

use std::path::PathBuf;
use std::time::Duration;

pub use front::FOREVER;

use crate::config::arguments::Problem;
use crate::config::engine_kind::EngineKind;
use crate::config::incompatible::Incompatible;

/// What embedded interpreters are given.
#[derive(Debug, Clone)]
pub struct Mruby {
    pub interpreters: usize,
    pub fresh: bool,
    pub memory_bytes: usize,
}

/// How a Ruby worker reads requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RubyWorker {
    /// Native where it can be.
    Auto,
    Plain,
    Native,
}

/// What Ruby processes are given.
#[derive(Debug, Clone)]
pub struct Ruby {
    /// A name on PATH, or a path.
    pub program: PathBuf,
    /// Whom they run as, if not whom the server does.
    pub user: Option<engine_ruby::User>,
    /// Never fewer, and never more.
    pub min_workers: usize,
    pub max_workers: usize,
    /// Where the application is loaded.
    pub preload: engine_ruby::Preload,
    /// When one too many leaves.
    pub idle_time: Duration,
    /// In bytes of its proportional share.
    pub worker_memory: Option<u64>,
    /// In which it must answer the server; zero means that it need not.
    pub worker_timeout: Duration,
    pub oob_gc: bool,
    pub early_hints: bool,
    /// Of each worker.
    pub threads: usize,
    pub worker: RubyWorker,
    /// The hooks file that was named; see [`crate::config::rackup::hooks`] for the one that is found.
    pub hooks: Option<PathBuf>,
    /// Another server's configuration, as it was evaluated.
    pub evaluated: Option<engine_ruby::Evaluated>,
    /// With such a file Puma would run a single process, and no hooks of workers.
    pub is_single: bool,
    /// In which the application must be loaded, and a worker be ready, [`FOREVER`] where there is no limit; of the
    /// other engine, too.
    pub boot_time: Duration,
    /// From the soft interrupt of a request to the end of its worker.
    pub kill_time: Duration,
}

/// What new code must answer before it gets requests of clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Probe {
    /// What every application has, unless the old code cannot answer it either.
    #[default]
    Usual,
    None,
    Path(String),
}

/// How a reload goes from old code to new.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reload {
    pub probe: Probe,
    /// How many workers may exist beside the old ones; `None` is as many as there are to be.
    pub surge: Option<usize>,
    /// How many old workers go at a time; `None` is as many as `surge`.
    pub batch: Option<usize>,
}

/// The environment in which a person works on the application.
pub const DEVELOPMENT: &str = "development";
/// The time for a boot while old code, or another worker, serves: one that hangs must not keep later ones from coming.
pub const LATER_BOOT_TIME: Duration = Duration::from_secs(600);
/// The time for loading an application into embedded interpreters when nobody says any.
const MRUBY_BOOT_TIME: Duration = Duration::from_secs(60);

/// The name of an application that has none.
pub const NOBODY_NAMED_IT: &str = "app";

/// One application.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// What it is called in commands, metrics and titles; of one that nobody named: `app`.
    pub name: String,
    /// Its config.ru, or the folder of that; `None` is the current folder.
    pub rackup: Option<PathBuf>,
    /// It gets requests for this host only, in lower case and without a port; `None` is every host.
    pub host: Option<String>,
    /// It gets requests whose path is this or below it, without a slash at its end: `` is all, `/shop`.
    pub prefix: String,
    /// What it finds in RACK_ENV.
    pub environment: String,
    /// The engine that was named; otherwise the application decides.
    pub engine: Option<EngineKind>,
    /// What was asked for that only one engine has, where none was named, each with the words for it.
    pub leanings: Vec<(EngineKind, String)>,
    pub mruby: Mruby,
    pub ruby: Ruby,
    /// What process titles call the application, if somebody said it.
    pub tag: Option<String>,
    pub reload: Reload,
    /// Whoever touches this file has the application loaded anew.
    pub restart_file: Option<PathBuf>,
    pub queue_places: usize,
    /// After which an interpreter or a worker is replaced; zero means never.
    pub max_requests: u64,
    /// How many more it may be, in percent.
    pub max_requests_jitter: u64,
    /// From when on a request is slow.
    pub slow_time: Duration,
    /// From the last byte of a request to its answer; [`FOREVER`] where there is no limit.
    pub request_time: Duration,
    /// Somebody said how long that is.
    pub has_request_time: bool,
    /// How long a request may wait; [`FOREVER`] where there is no limit.
    pub queue_wait: Duration,
    /// Things that are worth a warning at start.
    pub notices: Vec<String>,
    /// What does not fit an engine that nobody named, for when it is known.
    pub incompatible: Vec<(EngineKind, Incompatible)>,
}

impl AppSettings {
    /// To be called when the application has decided on its engine.
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
