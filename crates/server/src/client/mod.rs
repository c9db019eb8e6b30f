//! Commands for a running server, over its control socket: `foolsgold status`, `foolsgold reload` and so on. Each is
//! one or two requests to the API in docs/control.md; this folder uses nothing else of a server.

mod call;
mod control_client;
mod find;
mod orders;
mod outcome;
mod show;
mod status;
mod table;
mod text;
mod watch;

use std::process::ExitCode;

use call::Call;
use outcome::{Failure, fail, say};

use crate::config::commands::{self, Action, COMMANDS, ClientCommand};
use crate::config::invocation::Invocation;

/// Runs the command that the first word names, if it is one of these.
pub fn run(invocation: &Invocation) -> Option<ExitCode> {
    let word = invocation.arguments.first()?.to_str()?;
    let command = COMMANDS.iter().find(|command| command.word == word)?;
    let outcome = match Call::read(command, &invocation.arguments[1..], &invocation.environment) {
        Ok(None) => say(&commands::help(command)),
        Ok(Some(call)) => match &call.surplus {
            Some(word) => Err(Failure::usage(surplus(command, word, &call))),
            None => act(command, &call),
        },
        Err(failure) => Err(failure),
    };
    Some(outcome.map_or_else(|failure| fail(command.word, &failure), |()| ExitCode::SUCCESS))
}

fn act(command: &ClientCommand, call: &Call) -> Result<(), Failure> {
    match command.action {
        Action::Status => watch::status(call),
        Action::Workers => show::workers(call),
        Action::Recorder => show::recorder(call),
        Action::Deploys => show::deploys(call),
        Action::Plain => orders::plain(call, command.word),
        Action::Scale => orders::scale(call),
        Action::KillWorker => orders::kill_worker(call),
        Action::Drain => orders::drain(call),
        Action::Stop => orders::stop(call),
        Action::Control => show::control(call),
    }
}

/// The error about an unexpected word: most often it is meant as an application.
fn surplus(command: &ClientCommand, word: &str, call: &Call) -> String {
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
