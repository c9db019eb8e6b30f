//! The files that say which process serves: the pid file and the state file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing::{info, warn};

use crate::process::pidfile::{OldPidfile, Pidfile};
use crate::process::state_file::StateFile;

/// Both, as far as they were asked for.
#[derive(Debug)]
pub struct RunFiles {
    pid_path: Option<PathBuf>,
    pid: Mutex<Pid>,
    state: Option<StateFile>,
    /// The address of our control socket.
    control: OnceLock<String>,
}

/// Both, until the value goes: they are removed then, as far as they are still ours.
#[derive(Debug)]
pub struct Claimed(pub Arc<RunFiles>);

impl Claimed {
    /// Of files that are to go with the server.
    pub fn new(files: RunFiles) -> Claimed {
        Claimed(Arc::new(files))
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.0.remove();
    }
}

#[derive(Debug)]
enum Pid {
    /// Nobody asked for one, or an older process has it still.
    None,
    Ours(Pidfile),
    /// A successor has it.
    Aside(OldPidfile),
}

impl RunFiles {
    /// Takes both, or says why that cannot be. A process that follows another gets the pid file when that gives it
    /// away: see [`RunFiles::follow`].
    pub fn claim(
        pid: Option<&Path>,
        state: Option<(&Path, Option<u32>)>,
        is_successor: bool,
    ) -> Result<RunFiles, String> {
        let ours = match pid.filter(|_| !is_successor) {
            Some(path) => {
                let file = Pidfile::claim(path)?;
                if let Some(pid) = file.left_by {
                    let shown = path.display();
                    info!(target: "server", "the pid file {shown} was left behind by process {pid}, and is taken over");
                }
                Pid::Ours(file)
            }
            None => Pid::None,
        };
        let state = state.map(|(path, bits)| StateFile::claim(path, bits)).transpose()?;
        Ok(RunFiles { pid_path: pid.map(Path::to_owned), pid: Mutex::new(ours), state, control: OnceLock::new() })
    }

    /// The files that are open.
    pub fn paths(&self) -> Vec<PathBuf> {
        let pid = match &*self.pid.lock() {
            Pid::Ours(file) => Some(file.path().to_owned()),
            _ => None,
        };
        pid.into_iter().chain(self.state.as_ref().map(|file| file.path().to_owned())).collect()
    }

    /// Where we are told what to do.
    pub fn set_control(&self, path: Option<&Path>) {
        if let Some(path) = path {
            let _ = self.control.set(format!("unix://{}", path.display()));
        }
    }

    /// Writes who serves.
    pub fn write(&self) -> Result<(), String> {
        if let Pid::Ours(file) = &*self.pid.lock() {
            file.write()?;
        }
        self.state.as_ref().map_or(Ok(()), |file| file.write(self.control.get().map(String::as_str)))
    }

    /// The older process has given the pid file away.
    pub fn follow(&self) {
        let Some(path) = &self.pid_path else { return };
        match Pidfile::claim(path) {
            Ok(file) => *self.pid.lock() = Pid::Ours(file),
            Err(why) => warn!(target: "server", "{why}"),
        }
        if let Err(why) = self.write() {
            warn!(target: "server", "{why}");
        }
    }

    /// A successor is being started whose hooks look for our number where Unicorn has it by then.
    pub fn announce(&self) {
        if let Pid::Ours(file) = &*self.pid.lock() {
            file.aside();
        }
    }

    /// There is no successor, after all.
    pub fn recant(&self) {
        if let Pid::Ours(file) = &*self.pid.lock() {
            file.old().remove();
        }
    }

    /// A successor serves.
    pub fn give_away(&self) {
        let mut pid = self.pid.lock();
        *pid = match std::mem::replace(&mut *pid, Pid::None) {
            Pid::Ours(file) => Pid::Aside(file.give_away()),
            other => other,
        };
    }

    /// The successor is gone, and we are not.
    pub fn take_back(&self) {
        let mut pid = self.pid.lock();
        *pid = match std::mem::replace(&mut *pid, Pid::None) {
            Pid::Aside(file) => file.take_back().map_or(Pid::None, Pid::Ours),
            other => other,
        };
        drop(pid);
        if let Err(why) = self.write() {
            warn!(target: "server", "{why}");
        }
    }

    /// At the end.
    fn remove(&self) {
        match std::mem::replace(&mut *self.pid.lock(), Pid::None) {
            Pid::Ours(file) => file.remove(),
            Pid::Aside(file) => file.remove(),
            Pid::None => {}
        }
        self.state.iter().for_each(StateFile::remove);
    }
}
