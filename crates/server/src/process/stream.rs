//! Paths that stand for this process's own standard output or standard error. They are no files: once a pipe of the
//! server has taken the stream's place, opening such a path would open that pipe.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process;

use nix::sys::signal::{SigSet, Signal};

use crate::process::links::LINKS_MOST;

thread_local! {
    /// Whether this thread may write in the background.
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Output,
    Error,
}

impl Stream {
    /// The stream that a path stands for: by its name, such as `/dev/stdout`, or by symbolic links to such a name, as
    /// images of containers have in place of log files.
    pub fn at(path: &Path) -> Option<Stream> {
        let mut path = std::path::absolute(path).ok()?;
        for _ in 0..LINKS_MOST {
            if let Some(stream) = named(&path) {
                return Some(stream);
            }
            // An absolute target replaces the whole path.
            path = path.parent()?.join(fs::read_link(&path).ok()?);
        }
        None
    }
}

/// Lets this thread write to a terminal in whose background this program is, also after `stty tostop`. The terminal
/// would answer each write with SIGTTOU for the whole job (termios(3), TOSTOP). The server handles that signal and does
/// not stop, so the write would be tried again without end, and each signal could take a worker away. Other threads
/// receive the signal as before.
pub fn write_in_background() {
    // Called before each write; once for each thread is enough.
    if WRITES.replace(true) {
        return;
    }
    let mut stop = SigSet::empty();
    stop.add(Signal::SIGTTOU);
    // It fails on no known system.
    let _ = stop.thread_block();
}

fn named(path: &Path) -> Option<Stream> {
    let own = format!("/proc/{}/fd", process::id());
    let number = ["/proc/self/fd", "/dev/fd", &own].iter().find_map(|folder| path.strip_prefix(folder).ok());
    match (path.to_str()?, number.and_then(Path::to_str)) {
        ("/dev/stdout", _) | (_, Some("1")) => Some(Stream::Output),
        ("/dev/stderr", _) | (_, Some("2")) => Some(Stream::Error),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn names_and_links_of_standard_streams_are_known_and_files_are_not_taken_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("/dev/stderr", at("direct")).unwrap();
        symlink("direct", at("again")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("/dev/null", at("null")).unwrap();
        fs::write(at("file"), "").unwrap();
        let own = format!("/proc/{}/fd/2", process::id());
        for path in ["/dev/stderr", "/proc/self/fd/2", "/dev/fd/2", &own, at("again").to_str().unwrap()] {
            assert_eq!(Stream::at(Path::new(path)), Some(Stream::Error), "{path}");
        }
        assert_eq!(Stream::at(Path::new("/dev/stdout")), Some(Stream::Output));
        for path in ["loop", "null", "file", "missing"] {
            assert_eq!(Stream::at(&at(path)), None, "{path}");
        }
        assert_eq!(Stream::at(Path::new("/dev/fd/12")), None);
    }
}
