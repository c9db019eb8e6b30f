//! Access control of the admin listener: a request must carry the token; without one, it must come from this machine,
//! and not from a page of another origin in a browser here.

use std::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{self, HeaderMap};

use crate::config::admin::Token;

/// Condition that a request must fulfil.
#[derive(Debug, Clone)]
pub enum Guard {
    /// Nothing: the file system decides who may open the socket, or it is configured so.
    Nobody,
    /// The Host must name this machine. A page of another origin whose name was made to resolve to this machine sends
    /// its own name.
    ThisMachine,
    /// The token, as `Authorization: Bearer` or as the password of `Basic`.
    Token(Token),
}

impl Guard {
    /// Whether a request with these headers may pass. The error says whether the token would help, and what is wrong.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), (bool, &'static str)> {
        match self {
            Guard::Nobody => Ok(()),
            Guard::ThisMachine if names_this_machine(headers) => Ok(()),
            Guard::ThisMachine => {
                Err((false, "ask by the name localhost or an address; for other names, set --admin-token"))
            }
            Guard::Token(token) if said(headers).is_some_and(|said| token.is(&said)) => Ok(()),
            Guard::Token(_) => Err((true, "say the admin token: as Authorization: Bearer TOKEN, or as the password")),
        }
    }
}

fn names_this_machine(headers: &HeaderMap) -> bool {
    // HTTP/1.0 may have no Host; a browser always sends one.
    let Some(host) = headers.get(header::HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) if port.is_empty() || port.starts_with(':') => address,
        Some(_) => return false,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.is_empty() || name.parse::<IpAddr>().is_ok()
}

/// The token that the request carries.
fn said(headers: &HeaderMap) -> Option<Vec<u8>> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = BASE64_STANDARD.decode(rest).ok()?;
    let at = pair.iter().position(|byte| *byte == b':')?;
    Some(pair[at + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn with(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn without_a_token_the_request_must_name_this_machine() {
        for host in ["localhost", "LOCALHOST:9393", "127.0.0.1:9393", "[::1]:9393", "10.0.0.1"] {
            assert_eq!(Guard::ThisMachine.check(&with(header::HOST, host)), Ok(()), "{host}");
        }
        for host in ["evil.example", "evil.example:9393", "127.0.0.1.evil.example", "[::1].evil:1"] {
            assert!(Guard::ThisMachine.check(&with(header::HOST, host)).is_err(), "{host}");
        }
        assert_eq!(Guard::ThisMachine.check(&HeaderMap::new()), Ok(()));
    }

    #[test]
    fn the_token_counts_in_both_forms() {
        let guard = Guard::Token(Token::new("0123456789abcdef"));
        let basic = format!("Basic {}", BASE64_STANDARD.encode("any body:0123456789abcdef"));
        for right in ["Bearer 0123456789abcdef", "bearer 0123456789abcdef", &basic] {
            assert_eq!(guard.check(&with(header::AUTHORIZATION, right)), Ok(()), "{right}");
        }
        let basic = format!("Basic {}", BASE64_STANDARD.encode("0123456789abcdef:"));
        for wrong in ["Bearer 0123456789abcdeF", "0123456789abcdef", "Basic 0123", "Digest x", &basic] {
            assert!(guard.check(&with(header::AUTHORIZATION, wrong)).is_err(), "{wrong}");
        }
        assert!(guard.check(&HeaderMap::new()).is_err());
    }
}
