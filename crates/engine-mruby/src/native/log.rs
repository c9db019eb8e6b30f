//! Log lines of the application, and facts about its process.

use std::env;
use std::os::unix::ffi::OsStrExt;

use super::Call;
use ruby_native::{Arg, Outcome, Tree, Value, arg};

/// `log(level, text)`: writes a line to the server's log, with the id of the request.
pub fn log(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 1).text()?;
    let id = call.work.writer.as_ref().map_or("", |writer| writer.request.id.as_str());
    let app = call.shared.settings.app.as_deref();
    let line = text.trim_end_matches('\n');
    match arg(args, 0).bytes()? {
        b"error" => tracing::error!(target: "app", id, app, "{line}"),
        b"warn" => tracing::warn!(target: "app", id, app, "{line}"),
        b"debug" => tracing::debug!(target: "app", id, app, "{line}"),
        _ => tracing::info!(target: "app", id, app, "{line}"),
    }
    Ok(Value::Nil)
}

/// `environment`: the name of the environment, such as `production`.
pub fn environment(call: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Str(call.shared.settings.environment.clone().into_bytes()))
}

/// `environment_variables`: those of the process for ENV, without the server's own secrets.
pub fn environment_variables(_: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    let text = |part: &std::ffi::OsStr| Tree::Str(part.as_bytes().to_vec());
    let is_shown = |name: &std::ffi::OsStr| !engine::SECRET_VARIABLES.iter().any(|secret| name == *secret);
    let shown = env::vars_os().filter(|(name, _)| is_shown(name));
    Ok(Value::Tree(Tree::Hash(shown.map(|(name, value)| (text(&name), text(&value))).collect()).encoded()))
}

/// `process_id`: the id of the server process.
pub fn process_id(_: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Int(i64::from(std::process::id())))
}
