//! A request as an engine takes it: parsed, checked and buffered, so that running it does not depend on the client's
//! speed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Version};

use crate::body::{Duplex, Source};
use files::TempFile;

/// The scheme that the client used, to this server or to the proxy in front of it: `rack.url_scheme`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// HTTP without TLS.
    #[default]
    Http,
    /// HTTP with TLS.
    Https,
}

impl Scheme {
    /// The value of `rack.url_scheme`.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port of a URL that names none.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Addresses of both ends of a connection, shared by all its requests. `None` on a Unix socket.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    /// The client's address.
    pub remote: Option<SocketAddr>,
    /// The server's address, to which the client connected.
    pub local: Option<SocketAddr>,
    /// The client's IP address as text; an IPv4-mapped IPv6 address is shown as IPv4.
    pub remote_ip: Option<Arc<str>>,
}

impl Peer {
    /// The addresses of a TCP connection.
    pub fn new(remote: Option<SocketAddr>, local: Option<SocketAddr>) -> Peer {
        let remote_ip = remote.map(|remote| Arc::from(remote.ip().to_canonical().to_string()));
        Peer { remote, local, remote_ip }
    }
}

/// The body of a request.
#[derive(Debug, Default)]
pub enum Input {
    /// No body.
    #[default]
    Empty,
    /// The whole body, in memory.
    Memory(Bytes),
    /// The whole body, in an unlinked temporary file, with its length. Readers use positions, as the file's cursor is
    /// shared.
    File(Arc<TempFile>, u64),
    /// A body that is still arriving, for engines and applications that read it as it comes.
    Stream(Source),
}

impl Input {
    /// Length in bytes, if it is known.
    pub fn len(&self) -> Option<u64> {
        match self {
            Input::Empty => Some(0),
            Input::Memory(bytes) => Some(bytes.len() as u64),
            Input::File(_, len) => Some(*len),
            Input::Stream(_) => None,
        }
    }

    /// Whether the body is known to be empty.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

/// Sends `103 Early Hints` (RFC 8297) to the client before the response.
pub trait Hints: Send + Sync {
    /// Sends these headers, usually `link`, at once. Does nothing if the client cannot take them (HTTP/1.0).
    fn send(&self, headers: HeaderMap);
}

/// Takes the connection away from HTTP before any response: the full hijack of Rack (`rack.hijack`).
pub trait Takeover: Send {
    /// Takes the connection. From now on the front only relays bytes in both directions.
    fn take(self: Box<Self>) -> Duplex;
}

/// A request.
pub struct Request {
    /// A UUID of version 4, or what a trusted proxy sent as `X-Request-Id`: letters, digits and `._-:@`.
    pub id: String,
    /// The method, as sent.
    pub method: Method,
    /// The request target as sent, in any of its four forms (RFC 9112 section 3.2).
    pub target: String,
    /// The path of the target, not percent-decoded; `*` for `OPTIONS *`.
    pub path: String,
    /// Length in bytes of the part of the path where the application is mounted (`SCRIPT_NAME`); the rest is
    /// `PATH_INFO`. 0 for the root.
    pub script_length: usize,
    /// The query string, without the `?`, not decoded; empty if there is none.
    pub query: String,
    /// The protocol version.
    pub version: Version,
    /// All headers that may reach the application.
    pub headers: HeaderMap,
    /// The scheme.
    pub scheme: Scheme,
    /// Addresses of both ends of the connection.
    pub peer: Peer,
    /// The body.
    pub input: Input,
    /// Time when its first byte arrived.
    pub received: Instant,
    /// Time when its head was complete, from which on its body arrived.
    pub head_complete: Instant,
    /// Time when its last byte arrived, from which on it waits for the application and not for its client.
    pub complete: Instant,
    /// Time when its response must have begun.
    pub deadline: Instant,
    /// Time when it must have begun to run.
    pub queue_deadline: Instant,
    /// The server's own request, such as a health check, which is not counted.
    pub is_own: bool,
    /// Sends early hints, if the connection can carry them.
    pub hints: Option<Arc<dyn Hints>>,
    /// Performs a full hijack, if the connection allows one.
    pub takeover: Option<Box<dyn Takeover>>,
}

/// The part of its time, at the end, in which a request is not begun any more.
const LATE_PART: u32 = 10;

impl Request {
    /// A request that no client has sent, for probes and tests: no headers, no body, due in ten seconds.
    pub fn sample(method: Method, target: &str) -> Request {
        let now = Instant::now();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let due = now + Duration::from_secs(10);
        Request {
            id: "6b1f1d0e-0000-4000-8000-000000000001".to_owned(),
            method,
            target: target.to_owned(),
            path: path.to_owned(),
            script_length: 0,
            query: query.to_owned(),
            version: Version::HTTP_11,
            headers: HeaderMap::new(),
            scheme: Scheme::Http,
            peer: Peer::default(),
            input: Input::Empty,
            received: now,
            head_complete: now,
            complete: now,
            deadline: due,
            queue_deadline: due,
            is_own: false,
            hints: None,
            takeover: None,
        }
    }

    /// The path where the application is mounted (`SCRIPT_NAME`), and the rest of the path (`PATH_INFO`).
    pub fn script_and_path(&self) -> (&str, &str) {
        self.path.split_at_checked(self.script_length).unwrap_or(("", &self.path))
    }

    /// Time by which it must have begun to run: its queue deadline, or before the last tenth of its time. What begins
    /// later would be interrupted soon, which costs its worker and helps nobody.
    pub fn must_begin_by(&self) -> Instant {
        self.queue_deadline.min(self.deadline.checked_sub(self.time_allowed() / LATE_PART).unwrap_or(self.deadline))
    }

    /// The time limit of the request, for the message of a time-out.
    pub fn time_allowed(&self) -> Duration {
        self.deadline.saturating_duration_since(self.complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_begun_by_its_queue_deadline_and_not_in_the_last_tenth_of_its_time() {
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        for (queue_wait, request_time, latest) in [(5, 60, 5), (54, 60, 54), (55, 60, 54), (600, 60, 54), (1, 0, 0)] {
            let request = Request {
                complete: start,
                deadline: later(request_time),
                queue_deadline: later(queue_wait),
                ..Request::sample(Method::GET, "/")
            };
            assert_eq!(request.must_begin_by(), later(latest), "{queue_wait} s of {request_time} s");
            assert_eq!(request.time_allowed(), Duration::from_secs(request_time));
        }
    }

    #[test]
    fn the_length_of_a_body_is_known_unless_it_is_still_arriving() {
        let file = Arc::new(TempFile::new().unwrap());
        for (input, length) in [
            (Input::Empty, Some(0)),
            (Input::Memory(Bytes::new()), Some(0)),
            (Input::Memory("gold".into()), Some(4)),
            (Input::File(file, 7), Some(7)),
            (Input::Stream(crate::body::stream(1).1), None),
        ] {
            assert_eq!((input.len(), input.is_empty()), (length, length == Some(0)), "{input:?}");
        }
    }
}
