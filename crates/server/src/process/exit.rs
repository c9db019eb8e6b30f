//! Final messages of the program, and the exit code of each.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::process::stream::write_in_background;

/// Why a process does not serve. Exit code and final message follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotServing {
    /// Options that cannot be used, one text for each.
    Refused(Vec<String>),
    /// The start failed.
    Failed(String),
}

impl NotServing {
    /// Options that cannot be used.
    pub fn refused(problems: &[impl Display]) -> NotServing {
        NotServing::Refused(problems.iter().map(ToString::to_string).collect())
    }

    /// The exit code alone, when another process prints the message.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            NotServing::Refused(_) => BAD_USAGE,
            NotServing::Failed(_) => CANNOT_START,
        })
    }

    /// Prints the message on standard error and returns the exit code.
    pub fn tell(&self) -> ExitCode {
        match self {
            NotServing::Refused(problems) => refuse_to("start with these options", "", problems),
            NotServing::Failed(why) => fail(why),
        }
    }
}

/// Exit code: the server could not start.
pub const CANNOT_START: u8 = 1;
/// Exit code: options cannot be used.
pub const BAD_USAGE: u8 = 2;

/// Writes a text to standard output. Returns whether that still has a reader: that it has gone, as with `| head`, is no
/// error.
pub fn print(text: &str) -> Result<bool, String> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(format!("standard output cannot be written: {error}")),
    }
}

/// Prints a text on standard output, for a command that succeeded. Returns the exit code, which says whether all of
/// it was written: a file on a full disk has only a part.
pub fn show(text: &str) -> ExitCode {
    let Err(why) = print(text) else { return ExitCode::SUCCESS };
    let _ = writeln!(io::stderr(), "foolsgold: {why}");
    ExitCode::from(CANNOT_START)
}

// Below, a write error means that the reader has gone; the exit code is all that is left to report.

/// Reports options with which a command cannot do what `what` says, and names its help. `command` is empty for the
/// server.
pub fn refuse_to(what: &str, command: &str, problems: &[impl Display]) -> ExitCode {
    let lines: String = problems.iter().map(|problem| format!("  {problem}\n")).collect();
    write_in_background();
    let of_command = if command.is_empty() { String::new() } else { format!("{command} ") };
    let _ = write!(io::stderr(), "foolsgold: cannot {what}:\n{lines}See foolsgold {of_command}--help.\n");
    ExitCode::from(BAD_USAGE)
}

/// Reports that the server could not start.
pub fn fail(why: &str) -> ExitCode {
    write_in_background();
    let _ = io::stderr().write_all(cannot_start(why).as_bytes());
    ExitCode::from(CANNOT_START)
}

/// The message of [`fail`].
pub fn cannot_start(why: &str) -> String {
    format!("foolsgold: cannot start: {why}\n")
}
