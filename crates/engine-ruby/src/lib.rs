//! The engine that runs a Rack application on worker processes of the user's own Ruby, behind one queue.
//!
//! Reading order: PROTOCOL.md, `frames` and `shapes` (the wire), `slot` and `answer` (one thread of a worker),
//! `worker`, `pace` and `dispatch` (who gets what), `pool` (the way of a request), `watch` (deadlines), `supervisor`
//! with `starts`, `arrivals`, `ends`, `size` and `health` (who lives), `door` (where Ruby comes in).

#![expect(clippy::vec_box, reason = "a job is large, goes from hand to hand, and keeps its place in memory")]

mod answer;
mod arrivals;
mod backoff;
mod boot;
mod budget;
mod commands;
mod control;
mod dispatch;
mod door;
mod ends;
mod exec_hooks;
pub mod frames;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod headroom;
mod health;
mod held;
mod job;
mod late;
mod memory;
pub mod native;
mod orders;
mod pace;
mod place;
mod pool;
mod process;
pub mod reader;
mod reason;
mod relay;
mod row;
mod scripts;
mod shapes;
mod size;
mod slot;
mod starts;
mod supervisor;
mod taken;
mod title;
mod usage;
pub mod user;
mod view;
mod watch;
mod worker;

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{AppError, Engine, Meter, Order, Recorded, Reply, Request, Snapshot, Status, Surroundings};
use tokio::runtime::Handle;

pub use budget::Budget;
pub use reader::Evaluated;
pub use user::User;

use pool::Pool;
use supervisor::Supervisor;

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

/// Why the engine could not start.
#[derive(Debug)]
pub enum StartError {
    /// The application raised while it was loaded.
    App(Box<AppError>),
    /// A hook raised in a worker that was starting: its name, its file and line or nothing, and the exception.
    Hook(String, String, Box<AppError>),
    /// Nothing can be given to that user.
    User(String, std::io::Error),
    /// This was started, and ended in these words before it spoke to us.
    NoRuby(PathBuf, String),
    /// The Ruby could not be started.
    Ruby(PathBuf, std::io::Error),
    /// The Ruby ended before the application was loaded.
    Ended(String),
    /// The application was not loaded in time.
    Late(Duration),
    /// Nobody wants it any more.
    CalledOff,
    /// The machine refused a thread, a folder or a socket.
    Machine(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::App(error) => in_full(f, error),
            StartError::Hook(hook, place, error) => {
                let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
                write!(f, "the hook {hook}{place} failed: ")?;
                in_full(f, error)
            }
            StartError::Ruby(ruby, error) => f.write_str(&no_ruby(ruby, error)),
            StartError::NoRuby(ruby, how) => write!(
                f,
                "{how}, and has not run a line of the server's Ruby code: is {} a Ruby? --ruby names another",
                ruby.display()
            ),
            StartError::User(user, error) => {
                write!(f, "the Ruby processes cannot run as {user}: {error}; only root can start them as another user")
            }
            StartError::Ended(how) => write!(f, "the Ruby process ended before the application was loaded: {how}"),
            StartError::Late(time) => write!(f, "the application was not loaded within {time:?} (--boot-time)"),
            StartError::CalledOff => f.write_str("it was called off"),
            StartError::Machine(error) => write!(f, "no thread, folder or socket for the Ruby processes: {error}"),
        }
    }
}

/// An exception with its backtrace.
fn in_full(f: &mut fmt::Formatter<'_>, error: &AppError) -> fmt::Result {
    write!(f, "{}: {}", error.class, error.message)?;
    error.lines().try_for_each(|line| write!(f, "\n    {line}"))
}

impl std::error::Error for StartError {}

/// Why this Ruby cannot be started, and what to do about it.
pub fn no_ruby(ruby: &Path, error: &std::io::Error) -> String {
    let is_name = !ruby.as_os_str().as_encoded_bytes().contains(&b'/');
    // A folder of PATH that may not be looked into is one in which it is not.
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied if is_name => format!(
            "there is no {} on PATH: install one (apt install ruby ruby-rack), or name one with --ruby",
            ruby.display()
        ),
        _ => format!("the Ruby {} cannot be started: {error}; name another with --ruby", ruby.display()),
    }
}

/// The engine.
pub struct RubyEngine {
    pool: Arc<Pool>,
    supervisor: Supervisor,
    meter: Arc<Meter>,
    /// What was loaded, in which Ruby.
    facts: Vec<(String, String)>,
}

impl RubyEngine {
    /// Loads the application and starts the workers; returns when the first is ready (or, where there need be none, the
    /// application loaded), or with what kept it from being.
    /// Answers are read on `lanes`, the event loops of the I/O threads.
    pub fn start(settings: Settings, lanes: Vec<Handle>) -> Result<Arc<RubyEngine>, StartError> {
        let meter = settings.meter.clone();
        let (pool, supervisor, facts) = boot::boot(settings, lanes)?;
        Ok(Arc::new(RubyEngine { pool, supervisor, meter, facts }))
    }

    /// What the mold said when it was ready, such as `ruby` and its version.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// How many processes of workers there are, those that have left and have not ended yet among them.
    pub fn processes(&self) -> usize {
        self.pool.processes()
    }

    /// Ends all processes, those that do not end by themselves within this time by force.
    pub fn stop(&self, time: Duration) {
        self.pool.close();
        self.pool.is_to_end();
        self.supervisor.stop(time);
    }
}

impl Engine for RubyEngine {
    fn call(&self, request: Request) -> Reply {
        self.pool.call(request)
    }

    fn status(&self) -> Status {
        self.pool.status()
    }

    fn close(&self) {
        self.pool.close();
    }

    fn unfinished(&self) -> usize {
        self.pool.unfinished()
    }

    fn unanswered(&self) -> usize {
        self.pool.unanswered()
    }

    fn snapshot(&self) -> Snapshot {
        self.pool.snapshot()
    }

    fn recorded(&self) -> Recorded {
        self.meter.recorder.read()
    }

    fn order(&self, order: Order) -> Result<String, String> {
        self.supervisor.order(order)
    }

    fn before_exec(&self, limit: Duration) -> Result<Surroundings, String> {
        self.supervisor.before_exec(limit)
    }
}
