//! Converts a request into the pairs of its Rack environment (Rack 3 SPEC, "The Environment"), for all engines. Only
//! pairs with a string as value are made here; each engine makes its own `rack.*` objects.

use http::HeaderMap;
use http::header::{self, HeaderName};

use crate::request::{Request, Scheme};

/// Name of the header that carries the request's id.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Value of `SERVER_SOFTWARE`: name and version of the server.
pub const SOFTWARE: &str = concat!("FoolsGold/", env!("CARGO_PKG_VERSION"));

/// Key of a pair: one of a fixed set, or derived from a header's name; engines cache the latter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// A key of the fixed set.
    Fixed(Fixed),
    /// The name of a header, which [`header_key`] converts to `HTTP_…`.
    Header(&'a HeaderName),
}

/// Keys that are not derived from a header's name. Their numbers are indices into [`Fixed::NAMES`]. The last is a
/// key of Puma, which only the Ruby engine sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the key of its name")]
pub enum Fixed {
    RequestMethod,
    ScriptName,
    PathInfo,
    QueryString,
    RequestUri,
    RequestPath,
    ServerProtocol,
    HttpVersion,
    UrlScheme,
    Https,
    ServerName,
    ServerPort,
    RemoteAddr,
    ContentType,
    ContentLength,
    RequestBodyWait,
}

impl Fixed {
    /// Names of all variants, in their order.
    pub const NAMES: [&'static str; 16] = [
        "REQUEST_METHOD",
        "SCRIPT_NAME",
        "PATH_INFO",
        "QUERY_STRING",
        "REQUEST_URI",
        "REQUEST_PATH",
        "SERVER_PROTOCOL",
        "HTTP_VERSION",
        "rack.url_scheme",
        "HTTPS",
        "SERVER_NAME",
        "SERVER_PORT",
        "REMOTE_ADDR",
        "CONTENT_TYPE",
        "CONTENT_LENGTH",
        "puma.request_body_wait",
    ];

    /// The key as a Ruby string.
    pub fn name(self) -> &'static str {
        Fixed::NAMES[self as usize]
    }

    /// Whether most requests have the same value, so that an engine can keep the Ruby string.
    pub fn is_steady(self) -> bool {
        !matches!(
            self,
            Fixed::PathInfo
                | Fixed::QueryString
                | Fixed::RequestUri
                | Fixed::RequestPath
                | Fixed::ContentLength
                | Fixed::RequestBodyWait
        )
    }
}

/// Calls `visit` with each pair. Requests with equal sets of headers give the pairs in the same order.
pub fn pairs<'a>(request: &'a Request, visit: &mut dyn FnMut(Key<'a>, &[u8])) {
    visit(Key::Fixed(Fixed::RequestMethod), request.method.as_str().as_bytes());
    let (script, path) = request.script_and_path();
    visit(Key::Fixed(Fixed::ScriptName), script.as_bytes());
    visit(Key::Fixed(Fixed::PathInfo), path.as_bytes());
    visit(Key::Fixed(Fixed::QueryString), request.query.as_bytes());
    visit(Key::Fixed(Fixed::RequestUri), request.target.as_bytes());
    // No specification has it, but Puma, Unicorn and Thin set it: the whole path, wherever the application is mounted.
    visit(Key::Fixed(Fixed::RequestPath), request.path.as_bytes());
    let protocol = protocol(request).as_bytes();
    visit(Key::Fixed(Fixed::ServerProtocol), protocol);
    visit(Key::Fixed(Fixed::HttpVersion), protocol);
    visit(Key::Fixed(Fixed::UrlScheme), request.scheme.as_str().as_bytes());
    if request.scheme == Scheme::Https {
        visit(Key::Fixed(Fixed::Https), b"on");
    }
    server(request, visit);
    // A client on a Unix socket has no IP address; it runs on this machine.
    let remote = request.peer.remote_ip.as_deref().unwrap_or("127.0.0.1");
    visit(Key::Fixed(Fixed::RemoteAddr), remote.as_bytes());
    let is_framed = headers(&request.headers, visit);
    // The request id of the access log, whatever the header's value: it finds the entries in the application's log
    // (`request_id` in Rails).
    visit(Key::Header(&REQUEST_ID), request.id.as_bytes());
    // The length of the body after transfer codings are removed (RFC 3875 section 4.1.2).
    if let Some(length) = request.input.len().filter(|_| is_framed) {
        visit(Key::Fixed(Fixed::ContentLength), length.to_string().as_bytes());
    }
}

