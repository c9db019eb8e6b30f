//! The control API: a table of its routes, and the dispatch of requests.

use engine::snapshot::Past;
use engine::{Order, Request};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::admin::answer::{ApiError, Outcome};
use crate::admin::history::Step;
use crate::admin::orders;
use crate::admin::params::Params;
use crate::admin::state::{AdminState, RunningServer};
use crate::admin::view::{ServerView, StatusView};
use crate::apps::generation::Generation;

/// A route of the control API.
pub struct Route {
    pub method: &'static str,
    /// Path; `{}` is a worker's number.
    pub path: &'static str,
    /// Names of its parameters.
    pub takes: &'static [&'static str],
    pub help: &'static str,
    answer: Handler,
    /// Only on the control socket: it changes something, or is expensive.
    is_order: bool,
}

const fn look(path: &'static str, takes: &'static [&'static str], help: &'static str, answer: Handler) -> Route {
    Route { method: "GET", path, takes, help, answer, is_order: false }
}

const fn order(path: &'static str, takes: &'static [&'static str], help: &'static str, answer: Handler) -> Route {
    Route { method: "POST", path, takes, help, answer, is_order: true }
}

type Handler = fn(&AdminState, &RunningServer, &Params) -> Outcome;

const APP: &[&str] = &["app"];

/// All routes.
pub static ROUTES: [Route; 17] = [
    look("/v1", &[], "the routes of this API", |_, _, _| Ok(index())),
    look("/v1/status", APP, "the server and its applications, worker by worker", status),
    look("/v1/workers", APP, "the workers and what each of them runs", workers),
    look("/v1/recorder", APP, "running requests, and the last slow, failed and refused ones", recorder),
    look("/v1/deploys", APP, "the last deploys and their outcomes", deploys),
    look("/v1/history", &["app", "step", "from"], "numbers of each second, or minute, of the past", history),
    Route {
        is_order: true,
        ..look("/v1/workers/{}/backtraces", APP, "backtraces of the threads of a worker", orders::backtraces)
    },
    order("/v1/workers/{}/kill", &["app", "now"], "stop a worker, when it has finished or now", orders::kill),
    order("/v1/reload", APP, "load new code and settings, and switch to them if they work", orders::reload),
    order("/v1/restart", &[], "start the program again, with the same sockets", orders::restart),
    order("/v1/recycle", APP, "replace the workers by new ones with the same code", |_, running, params| {
        orders::order(running, params, &Order::Recycle)
    }),
    order("/v1/scale", &["app", "workers", "min", "max"], "set the number of workers", orders::scale),
    order("/v1/pause", APP, "make requests wait", |_, running, params| orders::order(running, params, &Order::Pause)),
    order("/v1/resume", APP, "end a pause", |_, running, params| orders::order(running, params, &Order::Resume)),
    order("/v1/drain", &[], "shut down after load balancers have noticed", orders::drain),
    order("/v1/stop", &["now"], "shut down, when running requests are finished or now", orders::stop),
    order("/v1/reopen-logs", &[], "reopen the log files", |state, _, _| orders::reopen_logs(state)),
];

/// The access of a request, by the listener that it came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The control socket: full access for users who may open it.
    Control,
    /// The admin listener: read-only.
    Admin,
}

/// The response of the API to a request; `None` if the path is not the API's.
pub fn answer(state: &AdminState, access: Access, request: &Request, body: &[u8]) -> Option<Outcome> {
    let path = request.path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(&request.path);
    let path = if path == "/status.json" { "/v1/status" } else { path };
    if path != "/v1" && !path.starts_with("/v1/") {
        return None;
    }
    Some(find(path, &request.method, access).and_then(|(route, worker)| {
        let mut params = Params::read(&request.query, body)?;
        params.only(route.takes)?;
        if let Some(worker) = worker {
            params.set("worker", worker);
        }
        let Some(running) = state.running() else { return starting(state, route, &params) };
        (route.answer)(state, running, &params)
    }))
}

/// The response while applications are loaded: status, shutdown and the log files only.
fn starting(state: &AdminState, route: &Route, params: &Params) -> Outcome {
    match route.path {
        "/v1" => Ok(index()),
        "/v1/status" => json_value(StatusView { server: ServerView::starting(state), apps: Vec::new() }),
        "/v1/drain" | "/v1/stop" => {
            params.is("now")?;
            state.call_off(None);
            // It may just have begun to serve, and not have known of this order when it looked for one.
            match state.running() {
                Some(running) => (route.answer)(state, running, params),
                None => Ok(json!({ "message": "ending; it has not begun to serve" })),
            }
        }
        "/v1/reopen-logs" => orders::reopen_logs(state),
        _ => {
            let why = "the server is starting: its applications are being loaded";
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, why))
        }
    }
}

