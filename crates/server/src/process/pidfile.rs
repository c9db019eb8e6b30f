//! The pid file. A lock, held as long as the server lives, distinguishes a running server's file from one left behind,
//! whatever number is in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use tracing::warn;

use crate::process::folder::{inode, with_missing};
use crate::process::links::Links;

/// Suffix of the previous process's file during an upgrade, as in Unicorn.
const OLD: &str = ".oldbin";
/// Attempts to lock a file that others remove meanwhile.
const ATTEMPTS: u32 = 10;
/// Time for the previous process, or for a successor that has exited, to release its file. A process that it is just
/// forking has the lock, too, until that runs its program.
const LET_GO_TIME: Duration = Duration::from_secs(2);
/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A pid file of this process.
#[derive(Debug)]
pub struct Pidfile {
    pub path: PathBuf,
    /// Locked, if the file system has locks.
    file: File,
    links: Links,
    /// The process id that was in it, of a server that has exited, or of the process that started this one.
    pub left_by: Option<u32>,
}

impl Pidfile {
    /// Claims the file; the error names the server that has it. Nothing is written yet.
    pub fn claim(path: &Path, links: Links) -> Result<Pidfile, String> {
        Pidfile::claim_until(path, links, Instant::now())
    }

    /// Claims the file of the previous process, or of a successor that has exited, and waits until that releases it.
    pub fn follow(path: &Path, links: Links) -> Result<Pidfile, String> {
        Pidfile::claim_until(path, links, Instant::now() + LET_GO_TIME)
    }

    fn claim_until(path: &Path, links: Links, until: Instant) -> Result<Pidfile, String> {
        for _ in 0..ATTEMPTS {
            let claimed = Pidfile::lock(path, links, until)?;
            // A server that ended meanwhile may have removed the file that is locked now.
            if claimed.is_there() {
                return Ok(claimed);
            }
        }
        Err(format!(
            "the pid file {} was removed each time it was locked: by servers that exit, or by a script?",
            path.display()
        ))
    }

    fn lock(path: &Path, links: Links, until: Instant) -> Result<Pidfile, String> {
        let shown = path.display();
        let file = opened(path, links)?;
        let path = std::path::absolute(path).map_err(|error| format!("the pid file {shown}: {error}"))?;
        let text = text_in(&file);
        let text = text.trim();
        let pid = text.parse::<u32>().ok();
        let locked = loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::park_timeout(POLL_INTERVAL),
                locked => break locked,
            }
        };
        match locked {
            Err(TryLockError::WouldBlock) => {
                let who = if text.is_empty() { "it has no number in it yet".into() } else { format!("process {text}") };
                return Err(format!(
                    "the pid file {shown} belongs to a server that runs ({who}): end that, or name another with \
                     --pidfile"
                ));
            }
            // Without locks only the number tells.
            Err(TryLockError::Error(_)) if pid.is_some_and(is_of_another) => {
                return Err(format!(
                    "the pid file {shown} names process {text}, which runs: end it or remove the file"
                ));
            }
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        is_pid(&path, text)?;
        Ok(Pidfile { path, file, links, left_by: pid.filter(|pid| *pid != process::id()) })
    }

    /// Whether the file is empty or has a number in it, of any process.
    pub fn check(path: &Path, file: &File) -> Result<(), String> {
        is_pid(path, text_in(file).trim())
    }

    /// Writes this process's id.
    pub fn write(&self) -> Result<(), String> {
        self.write_for(process::id())
    }

    /// Writes this id, of this process or of a successor that is being started.
    pub fn write_for(&self, pid: u32) -> Result<(), String> {
        write_id(&self.file, pid).map_err(|error| not_written(&self.path, &error))
    }

    /// Leaves the file, with this process's id, to a successor, which need not use it; the id stays in the `.oldbin`
    /// file until this process exits.
    pub fn give_away(self) -> OldPidfile {
        if let Err(why) = self.write() {
            warn!(target: "server", "{why}");
        }
        self.aside()
    }

    /// Writes this process's id into the `.oldbin` file. Anything else at its path, such as a pipe, stays as it is.
    pub fn aside(&self) -> OldPidfile {
        let aside = self.old();
        if let Err(why) = aside.write() {
            warn!(target: "server", "{why}");
        }
        aside
    }

    /// The `.oldbin` file beside it, which need not exist.
    pub fn old(&self) -> OldPidfile {
        OldPidfile { of: self.path.clone(), path: old(&self.path), links: self.links }
    }

    /// Whether the file at the path is the one that is open.
    fn is_there(&self) -> bool {
        inode(fs::metadata(&self.path)).is_some_and(|found| inode(self.file.metadata()) == Some(found))
    }

    /// Removes the file at the exit, if it is still this process's.
    pub fn remove(self) {
        let is_it = self.is_there();
        // In a folder that this user may not change, such as /run, an empty file is left.
        if is_it && fs::remove_file(&self.path).is_err() {
            let _ = self.file.set_len(0);
        }
    }
}

