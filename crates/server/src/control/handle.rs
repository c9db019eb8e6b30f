//! The handle through which signals and the control socket act on the running server. It can be cloned and called from
//! any thread; methods that block say so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use engine::brief;
use front::{Endpoint, Listener, Stop};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tracing::{info, warn};

use crate::apps::registry::Apps;
use crate::control::upgrade::Upgrade;
use crate::process::systemd;

/// A running server; clones share it.
#[derive(Clone)]
pub struct ServerHandle(Arc<Inner>);

/// What a reload needs to bind Unix sockets again whose file is gone.
pub struct Rebinding {
    /// The configured addresses.
    pub endpoints: Vec<Endpoint>,
    /// Takes further listeners to the front.
    pub further: Sender<Listener>,
}

struct Inner {
    apps: Arc<Apps>,
    rebinding: Rebinding,
    stop: Stop,
    drain_lag: Duration,
    drain_time: Duration,
    /// Whether the listeners accept connections.
    is_open: AtomicBool,
    is_draining: AtomicBool,
    /// When the shutdown began.
    ending: OnceLock<Instant>,
    /// Notified each time that an immediate shutdown is asked for.
    hurried: Notify,
    runtime: Handle,
    upgrade: Arc<Upgrade>,
}

impl ServerHandle {
    /// A handle to a server that runs these applications. `rebinding` restores its sockets; `stop` shuts down the
    /// front; `runtime` is that of the main thread; `upgrade` starts its successor.
    pub fn new(
        apps: Arc<Apps>,
        rebinding: Rebinding,
        stop: Stop,
        runtime: Handle,
        drain_lag: Duration,
        drain_time: Duration,
        upgrade: Arc<Upgrade>,
    ) -> ServerHandle {
        ServerHandle(Arc::new(Inner {
            apps,
            rebinding,
            stop,
            drain_lag,
            drain_time,
            is_open: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            ending: OnceLock::new(),
            hurried: Notify::new(),
            runtime,
            upgrade,
        }))
    }

    /// All applications.
    pub fn apps(&self) -> &Apps {
        &self.0.apps
    }

    /// Why load balancers should send no requests; `None` if they should: the server listens, is not shutting down, and
    /// has workers.
    pub fn unready(&self) -> Option<&'static str> {
        if self.is_draining() {
            Some("draining")
        } else if !self.is_open() {
            Some("starting")
        } else if !self.0.apps.all().iter().any(|app| app.has_workers()) {
            Some("no worker is ready")
        } else {
            None
        }
    }

    /// Whether the listeners accept connections, or have done so.
    pub fn is_open(&self) -> bool {
        self.0.is_open.load(Ordering::SeqCst)
    }

    /// Whether the server is shutting down.
    pub fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::SeqCst) || self.0.stop.is_draining()
    }

    /// Time since the shutdown began; `None` if it has not.
    pub fn draining_for(&self) -> Option<Duration> {
        self.0.ending.get().map(Instant::elapsed)
    }

    /// Records that the listeners accept connections.
    pub fn set_open(&self) {
        self.0.is_open.store(true, Ordering::SeqCst);
    }

    /// Reloads the application of this name, or all. Blocks until the new code serves or has failed. As in Unicorn,
    /// Unix sockets whose file is gone are bound again; where another file has taken its place, the report says so.
    pub fn reload(&self, app: Option<&str>) -> Result<String, String> {
        if self.is_draining() {
            let why = "the server is shutting down: nothing is reloaded any more";
            warn!(target: "server", "{why}");
            return Err(why.to_owned());
        }
        systemd::reloading("reloading");
        let Rebinding { endpoints, further } = &self.0.rebinding;
        for listener in self.0.upgrade.bind_again(endpoints) {
            // If the front does not take it, because it shuts down, the listener is dropped and removes its file.
            let _ = further.try_send(listener);
        }
        let displaced = self.0.upgrade.displaced();
        let outcome = self.0.apps.reload(app);
        systemd::reloaded(if outcome.is_ok() { "serving" } else { "serving the old code: a reload has failed" });
        outcome.map(|report| displaced.iter().fold(report, |report, words| format!("{report}\n{words}")))
    }

    /// Shuts down in the order that load balancers need: not ready at once, no new connections after `--drain-lag`,
    /// then running requests are finished.
    pub fn drain(&self) {
        let Inner { drain_lag, runtime, is_draining, ending, upgrade, .. } = &*self.0;
        let _ = ending.set(Instant::now());
        if is_draining.swap(true, Ordering::SeqCst) {
            info!(target: "server", "shutting down already");
            return;
        }
        if drain_lag.is_zero() {
            return self.stop(false);
        }
        // As without a lag: whoever ends the server does not want another one.
        upgrade.call_off();
        self.end_pauses();
        let status = format!("draining: no longer ready, accepting connections for {} more", brief(*drain_lag));
        systemd::draining(&status);
        info!(target: "server", "{status}");
        let server = self.clone();
        let lag = *drain_lag;
        drop(runtime.spawn(async move {
            tokio::time::sleep(lag).await;
            server.stop(false);
        }));
    }

    /// Shuts down: running requests get up to `--drain-time`, or with `now` are cut off at once.
    pub fn stop(&self, now: bool) {
        let Inner { stop, drain_time, is_draining, upgrade, ending, hurried, .. } = &*self.0;
        let _ = ending.set(Instant::now());
        is_draining.store(true, Ordering::SeqCst);
        if !stop.is_draining() {
            // Before anything is closed, since a successor must have the sockets by then.
            if !upgrade.hand_over() {
                systemd::stopping(&format!("shutting down: running requests have {}", brief(*drain_time)));
            }
            if !now {
                info!(target: "server", "shutting down: running requests have {}", brief(*drain_time));
            }
            self.end_pauses();
        }
        if now {
            warn!(target: "server", "shutting down now: running requests are cut off");
            stop.now();
            hurried.notify_waiters();
        } else {
            stop.drain();
        }
    }

    /// Whether an immediate shutdown was asked for.
    pub fn ends_now(&self) -> bool {
        self.0.stop.is_now()
    }

    /// Waits until an immediate shutdown is asked for; not at all if it was.
    pub async fn hurried(&self) {
        // Created before the look, so that a request in between is not missed.
        let hurried = self.0.hurried.notified();
        if !self.ends_now() {
            hurried.await;
        }
    }

    /// Refuses orders from now on, and ends pauses, so that requests that wait in one are answered before the shutdown.
    /// The latter in a thread, since engines take a moment for an order.
    fn end_pauses(&self) {
        self.0.apps.all().iter().for_each(|app| app.shutdown.refuse_orders());
        let apps = self.0.apps.clone();
        let spawned = thread::Builder::new().name("end of pauses".into()).spawn(move || apps.end_pauses());
        if let Err(error) = spawned {
            warn!(target: "server", "no thread to end pauses, which is waited for now: {error}");
            self.0.apps.end_pauses();
        }
    }

    /// Starts the program at this path again with the same sockets, in place of this process. Blocks until it serves,
    /// or has failed; then this process goes on.
    pub fn upgrade(&self) -> Result<String, String> {
        if self.is_draining() {
            return Err("the server ends: nothing is upgraded any more".to_owned());
        }
        let upgrade = &self.0.upgrade;
        let pid = upgrade.start()?;
        if !upgrade.leaves() {
            return Ok(format!("process {pid} serves beside this one, until SIGQUIT ends one of them"));
        }
        upgrade.leave_to(pid)?;
        self.stop(false);
        Ok(format!("process {pid} serves, and this one finishes what it has"))
    }

    /// The upgrade, which knows whether another process serves beside this one, or in its place.
    pub fn succession(&self) -> &Upgrade {
        &self.0.upgrade
    }
}

