//! The pool: all interpreters, the queue of requests and the runner threads.
//!
//! While the application answers quickly and an interpreter is idle, a request runs on the I/O thread that received it,
//! between two turns of that thread's event loop, so that no other thread has to wake up. A request that turns out to
//! be long goes on in a runner, of which there is one for each interpreter, so that it delays neither the I/O thread
//! nor any other request.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use engine::queue::{Offer, Queue};
use engine::snapshot::{Recorded, Snapshot};
use engine::{AppError, Engine, Fault, Handover, IoThread, Order, Reply, Request, Status, Waiting, panic_words, reply};
use parking_lot::Mutex;

use crate::interpreter::{Interpreter, Place, Step};
use crate::job::Job;
use crate::reason::Reason;
use crate::run_state::Clock;
use crate::settings::Settings;
use crate::watchdog::Watchdog;

/// Expected service time beyond which a request goes to a runner at once. Below it, waking another thread would cost a
/// good part of the service time; above it, the connections of the I/O thread would wait for several such requests in a
/// row.
const SHORT: Duration = Duration::from_micros(50);
/// Most that one request adds to the average service time, so that a third of the recent ones must have been long
/// before the next ones go to runners: on a busy machine a short request looks long whenever it loses the processor.
const LONGEST: Duration = Duration::from_micros(150);
/// Time on an I/O thread after which a request is taken for one that the watchdog could not interrupt, or that had lost
/// the processor.
const STUCK: Duration = Duration::from_millis(50);
/// Time within which a second such request counts as one that could not be interrupted: the processor is rarely lost
/// twice.
const STRIKES_TIME: Duration = Duration::from_secs(2);
/// Time during which no request runs on an I/O thread after that.
const DISTRUST: Duration = Duration::from_secs(10);
/// Runners need little stack: Ruby runs on a stack of its own.
const RUNNER_STACK_BYTES: usize = 256 << 10;

/// A unit of work for a runner thread.
enum Task {
    Begin(Box<Interpreter>, Job),
    Resume(Box<Interpreter>),
    Recycle(Box<Interpreter>),
}

/// The embedded engine: a pool of mruby interpreters with one application loaded, their queue, runners and watchdog.
pub struct Pool {
    /// Idle interpreters and waiting requests.
    pub(crate) queue: Queue<Box<Interpreter>, Job>,
    pub(crate) settings: Arc<Settings>,
    tasks: Sender<Task>,
    pub(crate) watchdog: Arc<Watchdog>,
    /// A moving average of recent service times, in nanoseconds.
    expected: AtomicU64,
    /// Until then no request runs on an I/O thread; by `clock`, 0 for never.
    distrusted_until: AtomicU64,
    /// When a request last held an I/O thread; by `clock`, 0 for never.
    struck: AtomicU64,
    clock: Clock,
    served: AtomicU64,
    /// Number of accepted requests that I/O threads have yet to offer to the queue.
    deferred: AtomicUsize,
    /// Number of interpreters that load the application anew. They run no request, and are not idle.
    loading: AtomicUsize,
    /// Whether requests are refused from now on. Those that were accepted before are still offered to the queue.
    is_closed: AtomicBool,
    /// The pool itself, for closures that an I/O thread runs later.
    me: Weak<Pool>,
    /// Numbers of interpreters recycled so far, by the reason's label.
    restarts: Mutex<BTreeMap<&'static str, u64>>,
    /// The generation: the number of recycle orders so far. An interpreter of an older one is recycled.
    pub(crate) generation: AtomicU64,
}

impl Pool {
    /// Starts one runner for each interpreter, all of which have the application loaded.
    #[expect(clippy::vec_box, reason = "an interpreter keeps its address: C holds pointers into it")]
    pub(crate) fn with(
        settings: Arc<Settings>,
        interpreters: Vec<Box<Interpreter>>,
        watchdog: Arc<Watchdog>,
    ) -> std::io::Result<Arc<Pool>> {
        // One place per interpreter: each is in at most one task, so that sending never waits.
        let (tasks, inbox) = bounded(interpreters.len());
        let pool = Arc::new_cyclic(|me| Pool {
            queue: Queue::new(settings.queue_places),
            settings,
            tasks,
            watchdog,
            expected: AtomicU64::new(0),
            distrusted_until: AtomicU64::new(0),
            struck: AtomicU64::new(0),
            clock: Clock::new(),
            served: AtomicU64::new(0),
            deferred: AtomicUsize::new(0),
            loading: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            me: me.clone(),
            restarts: Mutex::default(),
            generation: AtomicU64::new(0),
        });
        for interpreter in interpreters {
            let weak = Arc::downgrade(&pool);
            let inbox = inbox.clone();
            thread::Builder::new()
                .name(format!("mruby {}", interpreter.number))
                .stack_size(RUNNER_STACK_BYTES)
                .spawn(move || run(&weak, &inbox))?;
            pool.queue.release(interpreter);
        }
        let weak = Arc::downgrade(&pool);
        pool.watchdog.attend(Box::new(move |now| {
            let Some(pool) = weak.upgrade() else { return false };
            let late = pool.queue.overdue(now);
            let is_paused = !late.is_empty() && pool.queue.is_paused();
            for job in late {
                let waited = job.offered.elapsed();
                job.refuse(if is_paused { Fault::QueuePaused(waited) } else { Fault::QueueWait(waited) });
            }
            pool.queue.depth().waiting > 0
        }));
        Ok(pool)
    }

