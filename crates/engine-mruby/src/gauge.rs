//! What the watchdog reads of one interpreter: since when it runs, and until when it may. Written by the thread that
//! runs it, read by the watchdog's; plain numbers, so that neither ever waits for the other.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::sys;

/// After this long a request is long: it leaves the I/O thread, and what its body has given is sent.
pub const TICK: Duration = Duration::from_millis(1);

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
    ticked: AtomicBool,
    alarm: Mutex<Option<Alarm>>,
}

impl Gauge {
    /// Of an interpreter that does nothing.
    pub fn new() -> Gauge {
        Gauge {
            started: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            ticked: AtomicBool::new(false),
            alarm: Mutex::new(None),
        }
    }

    /// From now on it runs, at most until `deadline`.
    pub fn start(&self, now: u64, deadline: u64) {
        self.deadline.store(deadline, Ordering::Relaxed);
        self.ticked.store(false, Ordering::Relaxed);
        // Sequentially consistent, as is the watchdog's look at it before it sleeps: one of the two sees the other.
        self.started.store(now, Ordering::SeqCst);
    }

    /// It no longer runs.
    pub fn stop(&self) {
        self.started.store(0, Ordering::Relaxed);
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.started.load(Ordering::SeqCst) != 0
    }

    /// Whether its time is over.
    pub fn is_late(&self, now: u64) -> bool {
        now >= self.deadline.load(Ordering::Relaxed)
    }

    /// The script has been told that it is a long one.
    pub fn set_ticked(&self) {
        self.ticked.store(true, Ordering::Relaxed);
    }

    /// Sets or, before the interpreter is closed, takes away the place to write to.
    pub fn connect(&self, address: Option<*mut c_void>) {
        let alarm = address.filter(|address| !address.is_null()).map(Alarm);
        *self.alarm.lock().unwrap_or_else(PoisonError::into_inner) = alarm;
    }

    /// Interrupts the script where that is due at `now`.
    pub fn watch(&self, now: u64) {
        let started = self.started.load(Ordering::Relaxed);
        if started == 0 {
            return;
        }
        let long = now.saturating_sub(started) >= TICK.as_nanos() as u64;
        let due = (long && !self.ticked.load(Ordering::Relaxed)) || self.is_late(now);
        if !due {
            return;
        }
        let alarm = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Alarm(address)) = alarm.as_ref() {
            // SAFETY: the interpreter is open as long as its address is here (`connect`), and we hold the lock.
            unsafe { sys::fg_alarm_set(*address) };
        }
    }
}
