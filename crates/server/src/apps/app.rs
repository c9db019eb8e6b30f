//! An application: the generation that gets its requests, earlier ones that still finish theirs, and the log of its
//! deploys and manual orders.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use engine::{Engine, Meter, Order, Reply, Request, Snapshot, Status, count};
use parking_lot::{Mutex, MutexGuard};
use tracing::{info, warn};

use crate::apps::coalesced_runs::CoalescedRuns;
use crate::apps::context::AppContext;
use crate::apps::deploy_record::{DeployOutcome, DeployRecord};
use crate::apps::engines::{EngineContext, Size};
use crate::apps::generation::{Generation, ShutdownState, wait_until};
use crate::apps::spec::AppSpec;
use crate::config::app_settings::{AppSettings, LATER_BOOT_TIME};
use crate::process::parent::Ordered;

/// Number of deploys that are kept.
const DEPLOYS_MAX: usize = 50;
/// At shutdown, time for a running reload to give up.
const GIVE_UP_TIME: Duration = Duration::from_secs(2);

/// An application.
pub struct App {
    name: String,
    pub(crate) engine_context: EngineContext,
    pub(crate) context: Arc<AppContext>,
    active: ArcSwap<ActiveGeneration>,
    reloads: CoalescedRuns<Result<String, String>>,
    pub(crate) shutdown: ShutdownState,
    /// Number of the last generation that was begun.
    pub(crate) begun: AtomicU64,
    log: Mutex<DeployLog>,
    overrides: Mutex<Overrides>,
}

/// Where requests go. A reader holds it only while it hands over one request: so after a swap, once the previous value
/// has no other holder, the old generation gets no more requests.
struct ActiveGeneration {
    generation: Arc<Generation>,
    /// The previous generation, while both get requests.
    previous: Option<Arc<Generation>>,
    /// The application's time limits, if they differ from those that the front has set in the request.
    times: Option<Times>,
}

#[derive(Clone, Copy)]
struct Times {
    request: Duration,
    queue: Duration,
}

#[derive(Default)]
struct DeployLog {
    deploys: VecDeque<DeployRecord>,
    /// Old generations that still finish requests.
    leaving: Vec<Arc<Generation>>,
    /// Generations that are being replaced, and may get requests until they are: two, while the requests go back from
    /// a new generation that did not get all of its workers.
    outgoing: Vec<Arc<Generation>>,
    /// Counts of generations that have ended.
    past: PastCounts,
}

/// Counts that outlive a generation.
#[derive(Default, Clone)]
struct PastCounts {
    served: u64,
    restarts: u64,
    restarts_by: BTreeMap<String, u64>,
}

impl PastCounts {
    fn add(&mut self, snapshot: &Snapshot) {
        self.served += snapshot.status.served;
        self.restarts += snapshot.status.restarts;
        for (reason, count) in &snapshot.restarts_by {
            *self.restarts_by.entry(reason.clone()).or_default() += count;
        }
    }
}

impl DeployLog {
    /// Old generations that have requests, or may get some until they are replaced; not the current one.
    fn older_than(&self, current: &Arc<Generation>) -> Vec<Arc<Generation>> {
        let old = self.leaving.iter().chain(&self.outgoing).filter(|old| !Arc::ptr_eq(old, current));
        old.cloned().collect()
    }
}

/// Snapshots of the generations of an application.
pub struct AppSnapshot {
    /// The current generation, with the requests of all generations and the counts of all since the start.
    pub all: Snapshot,
    /// Old generations that have requests, or may get some until they are replaced, each with its own numbers.
    pub old: Vec<Snapshot>,
}

/// Manual orders, which hold for later generations, too.
#[derive(Default)]
pub struct Overrides {
    pub scale: Option<(usize, usize)>,
    /// Bounds that an operator has set, within which signals move the number of workers.
    bounds: Option<(usize, usize)>,
    pub is_paused: bool,
    /// Number of pauses that were ordered.
    pauses: u64,
}

