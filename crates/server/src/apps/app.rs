//! An application as the server has it: the generation that gets its requests, those before it that still have some,
//! and what was said and done about it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use engine::{Engine, Meter, Order, Reply, Request, Snapshot, Status};
use parking_lot::{Mutex, MutexGuard};
use tracing::warn;

use crate::apps::context::AppContext;
use crate::apps::deploy::{Deploy, Outcome};
use crate::apps::engines::{EngineContext, Size};
use crate::apps::generation::{Generation, ShutdownState, wait_until};
use crate::apps::shared_turns::SharedTurns;
use crate::apps::spec::AppSpec;
use crate::config::app_settings::{AppSettings, LATER_BOOT_TIME};
use crate::process::parent::Ordered;

/// So many deploys are remembered.
const DEPLOYS_MAX: usize = 50;
/// A reload that is given up when the server ends has so long to notice.
const GIVE_UP_TIME: Duration = Duration::from_secs(2);

/// An application.
pub struct App {
    name: String,
    pub(crate) base: EngineContext,
    pub(crate) context: Arc<AppContext>,
    entry: ArcSwap<Entry>,
    pub(crate) turns: SharedTurns<Result<String, String>>,
    pub(crate) shutdown: ShutdownState,
    /// Generations that were begun.
    pub(crate) begun: AtomicU64,
    log: Mutex<Log>,
    remembered: Mutex<Remembered>,
}

/// Where requests go. It is held while one is handed over, and at no other time: so whoever has put another in its
/// place knows when nobody can give requests to this generation any more.
struct Entry {
    generation: Arc<Generation>,
    /// The one before, as long as both get requests.
    elder: Option<Arc<Generation>>,
    /// Where the application's times are not those that the front has given to the request.
    times: Option<Times>,
}

#[derive(Clone, Copy)]
struct Times {
    request: Duration,
    queue: Duration,
}

#[derive(Default)]
struct Log {
    deploys: VecDeque<Deploy>,
    /// Old ones that still have something to finish.
    leaving: Vec<Arc<Generation>>,
    /// One that is about to leave: until it does it may have requests, too.
    outgoing: Option<Arc<Generation>>,
    /// Of those that are gone.
    past: Past,
}

/// What was counted.
#[derive(Default, Clone)]
struct Past {
    served: u64,
    restarts: u64,
    restarts_by: BTreeMap<String, u64>,
}

impl Past {
    fn add(&mut self, snapshot: &Snapshot) {
        self.served += snapshot.status.served;
        self.restarts += snapshot.status.restarts;
        for (reason, count) in &snapshot.restarts_by {
            *self.restarts_by.entry(reason.clone()).or_default() += count;
        }
    }
}

/// What somebody ordered by hand: it holds for the next generations, too.
#[derive(Default)]
pub struct Remembered {
    pub scale: Option<(usize, usize)>,
    pub is_paused: bool,
    /// The server ends, and nothing is held back any more.
    is_ending: bool,
}

impl App {
    /// Loads it.
    pub fn start(found: AppSpec, settings: AppSettings, context: Arc<AppContext>) -> Result<App, String> {
        let name = settings.name.clone();
        let begun = Instant::now();
        let shutdown = ShutdownState::new(context.called_off.clone());
        let base = context.base();
        let generation = Generation::start(1, (found, settings), Size::Full, &base)?;
        let entry = ArcSwap::from_pointee(Entry::new(Arc::new(generation), None, &context));
        let log = Mutex::default();
        let remembered = Mutex::default();
        let turns = SharedTurns::new();
        let begun_ones = AtomicU64::new(1);
        let app = App { name, base, context, entry, turns, shutdown, begun: begun_ones, log, remembered };
        app.note(Deploy::new(1, begun, Outcome::Started, None));
        Ok(app)
    }

