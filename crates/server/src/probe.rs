//! The request that new code must answer before it gets those of clients.

use std::time::{Duration, Instant};

use engine::{Engine, Input, Peer, Request, Scheme, brief};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Version};

use crate::app_settings::AppSettings;
use crate::router;

/// Asks for this path, as a client of this machine would; the answer must come within the time.
pub fn ask(engine: &dyn Engine, settings: &AppSettings, path: &str, time: Duration) -> Result<(), String> {
    let told = |why: String| Err(format!("the probe failed: GET {path} {why}"));
    let reply = engine.call(request(settings, path, time));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return told(format!("could not be waited for: {error}")),
    };
    match runtime.block_on(async { tokio::time::timeout(time, reply).await }) {
        Err(_) => told(format!("had no answer within {}", brief(time))),
        Ok(answer) => match answer.result {
            Err(fault) => told(format!("had no answer: {fault}")),
            Ok(response) if response.head.status.is_success() || response.head.status.is_redirection() => Ok(()),
            Ok(response) => {
                let status = response.head.status.as_u16();
                told(format!("was answered with {status}; a status from 200 to 399 is wanted"))
            }
        },
    }
}

/// A GET as a client of this machine would send it.
pub fn request(settings: &AppSettings, path: &str, time: Duration) -> Request {
    let now = Instant::now();
    let host = settings.host.as_deref().unwrap_or("localhost");
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_str(host).unwrap_or(HeaderValue::from_static("localhost")));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(engine::env::SOFTWARE));
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    let target = format!("{}{path}", settings.prefix);
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut request = Request {
        id: "probe".to_owned(),
        method: Method::GET,
        path: path.to_owned(),
        script_length: 0,
        query: query.to_owned(),
        target: target.clone(),
        version: Version::HTTP_11,
        headers,
        scheme: Scheme::Http,
        peer: Peer::default(),
        input: Input::Empty,
        received: now,
        complete: now,
        deadline: now + time,
        queue_deadline: now + time,
        is_own: true,
        hints: None,
        takeover: None,
    };
    router::mount(&mut request, &settings.prefix);
    request
}
