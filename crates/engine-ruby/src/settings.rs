//! The settings of an engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Meter;

use crate::budget::Budget;
use crate::fleet::Policy;
use crate::preload::Preload;
use crate::process::reader::Evaluated;
use crate::process::user::User;

/// Why a worker is added above the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// Requests wait.
    Waiting,
    /// Requests wait while every worker computes one for much longer than most take. In a further process a request
    /// gets its share of the processors at once; in a further thread of a busy process it waits for Ruby's lock.
    Computing,
}

/// The [`Settings::hooks_kind`] of a Puma configuration for a single process, in which Puma runs no worker hooks.
pub const PUMA_SINGLE: &str = "puma, single";

/// The settings of an engine. The caller decides all of them; there are no defaults.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The Ruby executable: a path, or a name that is looked up in PATH.
    pub ruby: PathBuf,
    /// The absolute path of the rackup file.
    pub rackup: PathBuf,
    /// The absolute path of the Gemfile for Bundler.
    pub gemfile: Option<PathBuf>,
    /// The absolute path of its lock file, if that is not the one that Bundler finds by the Gemfile.
    pub lockfile: Option<PathBuf>,
    /// Folders at the front of `$LOAD_PATH`.
    pub load_path: Vec<PathBuf>,
    /// The absolute path of the Ruby file with hooks.
    pub hooks: Option<PathBuf>,
    /// The server whose configuration the hooks file is: `puma`, `unicorn` or `pitchfork`; empty for a hooks file of
    /// this server.
    pub hooks_kind: String,
    /// The names of that server's directives.
    pub hooks_names: Vec<&'static str>,
    /// Whether the server limits the heaps of malloc in Ruby processes; false where a variable of theirs does.
    pub limits_heaps: bool,
    /// Whether the application finds `PhusionPassenger`, to give hooks to it.
    pub is_passenger: bool,
    /// An evaluated configuration of another server; the process that evaluated it becomes the first mold.
    pub evaluated: Option<Evaluated>,
    /// Whether the start is retried while a hook keeps workers from starting, as Puma and Unicorn do. Otherwise a
    /// failing hook is an error of the start.
    pub retries_hooks: bool,
    /// The absolute paths of native workers, Ruby extensions ([`built`](crate::native::built)). The mold takes the
    /// first that is for its Ruby, by the name of its folder.
    pub native: Vec<PathBuf>,
    /// Whether the start fails if none of these is for this Ruby ([`StartError::NoNative`](crate::StartError)): before
    /// the application is loaded, so that the caller can build one and start again.
    pub needs_native: bool,
    /// Whether the application is loaded before workers are forked.
    pub preload: Preload,
    /// The value of RACK_ENV, such as `production`.
    pub environment: String,
    /// The variables that are set to it: `RACK_ENV`, and `APP_ENV` and `RAILS_ENV` unless they stay as they are.
    pub environment_variables: Vec<&'static str>,
    /// Further variables of processes, with their values, which may be secret.
    pub variables: Vec<(String, String)>,
    /// The tag in process titles, beside the role of the process.
    pub tag: String,
    /// The name of the application in the log; none if there is only one.
    pub app: Option<String>,
    /// The user that processes run as, if that is another than this process's; only root can set it.
    pub user: Option<User>,
    /// The soft limit of open files for processes, if it is lower than that of this process.
    pub open_files: Option<u64>,
    /// The minimum number of workers. With 0, the first request after an idle time waits for a worker to start.
    pub min_workers: usize,
    /// The maximum number of workers, exceeded by one while a worker is being replaced.
    pub max_workers: usize,
    /// The number of workers with which the server starts, for hooks of Unicorn. New code of a reload may begin with
    /// fewer.
    pub first_workers: usize,
    /// Bounds of the number of workers within which one is added only while all compute. Within others, such as those
    /// of an operator, one is added whenever requests wait.
    pub computing_bounds: Option<(usize, usize)>,
    /// The time after which a worker that was not needed exits, as long as there are more than the minimum.
    pub idle_time: Duration,
    /// The limit on workers that is shared with other applications.
    pub budget: Option<Arc<Budget>>,
    /// Number of requests after which a worker is replaced; 0 for never.
    pub max_requests: u64,
    /// Percentage of `max_requests` by which the number is raised at random for each worker, so that they are not
    /// replaced at once.
    pub max_requests_jitter: u64,
    /// The proportional share of memory (PSS), in bytes, above which a worker is replaced.
    pub worker_memory: Option<u64>,
    /// The time without an answer after which a worker is killed; zero for never.
    pub worker_timeout: Duration,
    /// Whether workers collect garbage between requests.
    pub oob_gc: bool,
    /// Whether the environment has `rack.early_hints`.
    pub early_hints: bool,
    /// Whether the I/O threads and the threads of native workers have the scheduling policy SCHED_BATCH.
    pub is_batch: bool,
    /// The time from which a request is recorded as slow.
    pub slow_time: Duration,
    /// Counts requests and keeps recorded ones.
    pub meter: Arc<Meter>,
    /// Number of threads with which a worker begins.
    pub threads: usize,
    /// Maximum number of threads of a worker. It gets further ones while requests wait in the queue and those that it
    /// runs wait for something other than a processor.
    pub max_threads: u32,
    /// Whether a worker that has loaded a client of a database keeps the number of its threads: each may open a
    /// connection.
    pub spares_databases: bool,
    /// Maximum number of waiting requests.
    pub queue_places: usize,
    /// The time within which a mold or a worker must be ready.
    pub boot_time: Duration,
    /// The time after the deadline of a request after which its worker is killed.
    pub kill_time: Duration,
    /// The time for which a retired worker keeps upgraded connections that the application has taken over.
    pub linger: Duration,
    /// Cancels the start when it is set while the engine starts.
    pub called_off: Arc<AtomicBool>,
    /// Set when the server begins to shut down. From then on a worker that an operator ends is not replaced while
    /// another one serves, and a signal to a worker, which was for the whole service, does not end it.
    pub is_shutting_down: Arc<AtomicBool>,
}

impl Settings {
    /// Returns why a worker is added while the bounds are these.
    pub(crate) fn growth(&self, min: usize, max: usize) -> Growth {
        if self.computing_bounds == Some((min, max)) { Growth::Computing } else { Growth::Waiting }
    }

    /// Returns the part of the settings by which the fleet decides.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            ruby: self.ruby.clone(),
            preload: self.preload,
            threads: self.threads,
            min_workers: self.min_workers,
            max_workers: self.max_workers,
            retries_hooks: self.retries_hooks,
            boot_time: self.boot_time,
            worker_timeout: self.worker_timeout,
            worker_memory: self.worker_memory,
        }
    }
}