    /// What it is called in commands and metrics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What becomes of its requests, over all generations.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.base.meter
    }

    /// The engine that gets its requests now.
    pub fn engine(&self) -> Arc<dyn Engine> {
        self.current().engine().clone()
    }

    /// The generation that gets its requests now.
    pub fn current(&self) -> Arc<Generation> {
        self.entry.load().generation.clone()
    }

    /// Its number; 1 is what the server started with.
    pub fn generation(&self) -> u64 {
        self.entry.load().generation.number
    }

    /// Generations that finish what they have, the oldest first.
    pub fn leaving(&self) -> Vec<Arc<Generation>> {
        self.log.lock().leaving.clone()
    }

    /// What was deployed, the last one first; the start counts as one.
    pub fn deploys(&self) -> Vec<Deploy> {
        self.log.lock().deploys.iter().cloned().collect()
    }

    /// Whether a reload is on its way.
    pub fn is_reloading(&self) -> bool {
        self.turns.is_running()
    }

    /// Whether requests are held back because somebody said so.
    pub fn is_paused(&self) -> bool {
        self.remembered().is_paused
    }

    /// Loads the application anew and gives it the requests; what is wrong if that does not come to pass, and then the
    /// old code goes on. Waits for it; not for I/O threads. Who asks while this is being done waits for the next one.
    pub fn reload(self: &Arc<App>) -> Result<String, String> {
        self.turns.take(|| self.deploy())
    }

    /// Tells the engine. What would otherwise be forgotten with the next generation is remembered.
    pub fn order(&self, order: Order) -> Result<String, String> {
        let mut remembered = self.remembered();
        if order == Order::Pause && remembered.is_ending {
            return Err("the server ends: who waits is answered, and nothing is held back any more".to_owned());
        }
        if matches!(order, Order::Pause | Order::Resume) {
            return self.hold(&mut remembered, order);
        }
        let told = self.engine().order(order.clone())?;
        if let Order::Scale { min, max } = order {
            remembered.scale = Some((min, max));
        }
        Ok(told)
    }

    fn hold(&self, remembered: &mut Remembered, order: Order) -> Result<String, String> {
        let is_paused = order == Order::Pause;
        for old in self.leaving() {
            // One that is just ending has nothing to hold back.
            let _ = old.engine().order(order.clone());
        }
        let told = self.engine().order(order)?;
        remembered.is_paused = is_paused;
        self.shutdown.set_paused(is_paused);
        Ok(told)
    }

    /// The server ends: who waits in a pause is answered, and there is no other pause.
    pub fn end_pause(&self) {
        let mut remembered = self.remembered();
        remembered.is_ending = true;
        if remembered.is_paused
            && let Err(why) = self.hold(&mut remembered, Order::Resume)
        {
            warn!(target: "server", "the pause of {} cannot be ended: {why}", self.name);
        }
    }

    /// What somebody ordered by hand, for a process that takes the place of this one.
    pub fn ordered(&self) -> Option<Ordered> {
        let remembered = self.remembered();
        let Remembered { scale, is_paused, .. } = *remembered;
        (is_paused || scale.is_some()).then(|| Ordered { app: self.name.clone(), scale, is_paused })
    }

    /// What was ordered in the process before this one. Returns when there are as many workers.
    pub fn follow(&self, ordered: &Ordered) -> Result<(), String> {
        if ordered.is_paused {
            self.order(Order::Pause)?;
        }
        let Some((min, max)) = ordered.scale else { return Ok(()) };
        self.order(Order::Scale { min, max })?;
        let current = self.current();
        let until = Instant::now() + current.settings.ruby.boot_time.min(LATER_BOOT_TIME);
        wait_until(until, || current.workers_now() >= min || self.shutdown.is_hurried());
        Ok(())
    }

    /// All processes end within this time, and what is being loaded is given up.
    pub fn stop(&self, time: Duration) {
        self.shutdown.hurry(time);
        wait_until(Instant::now() + GIVE_UP_TIME, || !self.turns.is_running());
        self.current().stop(time);
        wait_until(Instant::now() + time + GIVE_UP_TIME, || self.log.lock().leaving.is_empty());
    }

    /// Requests given to it since the start.
    pub fn served(&self) -> u64 {
        self.snapshot_of(&self.current()).status.served
    }

    /// What this generation, the current one, does now, with the counts of all generations since the start.
    pub fn snapshot_of(&self, current: &Arc<Generation>) -> Snapshot {
        let (mut past, others) = {
            let log = self.log.lock();
            (log.past.clone(), log.leaving.iter().chain(&log.outgoing).cloned().collect::<Vec<_>>())
        };
        for old in others.iter().filter(|old| !Arc::ptr_eq(old, current)) {
            past.add(&old.engine().snapshot());
        }
        let mut snapshot = current.engine().snapshot();
        past.add(&snapshot);
        (snapshot.status.served, snapshot.status.restarts) = (past.served, past.restarts);
        snapshot.restarts_by = past.restarts_by;
        snapshot
    }

    /// This generation is to be replaced: it counts until it is gone.
    pub(crate) fn part_with(&self, old: &Arc<Generation>) {
        self.log.lock().outgoing = Some(old.clone());
    }

    pub(crate) fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock()
    }

    /// Writes it down.
    pub(crate) fn note(&self, deploy: Deploy) {
        let mut log = self.log.lock();
        log.deploys.push_front(deploy);
        log.deploys.truncate(DEPLOYS_MAX);
    }

    /// From now on this generation gets requests, and the elder some of them. Returns when nobody can give any to
    /// another generation.
    pub(crate) fn enter(&self, generation: Arc<Generation>, elder: Option<Arc<Generation>>) {
        let entry = Arc::new(Entry::new(generation, elder, &self.context));
        let before = self.entry.swap(entry);
        // Whoever still looks at it is handing over a request: that takes a moment, or, where a script that runs in the
        // I/O thread cannot be interrupted, as long as that script.
        wait_until(Instant::now() + self.context.drain_time, || Arc::strong_count(&before) == 1);
    }

    /// Lets a generation that gets no requests any more finish what it has, in a thread of its own.
    pub(crate) fn retire(self: &Arc<App>, old: Arc<Generation>) {
        {
            let mut log = self.log.lock();
            log.outgoing = None;
            log.leaving.push(old.clone());
        }
        let app = self.clone();
        let theirs = old.clone();
        let thread = thread::Builder::new().name("old generation".into()).spawn(move || app.let_go(&theirs));
        if let Err(error) = thread {
            warn!(target: "server", "no thread for the end of old code, which is waited for now: {error}");
            self.let_go(&old);
        }
    }

    fn let_go(&self, old: &Arc<Generation>) {
        old.finish(self.context.drain_time, &self.shutdown);
        let last = old.engine().snapshot();
        let mut log = self.log.lock();
        log.past.add(&last);
        log.leaving.retain(|other| !Arc::ptr_eq(other, old));
    }
}

