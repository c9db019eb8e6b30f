//! Routes a request to its application: by host first, then by the longest prefix of the path.

use std::sync::Arc;

use bytes::Bytes;
use engine::env::split_authority;
use engine::{Body, Engine, Meter, Reply, Request, Response, ResponseHead, Status};
use http::{HeaderValue, StatusCode, header};

use crate::apps::app::App;

/// Several applications behind one front.
pub struct Router(Vec<AppRoute>);

/// Host and prefix of an application.
struct AppRoute {
    host: Option<String>,
    prefix: String,
    app: Arc<App>,
    /// Name in the log.
    name: Arc<str>,
}

impl Router {
    /// Routes to all these applications.
    pub fn new(apps: &[Arc<App>]) -> Router {
        let mut routes: Vec<AppRoute> = apps.iter().map(AppRoute::to).collect();
        // The most specific first, so that the first match is the right one.
        routes.sort_by_key(|route| std::cmp::Reverse((route.host.is_some(), route.prefix.len())));
        Router(routes)
    }

    fn find(&self, request: &Request) -> Option<&AppRoute> {
        let host = host(request);
        self.0.iter().find(|route| route.fits(host, &request.path))
    }
}

impl AppRoute {
    fn to(app: &Arc<App>) -> AppRoute {
        let current = app.current();
        let settings = &current.settings;
        AppRoute {
            host: settings.host.clone(),
            prefix: settings.prefix.clone(),
            app: app.clone(),
            name: app.name().into(),
        }
    }

    fn fits(&self, host: &str, path: &str) -> bool {
        self.host.as_deref().is_none_or(|own| own.eq_ignore_ascii_case(host)) && is_below(path, &self.prefix)
    }
}

/// The requested host, without port and without a final dot.
fn host(request: &Request) -> &str {
    let authority = request.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let (name, _) = split_authority(authority);
    name.strip_suffix('.').unwrap_or(name)
}

/// Whether a path is `/shop` or below it, but not `/shopping`.
fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| prefix.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// Sets SCRIPT_NAME to the application's prefix, if the path is below it.
pub fn mount(request: &mut Request, prefix: &str) {
    if is_below(&request.path, prefix) {
        request.script_length = prefix.len();
    }
}

impl Engine for Router {
    fn call(&self, mut request: Request) -> Reply {
        match self.find(&request) {
            Some(route) => {
                request.script_length = route.prefix.len();
                route.app.call(request)
            }
            None => Reply::ready(Ok(nothing())),
        }
    }

    fn app_of(&self, request: &Request) -> Option<Arc<str>> {
        self.find(request).filter(|_| self.0.len() > 1).map(|route| route.name.clone())
    }

    fn meter_of(&self, app: Option<&str>) -> Option<Arc<Meter>> {
        let mut named = self.0.iter().filter(|route| app.is_none_or(|app| *route.name == *app));
        let route = named.next()?;
        if named.next().is_some() { None } else { route.app.meter_of(app) }
    }

    fn shows_faults(&self, app: Option<&str>) -> bool {
        let is_asked_for = |route: &&AppRoute| app.is_none_or(|app| *route.name == *app);
        self.0.iter().filter(is_asked_for).all(|route| route.app.shows_faults(app))
    }

    fn status(&self) -> Status {
        self.0.iter().map(|route| route.app.status()).fold(Status::default(), |sum, one| Status {
            capacity: sum.capacity + one.capacity,
            idle: sum.idle + one.idle,
            busy: sum.busy + one.busy,
            queued: sum.queued + one.queued,
            served: sum.served + one.served,
            restarts: sum.restarts + one.restarts,
        })
    }

    fn close(&self) {
        self.0.iter().for_each(|route| route.app.close());
    }

    fn unfinished(&self) -> usize {
        self.0.iter().map(|route| route.app.unfinished()).sum()
    }
}

fn nothing() -> Response {
    let mut head = ResponseHead::default();
    head.status = StatusCode::NOT_FOUND;
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Response { head, body: Body::Full(Bytes::from_static(b"404 Not Found: no application is served here\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    #[test]
    fn a_prefix_holds_for_itself_and_what_is_below_it() {
        for (path, prefix, is) in [
            ("/shop", "/shop", true),
            ("/shop/", "/shop", true),
            ("/shop/a", "/shop", true),
            ("/shopping", "/shop", false),
            ("/", "/shop", false),
            ("/any", "", true),
            ("*", "", true),
            ("*", "/shop", false),
        ] {
            assert_eq!(is_below(path, prefix), is, "{path} below {prefix}");
        }
    }

    #[test]
    fn hosts_are_compared_by_name_alone() {
        for (written, name) in
            [("a.example", "a.example"), ("a.example:81", "a.example"), ("A.example.:81", "A.example")]
        {
            let mut request = Request::sample(Method::GET, "/");
            request.headers.insert(header::HOST, HeaderValue::from_static(written));
            assert_eq!(host(&request), name);
        }
        assert_eq!(host(&Request::sample(Method::GET, "/")), "");
    }
}