/// The `.oldbin` file of a process that has a successor.
#[derive(Debug)]
pub struct OldPidfile {
    path: PathBuf,
    of: PathBuf,
    links: Links,
}

impl OldPidfile {
    fn write(&self) -> Result<(), String> {
        let file = opened(&self.path, self.links)?;
        is_pid(&self.path, text_in(&file).trim())?;
        write_id(&file, process::id()).map_err(|error| {
            // On a full disk the file is created without the number by which it would be known as ours.
            let _ = fs::remove_file(&self.path);
            not_written(&self.path, &error)
        })
    }

    /// Claims the pid file again, after the successor has exited.
    pub fn take_back(self) -> Option<Pidfile> {
        let claimed = Pidfile::follow(&self.of, self.links).and_then(|file| file.write().map(|()| file));
        self.remove();
        claimed.inspect_err(|why| warn!(target: "server", "{why}")).ok()
    }

    /// Removes the file at the exit of a process that has a successor; the pid file, too, if the successor does not use
    /// it, since its settings name another or none.
    pub fn remove_all(&self) {
        // Looked at again under the lock: it may have become the successor's meanwhile.
        if has_our_id(&self.of)
            && let Ok(file) = Pidfile::claim(&self.of, self.links)
            && has_our_id(&self.of)
        {
            file.remove();
        }
        self.remove();
    }

    /// Removes the file at the exit, if it has this process's id.
    pub fn remove(&self) {
        if has_our_id(&self.path)
            && let Err(error) = fs::remove_file(&self.path)
            && error.kind() != ErrorKind::NotFound
        {
            warn!(target: "server", "{} cannot be removed: {error}", self.path.display());
        }
    }
}

/// Whether the file at this path has this process's id in it.
fn has_our_id(path: &Path) -> bool {
    files::open(path).is_ok_and(|(file, _)| text_in(&file).trim() == process::id().to_string())
}

/// Opens a pid file, or creates it. A pipe, opened for reading too, does not wait for its other end, and is refused.
fn opened(path: &Path, links: Links) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o644);
    let opened = links.open(path, &options, OFlags::empty());
    let file = opened.map_err(|error| with_missing(not_written(path, &error), path))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(format!("the pid file {} is not a file", path.display()));
    }
    Ok(file)
}

fn write_id(file: &File, pid: u32) -> io::Result<()> {
    let text = format!("{pid}\n");
    // The length last: at no time is the file empty.
    file.write_all_at(text.as_bytes(), 0).and_then(|()| file.set_len(text.len() as u64))
}

fn not_written(path: &Path, error: &io::Error) -> String {
    format!("the pid file {} cannot be written: {error}", path.display())
}

