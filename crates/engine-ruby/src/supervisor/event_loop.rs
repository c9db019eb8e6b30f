//! The event loop: messages become events of the fleet, and the actions of the fleet are carried out at once.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use engine::{Order, brief, count};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;

use super::ipc_listener::Handshake;
use super::kernel::Kernel;
use super::link::Link;
use super::questions::Questions;
use crate::budget::{Share, ShareReport};
use crate::dispatch::Dispatch;
use crate::dispatch::pool::Pool;
use crate::dispatch::upgraded::EXIT_TIME;
use crate::dispatch::worker::Worker;
use crate::exit_reason::ExitReason;
use crate::fleet::{Event, Facts, Fleet, Load, Outcome, Speaker};
use crate::message::{Message, Prepared};
use crate::process::folder::ProcessFolder;
use crate::process::{Loading, has_ended};
use crate::settings::Settings;
use crate::start_error::StartError;

/// The interval of checks for timeouts, idle workers and health.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The interval of looks at the workers' processes, whether they run. A request may be given to one that was stopped
/// since the last of them.
const RUNS_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the running supervisor.
pub struct EventLoop {
    pub(super) fleet: Fleet,
    pub(super) settings: Settings,
    pub(super) pool: Arc<Pool>,
    pub(super) folder: ProcessFolder,
    /// Process folders that are not complete any more: workers may still connect there.
    pub(super) old_folders: Vec<ProcessFolder>,
    pub(super) handshake: Arc<Handshake>,
    pub(super) messages: UnboundedSender<Message>,
    /// The connections of processes that the fleet knows.
    pub(super) links: HashMap<Speaker, Link>,
    /// The caller that waits for the start, until it is over.
    pub(super) start: Option<SyncSender<Result<Facts, StartError>>>,
    /// The engine's share of a worker budget, if applications share one.
    pub(super) share: Option<Share>,
    pub(super) kernel: Kernel,
    /// The log has an entry that there was no thread to read memory.
    pub(super) lacks_threads: bool,
    pub(super) questions: Questions,
    /// The mold that runs the `before_exec` hooks, and the caller that waits for the result.
    pub(super) preparing: Option<(u32, SyncSender<Prepared>)>,
    /// When it was last looked whether the workers run.
    pub(super) looked: Instant,
    /// The workers whose processes had ended at the last look, although nothing had reported that.
    ended: Vec<u32>,
    /// Number of processes that are loading the application.
    loading: Loading,
    /// The server serves with this engine, and its processes know.
    pub(super) is_serving: bool,
    /// The workers know that they get no new requests.
    has_told_end: bool,
}

impl EventLoop {
    /// Creates a supervisor that has not started anything.
    pub fn new(
        settings: Settings,
        pool: Arc<Pool>,
        folder: ProcessFolder,
        handshake: Arc<Handshake>,
        messages: UnboundedSender<Message>,
        start: SyncSender<Result<Facts, StartError>>,
    ) -> EventLoop {
        let kernel = Kernel::new();
        let now = Instant::now();
        pool.dispatch().utilization.grown(settings.min_workers, now);
        EventLoop {
            fleet: Fleet::new(settings.policy(), kernel.memory_use(), now),
            share: settings.budget.as_ref().map(|budget| budget.join(messages.clone())),
            settings,
            pool,
            folder,
            old_folders: Vec::new(),
            handshake,
            messages,
            links: HashMap::new(),
            start: Some(start),
            kernel,
            lacks_threads: false,
            questions: Questions::default(),
            preparing: None,
            looked: now,
            ended: Vec::new(),
            loading: Loading::default(),
            is_serving: false,
            has_told_end: false,
        }
    }

    /// Runs until everything has ended.
    pub async fn run(mut self, mut inbox: UnboundedReceiver<Message>) {
        let mut checked = Instant::now();
        self.report_share(None);
        while !self.fleet.is_over() {
            self.feed(Event::Fill);
            self.pool.show(self.fleet.view());
            match timeout(CHECK_INTERVAL, inbox.recv()).await {
                Ok(Some(Message::Stop(time, done))) => {
                    return self.stop(&mut inbox, time, done).await;
                }
                Ok(Some(message)) => self.take(message),
                Ok(None) => return,
                Err(_) => {}
            }
            let now = Instant::now();
            let passed = now.saturating_duration_since(checked);
            if passed >= CHECK_INTERVAL && !self.fleet.is_over() {
                checked = now;
                self.check(passed, now);
            }
        }
    }