impl App {
    /// Loads the application; returns once it can serve.
    pub fn start(spec: AppSpec, settings: AppSettings, context: Arc<AppContext>) -> Result<App, String> {
        let name = settings.name.clone();
        let begun = Instant::now();
        let engine_context = context.engine_context();
        let shutdown = ShutdownState::new(context.called_off.clone(), engine_context.is_shutting_down.clone());
        let generation = Generation::start(1, spec, settings, Size::Full, &engine_context)?;
        let active = ArcSwap::from_pointee(ActiveGeneration::new(Arc::new(generation), None, &context));
        let log = Mutex::default();
        let overrides = Mutex::default();
        let reloads = CoalescedRuns::new();
        let begun_ones = AtomicU64::new(1);
        let app = App { name, engine_context, context, active, reloads, shutdown, begun: begun_ones, log, overrides };
        app.note(DeployRecord::new(1, begun, DeployOutcome::Started, None));
        Ok(app)
    }

    /// Name in commands and metrics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts and times of its requests, over all generations.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.engine_context.meter
    }

    /// The engine that gets its requests now.
    pub fn engine(&self) -> Arc<dyn Engine> {
        self.current().engine().clone()
    }

    /// The generation that gets its requests now.
    pub fn current(&self) -> Arc<Generation> {
        self.active.load().generation.clone()
    }

    /// Whether a worker can take requests, also one of old code that still gets some. An application that may be
    /// without workers while nothing is to do (`--min-workers 0`) starts one for its next request.
    pub fn has_workers(&self) -> bool {
        let active = self.active.load_full();
        let mut serving = active.previous.iter().chain([&active.generation]).map(|generation| generation.engine());
        serving.any(|engine| engine.status().capacity > 0 || engine.glance().pool.min == 0)
    }

    /// Old generations that finish their requests, the oldest first.
    pub fn leaving(&self) -> Vec<Arc<Generation>> {
        self.log.lock().leaving.clone()
    }

    /// Old generations that have requests, or may get some until they are replaced; not the current one.
    pub fn older_than(&self, current: &Arc<Generation>) -> Vec<Arc<Generation>> {
        self.log.lock().older_than(current)
    }

    /// The last deploys, newest first; the start counts as one.
    pub fn deploys(&self) -> Vec<DeployRecord> {
        self.log.lock().deploys.iter().cloned().collect()
    }

    /// A description of the engine, with the ordered number of workers, for the log.
    pub fn in_words(&self) -> String {
        let scale = self.overrides().scale;
        self.current().in_words(scale)
    }

    /// Whether a reload is running.
    pub fn is_reloading(&self) -> bool {
        self.reloads.is_running()
    }

    /// Whether a pause was ordered.
    pub fn is_paused(&self) -> bool {
        self.overrides().is_paused
    }

    /// Number of the pause that lasts; `None` if there is none. A later pause has another number.
    pub fn pause_number(&self) -> Option<u64> {
        let overrides = self.overrides();
        overrides.is_paused.then_some(overrides.pauses)
    }

    /// Reloads the application. On failure the old code goes on, and the error says why. Blocks; not for I/O threads. A
    /// call during a reload waits for the next one.
    pub fn reload(self: &Arc<App>) -> Result<String, String> {
        self.reloads.run(|| self.run_reload())
    }

    /// Runs an order on the engine. Pauses and scales are kept for later generations.
    pub fn order(&self, order: Order) -> Result<String, String> {
        // A worker may take seconds for its backtraces. The orders that are kept do not wait for that.
        let is_kept = matches!(order, Order::Pause | Order::Resume | Order::Scale { .. });
        let overrides = is_kept.then(|| self.overrides());
        // With the lock: a pause that is ordered now is over before the shutdown ends all, or refused.
        if let Some(why) = refusal_at_shutdown(&order).filter(|_| self.shutdown.refuses_orders()) {
            return Err(format!("the server is shutting down: {why}"));
        }
        let Some(mut overrides) = overrides else { return self.engine().order(order) };
        if matches!(order, Order::Pause | Order::Resume) {
            return self.hold(&mut overrides, order);
        }
        let report = self.engine().order(order.clone())?;
        if let Order::Scale { min, max } = order {
            overrides.scale = Some((min, max));
        }
        Ok(report)
    }

    fn hold(&self, overrides: &mut Overrides, order: Order) -> Result<String, String> {
        let is_paused = order == Order::Pause;
        for old in self.older_than(&self.current()) {
            // A generation that is just ending has nothing to pause.
            let _ = old.engine().order(order.clone());
        }
        let report = self.engine().order(order)?;
        overrides.is_paused = is_paused;
        overrides.pauses += u64::from(is_paused);
        self.shutdown.set_paused(is_paused);
        Ok(report)
    }

    /// Ends a pause at shutdown, so that waiting requests are answered.
    pub fn end_pause(&self) {
        let mut overrides = self.overrides();
        if overrides.is_paused
            && let Err(why) = self.hold(&mut overrides, Order::Resume)
        {
            warn!(target: "server", "the pause of {} cannot be ended: {why}", self.name);
        }
    }

    /// The manual orders, for a successor process.
    pub fn ordered(&self) -> Option<Ordered> {
        let overrides = self.overrides();
        let Overrides { scale, bounds, is_paused, .. } = *overrides;
        (is_paused || scale.is_some()).then(|| Ordered { app: self.name.clone(), scale, bounds, is_paused })
    }

    /// Repeats the manual orders of the previous process.
    pub fn follow(&self, ordered: &Ordered) -> Result<(), String> {
        if ordered.is_paused != self.is_paused() {
            self.order(if ordered.is_paused { Order::Pause } else { Order::Resume })?;
        }
        let Some((min, max)) = ordered.scale else { return Ok(()) };
        self.order(Order::Scale { min, max })?;
        self.overrides().bounds = ordered.bounds;
        Ok(())
    }

    /// Notes bounds of the number of workers that an operator has set.
    pub fn set_bounds(&self, min: usize, max: usize) {
        self.overrides().bounds = Some((min, max));
    }

    /// The bounds within which signals move the number of workers: those that an operator has set last, else the
    /// configured ones; `None` if the number is fixed, or not configured at all.
    pub fn bounds(&self) -> Option<(usize, usize)> {
        let current = self.current();
        let bounds = self.overrides().bounds.or(current.bounds());
        bounds.filter(|(min, max)| min != max && current.settings.ruby.computing_bounds != Some((*min, *max)))
    }

    /// Blocks until as many workers are ready as an operator wants at least.
    pub fn wait_for_scale(&self) {
        let Some((min, _)) = self.overrides().scale else { return };
        let current = self.current();
        if current.bounds().is_none() {
            return;
        }
        let until = Instant::now() + current.settings.ruby.boot_time.min(LATER_BOOT_TIME);
        wait_until(until, || current.workers_now() >= min || self.shutdown.is_hurried());
    }

    /// Stops all processes within `time`, and cancels a reload.
    pub fn stop(&self, time: Duration) {
        self.shutdown.hurry(time);
        wait_until(Instant::now() + GIVE_UP_TIME, || !self.reloads.is_running());
        // Their processes may have been told before to exit, with more time.
        self.leaving().iter().for_each(|old| old.running.hurry(time));
        // Meanwhile it may have become less.
        self.current().running.stop(self.shutdown.end_time());
        wait_until(Instant::now() + time + GIVE_UP_TIME, || self.log.lock().leaving.is_empty());
    }

    /// Leaves at most this time to a [stop](App::stop) that has begun. Does not wait.
    pub fn hurry(&self, time: Duration) {
        self.shutdown.hurry(time);
        self.leaving().iter().chain([&self.current()]).for_each(|generation| generation.running.hurry(time));
    }

    /// Number of requests since the start.
    pub fn served(&self) -> u64 {
        self.snapshot_of(&self.current()).all.status.served
    }

    /// A snapshot for operators, in which this is the current generation.
    pub fn snapshot_of(&self, current: &Arc<Generation>) -> AppSnapshot {
        self.sum(current, |engine| engine.snapshot())
    }

    /// As [`App::snapshot_of`], for the server's own looks ([`Engine::glance`]).
    pub fn glance_of(&self, current: &Arc<Generation>) -> AppSnapshot {
        self.sum(current, |engine| engine.glance())
    }

    fn sum(&self, current: &Arc<Generation>, look: impl Fn(&dyn Engine) -> Snapshot) -> AppSnapshot {
        let (mut past, others) = {
            let log = self.log.lock();
            (log.past.clone(), log.older_than(current))
        };
        let still_serves = self.active.load().previous.clone();
        let mut all = look(&**current.engine());
        past.add(&all);
        let mut old = Vec::new();
        for other in &others {
            let seen = look(&**other.engine());
            past.add(&seen);
            let serves = still_serves.as_ref().is_some_and(|previous| Arc::ptr_eq(previous, other));
            add_requests(&mut all, &seen, serves);
            old.push(seen);
        }
        (all.status.served, all.status.restarts) = (past.served, past.restarts);
        all.restarts_by = past.restarts_by;
        AppSnapshot { all, old }
    }

    /// Marks a generation as about to be replaced: its counts are included until it is gone.
    pub(crate) fn part_with(&self, old: &Arc<Generation>) {
        self.log.lock().outgoing.push(old.clone());
    }

    pub(crate) fn overrides(&self) -> MutexGuard<'_, Overrides> {
        self.overrides.lock()
    }

    /// Adds a deploy to the log.
    pub(crate) fn note(&self, deploy: DeployRecord) {
        let mut log = self.log.lock();
        log.deploys.push_front(deploy);
        log.deploys.truncate(DEPLOYS_MAX);
    }

    /// Makes a generation the current one. `previous`, if given, still gets requests that find no idle worker in the
    /// new one. Returns when no other generation can get any.
    pub(crate) fn enter(&self, generation: Arc<Generation>, previous: Option<Arc<Generation>>) {
        let active = Arc::new(ActiveGeneration::new(generation.clone(), previous, &self.context));
        let before = self.active.swap(active);
        generation.running.serve();
        // A holder of the previous value is handing over a request. That takes a moment, or, if a script in the I/O
        // thread cannot be interrupted, as long as that script.
        wait_until(Instant::now() + self.context.drain_time, || Arc::strong_count(&before) == 1);
    }

    /// Moves the requests that wait for a worker of this generation, which gets no new ones, to the current one.
    pub(crate) fn hand_over_waiting(&self, old: &Generation) {
        let Some(waiting) = old.engine().hand_over_waiting() else { return };
        // Held as for a new request: a generation that takes these over is told to finish after that.
        let active = self.active.load();
        let number = active.generation.number;
        if !waiting.is_empty() {
            let words = count(waiting.len(), "waiting request");
            info!(target: "server", "reload of {}: generation {number} takes over {words}", self.name);
        }
        active.generation.engine().take_over(waiting);
    }

    /// Lets an old generation finish its requests, in a thread of its own.
    pub(crate) fn retire(self: &Arc<App>, old: Arc<Generation>) {
        {
            let mut log = self.log.lock();
            log.outgoing.clear();
            log.leaving.push(old.clone());
        }
        let app = self.clone();
        let theirs = old.clone();
        let thread = thread::Builder::new().name("old generation".into()).spawn(move || app.let_go(&theirs));
        if let Err(error) = thread {
            warn!(target: "server", "no thread to wait for the old generation, so this one waits for it: {error}");
            self.let_go(&old);
        }
    }

    fn let_go(&self, old: &Arc<Generation>) {
        old.finish(self.context.drain_time, &self.shutdown, || self.hand_over_waiting(old));
        let last = old.engine().snapshot();
        let mut log = self.log.lock();
        log.past.add(&last);
        log.leaving.retain(|other| !Arc::ptr_eq(other, old));
    }
}

