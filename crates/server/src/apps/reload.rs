//! From old code to new: a generation is loaded beside the current one, must answer a probe, and gets the requests; the
//! old one is stopped when it has finished. Whatever fails before the requests move leaves the old one as it was.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::{Order, brief, count};
use engine_ruby::boot_limit;
use tracing::{error, info, warn};

use crate::apps::app::App;
use crate::apps::deploy_record::{DeployOutcome, DeployRecord};
use crate::apps::engines::Size;
use crate::apps::generation::{Generation, wait_until};
use crate::apps::probe;
use crate::apps::spec::{self, AppSpec, SpecError};
use crate::config::app_settings::{AppSettings, LATER_BOOT_TIME, Probe};
use crate::config::engine_kind::EngineKind;

/// Time for a failed generation to stop.
const FAILED_END_TIME: Duration = Duration::from_secs(1);
/// Least time for a probe, however long loading took.
const PROBE_TIME_MIN: Duration = Duration::from_secs(1);
/// Longest time for an automatic probe, which otherwise has that of a request.
const PROBE_TIME_MAX: Duration = Duration::from_secs(60);

/// Why new code does not get the requests.
enum ReloadError {
    /// The server shuts down.
    ShuttingDown,
    /// The new code, or its settings, cannot be used; with the reason.
    Failed(String),
}

impl App {
    /// Runs a reload and records it as a deploy. Returns a report for the user.
    pub(crate) fn run_reload(self: &Arc<App>) -> Result<String, String> {
        let begun = Instant::now();
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let name = self.name();
        let old = self.current().number;
        info!(target: "server", "reload of {name}: loading generation {number}");
        match self.make(number, begun).and_then(|(new, workers)| self.shift(&new, workers)) {
            Ok(()) => {
                self.note(DeployRecord::new(number, begun, DeployOutcome::Live, None));
                let words = self.in_words();
                let took = begun.elapsed();
                info!(target: "server", "reload of {name}: generation {number} serves after {}: {words}", brief(took));
                Ok(format!("generation {number} serves after {:.1} s: {words}", took.as_secs_f64()))
            }
            Err(ReloadError::ShuttingDown) => {
                let report = format!("generation {number} was not loaded: this process shuts down");
                self.note(DeployRecord::new(number, begun, DeployOutcome::Failed, Some(report.clone())));
                info!(target: "server", "reload of {name}: {report}");
                Err(report)
            }
            Err(ReloadError::Failed(why)) => {
                let report = format!("generation {number} failed, generation {old} goes on: {why}");
                self.note(DeployRecord::new(number, begun, DeployOutcome::Failed, Some(why)));
                error!(target: "server", "reload failed: {name}: {report}");
                Err(report)
            }
        }
    }

    /// A generation that is ready for requests; and its number of workers so far, if the old one must give it the rest.
    fn make(&self, number: u64, begun: Instant) -> Result<(Arc<Generation>, Option<usize>), ReloadError> {
        let (mut spec, settings) = self.find_now().map_err(|why| self.failed(why))?;
        // What Ruby serves stays there: a Ruby that has lost Rack fails the reload.
        if self.current().spec.engine == EngineKind::Ruby {
            spec.instead = spec.instead.filter(|instead| instead.0.engine == EngineKind::Ruby);
        }
        let until = begun + settings.ruby.boot_time;
        let surge = self.surge(&settings);
        let workers = surge.unwrap_or_else(|| self.as_many(&settings));
        let new = Generation::start(number, spec, settings, Size::Workers(workers), &self.engine_context)
            .map_err(|why| self.failed(why))?;
        let ready = self.until_ready(&new, workers, until);
        match ready.and_then(|()| self.probe(&new, until).map_err(|why| self.failed(why))) {
            Ok(()) => Ok((Arc::new(new), surge)),
            Err(error) => {
                new.running.stop(FAILED_END_TIME);
                Err(error)
            }
        }
    }

    /// The error for a failure that has just happened: during a shutdown, that is the cause of whatever fails.
    fn failed(&self, why: String) -> ReloadError {
        if self.shutdown.is_hurried() { ReloadError::ShuttingDown } else { ReloadError::Failed(why) }
    }

    /// The application and its settings, as the files on disk are now.
    fn find_now(&self) -> Result<(AppSpec, AppSettings), String> {
        let settings = (self.context.reload_settings)().map_err(|problems| SpecError::Options(problems).to_string())?;
        let is_only_one = settings.apps.len() == 1;
        let mine = settings.apps.into_iter().find(|app| app.name == self.name());
        let mut mine = mine.ok_or_else(|| "the settings know no application of this name any more".to_owned())?;
        for notice in self.context.news(&settings.notices).into_iter().chain(self.context.news(&settings.waiting)) {
            warn!(target: "server", "{notice}");
        }
        *self.context.waiting.lock() = settings.waiting;
        let gemfile = self.context.bundle_gemfile.as_deref();
        let spec = spec::find(&mut mine, gemfile, is_only_one).map_err(|missing| missing.to_string())?;
        mine.ruby.boot_time = mine.ruby.boot_time.min(LATER_BOOT_TIME);
        Ok((spec, mine))
    }

    /// Number of workers that the new code starts with, if not all.
    fn surge(&self, settings: &AppSettings) -> Option<usize> {
        let current = self.current();
        current.bounds()?;
        let surge = settings.reload.surge?.min(settings.ruby.max_workers);
        (surge < current.workers_now()).then_some(surge)
    }

