//! Request targets in the four forms of RFC 9112 section 3.2. Bytes of a path or a query that should have been
//! percent-encoded, and fragments, are accepted, as Ruby's other servers do; hyper accepts neither, and gets the target
//! in its correct form.

use std::borrow::Cow;

use http::StatusCode;

use crate::parse::chars::is_token;
use crate::parse::host;
use crate::parse::refusal::{Refusal, bad, refuse};

/// A parsed target.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// Whether it is a URL, whose host takes precedence over the header.
    pub(crate) has_authority: bool,
    /// The target for hyper.
    pub(crate) plain: Cow<'a, [u8]>,
}

/// Parses a target, and checks that this method allows its form.
pub(crate) fn read<'a>(method: &[u8], target: &'a [u8]) -> Result<Target<'a>, Refusal> {
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return bad("the method is not a token");
    }
    if target.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        return bad("the target has a space or a control character in it");
    }
    if method == b"CONNECT" {
        return refuse(StatusCode::NOT_IMPLEMENTED, "this is not a proxy: there is nothing to connect to");
    }
    // Servers have no use for a fragment.
    let target = &target[..memchr::memchr(b'#', target).unwrap_or(target.len())];
    match target {
        [b'/', ..] => Ok(Target { has_authority: false, plain: encoded(target) }),
        b"*" if method == b"OPTIONS" => Ok(Target { has_authority: false, plain: target.into() }),
        _ => {
            let Some(start) = after_scheme(target) else {
                return bad("the target is neither a path nor a whole http URL");
            };
            let length = target[start..].iter().position(|byte| matches!(byte, b'/' | b'?'));
            let path = length.map_or(target.len(), |length| start + length);
            if memchr::memchr(b'%', &target[start..path]).is_some() {
                return bad("the host of the target has a percent sign in it");
            }
            host::check(&target[start..path])?;
            Ok(Target { has_authority: true, plain: encoded(target) })
        }
    }
}

/// The target with its path and query percent-encoded as hyper demands. Nothing in a scheme or a checked host need be.
fn encoded(target: &[u8]) -> Cow<'_, [u8]> {
    // Nearly all targets end here: nothing is in them that may have to be encoded.
    if !target.iter().any(|byte| matches!(byte, b'<' | b'>' | b'`' | b'"' | 0x80..)) {
        return target.into();
    }
    let query = memchr::memchr(b'?', target).unwrap_or(target.len());
    let is_text = [0..query, query..target.len()].map(|part| std::str::from_utf8(&target[part]).is_ok());
    let must_be = |at: usize, byte: u8| match byte {
        b'<' | b'>' => true,
        b'`' => at < query,
        b'"' => at >= query,
        0x80.. => !is_text[usize::from(at >= query)],
        _ => false,
    };
    let mut plain = Vec::with_capacity(target.len() + 16);
    for (at, byte) in target.iter().enumerate() {
        if must_be(at, *byte) {
            plain.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            plain.push(*byte);
        }
    }
    plain.into()
}

/// Position of the authority in a URL.
fn after_scheme(target: &[u8]) -> Option<usize> {
    [&b"http://"[..], b"https://"].into_iter().find_map(|scheme| {
        let start = target.get(..scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(scheme.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_should_have_been_encoded_is_and_nothing_else() {
        for (target, wanted) in [
            (&b"/a%20b?c=%zz"[..], &b"/a%20b?c=%zz"[..]),
            (b"/!$&'()*+,-.:;=@[]^_{|}~\"\\?`^{|}\\", b"/!$&'()*+,-.:;=@[]^_{|}~\"\\?`^{|}\\"),
            (b"/<a>`?\"<b>", b"/%3Ca%3E%60?%22%3Cb%3E"),
            (b"/caf\xe9", b"/caf%E9"),
            (b"/caf\xc3\xa9?\xe9", b"/caf\xc3\xa9?%E9"),
            (b"/caf\xe9?\xc3\xa9", b"/caf%E9?\xc3\xa9"),
            (b"/a#b", b"/a"),
            (b"/a?b#c?d\xff", b"/a?b"),
            (b"http://h:80/<#x", b"http://h:80/%3C"),
            (b"HTTP://h#x", b"HTTP://h"),
            (b"/#", b"/"),
        ] {
            let plain = read(b"GET", target).unwrap().plain;
            assert_eq!(plain, wanted, "{}", target.escape_ascii());
            // hyper uses the parser of the `http` crate.
            let uri: http::Uri = std::str::from_utf8(&plain).unwrap().parse().unwrap();
            assert_eq!(
                uri.to_string().trim_end_matches('/'),
                String::from_utf8_lossy(&plain).replace("HTTP", "http").trim_end_matches('/')
            );
        }
        for target in [&b"#"[..], b"#/a", b"", b"*", b"http://<", b"http://a%2e/", b"a<b", b"/a\tb"] {
            assert!(read(b"GET", target).is_err(), "{}", target.escape_ascii());
        }
    }
}
