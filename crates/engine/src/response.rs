//! A response as an engine gives it, and the rules by which an application's status and headers are taken.
//! Rules come from the Rack 3 SPEC ("The Response") and from RFC 9110 section 5; both engines check here.

use std::fmt;
use std::fs::File;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};

use crate::body::{Duplex, Source};

/// The body of a response.
pub enum Body {
    /// Nothing.
    Empty,
    /// All of it.
    Full(Bytes),
    /// As it is made; ends with the source, or breaks off the connection when the source fails.
    Stream(Source),
    /// A file to be sent from its beginning, with its length in bytes. The front reads it, not the engine.
    File(File, u64),
    /// The head goes out, then the connection is the application's: a partial hijack, or an upgrade with status 101.
    Upgrade(Duplex),
    /// Nothing goes out: the application took the whole connection (full hijack).
    Taken,
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Empty => f.write_str("Empty"),
            Body::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Body::Stream(_) => f.write_str("Stream"),
            Body::File(_, len) => write!(f, "File({len} bytes)"),
            Body::Upgrade(_) => f.write_str("Upgrade"),
            Body::Taken => f.write_str("Taken"),
        }
    }
}

/// Why a status or a header was refused; the text says what would be right.
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
    bytes: usize,
}

impl ResponseHead {
    /// Takes a status: an integer from 100 to 599. The Rack SPEC allows any from 100 on; RFC 9110 section 15 has no
    /// meaning for more than 599, and clients take them for an error of the server.
    pub fn set_status(&mut self, status: i64) -> Result<(), HeadError> {
        self.status = u16::try_from(status)
            .ok()
            .filter(|code| *code <= 599)
            .and_then(|code| StatusCode::from_u16(code).ok())
            .ok_or_else(|| HeadError(format!("status is {status}, but must be an integer from 100 to 599")))?;
        Ok(())
    }

    /// Takes one header. A value with line feeds is several values (the Rack 2 way). Names that begin with `rack.`
    /// are for the server and never sent; names that HTTP keeps for one hop are the front's business and dropped.
    pub fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), HeadError> {
        if name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"rack.")) {
            return Ok(());
        }
        let name = HeaderName::from_bytes(name).map_err(|_| {
            let shown = String::from_utf8_lossy(name).escape_debug().to_string();
            HeadError(format!("header name \"{shown}\" has a character that RFC 9110 section 5.1 does not allow"))
        })?;
        if is_hop_by_hop(&name) {
            return Ok(());
        }
        for line in value.split(|byte| *byte == b'\n') {
            self.bytes += name.as_str().len() + line.len();
            if self.headers.len() >= HEADERS_MAX || self.bytes > HEAD_BYTES_MAX {
                let why = format!("headers are more than {HEADERS_MAX} lines or {HEAD_BYTES_MAX} bytes");
                return Err(HeadError(why));
            }
            self.headers.append(name.clone(), check_value(&name, line)?);
        }
        Ok(())
    }
}

/// More header lines than this no client takes (most take about a hundred), and the header map itself panics at 24 000.
const HEADERS_MAX: usize = 4096;

/// And no more bytes of names and values.
const HEAD_BYTES_MAX: usize = 1 << 20;

fn check_value(name: &HeaderName, value: &[u8]) -> Result<HeaderValue, HeadError> {
    HeaderValue::from_bytes(value.trim_ascii()).map_err(|_| {
        let shown = String::from_utf8_lossy(value).escape_debug().to_string();
        HeadError(format!(
            "header {name} has the value \"{shown}\", with a character that RFC 9110 section 5.5 forbids"
        ))
    })
}

/// Headers about the connection itself (RFC 9110 section 7.6.1), which the front writes. `upgrade` and `connection`
/// pass when the status is 101; the front sees to that.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    *name == header::TRANSFER_ENCODING || *name == header::TRAILER || *name == header::TE || name == "keep-alive"
}

/// One response.
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

    #[test]
    fn a_status_is_one_that_http_has() {
        let mut head = ResponseHead::default();
        for (status, is_one) in [(99, false), (100, true), (599, true), (600, false), (999, false), (-1, false)] {
            assert_eq!(head.set_status(status).is_ok(), is_one, "{status}");
        }
        assert_eq!(head.status.as_u16(), 599);
    }

    #[test]
    fn a_header_with_a_forbidden_character_is_refused_by_name() {
        for value in [&b"a\0b"[..], b"a\rb", b"a\x7fb"] {
            let refused = ResponseHead::default().add(b"X-Odd", value).unwrap_err();
            assert!(refused.0.contains("x-odd"), "{refused}");
        }
    }

    #[test]
    fn what_is_for_the_server_is_not_sent_however_it_is_written() {
        let mut head = ResponseHead::default();
        for name in [&b"rack.hijack"[..], b"RACK.hijack", b"Rack.", b"Transfer-Encoding"] {
            assert_eq!(head.add(name, b"x"), Ok(()));
        }
        assert!(head.headers.is_empty(), "{head:?}");
        assert_eq!(head.add(b"rack", b"x"), Ok(()));
        assert_eq!(head.headers.len(), 1);
    }
}