    /// Number of workers of the old code, within the bounds: the load is the same after a reload. Those that were added
    /// while all computed are not counted: the new code starts without them, and a reload takes no more memory for it.
    fn as_many(&self, settings: &AppSettings) -> usize {
        let own = (settings.ruby.min_workers, settings.ruby.max_workers);
        let (min, max) = self.overrides().scale.unwrap_or(own);
        if settings.ruby.computing_bounds == Some((min, max)) {
            return min;
        }
        let current = self.current();
        let now = if current.bounds().is_some() { current.workers_now() } else { min };
        now.clamp(min, max)
    }

    /// Waits until as many workers are ready; fewer are enough if an operator orders fewer meanwhile.
    fn until_ready(&self, new: &Generation, wanted: usize, until: Instant) -> Result<(), ReloadError> {
        if new.bounds().is_none() {
            return Ok(());
        }
        let wanted = || wanted.min(self.wanted(new).1);
        wait_until(until, || new.workers_now() >= wanted() || self.shutdown.is_hurried());
        let ready = new.workers_now();
        let wanted = wanted();
        if self.shutdown.is_hurried() {
            return Err(ReloadError::ShuttingDown);
        }
        if ready < wanted {
            let time = new.settings.ruby.boot_time;
            let wanted = count(wanted, "worker");
            return Err(self.failed(format!("{ready} of {wanted} came up within {}", boot_limit(time))));
        }
        Ok(())
    }

    fn probe(&self, new: &Generation, until: Instant) -> Result<(), String> {
        match &new.settings.reload.probe {
            Probe::None => Ok(()),
            Probe::Path(path) => {
                let time = until.saturating_duration_since(Instant::now()).max(PROBE_TIME_MIN);
                probe::ask(&**new.engine(), &new.settings, path, time)
            }
            // In development, an error page is what the user wants to see.
            Probe::Usual if new.is_in_development() => {
                let name = self.name();
                let number = new.number;
                info!(
                    target: "server",
                    "reload of {name}: generation {number} is not probed, since this is development; with --probe PATH \
                     it would be"
                );
                Ok(())
            }
            Probe::Usual => {
                let time = new.settings.request_time.clamp(PROBE_TIME_MIN, PROBE_TIME_MAX);
                let old = self.current();
                // Paused code would not answer.
                let old = (!self.is_paused()).then_some((&**old.engine(), &old.settings));
                probe::compare((&**new.engine(), &new.settings), old, time)
            }
        }
    }

    /// Moves the requests to the new generation: at once, or batch by batch if it has only some of its workers. If
    /// further ones do not come up, all requests go back to the old generation.
    fn shift(self: &Arc<App>, new: &Arc<Generation>, workers: Option<usize>) -> Result<(), ReloadError> {
        let old = self.current();
        self.part_with(&old);
        if let Some(workers) = workers {
            self.enter_as_ordered(new, Some(old.clone()));
            if let Err(error) = self.shrink(&old, new, workers) {
                self.scale(&old, self.wanted(&old));
                self.part_with(new);
                self.enter(old, None);
                self.hand_over_waiting(new);
                self.retire(new.clone());
                return Err(error);
            }
        }
        self.enter_as_ordered(new, None);
        self.hand_over_waiting(&old);
        if new.bounds().is_some() {
            self.scale(new, self.wanted(new));
        }
        self.retire(old);
        Ok(())
    }

    /// Makes a new generation the current one, paused if a pause was ordered.
    fn enter_as_ordered(&self, new: &Arc<Generation>, previous: Option<Arc<Generation>>) {
        // The lock keeps orders out between the two steps.
        let overrides = self.overrides();
        if overrides.is_paused
            && let Err(why) = new.engine().order(Order::Pause)
        {
            warn!(target: "server", "the new code cannot be paused: {why}");
        }
        self.enter(new.clone(), previous);
    }

    /// Moves workers from the old generation to the new one, batch by batch, until one batch is left. Stops with an
    /// error if a batch does not come up.
    fn shrink(&self, old: &Generation, new: &Generation, surge: usize) -> Result<(), ReloadError> {
        let batch = new.settings.reload.batch.unwrap_or(surge);
        let mut left = old.workers_now();
        let mut grown = surge;
        while left > batch && !self.shutdown.is_hurried() {
            left -= batch;
            self.scale(old, (left, left));
            // A worker that stays busy must not delay the others for longer than the drain time.
            wait_until(Instant::now() + self.context.drain_time, || old.processes_now() <= left);
            grown = (grown + batch).min(self.wanted(new).1);
            self.scale(new, (grown, grown));
            let until = Instant::now() + new.settings.ruby.boot_time;
            match self.until_ready(new, grown, until) {
                // A shutdown ends this loop and fails nothing.
                Ok(()) | Err(ReloadError::ShuttingDown) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The bounds that were ordered, else the configured ones.
    fn wanted(&self, new: &Generation) -> (usize, usize) {
        self.overrides().scale.or(new.bounds()).unwrap_or((1, 1))
    }

    fn scale(&self, generation: &Generation, (min, max): (usize, usize)) {
        if let Err(why) = generation.engine().order(Order::Scale { min, max }) {
            let number = generation.number;
            let max = count(max, "worker");
            warn!(target: "server", "generation {number} cannot be told to have {min} to {max}: {why}");
        }
    }
}
