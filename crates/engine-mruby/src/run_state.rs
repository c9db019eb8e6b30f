//! The run state of one interpreter: since when it runs, and its deadline. Written by the thread that runs the
//! interpreter and read by the watchdog's; atomic numbers, so that neither waits for the other.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::IoThread;
use engine::snapshot::{RunView, WorkerView};
use parking_lot::Mutex;

use mruby_sys as sys;

/// Time after which a request is long: it migrates to a runner, and the part of its body that is there is sent. Also
/// the interval of the watchdog's ticks.
pub const TICK: Duration = Duration::from_millis(1);

/// Longest time until a request that sleeps, or waits for its client, notices that an order has ended it.
pub const NAP: Duration = Duration::from_millis(100);

/// Time after which a request that is still on an I/O thread must be in a native function that cannot be interrupted:
/// another OS thread takes over the event loop.
const HELD: Duration = Duration::from_millis(10);

const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// The clock of all run states: nanoseconds since the engine started, plus 1, so that 0 can stand for "never".
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that shows 1 now.
    pub fn new() -> Clock {
        Clock(Instant::now())
    }

    /// The time that the clock shows at `instant`.
    pub fn at(self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.0).as_nanos();
        u64::try_from(elapsed).unwrap_or(u64::MAX - 1) + 1
    }

    /// The instant at which the clock shows `at`, at most a century after the start.
    pub fn instant(self, at: u64) -> Instant {
        self.0 + Duration::from_nanos(at.saturating_sub(1)).min(CENTURY)
    }
}

/// The deadline timer's target: an address in the interpreter that interrupts it at its next instruction when written
/// to.
struct DeadlineTimer(*mut c_void);

// SAFETY: the address is only passed to fg_deadline_timer_set, under the lock of `RunState::deadline_timer`, which is
// emptied before the interpreter is closed; the store itself is atomic.
unsafe impl Send for DeadlineTimer {}

/// The run state of one interpreter. Times are those of [`Clock`].
pub struct RunState {
    /// When what runs has started; 0 while nothing runs.
    started: AtomicU64,
    deadline: AtomicU64,
    /// The nearest limit of a Timeout block, u64::MAX for none.
    soon: AtomicU64,
    /// Whether what runs is the application as it is loaded, and no request.
    is_loading: AtomicBool,
    /// Whether the request that runs has been handled as a long one.
    ticked: AtomicBool,
    /// Whether the request that runs has begun its response, which is a stream.
    streams: AtomicBool,
    /// The address that interrupts the interpreter; None while it is closed.
    deadline_timer: Mutex<Option<DeadlineTimer>>,
    /// When the interpreter was opened.
    opened: Mutex<Instant>,
    served: AtomicU64,
    /// Whether an order has asked for the replacement of the interpreter.
    ends: AtomicBool,
    /// Description of the request that runs, once it is a long one.
    running: Mutex<Option<RunView>>,
    /// Whether `running` is set.
    is_described: AtomicBool,
    /// Whether the interpreter runs on an I/O thread now.
    on_io: AtomicBool,
    /// The I/O thread on which the interpreter ran last, and the thread's term at that time.
    io: Mutex<Option<(Arc<IoThread>, u64)>>,
}

impl RunState {
    /// The run state of an idle interpreter.
    pub fn new() -> RunState {
        RunState {
            started: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            soon: AtomicU64::new(u64::MAX),
            is_loading: AtomicBool::new(false),
            ticked: AtomicBool::new(false),
            streams: AtomicBool::new(false),
            deadline_timer: Mutex::new(None),
            opened: Mutex::new(Instant::now()),
            served: AtomicU64::new(0),
            ends: AtomicBool::new(false),
            running: Mutex::new(None),
            is_described: AtomicBool::new(false),
            on_io: AtomicBool::new(false),
            io: Mutex::new(None),
        }
    }

    /// Records that the interpreter runs a request from `now` on, at most until `deadline`.
    pub fn start(&self, now: u64, deadline: u64) {
        self.begin(now, deadline, false);
    }

    /// Records that the interpreter loads the application from `now` on, at most until `deadline`.
    pub fn start_loading(&self, now: u64, deadline: u64) {
        self.begin(now, deadline, true);
    }

    fn begin(&self, now: u64, deadline: u64, is_loading: bool) {
        self.is_loading.store(is_loading, Ordering::Relaxed);
        self.deadline.store(deadline, Ordering::Relaxed);
        self.soon.store(u64::MAX, Ordering::Relaxed);
        self.ticked.store(false, Ordering::Relaxed);
        self.streams.store(false, Ordering::Relaxed);
        // Sequentially consistent, like the watchdog's check before it sleeps: one of the two sees the other.
        self.started.store(now, Ordering::SeqCst);
    }

    /// Records that the next call runs on this I/O thread.
    pub fn enter_io(&self, io: &Arc<IoThread>) {
        let term = io.term();
        let mut held = self.io.lock();
        if !held.as_ref().is_some_and(|(before, of)| Arc::ptr_eq(before, io) && *of == term) {
            *held = Some((io.clone(), term));
        }
        self.on_io.store(true, Ordering::Relaxed);
    }

    /// Records that the call has left its I/O thread.
    pub fn leave_io(&self) {
        self.on_io.store(false, Ordering::Relaxed);
    }

