//! The last words of the program, each with its exit code.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a process does not serve: its exit code and its last words follow from that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotServing {
    /// Options that cannot be used, each in words.
    Refused(Vec<String>),
    /// The start has failed.
    Failed(String),
}

impl NotServing {
    /// Options that cannot be used.
    pub fn refused(problems: &[impl Display]) -> NotServing {
        NotServing::Refused(problems.iter().map(ToString::to_string).collect())
    }

    /// When somebody else has been told.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            NotServing::Refused(_) => BAD_USAGE,
            NotServing::Failed(_) => CANNOT_START,
        })
    }

    /// Says it on standard error.
    pub fn tell(&self) -> ExitCode {
        match self {
            NotServing::Refused(problems) => refuse(problems),
            NotServing::Failed(why) => fail(why),
        }
    }
}

/// A start that failed.
pub const CANNOT_START: u8 = 1;
/// Options that cannot be used.
pub const BAD_USAGE: u8 = 2;

// Writing fails when the reader has gone; then there is nobody to tell, and the exit code says the rest.

/// Prints it, and that was all.
pub fn show(text: &str) -> ExitCode {
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// The options cannot be used.
pub fn refuse(problems: &[impl Display]) -> ExitCode {
    refuse_to("start with these options", problems)
}

/// The same, of something else than a start.
pub fn refuse_to(what: &str, problems: &[impl Display]) -> ExitCode {
    let lines: String = problems.iter().map(|problem| format!("  {problem}\n")).collect();
    let _ = write!(io::stderr(), "foolsgold: cannot {what}:\n{lines}See foolsgold --help.\n");
    ExitCode::from(BAD_USAGE)
}

/// The server cannot start.
pub fn fail(why: &str) -> ExitCode {
    let _ = io::stderr().write_all(cannot_start(why).as_bytes());
    ExitCode::from(CANNOT_START)
}

/// The same in words.
pub fn cannot_start(why: &str) -> String {
    format!("foolsgold: cannot start: {why}\n")
}
