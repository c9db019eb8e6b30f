//! Assembles the server and runs it until it shuts down. The only file here that sets up `front`.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::{brief, count};
use front::{AccessLog, Ended, IoThreads, Listener, LogFormat, Stop};
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};

use crate::admin::Admin;
use crate::admin::state::{AdminState, RunningServer, ServerFolders};
use crate::apps::app::App;
use crate::apps::context::{AppContext, ReloadSettings};
use crate::apps::engines;
use crate::apps::registry::{Apps, StartFailure, named};
use crate::apps::spec::AppSpec;
use crate::boot::prepare::Prepared;
use crate::boot::setup;
use crate::config::app_settings::LATER_BOOT_TIME;
use crate::config::settings::{LogForm, Settings};
use crate::control::handle::{Rebinding, ServerHandle};
use crate::control::restart_file::{self, RestartFile};
use crate::control::signals::Signals;
use crate::control::upgrade::{Relaunch, Upgrade};
use crate::log::files::LogFiles;
use crate::log::writer::Flush;
use crate::process::folder;
use crate::process::init;
use crate::process::open_files;
use crate::process::run_files::RunFiles;
use crate::process::sockets::Sockets;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Time after the shutdown for connections that were cut off to write their last log lines.
const CUT_TIME: Duration = Duration::from_millis(200);

/// Time for a start that was called off to end by itself. What has not stopped by then, such as a script that an
/// embedded interpreter loads, ends with the process.
const CALL_OFF_TIME: Duration = Duration::from_secs(2);

/// Log line about a start that was called off, and the report to the process that waits for it.
const CALLED_OFF: &str = "shut down before it served";

/// Least time for workers to exit after the last request: the application's hooks and `at_exit` blocks run in it, such
/// as those that let jobs finish.
const WORKERS_TIME: Duration = Duration::from_secs(10);

/// Time for workers to exit in an immediate shutdown, or when requests were cut off: a worker that still runs one is
/// not waited for. With the time that its mold has afterwards it is below the second for which the `restart` of init
/// scripts waits: those start nothing while the previous process is still there.
const WORKERS_CUT_TIME: Duration = Duration::from_millis(600);

/// Time after which the log says that workers are waited for.
const SAY_TIME: Duration = Duration::from_secs(1);

/// Time for a successor to be ready, beyond the boot time of its slowest application.
const BESIDE_BOOT_TIME: Duration = Duration::from_secs(30);

/// Everything that `serve` needs.
pub struct Plan {
    pub settings: Settings,
    /// The applications, in the order of the settings.
    pub specs: Vec<AppSpec>,
    pub bundle_gemfile: Option<OsString>,
    pub reload_settings: ReloadSettings,
    pub prepared: Prepared,
    /// Waits until the log is written.
    pub flush: Flush,
}

/// Versions of the program and of the embedded engine, and the allocator unless it is the C library's.
pub fn versions() -> String {
    // Builds for distribution name their commit, since a figure of "0.1.0" could be of any.
    let commit = option_env!("FOOLSGOLD_COMMIT").map_or_else(String::new, |commit| format!("+{commit}"));
    let allocator = if cfg!(feature = "jemalloc") { ", jemalloc" } else { "" };
    format!("foolsgold {VERSION}{commit} ({}{allocator})", engine_mruby::version())
}

