//! What does not come in time: boots that hang, forks that do not happen, ends that nobody hears of. And the end.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use crate::control::Control;
use crate::event::Event;
use crate::process::{Mold, kill_now};
use crate::start_error::StartError;
use crate::work::{LOOK, Work};

/// A worker that takes another one's place has this time even where the start has no limit: while it hangs, none takes
/// that place.
const LATER_BOOT_TIME: Duration = Duration::from_secs(600);

impl Work {
    /// Says what a start waits for, when it takes long. Where the application itself loads for long, its process tells
    /// where.
    fn remind(&mut self, now: Instant) {
        if self.told.is_none() {
            return;
        }
        let Some(passed) = self.reminder.due(now) else { return };
        let loading = self.molds.iter().find(|(_, mold)| mold.ready.is_none());
        let booting = self.workers.iter().filter_map(|(id, worker)| Some((id, worker.pid?))).next();
        let what = match (loading, booting) {
            (Some((pid, _)), _) => format!("loading the application (pid {pid})"),
            (None, Some((id, pid))) => format!("worker {id} (pid {pid}) is booting"),
            (None, None) => "waiting for the mold to fork".to_owned(),
        };
        let (app, time) = (self.app(), engine::brief(passed));
        tracing::info!(target: "engine", app, "no worker is ready after {time}: {what}");
    }

    /// Ends what has timed out.
    pub(crate) fn look_for_late(&mut self) {
        self.remind(Instant::now());
        self.hear_the_dead();
        if self.told.is_some() && self.settings.called_off.load(Ordering::SeqCst) {
            return self.cannot_start(StartError::CalledOff);
        }
        let now = Instant::now();
        let limit = match self.told {
            Some(_) => self.settings.boot_time,
            None => self.settings.boot_time.min(LATER_BOOT_TIME),
        };
        let is_late = |since: Instant| now.saturating_duration_since(since) > limit;
        let booting = self.workers.values().filter(|worker| !worker.is_ready && is_late(worker.since));
        let (ordered, booting): (Vec<_>, Vec<_>) = booting.map(|worker| worker.pid).partition(Option::is_none);
        let hangs =
            |ready: Option<bool>| if ready.is_none() { true } else { ready == Some(true) && !ordered.is_empty() };
        let molds = self.molds.iter().filter(|(_, mold)| hangs(mold.ready) && is_late(mold.since));
        let late: Vec<u32> = molds.map(|(pid, _)| *pid).chain(booting.into_iter().flatten()).collect();
        for pid in late {
            if self.told.is_some() {
                return self.cannot_start(StartError::Late(limit));
            }
            let (app, limit) = (self.app(), engine::brief(limit));
            tracing::error!(target: "engine", pid, app, "pid {pid} killed: boot timed out after {limit} (--boot-time)");
            kill_now(pid);
        }
    }

    /// A process that has ended may have left its connection to a child of its own: then no end of it is ever read. But
    /// its last words may still be on their way.
    fn hear_the_dead(&mut self) {
        let is_dead = |mold: &Mold| mold.ended.as_ref().is_some_and(|(_, since)| since.elapsed() >= LOOK);
        let ended = self.molds.iter().filter(|(_, mold)| is_dead(mold)).map(|(pid, _)| *pid);
        for pid in ended.collect::<Vec<_>>() {
            self.molds.entry(pid).and_modify(|mold| mold.is_silent = true);
            self.process_ended(pid);
        }
    }

    /// Forgets workers that were ordered and never forked; how many there were.
    pub(crate) fn drop_orders(&mut self) -> usize {
        let before = self.workers.len();
        self.workers.retain(|_, worker| worker.is_ready || worker.pid.is_some());
        before - self.workers.len()
    }

    /// Lets all finish, and kills what does not in time.
    pub(crate) async fn end(&mut self, inbox: &mut UnboundedReceiver<Event>, time: Duration) {
        self.is_stopping = true;
        let is_forking = self.drop_orders() > 0;
        let until = Instant::now() + time;
        // What is still loading, or about to fork, has nothing to finish, and does not listen.
        let busy = |mold: &Mold| mold.ready.is_none() || (is_forking && mold.ready == Some(true));
        self.molds.iter().filter(|(_, mold)| busy(mold)).for_each(|(pid, _)| kill_now(*pid));
        let (booted, booting): (Vec<_>, Vec<_>) = self.workers.values().partition(|worker| worker.has_said_so);
        booted.iter().filter_map(|worker| worker.control.as_ref()).for_each(|control| control.stop());
        booting.iter().filter_map(|worker| worker.pid).for_each(kill_now);
        self.wait(inbox, until, |work| work.workers.is_empty() && work.pool.last_answers().is_empty()).await;
        self.workers.values().filter_map(|worker| worker.pid).for_each(kill_now);
        self.molds.values().filter_map(|mold| mold.control.as_ref()).for_each(Control::stop);
        let until = until.max(Instant::now() + Duration::from_millis(500));
        self.wait(inbox, until, |work| work.molds.is_empty()).await;
        self.molds.keys().copied().for_each(kill_now);
    }

    async fn wait(&mut self, inbox: &mut UnboundedReceiver<Event>, until: Instant, is_over: fn(&Work) -> bool) {
        while !is_over(self) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            match timeout(left.min(LOOK), inbox.recv()).await {
                Ok(Some(event)) => self.take(event),
                Ok(None) => return,
                Err(_) => self.hear_the_dead(),
            }
        }
    }
}
