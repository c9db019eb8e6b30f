//! The context of a request in the front, and the request that the engine gets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::snapshot::Past;
use engine::{Answer, BodyTally, Duplex, Fault, Hints, Input, Reply, Request, Response, Scheme, Tally};
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Uri, Version};

use crate::connection::link::Link;
use crate::connection::request_epoch::RequestEpoch;
use crate::connection::upgraded::Upgraded;
use crate::log::body_fault::{BodyRequest, FaultCount};
use crate::log::fault_log::RequestIdentity;
use crate::log::log_line;
use crate::log::record::Record;
use crate::parse::websocket::{self, Tracker};
use crate::proxy::forwarded::{self, ForwardedInfo};
use crate::proxy::request_id::RequestId;
use crate::proxy::sanitize::{Allowed, sanitize};
use crate::request::form::{Form, wants_html};

/// Context of a request from its head to its response.
pub(crate) struct RequestContext {
    pub(crate) link: Arc<Link>,
    pub(crate) is_head: bool,
    pub(crate) form: Form,
    pub(crate) record: Option<Box<Record>>,
    scheme: Scheme,
    id: RequestId,
    method: Method,
    uri: Uri,
    waited: Duration,
    /// The count of the application's response, which is open until the response is made, or a fault found.
    tally: Tally,
    /// Name of the application, if the engine has several.
    app: Option<Arc<str>>,
    dialect: Dialect,
}

/// What a request speaks, or asks to speak. One byte: a context is moved for each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// HTTP/1.0, which knows no chunks.
    Http10,
    Http11,
    /// HTTP/1.1 with a request for a WebSocket.
    WebSocket,
}

impl RequestContext {
    pub(crate) fn new(link: Arc<Link>, head: &mut Parts) -> RequestContext {
        link.head_parsed();
        // A server must ignore Upgrade in a request of HTTP/1.0 (RFC 9110 section 7.8).
        if head.version == Version::HTTP_10 {
            head.headers.remove(header::UPGRADE);
        }
        let forwarded_info = forwarded_info(&link, &mut head.headers);
        let id = forwarded_info.id.unwrap_or_else(RequestId::new);
        let record = link.common.settings.access_log.is_some().then(|| {
            Box::new(Record {
                received: link.received(),
                complete: link.completed(),
                connection: link.clone(),
                method: head.method.clone(),
                target: head.uri.clone(),
                id: id.clone(),
                status: 0,
                bytes: 0,
                queued: Duration::ZERO,
                fault: "",
                reason: "",
                app: None,
                is_over: false,
                faults: FaultCount::default(),
            })
        });
        let is_head = head.method == Method::HEAD;
        let form = match wants_html(&head.headers) {
            _ if link.common.settings.json_errors => Form::Json,
            true => Form::Html,
            false => Form::Text,
        };
        let dialect = match head.version {
            Version::HTTP_10 => Dialect::Http10,
            _ if websocket::is_asked_for(&head.headers) => Dialect::WebSocket,
            _ => Dialect::Http11,
        };
        let method = head.method.clone();
        let uri = head.uri.clone();
        RequestContext {
            is_head,
            form,
            link,
            record,
            scheme: forwarded_info.scheme,
            id,
            method,
            uri,
            waited: Duration::ZERO,
            tally: Tally::default(),
            app: None,
            dialect,
        }
    }

    /// Whether it is a request of HTTP/1.0, which knows no chunks.
    pub(crate) fn is_http_10(&self) -> bool {
        self.dialect == Dialect::Http10
    }

    pub(crate) fn id(&self) -> &str {
        self.id.as_str()
    }

    /// Value of the response's `X-Request-Id`.
    pub(crate) fn id_header(&self) -> Option<HeaderValue> {
        HeaderValue::from_maybe_shared(Bytes::copy_from_slice(self.id().as_bytes())).ok()
    }

    /// Identity of the request, for the log.
    pub(crate) fn identity(&self) -> RequestIdentity {
        let (method, path) = (self.method.to_string(), log_line::escaped(self.uri.path()));
        RequestIdentity { id: self.id().to_owned(), method, path, app: self.app.clone() }
    }

    /// The request for the body of its response. Called before the response begins.
    pub(crate) fn body_request(&self) -> Arc<BodyRequest> {
        Arc::new(BodyRequest::new(self.identity(), self.link.completed(), self.waited))
    }

    /// Hands the request to the engine; returns its reply, the time when it was complete, and its deadline. A method
    /// and not part of the `answer` future, which would reserve space for the request.
    pub(crate) fn call(&mut self, head: Parts, input: Input) -> (Reply, Instant, Instant) {
        let request = self.request(head, input);
        let (complete, deadline) = (request.complete, request.deadline);
        if let Some(record) = &mut self.record {
            record.complete = complete;
        }
        let engine = &self.link.common.engine;
        let app = engine.app_of(&request);
        let reply = engine.call(request);
        self.set_app(app);
        (reply, complete, deadline)
    }

    fn set_app(&mut self, app: Option<Arc<str>>) {
        if let Some(record) = &mut self.record {
            record.app.clone_from(&app);
        }
        self.app = app;
    }

    /// Time that the request waited for a worker.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }

    /// Keeps how long the request waited, and the open count of its response. Returns the response or the fault.
    pub(crate) fn answered(&mut self, answer: Box<Answer>) -> Result<Response, Fault> {
        let Answer { result, queued, tally, .. } = *answer;
        self.waited = queued;
        self.tally = tally;
        if let Some(record) = &mut self.record {
            record.queued = queued;
        }
        result
    }

