//! The probe: a request that new code must answer before it gets those of clients.

use std::io;
use std::time::{Duration, Instant};

use engine::{Culprit, Engine, Fault, Request, Scheme, brief};
use http::header::{self, HeaderValue};
use http::{Method, StatusCode};
use tracing::warn;

use crate::apps::router;
use crate::config::app_settings::AppSettings;

/// The health check of Rails, and the path that every application has.
const USUAL: [&str; 2] = ["/up", "/"];

/// Sends the configured probe. The response must come within `time`, with a status from 200 to 399.
pub fn ask(engine: &dyn Engine, settings: &AppSettings, path: &str, time: Duration) -> Result<(), String> {
    match with_tls(engine, settings, path, time) {
        ProbeResult::Status(status, _) if status.is_success() || status.is_redirection() => Ok(()),
        ProbeResult::Status(status, _) => {
            let status = status.as_u16();
            Err(format!("the probe failed: GET {path} was answered with {status}; a status from 200 to 399 is wanted"))
        }
        other => Err(format!("the probe failed: GET {path} {}", other.in_words())),
    }
}

/// One side of a comparison: an engine and its settings.
pub type Side<'a> = (&'a dyn Engine, &'a AppSettings);

/// Probes the new code with `/up`, if that has a response from 200 to 399, else with `/`. New code that fails there is
/// refused, unless the old code fails, too. The old code is asked only then; `None` if it cannot be.
pub fn compare((engine, settings): Side<'_>, old: Option<Side<'_>>, time: Duration) -> Result<(), String> {
    for path in USUAL {
        let new = with_tls(engine, settings, path, time);
        match &new {
            ProbeResult::Status(status, _) if status.is_success() || status.is_redirection() => return Ok(()),
            // The path does not exist, or needs a login.
            ProbeResult::Status(status, _) if !status.is_server_error() => {}
            _ => {
                let before = old.map(|(engine, settings)| with_tls(engine, settings, path, time));
                return judge(path, &new, before.as_ref());
            }
        }
    }
    Ok(())
}

fn judge(path: &str, new: &ProbeResult, old: Option<&ProbeResult>) -> Result<(), String> {
    // A new foolsgold.toml would be read in place of another server's file.
    let skip = "with probe = \"none\" in foolsgold.toml (with --probe none at the start, where the server reads \
                another file) it asks for nothing, with a path for something else";
    let new = new.in_words();
    match old {
        Some(old) if old.is_broken() => {
            warn!(target: "server", "GET {path} of the new code {new}; that of the old code {}, too", old.in_words());
            Ok(())
        }
        Some(old) => {
            Err(format!("GET {path} of the new code {new}, and that of the old code {}; {skip}", old.in_words()))
        }
        None => Err(format!("GET {path} of the new code {new}; {skip}")),
    }
}

/// Outcome of a probe.
enum ProbeResult {
    /// The status, and the value of Location.
    Status(StatusCode, Option<String>),
    Fault(Fault),
    Late(Duration),
    Unheard(io::Error),
}

impl ProbeResult {
    fn in_words(&self) -> String {
        match self {
            ProbeResult::Status(status, _) => format!("was answered with {}", status.as_u16()),
            ProbeResult::Fault(fault) => format!("had no answer: {fault}"),
            ProbeResult::Late(time) => format!("had no answer within {}", brief(*time)),
            ProbeResult::Unheard(error) => format!("could not be waited for: {error}"),
        }
    }

    /// Whether the application does not work. One that is only busy may work.
    fn is_broken(&self) -> bool {
        match self {
            ProbeResult::Status(status, _) => status.is_server_error(),
            ProbeResult::Fault(fault) => fault.culprit() != Culprit::Load,
            ProbeResult::Late(_) => true,
            ProbeResult::Unheard(_) => false,
        }
    }
}

/// The response over TLS, if the application redirects to that: behind a proxy that ends TLS it gets nothing else.
fn with_tls(engine: &dyn Engine, settings: &AppSettings, path: &str, time: Duration) -> ProbeResult {
    match answer(engine, settings, path, Scheme::Http, time) {
        ProbeResult::Status(status, Some(location)) if status.is_redirection() && location.starts_with("https://") => {
            answer(engine, settings, path, Scheme::Https, time)
        }
        answer => answer,
    }
}

fn answer(engine: &dyn Engine, settings: &AppSettings, path: &str, scheme: Scheme, time: Duration) -> ProbeResult {
    let reply = engine.call(Request { scheme, ..request(settings, path, time) });
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => return ProbeResult::Unheard(error),
    };
    match runtime.block_on(async { tokio::time::timeout(time, reply).await }) {
        Err(_) => ProbeResult::Late(time),
        Ok(answer) => match answer.result {
            Err(fault) => ProbeResult::Fault(fault),
            Ok(response) => {
                let location = response.head.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
                ProbeResult::Status(response.head.status, location.map(str::to_owned))
            }
        },
    }
}

/// A GET as a client of this machine would send it.
pub fn request(settings: &AppSettings, path: &str, time: Duration) -> Request {
    let due = Instant::now() + time;
    let target = format!("{}{path}", settings.prefix);
    let mut request = Request {
        id: "probe".to_owned(),
        deadline: due,
        queue_deadline: due,
        is_own: true,
        ..Request::sample(Method::GET, &target)
    };
    let host = settings.host.as_deref().unwrap_or("localhost");
    let host = HeaderValue::from_str(host).unwrap_or(HeaderValue::from_static("localhost"));
    request.headers.insert(header::HOST, host);
    request.headers.insert(header::USER_AGENT, HeaderValue::from_static(engine::env::SOFTWARE));
    request.headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    router::mount(&mut request, &settings.prefix);
    request
}
