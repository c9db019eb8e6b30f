//! Outcome of a command: text on standard output, or a failure with its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

/// Exit code: the action was tried and failed.
const FAILED: u8 = 1;
/// Exit code: the command line is not valid.
const BAD_USAGE: u8 = 2;
/// Exit code: there is no server; as of LSB init scripts, "program is not running".
const NO_SERVER: u8 = 3;

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    pub why: String,
}

impl Failure {
    pub fn failed(why: impl Into<String>) -> Failure {
        Failure { code: FAILED, why: why.into() }
    }

    pub fn usage(why: impl Into<String>) -> Failure {
        Failure { code: BAD_USAGE, why: why.into() }
    }

    pub fn no_server(why: impl Into<String>) -> Failure {
        Failure { code: NO_SERVER, why: why.into() }
    }
}

/// Writes to standard output. An error means that the reader has gone.
pub fn say(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Prints why a command failed and returns its exit code.
pub fn fail(command: &str, failure: &Failure) -> ExitCode {
    let hint = if failure.code == BAD_USAGE { format!("\nSee foolsgold {} --help.", command) } else { String::new() };
    let _ = writeln!(io::stderr(), "foolsgold {}: {}{hint}", command, failure.why);
    ExitCode::from(failure.code)
}