/// Adds the requests of an old generation: their clients wait like all others. It has places for further ones if it
/// still serves.
fn add_requests(all: &mut Snapshot, old: &Snapshot, serves: bool) {
    all.status.busy += old.status.busy;
    all.status.queued += old.status.queued;
    all.oldest_wait_ms = all.oldest_wait_ms.max(old.oldest_wait_ms);
    all.is_newest_first |= old.is_newest_first;
    if serves {
        all.status.capacity += old.status.capacity;
        all.status.idle += old.status.idle;
    }
}

/// Why an order is refused while the server shuts down; none for one that is carried out all the same.
fn refusal_at_shutdown(order: &Order) -> Option<&'static str> {
    match order {
        Order::Pause => Some("waiting requests are answered, and none is paused"),
        Order::Scale { .. } => Some("the number of its workers changes no more"),
        Order::Recycle => Some("no worker is replaced any more"),
        Order::Resume | Order::EndWorker { .. } | Order::Backtraces(_) => None,
    }
}

impl ActiveGeneration {
    fn new(generation: Arc<Generation>, previous: Option<Arc<Generation>>, context: &AppContext) -> ActiveGeneration {
        let times = Times { request: generation.settings.request_time, queue: generation.settings.queue_wait };
        let is_usual = times.request == context.request_time && times.queue == context.queue_wait;
        ActiveGeneration { generation, previous, times: (!is_usual).then_some(times) }
    }

