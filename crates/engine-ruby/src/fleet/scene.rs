//! A fleet for tests, with a supervisor that carries actions out at once: processes start, dispatch adds workers, and
//! memory is as the test sets it. Everything else happens only when the test feeds it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::AppError;
use machine::MemoryUse;

use super::action::Action;
use super::event::{Event, Load};
use super::log_line::{LogLine, WorkerLine};
use super::policy::Policy;
use super::worker::WorkerProcess;
use super::{Fleet, mold};
use crate::exit::Exit;
use crate::preload::Preload;
use crate::start_error::StartError;
use crate::weight::Weight;

/// The process id of the first mold; the next mold has the next number.
pub const MOLD: u32 = 100;
pub const MIB: u64 = 1 << 20;
/// The exit status of a process that has failed.
pub const FAILURE: i32 = 1;

/// A fleet and its surroundings.
pub struct Scene {
    pub fleet: Fleet,
    pub now: Instant,
    pub memory: Option<MemoryUse>,
    /// An application is being loaded somewhere in the program.
    pub is_loading: bool,
    pub is_killed_by_kernel: bool,
    /// The shared budget has a free place.
    pub has_place: bool,
    pub logged: Vec<LogLine>,
    next_mold: u32,
}

/// A policy of `min_workers` to `max_workers` workers of one thread.
pub fn policy(min_workers: usize, max_workers: usize) -> Policy {
    Policy {
        ruby: PathBuf::from("ruby"),
        preload: Preload::Yes,
        threads: 1,
        min_workers,
        max_workers,
        retries_hooks: false,
        boot_time: Duration::from_secs(60),
        worker_timeout: Duration::from_secs(60),
        worker_memory: None,
    }
}

/// A use of `mib` MiB of memory, of 1000.
pub fn used(mib: u64) -> Option<MemoryUse> {
    Some(MemoryUse { limit: 1000 * MIB, used: mib * MIB, is_machine: false, stalled_percent: None })
}

/// The facts that a mold reports.
pub fn facts(fork: &str) -> Vec<(String, String)> {
    vec![("fork".to_owned(), fork.to_owned())]
}

/// An exception of the application.
pub fn raised() -> StartError {
    StartError::App(Box::new(AppError { class: "RuntimeError".into(), message: "ouch".into(), ..AppError::default() }))
}

/// The process id of a worker.
pub fn pid(worker: u32) -> u32 {
    1000 + worker
}

/// A log entry about a worker.
pub fn line(worker: u32, line: WorkerLine) -> LogLine {
    LogLine::Worker(worker, Some(pid(worker)), line)
}

/// The load of a worker with `requests` requests.
pub fn load(worker: u32, requests: usize) -> Load {
    Load { worker, requests, is_done: requests == 0, is_leaving: false }
}

impl Scene {
    /// Creates a fleet that has started nothing.
    pub fn new(policy: Policy) -> Scene {
        let now = Instant::now();
        Scene {
            fleet: Fleet::new(policy, None, now),
            now,
            memory: None,
            is_loading: false,
            is_killed_by_kernel: false,
            has_place: true,
            logged: Vec::new(),
            next_mold: MOLD,
        }
    }

    /// Creates a start in which the first mold was ordered to fork the workers, or, if it cannot fork, to become one.
    pub fn ordered(policy: Policy, fork: &str) -> Scene {
        let mut scene = Scene::new(policy);
        scene.feed(Event::Fill);
        scene.mold_ready(MOLD, fork);
        scene.feed(Event::Fill);
        scene.logged.clear();
        scene
    }

    /// Creates a fleet with a mold that forks and with all wanted workers serving.
    pub fn serving(policy: Policy) -> Scene {
        let mut scene = Scene::ordered(policy, "yes");
        scene.fill_and_serve();
        scene.logged.clear();
        scene
    }

    /// Creates a fleet whose only worker has ended, and whose next one, worker 2, boots.
    pub fn booting_again() -> Scene {
        let mut scene = Scene::serving(policy(1, 1));
        scene.worker_ends(1);
        scene.feed(Event::Fill);
        scene.boot(MOLD, 2);
        scene.logged.clear();
        scene
    }

    /// Creates a fleet that loads the application again: its mold and its only worker have ended, and a second mold was
    /// started.
    pub fn loading_again() -> Scene {
        let mut scene = Scene::serving(policy(1, 1));
        scene.mold_ends(MOLD, 0);
        scene.worker_ends(1);
        scene.pass(Duration::from_secs(1));
        scene.feed(Event::Fill);
        scene
    }

