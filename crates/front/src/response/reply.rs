//! From an engine's answer to an HTTP response. The only place that chooses the status of a fault.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::body::Next;
use engine::{Body, DirectRequest, Fault, Response, ResponseHead};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, Version};

use crate::connection::link::Link;
use crate::connection::raw_head::{reason, write_head};
use crate::connection::upgraded::Upgraded;
use crate::limits::FOREVER;
use crate::log::body_fault::FaultCount;
use crate::log::dropped;
use crate::log::fault_log;
use crate::parse::chars::number;
use crate::parse::websocket::{self, Tracker};
use crate::request::context::RequestContext;
use crate::request::intake::{FILE_TIME, IntakeError};
use crate::response::chunked_by_app::{self, CodedSource};
use crate::response::date;
use crate::response::out::{Direct, FileReader, Kind, Out};
use crate::response::page::{self, Page};
use crate::response::spool::Spool;

/// Value of `Retry-After` if the wait in the queue has no limit from which it could follow.
const RETRY_TIME: Duration = Duration::from_secs(10);
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Headers by which an application has the proxy send a file instead of its body.
const OF_PROXY: [&str; 3] = ["x-sendfile", "x-accel-redirect", "x-lighttpd-send-file"];
/// Bytes of a stream that are read before its head is sent. A stream that ends before that is sent in one piece with
/// its length.
const GATHERED_BYTES: usize = 64 * 1024;

/// Fate of the connection after a response.
pub(crate) enum Outcome {
    Http(http::Response<Out>),
    Upgrade(Arc<Link>, Upgraded),
}

