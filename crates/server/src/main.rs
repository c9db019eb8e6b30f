//! The program `foolsgold`: parses, boots, waits, and turns the outcome into an exit code.
//! 0 is an end as it was told to, 1 a start that failed, 2 options that cannot be used.
//!
//! Its rooms, each of which takes from those behind it alone: `boot`, `admin`, `control`, `apps` and `log`, `config`,
//! `process`. Beside the server that serves stand `client` (another process, which knows the control socket only) and
//! `doctor` (looks at an application without serving it).

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
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use apps::context::ReloadSettings;
use apps::spec::{self, Missing};
use apps::{native, registry, trial};
use boot::prepare::{self, Arrived};
use boot::serve;
use config::arguments::{Arguments, Command};
use config::invocation::Invocation;
use config::{compat, help, settings, workers};
use doctor::effective;
use machine::Machine;
use process::daemon::{self, NotServing};
use process::exit::{BAD_USAGE, CANNOT_START, cannot_start, fail, refuse, refuse_to, show};
use process::init;
use process::program::Program;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Before anything changes the working directory.
    let program = Program::note();
    // Without it everything works but what is said of ends.
    let _ = control::signals::hear_of_children();
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == engine_ruby::user::BECOME) {
        // What is left of the way to a Ruby that runs as another user.
        return fail(&engine_ruby::user::become_user(&arguments[1..]));
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
        Command::Help => show(&help::help()),
        Command::Version => show(&format!("{}\n", serve::versions())),
        Command::OptionsPage if !typed.problems.is_empty() => refuse(&typed.problems),
        Command::OptionsPage => show(&help::markdown()),
        Command::Native => build_native(invocation.asked()),
        Command::Config { json, check } => show_settings(invocation.asked(), &invocation, json, check),
        Command::Explain => explain(&typed),
        Command::Serve => serve(invocation, program),
    }
}

fn serve(invocation: Invocation, program: Program) -> ExitCode {
    if let Some(ended) = init::run(&program, &invocation.environment) {
        return ended.unwrap_or_else(|why| fail(&why));
    }
    if let Err(why) = init::settle(&program) {
        return fail(&why);
    }
    // Before any process is started that would inherit what is handed over, or the terminal that is left.
    let arrived = match prepare::arrive(&invocation.environment) {
        Ok(arrived) => arrived,
        Err(why) => return fail(&why),
    };
    let channel = arrived.parent.as_ref().map(|parent| parent.channel.clone());
    match run(invocation, program, arrived) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => match channel.filter(|channel| channel.say(&failure.message()).is_ok()) {
            // Whoever started us tells it to the one who asked.
            Some(_) => failure.exit_code(),
            None => failure.tell(),
        },
    }
}

fn run(invocation: Invocation, program: Program, arrived: Arrived) -> Result<(), Failure> {
    if arrived.parent.is_none() && invocation.leaves_file_to_background() {
        return daemon::start(&program, &arrived.sockets, None).map(drop).map_err(Failure::of);
    }
    let mut settings = invocation.settle(invocation.asked()).map_err(Failure::options)?;
    let bundle_gemfile = invocation.bundle_gemfile();
    let is_only_one = settings.apps.len() == 1;
    let mut found = Vec::new();
    for app in &mut settings.apps {
        match spec::find(app, bundle_gemfile.as_deref(), is_only_one) {
            Ok(one) => found.push(one),
            Err(Missing::Options(problems)) => return Err(Failure::options(problems)),
            Err(Missing::File(why)) => return Err(Failure::Start(registry::named(!is_only_one, &app.name, why))),
        }
    }
    let engines: Vec<_> = found.iter().map(|one| one.engine).collect();
    workers::fit(&settings, &engines).map_err(|problem| Failure::options(vec![problem]))?;
    let prepared = prepare::prepare(program, arrived, &settings.operating, settings.log_form).map_err(Failure::of)?;
    let Some(prepared) = prepared else { return Ok(()) };
    let log_files = prepared.log_files.clone();
    let log = log::writer::open(settings.log_form, &settings.log_filter, log_files.own_lines(), log_files.dropped())
        .map_err(|error| Failure::Start(format!("the log cannot be opened: {error}")))?;
    let reload_settings: ReloadSettings = Box::new(move || invocation.reload_settings());
    let (flush, has_starter) = (log.flusher(), prepared.parent.is_none());
    let outcome = serve::serve(serve::Plan { settings, found, bundle_gemfile, reload_settings, prepared, flush });
    log.finish();
    log_files.finish();
    outcome.map_err(|why| {
        if has_starter {
            log_files.tell_starter(&cannot_start(&why));
        }
        Failure::Start(why)
    })
}

/// Why there is no server.
enum Failure {
    Options(Vec<String>),
    Start(String),
}

impl Failure {
    fn options(problems: Vec<impl Display>) -> Failure {
        Failure::Options(problems.iter().map(ToString::to_string).collect())
    }

    fn of(told: NotServing) -> Failure {
        match told {
            NotServing::Refused(problems) => Failure::Options(problems),
            NotServing::Failed(why) => Failure::Start(why),
        }
    }

    /// As the process that started this one is told it (see process/parent.rs).
    fn message(&self) -> String {
        match self {
            Failure::Options(problems) => format!("refused\n{}", problems.join("\n")),
            Failure::Start(why) => format!("failed\n{why}"),
        }
    }

    fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Options(_) => BAD_USAGE,
            Failure::Start(_) => CANNOT_START,
        })
    }

    fn tell(&self) -> ExitCode {
        match self {
            Failure::Options(problems) => refuse(problems),
            Failure::Start(why) => fail(why),
        }
    }
}

fn show_settings(asked: Arguments, invocation: &Invocation, json: bool, check: bool) -> ExitCode {
    match effective::find(asked, invocation, check) {
        Ok(_) if check && json => show("{}\n"),
        Ok(settings) if check => show(&settings.verdict()),
        Ok(settings) if json => show(&settings.json()),
        Ok(settings) => show(&settings.table()),
        Err(problems) => refuse(&problems),
    }
}

fn explain(asked: &Arguments) -> ExitCode {
    if !asked.problems.is_empty() {
        return refuse_to("explain this", &asked.problems);
    }
    let Some(path) = asked.rackup.as_deref() else {
        let why = "explain: needs the configuration file of another server: foolsgold explain config/puma.rb";
        return refuse_to("explain nothing", &[why]);
    };
    match compat::explain(asked, path) {
        Ok(explained) if explained.problems.is_empty() => show(&explained.page),
        Ok(explained) => {
            let _ = show(&explained.page);
            let lines: String = explained.problems.iter().map(|problem| format!("  {problem}\n")).collect();
            let _ = write!(io::stderr(), "foolsgold: does not start with {}:\n{lines}", path.display());
            ExitCode::from(CANNOT_START)
        }
        Err(problems) => refuse_to("explain this", &problems),
    }
}

fn build_native(asked: Arguments) -> ExitCode {
    let ruby = match settings::settle(asked, Machine::here()) {
        Ok(settings) => settings.apps[0].ruby.program.clone(),
        Err(problems) => return refuse(&problems),
    };
    match native::build(&ruby) {
        Ok(path) => {
            let (ruby, path) = (ruby.display(), path.display());
            show(&format!("The native worker for {ruby} is built, and taken from the next start on: {path}\n"))
        }
        Err(why) => {
            let _ = writeln!(io::stderr(), "foolsgold: the native worker cannot be built: {why}");
            ExitCode::from(CANNOT_START)
        }
    }
}