    /// Records that the interpreter is idle.
    pub fn stop(&self) {
        self.leave_io();
        self.started.store(0, Ordering::Relaxed);
        if self.is_described.load(Ordering::Relaxed) {
            self.is_described.store(false, Ordering::Relaxed);
            *self.running.lock() = None;
        }
    }

    /// Sets the description of a long request.
    pub fn describe(&self, run: RunView) {
        *self.running.lock() = Some(run);
        self.is_described.store(true, Ordering::Relaxed);
    }

    /// Counts a request that was served.
    pub fn count(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the interpreter is opened anew, without requests served.
    pub fn open(&self) {
        *self.opened.lock() = Instant::now();
        self.served.store(0, Ordering::Relaxed);
        self.ends.store(false, Ordering::Relaxed);
    }

    /// Asks for the replacement of the interpreter when its request has ended. With `now`, its request times out at
    /// once.
    pub fn end(&self, now: bool) {
        self.ends.store(true, Ordering::Relaxed);
        if now {
            self.deadline.store(0, Ordering::Relaxed);
        }
    }

    /// Records that the request that runs has begun its response, which is a stream.
    pub fn begin_stream(&self) {
        self.streams.store(true, Ordering::Relaxed);
    }

    /// Whether a request runs that has begun its response.
    pub fn streams(&self) -> bool {
        self.is_running() && self.streams.load(Ordering::Relaxed)
    }

    /// Whether an order has ended the request that runs.
    pub fn is_ended(&self) -> bool {
        self.deadline() == 0
    }

    /// Puts the deadline off, unless an order has ended the request.
    pub fn put_off(&self, by: Duration) {
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let later = |deadline: u64| (deadline != 0).then(|| deadline.saturating_add(by));
        // An error only says that an order was first.
        let _ = self.deadline.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
    }

    /// Whether an order has asked for the replacement of the interpreter.
    pub fn is_to_end(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// A view of the interpreter for the live page and the control socket.
    pub fn view(&self, id: u32, clock: Clock, now: Instant) -> WorkerView {
        let started = self.started.load(Ordering::Relaxed);
        let age = clock.at(now).saturating_sub(started);
        let is_loading = started != 0 && self.is_loading.load(Ordering::Relaxed);
        let mut running = Vec::new();
        // A shorter request may not have described itself yet.
        if started != 0 && !is_loading && age > 2 * TICK.as_nanos() as u64 {
            let run = self.running.lock().clone().unwrap_or_default();
            running.push(RunView { age_ms: age as f64 / 1e6, ..run });
        }
        WorkerView {
            id,
            state: if is_loading { "booting" } else { "ready" }.to_owned(),
            threads: 1,
            served: self.served.load(Ordering::Relaxed),
            age_s: now.saturating_duration_since(*self.opened.lock()).as_secs_f64(),
            running,
            ..WorkerView::default()
        }
    }

    /// Whether the interpreter runs a request or loads the application.
    pub fn is_running(&self) -> bool {
        self.started.load(Ordering::SeqCst) != 0
    }

    /// Whether the interpreter runs a request.
    pub fn runs_request(&self) -> bool {
        self.is_running() && !self.is_loading.load(Ordering::Relaxed)
    }

    /// Whether the deadline has passed at `now`.
    pub fn is_late(&self, now: u64) -> bool {
        now >= self.deadline.load(Ordering::Relaxed)
    }

    /// The deadline of what runs.
    pub fn deadline(&self) -> u64 {
        self.deadline.load(Ordering::Relaxed)
    }

    /// Sets the nearest limit of a Timeout block, u64::MAX for none.
    pub fn set_soon(&self, at: u64) {
        self.soon.store(at, Ordering::Relaxed);
    }

    /// Records that the request has been handled as a long one; it is not interrupted again for that.
    pub fn set_ticked(&self) {
        self.ticked.store(true, Ordering::Relaxed);
    }

    /// Sets the address that interrupts the interpreter, or removes it before the interpreter is closed.
    pub fn connect(&self, address: Option<*mut c_void>) {
        let deadline_timer = address.filter(|address| !address.is_null()).map(DeadlineTimer);
        *self.deadline_timer.lock() = deadline_timer;
    }

    /// Interrupts the script where `now` is past its deadline, a Timeout limit or the first tick. Replaces an I/O
    /// thread that the script has held for too long.
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
        let deadline_timer = self.deadline_timer.lock();
        if let Some(DeadlineTimer(address)) = deadline_timer.as_ref() {
            // SAFETY: the interpreter is open as long as its address is here (`connect`), and we hold the lock.
            unsafe { sys::fg_deadline_timer_set(*address) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_that_loads_the_application_runs_no_request() {
        let (run_state, clock, began) = (RunState::new(), Clock::new(), Instant::now());
        let look = || {
            let view = run_state.view(0, clock, began + 10 * TICK);
            (view.state, view.running.len())
        };
        assert_eq!(look(), ("ready".to_owned(), 0));
        run_state.start_loading(clock.at(began), u64::MAX);
        assert_eq!(look(), ("booting".to_owned(), 0));
        run_state.stop();
        run_state.start(clock.at(began), u64::MAX);
        assert_eq!(look(), ("ready".to_owned(), 1));
    }
}