fn protocol(request: &Request) -> &'static str {
    match request.version {
        http::Version::HTTP_10 => "HTTP/1.0",
        http::Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    }
}

/// Emits `SERVER_NAME` and `SERVER_PORT`: those of the `Host` header, else of the address that the client connected to.
fn server<'a>(request: &'a Request, visit: &mut dyn FnMut(Key<'a>, &[u8])) {
    let authority = request.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let usual_port = || request.scheme.default_port().to_string();
    let mut emit = |name: &str, port: &str| {
        visit(Key::Fixed(Fixed::ServerName), name.as_bytes());
        visit(Key::Fixed(Fixed::ServerPort), port.as_bytes());
    };
    match (split_authority(authority), request.peer.local) {
        (("", _), Some(local)) => {
            let ip = local.ip().to_canonical();
            let name = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
            emit(&name, &local.port().to_string());
        }
        (("", _), None) => emit("localhost", &usual_port()),
        ((name, Some(port)), _) => emit(name, port),
        ((name, None), _) => emit(name, &usual_port()),
    }
}

/// Splits `host:port` (RFC 3986 section 3.2). An IPv6 address keeps its brackets.
pub fn split_authority(authority: &str) -> (&str, Option<&str>) {
    let after_bracket = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_bracket..].rfind(':') {
        Some(at) => {
            let at = after_bracket + at;
            let port = &authority[at + 1..];
            (&authority[..at], Some(port).filter(|port| !port.is_empty()))
        }
        None => (authority, None),
    }
}

/// Emits the headers. Repeated fields are joined (RFC 9110 section 5.3; cookies, RFC 6265 section 5.4). Of several
/// names with the same key, the one with dashes wins, else the first. Framing headers are left out, since the body is
/// complete and its length known, and so is the request id, which is emitted separately. Returns whether there are
/// framing headers: without them a request has no body.
fn headers<'a>(headers: &'a HeaderMap, visit: &mut dyn FnMut(Key<'a>, &[u8])) -> bool {
    let mut is_framed = false;
    // The map gives all values of a name one after the other.
    let mut fields = headers.iter().peekable();
    while let Some((name, first)) = fields.next() {
        let mut joined = Vec::new();
        while let Some((_, value)) = fields.next_if(|(next, _)| *next == name) {
            if joined.is_empty() {
                joined.extend_from_slice(first.as_bytes());
            }
            joined.extend_from_slice(if *name == header::COOKIE { b"; " } else { b", " });
            joined.extend_from_slice(value.as_bytes());
        }
        if is_framing(name) {
            is_framed = true;
        } else if name != "version" && *name != REQUEST_ID && !is_shadowed(name, headers) {
            // A header `Version` would become `HTTP_VERSION`, the key of the protocol's version.
            visit(key(name), if joined.is_empty() { first.as_bytes() } else { &joined });
        }
    }
    is_framed
}

/// Whether another header with the same key takes precedence over this name, which has an underscore.
fn is_shadowed(name: &HeaderName, headers: &HeaderMap) -> bool {
    if !name.as_str().contains('_') {
        return false;
    }
    let mut twins = headers.keys().filter(|other| is_twin(name, other));
    twins.next() != Some(name) || twins.any(|other| !other.as_str().contains('_'))
}

/// Whether two header names have the same key.
fn is_twin(one: &HeaderName, other: &HeaderName) -> bool {
    let letter = |byte: u8| if byte == b'_' { b'-' } else { byte };
    let (one, other) = (one.as_str(), other.as_str());
    one.len() == other.len() && one.bytes().map(letter).eq(other.bytes().map(letter))
}

fn is_framing(name: &HeaderName) -> bool {
    *name == header::CONTENT_LENGTH || *name == header::TRANSFER_ENCODING
}

