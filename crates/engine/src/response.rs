//! A response as an engine gives it, and the checks of an application's status and headers for all engines. The rules
//! come from the Rack 3 SPEC ("The Response") and RFC 9110 section 5.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};

use crate::body::{Duplex, Source};

/// The body of a response.
pub enum Body {
    /// An empty body.
    Empty,
    /// The whole body, in memory.
    Full(Bytes),
    /// A body that is sent as it is made. If the source fails, the connection is aborted, so that the client sees that
    /// the body is incomplete.
    Stream(Source),
    /// A file, sent from its beginning, with its length in bytes. The front reads it, not the engine.
    File(File, u64),
    /// A file that could not be opened, because there are as many open files as there may be. The front opens it when
    /// it has closed a connection.
    Unopened(PathBuf),
    /// An upgraded connection: after the head the application has it, by a partial hijack or an upgrade with status
    /// 101.
    Upgrade(Duplex),
    /// No response at all: the application has taken over the connection (full hijack).
    Taken,
    /// A body that is not sent and whose length is unknown, because it is incomplete: the response to HEAD.
    Unasked,
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Empty => f.write_str("Empty"),
            Body::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Body::Stream(_) => f.write_str("Stream"),
            Body::File(_, len) => write!(f, "File({len} bytes)"),
            Body::Unopened(path) => write!(f, "Unopened({})", path.display()),
            Body::Upgrade(_) => f.write_str("Upgrade"),
            Body::Taken => f.write_str("Taken"),
            Body::Unasked => f.write_str("Unasked"),
        }
    }
}

/// Reason why a status or a header was refused; the text says what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadError(pub String);

impl fmt::Display for HeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HeadError {}

/// Status and headers, checked as they are added.
#[derive(Debug, Clone, Default)]
pub struct ResponseHead {
    /// The status.
    pub status: StatusCode,
    /// The headers, in the order in which the application gave them.
    pub headers: HeaderMap,
    /// Properties that few responses have.
    odd: Option<Box<Odd>>,
    bytes: usize,
}

/// Allocated separately, to keep a response small: it is moved several times.
#[derive(Debug, Clone, Default)]
struct Odd {
    is_chunked: bool,
    dropped: Vec<(String, &'static str)>,
}

impl ResponseHead {
    /// Whether the application has encoded the body as chunked itself, as its `transfer-encoding` says.
    pub fn is_chunked(&self) -> bool {
        self.odd.as_ref().is_some_and(|odd| odd.is_chunked)
    }

