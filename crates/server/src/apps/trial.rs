//! Loads an application for the embedded interpreter in a child process first, which is this program again. Code that
//! crashes its process while it is parsed, compiled or run then ends the child, and not a server.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use engine::brief;
use engine_mruby::{Keep, MrubyEngine, Settings};
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use tracing::warn;

use crate::process::exit;

/// First argument of the child.
pub const WORD: &str = "--try-to-load";

/// This program, even after its file was replaced.
const PROGRAM: &str = "/proc/self/exe";
/// Added to the time of loading, which the engine limits itself, except where it cannot interrupt.
const GRACE: Duration = Duration::from_secs(5);
/// First and last interval at which the child is polled.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(20);
/// Address space beside the interpreter's memory: the program, stacks, and memory of native functions.
const SPARE_BYTES: u64 = 2 << 30;

/// Why the application must not be loaded in this process.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The child was killed by this signal.
    Killed(i32),
    /// Loading did not end within this time (`--boot-time`), even when the engine interrupted it.
    Stuck(Duration),
    /// The server is shutting down.
    CalledOff,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Killed(signal) => {
                let name = signal_name(*signal);
                write!(
                    f,
                    "its code ends the embedded interpreter ({name}) while it is loaded, and would end this process; \
                     that is the interpreter's fault: please report it, and run with --engine ruby meanwhile"
                )
            }
            Verdict::Stuck(time) => write!(f, "not even its files were read within {} (--boot-time)", brief(*time)),
            Verdict::CalledOff => f.write_str("the server is shutting down"),
        }
    }
}

/// Tries to load the application with these settings. An exception does not count: loading it in this process will
/// report that in more detail. If no process can be started, the trial is skipped.
pub fn load(settings: &Settings, called_off: &AtomicBool) -> Result<(), Verdict> {
    match spawn(settings) {
        Ok(child) => wait(child, settings.boot_time, called_off),
        Err(error) => {
            warn!(target: "server", "new code is not tried in a process of its own before it is loaded: {error}");
            Ok(())
        }
    }
}

/// Runs the child, with the arguments after [`WORD`].
pub fn run(arguments: &[OsString]) -> ExitCode {
    // It ends with its parent.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let Some(settings) = read(arguments) else {
        return exit::fail(&format!("{WORD} is for foolsgold itself"));
    };
    let bytes = (settings.memory_bytes as u64).saturating_mul(2).saturating_add(SPARE_BYTES);
    let _ = setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) });
    match MrubyEngine::start(settings) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn spawn(settings: &Settings) -> io::Result<Child> {
    Command::new(PROGRAM)
        .arg(WORD)
        .arg(&settings.rackup)
        .arg(&settings.environment)
        .arg(settings.memory_bytes.to_string())
        .arg(settings.boot_time.as_millis().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn read(arguments: &[OsString]) -> Option<Settings> {
    let [rackup, environment, memory_bytes, boot_ms] = arguments else { return None };
    Some(Settings {
        rackup: Path::new(rackup).to_owned(),
        app: None,
        environment: environment.to_str()?.to_owned(),
        interpreters: 1,
        fresh: false,
        max_requests: 0,
        max_requests_jitter: 0,
        memory_bytes: memory_bytes.to_str()?.parse().ok()?,
        queue_places: 1,
        boot_time: Duration::from_millis(boot_ms.to_str()?.parse().ok()?),
        keep: Keep::default(),
        slow_time: Duration::MAX,
        meter: Arc::default(),
    })
}

fn wait(mut child: Child, boot_time: Duration, called_off: &AtomicBool) -> Result<(), Verdict> {
    let end = Instant::now() + boot_time + GRACE;
    let mut look = FIRST_LOOK;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.signal().map_or(Ok(()), |signal| Err(Verdict::Killed(signal))),
            // Another waiter has reaped it, so its exit is unknown.
            Err(_) => return Ok(()),
            Ok(None) => {}
        }
        let verdict = if called_off.load(Ordering::Relaxed) {
            Verdict::CalledOff
        } else if Instant::now() >= end {
            Verdict::Stuck(boot_time)
        } else {
            thread::park_timeout(look);
            look = (look * 2).min(LAST_LOOK);
            continue;
        };
        let _ = child.kill();
        let _ = child.wait();
        return Err(verdict);
    }
}

fn signal_name(number: i32) -> String {
    let name = |signal: nix::sys::signal::Signal| signal.as_str().to_owned();
    nix::sys::signal::Signal::try_from(number).map_or_else(|_| format!("signal {number}"), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(script: &str, boot_time: Duration, called_off: bool) -> Result<(), Verdict> {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        wait(child, boot_time, &AtomicBool::new(called_off))
    }

    #[test]
    fn only_a_death_by_signal_and_no_end_at_all_speak_against_the_code() {
        let long = Duration::from_secs(60);
        assert_eq!(waited("exit 0", long, false), Ok(()));
        assert_eq!(waited("exit 1", long, false), Ok(()));
        assert_eq!(waited("kill -SEGV $$", long, false), Err(Verdict::Killed(11)));
        assert_eq!(waited("exec sleep 60", long, true), Err(Verdict::CalledOff));
        assert_eq!(waited("exec sleep 60", Duration::ZERO, false), Err(Verdict::Stuck(Duration::ZERO)));
    }

    #[test]
    fn what_is_handed_over_is_what_was_asked_for() {
        let words = ["/srv/app/config.ru", "production", "1000000", "2500"].map(OsString::from);
        let settings = read(&words).unwrap();
        assert_eq!((settings.memory_bytes, settings.boot_time), (1_000_000, Duration::from_millis(2500)));
        assert!(read(&words[1..]).is_none());
    }
}
