//! The engines, and the one that runs. The only place that names them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use engine_mruby::MrubyEngine;
use engine_ruby::{RubyEngine, User};
use tokio::runtime::Handle;
use tracing::{info, warn};

use crate::app_settings::{AppSettings, RubyWorker};
use crate::boot::App;
use crate::choice::EngineKind;
use crate::{native, rackup};

/// The engine that runs the application.
pub enum Running {
    Mruby(Arc<MrubyEngine>),
    Ruby(Arc<RubyEngine>),
}

impl Running {
    /// Loads the application. `lanes` are the event loops of the I/O threads.
    pub fn start(app: &App, settings: &AppSettings, lanes: Vec<Handle>) -> Result<Running, String> {
        let engine = match app.engine {
            EngineKind::Mruby => start_mruby(app, settings).map(Running::Mruby),
            EngineKind::Ruby => start_ruby(app, settings, lanes).map(Running::Ruby),
        };
        engine.map_err(|error| format!("{} cannot be loaded: {error}", app.rackup.display()))
    }

    /// As the front calls it.
    pub fn engine(&self) -> Arc<dyn Engine> {
        match self {
            Running::Mruby(engine) => engine.clone(),
            Running::Ruby(engine) => engine.clone(),
        }
    }

    /// What runs, with its numbers, for the log.
    pub fn in_words(&self, settings: &AppSettings) -> String {
        match self {
            Running::Mruby(_) => {
                for lack in engine_mruby::lacks() {
                    warn!(target: "server", "{}: {lack}", engine_mruby::version());
                }
                let mode = if settings.mruby.fresh { ", a fresh one for every request" } else { "" };
                format!("{} interpreters of {}{mode}", settings.mruby.interpreters, engine_mruby::version())
            }
            Running::Ruby(engine) => {
                let fact = |name| engine.fact(name).unwrap_or("unknown");
                let kind = if fact("native") == "yes" { "native" } else { "plain Ruby" };
                let threads = count(settings.ruby.threads, "thread");
                let workers = match (settings.ruby.min_workers, settings.ruby.max_workers) {
                    (min, max) if min == max => count(max, "worker"),
                    (min, max) => format!("{min} to {}", count(max, "worker")),
                };
                format!("{workers} ({kind}) with {threads} each, rack {}, {}", fact("rack"), fact("ruby"))
            }
        }
    }

    /// Ends it: what has processes ends them within this time.
    pub fn stop(&self, time: Duration) {
        match self {
            Running::Mruby(engine) => engine.close(),
            Running::Ruby(engine) => engine.stop(time),
        }
    }
}

fn start_mruby(app: &App, settings: &AppSettings) -> Result<Arc<MrubyEngine>, String> {
    let engine = MrubyEngine::start(engine_mruby::Settings {
        rackup: app.rackup.clone(),
        environment: settings.environment.clone(),
        interpreters: settings.mruby.interpreters,
        fresh: settings.mruby.fresh,
        max_requests: settings.max_requests,
        max_requests_jitter: settings.max_requests_jitter,
        slow_time: settings.slow_time,
        meter: Arc::default(),
        memory_bytes: settings.mruby.memory_bytes,
        queue_places: settings.queue_places,
    });
    engine.map_err(|error| error.to_string())
}

fn start_ruby(app: &App, settings: &AppSettings, lanes: Vec<Handle>) -> Result<Arc<RubyEngine>, String> {
    let ruby = &settings.ruby;
    let native = native::choose(ruby.worker, &ruby.program)?;
    let engine = RubyEngine::start(
        engine_ruby::Settings {
            ruby: ruby.program.clone(),
            rackup: app.rackup.clone(),
            gemfile: app.gemfile.clone(),
            hooks: rackup::hooks(&app.rackup, ruby.hooks.as_deref())?,
            native,
            environment: settings.environment.clone(),
            tag: settings.tag.clone().unwrap_or_else(|| rackup::tag(&app.rackup)),
            user: ruby.user.clone().map(|user| User { helper: Some("/proc/self/exe".into()), ..user }),
            min_workers: ruby.min_workers,
            max_workers: ruby.max_workers,
            idle_time: ruby.idle_time,
            budget: None,
            max_requests: settings.max_requests,
            max_requests_jitter: settings.max_requests_jitter,
            worker_memory: ruby.worker_memory,
            worker_timeout: ruby.worker_timeout,
            oob_gc: ruby.oob_gc,
            slow_time: settings.slow_time,
            meter: Arc::default(),
            threads: ruby.threads,
            queue_places: settings.queue_places,
            boot_time: ruby.boot_time,
            kill_time: ruby.kill_time,
        },
        lanes,
    );
    let engine = engine.map_err(|error| error.to_string())?;
    let is_native = engine.fact("native") == Some("yes");
    if ruby.worker == RubyWorker::Native && !is_native {
        engine.stop(Duration::ZERO);
        return Err("the native worker was built, and Ruby cannot load it; its log says why".to_owned());
    }
    if let Some(advice) = native::advice(ruby.worker, is_native, engine.fact("ruby").unwrap_or("")) {
        info!(target: "server", "{advice}");
    }
    Ok(engine)
}

/// `1 worker`, `2 workers`.
pub fn count<N: Copy + fmt::Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
