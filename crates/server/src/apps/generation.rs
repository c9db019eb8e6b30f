//! A generation: an application's code and settings of one moment, loaded in an engine of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Engine, brief};
use engine_ruby::{EXIT_TIME, Evaluated};
use tracing::warn;

use crate::apps::engines::{EngineContext, Refusal, RefusalKind, RunningEngine, Size};
use crate::apps::spec::AppSpec;
use crate::config::app_settings::{AppSettings, DEVELOPMENT, FOREVER};
use crate::config::engine_kind::EngineKind;

/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// An old generation has finished when it was idle for this long: a connection that an application takes over is, for a
/// moment, neither a request nor an upgraded connection.
const QUIET: Duration = Duration::from_millis(100);
/// Time for processes of an old generation to exit if something was cut off. Otherwise it is that of any worker that is
/// replaced.
const CUT_TIME: Duration = Duration::from_secs(1);
/// No shutdown has said yet how much time processes have to exit.
const UNSAID: u64 = u64::MAX;
/// Upper bound of the wait for a worker if that has no limit.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Loaded code.
pub struct Generation {
    /// 1 is the generation that the server started with.
    pub number: u64,
    pub spec: AppSpec,
    pub settings: AppSettings,
    pub running: RunningEngine,
    engine: Arc<dyn Engine>,
}

/// Shutdown state that all generations of an application share.
#[derive(Debug)]
pub struct ShutdownState {
    is_hurried: Arc<AtomicBool>,
    is_paused: AtomicBool,
    refuses_orders: Arc<AtomicBool>,
    /// The time that a shutdown leaves to processes, or [`UNSAID`].
    end_ms: AtomicU64,
}

impl Generation {
    /// Loads the application. Returns when it could serve a request.
    pub fn start(
        number: u64,
        spec: AppSpec,
        settings: AppSettings,
        size: Size,
        engine_context: &EngineContext,
    ) -> Result<Generation, String> {
        // At the start there is no server yet that could be ended, so the application is loaded only once.
        let is_tried = number > 1;
        let start = |spec: &AppSpec, settings: &AppSettings| {
            let tried = if is_tried { RunningEngine::try_in_a_child(spec, settings, engine_context) } else { Ok(()) };
            tried.and_then(|()| RunningEngine::start(spec, settings, size, engine_context))
        };
        let (running, spec, settings) = match (start(&spec, &settings), spec.instead.clone()) {
            (Ok(running), _) => (running, spec, settings),
            (Err(refusal), Some(instead)) if is_for(instead.0.engine, &refusal) => {
                let (theirs, settings) = (*instead).clone();
                (start_instead(&refusal, &theirs, || start(&theirs, &settings))?, theirs, settings)
            }
            (Err(refusal), _) => return Err(refusal.words),
        };
        // What has evaluated another server's file is not needed if it has not become the mold.
        settings.ruby.evaluated.iter().for_each(Evaluated::dismiss);
        let engine = running.engine();
        Ok(Generation { number, spec, settings, running, engine })
    }

    /// The engine that runs the requests.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// Whether its environment is `development`.
    pub fn is_in_development(&self) -> bool {
        self.settings.environment == DEVELOPMENT
    }

    /// A description of the engine, for the log. `scale` is the least and greatest number of workers, where it is not
    /// that of the settings.
    pub fn in_words(&self, scale: Option<(usize, usize)>) -> String {
        let ruby = &self.settings.ruby;
        self.running.in_words(&self.settings, scale.unwrap_or((ruby.min_workers, ruby.max_workers)))
    }

    /// Configured least and greatest number of workers; `None` for the embedded engine.
    pub fn bounds(&self) -> Option<(usize, usize)> {
        let ruby = &self.settings.ruby;
        matches!(self.running, RunningEngine::Ruby(_)).then_some((ruby.min_workers, ruby.max_workers))
    }

    /// Number of worker processes that serve, without those that are exiting.
    pub fn workers_now(&self) -> usize {
        match &self.running {
            RunningEngine::Ruby(engine) => engine.workers(),
            RunningEngine::Mruby(_) => 0,
        }
    }

    /// Number of worker processes now, including those that were stopped and have not exited.
    pub fn processes_now(&self) -> usize {
        match &self.running {
            RunningEngine::Ruby(engine) => engine.processes(),
            RunningEngine::Mruby(_) => 0,
        }
    }

