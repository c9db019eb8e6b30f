//! How a process ended.

use std::fmt;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

/// The exit code in EXITED frames for a process that the application itself has waited for.
const UNKNOWN: i32 = i32::MIN;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The exit status, if the process exited by itself.
    pub status: Option<i32>,
    /// The number of the signal that killed it.
    signal: Option<i32>,
}

impl Exit {
    /// Returns the exit of a process whose status is not known.
    pub fn unknown() -> Exit {
        Exit { status: None, signal: None }
    }

    /// Returns the exit of a child of this process.
    pub fn new(status: ExitStatus) -> Exit {
        use std::os::unix::process::ExitStatusExt;
        Exit { status: status.code(), signal: status.signal() }
    }

    /// Returns the exit of a process whose parent is a mold, from the code in EXITED: an exit status, or a signal's
    /// number negated, or the constant for an unknown one.
    pub fn of(code: i32) -> Exit {
        if code == UNKNOWN {
            return Exit::unknown();
        }
        if code < 0 { Exit { status: None, signal: Some(-code) } } else { Exit { status: Some(code), signal: None } }
    }

    /// Returns whether it is known to have failed, or to have been killed.
    pub fn is_failure(&self) -> bool {
        self.signal.is_some() || self.status.is_some_and(|status| status != 0)
    }

    /// Returns the name of the signal that killed it.
    pub fn signal(&self) -> Option<String> {
        let name =
            |number: i32| Signal::try_from(number).map_or_else(|_| number.to_string(), |one| one.as_str().to_owned());
        self.signal.map(name)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, self.signal()) {
            (Some(status), _) => write!(f, "exited with status {status}"),
            (None, Some(signal)) => write!(f, "exited: killed by {signal}"),
            (None, None) => f.write_str("exited, status unknown: somebody else has waited for it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_has_a_status_or_the_name_of_a_signal_or_is_unknown() {
        let words = |code: i32| (Exit::of(code).to_string(), Exit::of(code).signal());
        assert_eq!(words(0), ("exited with status 0".to_owned(), None));
        assert_eq!(words(3), ("exited with status 3".to_owned(), None));
        assert_eq!(words(-11), ("exited: killed by SIGSEGV".to_owned(), Some("SIGSEGV".to_owned())));
        assert_eq!(words(-64).1, Some("64".to_owned()), "a real-time signal has no name");
        assert_eq!(Exit::of(UNKNOWN), Exit::unknown());
        assert!(words(UNKNOWN).0.contains("status unknown"));
        assert_eq!([0, 3, -11, UNKNOWN].map(|code| Exit::of(code).is_failure()), [false, true, true, false]);
    }
}
