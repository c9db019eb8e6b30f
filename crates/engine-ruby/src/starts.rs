//! Starts molds, lets them fork workers, and tries again after a pause when that does not work.

use std::mem;
use std::time::{Duration, Instant};

use tokio::net::UnixStream;

use crate::event::Speaker;
use crate::place::Place;
use crate::process::{self, Booting, Mold, Way, kill_now};
use crate::settings::Preload;
use crate::start_error::StartError;
use crate::work::Work;
use crate::{door, orders};

/// A process that makes way for another has so long to end.
const YIELD_TIME: Duration = Duration::from_secs(5);

impl Work {
    /// How many workers there are, or will be, that stay.
    pub(crate) fn staying(&self) -> usize {
        self.workers.values().filter(|worker| !worker.is_leaving).count()
    }

    /// Orders what is missing.
    pub(crate) fn fill(&mut self) {
        if self.is_stopping || !self.backoff.pause(Instant::now()).is_zero() {
            return;
        }
        let now = Instant::now();
        if self.is_held_up(now) {
            return;
        }
        let mut missing = (self.wanted + self.surge()).saturating_sub(self.staying());
        if missing > 0 {
            missing = self.fitting(missing, now);
        }
        if missing == 0 {
            if self.molds.is_empty() && self.needs_mold() {
                self.start();
            }
            return;
        }
        let forking = self.molds.values().find(|mold| mold.ready == Some(true) && !mold.is_over);
        if let Some(control) = forking.and_then(|mold| mold.control.clone()) {
            for _ in 0..missing {
                let worker = self.order();
                control.fork(worker);
            }
            return;
        }
        // A process that cannot fork becomes a worker itself, so there must be one for each.
        let free = self.molds.iter().filter(|(_, mold)| mold.ready == Some(false) && mold.worker.is_none());
        let free: Vec<u32> = free.map(|(pid, _)| *pid).take(missing).collect();
        for pid in &free {
            let worker = self.order();
            if let Some(mold) = self.molds.get_mut(pid) {
                mold.worker = Some(worker);
                mold.control.iter().for_each(|control| control.fork(worker));
            }
        }
        let loading = self.molds.values().filter(|mold| mold.ready.is_none()).count();
        let is_known_not_to_fork = self.molds.values().any(|mold| mold.ready == Some(false));
        let wanted = if is_known_not_to_fork { missing - free.len() } else { 1 };
        (loading..wanted).for_each(|_| self.start());
    }

    /// Whether a mold that will not fork has still to end before workers load the application: a port that this opens
    /// must be free by then. One whose earlier workers serve is not waited for.
    fn is_held_up(&self, now: Instant) -> bool {
        let has_worker = |pid: u32| self.workers.values().any(|worker| worker.mold == Some(pid));
        let yielding = self.molds.iter().filter_map(|(pid, mold)| Some((*pid, mold.yields?)));
        let mut is_held_up = false;
        for (pid, since) in yielding.filter(|(pid, _)| !has_worker(*pid)) {
            is_held_up = true;
            if now.saturating_duration_since(since) > YIELD_TIME {
                kill_now(pid);
            }
        }
        is_held_up
    }

    /// Whether there must be a mold although no worker is missing: at the start, to learn whether the application can
    /// be loaded; and later where a worker may be wanted at any moment.
    fn needs_mold(&self) -> bool {
        let forks = self.facts.iter().any(|(name, value)| name == "fork" && value == "yes");
        self.told.is_some() || (forks && self.wanted < self.settings.max_workers)
    }

    fn order(&mut self) -> u32 {
        let id = self.next;
        self.next += 1;
        self.workers.insert(id, Booting::new());
        id
    }

    fn start(&mut self) {
        if let Err(error) = self.keep_place() {
            return self.cannot_start(error);
        }
        let way = Way { scripts: self.place.scripts(), socket: self.place.socket(), token: &self.pass.token };
        match process::start(&self.settings, &way, self.events.clone()) {
            Ok(pid) => {
                self.molds.insert(pid, Mold::new());
            }
            Err(error) => self.cannot_start(StartError::Ruby(self.settings.ruby.clone(), error)),
        }
    }