    /// Feeds an event, carries the actions out and returns them without the log entries.
    pub fn feed(&mut self, event: Event) -> Vec<String> {
        let mut events = VecDeque::from([event]);
        let mut done = Vec::new();
        while let Some(event) = events.pop_front() {
            for action in self.fleet.take(event, self.now) {
                let shown = format!("{action:?}");
                match action {
                    Action::Log(line) => {
                        self.logged.push(line);
                        continue;
                    }
                    Action::StartMold => {
                        events.push_back(Event::MoldStarted(self.next_mold));
                        self.next_mold += 1;
                    }
                    Action::AddWorker { worker, .. } => events.push_back(Event::WorkerAdded(worker)),
                    Action::AskKernel(dead) => {
                        events.push_back(Event::KernelAsked(dead, self.is_killed_by_kernel));
                    }
                    Action::ReadMemory => {
                        events.push_back(Event::Memory { memory: self.memory, is_loading: self.is_loading });
                    }
                    Action::TakePlace { .. } if self.has_place => events.push_back(Event::PlaceTaken),
                    _ => {}
                }
                done.push(shown);
            }
        }
        done
    }

    /// Advances the clock.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// A mold connects and reports that it has loaded the application.
    pub fn mold_ready(&mut self, mold: u32, fork: &str) -> Vec<String> {
        let mut done = self.feed(Event::MoldConnected(mold));
        done.extend(self.feed(Event::MoldReady(mold, facts(fork))));
        done
    }

    /// The process of a mold and its connection end.
    pub fn mold_ends(&mut self, mold: u32, code: i32) -> Vec<String> {
        let mut done = self.feed(Event::MoldDisconnected(mold));
        done.extend(self.feed(Event::MoldEnded(mold, Exit::of(code))));
        done
    }

    /// A mold forks an ordered worker, which opens its connections but is not ready.
    pub fn boot(&mut self, mold: u32, worker: u32) {
        self.boot_as(pid(worker), mold, worker);
    }

    fn boot_as(&mut self, pid: u32, mold: u32, worker: u32) {
        self.feed(Event::Forked { mold, worker, pid });
        self.feed(Event::WorkerConnected(worker, pid));
        self.feed(Event::ThreadConnected(worker));
    }

    /// A mold that cannot fork becomes an ordered worker, which serves.
    pub fn becomes(&mut self, mold: u32, worker: u32) {
        self.boot_as(mold, mold, worker);
        self.feed(Event::WorkerReady(worker));
    }

    /// An ordered worker boots and serves.
    pub fn serve(&mut self, mold: u32, worker: u32) -> Vec<String> {
        self.boot(mold, worker);
        self.feed(Event::WorkerReady(worker))
    }

    /// Orders missing workers from the mold that forks; all that were ordered serve.
    pub fn fill_and_serve(&mut self) {
        self.feed(Event::Fill);
        let mold = self.fleet.forking_mold();
        let ordered = self.with(|worker| worker.pid.is_none());
        for worker in ordered {
            self.serve(mold.unwrap(), worker);
        }
    }

    /// A serving worker ends, and its mold reports its exit.
    pub fn worker_ends(&mut self, worker: u32) -> Vec<String> {
        let mut done = self.feed(Event::WorkerGone(worker, None));
        done.extend(self.feed(Event::Exited { mold: MOLD, worker, pid: pid(worker), exit: Exit::of(0) }));
        done
    }

    /// Sets the private memory of workers, in MiB.
    pub fn weigh(&mut self, workers: &[(u32, u64)]) {
        let weight = |mib: u64| Some(Weight { pss_kib: mib * 1024, own_kib: mib * 1024 });
        let weights = workers.iter().map(|(id, mib)| (super::Speaker::Worker(*id), weight(*mib))).collect();
        self.feed(Event::Weighed(weights));
    }

    /// Returns the numbers of workers that fulfil a condition.
    pub fn with(&self, is_so: impl Fn(&WorkerProcess) -> bool) -> Vec<u32> {
        self.fleet.workers.iter().filter(|(_, worker)| is_so(worker)).map(|(id, _)| *id).collect()
    }

    /// Returns the workers that serve and stay.
    pub fn ready(&self) -> Vec<u32> {
        self.with(WorkerProcess::serves)
    }

    /// Returns the state of a mold.
    pub fn mold(&self, mold: u32) -> mold::MoldState {
        self.fleet.molds[&mold].state
    }

    /// Advances the clock and checks the health of workers; returns the actions.
    pub fn check_health(&mut self, passed: Duration) -> Vec<String> {
        self.pass(passed);
        self.feed(Event::HealthDue { passed, out: Vec::new(), is_watched: false })
    }

    /// Takes the log entries so far.
    pub fn read_log(&mut self) -> Vec<LogLine> {
        std::mem::take(&mut self.logged)
    }

    /// Takes the only log entry, of a boot that failed, and returns its error.
    #[track_caller]
    pub fn boot_failure(&mut self) -> String {
        let log = self.read_log();
        let [LogLine::BootFailed { error, .. }] = &log[..] else { panic!("{log:?}") };
        error.clone()
    }
}
