//! A server process of a run: its output goes to a file, and it is stopped by its own process id, with SIGTERM first.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub use loadgen::process::{Ports, free_ports, until};
use rustix::process::{Pid, Signal, kill_process};

/// Time for a server to start or to exit. Puma's workers need seconds on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A process of this run.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a command with its output in `log`.
    pub fn start(mut command: Command, log: &Path) -> Result<Process, String> {
        let file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        let copy = file.try_clone().map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(copy).stderr(file);
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        Ok(Process { child })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has exited.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A cluster's master stops its workers on SIGTERM; killed outright it would leave them behind.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        if !until(PATIENCE, || self.has_ended()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
