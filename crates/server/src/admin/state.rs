//! State behind the admin listener and the control socket: while the server starts, little more than that; then
//! everything.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use machine::Memory;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::info;

use crate::admin::history::History;
use crate::admin::process::share_kib;
use crate::control::handle::ServerHandle;
use crate::log::files::LogFiles;
use crate::process::folder::inode;

/// Interval between two readings of the server's memory: the kernel walks all pages for it.
const SHARE_TIME: Duration = Duration::from_secs(5);

/// Folders by which commands find the server.
#[derive(Debug, Clone, Default)]
pub struct ServerFolders {
    /// The working directory at the start, by the shell's name for it: perhaps a symlink.
    pub started_in: String,
    /// Folder of the served application.
    pub folder: PathBuf,
}

/// A server that runs.
pub struct RunningServer {
    pub server: ServerHandle,
    pub counts: Arc<front::Counts>,
    /// Addresses of its listeners.
    pub listeners: Vec<String>,
}

/// State shared by the admin listener and the control socket.
pub struct AdminState {
    pub place: ServerFolders,
    pub history: History,
    /// Memory of this process and of its control groups, which are found once.
    pub memory: Memory,
    /// The files that the log goes to.
    pub logs: Arc<LogFiles>,
    /// When the program started.
    pub since: SystemTime,
    /// The same moment, on a clock that is never set.
    pub begun: Instant,
    running: OnceLock<RunningServer>,
    /// Cancels the loading of applications when set.
    called_off: Arc<AtomicBool>,
    /// A shutdown was requested before the server ran.
    is_unwanted: AtomicBool,
    /// Notified when that happens. For one waiter.
    pub unwanted: Notify,
    control: Mutex<Option<ControlFile>>,
    admin: OnceLock<String>,
    /// Memory of the server, and when it was read.
    share: Mutex<Option<(Instant, Option<u64>)>>,
}

impl AdminState {
    /// The state of a server that starts.
    pub fn new(place: ServerFolders, logs: Arc<LogFiles>, called_off: Arc<AtomicBool>) -> AdminState {
        AdminState {
            place,
            history: History::default(),
            memory: Memory::of_this_process(),
            logs,
            since: SystemTime::now(),
            begun: Instant::now(),
            running: OnceLock::new(),
            called_off,
            is_unwanted: false.into(),
            unwanted: Notify::new(),
            control: Mutex::default(),
            admin: OnceLock::new(),
            share: Mutex::default(),
        }
    }

    /// Cancels the start; `signal` is what asks for it, unless a command does.
    pub fn call_off(&self, signal: Option<&str>) {
        self.is_unwanted.store(true, Ordering::SeqCst);
        self.called_off.store(true, Ordering::SeqCst);
        let by = signal.map(|name| format!("SIG{name}: ")).unwrap_or_default();
        info!(target: "server", "{by}shutting down, while applications are being loaded");
        self.unwanted.notify_one();
    }

    /// Whether a shutdown was requested before the server ran.
    pub fn is_unwanted(&self) -> bool {
        self.is_unwanted.load(Ordering::SeqCst)
    }

    /// Shows a server that runs.
    pub fn open(&self, running: RunningServer) {
        let _ = self.running.set(running);
    }

    /// The server, once it runs.
    pub fn running(&self) -> Option<&RunningServer> {
        self.running.get()
    }

    /// Sets the path of the control socket, whose file exists now.
    pub fn set_control(&self, path: &Path) {
        let file = inode_of(path).map(|inode| (path.to_owned(), inode));
        *self.control.lock() = file;
    }

    /// Path and inode of the control socket.
    pub fn control_file(&self) -> Option<ControlFile> {
        self.control.lock().clone()
    }

    /// Sets the address of the admin listener.
    pub fn set_admin(&self, address: String) {
        let _ = self.admin.set(address);
    }

    /// Path of the control socket.
    pub fn control(&self) -> Option<String> {
        self.control_file().map(|(path, _)| path.display().to_string())
    }

    /// Address of the admin listener.
    pub fn admin(&self) -> Option<String> {
        self.admin.get().cloned()
    }

    /// Memory of the server in KiB, at most [`SHARE_TIME`] old.
    pub fn share_kib(&self) -> Option<u64> {
        let mut share = self.share.lock();
        let (then, kib) = *share.get_or_insert_with(|| (Instant::now(), share_kib()));
        if then.elapsed() < SHARE_TIME {
            return kib;
        }
        share.insert((Instant::now(), share_kib())).1
    }
}

impl RunningServer {
    /// `draining`, `serving` or `starting`.
    pub fn state(&self) -> &'static str {
        if self.server.is_draining() {
            "draining"
        } else if self.server.is_open() {
            "serving"
        } else {
            "starting"
        }
    }
}

/// Device and inode of a file at a path; `None` if there is none.
pub fn inode_of(path: &Path) -> Option<(u64, u64)> {
    inode(fs::symlink_metadata(path))
}

/// Path of a socket file, with device and inode.
pub type ControlFile = (PathBuf, (u64, u64));