/// The status of the response to a request with this fault ([`Fault::name`]).
pub fn status_of(fault: &str) -> StatusCode {
    match fault {
        "out_of_time" => StatusCode::GATEWAY_TIMEOUT,
        "queue_full" | "queue_wait" | "out_of_files" | "stopping" => StatusCode::SERVICE_UNAVAILABLE,
        "worker_died" => StatusCode::BAD_GATEWAY,
        "body_malformed" => StatusCode::BAD_REQUEST,
        "body_too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        "body_late" => StatusCode::REQUEST_TIMEOUT,
        "disk_full" => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The response to a request that ended in a fault.
#[cold]
pub(crate) fn fault(mut context: RequestContext, fault: &Fault) -> http::Response<Out> {
    context.failed(fault);
    let identity = context.identity();
    fault_log::write(fault, &identity, context.waited());
    let status = status_of(fault.name());
    let settings = context.link.common.settings.clone();
    let is_shown = context.link.common.engine.shows_faults(identity.app.as_deref());
    let shown = Some(fault).filter(|_| is_shown);
    let mut response = error(context, status, "", shown, fault.name());
    // The client may try again.
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let wait = Some(settings.limits.queue_wait).filter(|wait| *wait < FOREVER).unwrap_or(RETRY_TIME);
        let seconds = wait.as_secs().clamp(1, 60);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The response to a request whose body was not accepted; `found` is the fault of this problem.
#[cold]
pub(crate) fn intake(context: RequestContext, problem: &IntakeError, found: &Fault) -> http::Response<Out> {
    let is_http_10 = context.is_http_10();
    match problem {
        IntakeError::Evicted => context.link.confirm_eviction(),
        IntakeError::Disk(error) => fault_log::write_unkept_body(&context.identity(), error),
        _ => {}
    }
    let status = status_of(found.name());
    let (status, why) = match found {
        Fault::OutOfFiles => return unread(fault(context, found), is_http_10),
        Fault::BodyMalformed(why) => (context.link.body_refusal().status, *why),
        Fault::BodyLate(why) => (status, *why),
        Fault::BodyTooLarge => (status, "the body is too large"),
        Fault::DiskFull(_) => (status, "there is no room for the body"),
        _ => (status, "the body cannot be kept"),
    };
    unread(error(context, status, why, None, found.name()), is_http_10)
}

/// Makes this response the last one of its connection: the rest of the body may still arrive, and will not be read.
fn unread(mut response: http::Response<Out>, is_http_10: bool) -> http::Response<Out> {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    *response.version_mut() = version_of_last(is_http_10);
    response
}

/// Version of a response after which the connection ends. A client of HTTP/1.0 may have asked to keep the connection:
/// hyper would announce that, despite `Connection: close`, in every response that is not of HTTP/1.0 itself.
fn version_of_last(is_http_10: bool) -> Version {
    if is_http_10 { Version::HTTP_10 } else { Version::HTTP_11 }
}

#[cold]
fn error(
    mut context: RequestContext,
    status: StatusCode,
    why: &'static str,
    fault: Option<&Fault>,
    name: &'static str,
) -> http::Response<Out> {
    let (text, media_type) = page::render(&Page { status, id: context.id(), why, fault }, context.form);
    if let Some(record) = &mut context.record {
        record.fault = name;
        record.reason = why;
    }
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    finish(context, status, headers, Content::Full(Bytes::from(text)))
}

/// Whether the body of a response has to be waited for.
pub(crate) fn must_wait(response: &Response) -> bool {
    matches!(response.body, Body::Stream(_) | Body::Unopened(_))
}

/// The response that the application gave, with a body that need not be waited for.
pub(crate) fn response(context: RequestContext, response: Response) -> Outcome {
    let Response { head, body } = response;
    let content = match body {
        // With another informational status, which would leave the client waiting for a final one, it is refused below.
        Body::Upgrade(duplex) if !head.status.is_informational() || head.status == StatusCode::SWITCHING_PROTOCOLS => {
            match wrong_length(&head) {
                Some(found) => Err(found),
                None => return Outcome::Upgrade(context.link.clone(), upgrade(context, head, duplex)),
            }
        }
        Body::Empty | Body::Full(_) if head.is_chunked() && is_bodiless(&context, head.status) => Ok(Content::Unknown),
        Body::Full(bytes) if head.is_chunked() => chunked_by_app::decode(&bytes).map(Content::Full),
        body => whole(body),
    };
    Outcome::Http(made(context, head, content))
}

/// The response that the application gave, with a body that comes in parts or from a file that has to be opened.
pub(crate) async fn late_response(context: RequestContext, response: Response) -> http::Response<Out> {
    let Response { head, body } = response;
    let content = match body {
        Body::Stream(source) if !is_bodiless(&context, head.status) => {
            match gather(CodedSource::new(source, head.is_chunked())).await {
                Ok(Gathered::Whole(bytes)) => Ok(Content::Full(bytes)),
                Ok(Gathered::Going(first, direct, source)) => {
                    let file_bytes = context.link.common.settings.limits.spool_bytes;
                    Ok(Content::Stream(Spool::start(first, direct, source, file_bytes, context.body_request())))
                }
                Err(found) => Err(found),
            }
        }
        Body::Unopened(path) => open(context.link.clone(), path).await,
        body => whole(body),
    };
    made(context, head, content)
}

/// The response with this content, or that to the fault which the content or its head is.
fn made(context: RequestContext, head: ResponseHead, content: Result<Content, Fault>) -> http::Response<Out> {
    note_dropped(&context, &head);
    match content.and_then(|content| checked(&context, head, content)) {
        Ok((status, headers, content)) => finish(context, status, headers, content),
        Err(found) => fault(context, &found),
    }
}

/// Logs the headers of the application that cannot be sent.
fn note_dropped(context: &RequestContext, head: &ResponseHead) {
    if !head.dropped().is_empty() {
        dropped::write(head.dropped(), &context.identity());
    }
}

/// The content of a body that needs neither waiting nor decoding.
fn whole(body: Body) -> Result<Content, Fault> {
    Ok(match body {
        Body::Unasked | Body::Stream(_) | Body::Unopened(_) | Body::Upgrade(_) => Content::Unknown,
        Body::Empty => Content::Full(Bytes::new()),
        Body::Full(bytes) => Content::Full(bytes),
        Body::File(file, len) => Content::File(FileReader::new(file, len)),
        Body::Taken => {
            return Err(Fault::BadAnswer("the connection was said to be taken, but was not".to_owned()));
        }
    })
}

/// Opens the file of a response for which none was free: closes connections that can be spared, for [`FILE_TIME`] at
/// most.
async fn open(link: Arc<Link>, path: PathBuf) -> Result<Content, Fault> {
    let ends = Instant::now() + FILE_TIME;
    loop {
        link.common.connections.evict_for_file().await;
        match files::open(&path) {
            Ok((file, len)) => return Ok(Content::File(FileReader::new(file, len))),
            Err(error) if !files::is_short_of_files(&error) => {
                return Err(Fault::BadAnswer(format!("to_path names {}, but: {error}", path.display())));
            }
            Err(_) if Instant::now() >= ends => return Err(Fault::OutOfFiles),
            Err(_) => {}
        }
    }
}

/// Checks that head and body of a response agree.
fn checked(
    context: &RequestContext,
    head: ResponseHead,
    content: Content,
) -> Result<(StatusCode, HeaderMap, Content), Fault> {
    let bad = |why: String| Err(Fault::BadAnswer(why));
    let is_chunked = head.is_chunked();
    let (status, mut headers) = (head.status, head.headers);
    if status.is_informational() {
        return bad(format!("status {status} cannot end a request"));
    }
    let is_whole_file = matches!(content, Content::File(_)) && status != StatusCode::PARTIAL_CONTENT;
    // A file may have grown since the application looked, and the transfer coding takes precedence (RFC 9112 section
    // 6.3).
    if is_whole_file || is_chunked {
        headers.remove(header::CONTENT_LENGTH);
    }
    let wanted = announced(&headers).map_err(|why| Fault::BadAnswer(why.to_owned()))?;
    match (wanted, content.len()) {
        // The length is that of the file which the proxy sends.
        (Some(1..), Some(0)) if !context.is_head && OF_PROXY.iter().any(|name| headers.contains_key(*name)) => {
            headers.remove(header::CONTENT_LENGTH);
            Ok((status, headers, content))
        }
        (Some(wanted), Some(len)) if wanted > len && !is_bodiless(context, status) => {
            bad(format!("the Content-Length is {wanted}, but the body has {}", engine::count(len, "byte")))
        }
        _ => Ok((status, headers, content)),
    }
}

enum Content {
    Full(Bytes),
    File(FileReader),
    Stream(Spool),
    /// A body that is not sent, of unknown length.
    Unknown,
}

impl Content {
    fn len(&self) -> Option<u64> {
        match self {
            Content::Full(bytes) => Some(bytes.len() as u64),
            Content::File(reader) => Some(reader.len()),
            Content::Stream(_) | Content::Unknown => None,
        }
    }
}

/// The Content-Length of the application, if there is one.
fn announced(headers: &HeaderMap) -> Result<Option<u64>, &'static str> {
    let mut values = headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("there are two Content-Length headers");
    }
    number(value.as_bytes()).map(Some).ok_or("the Content-Length is not a number of bytes")
}

/// Whether a response of this status has no body (RFC 9110 section 6.4.1).
fn has_no_content(status: StatusCode) -> bool {
    matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED)
}