    fn place(&self) -> Place {
        let short = self.expected.load(Ordering::Relaxed) < SHORT.as_nanos() as u64;
        if short && !self.is_distrusted() { Place::Here } else { Place::Runner }
    }

    fn is_distrusted(&self) -> bool {
        let until = self.distrusted_until.load(Ordering::Relaxed);
        until != 0 && self.clock.at(Instant::now()) < until
    }

    /// Records a request that stayed on an I/O thread for longer than `STUCK`. It was in a native function that cannot
    /// be interrupted (sorting a million numbers, say), and more of its kind may follow: after the second one, requests
    /// go to runners for `DISTRUST`.
    fn distrust(&self, took: Duration) {
        if took <= STUCK {
            return;
        }
        let now = Instant::now();
        let struck = self.struck.swap(self.clock.at(now), Ordering::Relaxed);
        if struck != 0 && self.clock.at(now) - struck < STRIKES_TIME.as_nanos() as u64 {
            let app = self.app();
            tracing::debug!(target: "engine", ?took, app, "requests held an I/O thread: others go to runners");
            self.distrusted_until.store(self.clock.at(now + DISTRUST), Ordering::Relaxed);
        }
    }

    /// Name of the application in the log; None where the server has only one.
    pub(crate) fn app(&self) -> Option<&str> {
        self.settings.app.as_deref()
    }

    /// Adds a service time to the moving average. Two threads may do so at once and lose one of the two: it is an
    /// estimate.
    fn learn(&self, took: Duration) {
        let took = took.min(LONGEST).as_nanos() as u64;
        let expected = self.expected.load(Ordering::Relaxed);
        self.expected.store(expected - expected / 16 + took / 16, Ordering::Relaxed);
    }

    /// Releases an interpreter after a call with this service time, recycled where that is due. Returns the task that
    /// follows: the next waiting request, or the recycling, which must not hold up an I/O thread.
    fn next(&self, mut interpreter: Box<Interpreter>, took: Duration, place: Place) -> Option<Task> {
        self.learn(took);
        if !interpreter.is_own {
            self.served.fetch_add(1, Ordering::Relaxed);
        }
        match place {
            Place::Runner => self.recycle_if_due(interpreter),
            Place::Here if self.recycle_reason(&mut interpreter).is_some() => Some(Task::Recycle(interpreter)),
            Place::Here => self.release(interpreter),
        }
    }

    /// Releases an interpreter in a runner, recycled where that is due. Returns the next waiting request as a task.
    fn recycle_if_due(&self, mut interpreter: Box<Interpreter>) -> Option<Task> {
        if let Some(reason) = self.recycle_reason(&mut interpreter) {
            self.recycle(&mut interpreter, reason);
        }
        self.release(interpreter)
    }

    /// Releases an interpreter. Returns the next waiting request as a task.
    fn release(&self, interpreter: Box<Interpreter>) -> Option<Task> {
        self.queue.release(interpreter).map(|(interpreter, job)| Task::Begin(interpreter, job))
    }

    fn recycle_reason(&self, interpreter: &mut Interpreter) -> Option<Reason> {
        interpreter.recycle_reason(self.generation.load(Ordering::Relaxed))
    }

