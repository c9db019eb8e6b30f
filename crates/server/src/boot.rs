//! Puts the program together and runs it to its end. The only place that names the front.

use std::io::{self, stdout};
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use front::{AccessLog, Ended, Lanes, Listener, LogFormat, Stop};
use tracing::{info, warn};

use crate::choice::EngineKind;
use crate::engines::{Running, count};
use crate::openfiles;
use crate::settings::{LogForm, Settings};
use crate::signals::Signals;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// After the end, connections that were cut off have so long to notice: they write their last log lines then.
const CUT_TIME: Duration = Duration::from_millis(200);

/// Workers have so long to end after the last request: for the application's hooks and `at_exit` blocks.
const WORKERS_TIME: Duration = Duration::from_secs(10);

/// And so long when requests were cut off: whoever runs one still is not waited for any more.
const WORKERS_CUT_TIME: Duration = Duration::from_secs(1);

/// What is to be served, and by what.
#[derive(Debug)]
pub struct App {
    pub engine: EngineKind,
    /// Absolute, like the next.
    pub rackup: PathBuf,
    pub gemfile: Option<PathBuf>,
}

/// The versions of the program and of the engine in it.
pub fn versions() -> String {
    format!("foolsgold {VERSION} ({})", engine_mruby::version())
}

/// Serves until a signal ends it. The error is a text for whoever started the program.
pub fn serve(app: App, settings: &Settings) -> Result<(), String> {
    if let Some(warning) = openfiles::make_room(settings.limits.connections) {
        warn!(target: "server", "{warning}");
    }
    let told = |error: io::Error| format!("the threads for I/O cannot be started: {error}");
    let lanes = Lanes::start(settings.io_threads).map_err(told)?;
    // This thread only waits for signals and for the end.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(told)?;
    // The application first: as long as it is not ready, no client should find an open door.
    let running = Running::start(&app, &settings.apps[0], lanes.handles())?;
    let front_settings = Arc::new(front_settings(settings));
    let ended = runtime.block_on(run(&app, settings, &lanes, &running, front_settings.clone()))?;
    running.stop(if ended.cut == 0 { WORKERS_TIME } else { WORKERS_CUT_TIME });
    // What still runs has been given up; waiting for it would make the end as slow as the slowest script.
    runtime.shutdown_timeout(CUT_TIME);
    drop(lanes);
    // The last holder of the access log: dropping it writes the lines that wait.
    drop(front_settings);
    let served = running.engine().status().served;
    let (served, finished, cut) = (count(served, "request"), count(ended.finished, "connection"), ended.cut);
    info!(target: "server", "ended: {served} served; {finished} finished, {cut} cut off");
    Ok(())
}

async fn run(
    app: &App,
    settings: &Settings,
    lanes: &Lanes,
    running: &Running,
    front_settings: Arc<front::Settings>,
) -> Result<Ended, String> {
    let listeners = front::listen(&settings.binds).map_err(|error| error.to_string())?;
    let told = |error: io::Error| format!("signals cannot be listened to: {error}");
    let mut signals = Signals::listen().map_err(told)?;
    announce(app, settings, running, &listeners);
    let stop = Stop::new();
    let serving = front::serve(listeners, lanes, running.engine(), front_settings, stop.clone());
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
        trusted: settings.trusted.clone(),
        access_log: format.map(|format| AccessLog::new(format, stdout())),
        development: settings.environment == "development",
        counts: Arc::default(),
    }
}

/// Says what is served, where, by what and how: what somebody who reads the log a year later will want to know.
fn announce(app: &App, settings: &Settings, running: &Running, listeners: &[Listener]) {
    for notice in settings.notices.iter().chain(settings.apps.iter().flat_map(|app| &app.notices)) {
        warn!(target: "server", "{notice}");
    }
    let (environment, pid) = (settings.environment.as_str(), process::id());
    let engine = running.in_words(&settings.apps[0]);
    info!(target: "server", "foolsgold {VERSION}, {engine}, environment {environment}, pid {pid}");
    if !settings.chosen.is_empty() {
        info!(target: "server", "settings: {}", settings.chosen.join(", "));
    }
    for listener in listeners {
        info!(target: "server", "serving {} on {}", app.rackup.display(), listener.local());
    }
}
