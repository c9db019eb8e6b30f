//! The thread that looks at all interpreters each millisecond: tells a long request that it is one, stops a request
//! whose time is over, and refuses requests that have waited too long. It sleeps while there is nothing to watch.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use engine::Fault;
use engine::snapshot::WorkerView;

use crate::gauge::{Clock, Gauge, TICK};
use crate::pool::Pool;

/// After so many ticks without work it sleeps until it is woken: waking it costs more than a few idle looks.
const IDLE_TICKS: u32 = 50;

/// How the watchdog is woken.
pub struct Watchdog {
    asleep: AtomicBool,
    state: Mutex<()>,
    changed: Condvar,
    gauges: Vec<Arc<Gauge>>,
    clock: Clock,
    /// Known only when the application is loaded; loading is watched too.
    pool: OnceLock<Weak<Pool>>,
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
            pool: OnceLock::new(),
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

    /// From now on it watches the queue of this pool too.
    pub fn attend(&self, pool: Weak<Pool>) {
        // A second pool would be a mistake of ours, and the first stays watched.
        let _ = self.pool.set(pool);
    }

    /// To be called when something has begun to run or to wait. Costs one look at a flag while the watchdog is awake.
    pub fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) {
            let _held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            self.asleep.store(false, Ordering::SeqCst);
            self.changed.notify_one();
        }
    }

    /// Whether there is anything to watch.
    fn look(&self) -> bool {
        let now = Instant::now();
        let nanoseconds = self.clock.at(now);
        self.gauges.iter().for_each(|gauge| gauge.watch(nanoseconds));
        if let Some(pool) = self.pool.get().and_then(Weak::upgrade) {
            for job in pool.queue.overdue(now) {
                let waited = job.offered.elapsed();
                job.refuse(Fault::QueueWait(waited));
            }
        }
        self.gauges.iter().any(|gauge| gauge.is_running())
    }

    fn wait(&self, long: bool) {
        let guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !long {
            drop(self.changed.wait_timeout(guard, TICK));
            return;
        }
        self.asleep.store(true, Ordering::SeqCst);
        // What began before the flag was up is seen here; what begins after it wakes us.
        if self.gauges.iter().any(|gauge| gauge.is_running()) {
            self.asleep.store(false, Ordering::SeqCst);
            return;
        }
        // Once a second it looks whether anybody still needs it.
        drop(self.changed.wait_timeout(guard, std::time::Duration::from_secs(1)));
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