/// Serves until the shutdown. The error is a text for the user who started the program.
pub fn serve(mut plan: Plan) -> Result<(), String> {
    let limits = &plan.settings.limits;
    if let Some(warning) = open_files::make_room(limits.connections, limits.spare_files) {
        warn!(target: "server", "{warning}");
    }
    let waiting = Waiting::new().map_err(no_threads)?;
    let (habit, log_files) = (plan.settings.operating.signals, plan.prepared.log_files.clone());
    // Before anything is taken that a signal for a shutdown would leave behind.
    let signals = waiting.block_on(async { Signals::listen(habit, log_files.clone()) });
    let mut signals = signals.map_err(|error| format!("signals cannot be listened to: {error}"))?;
    // Bound to names before what uses them, so dropped after it.
    let (mut sockets, run_files) = setup::take(&plan.settings, &mut plan.prepared)?;
    files::temporary::check();
    let Plan { settings, specs, bundle_gemfile, reload_settings, prepared, flush } = plan;
    for (app, spec) in settings.apps.iter().zip(&specs) {
        info!(target: "server", "{}", named(settings.apps.len() > 1, &app.name, &spec.why));
    }
    let threads = Threads { waiting, io_threads: IoThreads::start(settings.io_threads).map_err(no_threads)? };
    let front_settings = Arc::new(front_settings(&settings, &prepared.log_files));
    let context = context(&settings, &threads.io_threads, bundle_gemfile, reload_settings, &prepared);
    // It answers from here to the shutdown, so that load balancers and people see a server that starts, and one that
    // shuts down.
    let state = AdminState::new(folders(&settings, &specs), prepared.log_files.clone(), context.called_off.clone());
    let is_successor = prepared.is_successor();
    let admin = Admin::start(&settings.admin, state, sockets.admin.take(), sockets.control.take(), is_successor)?;
    let server_context = ServerContext { threads, admin, front_settings };
    let restart_files = restart_file::note(&settings);
    // The applications first: until they are ready, no client should be able to connect.
    let ordered = prepared.parent.as_ref().map(|parent| parent.ordered.clone()).unwrap_or_default();
    let app_settings = settings.apps.clone();
    let load = move || {
        let apps = Apps::start(app_settings, specs, &context)?;
        apps.follow(&ordered);
        apps.all().iter().for_each(|app| app.wait_for_scale());
        Ok(apps)
    };
    // The previous process may be exiting: nobody would accept the connections of sockets that stay open here.
    let patience = if is_successor { Duration::ZERO } else { CALL_OFF_TIME };
    let apps = match server_context.load(load, &mut signals, patience) {
        Ok(apps) => Arc::new(apps),
        Err(StartFailure::CalledOff) => {
            info!(target: "server", "{CALLED_OFF}");
            // The process that started this one waits for its report.
            return if prepared.parent.is_some() { Err(CALLED_OFF.to_owned()) } else { Ok(()) };
        }
        Err(StartFailure::Failed(why)) => return Err(why),
    };
    let mut server =
        Server { apps: Loaded { apps: apps.clone(), end_time: WORKERS_CUT_TIME }, context: server_context };
    let stage = BootedParts {
        settings: &settings,
        apps: &apps,
        context: &server.context,
        run_files: &run_files.0,
        restart_files,
        flush,
    };
    let running = run(stage, sockets, prepared, &mut signals);
    let (ended, handle) = server.context.threads.waiting.block_on(running)?;
    if ended.cut == 0 && !handle.ends_now() {
        let passed = handle.draining_for().unwrap_or_default();
        server.apps.end_time = workers_time(settings.drain_lag, settings.limits.drain_time, passed);
    }
    server.end_workers(&handle, &mut signals);
    let front_settings = server.context.front_settings.clone();
    drop(server);
    if let Some(access_log) = &front_settings.access_log {
        access_log.end(log_files.last_time());
    }
    let served = count(apps.all().iter().map(|app| app.served()).sum::<u64>(), "request");
    let finished = count(ended.finished, "connection");
    let cut = ended.cut;
    info!(target: "server", "shut down: {served} served; {finished} finished, {cut} cut off");
    Ok(())
}

/// Time for workers to exit after the last request, when this time has passed since the shutdown began: what is left of
/// the drain time, which begins after the lag, and at least [`WORKERS_TIME`].
fn workers_time(lag: Duration, drain_time: Duration, passed: Duration) -> Duration {
    (lag + drain_time).saturating_sub(passed).min(drain_time).max(WORKERS_TIME)
}

/// The running server. Fields are dropped in their order, so each value ends before the ones that it depends on.
struct Server {
    apps: Loaded,
    context: ServerContext,
}

