//! All applications of the server.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use engine::{Engine, Order, Surroundings, count};
use parking_lot::Mutex;
use tracing::{info, warn};

use crate::apps::app::App;
use crate::apps::context::AppContext;
use crate::apps::router::Router;
use crate::apps::spec::AppSpec;
use crate::config::app_settings::AppSettings;
use crate::process::parent::Ordered;

/// Why the applications cannot be served.
pub enum StartFailure {
    /// A shutdown was requested while they were being loaded.
    CalledOff,
    /// One of them cannot be loaded; with the reason.
    Failed(String),
}

/// The applications, in the order of their settings.
pub struct Apps(Vec<Arc<App>>);

impl Apps {
    /// Loads all applications in parallel, from their settings and what was found of each, in the same order; the first
    /// failure ends the start.
    pub fn start(
        settings: Vec<AppSettings>,
        specs: Vec<AppSpec>,
        context: &Arc<AppContext>,
    ) -> Result<Apps, StartFailure> {
        let wanted = settings.len();
        let several = wanted > 1;
        let first_error = Mutex::new(None);
        let load = |settings: AppSettings, spec: AppSpec| {
            let name = settings.name.clone();
            let app = App::start(spec, settings, context.clone());
            if let Err(why) = &app {
                // Whatever fails after the cancellation fails because of it.
                first_error.lock().get_or_insert_with(|| match context.called_off.swap(true, Ordering::SeqCst) {
                    true => StartFailure::CalledOff,
                    false => StartFailure::Failed(named(several, &name, why)),
                });
            }
            app.ok().map(Arc::new)
        };
        let pairs = settings.into_iter().zip(specs);
        let apps: Vec<Arc<App>> = thread::scope(|scope| {
            let load = &load;
            let loading: Vec<_> = pairs.map(|(settings, spec)| scope.spawn(move || load(settings, spec))).collect();
            loading.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
        });
        let apps = Apps(apps);
        match first_error.into_inner() {
            None if apps.0.len() == wanted => Ok(apps),
            error => {
                apps.stop(Duration::from_secs(1));
                let lost = || StartFailure::Failed("a thread that loads an application was lost".to_owned());
                Err(error.unwrap_or_else(lost))
            }
        }
    }

    /// All applications.
    pub fn all(&self) -> &[Arc<App>] {
        &self.0
    }

    /// The application of this name.
    pub fn get(&self, name: &str) -> Option<Arc<App>> {
        self.0.iter().find(|app| app.name() == name).cloned()
    }

    /// The application of this name; the error names those that there are.
    pub fn find(&self, name: &str) -> Result<Arc<App>, String> {
        self.get(name).ok_or_else(|| format!("there is no application {name}; there is {}", self.names()))
    }

    /// Reloads the application of this name, or all in turn. Returns a report for the user.
    pub fn reload(&self, name: Option<&str>) -> Result<String, String> {
        let report = match name {
            None => self.each(&self.0, "\n", |app| app.reload())?,
            Some(name) => self.find(name)?.reload()?,
        };
        let waiting = self.0.first().map(|app| app.context.waiting.lock().clone()).unwrap_or_default();
        Ok(waiting.iter().fold(report, |report, change| format!("{report}\nnot by a reload: {change}")))
    }

