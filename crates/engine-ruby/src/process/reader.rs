//! The Ruby process that evaluates another server's configuration. It reports what the file sets, and waits: if the
//! application is served with that file, the process continues as the first mold, so that the code of the file runs
//! once.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use machine::proc_lines::line;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::{getegid, geteuid, getgroups};
use parking_lot::Mutex;

use super::{bundle, heaps, scripts, user};
use crate::start_error::no_ruby;

/// The parts of the script, in their order: the names of its files, without their ending.
const SCRIPTS: &str = "heaps plain_text directives puma_options compat_words compat_file thin_file successor reader";
/// The time limit for evaluating a configuration, as long as for the loading of new code: some load the application.
const EVALUATION_TIME: Duration = Duration::from_secs(600);
/// The interval of checks whether the process still lives.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The largest record, in bytes, that is accepted from the process.
const RECORD_BYTES: usize = 16 << 20;

/// Values of flags and variables that override those of a configuration file, for files that read them.
#[derive(Debug, Clone, Default)]
pub struct Overriding {
    /// The number of workers.
    pub workers: Option<String>,
    /// Whether the server goes to the background.
    pub daemonizes: bool,
    /// The host.
    pub host: Option<String>,
    /// The port.
    pub port: Option<String>,
}

/// A configuration file to evaluate, and how.
#[derive(Debug)]
pub struct Question<'a> {
    /// The Ruby executable: a path, or a name that is looked up in PATH.
    pub ruby: &'a Path,
    /// The path of the file, absolute, so that `__dir__` works in it.
    pub path: &'a Path,
    /// The server whose file it is: `puma`, `unicorn`, `pitchfork` or `thin`.
    pub kind: &'a str,
    /// The absolute path of the Gemfile for Bundler.
    pub gemfile: Option<&'a Path>,
    /// The absolute path of its lock file, if that is not the one that Bundler finds by the Gemfile.
    pub lockfile: Option<&'a Path>,
    /// The names of that server's directives.
    pub names: &'a [&'a str],
    /// The values that override those of the file.
    pub overriding: Overriding,
    /// Variables that the code of the file finds, with their values: those that name the environment, where this
    /// overrides that of the file, and those of flags.
    pub environment: &'a [(&'a str, &'a str)],
    /// The working directory of the evaluation.
    pub folder: &'a Path,
    /// Whether the server limits the heaps of malloc in the process, as in a mold.
    pub limits_heaps: bool,
    /// Whether the process waits afterwards, so that it can continue as a mold.
    pub stays: bool,
}

/// Why a file was not read.
#[derive(Debug)]
pub enum ReadError {
    /// Ruby ended without an answer. Its own words are on standard error.
    Ended,
    /// Anything else, as a sentence for the user.
    Other(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReadError::Ended => "Ruby ended before it had read it",
            ReadError::Other(why) => why,
        })
    }
}

/// A process that has evaluated its file and waits.
#[derive(Debug)]
pub struct WaitingProcess {
    child: Option<Child>,
    stream: UnixStream,
    /// Whether the process runs as root.
    is_root: bool,
}

/// An evaluated configuration, and the process that evaluated it, until a mold takes that over. Where its Ruby
/// cannot fork, there is no process.
#[derive(Debug, Clone)]
pub struct Evaluated {
    /// The canonical path of the file.
    pub path: PathBuf,
    /// The server whose file it is.
    pub kind: &'static str,
    /// The Ruby executable that evaluated it.
    pub ruby: PathBuf,
    /// The Gemfile that Bundler was set up with.
    pub gemfile: Option<PathBuf>,
    /// The values that override those of the file: later molds evaluate it again.
    pub overriding: Overriding,
    /// Whether the process can become another user without becoming hidden from this one in `/proc`.
    pub changes_user: bool,
    /// The process, until the first mold takes it.
    pub waiting: Arc<Mutex<Option<WaitingProcess>>>,
}