fn text_in(file: &File) -> String {
    let mut bytes = Vec::new();
    let _ = file.take(64).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_pid(path: &Path, text: &str) -> Result<(), String> {
    if text.is_empty() || text.parse::<u32>().is_ok() {
        return Ok(());
    }
    Err(format!("{} has something else in it than a process id: is it a pid file?", path.display()))
}

fn old(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(OLD);
    name.into()
}

/// Whether a number is that of a process to which the file may belong. One that has started this process gives it away:
/// `rails server`, whose file config/puma.rb names, too, and the previous server in an upgrade.
fn is_of_another(pid: u32) -> bool {
    ![process::id(), parent_id()].contains(&pid) && is_alive(pid)
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // A permission error means that the process exists.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process's pid file at a path.
    fn claimed(path: &Path) -> Pidfile {
        let file = Pidfile::claim(path, Links::All).unwrap();
        file.write().unwrap();
        file
    }

    #[test]
    fn a_precious_file_is_not_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pid");
        fs::write(&path, "precious").unwrap();
        assert!(Pidfile::claim(&path, Links::All).unwrap_err().contains("is it a pid file?"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert!(Pidfile::claim(folder.path(), Links::All).is_err());
    }

    #[test]
    fn without_locks_it_is_that_of_a_running_process_but_not_of_who_started_this_one() {
        let mut other = process::Command::new("sleep").arg("60").spawn().unwrap();
        let is_other = is_of_another(other.id());
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(is_other && !is_of_another(other.id()), "a process that runs, and then does not");
        assert!(!is_of_another(process::id()) && !is_of_another(parent_id()));
    }

    #[test]
    fn a_successor_waits_until_the_lock_is_let_go_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pid");
        let first = claimed(&path);
        // As a process that was forked and does not run its program yet.
        let forked = first.file.try_clone().unwrap();
        let aside = first.give_away();
        assert!(Pidfile::claim(&path, Links::All).is_err());
        let second = thread::scope(|scope| {
            scope.spawn(move || {
                thread::park_timeout(Duration::from_millis(100));
                drop(forked);
            });
            Pidfile::follow(&path, Links::All)
        });
        second.unwrap().remove();
        aside.remove();
    }

    /// The successor was killed while it was starting a worker.
    #[test]
    fn the_previous_process_waits_too_until_the_lock_is_let_go_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pid");
        let aside = claimed(&path).give_away();
        let forked = claimed(&path);
        let ours = thread::scope(|scope| {
            scope.spawn(move || {
                thread::park_timeout(Duration::from_millis(100));
                drop(forked);
            });
            aside.take_back()
        });
        ours.unwrap().remove();
        assert!(!path.exists());
    }

    #[test]
    fn one_that_the_successor_does_not_use_goes_with_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("a.pid"), folder.path().join("a.pid.oldbin"));
        claimed(&path).give_away().remove_all();
        assert!(!path.exists() && !aside.exists());
        let left = claimed(&path).give_away();
        // The successor's.
        fs::write(&path, "1\n").unwrap();
        left.remove_all();
        assert!(path.exists() && !aside.exists());
    }

    #[test]
    fn what_is_in_the_place_of_the_old_one_stays_and_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("a.pid"), folder.path().join("a.pid.oldbin"));
        let ours = Pidfile::claim(&path, Links::All).unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, &aside).unwrap();
        ours.aside().remove();
        assert_eq!(fs::read_to_string(&aside).unwrap(), "precious");
        fs::remove_file(&aside).unwrap();
        assert!(process::Command::new("mkfifo").arg(&aside).status().unwrap().success());
        // The other end of the pipe is open nowhere.
        ours.aside().remove();
        assert!(aside.exists());
        fs::remove_file(&aside).unwrap();
        fs::write(&aside, "1234567890\n").unwrap();
        let left = ours.aside();
        assert_eq!(fs::read_to_string(&aside).unwrap(), format!("{}\n", process::id()), "of a server that is gone");
        left.remove();
        assert!(!aside.exists());
    }
}
