//! Checks a request's head as raw bytes and refuses what would be ambiguous to a later program. hyper parses it
//! afterwards, but accepts bare line feeds, drops a Content-Length beside a Transfer-Encoding, and drops fragments, all
//! without a trace. The rules are those of RFC 9112 (HTTP/1.1). What hyper would refuse is refused here, so that each
//! refusal has its response and its access log entry.

use std::ops::Range;

use http::StatusCode;

use crate::limits::Limits;
use crate::parse::chars::{are_text, is_token, number};
use crate::parse::host;
use crate::parse::refusal::{Refusal, bad, refuse};
use crate::parse::target::{self, Target};

/// Longest request line. hyper refuses targets that are slightly longer.
const LINE_BYTES: usize = 65_000;
/// Longest header name that hyper supports.
const NAME_BYTES: usize = 65_535;
/// First byte of a TLS connection.
const TLS: u8 = 0x16;
/// Beginning of version 2 of the PROXY protocol (its specification, section 2.2), without the two line ends before it,
/// which are skipped like empty lines.
const PROXY_2: &[u8] = b"\0\r\nQUIT\n";
/// Refusal of both versions of the PROXY protocol.
const PROXY_WHY: &str = "this is the PROXY protocol, which is not understood here: let the proxy send X-Forwarded-For";

/// A complete head: its length in bytes, the framing of its body, and a change to make for hyper, if any.
pub(crate) type Head = (usize, Framing, Option<Change>);

/// Framing of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

/// A replacement of some bytes of a head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) place: Range<usize>,
    pub(crate) bytes: Vec<u8>,
}

/// Scans a head from the first byte of its request line. `None` if it is incomplete.
pub(crate) fn scan(bytes: &[u8], limits: &Limits) -> Result<Option<Head>, Refusal> {
    match bytes.first() {
        Some(&TLS) => return bad("this is TLS, and this port speaks plain HTTP"),
        Some(_) if bytes.starts_with(PROXY_2) => return bad(PROXY_WHY),
        // A client of another protocol need not wait for a line end that may never come.
        Some(byte) if !is_token(*byte) && *byte != b'\n' => return bad("the method is not a token"),
        _ => {}
    }
    let Some((line, mut at)) = next_line(bytes, 0)? else {
        // The last byte may be the carriage return.
        return if bytes.len() > limits.header_bytes.min(LINE_BYTES + 1) {
            refuse(StatusCode::URI_TOO_LONG, "the request line is too long")
        } else {
            Ok(None)
        };
    };
    // The same status as if it had arrived in parts.
    if line.len() > LINE_BYTES || at > limits.header_bytes {
        return refuse(StatusCode::URI_TOO_LONG, "the request line is too long");
    }
    let RequestLine { version, has_authority, change } = request_line(line)?;
    let mut fields = Fields::default();
    let mut count = 0;
    // A line that ends beyond the limit is not looked at, so that the outcome does not depend on the pieces in which
    // the head arrives. The empty line counts, too.
    let allowed = &bytes[..bytes.len().min(limits.header_bytes)];
    loop {
        let Some((line, next)) = next_line(allowed, at)? else {
            return if bytes.len() > limits.header_bytes {
                refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too long")
            } else {
                Ok(None)
            };
        };
        at = next;
        if line.is_empty() {
            break;
        }
        count += 1;
        if count > limits.header_count {
            return refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "there are too many headers");
        }
        fields.add(line, version)?;
    }
    match fields.host {
        Host::Absent if version != Version::Http10 => return bad("HTTP/1.1 needs a Host header"),
        // No http URL has an empty host (RFC 9110 section 4.2.1).
        Host::Empty if version != Version::Http10 && !has_authority => return bad("the Host header is empty"),
        _ => {}
    }
    Ok(Some((at, fields.framing()?, change)))
}

