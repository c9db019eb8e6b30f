//! Requests that are refused before hyper gets them: their response and their access log entry.

use std::time::Instant;

use http::StatusCode;

use crate::connection::link::Link;
use crate::connection::raw_head;
use crate::log::log_line::{Entry, LoggedTarget};
use crate::proxy::request_id::RequestId;
use crate::request::form::Form;
use crate::response::date;
use crate::response::page::{self, Page};

/// Writes the access log entry and returns the response. `head` is what arrived of the request, as far as it was kept.
pub(crate) fn answer(link: &Link, head: &[u8], since: Instant, status: StatusCode, why: &str) -> Vec<u8> {
    let id = RequestId::new();
    let (method, target) = words(head);
    let form = if link.common.settings.json_errors { Form::Json } else { Form::Text };
    let (text, media_type) = page::render(&Page { status, id: id.as_str(), why, fault: None }, form);
    let length = text.len();
    let body = if method == b"HEAD" { "" } else { &text };
    link.common.settings.counts.refuse(status.as_u16());
    let bytes = body.len() as u64;
    log(
        link,
        since,
        &Entry { status: status.as_u16(), bytes, fault: "refused", reason: why, ..entry(method, target, &id) },
    );
    let reason = raw_head::reason(status);
    let id = id.as_str();
    let date = date::header();
    let date = date.to_str().unwrap_or_default();
    let status = status.as_str();
    format!(
        "HTTP/1.1 {status} {reason}\r\ndate: {date}\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\
         x-request-id: {id}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Writes the access log entry of a head whose client disconnected before its end.
pub(crate) fn gone(link: &Link, head: &[u8], since: Instant) {
    let id = RequestId::new();
    let (method, target) = words(head);
    let reason = "the connection ended in the head of the request";
    log(link, since, &Entry { fault: link.cut_by().name(), reason, ..entry(method, target, &id) });
}

fn entry<'a>(method: &'a [u8], target: &'a [u8], id: &'a RequestId) -> Entry<'a> {
    Entry {
        client: None,
        method,
        target: LoggedTarget::Raw(target),
        status: 0,
        bytes: 0,
        took: Default::default(),
        queued: Default::default(),
        id: id.as_str(),
        fault: "",
        reason: "",
        app: "",
    }
}

fn log(link: &Link, since: Instant, entry: &Entry<'_>) {
    if let Some(log) = &link.common.settings.access_log {
        log.write(&Entry { client: link.peer.remote, took: since.elapsed(), target: entry.target, ..*entry });
    }
}

/// Method and target, if the bytes look like a request; each may be cut short or invalid.
fn words(head: &[u8]) -> (&[u8], &[u8]) {
    let line = head.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let method = words.next().filter(|word| word.iter().all(u8::is_ascii_graphic)).unwrap_or_default();
    let target = words.next().filter(|_| !method.is_empty()).unwrap_or_default();
    (method, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_and_target_are_what_can_be_read() {
        for (head, method, target) in [
            ("", "", ""),
            ("GET", "GET", ""),
            ("GET /a", "GET", "/a"),
            ("GET /a b HTTP/1.1\r\nHost: a\r\n", "GET", "/a"),
            ("G(T /a HTTP/1.1\r\n", "G(T", "/a"),
            ("GET\r\nHost: a b", "GET", ""),
            ("\u{16}\u{3}\u{1} x", "", ""),
            (" /a HTTP/1.1", "", ""),
        ] {
            assert_eq!(words(head.as_bytes()), (method.as_bytes(), target.as_bytes()), "{head:?}");
        }
    }
}