    fn recycle(&self, interpreter: &mut Interpreter, reason: Reason) {
        let (reason, words) = reason.label_and_words();
        *self.restarts.lock().entry(reason).or_default() += 1;
        let begin = Instant::now();
        let held = interpreter.used_bytes();
        let generation = self.generation.load(Ordering::Relaxed);
        match self.load_by(interpreter, |interpreter| interpreter.load(generation)) {
            Ok(()) => {
                let interpreter = interpreter.number;
                let took = begin.elapsed();
                let ms = took.as_secs_f64() * 1e3;
                tracing::debug!(
                    target: "engine",
                    interpreter, reason, ms, held_bytes = held, app = self.app(),
                    "interpreter {interpreter} replaced in {took:.2?}: {words}"
                );
            }
            Err(error) => {
                let interpreter = interpreter.number;
                let class = &error.class;
                let message = &error.message;
                tracing::error!(
                    target: "engine",
                    interpreter,
                    app = self.app(),
                    "interpreter {interpreter}: the application cannot be loaded any more: {class}: {message}"
                );
            }
        }
    }

    /// Loads the application anew by `load`. If that panics, which is a defect of this program, it has failed as if the
    /// application had raised: the interpreter must not be lost.
    fn load_by(
        &self,
        interpreter: &mut Interpreter,
        load: impl FnOnce(&mut Interpreter) -> Result<(), Box<AppError>>,
    ) -> Result<(), Box<AppError>> {
        self.loading.fetch_add(1, Ordering::SeqCst);
        let loaded = catch_unwind(AssertUnwindSafe(|| load(interpreter)));
        self.loading.fetch_sub(1, Ordering::SeqCst);
        loaded.unwrap_or_else(|_panic| {
            let message = "the server has panicked while it loaded the application; this is a defect of the server";
            let error = Box::new(AppError { class: "fatal".into(), message: message.into(), ..AppError::default() });
            interpreter.poison(error.clone());
            Err(error)
        })
    }

    /// Runs a call, or a part of it. If that panics, which is a defect of this program, the interpreter loads the
    /// application anew: a lost one would count as busy, and the engine would wait for it before it ends.
    fn step(
        &self,
        mut interpreter: Box<Interpreter>,
        call: impl FnOnce(&mut Interpreter) -> Step,
    ) -> (Box<Interpreter>, Step) {
        match catch_unwind(AssertUnwindSafe(|| call(&mut interpreter))) {
            Ok(step) => (interpreter, step),
            Err(panic) => {
                interpreter.poison(Box::default());
                self.hand_over(Task::Recycle(interpreter));
                resume_unwind(panic)
            }
        }
    }

    /// Runs one task to its end in a runner. Returns the task that follows.
    fn work(&self, task: Task) -> Option<Task> {
        let (mut interpreter, mut step) = match task {
            Task::Begin(interpreter, job) => {
                self.step(interpreter, |interpreter| interpreter.begin(job, Place::Runner))
            }
            Task::Resume(interpreter) => (interpreter, Step::Migrates),
            Task::Recycle(interpreter) => return self.recycle_if_due(interpreter),
        };
        while step == Step::Migrates {
            (interpreter, step) = self.step(interpreter, Interpreter::resume);
        }
        self.watchdog.wake();
        let took = interpreter.took();
        self.next(interpreter, took, Place::Runner)
    }

    /// Numbers of interpreters recycled so far, by the reason's label.
    pub(crate) fn restarts_by(&self) -> BTreeMap<String, u64> {
        self.restarts.lock().iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
    }

    /// Runs a request that the queue has released in a runner.
    pub(crate) fn begin(&self, interpreter: Box<Interpreter>, job: Job) {
        self.hand_over(Task::Begin(interpreter, job));
    }

    /// Recycles an interpreter that was idle, in a runner.
    pub(crate) fn recycle_idle(&self, interpreter: Box<Interpreter>) {
        self.hand_over(Task::Recycle(interpreter));
    }

    /// Sends a task to the runners. There is always room: the channel has a place for each interpreter.
    fn hand_over(&self, task: Task) {
        if let Err(refused) = self.tasks.send(task)
            && let Task::Begin(_, job) = refused.into_inner()
        {
            job.refuse(Fault::Broken("the interpreters' threads are gone".into()));
        }
    }

    /// Notes that an I/O thread will offer a request to the queue; false if none is accepted any more. Whoever closes
    /// the pool either is seen here, or sees this request in [`Engine::unfinished`].
    fn accept_deferred(&self) -> bool {
        self.deferred.fetch_add(1, Ordering::SeqCst);
        let is_accepted = !self.is_closed.load(Ordering::SeqCst);
        if !is_accepted {
            self.deferred.fetch_sub(1, Ordering::SeqCst);
        }
        is_accepted
    }