    /// The answer to a request whose engine has not answered in time: this fault, or the engine's answer if it has just
    /// come.
    #[cold]
    pub(crate) fn give_up(&self, reply: Reply, fault: Fault) -> Box<Answer> {
        // Without a meter of the application, the engine counts the request when it ends it.
        let meter = self.link.common.engine.meter_of(self.app.as_deref()).unwrap_or_default();
        reply.give_up(fault, self.link.completed(), &meter, || self.past())
    }

    /// Counts a fault that was found in the application's response; what the engine has counted stays.
    #[cold]
    pub(crate) fn failed(&mut self, fault: &Fault) {
        let ran = self.link.completed().elapsed().saturating_sub(self.waited);
        let tally = std::mem::take(&mut self.tally);
        tally.fail(fault, self.waited, ran, || self.past());
    }

    /// Identity of the request, for the recorder.
    fn past(&self) -> Past {
        let (id, method, path) = (self.id().to_owned(), self.method.to_string(), self.uri.path().to_owned());
        Past { id, method, path, ..Past::default() }
    }

    /// Counts the application's response by its status. Returns the count of a fault that breaks its body off.
    pub(crate) fn begin_body(&mut self) -> BodyTally {
        std::mem::take(&mut self.tally).begin_body()
    }

    /// Counts and records the fault for which the body of a request was not accepted, and notes its application for the
    /// log.
    #[cold]
    pub(crate) fn refused(&mut self, head: Parts, fault: &Fault) {
        let request = self.request(head, Input::Empty);
        let engine = &self.link.common.engine;
        let app = engine.app_of(&request);
        if let Some(meter) = engine.meter_of(app.as_deref()) {
            let status = match fault {
                Fault::BodyMalformed(_) => Some(self.link.body_refusal().status.as_u16()),
                _ => None,
            };
            meter.refuse(fault, || Past { status, ..self.past() });
        }
        self.set_app(app);
    }

    /// The connection, which the application has taken over, so that it leaves HTTP.
    #[cold]
    pub(crate) fn taken_over(&mut self, duplex: Duplex, reply: Option<Reply>) -> Upgraded {
        self.link.end_epoch();
        // This context is kept until hyper has written everything, and what the application did is to be counted now.
        drop(std::mem::take(&mut self.tally));
        let tracker = if self.dialect == Dialect::WebSocket { Tracker::from_head() } else { Tracker::other() };
        Upgraded { head: Bytes::new(), duplex, reply, record: self.record.take(), tracker }
    }

    fn request(&self, head: Parts, input: Input) -> Request {
        let settings = &self.link.common.settings;
        let complete = self.link.completed();
        let (target, path, query) = target(&head.uri);
        let mut headers = head.headers;
        make_length_plain(&mut headers);
        // The authority of an absolute target replaces the Host header (RFC 9112 section 3.2.2).
        if let Some(authority) = head.uri.authority()
            && let Ok(value) = HeaderValue::from_str(authority.as_str())
        {
            headers.insert(header::HOST, value);
        }
        let peer = settings.remote_address.of(&self.link.peer, self.link.is_trusted, &headers);
        let epoch = || RequestEpoch::new(&self.link);
        let hints = (head.version == Version::HTTP_11).then(|| Arc::new(epoch()) as Arc<dyn Hints>);
        Request {
            id: self.id().to_owned(),
            method: head.method,
            target,
            path,
            script_length: 0,
            query,
            version: head.version,
            headers,
            scheme: settings.scheme.unwrap_or(self.scheme),
            peer,
            input,
            received: self.link.received(),
            head_complete: self.link.head_ended(),
            complete,
            deadline: complete + settings.limits.request_time,
            queue_deadline: complete + settings.limits.queue_wait,
            is_own: false,
            hints,
            takeover: Some(Box::new(epoch())),
        }
    }
}

/// Removes headers that must not reach the application, and returns what a trusted proxy has forwarded.
fn forwarded_info(link: &Link, headers: &mut HeaderMap) -> ForwardedInfo {
    let settings = &link.common.settings;
    let allowed = Allowed { proxy_headers: link.is_trusted, underscores: settings.passes_underscores };
    let found = sanitize(headers, allowed);
    let has_dropped = !found.distrusted.is_empty() || !found.underscored.is_empty();
    if has_dropped && !settings.trusted.is_empty() {
        let peer = link.peer.remote.map(|remote| remote.ip().to_canonical());
        link.common.notices.tell(&found, peer, &settings.trusted, settings.passes_underscores);
    }
    if found.has_proxy_headers { forwarded::read(headers) } else { ForwardedInfo::default() }
}

/// The whole target, its path and its query. An absolute form without a path means the root (RFC 9110 section 4.2.3),
/// except for OPTIONS, where it means the server (RFC 9112 section 3.2.4); the root is close enough for an application.
fn target(uri: &Uri) -> (String, String, String) {
    let target = match (uri.authority(), uri.path_and_query()) {
        (None, Some(whole)) => whole.as_str().to_owned(),
        _ => uri.to_string(),
    };
    (target, uri.path().to_owned(), uri.query().unwrap_or_default().to_owned())
}

/// Removes leading zeros from the Content-Length, which programs interpret differently.
fn make_length_plain(headers: &mut HeaderMap) {
    let Some(value) = headers.get(header::CONTENT_LENGTH).filter(|value| value.as_bytes().starts_with(b"0")) else {
        return;
    };
    // It was checked before hyper got it.
    if let Some(length) = value.to_str().ok().and_then(|text| text.parse::<u64>().ok()) {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
}
