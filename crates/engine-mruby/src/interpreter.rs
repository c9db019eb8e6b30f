//! One interpreter with its stack, its host and its state. It is owned by the thread that runs it, or is idle in the
//! queue.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::quota::quota;
use engine::{AppError, IoThread, count};
use ruby_native::Folders;

use crate::host::Host;
use crate::job::Job;
use crate::reason::Reason;
use crate::response_writer::{ResponseWriter, app_fault};
use crate::run_state::{Clock, RunState};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::stack::{Migration, Stack};
use crate::vm::{Ended, Vm};
use crate::watchdog::Watchdog;

/// The thread in which a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The I/O thread that read the request, until the call turns out to be long.
    Here,
    /// A runner thread, to the end of the call.
    Runner,
}

/// State of a call when control comes back from its stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The call has ended.
    Over,
    /// The call turned out to be long and migrates: it must be resumed in a runner.
    Migrates,
}

/// An interpreter with the application loaded, or with the error that prevented it.
pub struct Interpreter {
    /// Number of the interpreter in logs and on the live page, from 0.
    pub number: usize,
    vm: Option<Vm>,
    host: NonNull<Host>,
    watchdog: Arc<Watchdog>,
    stack: Stack,
    began: Option<Instant>,
    /// Whether the last call was for a request of the server itself, a probe.
    pub is_own: bool,
    served: u64,
    /// Number of requests after which the interpreter is replaced; None for no limit.
    quota: Option<u64>,
    /// Generation of the pool in which the interpreter was opened.
    pub generation: u64,
    ended: Ended,
    broken: Option<Box<AppError>>,
}

// SAFETY: the host is owned by this value alone (it is boxed only so that C can hold its address).
unsafe impl Send for Interpreter {}

impl Interpreter {
    /// An interpreter without the application; [`Interpreter::load`] loads it.
    pub fn new(
        number: usize,
        shared: Arc<Shared>,
        run_state: Arc<RunState>,
        clock: Clock,
        watchdog: Arc<Watchdog>,
    ) -> io::Result<Box<Interpreter>> {
        let host = Box::new(Host::new(shared, run_state, clock));
        Ok(Box::new(Interpreter {
            number,
            vm: None,
            host: NonNull::from(Box::leak(host)),
            watchdog,
            stack: Stack::new()?,
            began: None,
            is_own: false,
            served: 0,
            quota: None,
            generation: 0,
            ended: Ended::Well,
            broken: None,
        }))
    }

    fn host(&mut self) -> &mut Host {
        // SAFETY: the host was boxed in `new`, is freed in `drop`, and is not in use by C while we are here.
        unsafe { self.host.as_mut() }
    }

    /// Names the I/O thread on which the next call runs.
    pub fn enter_io(&mut self, io: &Arc<IoThread>) {
        self.host().run_state.enter_io(io);
    }

    /// Runs one job to its end, or until it migrates to a runner.
    pub fn begin(&mut self, job: Job, place: Place) -> Step {
        let now = Instant::now();
        self.began = Some(now);
        self.is_own = job.request.is_own;
        let queued = now.saturating_duration_since(job.offered);
        if let Some(error) = self.broken.clone() {
            // Its I/O thread goes on, while a runner loads the application.
            self.host().run_state.leave_io();
            job.fail(app_fault(Some(*error)), queued, self.number);
            return Step::Over;
        }
        let clock = self.host().clock;
        self.host().reset();
        self.host().run_state.start(clock.at(now), clock.at(job.request.deadline));
        self.watchdog.wake();
        let mut me = NonNull::from(&mut *self);
        let over = self.stack.begin(move |migration| {
            let migration = if place == Place::Here { migration } else { Migration::none() };
            // SAFETY: the interpreter is boxed and keeps its address. While the work is suspended, no code touches what
            // the work uses (host and vm); `stack`, which is touched then, is not used from here.
            unsafe { me.as_mut() }.run(job, queued, migration);
        });
        self.step(over)
    }

    /// Resumes a call that migrates, in the current thread.
    pub fn resume(&mut self) -> Step {
        let over = self.stack.resume();
        self.step(over)
    }

    fn step(&mut self, over: bool) -> Step {
        if !over {
            return Step::Migrates;
        }
        self.host().run_state.stop();
        self.host().writer = None;
        self.host().handles.end_request();
        Step::Over
    }

    /// Ends a call, or a loading, that has panicked. The application is loaded anew; a call before that fails with this
    /// error.
    pub fn poison(&mut self, error: Box<AppError>) {
        self.step(true);
        self.broken = Some(error);
    }