impl Server {
    /// Stops the workers and returns when all have exited. Handles signals and commands meanwhile: one for an immediate
    /// shutdown leaves the workers [`WORKERS_CUT_TIME`].
    fn end_workers(&self, handle: &ServerHandle, signals: &mut Signals) {
        let Loaded { apps, end_time } = &self.apps;
        thread::scope(|scope| {
            let (ended, mut all_ended) = oneshot::channel::<()>();
            let stopping = thread::Builder::new().name("stop".into()).spawn_scoped(scope, move || {
                apps.stop(*end_time);
                drop(ended);
            });
            // At the limit of threads, dropping the applications stops them.
            if stopping.is_err() {
                return;
            }
            self.context.threads.waiting.block_on(async {
                let mut hurried = pin!(handle.hurried());
                // With so little time they are about to end, and an immediate shutdown would leave no less.
                let mut is_hurried = *end_time <= WORKERS_CUT_TIME;
                let mut is_said = *end_time <= SAY_TIME;
                loop {
                    tokio::select! {
                        _ = &mut all_ended => return,
                        () = &mut hurried, if !is_hurried => {
                            is_hurried = true;
                            apps.all().iter().for_each(|app| app.hurry(WORKERS_CUT_TIME));
                        }
                        () = signals.follow(handle) => {}
                        () = tokio::time::sleep(SAY_TIME), if !is_hurried && !is_said => {
                            is_said = true;
                            signals.expect_interrupt();
                            let left = brief(end_time.saturating_sub(SAY_TIME));
                            info!(
                                target: "server",
                                "waiting for workers to exit, for {left} at most; SIGINT, or foolsgold stop --now, \
                                 leaves them {}",
                                brief(WORKERS_CUT_TIME)
                            );
                        }
                    }
                }
            });
        });
    }
}

/// The loaded applications. Dropping the value stops their workers.
struct Loaded {
    apps: Arc<Apps>,
    /// Time for the workers to exit: [`workers_time`] if every request was finished and no immediate shutdown was asked
    /// for, otherwise [`WORKERS_CUT_TIME`].
    end_time: Duration,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.apps.stop(self.end_time);
    }
}

/// Parts of the server that its applications run on: threads, admin listeners, settings of the front.
struct ServerContext {
    threads: Threads,
    /// Answers until no request is running.
    admin: Admin,
    front_settings: Arc<front::Settings>,
}

impl ServerContext {
    /// Loads the applications by `load`, in a thread of its own. Meanwhile the first signal or command for a shutdown
    /// calls the start off; it is given up at a second signal, and after `patience`.
    fn load(
        &self,
        load: impl FnOnce() -> Result<Apps, StartFailure> + Send + 'static,
        signals: &mut Signals,
        patience: Duration,
    ) -> Result<Apps, StartFailure> {
        let (loaded, mut outcome) = oneshot::channel();
        // Without a receiver: the start was given up.
        let loading = thread::Builder::new().name("start".into()).spawn(move || drop(loaded.send(load())));
        let no_thread = |error: io::Error| StartFailure::Failed(format!("no thread to load applications: {error}"));
        loading.map_err(no_thread)?;
        let lost = || Err(StartFailure::Failed("the thread that loads applications was lost".to_owned()));
        let outcome = self.threads.waiting.block_on(async {
            let mut given_up = pin!(async {
                self.admin.state.unwanted.notified().await;
                tokio::time::sleep(patience).await;
            });
            loop {
                tokio::select! {
                    // A signal for all processes of the service may end what loads the application, too.
                    biased;
                    name = signals.end() => match self.admin.state.is_unwanted() {
                        true => return None,
                        false => self.admin.state.call_off(Some(name)),
                    },
                    outcome = &mut outcome => return Some(outcome.unwrap_or_else(|_| lost())),
                    () = &mut given_up => return None,
                }
            }
        });
        match outcome {
            Some(outcome) if !self.admin.state.is_unwanted() => outcome,
            called_off => {
                if let Some(Ok(apps)) = called_off {
                    apps.stop(WORKERS_CUT_TIME);
                }
                Err(StartFailure::CalledOff)
            }
        }
    }
}

/// The event loops: the main thread's and those of the I/O threads.
struct Threads {
    waiting: Waiting,
    io_threads: IoThreads,
}

/// The event loop of the main thread, which only waits for signals and for the shutdown.
struct Waiting(Option<Runtime>);

