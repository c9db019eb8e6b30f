//! What a Ruby process needs, and what is done to one, whichever application it serves. Submodules: `folder` (where the
//! processes find the server), `scripts` (the server's Ruby files), `user`, `reader` (configuration files of other
//! servers), `native` (the C extension) and `memory` (the memory use of a process).

pub mod folder;
pub mod memory;
pub mod native;
pub mod reader;
pub mod scripts;
pub mod user;

use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

/// Number of molds, of all applications and generations of this process, that are loading their application.
static LOADING: AtomicUsize = AtomicUsize::new(0);

/// A guard that counts one loading mold until it is dropped.
pub struct Loading(());

impl Loading {
    /// Counts one more loading mold.
    pub fn begin() -> Loading {
        LOADING.fetch_add(1, Ordering::SeqCst);
        Loading(())
    }

    /// Returns whether any mold is loading: that is the process that the kernel kills first when memory is full.
    pub fn is_under_way() -> bool {
        LOADING.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        LOADING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Sends SIGKILL to a process. That it has ended already is no error.
pub fn kill_now(pid: u32) {
    let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
}

/// Returns whether a process runs as the user of this one; true where `/proc` does not say. The owner of its folder
/// there says nothing: that is root once the process has changed its user (proc(5)).
pub fn has_own_user(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    // The real user id, then the effective one.
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let effective = ids.split_ascii_whitespace().nth(1).and_then(|id| id.parse::<u32>().ok());
    effective.is_none_or(|id| id == geteuid().as_raw())
}

/// Returns whether a process is stopped by a signal (SIGSTOP) or a debugger; false where `/proc` does not say.
pub fn is_stopped(pid: u32) -> bool {
    // The state is the first word after the name, which is in parentheses and may have parentheses in it.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}
