//! One generation of an application: its code and its settings of one moment, loaded in an engine of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Engine, brief};
use tracing::warn;

use crate::apps::engines::{EngineContext, Refusal, RefusalKind, Running, Size};
use crate::apps::spec::AppSpec;
use crate::config::app_settings::{AppSettings, FOREVER};

/// How often it is looked whether something has come to pass.
const LOOK: Duration = Duration::from_millis(10);
/// An old generation is over when it has had nothing to do for so long: a connection that an application takes over is
/// for a moment neither a request any more nor a connection of the application yet.
const QUIET: Duration = Duration::from_millis(100);
/// Processes of an old generation have so long to end when they have nothing to do: for hooks and `at_exit` blocks.
const END_TIME: Duration = Duration::from_secs(10);
/// And so long when something is cut off.
const CUT_TIME: Duration = Duration::from_secs(1);
/// A wait for a worker is taken to be no longer than this where it has no limit.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Loaded code.
pub struct Generation {
    /// 1 is what the server started with.
    pub number: u64,
    pub found: AppSpec,
    pub settings: AppSettings,
    running: Running,
    engine: Arc<dyn Engine>,
}

/// What all generations of an application must know that have to go.
#[derive(Debug)]
pub struct ShutdownState {
    is_hurried: Arc<AtomicBool>,
    is_paused: AtomicBool,
    end_ms: AtomicU64,
}

impl Generation {
    /// Loads the application. Returns when the first request could be served.
    pub fn start(
        number: u64,
        (found, settings): (AppSpec, AppSettings),
        size: Size,
        base: &EngineContext,
    ) -> Result<Generation, String> {
        // At the start there is no server yet that could be ended, and an application need not be loaded twice.
        let tried = if number > 1 { Running::try_in_a_child(&found, &settings, base) } else { Ok(()) };
        let running = tried.and_then(|()| Running::start(&found, &settings, size, base));
        let (running, found, settings) = match (running, found.instead.clone()) {
            (Ok(running), _) => (running, found, settings),
            (Err(refusal), Some(instead)) if refusal.kind == RefusalKind::App => {
                let (theirs, settings) = (*instead).clone();
                (start_instead(&refusal, &theirs, &settings, size, base)?, theirs, settings)
            }
            (Err(refusal), _) => return Err(refusal.words),
        };
        let engine = running.engine();
        Ok(Generation { number, found, settings, running, engine })
    }

    /// What runs the requests.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// What runs, with its numbers, for the log.
    pub fn in_words(&self) -> String {
        self.running.in_words(&self.settings)
    }

    /// The fewest and the most workers that its settings say; none where nothing can be counted in workers.
    pub fn bounds(&self) -> Option<(usize, usize)> {
        let ruby = &self.settings.ruby;
        matches!(self.running, Running::Ruby(_)).then_some((ruby.min_workers, ruby.max_workers))
    }

    /// How many workers are there now, those that are leaving among them.
    pub fn workers_now(&self) -> usize {
        self.engine.status().capacity / self.settings.ruby.threads.max(1)
    }

    /// How many processes its workers have, those that have left and have not ended yet among them.
    pub fn processes_now(&self) -> usize {
        match &self.running {
            Running::Ruby(engine) => engine.processes(),
            Running::Mruby(_) => 0,
        }
    }

    /// Lets it finish, and ends it: requests within their own times, and what the application streams or has taken over
    /// within this time. Nobody may give it requests any more.
    pub fn finish(&self, time: Duration, shutdown: &ShutdownState) {
        self.engine.close();
        let mut until = Instant::now() + time;
        // Requests end by their own deadlines: this bound is for what should not be.
        let mut at_last = until + self.longest();
        let mut quiet_since = None;
        while !shutdown.is_hurried() {
            let now = Instant::now();
            quiet_since = if self.engine.unfinished() == 0 { quiet_since.or(Some(now)) } else { None };
            let is_over = now >= until && (self.engine.unanswered() == 0 || now >= at_last);
            if is_over || quiet_since.is_some_and(|since| now.saturating_duration_since(since) >= QUIET) {
                break;
            }
            if shutdown.is_paused.load(Ordering::Relaxed) {
                until += LOOK;
                at_last += LOOK;
            }
            thread::park_timeout(LOOK);
        }
        // What has had its time is not asked twice.
        let end_time = if self.engine.unfinished() == 0 { shutdown.end_time() } else { CUT_TIME };
        self.running.stop(end_time.min(shutdown.end_time()));
    }

    /// How long a request may take from its coming to its end, whatever it does; nothing where that has no limit.
    fn longest(&self) -> Duration {
        if self.settings.request_time == FOREVER {
            return Duration::ZERO;
        }
        self.settings.queue_wait.min(LONGEST_WAIT) + self.settings.request_time + self.settings.ruby.kill_time
    }

    /// Ends it within this time, whatever it does.
    pub fn stop(&self, time: Duration) {
        self.running.stop(time);
    }
}

impl ShutdownState {
    /// Nobody has to hurry until the flag is set: the server ends then.
    pub fn new(is_hurried: Arc<AtomicBool>) -> ShutdownState {
        let end_ms = AtomicU64::new(END_TIME.as_millis() as u64);
        ShutdownState { is_hurried, is_paused: AtomicBool::new(false), end_ms }
    }

    /// The server ends: nothing is waited for any more, and processes have this time.
    pub fn hurry(&self, time: Duration) {
        self.end_ms.store(time.as_millis() as u64, Ordering::Relaxed);
        self.is_hurried.store(true, Ordering::SeqCst);
    }

    /// Whether the server ends.
    pub fn is_hurried(&self) -> bool {
        self.is_hurried.load(Ordering::SeqCst)
    }

    /// While requests are held back, the time in which they must be finished stands still.
    pub fn set_paused(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }

    fn end_time(&self) -> Duration {
        Duration::from_millis(self.end_ms.load(Ordering::Relaxed))
    }
}

/// Loads with the user's Ruby what the embedded engine could not load. What neither can load is told in the words of
/// both, unless they agree: then the fault is the application's.
fn start_instead(
    refusal: &Refusal,
    found: &AppSpec,
    settings: &AppSettings,
    size: Size,
    base: &EngineContext,
) -> Result<Running, String> {
    let began = Instant::now();
    let first = refusal.words.lines().next().unwrap_or_default();
    let running = Running::start(found, settings, size, base).map_err(|second| {
        if second.words.lines().next() == Some(first) {
            return second.words;
        }
        format!("{}\n  Nor does Ruby load it: {}", refusal.words, second.words)
    })?;
    warn!(
        target: "server",
        "the engine is Ruby's after all, and has taken {} to load it, because the embedded one did not: {first}; \
         --engine ruby spares the attempt",
        brief(began.elapsed())
    );
    Ok(running)
}

/// Looks again and again; whether it came to pass.
pub fn wait_until(until: Instant, mut is_so: impl FnMut() -> bool) -> bool {
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        thread::park_timeout(LOOK);
    }
}
