//! Requests over `http://` through a proxy, which gets the whole address as the target of the request: the absolute
//! form of RFC 9112, section 3.2.2. ureq would ask it for a tunnel, which most proxies allow to port 443 alone.

use std::cell::Cell;
use std::fmt::Display;

use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Request, Uri};
use ruby_native::{Raise, raise};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};
use ureq::{Error, Proxy, ProxyProtocol};

thread_local! {
    /// What the next request of this thread has before its path; None where the path alone is its target.
    static ORIGIN: Cell<Option<String>> = const { Cell::new(None) };
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

/// Sends a request whose target begins with this origin.
pub fn with_origin<T>(origin: Option<String>, send: impl FnOnce() -> T) -> T {
    ORIGIN.set(origin);
    let sent = send();
    ORIGIN.set(None);
    sent
}

/// A part of a chain of connectors: makes connections that write the origin before the path of a request.
#[derive(Debug)]
pub struct Forward;

impl<In: Transport> Connector<In> for Forward {
    type Out = Forwarding<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Forwarding<In>>, Error> {
        Ok(chained.map(Forwarding))
    }
}

/// A connection that writes the origin before the path of a request.
#[derive(Debug)]
pub struct Forwarding<T>(T);

impl<T: Transport> Transport for Forwarding<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let Some(origin) = ORIGIN.take() else { return self.0.transmit_output(amount, timeout) };
        let output = self.0.buffers().output();
        let size = output.len();
        for part in absolute(&output[..amount], &origin).chunks(size) {
            self.0.buffers().output()[..part.len()].copy_from_slice(part);
            self.0.transmit_output(part.len(), timeout)?;
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.0.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}

/// The head of a request with the origin before its path.
fn absolute(head: &[u8], origin: &str) -> Vec<u8> {
    let path = head.iter().position(|byte| *byte == b' ').map_or(head.len(), |space| space + 1);
    [&head[..path], origin.as_bytes(), &head[path..]].concat()
}
