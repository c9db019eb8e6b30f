//! Native functions for library/net/http.rb. A call ends at the request's deadline or after the timeouts that Ruby
//! passes; connections are kept for the next request of the same interpreter.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::uri::Scheme;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, Body, BodyReader, Error, Proxy, ProxyProtocol, Timeout};

use super::connection::Connections;
use super::forward::{Target, to_proxy, with_target};
use super::heads::{last_head, reason};
use super::limits::read_until;
use ruby_native::errno::exception;
use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// Responses that one interpreter may have open.
const RESPONSES_MAX: usize = 64;
/// Bytes that a response with its connection's buffers counts towards the interpreter's memory limit.
const RESPONSE_BYTES: usize = 300 << 10;
/// Most bytes that one read returns; Ruby reads again for more.
const READ_BYTES_MAX: usize = 64 << 10;
/// Clients with different trusted certificates that one interpreter keeps.
const AGENTS_MAX: usize = 8;
/// Bytes that are read of a file of certificates.
const CERTIFICATES_BYTES_MAX: u64 = 8 << 20;
/// Files in which Linux distributions keep the certificates they trust.
const SYSTEM_CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The certificates that a client trusts.
#[derive(PartialEq, Eq)]
struct Trust {
    /// Whether the server's certificate is verified.
    verify: bool,
    /// A PEM file of trusted certificates; None for those of the system.
    file: Option<PathBuf>,
}

/// The clients of an interpreter, by the certificates they trust, kept with their connections for its next request.
type Agents = Vec<(Trust, Agent)>;

struct Answer {
    head: Response<()>,
    /// The reason phrase; None where the response has none.
    reason: Option<Vec<u8>>,
    body: BodyReader<'static>,
}

/// `http_send([method, url, headers, body or nil], [open, read and write timeouts or nil], verify, file or nil, proxy
/// or nil, bare)`: sends a request, reads the head of the response and returns a handle. Timeouts are in seconds. Where
/// `bare` is true and there is no proxy, the server gets the path without the slash at its beginning.
pub fn send(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let what = tree(arg(args, 0))?;
    let times = tree(arg(args, 1))?;
    let file = match arg(args, 3) {
        Arg::Nil => None,
        file => Some(file.path()?.to_owned()),
    };
    let trust = Trust { verify: arg(args, 2).truthy(), file };
    let proxy = match arg(args, 4) {
        Arg::Nil => None,
        address => Some(proxy(&address.text()?)?),
    };
    context.tick()?;
    // The part of the response body that is there should not wait for another server.
    context.work.flush();
    let agent = agent(context, trust)?;
    let (request, body) = request(what)?;
    let (request, proxy, target) = match proxy {
        Some(proxy) if request.uri().scheme() == Some(&Scheme::HTTP) => {
            let (request, origin) = to_proxy(request, &proxy)?;
            (request, None, Some(Target::Absolute(origin)))
        }
        None if arg(args, 5).truthy() => (request, None, Some(Target::Bare)),
        proxy => (request, proxy, None),
    };
    let until = context.work.until();
    let sent = with_target(target, || run(&agent, request, body, &times, proxy, until));
    let (head, body) = sent.map_err(|error| failed(context, error))?.into_parts();
    let reason = match last_head() {
        Some(head) => reason(&head).map(<[u8]>::to_vec),
        None => head.status.canonical_reason().map(|reason| reason.as_bytes().to_vec()),
    };
    let body = body.into_with_config().limit(u64::MAX).reader();
    let answer = Answer { head: Response::from_parts(head, ()), reason, body };
    Ok(Value::Handle(context.handles.hold_one_of(RESPONSES_MAX, answer)?, RESPONSE_BYTES))
}

/// The proxy at an address such as `http://user:password@proxy.example:3128`. The address is not shown: it may contain
/// a password.
fn proxy(address: &str) -> Result<Proxy, Raise> {
    let is_known = |proxy: &Proxy| matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https);
    let proxy = Proxy::new(address).ok().filter(is_known);
    proxy.ok_or_else(|| raise("ArgumentError", "a proxy's address must be http://HOST:PORT or https://HOST:PORT"))
}

fn tree(arg: Arg<'_>) -> Result<Vec<Tree>, Raise> {
    match Tree::decode(&arg.tree()) {
        Ok(Tree::Array(items)) => Ok(items),
        _ => Err(raise("TypeError", "expected an Array")),
    }
}