    /// Headers that were left out because HTTP does not allow them: name and reason of each.
    pub fn dropped(&self) -> &[(String, &'static str)] {
        self.odd.as_ref().map_or(&[], |odd| &odd.dropped)
    }

    /// Sets the status, an integer from 100 to 999, which is all that a status line has room for. RFC 9110 section 15
    /// defines none above 599, but applications use some, and clients treat those as server errors.
    pub fn set_status(&mut self, status: i64) -> Result<(), HeadError> {
        self.status = u16::try_from(status)
            .ok()
            .and_then(|code| StatusCode::from_u16(code).ok())
            .ok_or_else(|| HeadError(format!("status is {status}, but must be an integer from 100 to 999")))?;
        Ok(())
    }

    /// Adds a header. A value with line feeds is several values (Rack 2). Skips names that begin with `rack.`, which
    /// are for the server, and hop-by-hop headers, which the front writes. Refuses a value that could inject another
    /// header; drops and records what only HTTP does not allow.
    pub fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), HeadError> {
        if name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"rack.")) {
            return Ok(());
        }
        let Ok(name) = HeaderName::from_bytes(name) else {
            let shown = printable(name);
            if name.contains(&0) {
                return Err(HeadError(format!(
                    "header name \"{shown}\" has a NUL, which RFC 9110 section 5.1 forbids"
                )));
            }
            self.drop_header(&shown, "its name has a character that RFC 9110 section 5.1 does not allow");
            return Ok(());
        };
        let is_line = !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | b'\0'));
        if !is_line && let Some(found) = value.iter().find(|byte| matches!(byte, b'\r' | b'\0')) {
            let what = if *found == 0 { "NUL" } else { "carriage return" };
            return Err(refused(&name, value, &format!("a {what}, which RFC 9110 section 5.5 forbids")));
        }
        if name == header::TRANSFER_ENCODING {
            return self.take_coding(value);
        }
        if is_hop_by_hop(&name) {
            return Ok(());
        }
        if is_line {
            return self.add_line(&name, value);
        }
        let mut lines = value.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let is_one = lines.clone().nth(1).is_none() || (name == header::CONTENT_LENGTH && are_same(lines.clone()));
        if ONCE.contains(&name) && !is_one {
            return Err(refused(&name, value, "several lines, but there is only one such header in an answer"));
        }
        lines.try_for_each(|line| self.add_line(&name, line))
    }

    fn add_line(&mut self, name: &HeaderName, line: &[u8]) -> Result<(), HeadError> {
        self.bytes += name.as_str().len() + line.len();
        if self.headers.len() >= HEADERS_MAX || self.bytes > HEAD_BYTES_MAX {
            let why = format!("headers are more than {HEADERS_MAX} lines or {HEAD_BYTES_MAX} bytes");
            return Err(HeadError(why));
        }
        match HeaderValue::from_bytes(line.trim_ascii()) {
            Ok(value) if name == header::CONTENT_LENGTH => self.add_length(value),
            Ok(value) => {
                self.headers.append(name.clone(), value);
            }
            Err(_) => self.drop_header(name.as_str(), "its value has a character that RFC 9110 section 5.5 forbids"),
        }
        Ok(())
    }

    /// Adds a `Content-Length` unless it is empty or repeats the first one (RFC 9110 section 8.6).
    fn add_length(&mut self, value: HeaderValue) {
        if !value.is_empty() && self.headers.get(header::CONTENT_LENGTH) != Some(&value) {
            self.headers.append(header::CONTENT_LENGTH, value);
        }
    }

    /// Checks a `Transfer-Encoding`, which the front writes itself. A chunked body is decoded first; the server cannot
    /// decode any other coding.
    #[cold]
    fn take_coding(&mut self, value: &[u8]) -> Result<(), HeadError> {
        let value = value.trim_ascii();
        if value.eq_ignore_ascii_case(b"chunked") {
            self.odd.get_or_insert_default().is_chunked = true;
            return Ok(());
        }
        if value.is_empty() || value.eq_ignore_ascii_case(b"identity") {
            return Ok(());
        }
        Err(HeadError(format!(
            "header transfer-encoding has the value \"{}\", but the server writes this header: leave it out, or say \
             content-encoding",
            printable(value)
        )))
    }

    #[cold]
    fn drop_header(&mut self, name: &str, why: &'static str) {
        let dropped = &mut self.odd.get_or_insert_default().dropped;
        if dropped.len() < DROPPED_MAX {
            dropped.push((name.to_owned(), why));
        }
    }
}

/// Most header lines of a response. Most clients accept about a hundred, and [`HeaderMap`] panics at 24 000.
const HEADERS_MAX: usize = 4096;

/// Most bytes of names and values of all headers of a response.
const HEAD_BYTES_MAX: usize = 1 << 20;

/// Most dropped headers of a response that are recorded.
const DROPPED_MAX: usize = 8;

/// Headers that must not be repeated, so that a line feed in their value does not make a second one: browsers refuse
/// such a response, or use the wrong value.
const ONCE: [HeaderName; 4] =
    [header::CONTENT_DISPOSITION, header::CONTENT_LENGTH, header::CONTENT_TYPE, header::LOCATION];

/// Whether all lines are the same but for white space around them.
fn are_same<'a>(mut lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let first = lines.next().map(<[u8]>::trim_ascii);
    lines.all(|line| Some(line.trim_ascii()) == first)
}

fn printable(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(bytes).chars().take(100).collect();
    text.escape_debug().to_string()
}

#[cold]
fn refused(name: &HeaderName, value: &[u8], what: &str) -> HeadError {
    HeadError(format!("header {name} has the value \"{}\", with {what}", printable(value)))
}