fn is_bodiless(context: &RequestContext, status: StatusCode) -> bool {
    context.is_head || has_no_content(status)
}

/// Adds the front's own headers and determines the framing of the body.
fn finish(
    mut context: RequestContext,
    status: StatusCode,
    mut headers: HeaderMap,
    content: Content,
) -> http::Response<Out> {
    let given = GivenHeaders::of(&headers);
    let mut is_last = own_headers(&context, &mut headers, &given);
    if given.upgrade {
        if status == StatusCode::UPGRADE_REQUIRED {
            headers.append(header::CONNECTION, HeaderValue::from_static("upgrade"));
        } else {
            headers.remove(header::UPGRADE);
        }
    }
    let wanted = if given.content_length { announced(&headers).ok().flatten() } else { None };
    let mut left = None;
    let kind = if has_no_content(status) {
        headers.remove(header::CONTENT_LENGTH);
        Kind::Empty
    } else if context.is_head {
        // An empty body does not show the length of GET's, since Rack::Head empties every body (RFC 9110 section 8.6).
        if let (None, Some(len @ 1..)) = (wanted, content.len()) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(len));
        }
        Kind::Empty
    } else {
        if wanted.is_some() && wanted == content.len() {
            // hyper writes the same number.
            headers.remove(header::CONTENT_LENGTH);
        } else {
            left = wanted;
        }
        match content {
            Content::Full(bytes) if bytes.is_empty() => Kind::Empty,
            Content::Full(bytes) => Kind::Full(bytes),
            Content::File(reader) => Kind::File(reader),
            Content::Stream(spool) => Kind::Spool(spool, Direct::default()),
            Content::Unknown => Kind::Empty,
        }
    };
    context.link.end_epoch();
    context.link.common.settings.counts.answered(status.as_u16());
    if let Some(record) = &mut context.record {
        record.status = status.as_u16();
    }
    // A body that is in memory cannot fail any more, unless it is longer than announced.
    let request = match &kind {
        Kind::Spool(spool, _) => Some(spool.request()),
        Kind::File(_) => Some(context.body_request()),
        Kind::Empty | Kind::Full(_) => left.is_some().then(|| context.body_request()),
    };
    let tally = context.begin_body();
    let faults = match request {
        Some(request) => {
            request.begin(status.as_u16(), tally);
            FaultCount::Request(request)
        }
        None => FaultCount::Own(tally),
    };
    let is_http_10 = context.is_http_10();
    if is_http_10 && wanted.is_none() && matches!(kind, Kind::Spool(..)) {
        context.link.set_ends_body();
        is_last = true;
    }
    let out = Out::new(kind, left, context.link.clone(), context.record.take());
    let mut response = http::Response::new(out.counting(faults));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if is_last {
        *response.version_mut() = version_of_last(is_http_10);
    }
    let reason = reason(status);
    if status.canonical_reason() != Some(reason) {
        response.extensions_mut().insert(hyper::ext::ReasonPhrase::from_static(reason.as_bytes()));
    }
    response
}

