//! The engines, and which of them runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Engine, Meter, count};
use engine_mruby::MrubyEngine;
pub use engine_ruby::Budget;
use engine_ruby::{RubyEngine, StartError};
use tokio::runtime::{self, Handle, Runtime};
use tracing::{info, warn};

use crate::apps::native::{self, Extensions};
use crate::apps::spec::AppSpec;
use crate::apps::trial::{self, Verdict};
use crate::config::app_settings::{AppSettings, DEFAULT_NAME, Ruby, RubyWorker, environment_variables};
use crate::config::compat;
use crate::config::engine_kind::EngineKind;
use crate::config::rackup;
use crate::process::{bundle, heaps, open_files};

/// Number of workers that an engine starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// All, as at the server's start.
    Full,
    /// This many, until an order changes it.
    Workers(usize),
}

/// State that outlives a generation of an application and is given to each.
#[derive(Default)]
pub struct EngineContext {
    /// Event loops of the I/O threads.
    pub io_threads: Vec<Handle>,
    pub meter: Arc<Meter>,
    /// Set when the server shuts down: cancels starts.
    pub called_off: Arc<AtomicBool>,
    /// Set when the server begins to shut down: orders that change the workers are refused.
    pub is_shutting_down: Arc<AtomicBool>,
    /// Time for upgraded connections to close when the application or its worker goes.
    pub drain_time: Duration,
    /// The application's share of `--total-workers`.
    pub budget: Option<Arc<Budget>>,
    /// Whether the server's start retries while a hook of another server's configuration fails in workers.
    pub retries_hooks: bool,
    /// State of the embedded interpreter that outlives a generation.
    pub keep: engine_mruby::Keep,
}

/// An engine context without a server, with its runtime.
pub struct Alone {
    pub engine_context: Arc<EngineContext>,
    _runtime: Runtime,
}

impl Alone {
    /// With one event loop, on a thread of its own.
    pub fn new() -> io::Result<Alone> {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let io_threads = vec![runtime.handle().clone()];
        let engine_context = EngineContext { io_threads, ..EngineContext::default() };
        Ok(Alone { engine_context: Arc::new(engine_context), _runtime: runtime })
    }
}

/// The engine that runs an application.
pub enum RunningEngine {
    Mruby(Arc<MrubyEngine>),
    Ruby(Arc<RubyEngine>),
}

/// Why an application is not loaded.
#[derive(Debug)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub words: String,
}

/// The side that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The engine cannot run, or was cancelled.
    Engine,
    /// The application did not load in a working engine: another engine may load it.
    App,
    /// Ruby runs, and has no Rack.
    NoRack,
    /// A hook failed after the application was loaded.
    Hook,
}

impl From<String> for Refusal {
    /// A failure of the engine itself.
    fn from(words: String) -> Refusal {
        Refusal { kind: RefusalKind::Engine, words }
    }
}

impl RunningEngine {
    /// Loads the application.
    pub fn start(
        spec: &AppSpec,
        settings: &AppSettings,
        size: Size,
        engine_context: &EngineContext,
    ) -> Result<RunningEngine, Refusal> {
        let engine = match spec.engine {
            EngineKind::Mruby => start_mruby(spec, settings, engine_context).map(RunningEngine::Mruby),
            EngineKind::Ruby => start_ruby(spec, settings, size, engine_context).map(RunningEngine::Ruby),
        };
        engine.map_err(|refusal| {
            let words = match refusal.kind {
                RefusalKind::Hook => refusal.words,
                RefusalKind::Engine | RefusalKind::App | RefusalKind::NoRack => {
                    format!("{} cannot be loaded: {}", spec.rackup.display(), refusal.words)
                }
            };
            Refusal { words, ..refusal }
        })
    }

    /// Loads the application in a child process first if its code could end this process (embedded engine): for a
    /// server that must go on.
    pub fn try_in_a_child(
        spec: &AppSpec,
        settings: &AppSettings,
        engine_context: &EngineContext,
    ) -> Result<(), Refusal> {
        if spec.engine != EngineKind::Mruby {
            return Ok(());
        }
        trial::load(&mruby_settings(spec, settings, engine_context), &engine_context.called_off).map_err(|verdict| {
            Refusal {
                words: format!("{} cannot be loaded: {verdict}", spec.rackup.display()),
                kind: if verdict == Verdict::CalledOff { RefusalKind::Engine } else { RefusalKind::App },
            }
        })
    }

    /// The engine, as the front calls it.
    pub fn engine(&self) -> Arc<dyn Engine> {
        match self {
            RunningEngine::Mruby(engine) => engine.clone(),
            RunningEngine::Ruby(engine) => engine.clone(),
        }
    }

