//! What the admin listener and the control socket see: nothing but that the server starts, and from then on, all of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use crate::admin::history::History;
use crate::admin::service::{ControlFile, inode_of};
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
    control: Mutex<Option<ControlFile>>,
    admin: OnceLock<String>,
}

impl Eyes {
    /// Of a server that starts.
    pub fn new(place: Place) -> Eyes {
        let (history, control) = (History::default(), Mutex::default());
        Eyes { place, history, running: OnceLock::new(), control, admin: OnceLock::new() }
    }

    /// The server runs.
    pub fn open(&self, running: Running) {
        let _ = self.running.set(running);
    }

    /// The server that runs, once it does.
    pub fn running(&self) -> Option<&Running> {
        self.running.get()
    }

    /// Where it is told what to do: a socket that is there now.
    pub fn set_control(&self, path: &Path) {
        let file = inode_of(path).map(|inode| (path.to_owned(), inode));
        *self.control.lock().unwrap_or_else(PoisonError::into_inner) = file;
    }

    /// The file of the control socket.
    pub fn control_file(&self) -> Option<ControlFile> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where it shows itself.
    pub fn set_admin(&self, address: String) {
        let _ = self.admin.set(address);
    }

    /// The control socket.
    pub fn control(&self) -> Option<String> {
        self.control_file().map(|(path, _)| path.display().to_string())
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
