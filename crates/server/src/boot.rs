//! Puts the program together and runs it to its end. The only place that names an engine and the front.

use std::io::{self, stdout};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use engine_mruby::MrubyEngine;
use front::{AccessLog, Ended, Lanes, Listener, LogFormat, Stop};
use tracing::{info, warn};

use crate::openfiles;
use crate::settings::{LogForm, Settings};
use crate::signals::Signals;

/// After the end, connections that were cut off have so long to notice: they write their last log lines then.
const CUT_TIME: Duration = Duration::from_millis(200);

/// The versions of the program and of the engine in it.
pub fn versions() -> String {
    format!("foolsgold {} ({})", env!("CARGO_PKG_VERSION"), engine_mruby::version())
}

/// Serves until a signal ends it. The error is a text for whoever started the program.
pub fn serve(rackup: PathBuf, settings: &Settings) -> Result<(), String> {
    if let Some(warning) = openfiles::make_room(settings.limits.connections) {
        warn!(target: "server", "{warning}");
    }
    let told = |error: io::Error| format!("the threads for I/O cannot be started: {error}");
    let lanes = Lanes::start(settings.io_threads).map_err(told)?;
    // This thread only waits for signals and for the end.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(told)?;
    // The application first: as long as it is not ready, no client should find an open door.
    let engine = start_engine(rackup.clone(), settings)?;
    let front_settings = Arc::new(front_settings(settings));
    let ended = runtime.block_on(run(&rackup, settings, &lanes, engine.clone(), front_settings.clone()))?;
    engine.close();
    // What still runs has been given up; waiting for it would make the end as slow as the slowest script.
    runtime.shutdown_timeout(CUT_TIME);
    drop(lanes);
    // The last holder of the access log: dropping it writes the lines that wait.
    drop(front_settings);
    let served = engine.status().served;
    let (finished, cut) = (ended.finished, ended.cut);
    info!(target: "server", "ended: {served} requests served; {finished} connections finished, {cut} cut off");
    Ok(())
}

fn start_engine(rackup: PathBuf, settings: &Settings) -> Result<Arc<MrubyEngine>, String> {
    let shown = rackup.display().to_string();
    let engine = MrubyEngine::start(engine_mruby::Settings {
        rackup,
        environment: settings.environment.clone(),
        interpreters: settings.threads,
        fresh: settings.fresh,
        max_requests: settings.max_requests,
        memory_bytes: settings.memory_bytes,
        queue_places: settings.queue_places,
    });
    engine.map_err(|error| format!("{shown} cannot be loaded: {error}"))
}

async fn run(
    rackup: &Path,
    settings: &Settings,
    lanes: &Lanes,
    engine: Arc<MrubyEngine>,
    front_settings: Arc<front::Settings>,
) -> Result<Ended, String> {
    let listeners = front::listen(&settings.binds).map_err(|error| error.to_string())?;
    let told = |error: io::Error| format!("signals cannot be listened to: {error}");
    let mut signals = Signals::listen().map_err(told)?;
    announce(rackup, settings, &listeners);
    let stop = Stop::new();
    let serving = front::serve(listeners, lanes, engine, front_settings, stop.clone());
    tokio::pin!(serving);
    let mut asked = 0;
    loop {
        tokio::select! {
            ended = &mut serving => return Ok(ended),
            signal = signals.end() => {
                asked += 1;
                if asked == 1 {
                    info!(target: "server", "{signal}: ending, running requests have {:?}", settings.limits.drain_time);
                    stop.drain();
                } else {
                    warn!(target: "server", "{signal} again: ending at once");
                    stop.now();
                }
            }
        }
    }
}

fn front_settings(settings: &Settings) -> front::Settings {
    let format = match settings.log_form {
        LogForm::Text => Some(LogFormat::Text),
        LogForm::Json => Some(LogFormat::Json),
        LogForm::NoAccess => None,
    };
    // These lines go past the log's own filter, for speed; so it is asked here, once.
    let format = format.filter(|_| settings.log_filter.shows("access"));
    front::Settings {
        limits: settings.limits.clone(),
        access_log: format.map(|format| AccessLog::new(format, stdout())),
        development: settings.environment == "development",
    }
}

/// Says what is served, where, by what and how: what somebody who reads the log a year later will want to know.
fn announce(rackup: &Path, settings: &Settings, listeners: &[Listener]) {
    for notice in &settings.notices {
        warn!(target: "server", "{notice}");
    }
    for lack in engine_mruby::lacks() {
        warn!(target: "server", "{}: {lack}", engine_mruby::version());
    }
    let (threads, environment, pid) = (settings.threads, settings.environment.as_str(), process::id());
    let mode = if settings.fresh { ", a fresh one for every request" } else { "" };
    info!(target: "server", "{}, {threads} interpreters{mode}, environment {environment}, pid {pid}", versions());
    if !settings.chosen.is_empty() {
        info!(target: "server", "settings: {}", settings.chosen.join(", "));
    }
    for listener in listeners {
        info!(target: "server", "serving {} on {}", rackup.display(), listener.local());
    }
}