    /// A description with numbers of workers or interpreters, for the log. `workers` are the least and greatest number
    /// of Ruby workers.
    pub fn in_words(&self, settings: &AppSettings, workers: (usize, usize)) -> String {
        match self {
            RunningEngine::Mruby(_) => {
                for lack in engine_mruby::lacks() {
                    warn!(target: "server", "{}: {lack}", engine_mruby::version());
                }
                let mode = if settings.mruby.fresh { ", a fresh one for every request" } else { "" };
                format!("{} of {}{mode}", count(settings.mruby.interpreters, "interpreter"), engine_mruby::version())
            }
            RunningEngine::Ruby(engine) => {
                let fact = |name| engine.fact(name).unwrap_or("unknown");
                let kind = if fact("native") == "yes" { "native" } else { "plain Ruby" };
                let range = |(min, max): (usize, usize), what: &str| {
                    if min == max { count(max, what) } else { format!("{min} to {}", count(max, what)) }
                };
                let threads = range((settings.ruby.threads, settings.ruby.max_threads), "thread");
                let workers = range(workers, "worker");
                let loaded = if fact("preload") == "no" { ", loaded in each worker" } else { ", preloaded" };
                format!("{workers} ({kind}) with {threads} each{loaded}, rack {}, {}", fact("rack"), fact("ruby"))
            }
        }
    }

    /// Reports that clients reach the application from now on. Does not wait.
    pub fn serve(&self) {
        match self {
            // It runs no hooks.
            RunningEngine::Mruby(_) => {}
            RunningEngine::Ruby(engine) => engine.serve(),
        }
    }

    /// Ends what still runs in this process. Other processes end when the engine is stopped.
    pub fn cut(&self) {
        if let RunningEngine::Mruby(engine) = self {
            engine.cut();
        }
    }

    /// Stops the engine; its processes exit within this time.
    pub fn stop(&self, time: Duration) {
        match self {
            RunningEngine::Mruby(engine) => engine.close(),
            RunningEngine::Ruby(engine) => engine.stop(time),
        }
    }

    /// Leaves at most this time to a [stop](RunningEngine::stop) that has begun. Does not wait.
    pub fn hurry(&self, time: Duration) {
        match self {
            // It has no processes that could take long.
            RunningEngine::Mruby(_) => {}
            RunningEngine::Ruby(engine) => engine.hurry(time),
        }
    }
}

fn mruby_settings(spec: &AppSpec, settings: &AppSettings, engine_context: &EngineContext) -> engine_mruby::Settings {
    engine_mruby::Settings {
        rackup: spec.rackup.clone(),
        app: name(settings).cloned(),
        environment: settings.environment.clone(),
        interpreters: settings.mruby.interpreters,
        fresh: settings.mruby.fresh,
        max_requests: settings.max_requests,
        max_requests_jitter: settings.max_requests_jitter,
        slow_time: settings.slow_time,
        meter: engine_context.meter.clone(),
        memory_bytes: settings.mruby.memory_bytes,
        queue_places: settings.queue_places,
        boot_time: settings.ruby.boot_time,
        keep: engine_context.keep.clone(),
    }
}

fn start_mruby(
    spec: &AppSpec,
    settings: &AppSettings,
    engine_context: &EngineContext,
) -> Result<Arc<MrubyEngine>, Refusal> {
    MrubyEngine::start(mruby_settings(spec, settings, engine_context)).map_err(|error| Refusal {
        kind: match error {
            engine_mruby::StartError::App(_) => RefusalKind::App,
            engine_mruby::StartError::Machine(_) | engine_mruby::StartError::Path(_) => RefusalKind::Engine,
        },
        words: error.to_string(),
    })
}