    /// Offers a request on an I/O thread that was accepted for it.
    fn offer_deferred(&self, job: Job, io: &Arc<IoThread>) {
        let offer = self.queue.offer_accepted(job);
        // Only now does the queue, or the interpreter, count it.
        self.deferred.fetch_sub(1, Ordering::SeqCst);
        self.take(offer, Some(io));
    }

    /// Takes what the queue has made of a job: paired it with an idle interpreter where there is one. Runs it at once
    /// on an I/O thread if service times are short, else in a runner.
    fn take(&self, offer: Offer<Box<Interpreter>, Job>, io: Option<&Arc<IoThread>>) {
        match offer {
            Offer::Run(interpreter, job) if self.place() == Place::Here => self.run_here(interpreter, job, io),
            Offer::Run(interpreter, job) => self.hand_over(Task::Begin(interpreter, job)),
            Offer::Queued => self.watchdog.wake(),
            Offer::Late(job) => {
                let allowed = job.request.must_begin_by().saturating_duration_since(job.offered);
                job.turn_away(Fault::QueueLate(allowed));
            }
            Offer::Full(job) => job.turn_away(Fault::QueueFull(self.settings.queue_places)),
            Offer::Closed(job) => job.turn_away(Fault::Stopping),
        }
    }

    fn run_here(&self, mut interpreter: Box<Interpreter>, job: Job, io: Option<&Arc<IoThread>>) {
        if let Some(io) = io {
            interpreter.enter_io(io);
        }
        let (interpreter, step) = self.step(interpreter, |interpreter| interpreter.begin(job, Place::Here));
        let took = interpreter.took();
        self.distrust(took);
        let task = match step {
            Step::Migrates => Some(Task::Resume(interpreter)),
            Step::Over => self.next(interpreter, took, Place::Here),
        };
        if let Some(task) = task {
            self.hand_over(task);
        }
    }
}

/// Body of a runner thread. It ends when the pool is dropped.
fn run(pool: &Weak<Pool>, inbox: &Receiver<Task>) {
    while let Ok(first) = inbox.recv() {
        let mut task = Some(first);
        while let Some(now) = task {
            let Some(pool) = pool.upgrade() else { return };
            task = catch_unwind(AssertUnwindSafe(|| pool.work(now))).unwrap_or_else(|panic| {
                tracing::error!(target: "engine", app = pool.app(), "{}", panic_words(&*panic));
                None
            });
        }
    }
}

impl Engine for Pool {
    fn call(&self, request: Request) -> Reply {
        let offered = Instant::now();
        let (responder, reply) = reply::metered(&self.settings.meter, &request, offered);
        let job = Job { request: Box::new(request), responder, offered };
        let io = if self.place() == Place::Here { IoThread::current() } else { None };
        match (io, self.me.upgrade()) {
            (Some(io), Some(me)) if self.accept_deferred() => {
                io.defer(Box::new(move |io| me.offer_deferred(job, io)));
                reply.deferred()
            }
            _ => {
                self.take(self.queue.offer(job), None);
                reply
            }
        }
    }

    fn status(&self) -> Status {
        let depth = self.queue.depth();
        Status {
            capacity: self.settings.interpreters,
            idle: depth.idle,
            busy: self.settings.interpreters.saturating_sub(depth.idle + self.loading.load(Ordering::SeqCst)),
            queued: depth.waiting,
            served: self.served.load(Ordering::Relaxed),
            restarts: self.restarts.lock().values().sum(),
        }
    }

    fn unfinished(&self) -> usize {
        // In this order: a request is counted by the queue before it is deferred no more.
        let deferred = self.deferred.load(Ordering::SeqCst);
        let depth = self.queue.depth();
        deferred + self.settings.interpreters.saturating_sub(depth.idle) + depth.waiting
    }

    fn unanswered(&self) -> usize {
        self.unfinished().saturating_sub(self.watchdog.streams())
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.queue.close();
        // Waiting requests are still answered: while paused they would wait until their deadline.
        self.resume();
    }

    fn hand_over_waiting(&self) -> Option<Handover<Waiting>> {
        let waiting = self.queue.hand_over(Instant::now());
        Some(waiting.map(|Job { request, responder, offered }| Some(Waiting { request: *request, responder, offered })))
    }

    fn take_over(&self, waiting: Handover<Waiting>) {
        let jobs = waiting.map(|Waiting { request, responder, offered }| {
            Some(Job { request: Box::new(request), responder, offered })
        });
        for (interpreter, job) in self.queue.take_over(jobs, Instant::now()) {
            self.begin(interpreter, job);
        }
        self.watchdog.wake();
    }

