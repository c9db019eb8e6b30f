//! The head of a response where hyper does not write it: of early hints, and before a connection leaves HTTP.

use http::{HeaderMap, StatusCode};

/// Appends a head as it stands on the wire.
pub(crate) fn write_head(out: &mut Vec<u8>, status: StatusCode, headers: &HeaderMap) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// The words beside a status, as RFC 9110 has them; none for a status that nobody has named.
pub(crate) fn reason(status: StatusCode) -> &'static str {
    match status {
        // The library has the words of older RFCs.
        StatusCode::PAYLOAD_TOO_LARGE => "Content Too Large",
        StatusCode::UNPROCESSABLE_ENTITY => "Unprocessable Content",
        status => status.canonical_reason().unwrap_or_default(),
    }
}
