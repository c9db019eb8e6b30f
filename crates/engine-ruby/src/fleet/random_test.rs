//! A fleet under random events in any order: the invariants that must hold all the same.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use super::scene::{facts, policy, raised, used};
use super::*;
use crate::dice::Dice;
use crate::exit::Exit;
use crate::start_error::StartError;
use crate::weight::Weight;

/// The process of a mold, and what the fleet has heard of its end.
#[derive(Debug, Default)]
struct MoldProcess {
    is_connected: bool,
    is_ready: bool,
    is_dead: bool,
    is_told_to_stop: bool,
    is_end_heard: bool,
    is_silence_heard: bool,
}

/// The process of a worker that was ordered, and what the fleet has heard of its end.
#[derive(Debug, Default)]
struct Process {
    mold: u32,
    /// The process id, if it was forked.
    pid: Option<u32>,
    is_connected: bool,
    has_thread: bool,
    has_spoken: bool,
    is_in_dispatch: bool,
    is_leaving: bool,
    is_dead: bool,
    is_told_to_stop: bool,
    is_silence_heard: bool,
}

/// A fleet, its processes, and the parties that want something of it.
struct World {
    fleet: Fleet,
    now: Instant,
    dice: Dice,
    /// Set when nothing goes wrong any more.
    is_calm: bool,
    forks: &'static str,
    molds: BTreeMap<u32, MoldProcess>,
    workers: BTreeMap<u32, Process>,
    timers: Vec<(Instant, u32)>,
    known: BTreeSet<Speaker>,
    killed: BTreeSet<u32>,
    pids: BTreeSet<u32>,
    next_pid: u32,
    starts: usize,
}

impl World {
    fn new(seed: u64) -> World {
        let mut dice = Dice(seed);
        let (min, more) = (dice.below(4), dice.below(4));
        let policy = Policy { retries_hooks: true, ..policy(min, (min + more).max(1)) };
        let now = Instant::now();
        World {
            fleet: Fleet::new(policy, used(100), now),
            now,
            is_calm: false,
            forks: if dice.one_in(4) { "no" } else { "yes" },
            dice,
            molds: BTreeMap::new(),
            workers: BTreeMap::new(),
            timers: Vec::new(),
            known: BTreeSet::new(),
            killed: BTreeSet::new(),
            pids: BTreeSet::new(),
            next_pid: 1,
            starts: 0,
        }
    }

    fn new_pid(&mut self) -> u32 {
        self.next_pid += 1;
        self.pids.insert(self.next_pid);
        self.next_pid
    }

