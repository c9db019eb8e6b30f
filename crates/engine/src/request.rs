//! A request as an engine takes it: read, checked and buffered, so that running it needs nothing from the client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Version};

use crate::body::{Duplex, Source};
use files::TempFile;

/// How the client sent the request, as `rack.url_scheme` says it: to this server, or to the proxy before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// Without TLS.
    #[default]
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// The word in `rack.url_scheme`.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port that goes without saying.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// The two ends of the connection, made once for all its requests. Addresses are absent on a Unix socket.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    /// The client's address.
    pub remote: Option<SocketAddr>,
    /// The address it connected to.
    pub local: Option<SocketAddr>,
    /// The client's IP address as text; an IPv4 address that came in as IPv6 is shown as what it is.
    pub remote_ip: Option<Arc<str>>,
}

impl Peer {
    /// Of a TCP connection.
    pub fn new(remote: Option<SocketAddr>, local: Option<SocketAddr>) -> Peer {
        let remote_ip = remote.map(|remote| Arc::from(remote.ip().to_canonical().to_string()));
        Peer { remote, local, remote_ip }
    }
}

/// The body of a request.
#[derive(Debug, Default)]
pub enum Input {
    /// There is none.
    #[default]
    Empty,
    /// All of it, in memory.
    Memory(Bytes),
    /// All of it, in a file that has no name any more: read it by position, from 0 to the length given.
    File(Arc<TempFile>, u64),
    /// Still arriving, for engines and applications that read as they go.
    Stream(Source),
}

impl Input {
    /// Length in bytes, where it is known.
    pub fn len(&self) -> Option<u64> {
        match self {
            Input::Empty => Some(0),
            Input::Memory(bytes) => Some(bytes.len() as u64),
            Input::File(_, len) => Some(*len),
            Input::Stream(_) => None,
        }
    }

    /// Whether it is certain that there is no byte in it.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

/// Sends `103 Early Hints` (RFC 8297) to the client, at once, before the response.
pub trait Hints: Send + Sync {
    /// Sends these headers, usually `link`. A client that cannot take them (HTTP/1.0) gets nothing.
    fn send(&self, headers: HeaderMap);
}

/// Takes the connection away from HTTP before any response: what `rack.hijack` calls a full hijack.
pub trait Takeover: Send {
    /// From now on the bytes belong to the caller; the front only relays them.
    fn take(self: Box<Self>) -> Duplex;
}

/// One request.
pub struct Request {
    /// A UUID of version 4, or what a trusted proxy sent as `X-Request-Id`: letters, digits and `._-:@`.
    pub id: String,
    /// The method, as sent.
    pub method: Method,
    /// The target as the client wrote it: RFC 9112 section 3.2, in any of its four forms.
    pub target: String,
    /// The path of the target, not decoded; `*` for `OPTIONS *`.
    pub path: String,
    /// How many bytes of it, from its beginning, are where the application is mounted: `SCRIPT_NAME`. The rest is
    /// `PATH_INFO`. Zero is the root.
    pub script_length: usize,
    /// What follows the `?`, not decoded; empty where there is none.
    pub query: String,
    /// The protocol version.
    pub version: Version,
    /// All headers that may reach the application.
    pub headers: HeaderMap,
    /// With or without TLS.
    pub scheme: Scheme,
    /// Both ends of the connection.
    pub peer: Peer,
    /// The body.
    pub input: Input,
    /// When its first byte arrived.
    pub received: Instant,
    /// When its last byte arrived; from then on it waits for the application and not for its client.
    pub complete: Instant,
    /// When it must be answered.
    pub deadline: Instant,
    /// When it must have begun to run.
    pub queue_deadline: Instant,
    /// The server asks itself: nothing is counted.
    pub is_own: bool,
    /// For early hints, where the connection can carry them.
    pub hints: Option<Arc<dyn Hints>>,
    /// For a full hijack, where the connection can be given away.
    pub takeover: Option<Box<dyn Takeover>>,
}

impl Request {
    /// One that no client has sent, for tests: no headers, no body, due in ten seconds.
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
            complete: now,
            deadline: due,
            queue_deadline: due,
            is_own: false,
            hints: None,
            takeover: None,
        }
    }

    /// Where the application is mounted, and the path below that.
    pub fn script_and_path(&self) -> (&str, &str) {
        self.path.split_at_checked(self.script_length).unwrap_or(("", &self.path))
    }

    /// How long its answer may have taken, for the message of a time-out.
    pub fn time_allowed(&self) -> Duration {
        self.deadline.saturating_duration_since(self.complete)
    }
}
