//! Memory pressure: whether one more worker may be started, and which one leaves when memory runs short.

use std::time::{Duration, Instant};

use machine::MemoryUse;

use super::Fleet;
use super::action::Action;
use super::headroom::{Held, Need, RELIEF, REST, Room, full, is_close, shortage};
use super::log_line::{LogLine, WorkerLine};
use super::worker::{Life, WorkerProcess};
use crate::exit_reason::ExitReason;

/// The interval of reading the use of memory, which takes two or three small files of the kernel.
const READ_INTERVAL: Duration = Duration::from_millis(500);
/// The private memory that a worker is taken to need, in bytes, as long as none has been measured that has served.
const WORKER_MIN: u64 = 16 << 20;
/// The age from which a measured worker has shown what it needs.
const GROWN: Duration = Duration::from_secs(1);
/// The age up to which a worker that has not been measured counts as young.
const YOUNG_MAX: Duration = Duration::from_secs(60);
/// The time for which a retired worker that does not end delays the next retirement.
const RELIEF_MAX: Duration = Duration::from_secs(10);

impl Fleet {
    /// Returns whether there is memory for one more worker because requests wait.
    pub(super) fn has_room(&mut self, now: Instant) -> bool {
        let need = self.need(now);
        let room = self.headroom.room(need, now);
        if room == Room::No {
            self.hold(need, now);
        }
        room == Room::Yes
    }

    /// Returns how many of the missing workers may be started beside the present ones.
    pub(super) fn fitting(&mut self, missing: usize, now: Instant) -> usize {
        let mut need = self.need(now);
        let loads = self.loads_in_workers();
        let fits = match self.headroom.memory {
            None => missing,
            // Without a worker nothing is answered; but a worker that the kernel has just killed may be killed again.
            Some(memory) if self.staying() == 0 => {
                let is_killed_again = self.headroom.is_being_relieved(now) && memory.used + need.one > full(&memory);
                let is_close = loads && is_close(&memory, missing);
                if is_killed_again { 0 } else { if is_close { 1 } else { missing } }
            }
            Some(_) if self.headroom.is_being_relieved(now) => 0,
            // The use of the first one decides about the others.
            Some(memory) if loads && is_close(&memory, missing) && self.is_any_unknown() => return 0,
            // All of them could become as large as the largest.
            Some(memory) if loads || self.headroom.relieved.is_some() => {
                let left = full(&memory).saturating_sub(memory.used + need.others);
                let fitting = missing.min(usize::try_from(left / need.one).unwrap_or(missing));
                // Where the kernel does not say what one uses, that shows in what all use, before the next one comes.
                if loads && fitting > 1 && is_close(&memory, missing) && self.is_any_unreadable() {
                    return 1;
                }
                fitting
            }
            // The settings or an operator ask for this number: only measured memory holds them back, not what others
            // might still need.
            Some(memory) => {
                need = Need { one: self.largest_own(), others: 0, is_guess: false };
                if memory.used + need.one > full(&memory) { 0 } else { missing }
            }
        };
        if fits < missing && self.staying() > 0 {
            self.hold(need, now);
        }
        fits
    }

    /// Returns whether no mold has loaded the application, so that each worker loads it.
    pub fn loads_in_workers(&self) -> bool {
        self.says("preload", "no") || self.says("fork", "no")
    }

    fn staying_workers(&self) -> impl Iterator<Item = (u32, &WorkerProcess)> {
        self.workers.iter().filter(|(_, worker)| worker.stays()).map(|(id, worker)| (*id, worker))
    }

    /// Returns whether the memory of a worker that stays has not been read yet.
    fn is_any_unknown(&self) -> bool {
        self.staying_workers().any(|(_, worker)| worker.weighed.is_none())
    }

    /// Returns whether the memory of a worker that stays is not known, although the server may have tried to read it:
    /// root without CAP_SYS_PTRACE may not read that of another user's process.
    fn is_any_unreadable(&self) -> bool {
        self.staying_workers().any(|(_, worker)| worker.own_kib().is_none())
    }

