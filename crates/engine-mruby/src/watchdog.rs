//! The watchdog thread: each millisecond it makes long requests migrate, interrupts requests that have timed out, and
//! refuses requests that have waited too long in the queue. It sleeps while no interpreter runs and no request waits.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Instant;

use engine::snapshot::WorkerView;
use parking_lot::{Condvar, Mutex};

use crate::run_state::{Clock, RunState, TICK};

/// Ticks without work after which the watchdog sleeps until it is woken: waking it costs more than a few idle ticks.
const IDLE_TICKS: u32 = 50;

/// A function that refuses the requests that have waited too long at the given instant, and returns whether others
/// still wait: in a pause they do so although no interpreter runs.
pub type Refuse = Box<dyn Fn(Instant) -> bool + Send + Sync>;

/// The state of the watchdog thread, and the means to wake it.
pub struct Watchdog {
    asleep: AtomicBool,
    state: Mutex<()>,
    changed: Condvar,
    run_states: Vec<Arc<RunState>>,
    clock: Clock,
    /// Known only when the application is loaded; loading is watched too.
    refuse: OnceLock<Refuse>,
}

impl Watchdog {
    /// Starts a thread that watches these interpreters. It ends when the last other reference is dropped.
    pub fn start(run_states: Vec<Arc<RunState>>, clock: Clock) -> io::Result<Arc<Watchdog>> {
        let watchdog = Arc::new(Watchdog {
            asleep: AtomicBool::new(false),
            state: Mutex::new(()),
            changed: Condvar::new(),
            run_states,
            clock,
            refuse: OnceLock::new(),
        });
        let weak = Arc::downgrade(&watchdog);
        thread::Builder::new().name("watchdog".into()).spawn(move || run(&weak))?;
        Ok(watchdog)
    }

    /// Views of all interpreters, in the order of their numbers.
    pub fn views(&self, now: Instant) -> Vec<WorkerView> {
        let numbered = self.run_states.iter().zip(0..);
        numbered.map(|(run_state, id)| run_state.view(id, self.clock, now)).collect()
    }

    /// The run state of the interpreter with this number.
    pub fn run_state(&self, number: u32) -> Option<&RunState> {
        self.run_states.get(number as usize).map(AsRef::as_ref)
    }

    /// The number of requests that have begun their responses.
    pub fn streams(&self) -> usize {
        self.run_states.iter().filter(|run_state| run_state.streams()).count()
    }

    /// Ends the requests that run, at once.
    pub fn end_all(&self) {
        self.run_states.iter().filter(|run_state| run_state.is_running()).for_each(|run_state| run_state.end(true));
    }

    /// Sets the function that refuses requests which have waited too long in the queue. Only the first call counts.
    pub fn attend(&self, refuse: Refuse) {
        // A second queue would be a mistake of ours, and the first stays watched.
        let _ = self.refuse.set(refuse);
    }

    /// Wakes the watchdog. Called when a request has begun to run or to wait; costs one atomic read while the watchdog
    /// is awake.
    pub fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) {
            let _held = self.state.lock();
            self.asleep.store(false, Ordering::SeqCst);
            self.changed.notify_one();
        }
    }

    /// Does the work of one tick. Returns whether there is something to watch.
    fn tick(&self) -> bool {
        let now = Instant::now();
        let nanoseconds = self.clock.at(now);
        self.run_states.iter().for_each(|run_state| run_state.watch(nanoseconds));
        self.is_needed(now)
    }

    /// Refuses the requests that have waited too long. Returns whether others wait, or any interpreter runs.
    fn is_needed(&self, now: Instant) -> bool {
        let has_waiting = self.refuse.get().is_some_and(|refuse| refuse(now));
        has_waiting || self.run_states.iter().any(|run_state| run_state.is_running())
    }

    fn wait(&self, long: bool) {
        if !long {
            self.changed.wait_for(&mut self.state.lock(), TICK);
            return;
        }
        self.asleep.store(true, Ordering::SeqCst);
        // A request that began, or came into the queue, before the flag was set is seen here; one that does so later
        // wakes the watchdog, or takes the flag away before it sleeps.
        if !self.is_needed(Instant::now()) {
            let mut state = self.state.lock();
            if self.asleep.load(Ordering::SeqCst) {
                // Once a second the thread wakes up and ends if the engine is gone.
                self.changed.wait_for(&mut state, std::time::Duration::from_secs(1));
            }
        }
        self.asleep.store(false, Ordering::SeqCst);
    }
}

fn run(watchdog: &Weak<Watchdog>) {
    let mut idle_ticks = 0;
    while let Some(watchdog) = watchdog.upgrade() {
        idle_ticks = if watchdog.tick() { 0 } else { idle_ticks + 1 };
        watchdog.wait(idle_ticks >= IDLE_TICKS);
    }
}