fn request(what: Vec<Tree>) -> Result<(Request<()>, Option<Vec<u8>>), Raise> {
    let Ok([Tree::Str(method), Tree::Str(url), Tree::Array(headers), body]) = <[Tree; 4]>::try_from(what) else {
        return Err(raise("TypeError", "a request is a method, a URL, headers and a body"));
    };
    let method = Method::from_bytes(&method).map_err(|_| raise("ArgumentError", "this is no method of HTTP"))?;
    let mut request = Request::builder().method(method).uri(url.as_slice());
    for header in headers {
        let Tree::Array(pair) = header else { continue };
        let [Tree::Str(name), Tree::Str(value)] = pair.as_slice() else { continue };
        let name = HeaderName::from_bytes(name);
        let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) else {
            return Err(raise("ArgumentError", "header field name or value has what HTTP does not allow"));
        };
        request = request.header(name, value);
    }
    let request = request.body(()).map_err(|error| raise("URI::InvalidURIError", error.to_string()))?;
    Ok((request, if let Tree::Str(body) = body { Some(body) } else { None }))
}

fn run(
    agent: &Agent,
    request: Request<()>,
    body: Option<Vec<u8>>,
    times: &[Tree],
    proxy: Option<Proxy>,
    until: Instant,
) -> Result<Response<Body>, Error> {
    let time = |at: usize| match times.get(at) {
        Some(Tree::Int(seconds)) => Duration::try_from_secs_f64(*seconds as f64).ok(),
        Some(Tree::Float(seconds)) => Duration::try_from_secs_f64(*seconds).ok(),
        _ => None,
    };
    let left = until.saturating_duration_since(Instant::now());
    let needs_body = [Method::POST, Method::PUT, Method::PATCH].contains(request.method());
    macro_rules! send {
        ($body:expr) => {{
            let settings = agent.configure_request(request.map(|()| $body)).timeout_global(Some(left));
            let settings = settings.timeout_resolve(time(0)).timeout_connect(time(0));
            let settings = settings.timeout_per_read(time(1)).timeout_per_write(time(2));
            agent.run(settings.proxy(proxy).build())
        }};
    }
    // The types differ: with a body, even an empty one, Content-Length is sent.
    match body {
        Some(body) => send!(body),
        None if needs_body => send!(Vec::new()),
        None => send!(()),
    }
}

fn agent(context: &mut Context<'_>, trust: Trust) -> Result<Agent, Raise> {
    if let Some((_, agent)) = context.handles.own(Agents::new).iter().find(|(known, _)| *known == trust) {
        return Ok(agent.clone());
    }
    let roots = match &trust.file {
        Some(file) => RootCerts::Specific(Arc::new(certificates(file).ok_or_else(|| {
            raise("OpenSSL::SSL::SSLError", format!("there are no certificates in {}", file.display()))
        })?)),
        None => system_roots(),
    };
    let tls = TlsConfig::builder().root_certs(roots).disable_verification(!trust.verify).build();
    let config = Agent::config_builder()
        .tls_config(tls)
        // Ruby names the proxy of each request.
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .allow_non_standard_methods(true)
        .user_agent("Ruby")
        .accept("*/*")
        .max_idle_connections(16)
        .max_idle_connections_per_host(4)
        .build();
    let connector = DefaultConnector::new().chain(Connections);
    let agent = Agent::with_parts(config, connector, DefaultResolver::default());
    if context.handles.own(Agents::new).len() >= AGENTS_MAX {
        context.handles.own(Agents::new).remove(0);
    }
    context.handles.own(Agents::new).push((trust, agent.clone()));
    Ok(agent)
}

fn certificates(file: &Path) -> Option<Vec<Certificate<'static>>> {
    let (opened, _) = files::open(file).ok()?;
    let mut pem = Vec::new();
    opened.take(CERTIFICATES_BYTES_MAX).read_to_end(&mut pem).ok()?;
    let found = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    Some(found.collect::<Vec<_>>()).filter(|found| !found.is_empty())
}

/// The trusted certificates of the system, read once; Mozilla's where it has none.
fn system_roots() -> RootCerts {
    static ROOTS: OnceLock<Option<Arc<Vec<Certificate<'static>>>>> = OnceLock::new();
    let find = || SYSTEM_CERTIFICATES.iter().find_map(|file| certificates(file.as_ref())).map(Arc::new);
    ROOTS.get_or_init(find).clone().map_or(RootCerts::WebPki, RootCerts::Specific)
}

