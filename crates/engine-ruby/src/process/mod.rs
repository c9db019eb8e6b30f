//! What a Ruby process needs, and what is done to one, whichever application it serves. Submodules: `folder` (where the
//! processes find the server), `scripts` (the server's Ruby files), `user`, `reader` (configuration files of other
//! servers), `native` (the C extension), `bundle` (Bundler's variables), `heaps` (of malloc) and `memory` (the memory
//! use of a process).

pub mod bundle;
pub mod folder;
pub mod heaps;
pub mod memory;
pub mod native;
pub mod reader;
pub mod scripts;
pub mod user;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use machine::proc_lines::line;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

/// Number of Ruby processes, of all applications and generations of this process, that are loading their application.
static LOADING: AtomicUsize = AtomicUsize::new(0);

/// The bit of the flags in `/proc/PID/stat` that each thread of a process has before it gives its files back: Linux's
/// PF_EXITING.
const EXITING: u32 = 0x4;

/// Number of Ruby processes of one engine that are loading its application. It counts among those of all engines until
/// it is dropped.
#[derive(Debug, Default)]
pub struct Loading(usize);

impl Loading {
    /// Sets the number.
    pub fn set(&mut self, number: usize) {
        // In this order there is no moment without those that go on.
        LOADING.fetch_add(number, Ordering::SeqCst);
        LOADING.fetch_sub(self.0, Ordering::SeqCst);
        self.0 = number;
    }

    /// Returns whether any process is loading: that is the one that the kernel kills first when memory is full.
    pub fn is_under_way() -> bool {
        LOADING.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Sends SIGKILL to a process. A process that has ended already is no error. If this process lacks the right to send
/// the signal, a warning is logged, since the other process stays.
pub fn kill_now(pid: u32) {
    if kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL) == Err(Errno::EPERM) {
        tracing::warn!(
            target: "engine",
            pid,
            "process {pid} cannot be killed: it runs as another user (--ruby-user), and this process lacks the \
             capability KILL"
        );
    }
}

/// Sends SIGKILL to a process; if a user is given, only to a process of that user. Where Ruby runs as another user, a
/// process of that user has reported the process id, which may be wrong, or may be that of another process by now.
pub fn kill_of(user: Option<u32>, pid: u32) {
    if user.is_none_or(|uid| is_of(uid, pid)) {
        kill_now(pid);
    }
}

/// Returns whether a process belongs to this user.
pub fn is_of(uid: u32, pid: u32) -> bool {
    fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == uid)
}

/// Returns whether a process runs as the user of this one; true where `/proc` does not say. The owner of its folder
/// there says nothing: that is root once the process has changed its user (proc(5)).
pub fn has_own_user(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    // The real user id, then the effective one.
    let effective = line(&status, "Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse::<u32>().ok());
    effective.is_none_or(|id| id == geteuid().as_raw())
}

/// Returns whether a process is stopped by a signal (SIGSTOP) or a debugger; false where `/proc` does not say.
pub fn is_stopped(pid: u32) -> bool {
    // The state is the first word after the name, which is in parentheses and may have parentheses in it.
    stat_after_name(&format!("/proc/{pid}/stat")).is_some_and(|rest| rest.starts_with(['T', 't']))
}

/// Returns whether a process ends or has ended: at the latest when the kernel closes the sockets that the process has
/// left open. False where `/proc` does not say, and the process is there.
pub fn has_ended(pid: u32) -> bool {
    let Some(rest) = stat_after_name(&format!("/proc/{pid}/stat")) else {
        return kill(Pid::from_raw(pid.cast_signed()), None::<Signal>) == Err(Errno::ESRCH);
    };
    // Six words after the state.
    let flags = rest.split(' ').nth(6).and_then(|flags| flags.parse::<u32>().ok());
    rest.starts_with(['Z', 'X']) || flags.is_some_and(|flags| flags & EXITING != 0)
}

/// Reads the words of a `stat` file of `/proc` after the name in parentheses, from the state on (proc_pid_stat(5)). The
/// name may have parentheses and spaces, and need not be UTF-8. None where there is no such file.
pub fn stat_after_name(path: &str) -> Option<String> {
    let stat = fs::read(path).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_has_ended_when_its_socket_is_closed_by_that_and_when_it_is_gone() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new("sleep");
        let mut child = command.arg("600").stdout(OwnedFd::from(theirs)).spawn().unwrap();
        drop(command);
        let pid = child.id();
        assert!(!has_ended(pid) && !has_ended(std::process::id()));
        kill_now(pid);
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        assert!(has_ended(pid), "a zombie has ended");
        child.wait().unwrap();
        assert!(has_ended(pid));
    }

    #[test]
    fn a_process_of_another_user_than_the_one_that_is_meant_is_not_killed() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let own = geteuid().as_raw();
        kill_of(Some(own + 1), child.id());
        assert!(!has_ended(child.id()));
        kill_of(Some(own), child.id());
        assert!(!child.wait().unwrap().success());
    }
}