    /// Runs an action for each of these applications; a failure does not keep it from the others. Returns the joined
    /// outcomes, as an error if any failed.
    pub fn each<'a>(
        &self,
        apps: impl IntoIterator<Item = &'a Arc<App>>,
        between: &str,
        act: impl Fn(&Arc<App>) -> Result<String, String>,
    ) -> Result<String, String> {
        let several = self.0.len() > 1;
        let outcomes: Vec<_> = apps.into_iter().map(|app| (app.name(), act(app))).collect();
        let has_failed = outcomes.iter().any(|(_, outcome)| outcome.is_err());
        let words = outcomes.into_iter().map(|(name, outcome)| named(several, name, outcome.unwrap_or_else(|why| why)));
        let words = words.collect::<Vec<_>>().join(between);
        if has_failed { Err(words) } else { Ok(words) }
    }

    /// Sets the bounds of an application's workers, also those within which signals move the number, if
    /// `--total-workers` allows it.
    pub fn scale(&self, app: &App, min: usize, max: usize) -> Result<String, String> {
        let answer = self.resize(app, min, max)?;
        app.set_bounds(min, max);
        Ok(answer)
    }

    /// Sets the least and greatest number of an application's workers by a signal, if `--total-workers` allows it.
    pub fn resize(&self, app: &App, min: usize, max: usize) -> Result<String, String> {
        let total = app.context.budget.as_ref().map(|budget| budget.places());
        let is_counted = |app: &App| app.current().bounds().is_some();
        let Some(total) = total.filter(|_| is_counted(app)) else { return app.order(Order::Scale { min, max }) };
        let others = self.0.iter().filter(|other| other.name() != app.name() && is_counted(other));
        let kept: usize = others.map(|other| other.engine().snapshot().pool.min).sum();
        if min + kept > total {
            let left = total.saturating_sub(kept);
            return Err(format!(
                "all applications together have {} at most (--total-workers), and the others keep {kept}: {} can be \
                 told to have {left} at most, not {min}",
                count(total, "worker"),
                app.name()
            ));
        }
        let report = app.order(Order::Scale { min, max })?;
        Ok(if max <= total { report } else { format!("{report}; with all other applications {total} at most") })
    }

    /// Ends all pauses, at shutdown.
    pub fn end_pauses(&self) {
        self.0.iter().for_each(|app| app.end_pause());
    }

    /// All manual orders, for a successor process.
    pub fn ordered(&self) -> Vec<Ordered> {
        self.0.iter().filter_map(|app| app.ordered()).collect()
    }

    /// The manual orders that differ from those that a successor has been given.
    pub fn ordered_since(&self, given: &[Ordered]) -> Vec<Ordered> {
        let changed = self.0.iter().filter_map(|app| {
            let before = given.iter().find(|ordered| ordered.app == app.name());
            let now = app.ordered();
            let none = || Ordered { app: app.name().to_owned(), scale: None, bounds: None, is_paused: false };
            (now.as_ref() != before).then(|| now.unwrap_or_else(none))
        });
        changed.collect()
    }

    /// The number of each application's current generation.
    pub fn generations(&self) -> Vec<u64> {
        self.0.iter().map(|app| app.current().number).collect()
    }

    /// Names of the applications that have another generation than these, or that are just being reloaded.
    pub fn reloaded_since(&self, generations: &[u64]) -> Vec<&str> {
        let pairs = self.0.iter().zip(generations);
        let reloaded = pairs.filter(|(app, before)| app.current().number != **before || app.is_reloading());
        reloaded.map(|(app, _)| app.name()).collect()
    }

    /// Repeats the manual orders of the previous process.
    pub fn follow(&self, all: &[Ordered]) {
        for ordered in all {
            let outcome = match self.get(&ordered.app) {
                Some(app) => app.follow(ordered),
                None => Err("there is no such application any more".to_owned()),
            };
            match outcome {
                Ok(()) => info!(target: "server", "kept from the previous process: {ordered}"),
                Err(why) => warn!(target: "server", "not kept from the previous process: {ordered}: {why}"),
            }
        }
    }

    /// Runs the `before_exec` hooks of all applications and returns the variables and the folder that they set for the
    /// new program.
    pub fn before_exec(&self, limit: Duration) -> Result<Surroundings, String> {
        let mut wanted = Surroundings::default();
        for app in &self.0 {
            let own = app.engine().before_exec(limit).map_err(|why| named(self.0.len() > 1, app.name(), why))?;
            wanted.variables.extend(own.variables);
            wanted.folder = own.folder.or(wanted.folder);
        }
        Ok(wanted)
    }

    /// The engine that the front calls.
    pub fn router(&self) -> Arc<dyn Engine> {
        if let [app] = &*self.0 {
            let current = app.current();
            if current.settings.host.is_none() && current.settings.prefix.is_empty() {
                return app.clone();
            }
        }
        Arc::new(Router::new(&self.0))
    }

    /// Stops all applications within this time.
    pub fn stop(&self, time: Duration) {
        thread::scope(|scope| {
            for app in &self.0 {
                // At the limit of threads one after the other.
                if thread::Builder::new().spawn_scoped(scope, move || app.stop(time)).is_err() {
                    app.stop(time);
                }
            }
        });
    }

    /// Their names, with commas between them.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|app| app.name()).collect();
        names.join(", ")
    }
}

/// Prefixes a text with the application's name, if there are several.
pub fn named(several: bool, name: &str, words: impl Display) -> String {
    if several { format!("{name}: {words}") } else { words.to_string() }
}
