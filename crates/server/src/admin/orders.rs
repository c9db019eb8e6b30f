//! The actions of the control API, on the server or on applications. All of them may block, so not for I/O threads.

use std::sync::Arc;

use engine::{Order, count};
use serde_json::json;

use crate::admin::answer::{ApiError, Outcome};
use crate::admin::params::Params;
use crate::admin::state::{AdminState, RunningServer};
use crate::apps::app::App;
use crate::log::files::log_outcome;

/// Upper bound of workers, or interpreters, that a request may ask for.
const WORKERS_MAX: u64 = 1024;

/// Reloads one application or all: new code and settings.
pub fn reload(_: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    let app = one_or_all(running, params)?;
    message(running.server.reload(app.as_ref().map(|app| app.name())))
}

/// Upgrades the server: new code, settings and program.
pub fn restart(_: &AdminState, running: &RunningServer, _: &Params) -> Outcome {
    message(running.server.upgrade())
}

/// Shuts the server down.
pub fn stop(_: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    let now = params.is("now")?;
    running.server.stop(now);
    message(Ok(if now { "shutting down now" } else { "shutting down; running requests are finished" }.to_owned()))
}

/// Shuts the server down after load balancers have noticed.
pub fn drain(_: &AdminState, running: &RunningServer, _: &Params) -> Outcome {
    running.server.drain();
    message(Ok("draining: no longer ready; then no new connections; running requests are finished".to_owned()))
}

/// Reopens the log files, after they were renamed; also of a server that is still starting.
pub fn reopen_logs(state: &AdminState) -> Outcome {
    let outcome = state.logs.reopen();
    log_outcome(&outcome);
    message(outcome)
}

/// Sets the bounds of the number of workers.
pub fn scale(_: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    let app = the_one(running, params)?;
    let (min, max, workers) = (params.number("min")?, params.number("max")?, params.number("workers")?);
    let now = app.engine().snapshot().pool;
    let (min, max) = match (min, max, workers) {
        (None, None, Some(workers)) => (workers, workers),
        (Some(min), Some(max), None) => (min, max),
        (Some(min), None, None) => (min, (now.max as u64).max(min)),
        (None, Some(max), None) => ((now.min as u64).min(max), max),
        _ => return Err(ApiError::wrong("say workers, such as workers=4, or min and max")),
    };
    if let Some(why) = unusable(min, max) {
        return Err(ApiError::wrong(why));
    }
    let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    message(running.server.apps().scale(&app, small(min), small(max)))
}

/// Why these bounds cannot be used.
fn unusable(min: u64, max: u64) -> Option<String> {
    if max == 0 {
        return Some(format!(
            "without workers nothing is served: say 1 to {WORKERS_MAX}; 0:1, which is min=0 and max=1, has none while \
             there are no requests, and pause lets requests wait"
        ));
    }
    if min > max {
        let many = count(max, "worker");
        return Some(format!("from {min} to {many} cannot be: the smaller number comes first, {max}:{min}"));
    }
    (max > WORKERS_MAX).then(|| format!("{max} workers are more than there can be: {WORKERS_MAX} at most"))
}

/// Stops one worker.
pub fn kill(_: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    let (app, worker) = worker(running, params)?;
    message(app.order(Order::EndWorker { worker, now: params.is("now")? }))
}

/// Backtraces of the threads of one worker.
pub fn backtraces(_: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    let (app, worker) = worker(running, params)?;
    let text = app.order(Order::Backtraces(worker)).map_err(ApiError::failed)?;
    Ok(json!({ "app": app.name(), "worker": worker, "backtraces": text }))
}

fn worker(running: &RunningServer, params: &Params) -> Result<(Arc<App>, u32), ApiError> {
    let app = the_one(running, params)?;
    let number = params.number("worker")?.and_then(|number| u32::try_from(number).ok());
    let number = number.ok_or_else(|| ApiError::wrong("the worker must be a number, such as 3"))?;
    let workers = app.engine().snapshot().workers;
    if workers.iter().any(|worker| worker.id == number) {
        return Ok((app, number));
    }
    let numbers: Vec<String> = workers.iter().map(|worker| worker.id.to_string()).collect();
    let there =
        if numbers.is_empty() { "there are none now".into() } else { format!("there is {}", numbers.join(", ")) };
    Err(ApiError::missing(format!("{} has no worker {number}; {there}", app.name())))
}

/// Runs an order on one application or on each.
pub fn order(running: &RunningServer, params: &Params, order: &Order) -> Outcome {
    let apps = running.server.apps();
    message(match one_or_all(running, params)? {
        Some(app) => app.order(order.clone()),
        None => apps.each(apps.all(), "\n", |app| app.order(order.clone())),
    })
}

/// The application that `app` names; `None` if it is absent, for all.
pub fn one_or_all(running: &RunningServer, params: &Params) -> Result<Option<Arc<App>>, ApiError> {
    let Some(name) = params.text("app") else { return Ok(None) };
    running.server.apps().find(name).map(Some).map_err(ApiError::missing)
}

fn the_one(running: &RunningServer, params: &Params) -> Result<Arc<App>, ApiError> {
    if let Some(app) = one_or_all(running, params)? {
        return Ok(app);
    }
    match running.server.apps().all() {
        [app] => Ok(app.clone()),
        all => {
            let number = count(all.len(), "application");
            let names = running.server.apps().names();
            Err(ApiError::wrong(format!(
                "there are {number}: say which one with app, on the command line with --app: {names}"
            )))
        }
    }
}

/// The answer to an order: its message, or the error of a failed one.
fn message(outcome: Result<String, String>) -> Outcome {
    outcome.map(|message| json!({ "message": message })).map_err(ApiError::failed)
}