/// The line that begins at `at`, without its end, and the position of the next line.
fn next_line(bytes: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, Refusal> {
    let rest = &bytes[at..];
    let Some(end) = memchr::memchr(b'\n', rest) else { return Ok(None) };
    if end == 0 || rest[end - 1] != b'\r' {
        return bad("a line ends in a bare line feed");
    }
    let line = &rest[..end - 1];
    if !are_text(line) {
        return bad("a line has a control character in it");
    }
    Ok(Some((line, at + end + 1)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Http10,
    Http11,
    /// A minor version above 1, which no RFC defines yet.
    Later,
}

/// Result of parsing a request line.
struct RequestLine {
    version: Version,
    /// Whether the target is a URL, whose host takes precedence over the header.
    has_authority: bool,
    change: Option<Change>,
}

fn request_line(line: &[u8]) -> Result<RequestLine, Refusal> {
    if line.starts_with(b"PROXY ") {
        return bad(PROXY_WHY);
    }
    let Some(method_end) = memchr::memchr(b' ', line) else { return bad("the request line has no target") };
    let Some(target_end) = memchr::memrchr(b' ', line).filter(|end| *end > method_end) else {
        return bad("the request line has no version");
    };
    let (method, target) = (&line[..method_end], &line[method_end + 1..target_end]);
    let version = match &line[target_end + 1..] {
        b"HTTP/1.1" => Version::Http11,
        b"HTTP/1.0" => Version::Http10,
        // HTTP/1.1 semantics apply to every later minor version (RFC 9110 section 2.5).
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9'] => Version::Later,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => {
            return refuse(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1 is spoken here");
        }
        _ => return bad("the request line does not end in a version"),
    };
    let Target { has_authority, plain } = target::read(method, target)?;
    if plain.len() > LINE_BYTES {
        return refuse(StatusCode::URI_TOO_LONG, "the request line is too long when it is percent-encoded");
    }
    let change = if version == Version::Later {
        let bytes = [&plain, &b" HTTP/1.1"[..]].concat();
        Some(Change { place: method_end + 1..line.len(), bytes })
    } else {
        (*plain != *target).then(|| Change { place: method_end + 1..target_end, bytes: plain.into_owned() })
    };
    Ok(RequestLine { version, has_authority, change })
}

/// The headers that determine framing and host.
#[derive(Debug, Default)]
struct Fields {
    host: Host,
    length: Option<u64>,
    chunked: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Host {
    #[default]
    Absent,
    Empty,
    Named,
}

impl Fields {
    fn add(&mut self, line: &[u8], version: Version) -> Result<(), Refusal> {
        if matches!(line[0], b' ' | b'\t') {
            return bad("a header is folded over two lines");
        }
        let Some(colon) = memchr::memchr(b':', line) else { return bad("a header has no colon") };
        let name = &line[..colon];
        if name.is_empty() {
            return bad("a header has no name");
        }
        if !name.iter().all(|byte| is_token(*byte)) {
            return bad("the name of a header has a character in it that may not stand there");
        }
        if name.len() > NAME_BYTES {
            return refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the name of a header is too long");
        }
        // The length distinguishes nearly all other headers at no cost.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(line[colon + 1..].trim_ascii()),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(line[colon + 1..].trim_ascii()),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                self.coding(line[colon + 1..].trim_ascii(), version)
            }
            _ => Ok(()),
        }
    }

    fn host(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.host != Host::Absent {
            return bad("there are two Host headers");
        }
        self.host = if value.is_empty() { Host::Empty } else { Host::Named };
        if value.is_empty() { Ok(()) } else { host::check(value) }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.length.is_some() {
            return bad("there are two Content-Length headers");
        }
        self.length = number(value);
        if self.length.is_some() { Ok(()) } else { bad("the Content-Length is not a number of bytes") }
    }

    fn coding(&mut self, value: &[u8], version: Version) -> Result<(), Refusal> {
        if version == Version::Http10 {
            return bad("HTTP/1.0 has no Transfer-Encoding");
        }
        if self.chunked {
            return bad("there are two Transfer-Encoding headers");
        }
        self.chunked = true;
        if value.eq_ignore_ascii_case(b"chunked") { Ok(()) } else { codings(value) }
    }

    fn framing(&self) -> Result<Framing, Refusal> {
        match (self.chunked, self.length) {
            (true, Some(_)) => bad("there are both a Content-Length and a Transfer-Encoding"),
            (true, None) => Ok(Framing::Chunked),
            (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
        }
    }
}

/// Refuses a list of codings other than "chunked" (RFC 9112 section 6.3). A recipient should ignore empty list elements
/// (RFC 9110 section 5.6.1), but not all do so here, and a body would then end in two places.
fn codings(value: &[u8]) -> Result<(), Refusal> {
    let is_chunked = |coding: &[u8]| coding.trim_ascii().eq_ignore_ascii_case(b"chunked");
    let mut codings: Vec<&[u8]> = value.split(|byte| *byte == b',').collect();
    let last = codings.pop().unwrap_or_default();
    if !value.iter().all(|byte| is_token(*byte) || b" \t,;=\"".contains(byte)) {
        bad("the Transfer-Encoding is not a list of codings")
    } else if last.trim_ascii().is_empty() || codings.iter().any(|coding| coding.trim_ascii().is_empty()) {
        bad("the Transfer-Encoding has an empty coding in it")
    } else if !is_chunked(last) {
        bad("the last transfer coding is not chunked")
    } else if codings.iter().any(|coding| is_chunked(coding)) {
        bad("the Transfer-Encoding says chunked twice")
    } else {
        refuse(StatusCode::NOT_IMPLEMENTED, "of transfer codings, only chunked is known here")
    }
}

#[cfg(test)]
#[path = "head_test.rs"]
mod tests;
