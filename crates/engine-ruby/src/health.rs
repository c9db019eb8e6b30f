//! Workers that are worn out, need too much memory or do not answer. Those that still serve are replaced one at a time,
//! and only when the successor is there; those that do not are killed.

use std::thread;
use std::time::{Duration, Instant};

use crate::ends::named;
use crate::event::{Event, Speaker};
use crate::memory::{Weight, weigh};
use crate::process::{is_stopped, kill_now};
use crate::reason::Reason;
use crate::work::Work;

/// How often memory is looked at where it has a limit, where somebody watches, and otherwise.
const LIMITED: Duration = Duration::from_secs(5);
const WATCHED: Duration = Duration::from_secs(2);
const UNWATCHED: Duration = Duration::from_secs(30);
/// And where a worker is new and more may come, or memory is tight: what it needs decides about the next.
const GROWING: Duration = Duration::from_secs(1);
/// How often workers are asked whether they are there, at most and at least.
const PINGS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// More than this at once is no silence of a worker: this process was stopped, or the machine asleep.
const STEP_MAX: Duration = Duration::from_secs(1);
/// A worker that is being replaced and does not come to its end does not hold up the next for longer.
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// Why a process that is stopped does not answer.
const STOPPED: &str = ": the process is stopped (SIGSTOP)";

impl Work {
    /// Now and then.
    pub(crate) fn check_health(&mut self, now: Instant, passed: Duration) {
        self.listen_to_hearts(now, passed);
        self.weigh(now);
        self.replace_worn(now);
    }

    /// A worker should be replaced.
    pub(crate) fn wear(&mut self, id: u32, reason: Reason) {
        let is_known = self.worn.iter().any(|(worn, _)| *worn == id);
        // The signal was for the whole service.
        let is_over = reason == Reason::Signal && self.pool.dispatch().is_closed;
        if !is_known && !is_over && self.workers.get(&id).is_some_and(|worker| !worker.is_leaving) {
            self.worn.push_back((id, reason));
            self.replace_worn(Instant::now());
        }
    }

    /// One worker more than wanted, while one is to be replaced.
    pub(crate) fn surge(&self) -> usize {
        usize::from(!self.worn.is_empty() && self.health.draining.is_none())
    }

    /// The next one goes when its successor is there and the one before it is gone.
    fn replace_worn(&mut self, now: Instant) {
        if let Some((id, since)) = self.health.draining
            && (!self.workers.contains_key(&id) || now.saturating_duration_since(since) > DRAIN_MAX)
        {
            self.health.draining = None;
        }
        self.worn.retain(|(id, _)| self.workers.get(id).is_some_and(|worker| !worker.is_leaving));
        let ready = self.workers.values().filter(|worker| worker.is_ready && !worker.is_leaving).count();
        if self.is_stopping || self.health.draining.is_some() || self.worn.is_empty() {
            return;
        }
        // Where there is no memory for a successor beside it, it goes first, unless it is the last.
        if ready <= self.wanted && (ready <= 1 || self.fitting(1, now) > 0) {
            return;
        }
        if let Some((id, reason)) = self.worn.pop_front() {
            self.health.draining = Some((id, now));
            self.send_away(id, reason);
        }
    }