    fn snapshot(&self) -> Snapshot {
        self.view()
    }

    fn recorded(&self) -> Recorded {
        self.settings.meter.recorder.read()
    }

    fn order(&self, order: Order) -> Result<String, String> {
        self.carry_out(order)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::Keep;

    const PATIENCE: Duration = Duration::from_secs(30);

    const APP: &str = "run ->(_) { [200, {}, ['gold']] }";

    /// An engine with one interpreter, and the folder of its application.
    fn start() -> (Arc<Pool>, tempfile::TempDir) {
        start_app(APP)
    }

    fn start_app(config: &str) -> (Arc<Pool>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let rackup = folder.path().join("config.ru");
        std::fs::write(&rackup, config).unwrap();
        let settings = Settings {
            rackup,
            app: None,
            environment: "test".into(),
            interpreters: 1,
            fresh: false,
            max_requests: 0,
            max_requests_jitter: 0,
            memory_bytes: 32 << 20,
            queue_places: 1,
            boot_time: PATIENCE,
            keep: Keep::default(),
            slow_time: PATIENCE,
            meter: Arc::default(),
        };
        (Pool::start(settings).unwrap(), folder)
    }

    /// Waits until the only interpreter is idle again.
    fn wait(pool: &Pool) {
        let deadline = Instant::now() + PATIENCE;
        while pool.unfinished() > 0 {
            assert!(Instant::now() < deadline, "{:?}", pool.status());
            thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Whether a request gets 200.
    fn is_answered(pool: &Pool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        let mut reply = pool.call(Request::sample(http::Method::GET, "/"));
        let mut context = Context::from_waker(Waker::noop());
        let answer = loop {
            if let Poll::Ready(answer) = Pin::new(&mut reply).poll(&mut context) {
                break answer;
            }
            assert!(Instant::now() < deadline, "{:?}", pool.status());
            thread::park_timeout(Duration::from_millis(1));
        };
        answer.result.is_ok_and(|response| response.head.status == http::StatusCode::OK)
    }

    /// The old generation of a reload ends when no request is unfinished.
    #[test]
    fn an_interpreter_in_which_a_call_panics_loads_the_application_anew() {
        let (pool, _folder) = start();
        let interpreter = pool.queue.take_idle(|_| true).unwrap();
        let call = || pool.step(interpreter, Interpreter::panics);
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err(), "the caller hears of it");
        wait(&pool);
        assert_eq!(pool.restarts_by().get("load"), Some(&1));
        assert!(is_answered(&pool));
    }

    /// It counted as busy for ever, and as one that loads.
    #[test]
    fn an_interpreter_in_which_the_loading_panics_is_not_lost() {
        let (pool, _folder) = start();
        let mut interpreter = pool.queue.take_idle(|_| true).unwrap();
        let loaded = pool.load_by(&mut interpreter, |interpreter| {
            interpreter.panics();
            Ok(())
        });
        assert!(loaded.unwrap_err().message.contains("has panicked"));
        assert!(pool.release(interpreter).is_none(), "nothing waits for it");
        let seen = pool.status();
        assert_eq!((seen.idle, seen.busy, pool.loading.load(Ordering::SeqCst)), (1, 0, 0));
        assert!(!is_answered(&pool), "as where the application has raised");
        wait(&pool);
        assert!(is_answered(&pool), "it is loaded by then");
    }

    /// The loading that follows counted as work that holds the I/O thread, and another OS thread took its place.
    #[test]
    fn an_interpreter_that_cannot_run_its_request_leaves_the_io_thread() {
        let (pool, _folder) = start_app(&format!("ends = Time.now + 0.1\nnil while Time.now < ends\n{APP}"));
        let mut interpreter = pool.queue.take_idle(|_| true).unwrap();
        interpreter.poison(Box::default());
        let replaced = Arc::new(AtomicBool::new(false));
        let seen = replaced.clone();
        let io = Arc::new(IoThread::new(Box::new(move |_| {
            seen.store(true, Ordering::SeqCst);
            false
        })));
        let request = Request::sample(http::Method::GET, "/");
        let offered = Instant::now();
        let (responder, _reply) = reply::metered(&pool.settings.meter, &request, offered);
        pool.run_here(interpreter, Job { request: Box::new(request), responder, offered }, Some(&io));
        wait(&pool);
        assert_eq!(pool.restarts_by().get("load"), Some(&1));
        assert!(!replaced.load(Ordering::SeqCst));
    }
}
