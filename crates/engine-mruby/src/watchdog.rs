//! The thread that looks at all interpreters each millisecond: tells a long request that it is one, stops a request
//! whose time is over, and refuses requests that have waited too long. It sleeps while there is nothing to watch.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Instant;

use engine::snapshot::WorkerView;
use parking_lot::{Condvar, Mutex};

use crate::gauge::{Clock, Gauge, TICK};

/// After so many ticks without work it sleeps until it is woken: waking it costs more than a few idle looks.
const IDLE_TICKS: u32 = 50;

/// Refuses what has waited too long at this moment.
pub type Refuse = Box<dyn Fn(Instant) + Send + Sync>;

/// How the watchdog is woken.
pub struct Watchdog {
    asleep: AtomicBool,
    state: Mutex<()>,
    changed: Condvar,
    gauges: Vec<Arc<Gauge>>,
    clock: Clock,
    /// Known only when the application is loaded; loading is watched too.
    refuse: OnceLock<Refuse>,
}

impl Watchdog {
    /// Starts to watch these interpreters, in a thread that ends when the last other holder lets go.
    pub fn start(gauges: Vec<Arc<Gauge>>, clock: Clock) -> io::Result<Arc<Watchdog>> {
        let watchdog = Arc::new(Watchdog {
            asleep: AtomicBool::new(false),
            state: Mutex::new(()),
            changed: Condvar::new(),
            gauges,
            clock,
            refuse: OnceLock::new(),
        });
        let weak = Arc::downgrade(&watchdog);
        thread::Builder::new().name("watchdog".into()).spawn(move || run(&weak))?;
        Ok(watchdog)
    }

    /// What the interpreters are doing.
    pub fn views(&self, now: Instant) -> Vec<WorkerView> {
        let numbered = self.gauges.iter().zip(0..);
        numbered.map(|(gauge, id)| gauge.view(id, self.clock, now)).collect()
    }

    /// The interpreter with this number.
    pub fn gauge(&self, number: u32) -> Option<&Gauge> {
        self.gauges.get(number as usize).map(AsRef::as_ref)
    }

    /// From now on it also refuses, by this, the requests that have waited too long.
    pub fn attend(&self, refuse: Refuse) {
        // A second queue would be a mistake of ours, and the first stays watched.
        let _ = self.refuse.set(refuse);
    }

    /// To be called when something has begun to run or to wait. Costs one look at a flag while the watchdog is awake.
    pub fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) {
            let _held = self.state.lock();
            self.asleep.store(false, Ordering::SeqCst);
            self.changed.notify_one();
        }
    }

    /// Whether there is anything to watch.
    fn look(&self) -> bool {
        let now = Instant::now();
        let nanoseconds = self.clock.at(now);
        self.gauges.iter().for_each(|gauge| gauge.watch(nanoseconds));
        if let Some(refuse) = self.refuse.get() {
            refuse(now);
        }
        self.gauges.iter().any(|gauge| gauge.is_running())
    }

    fn wait(&self, long: bool) {
        let mut state = self.state.lock();
        if !long {
            self.changed.wait_for(&mut state, TICK);
            return;
        }
        self.asleep.store(true, Ordering::SeqCst);
        // What began before the flag was up is seen here; what begins after it wakes us.
        if self.gauges.iter().any(|gauge| gauge.is_running()) {
            self.asleep.store(false, Ordering::SeqCst);
            return;
        }
        // Once a second it looks whether anybody still needs it.
        self.changed.wait_for(&mut state, std::time::Duration::from_secs(1));
        self.asleep.store(false, Ordering::SeqCst);
    }
}

fn run(watchdog: &Weak<Watchdog>) {
    let mut idle_ticks = 0;
    while let Some(watchdog) = watchdog.upgrade() {
        idle_ticks = if watchdog.look() { 0 } else { idle_ticks + 1 };
        watchdog.wait(idle_ticks >= IDLE_TICKS);
    }
}