/// The mold that a waiting process continues as.
pub(crate) struct Successor<'a> {
    /// The Ruby executable of the mold.
    pub(crate) ruby: &'a Path,
    /// The Gemfile that Bundler is to use.
    pub(crate) gemfile: Option<&'a Path>,
    /// Folders that come before all others in $LOAD_PATH.
    pub(crate) load_path: &'a [PathBuf],
    /// The Ruby file with hooks.
    pub(crate) hooks: Option<&'a Path>,
    /// The user of the mold, if that is another than this process's.
    pub(crate) user: Option<&'a user::User>,
    /// The command that would start the mold, for its environment variables.
    pub(crate) command: &'a Command,
    /// The Ruby file that the mold runs.
    pub(crate) script: &'a Path,
}

impl Overriding {
    /// The values for the Ruby process that evaluates the file, each with its name in SETUP; empty where there is none.
    pub(crate) fn pairs(&self) -> [(&'static str, &str); 4] {
        [
            ("hooks_workers", self.workers.as_deref().unwrap_or_default()),
            ("hooks_daemonizes", if self.daemonizes { "yes" } else { "" }),
            ("hooks_host", self.host.as_deref().unwrap_or_default()),
            ("hooks_port", self.port.as_deref().unwrap_or_default()),
        ]
    }
}

/// Evaluates a file with Ruby and returns its answer, a line of JSON, with the process.
pub fn read(question: &Question<'_>) -> Result<(Vec<u8>, WaitingProcess), ReadError> {
    let unable =
        |error: io::Error| ReadError::Other(format!("it is read by Ruby, and {}", no_ruby(question.ruby, &error)));
    let (ours, theirs) = UnixStream::pair().map_err(unable)?;
    let mut command = user::command(question.ruby, None);
    if question.limits_heaps {
        heaps::limit(&mut command);
    }
    let script: String = SCRIPTS.split(' ').map(scripts::text).collect();
    command.arg("-e").arg(script).arg(question.path).arg(question.kind);
    command.arg(question.gemfile.unwrap_or(Path::new(""))).arg(question.names.join(","));
    command.args(question.overriding.pairs().map(|(_, value)| value));
    command.arg(if question.stays { "stays" } else { "" });
    command.current_dir(question.folder).stdin(Stdio::from(OwnedFd::from(theirs)));
    // What the file prints is for people; the server's own output goes to standard output.
    command.stdout(io::stderr().as_fd().try_clone_to_owned().map_err(unable)?);
    command.envs(question.environment.iter().copied());
    bundle::set_variables(&mut command, question.gemfile, question.lockfile);
    let child = command.spawn().map_err(unable)?;
    drop(command);
    let mut waiting = WaitingProcess { child: Some(child), stream: ours, is_root: geteuid().is_root() };
    let record = waiting.record()?;
    Ok((record, waiting))
}

impl WaitingProcess {
    /// Reads the answer up to its line feed: a process that the file has started may hold the socket open for ever.
    fn record(&mut self) -> Result<Vec<u8>, ReadError> {
        let until = Instant::now() + EVALUATION_TIME;
        let mut record = Vec::new();
        let mut bytes = vec![0; 64 << 10];
        let _ = self.stream.set_read_timeout(Some(CHECK_INTERVAL));
        while !record.ends_with(b"\n") {
            // Checked first, so that what it has written before it ended is read.
            let has_ended = self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            match self.stream.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) if record.len() + count <= RECORD_BYTES => record.extend_from_slice(&bytes[..count]),
                Ok(_) => return Err(ReadError::Other(format!("it says more than {RECORD_BYTES} bytes"))),
                Err(error) if !is_pause(&error) => break,
                Err(_) if has_ended => break,
                Err(_) if Instant::now() >= until => {
                    // That it has ended by itself is no error.
                    let _ = self.child.as_mut().map(Child::kill);
                    return Err(ReadError::Other(format!("Ruby has not read it within {EVALUATION_TIME:?}")));
                }
                Err(_) => {}
            }
        }
        if record.ends_with(b"\n") { Ok(record) } else { Err(ReadError::Ended) }
    }

    fn order(&mut self, order: &[u8]) -> io::Result<()> {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        for stream in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()] {
            let descriptors = [stream.as_raw_fd()];
            let message = [ControlMessage::ScmRights(&descriptors)];
            sendmsg::<()>(self.stream.as_raw_fd(), &[IoSlice::new(b".")], &message, MsgFlags::empty(), None)?;
        }
        self.stream.write_all(order)?;
        self.stream.shutdown(Shutdown::Write)
    }

    /// Ends the process and waits for it.
    pub fn dismiss(mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        let _ = self.child.take().map(|mut child| child.wait());
    }
}

