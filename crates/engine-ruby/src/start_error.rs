//! Errors for which the engine cannot start.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::{AppError, brief};

/// Most time for a boot while old code, or another worker, serves: one that hangs must not block later ones.
pub const LATER_BOOT_TIME: Duration = Duration::from_secs(600);

/// An error for which the engine cannot start.
#[derive(Debug)]
pub enum StartError {
    /// The application raised an exception while it was loaded.
    App(Box<AppError>),
    /// The Ruby has no Rack: the exception that says so, and how to get it.
    NoRack(Box<AppError>),
    /// A hook raised an exception in a worker that was starting: the hook's name, its `file:line` or an empty text, the
    /// exception.
    Hook(String, String, Box<AppError>),
    /// The process folder could not be made accessible to the user that processes run as.
    User(String, std::io::Error),
    /// The executable was started and ended before it connected.
    NoRuby {
        /// The executable.
        ruby: PathBuf,
        /// How it ended, as text.
        how: String,
        /// Whether it ended by itself, with another exit status than 0.
        has_failed: bool,
    },
    /// The Ruby executable could not be started.
    Ruby(PathBuf, std::io::Error),
    /// The Ruby process ended before the application was loaded.
    Ended(String),
    /// A worker, or the mold that was to fork it, ended before the worker was ready, as the text says.
    Unready(String),
    /// None of the native workers is for this Ruby, and one is needed.
    NoNative,
    /// The application was not loaded within this time.
    Late(Duration),
    /// The caller cancelled the start.
    CalledOff,
    /// The system refused a thread, a folder or a socket.
    Machine(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::App(error) | StartError::NoRack(error) => in_full(f, error),
            StartError::Hook(hook, place, error) => {
                let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
                write!(f, "the hook {hook}{place} failed: ")?;
                in_full(f, error)
            }
            StartError::Ruby(ruby, error) => f.write_str(&no_ruby(ruby, error)),
            StartError::NoRuby { ruby, how, .. } => write!(
                f,
                "{how}, and has not connected to the server: is {} a Ruby? A script must start Ruby by exec, and not \
                 as a further process. --ruby names another",
                ruby.display()
            ),
            StartError::User(user, error) => {
                write!(f, "the Ruby processes cannot run as {user}: {error}; only root can start them as another user")
            }
            StartError::Ended(how) => write!(f, "the Ruby process ended before the application was loaded: {how}"),
            StartError::NoNative => f.write_str("no native worker has been built for this Ruby"),
            StartError::Unready(text) => f.write_str(text),
            StartError::Late(time) => write!(f, "the application was not loaded within {}", boot_limit(*time)),
            StartError::CalledOff => f.write_str("it was called off"),
            StartError::Machine(error) => write!(f, "no thread, folder or socket for the Ruby processes: {error}"),
        }
    }
}

/// The limit of a boot for a message, with the option that sets it, and whether that cannot raise it.
pub fn boot_limit(time: Duration) -> String {
    let fixed = if time == LATER_BOOT_TIME { "; a reload and a later worker get no more" } else { "" };
    format!("{} (--boot-time{fixed})", brief(time))
}

/// Writes an exception with its backtrace.
fn in_full(f: &mut fmt::Formatter<'_>, error: &AppError) -> fmt::Result {
    write!(f, "{}: {}", error.class, error.message)?;
    error.lines().try_for_each(|line| write!(f, "\n    {line}"))
}

impl std::error::Error for StartError {}

/// Returns a message that says why this Ruby cannot be started and how to remedy that.
pub fn no_ruby(ruby: &Path, error: &std::io::Error) -> String {
    let is_name = !ruby.as_os_str().as_encoded_bytes().contains(&b'/');
    // A folder in PATH that may not be searched counts as one without the file.
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied if is_name => format!(
            "there is no {} on PATH: install one (apt install ruby ruby-rack), or name one with --ruby",
            ruby.display()
        ),
        // The system's words for these are no help (fork(2)), and another Ruby is none either.
        ErrorKind::WouldBlock => format!(
            "the Ruby {} cannot be started: a limit of processes and threads is reached, that of this user (ulimit -u) \
             or of the control group (pids.max; systemd: TasksMax): {error}",
            ruby.display()
        ),
        ErrorKind::OutOfMemory => format!("the Ruby {} cannot be started: memory is full: {error}", ruby.display()),
        _ if files::is_short_of_files(error) => format!(
            "the Ruby {} cannot be started: a limit of open files is reached, that of this process (ulimit -n) or of \
             the machine (fs.file-max): {error}",
            ruby.display()
        ),
        _ => format!("the Ruby {} cannot be started: {error}; name another with --ruby", ruby.display()),
    }
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::*;

    #[test]
    fn a_limit_that_the_option_cannot_raise_is_told_as_one() {
        assert_eq!(boot_limit(Duration::from_secs(5)), "5s (--boot-time)");
        let message = StartError::Late(LATER_BOOT_TIME).to_string();
        let limit = "within 600s (--boot-time; a reload and a later worker get no more)";
        assert!(message.ends_with(limit), "{message}");
    }

    #[test]
    fn a_ruby_that_is_not_there_is_told_with_where_it_was_looked_for() {
        let error = |ruby: &str, kind: ErrorKind| no_ruby(Path::new(ruby), &kind.into());
        assert!(error("ruby", ErrorKind::NotFound).starts_with("there is no ruby on PATH"));
        assert!(error("ruby", ErrorKind::PermissionDenied).starts_with("there is no ruby on PATH"));
        assert!(error("ruby", ErrorKind::OutOfMemory).starts_with("the Ruby ruby cannot be started"));
        let full = [ErrorKind::WouldBlock, ErrorKind::OutOfMemory].map(|kind| error("/opt/ruby", kind));
        assert!(full[0].contains("TasksMax") && full[1].contains("memory is full"), "{full:?}");
        let files = no_ruby(Path::new("ruby"), &Errno::EMFILE.into());
        assert!(files.contains("ulimit -n") && !files.contains("--ruby"), "{files}");
        assert!(full.iter().all(|text| !text.contains("--ruby")), "{full:?}");
        assert!(error("/opt/ruby", ErrorKind::NotFound).starts_with("the Ruby /opt/ruby cannot be started"));
    }
}