    /// Lets the generation finish and stops it: requests have their own time limits, streams and upgraded connections
    /// `time`. It must get no requests any more. `hand_over` moves requests that come back to its queue to newer code.
    pub fn finish(&self, time: Duration, shutdown: &ShutdownState, hand_over: impl Fn()) {
        self.engine.close();
        wait_for_rest(&*self.engine, time, self.longest(), shutdown, hand_over);
        // What has had its time gets no more. At a shutdown the whole process ends.
        if !shutdown.is_hurried() {
            self.running.cut();
        }
        let end_time = if self.engine.unfinished() == 0 { shutdown.end_time() } else { CUT_TIME };
        self.running.stop(end_time.min(shutdown.end_time()));
    }

    /// Longest time from a request's arrival to its end; zero if that has no limit.
    fn longest(&self) -> Duration {
        if self.settings.request_time == FOREVER {
            return Duration::ZERO;
        }
        self.settings.queue_wait.min(LONGEST_WAIT) + self.settings.request_time + self.settings.ruby.kill_time
    }
}

impl ShutdownState {
    /// The state of an application. A shutdown sets the second flag when it begins, and the first when nothing is
    /// waited for any more; the engines have the flags, too.
    pub fn new(is_hurried: Arc<AtomicBool>, refuses_orders: Arc<AtomicBool>) -> ShutdownState {
        ShutdownState { is_hurried, is_paused: false.into(), refuses_orders, end_ms: UNSAID.into() }
    }

    /// The server shuts down: nothing is waited for, and processes have this time to exit, or less if that was said
    /// before.
    pub fn hurry(&self, time: Duration) {
        self.end_ms.fetch_min(time.as_millis() as u64, Ordering::Relaxed);
        self.is_hurried.store(true, Ordering::SeqCst);
    }

    /// Whether the server shuts down.
    pub fn is_hurried(&self) -> bool {
        self.is_hurried.load(Ordering::SeqCst)
    }

    /// The server shuts down: from now on orders that change its workers are refused. Does not wait for one that is
    /// being carried out.
    pub fn refuse_orders(&self) {
        self.refuses_orders.store(true, Ordering::SeqCst);
    }

    /// Whether orders that change its workers are refused.
    pub fn refuses_orders(&self) -> bool {
        self.refuses_orders.load(Ordering::SeqCst)
    }

    /// Sets whether requests are paused; meanwhile the time to finish them stands still.
    pub fn set_paused(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }

    /// Time that processes have to exit: what a shutdown has said, or that of any worker that is replaced.
    pub fn end_time(&self) -> Duration {
        match self.end_ms.load(Ordering::Relaxed) {
            UNSAID => EXIT_TIME,
            ms => Duration::from_millis(ms),
        }
    }
}

/// Waits until a closed engine has finished: streams and upgraded connections have `time`, requests `longest` beyond
/// that. Calls `hand_over` while requests wait in its queue. They come back there from a worker that dies, or does not
/// run, and from behind a long request; an I/O thread may also have been about to offer one.
fn wait_for_rest(
    engine: &dyn Engine,
    time: Duration,
    longest: Duration,
    shutdown: &ShutdownState,
    hand_over: impl Fn(),
) {
    let mut until = Instant::now() + time;
    // Requests end by their own deadlines: this bound is a safeguard.
    let mut at_last = until + longest;
    let mut quiet_since = None;
    let mut was_answered = false;
    while !shutdown.is_hurried() {
        if engine.status().queued > 0 {
            hand_over();
        }
        let now = Instant::now();
        quiet_since = if engine.unfinished() == 0 { quiet_since.or(Some(now)) } else { None };
        // Twice in a row: a request of a worker that dies at this moment may be on its way back to the queue.
        let is_answered = now >= until && engine.unanswered() == 0;
        let is_over = now >= until && (is_answered && was_answered || now >= at_last);
        was_answered = is_answered;
        if is_over || quiet_since.is_some_and(|since| now.saturating_duration_since(since) >= QUIET) {
            break;
        }
        if shutdown.is_paused.load(Ordering::Relaxed) {
            until += POLL_INTERVAL;
            at_last += POLL_INTERVAL;
        }
        thread::park_timeout(POLL_INTERVAL);
    }
}

