//! A fleet for tests, with a supervisor that does at once what it wants: processes start, dispatch takes workers in,
//! and memory stands as the test says. What a test does not say does not happen.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::AppError;
use machine::Standing;

use super::action::Action;
use super::event::{Event, Load};
use super::log_line::LogLine;
use super::policy::Policy;
use super::worker::{Life, WorkerProcess};
use super::{Fleet, mold};
use crate::exit::Exit;
use crate::process::memory::Weight;
use crate::settings::Preload;
use crate::start_error::StartError;

/// The process of the first mold; the next has the next number.
pub const MOLD: u32 = 100;
pub const MIB: u64 = 1 << 20;
/// The end of a process that has failed.
pub const FAILURE: i32 = 1;

/// A fleet and what is around it.
pub struct Scene {
    pub fleet: Fleet,
    pub now: Instant,
    pub standing: Option<Standing>,
    /// An application is being loaded somewhere.
    pub is_loading: bool,
    pub is_killed_by_kernel: bool,
    /// There is a place among those that applications share.
    pub has_place: bool,
    pub logged: Vec<LogLine>,
    next_mold: u32,
}

/// From so many to so many workers of one thread.
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

/// So much memory is used of 1000 MiB.
pub fn used(mib: u64) -> Option<Standing> {
    Some(Standing { limit: 1000 * MIB, used: mib * MIB, is_machine: false, stalled_percent: None })
}

/// What a mold says of itself.
pub fn facts(fork: &str) -> Vec<(String, String)> {
    vec![("fork".to_owned(), fork.to_owned())]
}

/// An exception of the application.
pub fn raised() -> StartError {
    StartError::App(Box::new(AppError { class: "RuntimeError".into(), message: "ouch".into(), ..AppError::default() }))
}

/// The process of a worker.
pub fn pid(worker: u32) -> u32 {
    1000 + worker
}

/// A worker in dispatch with so many requests.
pub fn load(worker: u32, requests: usize) -> Load {
    Load { worker, requests, is_done: requests == 0, is_leaving: false }
}

impl Scene {
    /// Nothing has been started.
    pub fn new(policy: Policy) -> Scene {
        let now = Instant::now();
        Scene {
            fleet: Fleet::new(policy, None, now),
            now,
            standing: None,
            is_loading: false,
            is_killed_by_kernel: false,
            has_place: true,
            logged: Vec::new(),
            next_mold: MOLD,
        }
    }

    /// A mold that forks, and as many workers as there should be, all of which serve.
    pub fn serving(policy: Policy) -> Scene {
        let mut scene = Scene::new(policy);
        scene.feed(Event::Fill);
        scene.mold_ready(MOLD, "yes");
        scene.fill_and_serve();
        scene.logged.clear();
        scene
    }

    /// Tells the fleet, and does what it wants; what that was, without the log.
    pub fn feed(&mut self, event: Event) -> Vec<String> {
        let (mut events, mut done) = (VecDeque::from([event]), Vec::new());
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
                    Action::TakeIn { worker, .. } => events.push_back(Event::TakenIn(worker)),
                    Action::AskKernel(dead) => {
                        events.push_back(Event::KernelAsked(dead, self.is_killed_by_kernel));
                    }
                    Action::LookAtMemory => {
                        let (standing, is_loading) = (self.standing, self.is_loading);
                        events.push_back(Event::Memory { standing, is_loading });
                    }
                    Action::TakePlace { .. } if self.has_place => events.push_back(Event::PlaceTaken),
                    _ => {}
                }
                done.push(shown);
            }
        }
        done
    }

    /// Time goes by.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// A mold connects and has loaded the application.
    pub fn mold_ready(&mut self, mold: u32, fork: &str) -> Vec<String> {
        let mut done = self.feed(Event::MoldConnected(mold));
        done.extend(self.feed(Event::MoldReady(mold, facts(fork))));
        done
    }

    /// The process of a mold, and its connection, end.
    pub fn mold_ends(&mut self, mold: u32, code: i32) -> Vec<String> {
        let mut done = self.feed(Event::MoldSilent(mold));
        done.extend(self.feed(Event::MoldEnded(mold, Exit::of(code))));
        done
    }

    /// An ordered worker is forked by a mold and opens its connections, but is not ready.
    pub fn boot(&mut self, mold: u32, worker: u32) {
        self.feed(Event::Forked { mold, worker, pid: pid(worker) });
        self.feed(Event::WorkerConnected(worker, pid(worker)));
        self.feed(Event::ThreadConnected(worker));
    }

    /// An ordered worker boots and serves.
    pub fn serve(&mut self, mold: u32, worker: u32) -> Vec<String> {
        self.boot(mold, worker);
        self.feed(Event::WorkerReady(worker))
    }

    /// Orders what is missing, by the mold that forks; all that were ordered serve.
    pub fn fill_and_serve(&mut self) {
        self.feed(Event::Fill);
        let mold = self.fleet.forking_mold();
        let ordered = self.with(|worker| worker.life == Life::Ordered);
        for worker in ordered {
            self.serve(mold.unwrap(), worker);
        }
    }

    /// A worker that serves ends, and its mold says so.
    pub fn worker_ends(&mut self, worker: u32) -> Vec<String> {
        let mut done = self.feed(Event::WorkerGone(worker, None));
        done.extend(self.feed(Event::Exited { mold: MOLD, worker, pid: pid(worker), exit: Exit::of(0) }));
        done
    }

    /// Each of these workers needs so much of its own.
    pub fn weigh(&mut self, workers: &[(u32, u64)]) {
        let weight = |mib: u64| Some(Weight { pss_kib: mib * 1024, own_kib: mib * 1024 });
        let weights = workers.iter().map(|(id, mib)| (super::Speaker::Worker(*id), weight(*mib))).collect();
        self.feed(Event::Weighed(weights));
    }

    /// The numbers of workers of which this is so.
    pub fn with(&self, is_so: impl Fn(&WorkerProcess) -> bool) -> Vec<u32> {
        self.fleet.workers.iter().filter(|(_, worker)| is_so(worker)).map(|(id, _)| *id).collect()
    }

    /// The workers that serve and stay.
    pub fn ready(&self) -> Vec<u32> {
        self.with(|worker| worker.life == Life::Ready && worker.stays())
    }

    /// What a mold can do.
    pub fn mold(&self, mold: u32) -> mold::MoldState {
        self.fleet.molds[&mold].state
    }

    /// What there is to be done for this time to have passed since workers were last looked at.
    pub fn check_health(&mut self, passed: Duration) -> Vec<String> {
        self.pass(passed);
        self.feed(Event::HealthDue { passed, out: Vec::new(), is_watched: false })
    }

    /// The log, and nothing of it the next time.
    pub fn read_log(&mut self) -> Vec<LogLine> {
        std::mem::take(&mut self.logged)
    }
}
