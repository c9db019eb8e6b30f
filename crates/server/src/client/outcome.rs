//! Outcome of a command: text on standard output, or a failure with its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::client::text::plain_lines;
use crate::process::exit::{BAD_USAGE, print};

/// Exit code: the action was tried and failed.
const FAILED: u8 = 1;
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

/// Prints the result of a command on standard output.
pub fn say(text: &str) -> Result<(), Failure> {
    print(text).map(drop).map_err(Failure::failed)
}

/// Prints why a command failed and returns its exit code.
pub fn fail(command: &str, failure: &Failure) -> ExitCode {
    let hint = if failure.code == BAD_USAGE { format!("\nSee foolsgold {} --help.", command) } else { String::new() };
    let _ = writeln!(io::stderr(), "foolsgold {}: {}{hint}", command, plain_lines(&failure.why));
    ExitCode::from(failure.code)
}
