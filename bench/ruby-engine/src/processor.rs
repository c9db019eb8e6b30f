//! Binds processes to one processor, by taskset(1): where a request never crosses to another one, what is measured is
//! the servers and not how long the machine takes to wake a processor that sleeps.

use std::fs;
use std::process::{Command, Stdio};

use crate::tree;

/// The one that everybody is bound to.
const ONE: &str = "0";

/// A command that runs there.
pub fn bound(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", ONE, program]);
    command
}

/// A server with all its processes and threads, until this is dropped.
pub struct Binding {
    root: u32,
    before: String,
}

impl Binding {
    /// Binds what runs now.
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
        // A server that has ended needs it no more, and its run is marked.
        let _ = self.allow(&self.before);
    }
}

/// The thread that calls.
pub fn bind_this_thread() {
    if let Ok(link) = fs::read_link("/proc/thread-self") {
        let thread = link.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Without taskset the figure is that of all processors; the loads say that it is missing.
        let _ = taskset(&["-c", "-p", ONE, &thread]);
    }
}

fn taskset(words: &[&str]) -> Result<(), String> {
    let ran = Command::new("taskset").args(words).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let ran = ran.map_err(|error| format!("taskset: {error} (apt install util-linux)"))?;
    if ran.success() { Ok(()) } else { Err(format!("taskset {}: {ran}", words.join(" "))) }
}
