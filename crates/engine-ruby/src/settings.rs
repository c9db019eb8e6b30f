//! How the engine is to work.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Meter;

use crate::budget::Budget;
use crate::process::reader::Evaluated;
use crate::process::user::User;

/// Where the application is loaded. A Ruby that cannot fork loads it in each worker, whatever this says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preload {
    /// In each worker, after it has been forked.
    No,
    /// Once, in the mold, which is then forked; unless the application holds connections that workers would share: then
    /// as with [`Preload::No`].
    Yes,
    /// Once, in the mold, which is forked whatever the application holds open.
    Force,
}

impl Preload {
    /// The word in SETUP.
    pub fn as_str(self) -> &'static str {
        match self {
            Preload::No => "no",
            Preload::Yes => "yes",
            Preload::Force => "force",
        }
    }
}

/// As [`Settings::hooks_kind`]: a file of Puma, with which that would run a single process and no hooks of workers.
pub const PUMA_SINGLE: &str = "puma, single";

/// How the engine is to work. The caller decides all of it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The Ruby: a name that is looked for on PATH, or a path.
    pub ruby: PathBuf,
    /// The application: a rackup file, absolute.
    pub rackup: PathBuf,
    /// The Gemfile that Bundler is to use, absolute.
    pub gemfile: Option<PathBuf>,
    /// Folders that come before all others in $LOAD_PATH.
    pub load_path: Vec<PathBuf>,
    /// The Ruby file with hooks, absolute.
    pub hooks: Option<PathBuf>,
    /// Whose configuration that file is: `puma`, `unicorn` or `pitchfork`; nothing where it is a hooks file of ours.
    pub hooks_kind: String,
    /// The directives of that server.
    pub hooks_names: Vec<&'static str>,
    /// Another server's configuration that was evaluated: the process that did it becomes the first mold.
    pub evaluated: Option<Evaluated>,
    /// Whether the start tries again while a hook keeps workers from starting, as Puma and Unicorn do. Otherwise a
    /// failing hook is an error of the start.
    pub retries_hooks: bool,
    /// The accelerator, a Ruby extension, absolute.
    pub native: Option<PathBuf>,
    /// Whether the application is loaded before workers are forked.
    pub preload: Preload,
    /// What RACK_ENV says, such as `production`.
    pub environment: String,
    /// What processes are called beside their role.
    pub tag: String,
    /// As the log calls the application; none where there is only one.
    pub app: Option<String>,
    /// Whom processes run as, where that is not whom this one does; the right to say so is root's.
    pub user: Option<User>,
    /// How many files processes may have open (the soft limit), where that is less than this process may.
    pub open_files: Option<u64>,
    /// Never fewer worker processes than this; with 0, the first request after a rest waits for one.
    pub min_workers: usize,
    /// Never more, but for one while it takes the place of another.
    pub max_workers: usize,
    /// A worker that was not needed for so long leaves, as long as there are more than the fewest.
    pub idle_time: Duration,
    /// Shared with other applications: how many workers they have together.
    pub budget: Option<Arc<Budget>>,
    /// A worker is replaced after so many requests; 0 for never.
    pub max_requests: u64,
    /// And up to so many percent of that later, each at its own time.
    pub max_requests_jitter: u64,
    /// A worker is replaced when its proportional share of memory is larger, in bytes.
    pub worker_memory: Option<u64>,
    /// A worker that does not answer for so long is killed; zero for never.
    pub worker_timeout: Duration,
    /// Whether workers collect garbage between requests.
    pub oob_gc: bool,
    /// Whether applications find `rack.early_hints`.
    pub early_hints: bool,
    /// A request that takes so long is recorded.
    pub slow_time: Duration,
    /// Counts, and keeps what is recorded.
    pub meter: Arc<Meter>,
    /// How many threads in each.
    pub threads: usize,
    /// How many requests may wait.
    pub queue_places: usize,
    /// A mold or a worker must be ready within this time.
    pub boot_time: Duration,
    /// A worker whose request is not over so long after its deadline is killed.
    pub kill_time: Duration,
    /// A worker that leaves keeps connections that the application took over in it for so long.
    pub linger: Duration,
    /// Set while the engine starts, it ends the start.
    pub called_off: Arc<AtomicBool>,
}
