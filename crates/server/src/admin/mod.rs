//! How the server is watched and told what to do: a control socket for commands, an admin listener for machines and
//! people. Both are served by the front like any other listener, in threads of their own, from the start of the program
//! to its end: so they answer while applications are loaded and while the last requests are finished.

pub mod answer;
pub mod classes;
pub mod door;
pub mod eyes;
pub mod guard;
pub mod history;
pub mod metrics;
pub mod orders;
pub mod page;
pub mod params;
pub mod process;
pub mod routes;
pub mod settings;
pub mod sheet;
pub mod view;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use front::{Bind, Lanes, Listener, Stop};
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use crate::admin::door::Desktop;
use crate::admin::eyes::{Eyes, Place, Running};
use crate::admin::guard::Guard;
use crate::admin::routes::Door;
use crate::admin::settings::{AdminSettings, Control};
use crate::control_path;

/// Who asks has a minute to say it, and a day for what it may take: a reload loads an application.
const ASK_TIME: Duration = Duration::from_secs(60);
const ANSWER_TIME: Duration = Duration::from_secs(24 * 60 * 60);
/// So many may ask at once, at each of the two.
const CONNECTIONS: usize = 64;
/// Nobody has more to say.
const HEADER_BYTES: usize = 16 * 1024;
const BODY_BYTES: usize = 64 * 1024;
/// At the end, answers under way have so long.
const END_TIME: Duration = Duration::from_millis(500);

/// Both, until the value goes.
pub struct Admin {
    eyes: Arc<Eyes>,
    stop: Stop,
    threads: Vec<JoinHandle<()>>,
    control: Option<PathBuf>,
}

impl Admin {
    /// Opens what the settings say. An admin listener that cannot be opened is an error; without a control socket that
    /// nobody asked for the server goes on, as it does on machines where there is no place for one.
    /// `is_successor`: an older process of this server still has the control socket.
    pub fn start(settings: &AdminSettings, place: Place, is_successor: bool) -> Result<Admin, String> {
        let control = match &settings.control {
            Control::Off => None,
            Control::Path(path) => {
                Some(front::listen_privately(path, is_successor).map_err(|error| format!("--control: {error}"))?)
            }
            Control::Usual => control_path::listen(&place.folder, is_successor)
                .inspect_err(
                    |why| warn!(target: "server", "there is no control socket: {why}; --control names another"),
                )
                .ok(),
        };
        let admin = settings.bind.as_ref().map(open).transpose()?;
        let eyes = Arc::new(Eyes::new(place));
        let path = control.as_ref().map(path_of);
        eyes.set_addresses(path.as_ref().map(|path| path.display().to_string()), admin.as_ref().map(address_of));
        let mut started = Admin { eyes, stop: Stop::new(), threads: Vec::new(), control: path };
        let token = settings.token.clone().map_or(Guard::Nobody, Guard::Token);
        if let Some(listener) = control {
            started.serve("control", listener, Door::Control, Guard::Nobody)?;
        }
        if let Some(listener) = admin {
            let guard = match (&settings.token, listener.local()) {
                (None, Bind::Tcp(address)) if address.ip().is_loopback() => Guard::ThisMachine,
                _ => token,
            };
            info!(target: "server", "the admin page, /metrics and /readyz are on {}", shown(&listener.local()));
            started.serve("admin", listener, Door::Admin, guard)?;
        }
        Ok(started)
    }

    /// The server runs: now there is something to see.
    pub fn open(&self, running: Running) {
        self.eyes.open(running);
        if let Some(path) = &self.control {
            info!(target: "server", "commands find this server by its control socket {}", path.display());
        }
    }

    /// Where it is told what to do.
    pub fn control(&self) -> Option<&PathBuf> {
        self.control.as_ref()
    }

    /// One thread for the connections, and one that waits for the end and looks each second.
    fn serve(&mut self, name: &str, listener: Listener, door: Door, guard: Guard) -> Result<(), String> {
        let told = |error: io::Error| format!("the thread for the {name} listener cannot be started: {error}");
        let lanes = Lanes::start(1).map_err(told)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(told)?;
        let desktop = Desktop { eyes: self.eyes.clone(), door, guard, runtime: runtime.handle().clone() };
        let (eyes, stop) = (self.eyes.clone(), self.stop.clone());
        // One of the two is enough to look.
        let looks = door == Door::Control || self.control.is_none();
        let work = move || {
            let serving = front::serve(vec![listener], &lanes, Arc::new(desktop), Arc::new(front_settings()), stop);
            runtime.block_on(async {
                tokio::pin!(serving);
                let mut seconds = interval(Duration::from_secs(1));
                seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
                loop {
                    tokio::select! {
                        _ = &mut serving => return,
                        _ = seconds.tick(), if looks => eyes.look(),
                    }
                }
            });
            // A reload that is waited for is given up with the server.
            runtime.shutdown_background();
        };
        self.threads.push(thread::Builder::new().name(name.to_owned()).spawn(work).map_err(told)?);
        Ok(())
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.stop.drain();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                warn!(target: "server", "a thread of the control socket or the admin listener was lost");
            }
        }
    }
}

fn open(bind: &Bind) -> Result<Listener, String> {
    let listener = match bind {
        Bind::Unix(path) => front::listen_privately(path, false),
        Bind::Tcp(_) => front::listen(std::slice::from_ref(bind)).map(|mut listeners| listeners.remove(0)),
    };
    listener.map_err(|error| format!("--admin: {error}"))
}

fn path_of(listener: &Listener) -> PathBuf {
    match listener.local() {
        Bind::Unix(path) => std::path::absolute(&path).unwrap_or(path),
        Bind::Tcp(address) => PathBuf::from(address.to_string()),
    }
}

fn address_of(listener: &Listener) -> String {
    shown(&listener.local())
}

/// As a browser takes it, where it can.
fn shown(bind: &Bind) -> String {
    match bind {
        Bind::Tcp(address) => format!("http://{address}/"),
        Bind::Unix(_) => bind.to_string(),
    }
}

fn front_settings() -> front::Settings {
    let limits = front::Limits {
        header_bytes: HEADER_BYTES,
        header_count: 100,
        header_time: ASK_TIME,
        body_bytes: BODY_BYTES as u64,
        body_memory_bytes: BODY_BYTES,
        body_time: ASK_TIME,
        keep_alive: ASK_TIME,
        connections: CONNECTIONS,
        write_time: ASK_TIME,
        spool_bytes: 0,
        queue_wait: ANSWER_TIME,
        request_time: ANSWER_TIME,
        drain_time: END_TIME,
    };
    front::Settings { limits, trusted: Vec::new(), access_log: None, development: true, counts: Arc::default() }
}