    fn feed(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.fleet.take(event, self.now) {
                events.extend(self.act(action));
            }
            self.check();
        }
    }

    /// Checks the invariants that hold after each event.
    fn check(&self) {
        let (fleet, Policy { min_workers, max_workers, .. }) = (&self.fleet, &self.fleet.policy);
        assert!((*min_workers..=*max_workers).contains(&fleet.wanted), "{} are wanted", fleet.wanted);
        assert!(fleet.staying() <= max_workers + 1, "{} are more than may be: {fleet:#?}", fleet.staying());
        assert!(fleet.workers.keys().all(|id| self.known.contains(&Speaker::Worker(*id))));
        assert!(fleet.expired.iter().all(|(id, _)| fleet.workers.contains_key(id)), "{:?}", fleet.expired);
        assert!(fleet.is_over() || fleet.molds.keys().all(|pid| self.molds.contains_key(pid)));
    }

    /// Returns a worker that the fleet may name. Its process may have exited without the fleet's knowledge.
    fn worker(&mut self, id: u32) -> Option<&mut Process> {
        assert!(self.known.contains(&Speaker::Worker(id)), "worker {id} is not known");
        self.workers.get_mut(&id)
    }

    fn act(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::StartMold => {
                if !self.is_calm && self.dice.one_in(20) && self.starts > 0 {
                    return Some(Event::MoldNotStarted(StartError::CalledOff));
                }
                self.starts += 1;
                let pid = self.new_pid();
                self.known.insert(Speaker::Mold(pid));
                self.molds.insert(pid, MoldProcess::default());
                return Some(Event::MoldStarted(pid));
            }
            Action::SetUp { mold, .. } => assert!(self.known.contains(&Speaker::Mold(mold))),
            Action::Fork { mold, worker } => {
                assert!(self.known.contains(&Speaker::Mold(mold)), "mold {mold} is not known");
                assert!(self.known.insert(Speaker::Worker(worker)), "worker {worker} is ordered twice");
                self.workers.insert(worker, Process { mold, ..Process::default() });
            }
            Action::Ping(worker) | Action::Mark(worker, _) => {
                self.worker(worker);
            }
            Action::Stop(Speaker::Worker(worker)) => self.worker(worker)?.is_told_to_stop = true,
            Action::Stop(Speaker::Mold(mold)) => self.molds.get_mut(&mold).unwrap().is_told_to_stop = true,
            Action::Kill(pid) => self.kill(pid),
            Action::Forget(speaker) => {
                assert!(self.known.remove(&speaker), "{speaker} was forgotten before");
                self.workers.retain(|id, worker| worker.pid.is_some() || speaker != Speaker::Worker(*id));
            }
            Action::AddWorker { worker, pid } => {
                let fails = !self.is_calm && self.dice.one_in(20);
                let process = self.worker(worker)?;
                if fails {
                    return Some(Event::WorkerNotAdded(worker, "full".to_owned()));
                }
                assert!(process.pid == Some(pid) && !process.is_in_dispatch && process.has_spoken);
                process.is_in_dispatch = true;
                return Some(Event::WorkerAdded(worker));
            }
            Action::Retire(worker, reason) => return self.retire(worker, reason),
            Action::Remove(worker) => self.worker(worker)?.is_in_dispatch = false,
            Action::AskKernel(dead) => {
                let is_killed = !self.is_calm && self.dice.one_in(4);
                return Some(Event::KernelAsked(dead, is_killed));
            }
            Action::ReadMemory => {
                let mib = if self.is_calm { 100 } else { 100 + self.dice.below(890) as u64 };
                return Some(Event::Memory { memory: used(mib), is_loading: self.dice.one_in(4) });
            }
            Action::Weigh(all) => {
                if self.dice.one_in(10) {
                    return Some(Event::Weighed(Vec::new()));
                }
                let kib = 1024 * (20 + self.dice.below(100) as u64);
                let weight = Some(Weight { pss_kib: kib, own_kib: kib });
                return Some(Event::Weighed(all.into_iter().map(|(who, _)| (who, weight)).collect()));
            }
            Action::CheckAgain(worker, later) => self.timers.push((self.now + later, worker)),
            Action::TakePlace { .. } => return self.dice.one_in(2).then_some(Event::PlaceTaken),
            Action::CannotStart(error) => assert!(self.fleet.is_over(), "{error}"),
            Action::Grown(_)
            | Action::ExitIsLogged(_)
            | Action::KeepPlace
            | Action::Answer(_)
            | Action::AskForBacktraces { .. }
            | Action::Started(_)
            | Action::Log(_) => {}
        }
        None
    }

    fn kill(&mut self, pid: u32) {
        assert!(self.pids.contains(&pid), "no process has ever had the number {pid}");
        self.killed.insert(pid);
        self.molds.get_mut(&pid).into_iter().for_each(|mold| mold.is_dead = true);
        let workers = self.workers.values_mut().filter(|worker| worker.pid == Some(pid));
        workers.for_each(|worker| worker.is_dead = true);
    }

    /// Retires a worker as dispatch does: unknown workers are ignored, and the fleet hears of the others.
    fn retire(&mut self, worker: u32, reason: ExitReason) -> Option<Event> {
        let process = self.worker(worker).filter(|process| process.is_in_dispatch)?;
        process.is_told_to_stop = true;
        (!mem::replace(&mut process.is_leaving, true)).then_some(Event::Leaving(worker, reason))
    }

    fn loads(&mut self) -> Vec<Load> {
        let serving = self.workers.iter().filter(|(_, worker)| worker.is_in_dispatch);
        let serving: Vec<(u32, bool)> = serving.map(|(id, worker)| (*id, worker.is_leaving)).collect();
        let mut load = |(worker, is_leaving)| {
            let requests = self.dice.below(3);
            Load { worker, requests, is_done: requests == 0, is_leaving }
        };
        serving.into_iter().map(&mut load).collect()
    }

    fn any_worker(&mut self, is_so: impl Fn(&Process) -> bool) -> Option<u32> {
        let all: Vec<u32> = self.workers.iter().filter(|(_, worker)| is_so(worker)).map(|(id, _)| *id).collect();
        self.dice.any_of(&all)
    }

    fn any_mold(&mut self, is_so: impl Fn(&MoldProcess) -> bool) -> Option<u32> {
        let all: Vec<u32> = self.molds.iter().filter(|(_, mold)| is_so(mold)).map(|(pid, _)| *pid).collect();
        self.dice.any_of(&all)
    }

    /// Makes one thing happen in a mold.
    fn mold_lives(&mut self) -> Option<Event> {
        let pid = self.any_mold(|mold| !mold.is_dead && !mold.is_ready)?;
        let may_fail = !self.is_calm && self.fleet.stage != Stage::Starting;
        let fails = may_fail && self.dice.one_in(8);
        let mold = self.molds.get_mut(&pid)?;
        if !mold.is_connected {
            mold.is_connected = true;
            return Some(Event::MoldConnected(pid));
        }
        if fails {
            mold.is_dead = true;
            return Some(Event::MoldFailed(pid, raised()));
        }
        mold.is_ready = true;
        Some(Event::MoldReady(pid, facts(self.forks)))
    }

    /// Lets a mold carry out an order, if it can.
    fn mold_forks(&mut self) -> Option<Event> {
        let worker = self.any_worker(|worker| worker.pid.is_none())?;
        let mold = self.workers[&worker].mold;
        if self.molds.get(&mold).is_none_or(|mold| mold.is_dead) {
            return None;
        }
        if self.forks == "yes" && !self.is_calm && self.dice.one_in(30) {
            // It exits with its last worker, or a little earlier.
            self.molds.get_mut(&mold)?.is_told_to_stop = true;
            return Some(Event::MoldShares(mold, vec!["a socket".to_owned()]));
        }
        if self.forks == "yes" && !self.is_calm && self.dice.one_in(10) {
            self.workers.remove(&worker);
            return Some(Event::Exited { mold, worker, pid: 0, exit: Exit::of(1) });
        }
        let pid = if self.forks == "yes" { self.new_pid() } else { mold };
        let is_known = self.known.contains(&Speaker::Worker(worker));
        let process = self.workers.get_mut(&worker)?;
        (process.pid, process.is_dead) = (Some(pid), !is_known);
        Some(Event::Forked { mold, worker, pid })
    }

    /// Makes one thing happen in a worker that boots.
    fn worker_boots(&mut self) -> Option<Event> {
        let id = self.any_worker(|worker| worker.pid.is_some() && !worker.is_dead && !worker.is_in_dispatch)?;
        let fails = !self.is_calm && self.dice.one_in(12);
        let worker = self.workers.get_mut(&id)?;
        if !worker.is_connected {
            worker.is_connected = true;
            return Some(Event::WorkerConnected(id, worker.pid?));
        }
        if fails {
            worker.is_dead = true;
            return Some(Event::HookFailed(id, raised()));
        }
        if !worker.has_thread {
            worker.has_thread = true;
            return Some(Event::ThreadConnected(id));
        }
        if !worker.has_spoken {
            worker.has_spoken = true;
            return Some(Event::WorkerReady(id));
        }
        None
    }

    /// Ends a process, by itself or by order.
    fn somebody_dies(&mut self) {
        let is_calm = self.is_calm;
        let may = |is_told: bool| is_told || !is_calm;
        if let Some(id) = self.any_worker(|one| one.pid.is_some() && !one.is_dead && may(one.is_told_to_stop)) {
            let pid = self.workers[&id].pid;
            self.workers.get_mut(&id).unwrap().is_dead = true;
            pid.and_then(|pid| self.molds.get_mut(&pid)).into_iter().for_each(|mold| mold.is_dead = true);
        } else if let Some(pid) = self.any_mold(|mold| !mold.is_dead && may(mold.is_told_to_stop))
            && (is_calm || self.fleet.stage != Stage::Starting && self.dice.one_in(3))
        {
            self.molds.get_mut(&pid).unwrap().is_dead = true;
        }
    }

    /// Reports something of a dead process to the fleet.
    fn death_is_heard(&mut self) -> Option<Event> {
        let is_alive = |world: &World, pid: u32| world.molds.get(&pid).is_some_and(|mold| !mold.is_dead);
        if let Some(id) = self.any_worker(|worker| worker.is_dead) {
            let (mold, pid) = (self.workers[&id].mold, self.workers[&id].pid?);
            let has_mold = mold != pid && is_alive(self, mold);
            let worker = self.workers.get_mut(&id)?;
            if mem::take(&mut worker.is_in_dispatch) {
                return Some(Event::WorkerGone(id, None));
            }
            // Of one that had not connected, only its mold can tell.
            if worker.is_connected && !mem::replace(&mut worker.is_silence_heard, true) {
                return Some(Event::WorkerDisconnected(id));
            }
            self.workers.remove(&id);
            if has_mold {
                return Some(Event::Exited { mold, worker: id, pid, exit: Exit::of(-9) });
            }
        }
        // A mold reports its workers before it ends.
        let has_dead = |world: &World, pid: u32| world.workers.values().any(|one| one.is_dead && one.mold == pid);
        let pid = self.any_mold(|mold| mold.is_dead).filter(|pid| !has_dead(self, *pid))?;
        let mold = self.molds.get_mut(&pid)?;
        let event = match (mold.is_silence_heard, mold.is_end_heard) {
            (false, _) if mold.is_connected => {
                mold.is_silence_heard = true;
                Event::MoldDisconnected(pid)
            }
            (_, false) => {
                mold.is_end_heard = true;
                Event::MoldEnded(pid, Exit::of(-9))
            }
            _ => return None,
        };
        if mold.is_end_heard && (mold.is_silence_heard || !mold.is_connected) {
            self.feed(event);
            self.molds.remove(&pid);
            return None;
        }
        Some(event)
    }

    /// Advances the clock and makes the periodic checks.
    fn time_passes(&mut self) {
        let passed = Duration::from_millis(100 + self.dice.below(2000) as u64);
        self.now += passed;
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.timers.drain(..).partition(|(at, _)| *at <= now);
        self.timers = later;
        due.into_iter().for_each(|(_, worker)| self.feed(Event::WorkerDisconnected(worker)));
        self.feed(Event::TimeoutsDue { is_called_off: false });
        self.feed(Event::MemoryDue);
        let needed = self.dice.below(8);
        let loads = self.loads();
        self.feed(Event::Needed(needed, loads));
        self.feed(Event::HealthDue { passed, out: Vec::new(), is_watched: false });
        let living: Vec<u32> = self.workers.iter().filter(|(_, one)| !one.is_dead).map(|(id, _)| *id).collect();
        living.into_iter().for_each(|id| self.feed(Event::Alive(id)));
    }

    /// Makes an operator or another part want something.
    fn somebody_wants(&mut self) -> Event {
        let any = self.fleet.next;
        let worker = u32::try_from(self.dice.below(any as usize + 1)).unwrap();
        match self.dice.below(9) {
            0 => {
                let (min, more) = (self.dice.below(4), self.dice.below(4));
                Event::Scale { min, max: min + more, loads: self.loads() }
            }
            1 => Event::Recycle,
            order @ (2 | 3) => Event::EndWorker { worker, now: order == 3, is_replaced: self.dice.one_in(2) },
            4 => Event::GiveUp(self.loads()),
            5 if self.dice.one_in(2) => Event::AsksToEnd(worker),
            5 => Event::Expired(worker, ExitReason::MaxRequests),
            6 => Event::Backtraces(worker),
            7 => Event::OutOfMemory(worker),
            _ => Event::Wanted,
        }
    }

    /// Makes one thing happen.
    fn step(&mut self) {
        self.feed(Event::Fill);
        let event = match self.dice.below(12) {
            0 | 1 => self.mold_lives(),
            2 | 3 => self.mold_forks(),
            4..=6 => self.worker_boots(),
            7 if self.dice.one_in(3) => {
                self.somebody_dies();
                None
            }
            8 => self.death_is_heard(),
            9 => {
                self.time_passes();
                None
            }
            10 => Some(Event::Wanted),
            11 if !self.is_calm && self.dice.one_in(4) => Some(self.somebody_wants()),
            _ => None,
        };
        event.into_iter().for_each(|event| self.feed(event));
    }

    /// Returns whether the fleet has everything it should have, and nothing else.
    fn is_as_it_should_be(&self) -> bool {
        let ready = self.fleet.workers.values().filter(|worker| worker.serves()).count();
        let dead = self.workers.values().any(|worker| worker.is_dead);
        ready == self.fleet.wanted && self.fleet.workers.len() == ready && !dead && self.fleet.expired.is_empty()
    }
}