/// The route for path and method, and the worker number in the path.
fn find<'a>(path: &'a str, method: &Method, access: Access) -> Result<(&'static Route, Option<&'a str>), ApiError> {
    let at_path: Vec<_> =
        ROUTES.iter().filter_map(|route| matched(route.path, path).map(|worker| (route, worker))).collect();
    if at_path.is_empty() {
        return Err(ApiError::missing(format!("{path}: there is nothing here; GET /v1 tells what there is")));
    }
    let is_meant = |route: &Route| method == route.method || (*method == Method::HEAD && route.method == "GET");
    let Some(found) = at_path.iter().find(|(route, _)| is_meant(route)) else {
        let right = at_path[0].0.method;
        let allowed = if right == "GET" { "GET, HEAD" } else { right };
        return Err(ApiError::wrong_method(allowed, format!("{path}: say {right}, not {method}")));
    };
    if found.0.is_order && access == Access::Admin {
        return Err(ApiError::refused(format!("{path}: only the control socket takes orders; here one can only look")));
    }
    Ok(*found)
}

/// Whether a path matches a route, and the part in place of `{}`.
fn matched<'a>(route: &str, path: &'a str) -> Option<Option<&'a str>> {
    let Some((before, after)) = route.split_once("{}") else { return (route == path).then_some(None) };
    let middle = path.strip_prefix(before)?.strip_suffix(after)?;
    (!middle.is_empty() && !middle.contains('/')).then_some(Some(middle))
}

fn index() -> Value {
    let row = |route: &Route| {
        let path = route.path.replace("{}", "N");
        json!({ "method": route.method, "path": path, "takes": route.takes, "help": route.help })
    };
    json!({ "routes": ROUTES.iter().map(row).collect::<Vec<_>>() })
}

fn status(state: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    let app = orders::one_or_all(running, params)?;
    json_value(StatusView::look(state, running, app.as_ref().map(|app| app.name())))
}

/// A JSON array with one row for each application, made by `of`.
fn each(running: &RunningServer, params: &Params, of: impl Fn(&crate::apps::app::App) -> Outcome) -> Outcome {
    let one = orders::one_or_all(running, params)?;
    let apps = running.server.apps().all().iter().filter(|app| one.as_ref().is_none_or(|one| one.name() == app.name()));
    let rows: Result<Vec<Value>, ApiError> = apps.map(|app| of(app)).collect();
    Ok(json!({ "apps": rows? }))
}

fn workers(_: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    each(running, params, |app| {
        let snapshot = app.engine().snapshot();
        Ok(json!({ "name": app.name(), "pool": snapshot.pool, "workers": snapshot.workers, "molds": snapshot.molds }))
    })
}

fn recorder(_: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    each(running, params, |app| {
        let current = app.current();
        let mut running = runs(&current, true)?;
        for old in app.older_than(&current) {
            running.extend(runs(&old, false)?);
        }
        let engine::Recorded { slow, failed, refused } = current.engine().recorded();
        let [slow, failed, refused] = [slow, failed, refused].map(answered);
        Ok(json!({ "name": app.name(), "running": running, "slow": slow, "failed": failed, "refused": refused }))
    })
}