impl Waiting {
    fn new() -> io::Result<Waiting> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().map(|runtime| Waiting(Some(runtime)))
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.as_ref().expect("only the end takes it").block_on(work)
    }
}

impl Drop for Waiting {
    /// Does not wait for blocked tasks: they have been given up, and the shutdown would take as long as the slowest
    /// script.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(CUT_TIME);
        }
    }
}

/// The parts that exist when the listeners open.
struct BootedParts<'a> {
    settings: &'a Settings,
    apps: &'a Arc<Apps>,
    context: &'a ServerContext,
    run_files: &'a Arc<RunFiles>,
    restart_files: Vec<RestartFile>,
    flush: Flush,
}

async fn run(
    stage: BootedParts<'_>,
    sockets: Sockets,
    prepared: Prepared,
    signals: &mut Signals,
) -> Result<(Ended, ServerHandle), String> {
    let BootedParts { settings, apps, context, run_files, restart_files, flush } = stage;
    let ServerContext { threads: Threads { io_threads, .. }, admin, front_settings } = context;
    let Sockets { listeners, shares, taken, .. } = sockets;
    listeners.iter().try_for_each(Listener::open).map_err(|error| error.to_string())?;
    let stop = Stop::new();
    let handle = tokio::runtime::Handle::current();
    let slowest = settings.apps.iter().map(|app| app.ruby.boot_time.min(LATER_BOOT_TIME)).max().unwrap_or_default();
    let limit = slowest + BESIDE_BOOT_TIME;
    let changed = admin.succession();
    let habit = settings.operating.signals;
    let relaunch = Relaunch { program: prepared.program, log_files: prepared.log_files.clone() };
    let upgrade = Upgrade::new(relaunch, shares, run_files.clone(), apps.clone(), limit, habit, changed);
    let (lag, drain_time) = (settings.drain_lag, settings.limits.drain_time);
    let (sender, further) = mpsc::channel(settings.binds.len().max(1));
    let rebinding = Rebinding { endpoints: settings.binds.clone(), further: sender };
    let server = ServerHandle::new(apps.clone(), rebinding, stop.clone(), handle, lag, drain_time, upgrade.clone());
    announce(settings, apps, &listeners);
    let addresses = listeners.iter().map(|listener| listener.local().to_string()).collect();
    // Before a successor has the admin listener: connections wait in the backlog, and the previous process is ready.
    server.set_open();
    admin.open(RunningServer {
        server: server.clone(),
        counts: front_settings.counts.clone(),
        listeners: addresses,
    })?;
    if admin.state.is_unwanted() {
        server.stop(false);
    }
    run_files.set_control(admin.state.control());
    run_files.write()?;
    let front_settings = front_settings.clone();
    let serving = front::serve_further(listeners, further, io_threads, apps.router(), front_settings, stop);
    let serving = serving.map_err(|error| error.to_string())?;
    // Before the parent reports success, so that the log says where the server listens.
    flush();
    prepared.log_files.let_starter_go();
    setup::tell(prepared.parent, upgrade, run_files, &taken, io_threads)?;
    apps.all().iter().for_each(|app| app.current().running.serve());
    restart_file::watch(restart_files, &server);
    tokio::pin!(serving);
    loop {
        tokio::select! {
            ended = &mut serving => return Ok((ended, server)),
            () = signals.follow(&server) => {}
        }
    }
}

fn no_threads(error: io::Error) -> String {
    format!("the threads for I/O cannot be started: {error}")
}

/// The folders by which commands find this server.
fn folders(settings: &Settings, specs: &[AppSpec]) -> ServerFolders {
    let served = match (&*settings.apps, specs) {
        // The config.ru of a script is made for it in a temporary folder.
        ([app], [one]) => {
            let script = app.ruby.script_folder.as_deref().and_then(|folder| folder.canonicalize().ok());
            script.or_else(|| one.rackup.parent().map(Path::to_owned))
        }
        _ => None,
    };
    ServerFolders {
        started_in: folder::current().display().to_string(),
        folder: served.or_else(|| std::env::current_dir().ok()).unwrap_or_default(),
    }
}

