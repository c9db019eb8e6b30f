//! The whole way of a server, from its command line to its exit code: resolves the settings, finds the applications,
//! prepares the process, and serves.

use std::process::ExitCode;

use crate::apps::context::ReloadSettings;
use crate::apps::registry;
use crate::apps::spec::{self, SpecError};
use crate::boot::prepare::{self, Arrived};
use crate::boot::serve::{self, Plan};
use crate::config::invocation::Invocation;
use crate::config::workers;
use crate::control::signals;
use crate::log::writer;
use crate::process::exit::{NotServing, cannot_start, fail};
use crate::process::parent::{self, StartOutcome};
use crate::process::program::Program;
use crate::process::{daemon, init};

/// Runs the server until it shuts down. A failure is reported to the process that started this one, or on standard
/// error.
pub fn serve(invocation: Invocation, program: Program) -> ExitCode {
    if let Some(ended) = init::run(&program, &invocation.environment) {
        return ended.unwrap_or_else(|why| fail(&why));
    }
    if let Err(why) = init::fix_variables(&program) {
        return fail(&why);
    }
    // Before any process is started that would inherit the handed-over sockets or the old terminal.
    let arrived = match prepare::arrive(&invocation.environment) {
        Ok(arrived) => arrived,
        Err(why) => return fail(&why),
    };
    // Only now: its own sockets would get the numbers of inherited ones that are missing. If it fails, listening fails
    // later, and says why.
    let _ = signals::hold();
    // After that, since its thread would otherwise receive the signals that are held back here.
    if let Err(why) = parent::end_with_command(&invocation.environment) {
        return fail(&why);
    }
    let channel = arrived.parent.as_ref().map(|parent| parent.channel.clone());
    match run(invocation, program, arrived) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => match channel.map(|channel| channel.report(&StartOutcome::NotServing(why.clone()))) {
            // The parent prints it.
            Some(Ok(())) => why.exit_code(),
            None | Some(Err(_)) => why.tell(),
        },
    }
}

/// Resolves the settings and runs the server with them.
fn run(invocation: Invocation, program: Program, arrived: Arrived) -> Result<(), NotServing> {
    if arrived.parent.is_none() && invocation.leaves_file_to_background() {
        return daemon::start(&program, &arrived.sockets, None).map(drop);
    }
    let mut settings = invocation.resolve(invocation.asked()).map_err(|problems| NotServing::refused(&problems))?;
    let bundle_gemfile = invocation.bundle_gemfile();
    let is_only_one = settings.apps.len() == 1;
    let mut specs = Vec::new();
    for app in &mut settings.apps {
        match spec::find(app, bundle_gemfile.as_deref(), is_only_one) {
            Ok(one) => specs.push(one),
            Err(SpecError::Options(problems)) => return Err(NotServing::refused(&problems)),
            Err(SpecError::File(why)) => return Err(NotServing::Failed(registry::named(!is_only_one, &app.name, why))),
        }
    }
    let engines: Vec<_> = specs.iter().map(|one| one.engine).collect();
    workers::fit(&settings, &engines).map_err(|problem| NotServing::refused(&[problem]))?;
    let prepared = prepare::prepare(program, arrived, &settings)?;
    let Some(prepared) = prepared else { return Ok(()) };
    let log_files = prepared.log_files.clone();
    let log = writer::open(settings.log_form, &settings.log_filter, log_files.own_lines(), log_files.dropped())
        .map_err(|error| NotServing::Failed(format!("the log cannot be opened: {error}")))?;
    let reload_settings: ReloadSettings = Box::new(move || invocation.reload_settings());
    let flush = log.flusher();
    let has_starter = prepared.parent.is_none();
    let outcome = serve::serve(Plan { settings, specs, bundle_gemfile, reload_settings, prepared, flush });
    log.finish(log_files.last_time());
    log_files.finish();
    outcome.map_err(|why| {
        if has_starter {
            log_files.tell_starter(&cannot_start(&why));
        }
        NotServing::Failed(why)
    })
}