    /// Makes the folder anew, with all that is in it, where somebody has removed it, or a part of it. Processes that
    /// came in by the old one go on with it: they need no name for its socket.
    fn keep_place(&mut self) -> Result<(), StartError> {
        if self.place.is_whole() {
            return Ok(());
        }
        let (place, listener) = Place::new(self.settings.user.as_ref())?;
        tracing::warn!(
            target: "engine",
            "{} is gone, or not whole any more: the folder of the Ruby processes is now {}. Whatever cleans temporary \
             folders should leave those alone that are locked (flock), or TMPDIR name another place",
            self.place.path().display(),
            place.path().display()
        );
        self.old_places.push(mem::replace(&mut self.place, place));
        drop(tokio::spawn(door::keep(listener, self.pass.clone(), self.pool.clone(), self.events.clone())));
        Ok(())
    }

    /// Tells whoever waits for the start; later it is for the log, and tried again after a pause.
    pub(crate) fn cannot_start(&mut self, error: StartError) {
        if let Some(told) = self.told.take() {
            self.is_stopping = true;
            self.is_over = true;
            let workers = self.workers.values().filter_map(|worker| worker.pid);
            self.molds.keys().copied().chain(workers).for_each(kill_now);
            let _ = told.send(Err(error));
            return;
        }
        self.try_again(&error);
    }

    /// A hook has kept a worker from starting. Puma and Unicorn start another worker until one lives, also at their own
    /// start.
    pub(crate) fn hook_failed(&mut self, error: StartError) {
        if self.settings.retries_hooks { self.try_again(&error) } else { self.cannot_start(error) }
    }

    fn try_again(&mut self, error: &StartError) {
        let pause = self.backoff.failed(Instant::now());
        let (app, pause) = (self.app(), engine::brief(pause));
        tracing::error!(target: "engine", app, "boot failed, retrying in {pause}: {error}");
    }

    /// Tells whoever waits for the start that it is over.
    pub(crate) fn has_started(&mut self) {
        if let Some(told) = self.told.take() {
            let _ = told.send(Ok(self.facts.clone()));
        }
    }

    pub(crate) fn mold_came(&mut self, pid: u32, stream: UnixStream) {
        let Some(mold) = self.molds.get_mut(&pid) else { return };
        let control = orders::listen(stream, Speaker::Mold(pid), self.events.clone());
        control.send(orders::setup(&self.settings));
        mold.control = Some(control);
    }

    /// A mold will not fork, because workers would share these connections: from now on each loads the application
    /// itself. The mold ends, and another one is started.
    pub(crate) fn will_not_fork(&mut self, pid: u32, shared: &[String]) {
        let now = Instant::now();
        self.molds.entry(pid).and_modify(|mold| (mold.is_over, mold.yields) = (true, Some(now)));
        self.drop_orders();
        self.settings.preload = Preload::No;
        self.not_shared = Some(shared.join("; "));
        tracing::warn!(
            target: "engine",
            app = self.app(),
            "the application holds connections open that its workers would share, so each worker loads it itself: {}. \
             Close them in before_fork and open them in after_fork; or set --preload=no, which spares this attempt; or \
             --preload=force, if each worker connects anew by itself",
            shared.join("; ")
        );
    }

    /// A mold has loaded the application. Where no worker is wanted yet, that was the start.
    pub(crate) fn mold_is_ready(&mut self, pid: u32, facts: Vec<(String, String)>) {
        let forks = facts.iter().any(|(name, value)| name == "fork" && value == "yes");
        if let Some(mold) = self.molds.get_mut(&pid) {
            (mold.ready, mold.loading) = (Some(forks), None);
            let took = mold.since.elapsed();
            let (app, ms, time) = (self.app(), took.as_secs_f64() * 1e3, engine::brief(took));
            // At the start, and at a reload, the server itself logs more.
            match self.told {
                Some(_) => {
                    tracing::debug!(target: "engine", pid, ms, app, "application loaded after {time} (pid {pid})");
                }
                None => {
                    tracing::info!(
                        target: "engine",
                        pid, ms, app,
                        "mold (pid {pid}) loaded the application after {time}"
                    );
                }
            }
        }
        self.facts = facts;
        if self.wanted == 0 {
            self.has_started();
        }
    }
}
