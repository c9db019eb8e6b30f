//! Check of a host: the value of the Host header, or the authority of a URL in a request line.

use std::net::Ipv6Addr;

use crate::parse::chars::is_host_name;
use crate::parse::refusal::{Refusal, bad};

/// Checks for `host` or `host:port`, without user information, which RFC 9110 section 4.2.4 forbids.
pub(crate) fn check(value: &[u8]) -> Result<(), Refusal> {
    let (name, port) = match value {
        [b'[', ..] => {
            let Some(end) = memchr::memchr(b']', value) else { return bad("the host has an open bracket") };
            let inside = std::str::from_utf8(&value[1..end]).unwrap_or_default();
            if inside.parse::<Ipv6Addr>().is_err() {
                return bad("the host is not an IPv6 address");
            }
            (&b"v6"[..], &value[end + 1..])
        }
        _ => value.split_at(memchr::memchr(b':', value).unwrap_or(value.len())),
    };
    if name.is_empty() || !name.iter().all(|byte| is_host_name(*byte)) || !is_rightly_encoded(name) {
        return bad("the host is not a name");
    }
    match port {
        [] | [b':'] => Ok(()),
        [b':', digits @ ..] if is_port(digits) => Ok(()),
        _ => bad("the port of the host is not a number up to 65535"),
    }
}

fn is_port(digits: &[u8]) -> bool {
    let number = digits.iter().try_fold(0_u16, |number, digit| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u16::from(digit - b'0')),
        _ => None,
    });
    number.is_some()
}

/// Whether two hexadecimal digits follow each percent sign.
fn is_rightly_encoded(name: &[u8]) -> bool {
    let are_digits = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    memchr::memchr_iter(b'%', name).all(|at| name.get(at + 1..at + 3).is_some_and(are_digits))
}
