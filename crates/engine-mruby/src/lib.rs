//! The engine that runs a Rack application on embedded mruby interpreters. They share nothing but what Rust gives them.
//!
//! Reading order: `pool` (which interpreter runs which request, in which thread), `interpreter` and `stack` (one call,
//! on a stack that can change its thread), `response_writer`, `vm`, `environment`, `host` (the border to C, with the
//! crate `mruby-sys`), `watchdog` and `run_state` (time limits), `native` and `store` (functions for Ruby, with the
//! crates `ruby-stdlib` and `ruby-data`), `patterns` (regular expressions, with the crate `ruby-regexp`).

#![expect(unsafe_code, reason = "the border to C, and stacks that change their thread")]

mod environment;
mod failure;
mod host;
mod interpreter;
mod job;
mod keep;
mod libraries;
mod native;
mod orders;
mod patterns;
mod pool;
mod prelude;
mod reason;
mod response_writer;
mod run_state;
mod settings;
mod shared;
mod stack;
mod store;
mod timers;
mod vm;
mod watchdog;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use engine::{AppError, Fault};

pub use keep::Keep;
pub use libraries::provides;
pub use pool::Pool as MrubyEngine;
pub use settings::Settings;
pub use vm::{lacks, version};

use interpreter::Interpreter;
use run_state::{Clock, RunState};
use shared::Shared;
use watchdog::Watchdog;

/// Advice printed after a syntax error, which may be a mistake in the file or a gap in mruby's parser.
const SYNTAX_HINT: &str = "Where `ruby -c` accepts the file, it has syntax that the embedded interpreter lacks: see \
                           docs/writing-apps.md, or run with --engine ruby.";

/// The reason why [`MrubyEngine::start`] failed.
#[derive(Debug)]
pub enum StartError {
    /// The application raised while it was loaded.
    App(Box<AppError>),
    /// The machine refused threads or memory.
    Machine(std::io::Error),
    /// The path of the rackup file contains a NUL byte.
    Path(PathBuf),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::App(error) => {
                write!(f, "{}: {}", error.class, error.message)?;
                error.lines().try_for_each(|line| write!(f, "\n    {line}"))?;
                if error.class == "SyntaxError" { write!(f, "\n    {SYNTAX_HINT}") } else { Ok(()) }
            }
            StartError::Machine(error) => write!(f, "no thread or no memory for the interpreters: {error}"),
            StartError::Path(path) => write!(f, "{} cannot be a file's path", path.display()),
        }
    }
}

impl std::error::Error for StartError {}

impl MrubyEngine {
    /// Opens `settings.interpreters` interpreters and loads the application into each. The first failure ends the
    /// start.
    pub fn start(settings: Settings) -> Result<Arc<MrubyEngine>, StartError> {
        if settings.rackup.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(StartError::Path(settings.rackup));
        }
        settings.meter.recorder.set_slow(settings.slow_time);
        let settings = Arc::new(settings);
        let clock = Clock::new();
        let run_states: Vec<Arc<RunState>> = (0..settings.interpreters).map(|_| Arc::new(RunState::new())).collect();
        let shared = Arc::new(Shared::new(settings.clone()));
        let watchdog = Watchdog::start(run_states.clone(), clock).map_err(StartError::Machine)?;
        let mut interpreters = Vec::with_capacity(run_states.len());
        for (number, run_state) in run_states.iter().enumerate() {
            let opened = Interpreter::new(number, shared.clone(), run_state.clone(), clock, watchdog.clone());
            let mut interpreter = opened.map_err(StartError::Machine)?;
            interpreter.load(0).map_err(StartError::App)?;
            interpreters.push(interpreter);
        }
        MrubyEngine::with(settings, interpreters, watchdog).map_err(StartError::Machine)
    }

    /// Ends the requests that still run, at once, and refuses those that wait.
    pub fn cut(&self) {
        self.queue.take_all().into_iter().for_each(|job| job.refuse(Fault::Stopping));
        self.watchdog.end_all();
    }
}