    /// The engine for the next request. While both generations get requests, the old one gets those for which the new
    /// one, which lacks workers, has no idle one.
    fn engine(&self) -> &dyn Engine {
        if let Some(previous) = &self.previous
            && self.generation.engine().status().idle == 0
            && previous.engine().status().idle > 0
        {
            return &**previous.engine();
        }
        &**self.generation.engine()
    }
}

impl Engine for App {
    fn call(&self, mut request: Request) -> Reply {
        let active = self.active.load();
        let Some(times) = active.times else { return active.engine().call(request) };
        let now = request.deadline.checked_sub(self.context.request_time).unwrap_or_else(Instant::now);
        request.deadline = now + times.request;
        request.queue_deadline = now + times.queue;
        active.engine().call(request).with_due(now + times.request)
    }

    fn meter_of(&self, _: Option<&str>) -> Option<Arc<Meter>> {
        Some(self.meter().clone())
    }

    /// Whether all generations that may still answer are in development.
    fn shows_faults(&self, _: Option<&str>) -> bool {
        if !self.current().is_in_development() {
            return false;
        }
        let log = self.log.lock();
        log.leaving.iter().chain(&log.outgoing).all(|old| old.is_in_development())
    }

    fn status(&self) -> Status {
        self.engine().status()
    }

    fn close(&self) {
        self.engine().close();
    }

    fn unfinished(&self) -> usize {
        let leaving: usize = self.leaving().iter().map(|old| old.engine().unfinished()).sum();
        leaving + self.engine().unfinished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(busy: usize, queued: usize, oldest_wait_ms: f64) -> Snapshot {
        let status = Status { capacity: 4, idle: 1, busy, queued, ..Status::default() };
        Snapshot { status, oldest_wait_ms, ..Snapshot::default() }
    }

    #[test]
    fn what_runs_and_waits_in_old_code_is_shown_and_its_places_only_while_it_serves() {
        for (serves, places) in [(false, (4, 1)), (true, (8, 2))] {
            let mut all = seen(1, 0, 0.0);
            add_requests(&mut all, &seen(2, 5, 300.0), serves);
            add_requests(&mut all, &seen(0, 1, 200.0), false);
            assert_eq!((all.status.busy, all.status.queued, all.oldest_wait_ms), (3, 6, 300.0));
            assert_eq!((all.status.capacity, all.status.idle), places);
        }
    }
}