/// A server without applications and without listeners, whose main thread has this runtime.
#[cfg(test)]
pub fn without_apps(runtime: &tokio::runtime::Runtime) -> ServerHandle {
    use crate::apps::context::AppContext;
    use crate::config::signal_map::Habit;
    use crate::control::upgrade::Relaunch;
    use crate::process::links::Links;
    use crate::process::program::Program;
    use crate::process::run_files::RunFiles;

    let context = AppContext {
        io_threads: Vec::new(),
        request_time: Duration::ZERO,
        queue_wait: Duration::ZERO,
        drain_time: Duration::ZERO,
        bundle_gemfile: None,
        reload_settings: Box::new(|| Err(Vec::new())),
        budget: None,
        retries_hooks: false,
        called_off: Arc::default(),
        noticed: Default::default(),
        waiting: Default::default(),
    };
    let apps = Apps::start(Vec::new(), Vec::new(), &Arc::new(context)).ok().expect("there is none to load");
    let apps = Arc::new(apps);
    let run_files = RunFiles::claim(None, None, false, Links::All).expect("none is configured");
    let relaunch = Relaunch { program: Program::note(), log_files: Arc::default() };
    let (time, habit) = (Duration::ZERO, Habit::Puma);
    let upgrade = Upgrade::new(relaunch, Vec::new(), Arc::new(run_files), apps.clone(), time, habit, Arc::default());
    let (further, _) = tokio::sync::mpsc::channel(1);
    let rebinding = Rebinding { endpoints: Vec::new(), further };
    ServerHandle::new(apps, rebinding, Stop::new(), runtime.handle().clone(), time, time, upgrade)
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// As `foolsgold stop --now` may come when the last request has just been answered, and nothing waits for it yet.
    #[test]
    fn an_immediate_shutdown_is_not_missed_by_who_waits_for_it_later() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let server = without_apps(&runtime);
        runtime.block_on(async {
            server.stop(false);
            assert!(timeout(Duration::from_millis(10), server.hurried()).await.is_err());
            server.stop(true);
            timeout(Duration::from_secs(10), server.hurried()).await.unwrap();
        });
    }
}