/// The requests that run in a generation. Those in an old one have no worker's number: it may be that of another worker
/// now.
fn runs(generation: &Generation, is_current: bool) -> Result<Vec<Value>, ApiError> {
    let mut rows = Vec::new();
    for worker in generation.engine().snapshot().workers {
        for run in &worker.running {
            let mut row = json_value(run)?;
            row["worker"] = json!(is_current.then_some(worker.id));
            row["pid"] = json!(worker.pid);
            row["generation"] = json!(generation.number);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Adds the status that clients got for requests that the application did not answer.
fn answered(mut requests: Vec<Past>) -> Vec<Past> {
    for request in requests.iter_mut().filter(|request| request.status.is_none()) {
        request.status = Some(front::status_of(&request.fault).as_u16());
    }
    requests
}

fn deploys(_: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    each(running, params, |app| Ok(json!({ "name": app.name(), "deploys": app.deploys() })))
}

fn history(state: &AdminState, running: &RunningServer, params: &Params) -> Outcome {
    let word = params.text("step").unwrap_or("second");
    let step = Step::named(word).ok_or_else(|| ApiError::wrong(format!("step: {word:?} must be second or minute")))?;
    let from = params.number("from")?.unwrap_or(0);
    each(running, params, |app| json_value(state.history.columns(app.name(), step, from)))
}

fn json_value(view: impl serde::Serialize) -> Outcome {
    serde_json::to_value(view).map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::admin::state::ServerFolders;
    use crate::control::handle::without_apps;

    fn found(path: &str, method: Method, access: Access) -> Result<(&'static str, Option<&str>), ApiError> {
        find(path, &method, access).map(|(route, worker)| (route.path, worker))
    }

    #[test]
    fn a_path_leads_to_its_row() {
        assert_eq!(found("/v1/status", Method::GET, Access::Admin), Ok(("/v1/status", None)));
        assert_eq!(found("/v1/status", Method::HEAD, Access::Admin), Ok(("/v1/status", None)));
        let kill = found("/v1/workers/12/kill", Method::POST, Access::Control);
        assert_eq!(kill, Ok(("/v1/workers/{}/kill", Some("12"))));
        assert_eq!(found("/v1/workers//kill", Method::POST, Access::Control).unwrap_err().status, 404);
        assert_eq!(found("/v1/workers/1/2/kill", Method::POST, Access::Control).unwrap_err().status, 404);
        for (path, method, allowed) in
            [("/v1/reload", Method::GET, "POST"), ("/v1/status", Method::DELETE, "GET, HEAD")]
        {
            let error = found(path, method, Access::Control).unwrap_err();
            assert_eq!((error.status.as_u16(), error.allowed), (405, allowed), "{path}");
        }
        assert_eq!(found("/v1/nothing", Method::GET, Access::Control).unwrap_err().status, 404);
    }

    #[test]
    fn a_shutdown_that_is_ordered_at_the_moment_at_which_the_server_begins_to_serve_is_carried_out() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for path in ["/v1/stop", "/v1/drain"] {
            let state = AdminState::new(ServerFolders::default(), Arc::default(), Arc::default());
            let (route, _) = find(path, &Method::POST, Access::Control).unwrap();
            // Between the look for a server and the order.
            let server = without_apps(&runtime);
            state.open(RunningServer { server: server.clone(), counts: Arc::default(), listeners: Vec::new() });
            assert!(!state.is_unwanted() && !server.is_draining());
            let answer = starting(&state, route, &Params::default()).unwrap();
            assert!(server.is_draining(), "{path}: {answer}");
        }
    }

    #[test]
    fn the_admin_listener_takes_no_orders() {
        for route in ROUTES.iter().filter(|route| route.is_order) {
            let path = route.path.replace("{}", "1");
            let method: Method = route.method.parse().unwrap();
            assert_eq!(find(&path, &method, Access::Admin).err().map(|error| error.status.as_u16()), Some(403));
        }
        assert!(ROUTES.iter().all(|route| route.is_order || route.method == "GET"));
    }

    #[test]
    fn the_page_about_the_api_names_every_route_and_what_it_takes() {
        let page = include_str!("../../../../docs/control.md");
        for route in &ROUTES {
            let path = format!("`{} {}`", route.method, route.path.replace("{}", "N"));
            let row = page.lines().find(|line| line.contains(&path));
            let row = row.unwrap_or_else(|| panic!("docs/control.md does not name {path}"));
            for name in route.takes {
                assert!(row.contains(&format!("`{name}`")), "docs/control.md does not say that {path} takes {name}");
            }
        }
    }
}
