//! What the admin listener and the control socket see: nothing but that the server starts, and from then on, all of it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use machine::Memory;
use parking_lot::Mutex;
use rustix::process::{Signal, getpid, kill_process};
use tracing::info;

use crate::admin::history::History;
use crate::admin::process::share_kib;
use crate::apps::generation::wait_until;
use crate::control::handle::ServerHandle;
use crate::log::files::LogFiles;

/// A start that is called off has so long to end by itself.
const CALL_OFF_TIME: Duration = Duration::from_secs(2);

/// The memory of the server is looked at so often: the kernel goes through all pages of it.
const SHARE_TIME: Duration = Duration::from_secs(5);

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
    pub server: ServerHandle,
    pub counts: Arc<front::Counts>,
    /// Where it listens.
    pub listeners: Vec<String>,
}

/// The view of everything.
pub struct AdminState {
    pub place: Place,
    pub history: History,
    /// That of this process and of the groups around it, which are looked for once.
    pub memory: Memory,
    /// The files that take the log.
    pub logs: Arc<LogFiles>,
    /// When the program started.
    pub since: SystemTime,
    running: OnceLock<Running>,
    /// Set, it ends the loading of applications.
    called_off: Arc<AtomicBool>,
    /// Somebody has ended it before it ran.
    is_unwanted: AtomicBool,
    control: Mutex<Option<ControlFile>>,
    admin: OnceLock<String>,
    /// The memory of the server, and when that was looked at.
    share: Mutex<Option<(Instant, u64)>>,
}

impl AdminState {
    /// Of a server that starts.
    pub fn new(place: Place, logs: Arc<LogFiles>, called_off: Arc<AtomicBool>) -> AdminState {
        let history = History::default();
        let control = Mutex::default();
        let since = SystemTime::now();
        let running = OnceLock::new();
        let admin = OnceLock::new();
        let is_unwanted = false.into();
        let memory = Memory::of_this_process();
        AdminState {
            place,
            history,
            memory,
            logs,
            since,
            running,
            called_off,
            is_unwanted,
            control,
            admin,
            share: Mutex::default(),
        }
    }

    /// Ends a server that starts. What does not let itself be called off ends with the process, as by a signal.
    pub fn call_off(&self) -> Result<(), String> {
        self.is_unwanted.store(true, Ordering::SeqCst);
        self.called_off.store(true, Ordering::SeqCst);
        info!(target: "server", "shutting down, while applications are being loaded");
        let spawned = thread::Builder::new().name("end of a start".into()).spawn(|| {
            let until = Instant::now() + CALL_OFF_TIME;
            wait_until(until, || false);
            // Once the server runs this is a graceful end, which it is on its way to.
            let _ = kill_process(getpid(), Signal::TERM);
        });
        spawned.map(drop).map_err(|error| format!("no thread to end the start: {error}"))
    }

    /// Whether somebody has ended it before it ran.
    pub fn is_unwanted(&self) -> bool {
        self.is_unwanted.load(Ordering::SeqCst)
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
        *self.control.lock() = file;
    }

    /// The file of the control socket.
    pub fn control_file(&self) -> Option<ControlFile> {
        self.control.lock().clone()
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

    /// The memory of the server, looked at now and then.
    pub fn share_kib(&self) -> u64 {
        let mut share = self.share.lock();
        let (then, kib) = *share.get_or_insert_with(|| (Instant::now(), share_kib()));
        if then.elapsed() < SHARE_TIME {
            return kib;
        }
        share.insert((Instant::now(), share_kib())).1
    }
}

impl Running {
    /// In a word.
    pub fn state(&self) -> &'static str {
        if self.server.is_draining() {
            "draining"
        } else if self.server.is_ready() {
            "serving"
        } else {
            "starting"
        }
    }
}

/// What tells a file from another that was put in its place.
pub fn inode_of(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// A socket file, as it was when it was made.
pub type ControlFile = (PathBuf, (u64, u64));