fn failed(context: &mut Context<'_>, error: Error) -> Raise {
    let late = if matches!(error, Error::Timeout(_)) { context.work.overdue_by_now() } else { context.work.overdue() };
    if let Some(late) = late {
        return late;
    }
    match error {
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => raise("Net::OpenTimeout", "execution expired"),
        Error::Timeout(Timeout::PerWrite | Timeout::SendRequest | Timeout::SendBody) => {
            raise("Net::WriteTimeout", "Net::WriteTimeout")
        }
        Error::Timeout(_) => raise("Net::ReadTimeout", "Net::ReadTimeout"),
        Error::HostNotFound => raise("SocketError", "getaddrinfo: Name or service not known"),
        Error::Tls(_) | Error::Pem(_) | Error::Rustls(_) => raise("OpenSSL::SSL::SSLError", error.to_string()),
        Error::BadUri(_) | Error::Http(_) => raise("ArgumentError", error.to_string()),
        Error::Io(error) => io_failed(&error),
        // From limits.rs.
        Error::Other(error) => match error.downcast_ref() {
            Some(error) => io_failed(error),
            None => raise("Net::HTTPBadResponse", error.to_string()),
        },
        Error::ConnectProxyFailed(why) => raise("Net::HTTPBadResponse", no_tunnel(&why)),
        error => raise("Net::HTTPBadResponse", error.to_string()),
    }
}

/// The message for a proxy that opens no tunnel; Ruby makes a response of the head in it. ureq writes the status
/// twice: `proxy server responded 403/403`.
fn no_tunnel(why: &str) -> String {
    match why.rsplit('/').next().map(|code| StatusCode::from_bytes(code.as_bytes())) {
        Some(Ok(status)) => {
            let head = last_head().unwrap_or_else(|| format!("HTTP/1.1 {status}").into_bytes());
            format!("the proxy answered CONNECT with\n{}", String::from_utf8_lossy(&head))
        }
        _ => format!("CONNECT proxy failed: {why}"),
    }
}

fn io_failed(error: &io::Error) -> Raise {
    let class = match error.kind() {
        io::ErrorKind::ConnectionRefused => "Errno::ECONNREFUSED",
        io::ErrorKind::ConnectionReset => "Errno::ECONNRESET",
        io::ErrorKind::ConnectionAborted => "Errno::ECONNABORTED",
        io::ErrorKind::BrokenPipe => "Errno::EPIPE",
        io::ErrorKind::HostUnreachable => "Errno::EHOSTUNREACH",
        io::ErrorKind::NetworkUnreachable => "Errno::ENETUNREACH",
        io::ErrorKind::UnexpectedEof => return raise("EOFError", "end of file reached"),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "Net::ReadTimeout",
        // The error kind for everything that rustls refuses.
        io::ErrorKind::InvalidData => "OpenSSL::SSL::SSLError",
        _ if error.to_string().contains("lookup address") => "SocketError",
        _ => return exception(error, ""),
    };
    raise(class, error.to_string())
}

/// `http_head(handle)`: status, HTTP version, reason phrase or nil, and `[[name, value], …]` of a response.
pub fn head(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let answer = context.handles.get::<Answer>(arg(args, 0).handle()?)?;
    let status = answer.head.status();
    let headers =
        answer.head.headers().iter().map(|(name, value)| {
            Tree::Array(vec![Tree::Str(name.as_str().into()), Tree::Str(value.as_bytes().to_vec())])
        });
    let version = if answer.head.version() == http::Version::HTTP_10 { "1.0" } else { "1.1" };
    let head = Tree::Array(vec![
        Tree::Int(status.as_u16().into()),
        Tree::Str(version.into()),
        answer.reason.clone().map_or(Tree::Nil, Tree::Str),
        Tree::Array(headers.collect()),
    ]);
    Ok(Value::Tree(head.encoded()))
}

/// `http_read(handle)`: the next part of the response body; an empty String at its end.
pub fn read(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    let until = context.work.until();
    let answer = context.handles.get::<Answer>(arg(args, 0).handle()?)?;
    let mut out = vec![0; READ_BYTES_MAX];
    match read_until(until, || answer.body.read(&mut out)) {
        Ok(count) => {
            out.truncate(count);
            Ok(Value::Str(out))
        }
        Err(error) => Err(failed(context, error.into())),
    }
}

#[cfg(test)]
mod tests {
    use http::Uri;
    use ureq::config::Config;
    use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
    use ureq::unversioned::transport::NextTimeout;

    use super::*;

    /// A resolver without an answer.
    #[derive(Debug)]
    struct Silent;

    impl Resolver for Silent {
        fn resolve(&self, _: &Uri, _: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
            assert!(*timeout.after <= Duration::from_secs(2), "{timeout:?}");
            Err(Error::Timeout(timeout.reason))
        }
    }

    #[test]
    fn the_lookup_of_a_name_has_the_time_to_open_a_connection() {
        let config = Agent::config_builder().proxy(None).build();
        let agent = Agent::with_parts(config, DefaultConnector::new(), Silent);
        let request = Request::builder().uri("http://shop.invalid/").body(()).unwrap();
        let times = [Tree::Int(2), Tree::Int(60), Tree::Int(60)];
        let sent = run(&agent, request, None, &times, None, Instant::now() + Duration::from_secs(30));
        assert!(matches!(sent, Err(Error::Timeout(Timeout::Resolve))));
    }
}
