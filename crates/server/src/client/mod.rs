//! The commands that talk to a running server by its control socket: `foolsgold status`, `foolsgold reload` and so on.
//! Each is one or two requests to the API that docs/control.md describes.

mod asked;
mod find;
mod grid;
mod line;
mod orders;
mod show;
mod status;
mod table;
mod watch;
mod words;

use std::io::{self, Write};
use std::process::ExitCode;

use asked::Call;
use table::{COMMANDS, Command};

use crate::start::Start;

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
    why: String,
}

impl Failure {
    fn failed(why: impl Into<String>) -> Failure {
        Failure { code: FAILED, why: why.into() }
    }

    fn usage(why: impl Into<String>) -> Failure {
        Failure { code: BAD_USAGE, why: why.into() }
    }

    fn no_server(why: impl Into<String>) -> Failure {
        Failure { code: NO_SERVER, why: why.into() }
    }
}

/// What the first word asks for, if it is a command of these.
pub fn run(start: &Start) -> Option<ExitCode> {
    let word = start.arguments.first()?.to_str()?;
    let command = COMMANDS.iter().find(|command| command.word == word)?;
    let outcome = match Call::read(command, &start.arguments[1..], &start.environment) {
        Ok(None) => {
            say(&table::help(command));
            Ok(())
        }
        Ok(Some(call)) => match &call.surplus {
            Some(word) => Err(Failure::usage(surplus(command, word, &call))),
            None => (command.run)(&call),
        },
        Err(failure) => Err(failure),
    };
    Some(outcome.map_or_else(|failure| fail(command, &failure), |()| ExitCode::SUCCESS))
}

/// What to say of a word where none is expected: most often an application is meant.
fn surplus(command: &Command, word: &str, call: &Call) -> String {
    let status = find::server(call).ok().and_then(|line| line.look("/v1/status").ok());
    let status = status.unwrap_or_default();
    let names: Vec<String> = show::rows(&status["apps"]).iter().map(|app| show::text(&app["name"])).collect();
    let there = match names.as_slice() {
        [] => String::new(),
        [one] => format!("; this server has one application, {one}"),
        several => format!("; this server has the applications {}", several.join(", ")),
    };
    let word_of = command.word;
    format!("{word}: nothing is expected here: an application is named by `foolsgold {word_of} --app NAME`{there}")
}

/// The words that are commands, with their help, for `foolsgold --help`.
pub fn words() -> impl Iterator<Item = (String, &'static str)> {
    COMMANDS.iter().map(|command| (format!("{} {}", command.word, command.value).trim().to_owned(), command.help))
}

/// The words alone.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.word)
}

/// Writes to standard output. When its reader has gone there is nobody to tell.
fn say(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

fn fail(command: &Command, failure: &Failure) -> ExitCode {
    let hint =
        if failure.code == BAD_USAGE { format!("\nSee foolsgold {} --help.", command.word) } else { String::new() };
    let _ = writeln!(io::stderr(), "foolsgold {}: {}{hint}", command.word, failure.why);
    ExitCode::from(failure.code)
}