fn start_ruby(
    spec: &AppSpec,
    settings: &AppSettings,
    size: Size,
    engine_context: &EngineContext,
) -> Result<Arc<RubyEngine>, Refusal> {
    let ruby = &settings.ruby;
    let (min_workers, max_workers) = match size {
        Size::Full => (ruby.min_workers, ruby.max_workers),
        Size::Workers(number) => (number, number.max(1)),
    };
    let extensions = native::choose(ruby.worker, &ruby.program, ruby.user.as_ref())?;
    let (hooks, hooks_kind) = hooks(spec, ruby)?;
    let start = |extensions: Extensions| {
        let settings = engine_ruby::Settings {
            ruby: ruby.program.clone(),
            rackup: spec.rackup.clone(),
            gemfile: spec.gemfile.clone(),
            lockfile: spec.gemfile.as_deref().and_then(bundle::lockfile),
            load_path: spec.load_path.clone(),
            hooks: hooks.clone(),
            retries_hooks: engine_context.retries_hooks && size == Size::Full && !hooks_kind.is_empty(),
            hooks_names: compat::directives(hooks_kind),
            hooks_kind: hooks_kind.to_owned(),
            limits_heaps: heaps::are_free(&ruby.variables),
            is_passenger: ruby.is_passenger,
            evaluated: ruby.evaluated.clone(),
            native: extensions.paths,
            needs_native: extensions.is_needed,
            preload: ruby.preload,
            environment: settings.environment.clone(),
            environment_variables: environment_variables(settings.environment_source, &ruby.variables),
            variables: ruby.variables.clone(),
            tag: tag(spec, settings),
            app: name(settings).cloned(),
            user: ruby.user.clone(),
            open_files: open_files::before(),
            min_workers,
            max_workers,
            first_workers: ruby.min_workers.max(1),
            computing_bounds: ruby.computing_bounds,
            idle_time: ruby.idle_time,
            budget: engine_context.budget.clone(),
            max_requests: settings.max_requests,
            max_requests_jitter: settings.max_requests_jitter,
            worker_memory: ruby.worker_memory,
            worker_timeout: ruby.worker_timeout,
            oob_gc: ruby.oob_gc,
            early_hints: ruby.early_hints,
            is_batch: ruby.is_batch,
            slow_time: settings.slow_time,
            meter: engine_context.meter.clone(),
            threads: ruby.threads,
            max_threads: u32::try_from(ruby.max_threads).unwrap_or(u32::MAX),
            spares_databases: ruby.spares_databases,
            queue_places: settings.queue_places,
            boot_time: ruby.boot_time,
            kill_time: ruby.kill_time,
            linger: engine_context.drain_time,
            called_off: engine_context.called_off.clone(),
            is_shutting_down: engine_context.is_shutting_down.clone(),
        };
        RubyEngine::start(settings, engine_context.io_threads.clone())
    };
    let mut engine = start(extensions);
    if let Err(StartError::NoNative) = engine {
        let built = native::build_wanted(&ruby.program, ruby.user.as_ref())?;
        engine = start(Extensions { paths: vec![built], is_needed: false });
    }
    let engine = engine.map_err(|error| Refusal {
        kind: match error {
            StartError::App(_) | StartError::Ended(_) | StartError::Unready(_) | StartError::Late(_) => {
                RefusalKind::App
            }
            StartError::NoRack(_) => RefusalKind::NoRack,
            StartError::Hook(..) => RefusalKind::Hook,
            StartError::User(..)
            | StartError::NoRuby { .. }
            | StartError::Ruby(..)
            | StartError::NoNative
            | StartError::CalledOff
            | StartError::Machine(_) => RefusalKind::Engine,
        },
        words: ended_by_bundler(&error, spec.gemfile.as_deref()).unwrap_or_else(|| error.to_string()),
    })?;
    let is_native = engine.fact("native") == Some("yes");
    if ruby.worker == RubyWorker::Native && !is_native {
        engine.stop(Duration::ZERO);
        return Err("the native worker was built, and Ruby cannot load it; its log says why".to_owned().into());
    }
    if let Some(advice) = native::advice(ruby.worker, is_native, engine.fact("ruby").unwrap_or("")) {
        info!(target: "server", "{advice}");
    }
    Ok(engine)
}

/// The error message for a Ruby process that failed before it ran the server's code, if Bundler is the likely cause.
fn ended_by_bundler(error: &StartError, gemfile: Option<&Path>) -> Option<String> {
    let StartError::NoRuby { how, has_failed: true, .. } = error else { return None };
    let remedy = bundle::remedy(gemfile)?;
    Some(format!("Ruby {how} before it ran any code of the server, {remedy}"))
}

/// The file with hooks, and the server that it is written for. Another server's configuration without hooks is
/// evaluated, too: its code may set variables that the application reads.
fn hooks(spec: &AppSpec, ruby: &Ruby) -> Result<(Option<PathBuf>, &'static str), String> {
    let named = rackup::hooks(ruby.hooks_folder(&spec.rackup), ruby.hooks.as_deref())?;
    let (path, kind) = match (named, &ruby.evaluated) {
        (Some(path), _) => {
            let kind = compat::hooks_kind(&path)?;
            (Some(path), kind)
        }
        (None, Some(evaluated)) => (Some(evaluated.path.clone()), evaluated.kind),
        (None, None) => (None, ""),
    };
    Ok((path, if ruby.is_single && kind == compat::ServerKind::Puma.word() { engine_ruby::PUMA_SINGLE } else { kind }))
}

/// The application's name in process titles.
fn tag(spec: &AppSpec, settings: &AppSettings) -> String {
    settings.tag.as_ref().or(name(settings)).cloned().unwrap_or_else(|| rackup::tag(&spec.rackup))
}

/// The application's name, if it was configured.
fn name(settings: &AppSettings) -> Option<&String> {
    Some(&settings.name).filter(|name| *name != DEFAULT_NAME)
}
