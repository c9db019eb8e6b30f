//! What a request line asks for: one of the four forms of RFC 9112 section 3.2.

use http::StatusCode;

use crate::chars::is_token;
use crate::head::{Refusal, bad, refuse};
use crate::host;

/// Whether the target has a host of its own, if this method may be used on it, and hyper will take both.
pub(crate) fn check(method: &[u8], target: &[u8]) -> Result<bool, Refusal> {
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return bad("the method is not a token");
    }
    if target.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        return bad("the target has a space or a control character in it");
    }
    if memchr::memchr(b'#', target).is_some() {
        return bad("the target has a fragment");
    }
    if method == b"CONNECT" {
        return refuse(StatusCode::NOT_IMPLEMENTED, "this is not a proxy: there is nothing to connect to");
    }
    match target {
        [b'/', ..] => check_path(target).map(|()| false),
        b"*" if method == b"OPTIONS" => Ok(false),
        _ => match after_scheme(target) {
            Some(rest) => {
                let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
                let (authority, path) = rest.split_at(end);
                if memchr::memchr(b'%', authority).is_some() {
                    return bad("the host of the target has a percent sign in it");
                }
                host::check(authority)?;
                check_path(path).map(|()| true)
            }
            None => bad("the target is neither a path nor a whole http URL"),
        },
    }
}

/// Path and query, with all that hyper takes as it is.
fn check_path(path: &[u8]) -> Result<(), Refusal> {
    let query = memchr::memchr(b'?', path).unwrap_or(path.len());
    let (path, query) = path.split_at(query);
    let is_plain = !path.iter().any(|byte| matches!(byte, b'<' | b'>' | b'`'))
        && !query.iter().any(|byte| matches!(byte, b'<' | b'>' | b'"'));
    if !is_plain || std::str::from_utf8(path).is_err() || std::str::from_utf8(query).is_err() {
        return bad("the target has a character in it that must be percent-encoded");
    }
    Ok(())
}

fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    [&b"http://"[..], b"https://"].into_iter().find_map(|scheme| {
        let start = target.get(..scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then(|| &target[scheme.len()..])
    })
}
