//! What the admin listener and the control socket see: nothing but that the server starts, and from then on, all of it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::admin::history::History;
use crate::admin::view::look_briefly;
use crate::desk::Desk;

/// Where the server is, for commands that look for it.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The current folder at the start, as the shell called it: perhaps by way of a link.
    pub started_in: String,
    /// The folder of what it serves.
    pub folder: PathBuf,
}

/// A server that runs.
pub struct Running {
    pub desk: Desk,
    pub counts: Arc<front::Counts>,
    /// Where it listens.
    pub listeners: Vec<String>,
}

/// The view of everything.
pub struct Eyes {
    pub place: Place,
    pub history: History,
    running: OnceLock<Running>,
    control: OnceLock<String>,
    admin: OnceLock<String>,
}

impl Eyes {
    /// Of a server that starts.
    pub fn new(place: Place) -> Eyes {
        let (control, admin) = (OnceLock::new(), OnceLock::new());
        Eyes { place, history: History::default(), running: OnceLock::new(), control, admin }
    }

    /// The server runs.
    pub fn open(&self, running: Running) {
        let _ = self.running.set(running);
    }

    /// The server that runs, once it does.
    pub fn running(&self) -> Option<&Running> {
        self.running.get()
    }

    /// Where it is told what to do, and where it shows itself.
    pub fn set_addresses(&self, control: Option<String>, admin: Option<String>) {
        for (place, address) in [(&self.control, control), (&self.admin, admin)] {
            if let Some(address) = address {
                let _ = place.set(address);
            }
        }
    }

    /// The control socket.
    pub fn control(&self) -> Option<String> {
        self.control.get().cloned()
    }

    /// The admin listener.
    pub fn admin(&self) -> Option<String> {
        self.admin.get().cloned()
    }

    /// To be called each second.
    pub fn look(&self) {
        let Some(running) = self.running() else { return };
        for app in running.desk.apps().all() {
            self.history.note(app.name(), &look_briefly(app), Instant::now());
        }
    }
}

impl Running {
    /// In a word.
    pub fn state(&self) -> &'static str {
        if self.desk.is_draining() {
            "draining"
        } else if self.desk.is_ready() {
            "serving"
        } else {
            "starting"
        }
    }
}