fn context(
    settings: &Settings,
    io_threads: &IoThreads,
    bundle_gemfile: Option<OsString>,
    reload_settings: ReloadSettings,
    prepared: &Prepared,
) -> Arc<AppContext> {
    let front::Limits { request_time, queue_wait, drain_time, .. } = settings.limits;
    Arc::new(AppContext {
        io_threads: io_threads.handles(),
        request_time,
        queue_wait,
        drain_time,
        bundle_gemfile,
        reload_settings,
        budget: settings.total_workers.map(engines::Budget::new),
        retries_hooks: !prepared.is_successor(),
        called_off: Arc::default(),
        noticed: Mutex::new(settings.notices.clone()),
        waiting: Mutex::default(),
    })
}

fn front_settings(settings: &Settings, log_files: &LogFiles) -> front::Settings {
    let format = match settings.log_form {
        LogForm::Text => Some(LogFormat::Text),
        LogForm::Json => Some(LogFormat::Json),
        LogForm::NoAccess => None,
    };
    // These lines bypass the log's own filter, for speed; so it is asked here, once.
    let format = format.filter(|_| settings.log_filter.shows("access"));
    front::Settings {
        limits: settings.limits.clone(),
        trusted: settings.trusted.clone(),
        passes_underscores: settings.passes_underscores,
        remote_address: settings.remote_address.clone(),
        scheme: settings.scheme,
        access_log: format.map(|format| {
            AccessLog::new(format, settings.log_query.clone(), log_files.own_lines(), log_files.dropped())
        }),
        more_connections: "--connections allows more",
        json_errors: false,
        counts: Arc::default(),
    }
}

/// Logs what is served, where, by which engine and with which settings: what someone who reads the log later will want
/// to know.
fn announce(settings: &Settings, apps: &Apps, listeners: &[Listener]) {
    for notice in settings.notices.iter().chain(settings.apps.iter().flat_map(|app| &app.notices)) {
        warn!(target: "server", "{notice}");
    }
    let pid = process::id();
    if let [app] = apps.all() {
        let current = app.current();
        let engine = app.in_words();
        let environment = &current.settings.environment;
        info!(target: "server", "foolsgold {VERSION}, {engine}, environment {environment}, pid {pid}");
    } else {
        info!(target: "server", "foolsgold {VERSION}, {}, pid {pid}", count(apps.all().len(), "application"));
        apps.all().iter().for_each(|app| announce_one(app));
    }
    info!(target: "server", "{}", settings.operating.signals.in_words());
    if init::is_below() {
        info!(target: "server", "process 1 passes signals on to this process, and waits for orphans");
    }
    if !settings.chosen.is_empty() {
        info!(target: "server", "settings: {}", settings.chosen.join(", "));
    }
    for listener in listeners {
        let what = match apps.all() {
            [app] => app.current().spec.rackup.display().to_string(),
            several => count(several.len(), "application"),
        };
        info!(target: "server", "listening on {}, serving {what}", listener.local());
    }
}

fn announce_one(app: &App) {
    let current = app.current();
    let name = app.name();
    let rackup = current.spec.rackup.display();
    let words = app.in_words();
    let environment = &current.settings.environment;
    let host = current.settings.host.as_deref().unwrap_or("every host");
    let prefix = if current.settings.prefix.is_empty() { "/" } else { &current.settings.prefix };
    info!(target: "server", "{name}: {rackup} at {prefix} of {host}, {words}, environment {environment}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_have_for_their_exit_what_requests_have_left_of_the_drain_time() {
        for (lag, drain_time, passed, time) in [
            (0, 30, 0, 30),
            (0, 30, 12, 18),
            (0, 30, 29, 10),
            (0, 5, 1, 10),
            (0, 120, 0, 120),
            // After an upgrade there is no lag.
            (20, 30, 1, 30),
            (20, 30, 35, 15),
        ] {
            let [lag, drain_time, passed, time] = [lag, drain_time, passed, time].map(Duration::from_secs);
            assert_eq!(workers_time(lag, drain_time, passed), time, "{lag:?} {drain_time:?} {passed:?}");
        }
    }
}
