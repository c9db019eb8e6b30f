//! The program `foolsgold`: picks the command, runs it, and turns its outcome into an exit code: 0 shut down as
//! requested, 1 could not start, 2 an unusable command line or setting.
//!
//! Its folders, each of which uses only those after it: `boot`, `admin`, `control`, `apps` and `log`, `config`,
//! `process`. Beside the server stand `client` (commands, which know only the control socket) and `doctor` (checks an
//! application without serving it).

mod admin;
mod apps;
mod boot;
mod client;
mod config;
mod control;
mod doctor;
mod log;
mod process;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use apps::{native, trial};
use boot::{run, serve};
use config::arguments::{Arguments, Command};
use config::invocation::Invocation;
use config::options::Name;
use config::{compat, help, settings};
use doctor::effective;
use machine::Machine;
use process::exit::{CANNOT_START, fail, refuse_to, show};
use process::program::Program;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Before anything changes the working directory.
    let program = Program::note();
    // It fails on no known system; then blocked signals stay without effect.
    let _ = control::signals::unblock();
    // If it fails, everything works except process 1's report of the server's exit.
    let _ = control::signals::hear_of_children();
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == engine_ruby::user::BECOME) {
        // The second half of starting a Ruby that runs as another user.
        let environment: Vec<(OsString, OsString)> = env::vars_os().collect();
        return fail(&engine_ruby::user::become_user(&arguments[1..], &environment));
    }
    if arguments.first().is_some_and(|first| first == trial::WORD) {
        return trial::run(&arguments[1..]);
    }
    let invocation = Invocation::new(arguments, env::vars_os().collect(), Machine::here());
    if let Some(code) = client::run(&invocation) {
        return code;
    }
    if let Some(code) = doctor::run(&invocation) {
        return code;
    }
    let typed = invocation.typed();
    match typed.command {
        Command::Help => show(&help::of(invocation.arguments.first().and_then(|word| word.to_str()))),
        Command::Version => show(&format!("{}\n", serve::versions())),
        Command::OptionsPage if !typed.problems.is_empty() => {
            refuse_to("print the options", "options", &typed.problems)
        }
        Command::OptionsPage => show(&help::markdown()),
        Command::Native => build_native(invocation.asked()),
        Command::Config { json, check: false } => show_settings(invocation.asked(), &invocation, json),
        Command::Config { json, check: true } => check_settings(invocation.asked(), &invocation, json),
        Command::Explain => explain(&typed),
        Command::Serve => run::serve(invocation, program),
    }
}

fn show_settings(asked: Arguments, invocation: &Invocation, json: bool) -> ExitCode {
    match effective::find(asked, invocation, false) {
        Ok(settings) if json => show(&settings.json()),
        Ok(settings) => show(&settings.table()),
        Err(problems) => refuse_to("show the settings", "config", &problems),
    }
}

fn check_settings(asked: Arguments, invocation: &Invocation, json: bool) -> ExitCode {
    match effective::find(asked, invocation, true) {
        Ok(_) if json => show("{}\n"),
        Ok(settings) => show(&settings.summary()),
        Err(problems) => refuse_to("use these settings", "config", &problems),
    }
}

fn explain(asked: &Arguments) -> ExitCode {
    if !asked.problems.is_empty() {
        return refuse_to("explain this", "explain", &asked.problems);
    }
    // Also by `-C config/puma.rb`, as the server is started with it.
    let named = asked.values(Name::Config).last().map(|given| Path::new(&given.value)).filter(|path| *path != "-");
    let Some(path) = asked.rackup.as_deref().or(named) else {
        let why = "explain: needs the configuration file of another server: foolsgold explain config/puma.rb";
        return refuse_to("explain nothing", "explain", &[why]);
    };
    match compat::explain(asked, path) {
        Ok(explained) if explained.problems.is_empty() => show(&explained.page),
        Ok(explained) => {
            let _ = show(&explained.page);
            let lines: String = explained.problems.iter().map(|problem| format!("  {problem}\n")).collect();
            let _ = write!(io::stderr(), "foolsgold: does not start with {}:\n{lines}", path.display());
            ExitCode::from(CANNOT_START)
        }
        Err(problems) => refuse_to("explain this", "explain", &problems),
    }
}

fn build_native(asked: Arguments) -> ExitCode {
    let ruby = match settings::resolve(asked, Machine::here()) {
        Ok(settings) => settings.apps[0].ruby.program.clone(),
        Err(problems) => return refuse_to("build the native worker", "native", &problems),
    };
    match native::build(&ruby) {
        Ok(path) => {
            let ruby = ruby.display();
            let path = path.display();
            show(&format!("The native worker for {ruby} is built, and taken from the next start on: {path}\n"))
        }
        Err(why) => {
            let _ = writeln!(io::stderr(), "foolsgold: the native worker cannot be built: {why}");
            ExitCode::from(CANNOT_START)
        }
    }
}