fn key(name: &HeaderName) -> Key<'_> {
    match *name {
        header::CONTENT_TYPE => Key::Fixed(Fixed::ContentType),
        _ => Key::Header(name),
    }
}

/// Converts a header's name to its key: `accept-language` becomes `HTTP_ACCEPT_LANGUAGE`.
pub fn header_key(name: &HeaderName) -> String {
    let mut key = String::with_capacity(5 + name.as_str().len());
    key.push_str("HTTP_");
    key.extend(name.as_str().chars().map(|c| if c == '-' { '_' } else { c.to_ascii_uppercase() }));
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    /// A pair as Ruby has it.
    fn shown(key: Key<'_>, value: &[u8]) -> (String, String) {
        let key = match key {
            Key::Fixed(key) => key.name().to_owned(),
            Key::Header(name) => header_key(name),
        };
        (key, String::from_utf8_lossy(value).into_owned())
    }

    fn collect(map: &HeaderMap) -> Vec<(String, String)> {
        let mut out = Vec::new();
        headers(map, &mut |key, value| out.push(shown(key, value)));
        out
    }

    #[test]
    fn repeated_headers_are_joined_and_cookies_with_semicolons() {
        let mut map = HeaderMap::new();
        for (name, value) in [("accept", "a"), ("accept", "b"), ("accept", "c"), ("cookie", "x=1"), ("cookie", "y=2")] {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let expected = [("HTTP_ACCEPT", "a, b, c"), ("HTTP_COOKIE", "x=1; y=2")];
        assert_eq!(collect(&map), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn content_headers_have_no_prefix() {
        let mut map = HeaderMap::new();
        map.append("content-type", HeaderValue::from_static("text/plain"));
        assert_eq!(collect(&map), [("CONTENT_TYPE".to_owned(), "text/plain".to_owned())]);
    }

    #[test]
    fn of_twins_the_one_with_dashes_counts_and_else_the_first() {
        for (names, expected) in [
            (&["a_b"][..], "a_b"),
            (&["a_b", "a-b"], "a-b"),
            (&["a-b", "a_b"], "a-b"),
            (&["a_b-c", "a-b_c"], "a_b-c"),
            (&["a_b-c", "a-b_c", "a-b-c", "a_b_c"], "a-b-c"),
        ] {
            let mut map = HeaderMap::new();
            for name in names {
                map.append(HeaderName::from_static(name), HeaderValue::from_static(name));
            }
            let key = header_key(&HeaderName::from_static(expected));
            assert_eq!(collect(&map), [(key, expected.to_owned())], "{names:?}");
        }
    }

    #[test]
    fn where_an_application_is_mounted_is_no_part_of_its_path() {
        for (path, length, script, info) in
            [("/", 0, "", "/"), ("/shop/a", 0, "", "/shop/a"), ("/shop/a", 5, "/shop", "/a"), ("/shop", 5, "/shop", "")]
        {
            let mut request = Request::sample(http::Method::GET, path);
            request.script_length = length;
            let mut seen = Vec::new();
            pairs(&request, &mut |key, value| {
                if matches!(key, Key::Fixed(Fixed::ScriptName | Fixed::PathInfo)) {
                    seen.push(String::from_utf8_lossy(value).into_owned());
                }
            });
            assert_eq!(seen, [script, info]);
        }
    }

    #[test]
    fn authorities_are_split_at_the_last_colon_outside_brackets() {
        assert_eq!(split_authority("example.org"), ("example.org", None));
        assert_eq!(split_authority("example.org:81"), ("example.org", Some("81")));
        assert_eq!(split_authority("[::1]:9292"), ("[::1]", Some("9292")));
        assert_eq!(split_authority("[::1]"), ("[::1]", None));
        assert_eq!(split_authority("host:"), ("host", None));
    }

    /// Asserts the values of these keys; several values of one key are joined by `|`.
    fn expect(request: &Request, expected: &[(&str, &str)]) {
        let mut all = Vec::new();
        pairs(request, &mut |key, value| all.push(shown(key, value)));
        for (wanted, expected) in expected {
            let values: Vec<&str> = all.iter().filter(|(key, _)| key == wanted).map(|(_, value)| &**value).collect();
            assert_eq!(values.join("|"), *expected, "{wanted}");
        }
    }

    #[test]
    fn the_environment_tells_what_the_request_is_and_no_header_forges_it() {
        let mut request = Request::sample(http::Method::POST, "/");
        for (name, value) in [
            ("host", "a.org:81"),
            ("version", "9"),
            ("x-request-id", "forged"),
            ("content-length", "99"),
            ("transfer-encoding", "chunked"),
        ] {
            request.headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        request.input = crate::request::Input::Memory("gold".into());
        let id = request.id.to_string();
        expect(
            &request,
            &[
                ("HTTP_VERSION", "HTTP/1.1"),
                ("HTTP_X_REQUEST_ID", &id),
                ("CONTENT_LENGTH", "4"),
                ("HTTP_CONTENT_LENGTH", ""),
                ("HTTP_TRANSFER_ENCODING", ""),
                ("HTTPS", ""),
                ("rack.url_scheme", "http"),
                ("SERVER_NAME", "a.org"),
                ("SERVER_PORT", "81"),
            ],
        );
        request.headers.remove("content-length");
        expect(&request, &[("CONTENT_LENGTH", "4")]);
        request.headers.remove("transfer-encoding");
        (request.scheme, request.version) = (Scheme::Https, http::Version::HTTP_2);
        request.headers.insert(header::HOST, HeaderValue::from_static("[::]"));
        expect(
            &request,
            &[
                ("CONTENT_LENGTH", ""),
                ("HTTPS", "on"),
                ("rack.url_scheme", "https"),
                ("SERVER_NAME", "[::]"),
                ("SERVER_PORT", "443"),
                ("SERVER_PROTOCOL", "HTTP/2"),
            ],
        );
        request.version = http::Version::HTTP_10;
        expect(&request, &[("SERVER_PROTOCOL", "HTTP/1.0")]);
    }

    #[test]
    fn the_server_is_the_one_that_the_client_names_else_the_one_that_it_has_connected_to() {
        use Scheme::{Http, Https};
        for (host, local, scheme, name, port) in [
            (None, Some("192.0.2.1:8080"), Https, "192.0.2.1", "8080"),
            (None, Some("[::ffff:192.0.2.1]:81"), Http, "192.0.2.1", "81"),
            (None, Some("[2001:db8::1]:81"), Http, "[2001:db8::1]", "81"),
            (Some(""), Some("192.0.2.1:81"), Http, "192.0.2.1", "81"),
            (None, None, Http, "localhost", "80"),
            (None, None, Https, "localhost", "443"),
            (Some("a"), Some("192.0.2.1:8080"), Http, "a", "80"),
            (Some("a:"), Some("192.0.2.1:8080"), Https, "a", "443"),
            (Some("a:9"), Some("192.0.2.1:8080"), Https, "a", "9"),
        ] {
            let mut request = Request::sample(http::Method::GET, "/");
            request.scheme = scheme;
            request.peer.local = local.map(|local: &str| local.parse().unwrap());
            if let Some(host) = host {
                request.headers.insert(header::HOST, HeaderValue::from_static(host));
            }
            expect(&request, &[("SERVER_NAME", name), ("SERVER_PORT", port), ("REMOTE_ADDR", "127.0.0.1")]);
        }
        let mut request = Request::sample(http::Method::GET, "/");
        for (client, seen) in [("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"), ("::1", "::1")] {
            let remote = std::net::SocketAddr::new(client.parse().unwrap(), 1);
            request.peer = crate::request::Peer::new(Some(remote), None);
            expect(&request, &[("REMOTE_ADDR", seen)]);
        }
    }

    #[test]
    fn other_names_take_nothing_from_one_with_an_underscore_and_paths_are_not_steady() {
        let mut map = HeaderMap::new();
        for name in ["x-long", "a-b", "c_d"] {
            map.append(HeaderName::from_static(name), HeaderValue::from_static("1"));
        }
        assert_eq!(collect(&map).len(), 3);
        assert!(!Fixed::PathInfo.is_steady() && Fixed::RequestMethod.is_steady());
    }
}
