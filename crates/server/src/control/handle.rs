//! All that signals and the control socket may ask of the running server. It can be cloned and called from any thread;
//! what waits says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use engine::brief;
use front::Stop;
use tokio::runtime::Handle;
use tracing::{info, warn};

use crate::apps::registry::Apps;
use crate::control::upgrade::Upgrade;
use crate::process::systemd;

/// What another part of the program does when the server is asked for it; what came of it in words.
pub type Act = Box<dyn Fn() -> Result<String, String> + Send + Sync>;

/// A server that runs, as it can be asked from any thread.
#[derive(Clone)]
pub struct ServerHandle(Arc<Inner>);

struct Inner {
    apps: Arc<Apps>,
    stop: Stop,
    drain_lag: Duration,
    drain_time: Duration,
    since: SystemTime,
    /// Whether it listens.
    is_open: AtomicBool,
    is_draining: AtomicBool,
    /// Since when.
    ending: OnceLock<Instant>,
    runtime: Handle,
    upgrade: OnceLock<Arc<Upgrade>>,
    reopen_logs: OnceLock<Act>,
}

impl ServerHandle {
    /// Of these applications, with the runtime of the thread that waits for the end. The stop is the front's.
    pub fn new(
        apps: Arc<Apps>,
        stop: Stop,
        runtime: Handle,
        drain_lag: Duration,
        drain_time: Duration,
    ) -> ServerHandle {
        ServerHandle(Arc::new(Inner {
            apps,
            stop,
            drain_lag,
            drain_time,
            since: SystemTime::now(),
            is_open: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            ending: OnceLock::new(),
            runtime,
            upgrade: OnceLock::new(),
            reopen_logs: OnceLock::new(),
        }))
    }

    /// The applications.
    pub fn apps(&self) -> &Apps {
        &self.0.apps
    }

    /// Of the program that runs.
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// When it started.
    pub fn since(&self) -> SystemTime {
        self.0.since
    }

    /// Whether load balancers should send requests: it listens, and nobody has asked it to end.
    pub fn is_ready(&self) -> bool {
        self.0.is_open.load(Ordering::SeqCst) && !self.is_draining()
    }

    /// Whether it is on its way to its end.
    pub fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::SeqCst) || self.0.stop.is_draining()
    }

    /// For how long it has been on this way.
    pub fn draining_for(&self) -> Option<Duration> {
        self.0.ending.get().map(Instant::elapsed)
    }

    /// The listeners are open.
    pub fn set_open(&self) {
        self.0.is_open.store(true, Ordering::SeqCst);
    }

    /// Loads the application of this name anew, or all. Waits until the new code serves, or until it is known why not.
    pub fn reload(&self, app: Option<&str>) -> Result<String, String> {
        if self.is_draining() {
            return Err("the server is shutting down: nothing is reloaded any more".to_owned());
        }
        systemd::reloading("reloading");
        let outcome = self.0.apps.reload(app);
        systemd::ready(if outcome.is_ok() { "serving" } else { "serving the old code: a reload has failed" });
        outcome
    }

    /// The end in the order that load balancers need: not ready at once, no new connections after the lag, running
    /// requests are finished.
    pub fn drain(&self) {
        let Inner { drain_lag, runtime, is_draining, ending, .. } = &*self.0;
        let _ = ending.set(Instant::now());
        if is_draining.swap(true, Ordering::SeqCst) {
            info!(target: "server", "shutting down already");
            return;
        }
        if drain_lag.is_zero() {
            return self.stop(false);
        }
        self.end_pauses();
        info!(target: "server", "draining: no longer ready, accepting connections for {} more", brief(*drain_lag));
        let server = self.clone();
        let lag = *drain_lag;
        drop(runtime.spawn(async move {
            tokio::time::sleep(lag).await;
            server.stop(false);
        }));
    }

    /// The end: running requests are finished for up to the drain time, or everything is cut off now.
    pub fn stop(&self, now: bool) {
        let Inner { stop, drain_time, is_draining, upgrade, ending, .. } = &*self.0;
        let _ = ending.set(Instant::now());
        is_draining.store(true, Ordering::SeqCst);
        if !stop.is_draining() {
            // Before anything is closed: a successor must have it by then.
            if !upgrade.get().is_some_and(|upgrade| upgrade.hand_over()) {
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
        } else {
            stop.drain();
        }
    }

    /// Who waits in a pause is answered before the end. In a thread, since engines take a moment for an order.
    fn end_pauses(&self) {
        let apps = self.0.apps.clone();
        let spawned = thread::Builder::new().name("end of pauses".into()).spawn(move || apps.end_pauses());
        if let Err(error) = spawned {
            warn!(target: "server", "no thread to end pauses, which is waited for now: {error}");
            self.0.apps.end_pauses();
        }
    }

    /// The program of the same name takes the sockets and goes on in place of this one. Waits until it serves, or until
    /// it is known why not: then this one goes on.
    pub fn upgrade(&self) -> Result<String, String> {
        if self.is_draining() {
            return Err("the server ends: nothing is upgraded any more".to_owned());
        }
        let upgrade = self.0.upgrade.get().ok_or("this server cannot be replaced by another program yet")?;
        let pid = upgrade.start()?;
        if !upgrade.leaves() {
            return Ok(format!("process {pid} serves beside this one, until SIGQUIT ends one of them"));
        }
        self.stop(false);
        Ok(format!("process {pid} serves, and this one finishes what it has"))
    }

    /// Whether an end that was asked for waits for a successor that is being started.
    pub fn puts_off_the_end(&self) -> bool {
        self.0.upgrade.get().is_some_and(|upgrade| upgrade.puts_off_the_end())
    }

    /// Whether a successor serves beside this process.
    pub fn is_followed(&self) -> bool {
        self.0.upgrade.get().is_some_and(|upgrade| upgrade.is_followed())
    }

    /// Whether a successor has taken everything over, and this process only finishes what it has.
    pub fn is_replaced(&self) -> bool {
        self.0.upgrade.get().is_some_and(|upgrade| upgrade.is_replaced())
    }

    /// Opens the log files anew, after somebody has moved them away.
    pub fn reopen_logs(&self) -> Result<String, String> {
        act(&self.0.reopen_logs, "the log goes to standard output: there is no file to be opened again")
    }

    /// Says how to upgrade; the first word counts.
    pub fn on_upgrade(&self, upgrade: Arc<Upgrade>) {
        let _ = self.0.upgrade.set(upgrade);
    }

    /// Says how to reopen logs; the first word counts.
    pub fn on_reopen_logs(&self, act: Act) {
        let _ = self.0.reopen_logs.set(act);
    }
}

fn act(way: &OnceLock<Act>, why_not: &str) -> Result<String, String> {
    way.get().map_or_else(|| Err(why_not.to_owned()), |act| act())
}
