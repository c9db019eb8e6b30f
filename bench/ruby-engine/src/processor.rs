//! Binds processes to one processor, with taskset(1): if no request crosses to another processor, the measurement shows
//! the servers and not the time to wake a sleeping processor.

use std::fs;
use std::process::{Command, Stdio};

use crate::tree;

/// The processor that all are bound to.
const ONE: &str = "0";

/// A command that runs on it.
pub fn bound(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", ONE, program]);
    command
}

/// Binds a server with all its processes and threads, until it is dropped.
pub struct Binding {
    root: u32,
    before: String,
}

impl Binding {
    /// Binds all processes that run now.
    pub fn of(root: u32) -> Result<Binding, String> {
        let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
        let before = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let before = before.ok_or("/proc/self/status has no Cpus_allowed_list")?.trim().to_owned();
        let binding = Binding { root, before };
        binding.allow(ONE)?;
        Ok(binding)
    }

    fn allow(&self, list: &str) -> Result<(), String> {
        for member in tree::members(self.root) {
            taskset(&["-a", "-c", "-p", list, &member.id.to_string()])?;
        }
        Ok(())
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        // A server that has exited does not need it, and its run is marked.
        let _ = self.allow(&self.before);
    }
}

/// Binds the calling thread.
pub fn bind_this_thread() {
    if let Ok(link) = fs::read_link("/proc/thread-self") {
        let thread = link.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Without taskset the figure is that of all processors; the loads report that it is missing.
        let _ = taskset(&["-c", "-p", ONE, &thread]);
    }
}

fn taskset(words: &[&str]) -> Result<(), String> {
    let ran = Command::new("taskset").args(words).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let ran = ran.map_err(|error| format!("taskset: {error} (apt install util-linux)"))?;
    if ran.success() { Ok(()) } else { Err(format!("taskset {}: {ran}", words.join(" "))) }
}