    /// Whatever a worker says, it is there.
    pub(crate) fn heard(&mut self, id: u32) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.silent = Duration::ZERO;
        if std::mem::take(&mut worker.is_silence_told) {
            let (app, pid) = (self.settings.app.as_deref(), worker.pid);
            tracing::info!(target: "engine", worker = id, pid, app, "{} answers again", named(id, pid));
        }
    }

    /// How long a worker may be silent before it looks hung: two questions unanswered.
    pub(crate) fn hush(&self) -> Duration {
        2 * self.ping_every() + STEP_MAX
    }

    fn ping_every(&self) -> Duration {
        (self.settings.worker_timeout / 4).clamp(PINGS.0, PINGS.1)
    }

    fn listen_to_hearts(&mut self, now: Instant, passed: Duration) {
        let limit = self.settings.worker_timeout;
        let is_due = now.saturating_duration_since(self.health.pinged) >= self.ping_every();
        if is_due {
            self.health.pinged = now;
        }
        let (mut hung, hush) = (Vec::new(), self.hush());
        for (id, worker) in self.workers.iter_mut().filter(|(_, worker)| worker.is_ready) {
            worker.silent += passed.min(STEP_MAX);
            if is_due {
                worker.control.iter().for_each(|control| control.ping());
            }
            if !limit.is_zero() && worker.silent > limit {
                hung.extend(worker.pid.map(|pid| (*id, pid)));
                worker.silent = Duration::ZERO;
            } else if worker.silent > hush && !worker.is_leaving && !worker.is_silence_told {
                worker.is_silence_told = true;
                tell_silence(self.settings.app.as_deref(), (*id, worker.pid), worker.silent, limit);
            }
        }
        if !limit.is_zero() {
            hung.extend(self.pool.dispatch().out_for(limit, now));
        }
        for (id, pid) in hung {
            let (app, reason, words) = (self.app(), Reason::Hung.name(), Reason::Hung.words());
            let why = if is_stopped(pid) { STOPPED } else { "" };
            tracing::error!(
                target: "engine",
                worker = id, pid, reason, app,
                "worker {id} (pid {pid}) killed: {words}{why}"
            );
            self.pool.mark(id, Reason::Hung);
            kill_now(pid);
        }
    }

    /// Reading it takes milliseconds in a large process, so another thread does it.
    fn weigh(&mut self, now: Instant) {
        let often = match self.settings.worker_memory {
            _ if self.wanted < self.settings.max_workers && self.has_young(now) => GROWING,
            _ if self.headroom.is_tight() => GROWING,
            _ if self.pool.is_watched_by_somebody() => WATCHED,
            Some(_) => LIMITED,
            None => UNWATCHED,
        };
        let is_due = self.health.weighed.is_none_or(|then| now.saturating_duration_since(then) >= often);
        if !is_due || self.health.is_weighing || self.is_stopping {
            return;
        }
        let molds = self.molds.iter().filter(|(_, mold)| mold.ready.is_some() && mold.worker.is_none());
        let molds = molds.map(|(pid, _)| (Speaker::Mold(*pid), *pid));
        let workers = self.workers.iter().filter(|(_, worker)| worker.is_ready);
        let workers = workers.filter_map(|(id, worker)| Some((Speaker::Worker(*id), worker.pid?)));
        let all: Vec<(Speaker, u32)> = molds.chain(workers).collect();
        if all.is_empty() {
            return;
        }
        (self.health.weighed, self.health.is_weighing) = (Some(now), true);
        let events = self.events.clone();
        let weighing = thread::Builder::new().name("weighing".into()).spawn(move || {
            let weights = all.into_iter().map(|(who, pid)| (who, weigh(pid))).collect();
            let _ = events.send(Event::Weighed(weights));
        });
        // Where no thread can be had it is tried again later.
        if let Err(error) = weighing {
            self.health.is_weighing = false;
            if !std::mem::replace(&mut self.health.lacks_threads, true) {
                let app = self.app();
                tracing::warn!(target: "engine", app, "no thread to look at the memory of workers: {error}");
            }
        }
    }

    /// Takes note of what they weigh.
    pub(crate) fn weighed(&mut self, weights: &[(Speaker, Option<Weight>)]) {
        self.health.is_weighing = false;
        let now = Instant::now();
        let limit_kib = self.settings.worker_memory.map(|bytes| bytes / 1024);
        for (who, weight) in weights {
            let pss_kib = weight.map(|weight| weight.pss_kib);
            let id = match who {
                Speaker::Mold(pid) => {
                    self.molds.entry(*pid).and_modify(|mold| mold.pss_kib = pss_kib);
                    continue;
                }
                Speaker::Worker(id) => *id,
            };
            let Some(worker) = self.workers.get_mut(&id) else { continue };
            (worker.pss_kib, worker.weighed) = (pss_kib, Some(now));
            worker.own_kib = weight.map(|weight| weight.own_kib);
            match (limit_kib, pss_kib) {
                (Some(limit), Some(pss)) if pss > limit => {
                    let (app, who, pid) = (self.settings.app.as_deref(), named(id, worker.pid), worker.pid);
                    tracing::info!(
                        target: "engine",
                        worker = id, pid, app, pss_kib = pss, limit_kib = limit,
                        "{who} uses {pss} KiB of memory, of {limit} KiB that it may use"
                    );
                    self.wear(id, Reason::Memory);
                }
                (Some(_), None) if !self.health.has_complained => {
                    self.health.has_complained = true;
                    let (app, who, pid) = (self.settings.app.as_deref(), named(id, worker.pid), worker.pid);
                    tracing::warn!(
                        target: "engine",
                        worker = id, pid, app,
                        "{who}: its memory cannot be read (/proc/PID/smaps_rollup), so --worker-memory has no effect"
                    );
                }
                _ => {}
            }
        }
    }
}

/// Logs that a worker does not answer, before it is killed for that.
fn tell_silence(app: Option<&str>, (id, pid): (u32, Option<u32>), silent: Duration, limit: Duration) {
    let (who, time) = (named(id, pid), engine::brief(silent));
    let why = if pid.is_some_and(is_stopped) { STOPPED } else { "" };
    let what = match limit.is_zero() {
        true => "it is left alone (--worker-timeout 0)".to_owned(),
        false => format!("it is killed after {} (--worker-timeout)", engine::brief(limit)),
    };
    tracing::warn!(target: "engine", worker = id, pid, app, "{who} has not answered for {time}{why}; {what}");
}
