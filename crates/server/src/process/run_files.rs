//! The files that name the serving process: pid file and state file.

use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tracing::{info, warn};

use crate::process::links::Links;
use crate::process::pidfile::{OldPidfile, Pidfile};
use crate::process::state_file::StateFile;

/// The pid file and the state file, as far as they are configured.
#[derive(Debug)]
pub struct RunFiles {
    pid_path: Option<PathBuf>,
    pid: Mutex<Pid>,
    state: Mutex<Option<StateFile>>,
    links: Links,
    /// Address of the control socket.
    control: OnceLock<String>,
}

/// The claimed files. Dropping the value, when the server exits, removes those that are still this process's.
#[derive(Debug)]
pub struct Claimed(pub Arc<RunFiles>);

impl Drop for Claimed {
    fn drop(&mut self) {
        self.0.remove();
    }
}

#[derive(Debug)]
enum Pid {
    /// None is configured, or the previous process still has it.
    None,
    Ours(Pidfile),
    /// A successor has it.
    Aside(OldPidfile),
}

impl RunFiles {
    /// Claims the configured files; the error says why one cannot be claimed. A successor gets the pid file when the
    /// previous process leaves it: see [`RunFiles::follow`].
    pub fn claim(
        pid: Option<&Path>,
        state: Option<(&Path, Option<u32>)>,
        is_successor: bool,
        links: Links,
    ) -> Result<RunFiles, String> {
        let ours = match pid.filter(|_| !is_successor) {
            Some(path) => {
                let file = Pidfile::claim(path, links)?;
                if let Some(pid) = file.left_by {
                    let shown = path.display();
                    // `rails server` writes its own id into the file that config/puma.rb names, too.
                    let whose = match pid == parent_id() {
                        true => format!("names process {pid}, which has started this server"),
                        false => format!("was left behind by process {pid}"),
                    };
                    info!(target: "server", "the pid file {shown} {whose}, and is taken over");
                }
                Pid::Ours(file)
            }
            None => Pid::None,
        };
        let state = state.map(|(path, bits)| StateFile::claim(path, bits, links)).transpose()?;
        Ok(RunFiles {
            pid_path: pid.map(Path::to_owned),
            pid: Mutex::new(ours),
            state: Mutex::new(state),
            links,
            control: OnceLock::new(),
        })
    }

    /// Paths of the files that this process has open.
    pub fn paths(&self) -> Vec<PathBuf> {
        let pid = match &*self.pid.lock() {
            Pid::Ours(file) => Some(file.path.clone()),
            _ => None,
        };
        pid.into_iter().chain(self.state.lock().as_ref().map(|file| file.path.clone())).collect()
    }

    /// Sets the path of the control socket.
    pub fn set_control(&self, path: Option<String>) {
        if let Some(path) = path {
            let _ = self.control.set(format!("unix://{path}"));
        }
    }

    /// Writes both files.
    pub fn write(&self) -> Result<(), String> {
        if let Pid::Ours(file) = &*self.pid.lock() {
            file.write()?;
        }
        self.state.lock().as_ref().map_or(Ok(()), |file| file.write(self.control.get().map(String::as_str)))
    }

    /// Claims the pid file that the previous process has left.
    pub fn follow(&self) {
        let Some(path) = &self.pid_path else { return };
        match Pidfile::follow(path, self.links) {
            Ok(file) => *self.pid.lock() = Pid::Ours(file),
            Err(why) => warn!(target: "server", "{why}"),
        }
        if let Err(why) = self.write() {
            warn!(target: "server", "{why}");
        }
    }

    /// Writes the `.oldbin` file while a successor is being started: its hooks read this process's id there, as in
    /// Unicorn.
    pub fn announce(&self) {
        if let Pid::Ours(file) = &*self.pid.lock() {
            file.aside();
        }
    }

    /// Writes the id of a successor that is being started into the pid file, where scripts made for Unicorn look for it
    /// while it loads.
    pub fn point_to(&self, successor: u32) {
        if let Pid::Ours(file) = &*self.pid.lock()
            && let Err(why) = file.write_for(successor)
        {
            warn!(target: "server", "{why}");
        }
    }

    /// Removes the `.oldbin` file after a failed start of a successor, and writes the others again: the pid file may
    /// name the successor, and one that got as far as to serve has written or removed the state file.
    pub fn recant(&self) {
        if let Pid::Ours(file) = &*self.pid.lock() {
            file.old().remove();
        }
        self.write_again();
    }

    /// Leaves the pid file to a successor that serves.
    pub fn give_away(&self) {
        let mut pid = self.pid.lock();
        *pid = match std::mem::replace(&mut *pid, Pid::None) {
            Pid::Ours(file) => Pid::Aside(file.give_away()),
            other => other,
        };
    }

    /// Takes the pid file back after the successor has exited.
    pub fn take_back(&self) {
        let mut pid = self.pid.lock();
        *pid = match std::mem::replace(&mut *pid, Pid::None) {
            Pid::Aside(file) => file.take_back().map_or(Pid::None, Pid::Ours),
            other => other,
        };
        drop(pid);
        self.write_again();
    }

    /// Writes both files after a successor that is gone; it may have removed the state file.
    fn write_again(&self) {
        if let Some(Err(why)) = self.state.lock().as_mut().map(StateFile::again) {
            warn!(target: "server", "{why}");
        }
        if let Err(why) = self.write() {
            warn!(target: "server", "{why}");
        }
    }

    /// Removes the files at the exit.
    fn remove(&self) {
        match std::mem::replace(&mut *self.pid.lock(), Pid::None) {
            Pid::Ours(file) => {
                // It was announced to a successor that had not served by now.
                file.old().remove();
                file.remove();
            }
            Pid::Aside(file) => file.remove_all(),
            Pid::None => {}
        }
        self.state.lock().iter().for_each(StateFile::remove);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_state_file_is_ours_again_after_a_successor_that_has_failed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let files = RunFiles::claim(None, Some((&path, None)), false, Links::All).unwrap();
        files.write().unwrap();
        let ours = fs::read_to_string(&path).unwrap();
        // It was killed once it had written the file.
        fs::write(&path, "---\npid: 1\n").unwrap();
        files.recant();
        assert_eq!(fs::read_to_string(&path).unwrap(), ours);
        // It has removed the file at its exit.
        fs::remove_file(&path).unwrap();
        files.recant();
        assert_eq!(fs::read_to_string(&path).unwrap(), ours);
    }
}
