//! Requests whose target is not the path that ureq writes. Over `http://` a proxy gets the whole address: the absolute
//! form of RFC 9112, section 3.2.2. ureq would ask it for a tunnel, which most proxies allow to port 443 alone. A path
//! without a slash in front, such as the `*` of OPTIONS, is sent as the application has written it.

use std::cell::Cell;
use std::fmt::Display;

use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Request, Uri};
use ruby_native::{Raise, raise};
use ureq::unversioned::transport::{NextTimeout, Transport};
use ureq::{Error, Proxy, ProxyProtocol};

thread_local! {
    /// The target of the next request of this thread; None where that is the path.
    static TARGET: Cell<Option<Target>> = const { Cell::new(None) };
}

/// A target of a request that is not just its path.
#[derive(Debug)]
pub enum Target {
    /// The path with this origin before it.
    Absolute(String),
    /// The path without the slash at its beginning.
    Bare,
}

/// The request as it goes to the proxy, and the origin for the absolute form of its target.
pub fn to_proxy(request: Request<()>, proxy: &Proxy) -> Result<(Request<()>, String), Raise> {
    let (mut head, ()) = request.into_parts();
    let mut parts = head.uri.into_parts();
    let target = parts.authority.as_ref().map_or("", Authority::as_str);
    let target = target.strip_suffix(":80").unwrap_or(target).to_owned();
    let address = format!("{}:{}", proxy.host(), proxy.port());
    parts.scheme = Some(if proxy.protocol() == ProxyProtocol::Https { Scheme::HTTPS } else { Scheme::HTTP });
    parts.authority = Some(Authority::try_from(address).map_err(refused)?);
    head.uri = Uri::from_parts(parts).map_err(refused)?;
    if !head.headers.contains_key(HOST) {
        head.headers.insert(HOST, HeaderValue::from_str(&target).map_err(refused)?);
    }
    Ok((Request::from_parts(head, ()), format!("http://{target}")))
}

fn refused(error: impl Display) -> Raise {
    raise("URI::InvalidURIError", error.to_string())
}

/// Sends a request with this target.
pub fn with_target<T>(target: Option<Target>, send: impl FnOnce() -> T) -> T {
    TARGET.set(target);
    let sent = send();
    TARGET.set(None);
    sent
}

/// Sends the output buffer. The head of a request first gets the target that [`with_target`] has set.
pub fn transmit_output(transport: &mut impl Transport, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
    let Some(target) = TARGET.take() else { return transport.transmit_output(amount, timeout) };
    let output = transport.buffers().output();
    let size = output.len();
    for part in rewritten(&output[..amount], &target).chunks(size) {
        transport.buffers().output()[..part.len()].copy_from_slice(part);
        transport.transmit_output(part.len(), timeout)?;
    }
    Ok(())
}

/// The head of a request with this target.
fn rewritten(head: &[u8], target: &Target) -> Vec<u8> {
    let path = head.iter().position(|byte| *byte == b' ').map_or(head.len(), |space| space + 1);
    let (method, rest) = head.split_at(path);
    match target {
        Target::Absolute(origin) => [method, origin.as_bytes(), rest].concat(),
        Target::Bare => [method, rest.strip_prefix(b"/").unwrap_or(rest)].concat(),
    }
}