    /// Ends all processes within this time, or sooner if another stop with less time comes meanwhile. Reports the end
    /// to the senders of all these stops.
    async fn stop(&mut self, inbox: &mut UnboundedReceiver<Message>, time: Duration, done: SyncSender<()>) {
        let mut waiting = vec![done];
        self.feed(Event::Stop(Instant::now() + time));
        loop {
            let has_last_answers = !self.pool.last_answers().is_empty();
            self.feed(Event::StopDue { has_last_answers });
            self.report_share(None);
            let Some(until) = self.fleet.stops_by() else { break };
            let left = until.saturating_duration_since(Instant::now());
            match timeout(left.min(CHECK_INTERVAL), inbox.recv()).await {
                Ok(Some(Message::Stop(time, done))) => {
                    self.feed(Event::Stop(Instant::now() + time));
                    waiting.push(done);
                }
                Ok(Some(message)) => self.take(message),
                Ok(None) => break,
                Err(_) => {
                    self.feed(Event::LastFramesDue);
                    self.find_ended();
                }
            }
        }
        for done in waiting {
            let _ = done.send(());
        }
    }

    /// Feeds the fleet an event and carries out the actions that follow. Answers of actions are the next events.
    pub(super) fn feed(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.fleet.take(event, Instant::now()) {
                events.extend(self.act(action));
            }
        }
        self.loading.set(self.fleet.loading());
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Mold(pid, stream) => self.mold_came(pid, stream),
            Message::Control(worker, pid, stream) => self.control_came(worker, pid, stream),
            Message::Thread(worker, number, stream) => self.thread_came(worker, number, stream),
            Message::Claims(worker, stream) => self.claims_asked(worker, &stream),
            Message::Received(speaker, frame, _place) => self.receive(speaker, frame),
            Message::Disconnected(Speaker::Mold(pid)) => self.feed(Event::MoldDisconnected(pid)),
            Message::Disconnected(Speaker::Worker(worker)) => self.feed(Event::WorkerDisconnected(worker)),
            // The signal was for the whole service.
            Message::Event(Event::Expired(_, ExitReason::Signal)) if self.is_shutting_down() => {}
            Message::Event(event) => self.feed(event),
            Message::GiveUp => {
                let loads = loads(&self.pool.dispatch());
                self.feed(Event::GiveUp(loads));
            }
            Message::Order(order, to) => self.order(order, to),
            Message::BeforeExec(limit, to) => self.run_exec_hooks(limit, to),
            Message::Serving => self.serve(),
            // `run` and `stop` handle it themselves.
            Message::Stop(..) => {}
        }
    }

    /// Returns whether the server shuts down, or this engine gets no more requests.
    fn is_shutting_down(&self) -> bool {
        self.settings.is_shutting_down.load(Ordering::SeqCst) || self.pool.dispatch().is_closed
    }

    /// Makes the periodic checks: timeouts, idle workers, memory and health.
    fn check(&mut self, passed: Duration, now: Instant) {
        self.tell_of_end();
        let is_called_off = self.settings.called_off.load(Ordering::SeqCst);
        self.feed(Event::TimeoutsDue { is_called_off });
        for (worker, pid) in self.pool.stop_lingering(now, self.settings.linger) {
            let app = self.pool.app();
            let time = brief(EXIT_TIME);
            tracing::error!(
                target: "engine",
                worker, pid, app,
                "worker {worker} (pid {pid}) killed: it was told to exit, and did not within {time}"
            );
            self.kill(pid);
        }
        if now.saturating_duration_since(self.looked) >= RUNS_INTERVAL {
            self.looked = now;
            self.pool.avoid_hung(&self.fleet.silent_workers(), now);
            self.find_ended();
        }
        self.feed(Event::MemoryDue);
        self.shrink(now);
        let limit = self.settings.worker_timeout;
        let out = if limit.is_zero() { Vec::new() } else { self.pool.dispatch().out_of_band_for(limit, now) };
        let is_watched = self.pool.is_watched_by_somebody();
        self.feed(Event::HealthDue { passed, out, is_watched });
    }

    /// Reports workers whose processes have ended, at the second look that shows it: until then their molds may report
    /// how, and threads that end last may still write.
    fn find_ended(&mut self) {
        let living = self.fleet.living_workers().into_iter();
        let ended: Vec<u32> = living.filter(|(_, pid)| has_ended(*pid)).map(|(worker, _)| worker).collect();
        let before = mem::replace(&mut self.ended, ended.clone());
        for worker in ended.into_iter().filter(|worker| before.contains(worker)) {
            self.feed(Event::WorkerDisconnected(worker));
        }
    }

    /// Tells the workers once when they get no new requests, for hooks that are to run while requests are finished. A
    /// worker that boots meanwhile runs them at its end.
    fn tell_of_end(&mut self) {
        if self.has_told_end || !self.is_shutting_down() {
            return;
        }
        self.has_told_end = true;
        for (speaker, link) in &self.links {
            if let (Speaker::Worker(_), Some(control)) = (speaker, &link.control) {
                control.closing();
            }
        }
    }

    fn shrink(&mut self, now: Instant) {
        let wanted = self.fleet.wanted();
        let (needed, spare_for, loads) = {
            let dispatch = self.pool.dispatch();
            let busy = dispatch.needed_workers();
            let needed = dispatch.utilization.needed(busy, self.settings.idle_time, now);
            let is_large = wanted > needed.max(self.fleet.min_workers());
            let loads = if is_large { loads(&dispatch) } else { Vec::new() };
            (needed, dispatch.utilization.spare_for(wanted, busy, now), loads)
        };
        self.feed(Event::Needed(needed, loads));
        self.report_share(spare_for);
    }

    /// Reports the current number of workers to the shared budget.
    fn report_share(&self, spare_for: Option<Duration>) {
        if let Some(share) = &self.share {
            let fleet = &self.fleet;
            let holds = fleet.places_held();
            let leaving = fleet.places_leaving();
            share.report(ShareReport { holds, leaving, floor: fleet.min_workers(), spare_for });
        }
    }

    /// Carries out an order of an operator.
    fn order(&mut self, order: Order, to: SyncSender<Outcome>) {
        if self.fleet.is_stopping() {
            let _ = to.send(Err("the server is shutting down".to_owned()));
            return;
        }
        self.questions.begin(to);
        match order {
            Order::Pause => self.pause(),
            Order::Resume => self.resume(),
            Order::Scale { min, max } => {
                let loads = loads(&self.pool.dispatch());
                self.feed(Event::Scale { min, max, loads });
                // Bounds that the fleet has refused change nothing.
                let growth = self.settings.growth(self.fleet.min_workers(), self.fleet.max_workers());
                self.pool.dispatch().growth = growth;
            }
            Order::EndWorker { worker, now } => {
                let is_replaced = !self.is_shutting_down();
                self.feed(Event::EndWorker { worker, now, is_replaced });
            }
            Order::Recycle => self.feed(Event::Recycle),
            Order::Backtraces(worker) => self.feed(Event::Backtraces(worker)),
        }
    }

    fn pause(&mut self) {
        self.pool.pause(Instant::now());
        tracing::info!(target: "engine", app = self.app(), "paused: requests wait");
        self.questions.answer(Ok("paused: requests wait".to_owned()));
    }

    fn resume(&mut self) {
        let Some(waiting) = self.pool.resume(Instant::now()) else {
            return self.questions.answer(Ok("it was not paused".to_owned()));
        };
        let words = format!("resumed: {} waited", count(waiting, "request"));
        tracing::info!(target: "engine", app = self.app(), "{words}");
        self.questions.answer(Ok(words));
    }

    /// Returns the name of the application in the log.
    pub(super) fn app(&self) -> Option<&str> {
        self.settings.app.as_deref()
    }
}

/// Returns the loads of all workers in dispatch.
fn loads(dispatch: &Dispatch) -> Vec<Load> {
    let load = |worker: &Worker| Load {
        worker: worker.id,
        requests: worker.busy + worker.upgraded,
        is_done: worker.is_done(),
        is_leaving: worker.is_leaving,
    };
    dispatch.workers.iter().map(load).collect()
}
