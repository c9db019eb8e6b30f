//! Response heads that hyper does not write: of early hints, and before a connection leaves HTTP.

use http::{HeaderMap, StatusCode};

/// Appends a head in wire format.
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

/// The reason phrase of a status by RFC 9110; empty for an unassigned one.
pub(crate) fn reason(status: StatusCode) -> &'static str {
    match status {
        // The `http` crate has the phrases of older RFCs, and one without its hyphen.
        StatusCode::NON_AUTHORITATIVE_INFORMATION => "Non-Authoritative Information",
        StatusCode::PAYLOAD_TOO_LARGE => "Content Too Large",
        StatusCode::UNPROCESSABLE_ENTITY => "Unprocessable Content",
        status => status.canonical_reason().unwrap_or_default(),
    }
}