/// Whether this engine is tried after such a refusal by the other one.
fn is_for(engine: EngineKind, refusal: &Refusal) -> bool {
    match engine {
        EngineKind::Ruby => refusal.kind == RefusalKind::App,
        EngineKind::Mruby => refusal.kind == RefusalKind::NoRack,
    }
}

/// Loads with the other engine what the chosen one could not load. If both fail, the error has both texts, unless they
/// agree: then the application is at fault.
fn start_instead(
    refusal: &Refusal,
    spec: &AppSpec,
    start: impl FnOnce() -> Result<RunningEngine, Refusal>,
) -> Result<RunningEngine, String> {
    let began = Instant::now();
    let first = refusal.words.lines().next().unwrap_or_default();
    let running = start().map_err(|second| {
        if second.words.lines().next() == Some(first) {
            return second.words;
        }
        let name = match spec.engine {
            EngineKind::Ruby => "Ruby",
            EngineKind::Mruby => "the embedded engine",
        };
        format!("{}\n  Nor does {name} load it: {}", refusal.words, second.words)
    })?;
    match spec.engine {
        EngineKind::Ruby => warn!(
            target: "server",
            "the engine is Ruby's after all, and has taken {} to load it, because the embedded one did not: {first}; \
             --engine ruby spares the attempt",
            brief(began.elapsed())
        ),
        EngineKind::Mruby => warn!(
            target: "server",
            "{}: {first}; with the gem rack Ruby runs it, and --engine ruby refuses to start without",
            spec.why
        ),
    }
    Ok(running)
}

/// Polls until the condition holds, or the time has come. Returns whether it holds.
pub fn wait_until(until: Instant, mut is_so: impl FnMut() -> bool) -> bool {
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        thread::park_timeout(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use engine::{Fault, Reply, Request, Status};

    use super::*;

    /// An engine with requests in its queue that no worker takes. Unless `answers` is empty, one more request runs, and
    /// is answered or not at each look, as listed.
    #[derive(Default)]
    struct Old {
        queued: AtomicUsize,
        answers: Vec<bool>,
        looks: AtomicUsize,
    }

    impl Engine for Old {
        fn call(&self, _: Request) -> Reply {
            Reply::ready(Err(Fault::Stopping))
        }

        fn status(&self) -> Status {
            let busy = usize::from(!self.answers.is_empty());
            Status { busy, queued: self.queued.load(Ordering::SeqCst), ..Status::default() }
        }

        fn unanswered(&self) -> usize {
            let look = self.looks.fetch_add(1, Ordering::SeqCst);
            usize::from(!self.answers[look])
        }

        fn close(&self) {}
    }

    #[test]
    fn old_code_whose_request_is_seen_with_its_answer_once_and_then_without_goes_on() {
        let old = Old { answers: vec![true, false, true, true], ..Old::default() };
        let shutdown = ShutdownState::new(Arc::default(), Arc::default());
        wait_for_rest(&old, Duration::ZERO, Duration::from_secs(60), &shutdown, || {});
        assert_eq!(old.looks.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn a_shutdown_may_leave_processes_more_time_than_a_reload_and_less_later() {
        let shutdown = ShutdownState::new(Arc::default(), Arc::default());
        assert_eq!(shutdown.end_time(), EXIT_TIME);
        for (said, left) in [(120, 120), (1, 1), (30, 1)] {
            shutdown.hurry(Duration::from_secs(said));
            assert_eq!(shutdown.end_time(), Duration::from_secs(left));
        }
    }

    #[test]
    fn what_comes_back_to_the_queue_of_old_code_is_handed_over_each_time() {
        let old = Old { queued: AtomicUsize::new(3), ..Old::default() };
        let shutdown = ShutdownState::new(Arc::default(), Arc::default());
        let handed_over = AtomicUsize::new(0);
        let hand_over = || {
            handed_over.fetch_add(1, Ordering::SeqCst);
            old.queued.fetch_sub(1, Ordering::SeqCst);
        };
        let time = Duration::from_secs(5);
        let begun = Instant::now();
        wait_for_rest(&old, time, Duration::ZERO, &shutdown, hand_over);
        assert_eq!((handed_over.load(Ordering::SeqCst), old.queued.load(Ordering::SeqCst)), (3, 0));
        assert!(begun.elapsed() < time, "it had finished");
    }
}