    /// A call that panics.
    #[cfg(test)]
    pub fn panics(&mut self) -> Step {
        let over = self.stack.begin(|_| std::panic::panic_any("pyrite"));
        self.step(over)
    }

    fn run(&mut self, job: Job, queued: Duration, migration: Migration) {
        let number = self.number;
        let run_state = self.host().run_state.clone();
        let writer = ResponseWriter::new(job, queued, migration, number, run_state);
        let writer = self.host().writer.insert(writer);
        let request = &raw const *writer.request;
        if let Some(vm) = &mut self.vm {
            self.ended = vm.call(request);
        }
        self.roll_back("a request had left open");
        self.served += 1;
        if !self.is_own {
            self.host().run_state.count();
        }
    }

    /// Ends all statements and transactions of SQLite, so that no lock is held until the next request.
    fn roll_back(&mut self, why: &str) {
        let left = ruby_data::roll_back(&self.host().handles);
        if left > 0 {
            let app = self.host().shared.settings.app.clone();
            let what = count(left, "transaction");
            tracing::warn!(target: "app", app, "rolled back {what} that {why}");
        }
    }

    /// Time since the last call began: its service time, when asked right after it.
    pub fn took(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// The reason to recycle the interpreter before the next call, if there is one. `generation` is the pool's current
    /// generation.
    pub fn recycle_reason(&mut self, generation: u64) -> Option<Reason> {
        if self.broken.is_some() || self.vm.is_none() {
            Some(Reason::Load)
        } else if self.host().run_state.is_to_end() {
            Some(Reason::Order)
        } else if self.ended == Ended::Stopped {
            Some(Reason::Timeout)
        } else if self.ended == Ended::OutOfMemory {
            Some(Reason::Memory)
        } else if self.host().shared.settings.fresh {
            Some(Reason::Fresh)
        } else if self.quota.is_some_and(|quota| self.served >= quota) {
            Some(Reason::MaxRequests)
        } else if self.generation != generation {
            Some(Reason::Recycle)
        } else {
            None
        }
    }

    /// Loads the application into a new interpreter, after the one before is closed. `generation` is the pool's current
    /// generation.
    pub fn load(&mut self, generation: u64) -> Result<(), Box<AppError>> {
        let shared = self.host().shared.clone();
        let settings = &shared.settings;
        self.vm = None;
        self.host().handles.clear();
        self.host().folders = Folders::default();
        self.served = 0;
        self.quota = quota(settings.max_requests, settings.max_requests_jitter);
        self.generation = generation;
        self.host().run_state.open();
        // A Timeout in a suspended Enumerator or Fiber would otherwise expire while the application loads.
        self.host().reset();
        self.ended = Ended::Well;
        let opened = self.open(settings);
        self.broken = opened.as_ref().err().cloned();
        self.vm = opened.ok();
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn open(&mut self, settings: &Settings) -> Result<Vm, Box<AppError>> {
        if !self.stack.is_free() {
            let failed = |error: io::Error| AppError { message: error.to_string(), ..AppError::default() };
            self.stack = Stack::new().map_err(failed)?;
        }
        let now = Instant::now();
        let clock = self.host().clock;
        self.host().run_state.start_loading(clock.at(now), clock.at(now + settings.boot_time));
        self.watchdog.wake();
        let host = self.host;
        let bytes = settings.memory_bytes;
        let rackup = settings.rackup.clone();
        let mut opened = None;
        let mut place = NonNull::from(&mut opened);
        // Deeply nested source needs the deep stack as much as deep calls do.
        self.stack.begin(move |_| {
            let loaded = Vm::open(host, bytes, &rackup);
            // SAFETY: the place lies in the frame of this function, which waits for this work: opening never migrates.
            unsafe { *place.as_mut() = Some(loaded) };
        });
        self.roll_back("the application had left open when it was loaded");
        self.host().run_state.stop();
        opened.unwrap_or_else(|| Err(Box::default()))
    }

    /// Bytes of memory the interpreter holds.
    pub fn used_bytes(&self) -> usize {
        self.vm.as_ref().map_or(0, Vm::used_bytes)
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // A call was suspended when the pool ended: its frames refer to the interpreter and to the host, so neither is
        // freed.
        if self.stack.abandon() {
            std::mem::forget(self.vm.take());
            return;
        }
        // The interpreter first: closing it still uses the host.
        self.vm = None;
        // SAFETY: the host was leaked from a box in `new`, and this value alone owns it.
        drop(unsafe { Box::from_raw(self.host.as_ptr()) });
    }
}
