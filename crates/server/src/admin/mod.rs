//! Control and monitoring: a control socket for commands, and an admin listener for machines and people. The front
//! serves both like any other listener, in a thread of their own, from the start of the program to its exit: they
//! answer while applications are loaded and while the last requests are finished.

pub mod answer;
pub mod engine;
pub mod guard;
pub mod histogram;
pub mod history;
pub mod metrics;
pub mod orders;
pub mod page;
pub mod params;
pub mod place;
pub mod process;
pub mod prometheus;
pub mod routes;
pub mod service;
pub mod state;
pub mod view;

use std::path::Path;
use std::sync::Arc;

use front::{Bind, Listener};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::admin::guard::Guard;
use crate::admin::service::Serving;
use crate::admin::state::{AdminState, RunningServer};
use crate::config::admin::{AdminSettings, Control};
use crate::config::control_path;
use crate::process::folder::absolute;

/// Both listeners. Dropping the value closes them.
pub struct Admin {
    pub state: Arc<AdminState>,
    serving: Serving,
    settings: AdminSettings,
    /// The previous process has both listeners until this one serves.
    waits: bool,
    listener: Mutex<Option<Listener>>,
    /// The control socket, if it was opened already.
    control_socket: Mutex<Option<Listener>>,
}

impl Admin {
    /// Opens the configured listeners. A configured listener that cannot be opened is an error; without the default
    /// control socket the server goes on, as on machines that have no place for one. `state` is shown from the start;
    /// `listener` is the admin listener, if it is bound already, and `control_socket` the control socket, if it is open
    /// already; `is_successor` says that the previous process keeps both until this one serves.
    pub fn start(
        settings: &AdminSettings,
        state: AdminState,
        listener: Option<Listener>,
        control_socket: Option<Listener>,
        is_successor: bool,
    ) -> Result<Admin, String> {
        let state = Arc::new(state);
        let serving = Serving::start(state.clone())
            .map_err(|error| format!("the thread of the control socket cannot be started: {error}"))?;
        let listener = match (&settings.bind, listener) {
            // The previous process keeps its file until this one serves: this one may fail.
            (Some(Bind::Unix(path)), None) if !is_successor => Some(private(path, false)?),
            (_, listener) => listener,
        };
        let admin = Admin {
            state,
            serving,
            settings: settings.clone(),
            waits: is_successor,
            listener: Mutex::new(listener),
            control_socket: Mutex::new(control_socket),
        };
        if !is_successor {
            admin.listen()?;
        }
        Ok(admin)
    }

    /// Shows a server that runs from now on, and opens the listeners of a successor.
    pub fn open(&self, running: RunningServer) -> Result<(), String> {
        self.state.open(running);
        if self.waits {
            self.listen()?;
        }
        if let Some(path) = self.state.control() {
            info!(target: "server", "commands find this server by its control socket {path}");
        }
        Ok(())
    }

    /// To be notified when a successor serves, has failed, owns everything, or is gone.
    pub fn succession(&self) -> Arc<Notify> {
        self.serving.service.succession.clone()
    }

    fn listen(&self) -> Result<(), String> {
        let control_socket = self.control_socket.lock().take();
        let control = match (&self.settings.control, control_socket) {
            (Control::Off, _) => None,
            (Control::Path(path), Some(listener)) => Some((listener, absolute(path))),
            (Control::Path(path), None) => Some(control_path::listen_at(path, self.waits)?),
            (Control::Usual, _) => control_path::listen(&self.state.place.folder, self.waits)
                .inspect_err(|why| {
                    warn!(target: "server", "there is no control socket: {why}; --control names a place, or off");
                })
                .ok(),
        };
        if let Some((listener, path)) = control {
            self.state.set_control(&path);
            self.serving.service.serve_control(listener);
        }
        let listener = match (self.listener.lock().take(), &self.settings.bind) {
            (None, Some(Bind::Unix(path))) if self.waits => Some(private(path, true)?),
            (listener, _) => listener,
        };
        let Some(listener) = listener else { return Ok(()) };
        listener.open().map_err(|error| format!("--admin: {error}"))?;
        let guard = match (&self.settings.token, listener.local()) {
            (Some(token), _) => Guard::Token(token.clone()),
            (None, Bind::Tcp(address)) if address.ip().is_loopback() => Guard::ThisMachine,
            (None, _) => Guard::Nobody,
        };
        let shown = shown(&listener.local());
        info!(target: "server", "the admin page, /metrics and /readyz are on {shown}");
        self.state.set_admin(shown);
        self.serving.service.serve_admin(listener, guard);
        Ok(())
    }
}

/// Binds the admin listener on a TCP port, without accepting: early, while ports below 1024 may be bound.
pub fn bind(settings: &AdminSettings) -> Result<Option<Listener>, String> {
    match &settings.bind {
        Some(bind @ Bind::Tcp(_)) => Listener::bind(bind).map(Some).map_err(|error| format!("--admin: {error}")),
        _ => Ok(None),
    }
}

fn private(path: &Path, is_successor: bool) -> Result<Listener, String> {
    front::listen_privately(path, is_successor).map_err(|error| format!("--admin: {error}"))
}

/// The address as a URL for a browser, if it is TCP.
fn shown(bind: &Bind) -> String {
    match bind {
        Bind::Tcp(address) => format!("http://{address}/"),
        other => other.to_string(),
    }
}
