//! What comes of a command: text on standard output, or why it ends badly, with its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

/// It was tried, and could not be done.
const FAILED: u8 = 1;
/// The command line cannot be understood.
const BAD_USAGE: u8 = 2;
/// There is no server, as for services: the program is not running.
const NO_SERVER: u8 = 3;

/// Why a command ends badly.
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

/// Writes to standard output. When its reader has gone there is nobody to tell.
pub fn say(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Says why a command ends badly.
pub fn fail(command: &str, failure: &Failure) -> ExitCode {
    let hint = if failure.code == BAD_USAGE { format!("\nSee foolsgold {} --help.", command) } else { String::new() };
    let _ = writeln!(io::stderr(), "foolsgold {}: {}{hint}", command, failure.why);
    ExitCode::from(failure.code)
}
