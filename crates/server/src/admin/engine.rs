//! The engine behind the admin listener and the control socket: no Ruby, but page, metrics, health and control API. An
//! answer may take as long as a reload, so it is made in a thread that may block.

use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, Input, Reply, Request, Response, Status, reply};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use tokio::runtime::Handle;

use crate::admin::answer::{ApiError, json_of, respond, with};
use crate::admin::guard::Guard;
use crate::admin::metrics;
use crate::admin::page;
use crate::admin::place::Place;
use crate::admin::prometheus;
use crate::admin::routes::{self, Access};
use crate::admin::state::AdminState;

const TEXT: &str = "text/plain; charset=utf-8";

/// The engine of one listener: the control socket or the admin listener.
pub struct AdminEngine {
    pub state: Arc<AdminState>,
    pub access: Access,
    pub guard: Guard,
    pub place: Place,
    /// A runtime with threads that may block.
    pub runtime: Handle,
}

impl Engine for AdminEngine {
    fn call(&self, request: Request) -> Reply {
        let (responder, reply) = reply::pair();
        let state = self.state.clone();
        let access = self.access;
        let guard = self.guard.clone();
        let place = self.place.clone();
        drop(self.runtime.spawn_blocking(move || {
            let response = match request.path.as_str() {
                // Health checks are often programs without a token, and these answers reveal nothing else.
                "/healthz" => respond(StatusCode::OK, TEXT, "alive\n"),
                "/readyz" => ready(&state, access, &place),
                _ => answer(&state, access, &guard, &request),
            };
            responder.send(Ok(response), Duration::ZERO);
        }));
        reply
    }

    /// There is no application whose secrets they could show.
    fn shows_faults(&self, _: Option<&str>) -> bool {
        true
    }

    fn status(&self) -> Status {
        Status::default()
    }

    fn close(&self) {}
}

fn answer(state: &AdminState, access: Access, guard: &Guard, request: &Request) -> Response {
    let path = request.path.as_str();
    if let Err((is_token, why)) = guard.check(&request.headers) {
        return refused(is_token, why);
    }
    let body = match &request.input {
        Input::Memory(bytes) => bytes.as_ref(),
        Input::Empty => &[],
        Input::File(..) | Input::Stream(_) => return json_of(Err(ApiError::wrong("the body is too long"))),
    };
    if let Some(outcome) = routes::answer(state, access, request, body) {
        return json_of(outcome);
    }
    let what = match path {
        "/metrics" => metrics_of(state, &request.headers),
        _ => page::file(path),
    };
    match what {
        Some(response) if [Method::GET, Method::HEAD].contains(&request.method) => response,
        Some(_) => {
            let why = format!("{path}: say GET, not {}", request.method);
            json_of(Err(ApiError::wrong_method("GET, HEAD", why)))
        }
        None => json_of(Err(ApiError::missing(format!("{path}: there is nothing here; GET /v1 tells what there is")))),
    }
}

/// `/readyz`, for load balancers: 200 if the server takes requests, else 503.
fn ready(state: &AdminState, access: Access, place: &Place) -> Response {
    let unready = match state.running() {
        // The end of this process is not that of the server: another one has the same address, and takes requests.
        Some(running) if access == Access::Admin && place.is_anothers(&running.server) => None,
        Some(running) => running.server.unready(),
        None => Some("starting"),
    };
    let status = if unready.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    respond(status, TEXT, format!("{}\n", unready.unwrap_or("ready")))
}

fn refused(is_token: bool, why: &str) -> Response {
    if !is_token {
        return json_of(Err(ApiError::refused(why)));
    }
    let response = json_of(Err(ApiError::new(StatusCode::UNAUTHORIZED, why)));
    with(response, header::WWW_AUTHENTICATE, "Basic realm=\"foolsgold\", charset=\"UTF-8\"")
}

/// `/metrics`: OpenMetrics for clients that accept it, else Prometheus's text format.
fn metrics_of(state: &AdminState, headers: &HeaderMap) -> Option<Response> {
    let takes = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains(prometheus::OPEN_METRICS));
    let is_open = headers.get_all(header::ACCEPT).iter().any(takes);
    let (media_type, text) = prometheus::write(metrics::families(state), is_open);
    Some(respond(StatusCode::OK, media_type, text))
}