/// Which of the headers that the front judges the application has given. Found in one pass, which costs less than to
/// look up each: most responses have two or three headers.
#[derive(Default)]
struct GivenHeaders {
    request_id: bool,
    date: bool,
    transfer_encoding: bool,
    connection: bool,
    upgrade: bool,
    content_length: bool,
}

impl GivenHeaders {
    fn of(headers: &HeaderMap) -> GivenHeaders {
        let mut given = GivenHeaders::default();
        for name in headers.keys() {
            given.request_id |= *name == X_REQUEST_ID;
            given.date |= *name == header::DATE;
            given.transfer_encoding |= *name == header::TRANSFER_ENCODING;
            given.connection |= *name == header::CONNECTION;
            given.upgrade |= *name == header::UPGRADE;
            given.content_length |= *name == header::CONTENT_LENGTH;
        }
        given
    }
}

/// Adds the headers that every response has. Returns whether the connection ends after this one.
fn own_headers(context: &RequestContext, headers: &mut HeaderMap, given: &GivenHeaders) -> bool {
    if !given.request_id
        && let Some(id) = context.id_header()
    {
        headers.insert(X_REQUEST_ID, id);
    }
    if !given.date {
        headers.insert(header::DATE, date::header());
    }
    if given.transfer_encoding {
        headers.remove(header::TRANSFER_ENCODING);
    }
    let asks_to_close = given.connection
        && headers.get_all(header::CONNECTION).iter().any(|value| {
            value.to_str().is_ok_and(|text| text.split(',').any(|word| word.trim().eq_ignore_ascii_case("close")))
        });
    if given.connection {
        headers.remove(header::CONNECTION);
    }
    let is_last = asks_to_close || context.link.common.stop.is_draining();
    if is_last {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    is_last
}

/// The fault of a partial hijack whose Content-Length is not a number, or that has two: the client would get them as
/// they are. A switch of protocols announces no length, and a transfer coding takes precedence.
#[cold]
fn wrong_length(head: &ResponseHead) -> Option<Fault> {
    if head.status == StatusCode::SWITCHING_PROTOCOLS || head.is_chunked() {
        return None;
    }
    announced(&head.headers).err().map(|why| Fault::BadAnswer(why.to_owned()))
}

/// The connection after the head of an upgrade or of a partial hijack, which is sent first.
#[cold]
fn upgrade(mut context: RequestContext, head: ResponseHead, duplex: engine::Duplex) -> Upgraded {
    note_dropped(&context, &head);
    let is_chunked = head.is_chunked();
    let (status, mut headers) = (head.status, head.headers);
    let given = GivenHeaders::of(&headers);
    own_headers(&context, &mut headers, &given);
    let connection = if status == StatusCode::SWITCHING_PROTOCOLS { "upgrade" } else { "close" };
    headers.insert(header::CONNECTION, HeaderValue::from_static(connection));
    if status == StatusCode::SWITCHING_PROTOCOLS {
        // RFC 9110 section 8.6: not in a 1xx.
        headers.remove(header::CONTENT_LENGTH);
    } else if is_chunked {
        // What the application writes is sent as it is. A transfer coding takes precedence (RFC 9112 section 6.3).
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    } else if !given.content_length {
        context.link.set_ends_body();
    }
    let mut text = Vec::with_capacity(256);
    write_head(&mut text, status, &headers);
    context.link.end_epoch();
    context.link.common.settings.counts.answered(status.as_u16());
    if let Some(record) = &mut context.record {
        record.status = status.as_u16();
    }
    let is_websocket = status == StatusCode::SWITCHING_PROTOCOLS && websocket::is_asked_for(&headers);
    let tracker = if is_websocket { Tracker::after_handshake() } else { Tracker::other() };
    Upgraded { head: Bytes::from(text), duplex, reply: None, record: context.record.take(), tracker }
}

enum Gathered {
    Whole(Bytes),
    /// The first bytes, and a request of the engine to write those after them to the client itself.
    Going(Vec<Bytes>, Option<DirectRequest>, CodedSource),
}

/// Reads what is available at once. A fault here, before the head is sent, can still be answered properly.
async fn gather(mut source: CodedSource) -> Result<Gathered, Fault> {
    let mut chunks = Vec::new();
    let mut len = 0;
    let mut direct = None;
    let is_whole = poll_fn(|cx| {
        while len < GATHERED_BYTES {
            match source.poll_next(cx) {
                Poll::Ready(Some(Ok(Next::Bytes(bytes)))) => {
                    len += bytes.len();
                    chunks.push(bytes);
                }
                Poll::Ready(Some(Ok(Next::Direct(request)))) => {
                    direct = Some(request);
                    break;
                }
                Poll::Ready(Some(Err(fault))) => return Poll::Ready(Err(fault)),
                Poll::Ready(None) => return Poll::Ready(Ok(true)),
                Poll::Pending => break,
            }
        }
        Poll::Ready(Ok(false))
    })
    .await?;
    Ok(if is_whole { Gathered::Whole(chunked_by_app::joined(chunks)) } else { Gathered::Going(chunks, direct, source) })
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::pin::Pin;

    use http_body::Body as _;

    use super::*;
    use crate::connection::link::tests::link;
    use crate::parse::refusal::NO_END;
    use crate::tests_support::block_on;

    #[test]
    fn who_sends_a_body_that_is_not_accepted_is_told_why_and_the_connection_ends() {
        let disk = |kind: ErrorKind| IntakeError::Disk(kind.into());
        for (problem, status, why) in [
            (IntakeError::TooLarge, 413, "the body is too large"),
            (IntakeError::Late, 408, "the body did not arrive in time"),
            (IntakeError::Evicted, 408, "no places for connections left, and the body of the request came slowly"),
            (IntakeError::Malformed, NO_END.status.as_u16(), NO_END.why),
            (disk(ErrorKind::StorageFull), 507, "there is no room for the body"),
            (disk(ErrorKind::PermissionDenied), 500, "the body cannot be kept"),
            (IntakeError::OutOfFiles, 503, "Service Unavailable"),
        ] {
            let link = link();
            let counts = link.common.settings.counts.clone();
            link.head_given(Instant::now(), Instant::now());
            let (mut head, ()) = http::Request::new(()).into_parts();
            let context = RequestContext::new(link.clone(), &mut head);
            let mut response = intake(context, &problem, &problem.fault(&link));
            let frame = block_on(poll_fn(|cx| Pin::new(response.body_mut()).poll_frame(cx)));
            let text = String::from_utf8(frame.unwrap().unwrap().into_data().unwrap().to_vec()).unwrap();
            assert!(response.status() == status && text.contains(why), "{problem:?}: {text}");
            let headers = response.headers();
            assert!(headers[header::CONNECTION] == "close", "{headers:?}");
            assert_eq!(headers.contains_key(header::RETRY_AFTER), status == 503, "{headers:?}");
            let is_displaced = matches!(problem, IntakeError::Evicted);
            assert_eq!(counts.displaced_connections(), u64::from(is_displaced), "{problem:?}");
        }
    }

    #[test]
    fn the_page_about_the_log_has_each_fault_with_its_status() {
        let page = include_str!("../../../../docs/logging.md");
        for (name, _) in Fault::NAMES {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("docs/logging.md does not name the fault {name}"));
            let status = status_of(name);
            assert!(name == "client_gone" || row.contains(status.as_str()), "{name} is answered with {status}: {row}");
        }
    }
}