impl Entry {
    fn new(generation: Arc<Generation>, elder: Option<Arc<Generation>>, context: &AppContext) -> Entry {
        let times = Times { request: generation.settings.request_time, queue: generation.settings.queue_wait };
        let is_usual = times.request == context.request_time && times.queue == context.queue_wait;
        Entry { generation, elder, times: (!is_usual).then_some(times) }
    }

    /// While both get requests, the elder has those for which the new one has no idle place: it has not all its workers
    /// yet.
    fn engine(&self) -> &dyn Engine {
        if let Some(elder) = &self.elder
            && self.generation.engine().status().idle == 0
            && elder.engine().status().idle > 0
        {
            return &**elder.engine();
        }
        &**self.generation.engine()
    }
}

impl Engine for App {
    fn call(&self, mut request: Request) -> Reply {
        let entry = self.entry.load();
        let Some(times) = entry.times else { return entry.engine().call(request) };
        let now = request.deadline.checked_sub(self.context.request_time).unwrap_or_else(Instant::now);
        request.deadline = now + times.request;
        request.queue_deadline = now + times.queue;
        entry.engine().call(request).with_due(now + times.request)
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

    fn snapshot(&self) -> Snapshot {
        self.engine().snapshot()
    }

    fn recorded(&self) -> engine::Recorded {
        self.engine().recorded()
    }

    fn order(&self, order: Order) -> Result<String, String> {
        App::order(self, order)
    }
}