/// Whether a header concerns only this connection (RFC 9110 section 7.6.1) and is therefore the front's to write; also
/// `status`, which is of CGI. `upgrade` and `connection` pass, since the front evaluates them.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    *name == header::TRAILER || *name == header::TE || matches!(name.as_str(), "keep-alive" | "status")
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// Status and headers.
    pub head: ResponseHead,
    /// The body.
    pub body: Body,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a header after it was added with `value`.
    fn values(name: &[u8], value: &[u8]) -> Result<Vec<Vec<u8>>, HeadError> {
        let mut head = ResponseHead::default();
        head.add(name, value)?;
        Ok(head.headers.values().map(|value| value.as_bytes().to_vec()).collect())
    }

    #[test]
    fn a_status_is_one_that_a_status_line_has_room_for() {
        let mut head = ResponseHead::default();
        for (status, is_one) in [(99, false), (100, true), (599, true), (999, true), (1000, false), (-1, false)] {
            assert_eq!(head.set_status(status).is_ok(), is_one, "{status}");
        }
        assert_eq!(head.status.as_u16(), 999);
    }

    #[test]
    fn what_could_make_another_header_is_refused_by_name_and_by_what_is_in_it() {
        for value in [&b"a\0b"[..], b"a\0", b"\0a", b"a\rb", b"a\r", b"a\r\nb: c", b"a\r\n"] {
            let what = if value.contains(&0) { "a NUL" } else { "a carriage return" };
            let refused = values(b"X-Odd", value).unwrap_err().to_string();
            assert!(refused.contains("x-odd") && refused.contains(what), "{refused}");
        }
        for name in [&b"location"[..], b"content-type", b"Content-Disposition", b"content-length"] {
            assert!(values(name, b"1\n2").is_err(), "{name:?}");
            assert_eq!(values(name, b"1\n").unwrap(), [b"1"]);
        }
        assert_eq!(values(b"content-length", b"1\n 1\n").unwrap(), [b"1"]);
        assert!(values(b"location", b"1\n1").is_err());
    }

    #[test]
    fn lines_are_values_and_empty_ones_are_none() {
        assert_eq!(values(b"set-cookie", b"a\n\nb\n").unwrap(), [b"a", b"b"]);
        assert_eq!(values(b"x", b" a\t").unwrap(), [b"a"]);
        assert_eq!(values(b"x", b"").unwrap(), [b""]);
        assert!(values(b"x", b"\n").unwrap().is_empty());
    }

    #[test]
    fn what_http_does_not_allow_is_dropped_and_noted() {
        let mut head = ResponseHead::default();
        for (name, value) in
            [(&b"x y"[..], &b"1"[..]), (b"", b"1"), (b"x\r\ny", b"1"), (b"z", b"\x01"), (b"z", b"\x7f")]
        {
            head.add(name, value).unwrap();
        }
        assert!(head.headers.is_empty(), "{head:?}");
        let names: Vec<&str> = head.dropped().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x y", "", "x\\r\\ny", "z", "z"]);
    }

    #[test]
    fn a_length_is_said_once_or_not() {
        let mut head = ResponseHead::default();
        for value in [&b""[..], b"5", b" 5 "] {
            head.add(b"Content-Length", value).unwrap();
        }
        assert_eq!(head.headers.get_all(header::CONTENT_LENGTH).iter().count(), 1);
        head.add(b"content-length", b"6").unwrap();
        assert_eq!(head.headers.get_all(header::CONTENT_LENGTH).iter().count(), 2, "the front refuses it");
    }

    #[test]
    fn a_coding_is_chunked_or_none() {
        for (value, is_chunked) in [(&b"chunked"[..], true), (b" Chunked ", true), (b"identity", false), (b"", false)] {
            let mut head = ResponseHead::default();
            head.add(b"Transfer-Encoding", value).unwrap();
            assert_eq!((head.is_chunked(), head.headers.len()), (is_chunked, 0));
        }
        assert!(values(b"transfer-encoding", b"gzip, chunked").is_err());
    }

    #[test]
    fn what_is_for_the_server_is_not_sent_however_it_is_written() {
        let mut head = ResponseHead::default();
        for name in [&b"rack.hijack"[..], b"RACK.hijack", b"Rack.", b"Keep-Alive", b"Status", b"trailer", b"TE"] {
            assert_eq!(head.add(name, b"x"), Ok(()));
        }
        assert!(head.headers.is_empty(), "{head:?}");
        for name in [&b"rack"[..], b"Connection", b"Upgrade"] {
            assert_eq!(head.add(name, b"x"), Ok(()));
        }
        assert_eq!(head.headers.len(), 3, "the front looks at the last two");
    }

    #[test]
    fn headers_are_limited_in_lines_and_in_bytes_and_so_is_the_list_of_dropped_ones() {
        let mut head = ResponseHead::default();
        (0..HEADERS_MAX).for_each(|_| head.add(b"x", b"").unwrap());
        assert!(head.add(b"x", b"").is_err());
        let mut head = ResponseHead::default();
        head.add(b"x", "a".repeat(HEAD_BYTES_MAX - 1).as_bytes()).unwrap();
        assert!(head.add(b"x", b"").is_err());
        (0..=DROPPED_MAX).for_each(|_| head.add(b"x y", b"1").unwrap());
        assert_eq!(head.dropped().len(), DROPPED_MAX);
    }
}