    /// Notes that no worker is added for now, if there are fewer than the maximum. Logs that the first time.
    fn hold(&mut self, need: Need, now: Instant) {
        let there = self.staying();
        let Some(memory) = self.headroom.memory.filter(|_| there < self.policy.max_workers) else { return };
        let shortage = shortage(&memory, need, self.headroom.rests(now));
        let held = Held { seen: now, why: shortage, is_logged: true };
        if self.headroom.held.replace(held).is_none_or(|before| !before.is_logged) {
            self.log(LogLine::HeldByMemory { shortage, there, wanted: self.wanted });
        }
    }

    /// Returns the largest private memory, in bytes, of workers that stay and have been measured.
    fn largest_own(&self) -> u64 {
        self.staying_workers().filter_map(|(_, worker)| worker.own_kib()).max().unwrap_or(0) * 1024
    }

    fn need(&self, now: Instant) -> Need {
        let one = self.largest_own().max(WORKER_MIN);
        let growth = |worker: &WorkerProcess| one.saturating_sub(worker.own_kib().unwrap_or(0) * 1024);
        let others = self.staying_workers().map(|(_, worker)| growth(worker)).sum();
        Need { one, others, is_guess: self.has_young(now) }
    }

    /// Returns whether a young worker has not been measured since it serves.
    pub(super) fn has_young(&self, now: Instant) -> bool {
        let is_young = |worker: &WorkerProcess| {
            now.saturating_duration_since(worker.since) < YOUNG_MAX
                && worker.weighed.is_none_or(|(then, _)| then.saturating_duration_since(worker.since) < GROWN)
        };
        self.staying_workers().any(|(_, worker)| is_young(worker))
    }

    /// Handles the kill of a worker by the kernel. Its successor would be killed next, so it is started only when
    /// memory was read and has room for it.
    pub(super) fn memory_was_full(&mut self, id: u32, now: Instant) {
        self.headroom.relieved = Some((id, now));
        self.headroom.read_at = None;
        self.watch_memory(now);
    }

    /// Reads the use of memory, if the last reading is old enough.
    pub(super) fn watch_memory(&mut self, now: Instant) {
        let is_fresh = self.headroom.read_at.is_some_and(|then| now.saturating_duration_since(then) < READ_INTERVAL);
        if !is_fresh && !self.is_stopping() {
            self.headroom.read_at = Some(now);
            self.act(Action::ReadMemory);
        }
    }

    /// Handles the current use of memory: when it is short, the largest worker is retired.
    pub(super) fn memory_measured(&mut self, memory: Option<MemoryUse>, is_loading: bool, now: Instant) {
        let there = self.staying();
        let most = self.policy.max_workers;
        self.headroom.memory = memory;
        // It was long ago, or all workers are there by now.
        self.headroom.held.take_if(|held| now.saturating_duration_since(held.seen) > REST || there >= most);
        let Some(memory) = memory.filter(MemoryUse::is_short) else { return };
        let is_under_way = self.headroom.relieved.is_some_and(|(id, then)| {
            let passed = now.saturating_duration_since(then);
            passed < RELIEF || passed < RELIEF_MAX && self.workers.contains_key(&id)
        });
        // The kernel kills a process that is loading first: a reload must cost the old code nothing.
        if is_under_way || is_loading || self.is_stopping() {
            return;
        }
        let serving = self.staying_workers().filter(|(_, worker)| worker.life == Life::Ready);
        let weighed: Vec<(u64, u32)> = serving.filter_map(|(id, worker)| Some((worker.own_kib()?, id))).collect();
        // The last one stays: without it nothing is answered.
        let Some((own_kib, worker)) = weighed.iter().max().copied().filter(|_| weighed.len() > 1) else { return };
        let why = shortage(&memory, self.need(now), true);
        self.log_worker(worker, self.pid(worker), WorkerLine::Largest { shortage: why, own_kib });
        let is_logged = self.headroom.held.as_ref().is_some_and(|held| held.is_logged);
        self.headroom.held = Some(Held { seen: now, why, is_logged });
        self.headroom.relieved = Some((worker, now));
        // If fewer workers are allowed there will be fewer, unless it has a successor already; else one follows when
        // there is room for it.
        let is_last = self.wanted > self.policy.min_workers.max(1) && !self.is_succeeded(worker);
        if is_last {
            self.wanted -= 1;
        }
        self.retire(worker, if is_last { ExitReason::Pressure } else { ExitReason::PressureReplaced });
    }
}

#[cfg(test)]
#[path = "pressure_test.rs"]
mod tests;
