//! What the watchdog reads of one interpreter: since when it runs, and until when it may. Written by the thread that
//! runs it, read by the watchdog's; plain numbers, so that neither ever waits for the other.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::IoThread;
use engine::snapshot::{RunView, WorkerView};
use parking_lot::Mutex;

use crate::sys;

/// After this long a request is long: it leaves the I/O thread, and what its body has given is sent.
pub const TICK: Duration = Duration::from_millis(1);

/// A request that is still on an I/O thread after this time is in a native function that cannot be interrupted: another
/// OS thread goes on with the event loop.
const HELD: Duration = Duration::from_millis(10);

const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// One clock for all gauges: nanoseconds since the engine began, never 0.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// Starts at 1.
    pub fn new() -> Clock {
        Clock(Instant::now())
    }

    /// Nanoseconds.
    pub fn at(self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.0).as_nanos();
        u64::try_from(elapsed).unwrap_or(u64::MAX - 1) + 1
    }

    /// The way back; a time that no clock reaches is a century away.
    pub fn instant(self, at: u64) -> Instant {
        self.0 + Duration::from_nanos(at.saturating_sub(1)).min(CENTURY)
    }
}

/// The place in the interpreter that stops it at its next instruction when written to.
struct Alarm(*mut c_void);

// SAFETY: the address is only handed to fg_alarm_set, under the lock of `Gauge::alarm`, which is emptied before the
// interpreter is closed; the store itself is atomic.
unsafe impl Send for Alarm {}

/// One interpreter's gauge.
pub struct Gauge {
    started: AtomicU64,
    deadline: AtomicU64,
    /// When a block in it must be over.
    soon: AtomicU64,
    ticked: AtomicBool,
    alarm: Mutex<Option<Alarm>>,
    /// Since when it has been what it is.
    opened: Mutex<Instant>,
    served: AtomicU64,
    /// It is to be replaced by order.
    ends: AtomicBool,
    /// The request that runs, if it is a long one.
    running: Mutex<Option<RunView>>,
    has_told: AtomicBool,
    /// Whether it runs on an I/O thread; which one it last ran on, and in which of its terms.
    on_io: AtomicBool,
    io: Mutex<Option<(Arc<IoThread>, u64)>>,
}

impl Gauge {
    /// Of an interpreter that does nothing.
    pub fn new() -> Gauge {
        Gauge {
            started: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            soon: AtomicU64::new(u64::MAX),
            ticked: AtomicBool::new(false),
            alarm: Mutex::new(None),
            opened: Mutex::new(Instant::now()),
            served: AtomicU64::new(0),
            ends: AtomicBool::new(false),
            running: Mutex::new(None),
            has_told: AtomicBool::new(false),
            on_io: AtomicBool::new(false),
            io: Mutex::new(None),
        }
    }

    /// From now on it runs, at most until `deadline`.
    pub fn start(&self, now: u64, deadline: u64) {
        self.deadline.store(deadline, Ordering::Relaxed);
        self.soon.store(u64::MAX, Ordering::Relaxed);
        self.ticked.store(false, Ordering::Relaxed);
        // Sequentially consistent, as is the watchdog's look at it before it sleeps: one of the two sees the other.
        self.started.store(now, Ordering::SeqCst);
    }

    /// What begins to run does so on this I/O thread.
    pub fn enter_io(&self, io: &Arc<IoThread>) {
        let term = io.term();
        let mut held = self.io.lock();
        if !held.as_ref().is_some_and(|(before, of)| Arc::ptr_eq(before, io) && *of == term) {
            *held = Some((io.clone(), term));
        }
        self.on_io.store(true, Ordering::Relaxed);
    }

    /// What runs has left its I/O thread.
    pub fn leave_io(&self) {
        self.on_io.store(false, Ordering::Relaxed);
    }

    /// It no longer runs.
    pub fn stop(&self) {
        self.leave_io();
        self.started.store(0, Ordering::Relaxed);
        if self.has_told.load(Ordering::Relaxed) {
            self.has_told.store(false, Ordering::Relaxed);
            *self.running.lock() = None;
        }
    }

    /// A long request tells who it is.
    pub fn tell(&self, run: RunView) {
        *self.running.lock() = Some(run);
        self.has_told.store(true, Ordering::Relaxed);
    }

    /// One more request.
    pub fn count(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }

    /// It is opened anew.
    pub fn open(&self) {
        *self.opened.lock() = Instant::now();
        self.served.store(0, Ordering::Relaxed);
        self.ends.store(false, Ordering::Relaxed);
    }

    /// It is to be replaced when its request is over, or its request is to be over at once.
    pub fn end(&self, now: bool) {
        self.ends.store(true, Ordering::Relaxed);
        if now {
            self.deadline.store(0, Ordering::Relaxed);
        }
    }

    /// Whether it is to be replaced by order.
    pub fn is_to_end(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// For those who look.
    pub fn view(&self, id: u32, clock: Clock, now: Instant) -> WorkerView {
        let started = self.started.load(Ordering::Relaxed);
        let age = clock.at(now).saturating_sub(started);
        let mut running = Vec::new();
        // Of a shorter one nobody has asked who it is.
        if started != 0 && age > 2 * TICK.as_nanos() as u64 {
            let run = self.running.lock().clone().unwrap_or_default();
            running.push(RunView { age_ms: age as f64 / 1e6, ..run });
        }
        WorkerView {
            id,
            state: "ready".to_owned(),
            threads: 1,
            served: self.served.load(Ordering::Relaxed),
            age_s: now.saturating_duration_since(*self.opened.lock()).as_secs_f64(),
            running,
            ..WorkerView::default()
        }
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.started.load(Ordering::SeqCst) != 0
    }

    /// Whether its time is over.
    pub fn is_late(&self, now: u64) -> bool {
        now >= self.deadline.load(Ordering::Relaxed)
    }

    /// Until when it may run.
    pub fn deadline(&self) -> u64 {
        self.deadline.load(Ordering::Relaxed)
    }

    /// When the next block in it must be over.
    pub fn set_soon(&self, at: u64) {
        self.soon.store(at, Ordering::Relaxed);
    }

    /// The script has been told that it is a long one.
    pub fn set_ticked(&self) {
        self.ticked.store(true, Ordering::Relaxed);
    }

    /// Sets or, before the interpreter is closed, takes away the place to write to.
    pub fn connect(&self, address: Option<*mut c_void>) {
        let alarm = address.filter(|address| !address.is_null()).map(Alarm);
        *self.alarm.lock() = alarm;
    }

    /// Interrupts the script where that is due at `now`.
    pub fn watch(&self, now: u64) {
        let started = self.started.load(Ordering::Relaxed);
        if started == 0 {
            return;
        }
        if self.on_io.load(Ordering::Relaxed)
            && now.saturating_sub(started) >= HELD.as_nanos() as u64
            && let Some((io, term)) = &*self.io.lock()
        {
            io.replace(*term);
        }
        let long = now.saturating_sub(started) >= TICK.as_nanos() as u64;
        let due = (long && !self.ticked.load(Ordering::Relaxed))
            || self.is_late(now)
            || now >= self.soon.load(Ordering::Relaxed);
        if !due {
            return;
        }
        let alarm = self.alarm.lock();
        if let Some(Alarm(address)) = alarm.as_ref() {
            // SAFETY: the interpreter is open as long as its address is here (`connect`), and we hold the lock.
            unsafe { sys::fg_alarm_set(*address) };
        }
    }
}