const SEEDS: u64 = 300;
const STEPS: usize = 400;

#[test]
fn whatever_happens_there_are_never_too_many_and_nobody_is_named_who_is_not_known() {
    let mut running = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        (0..STEPS).for_each(|_| world.step());
        running += u64::from(world.fleet.stage == Stage::Running && world.fleet.next > 5);
    }
    assert!(running > SEEDS / 2, "in {running} of {SEEDS} worlds anything has happened");
}

#[test]
fn when_nothing_goes_wrong_any_more_there_is_what_should_be_and_what_has_ended_is_forgotten() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        (0..STEPS).for_each(|_| world.step());
        world.is_calm = true;
        let came = (0..20_000).any(|_| {
            world.step();
            world.fleet.is_over() || world.is_as_it_should_be()
        });
        assert!(came, "seed {seed}: {:#?}\n{:#?}\n{:#?}", world.fleet, world.molds, world.workers);
    }
}

#[test]
fn a_stop_ends_everything_wherever_it_comes() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        let steps = world.dice.below(STEPS);
        (0..steps).for_each(|_| world.step());
        world.is_calm = true;
        let until = world.now + Duration::from_secs(10);
        world.feed(Event::Stop(until));
        for _ in 0..1000 {
            world.step();
            world.feed(Event::LastFramesDue);
            world.feed(Event::StopDue { has_last_answers: false });
        }
        assert!(world.fleet.is_over(), "seed {seed}: {:#?}", world.fleet);
        let molds = world.molds.iter().filter(|(_, mold)| !mold.is_dead).map(|(pid, _)| *pid);
        let workers = world.workers.values().filter(|worker| !worker.is_dead).filter_map(|worker| worker.pid);
        let left: Vec<u32> = molds.chain(workers).filter(|pid| !world.killed.contains(pid)).collect();
        assert_eq!(left, [0; 0], "seed {seed}: {:#?}\n{:#?}", world.molds, world.workers);
    }
}