impl Drop for WaitingProcess {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(mut child) = self.child.take() {
            // The process ends by itself now; it is a zombie until it has been waited for.
            drop(thread::Builder::new().name("reader's end".into()).stack_size(64 << 10).spawn(move || child.wait()));
        }
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

impl Evaluated {
    /// Ends the process, unless it has continued as a mold. Does not wait.
    pub fn dismiss(&self) {
        drop(self.waiting.lock().take());
    }

    /// Lets the process continue as this mold. Returns none if it has continued already, or if the mold needs another
    /// Ruby, Gemfile, load path or user than the process can have.
    pub(crate) fn go_on(&self, mold: &Successor<'_>) -> Option<Child> {
        let is_same = self.ruby == mold.ruby && self.gemfile.as_deref() == mold.gemfile && mold.load_path.is_empty();
        if !is_same {
            return None;
        }
        let mut place = self.waiting.lock();
        let user = new_user(mold.user, place.as_ref()?.is_root);
        if user.is_some() && !self.changes_user {
            return None;
        }
        let mut waiting = place.take()?;
        match self.order(mold, user).and_then(|order| waiting.order(&order)) {
            Ok(()) => waiting.child.take(),
            Err(error) => {
                tracing::warn!(target: "engine", "{} is evaluated again: {error}", self.path.display());
                None
            }
        }
    }

    fn order(&self, mold: &Successor<'_>, user: Option<UserIds>) -> io::Result<Vec<u8>> {
        let hooks = mold.hooks.filter(|hooks| fs::canonicalize(hooks).is_ok_and(|path| path == self.path));
        // Bytes: paths and variables need not be UTF-8.
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = vec![
            ("mold".into(), bytes(mold.script.as_os_str())),
            ("file".into(), hooks.map(|path| bytes(path.as_os_str())).unwrap_or_default()),
            ("folder".into(), bytes(std::env::current_dir()?.as_os_str())),
            ("umask".into(), umask()?.to_string().into()),
        ];
        if let Some(UserIds { uid, gid, groups }) = user {
            let groups: Vec<String> = groups.iter().map(u32::to_string).collect();
            pairs.push(("uid".into(), uid.to_string().into()));
            pairs.push(("gid".into(), gid.to_string().into()));
            pairs.push(("groups".into(), groups.join(",").into()));
        }
        // Variables that are removed for a mold were removed for this process too.
        for (name, value) in mold.command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            pairs.push(([b"env:", name.as_bytes()].concat(), bytes(value)));
        }
        Ok(pairs.into_iter().map(|(name, value)| [name, value].join(&0)).collect::<Vec<_>>().join(&0))
    }
}

/// The ids of the user that the process is to become.
struct UserIds {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

/// Returns the ids of the user that the mold runs as, if the process runs as another one.
fn new_user(user: Option<&user::User>, is_root: bool) -> Option<UserIds> {
    if let Some(user) = user {
        return Some(UserIds { uid: user.uid, gid: user.gid, groups: user.groups.clone() });
    }
    (is_root && !geteuid().is_root()).then(|| {
        let groups = getgroups().unwrap_or_default().into_iter().map(|group| group.as_raw()).collect();
        UserIds { uid: geteuid().as_raw(), gid: getegid().as_raw(), groups }
    })
}

/// Returns the umask of this process, from `/proc`: umask(2) can only read it by setting it.
fn umask() -> io::Result<u32> {
    let status = fs::read_to_string("/proc/self/status")?;
    let bits = line(&status, "Umask").and_then(|bits| u32::from_str_radix(bits, 8).ok());
    bits.ok_or_else(|| io::Error::other("/proc/self/status names no umask"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_script_is_there() {
        assert!(SCRIPTS.split(' ').all(|name| !scripts::text(name).is_empty()));
    }
}
