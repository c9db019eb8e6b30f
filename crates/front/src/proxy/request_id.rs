//! Request ids: a random UUID (version 4), or the id that a trusted proxy sent, so that both logs can be correlated.

use std::sync::Arc;

use uuid::Uuid;

/// Longest id that is accepted from a proxy. It appears in each log line and in the response.
const PROXY_ID_BYTES: usize = 128;

/// A request id. One made here needs no allocation.
#[derive(Debug, Clone)]
pub(crate) enum RequestId {
    Generated([u8; 36]),
    Forwarded(Arc<str>),
}

impl RequestId {
    pub(crate) fn new() -> RequestId {
        let mut id = [0; 36];
        Uuid::new_v4().hyphenated().encode_lower(&mut id);
        RequestId::Generated(id)
    }

    /// The id that a proxy sent, if it is safe in a log, a header and a URL. Accepts UUIDs, nginx's hexadecimal digits,
    /// HAProxy's ids with colons, and Apache's with `@`.
    pub(crate) fn from_proxy(id: &[u8]) -> Option<RequestId> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-:@".contains(byte);
        if id.is_empty() || id.len() > PROXY_ID_BYTES || !id.iter().all(is_plain) {
            return None;
        }
        std::str::from_utf8(id).ok().map(|id| RequestId::Forwarded(id.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            // Hexadecimal digits are ASCII.
            RequestId::Generated(id) => std::str::from_utf8(id).unwrap_or_default(),
            RequestId::Forwarded(id) => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_unless_somebody_told_a_plain_one() {
        assert_eq!(Uuid::parse_str(RequestId::new().as_str()).unwrap().get_version_num(), 4);
        let long = "x".repeat(128);
        for id in ["a", "1-669f-4b5_c.D", "7F000001:8296_7F00001E:1F90", "YhDcJn8AAQ@EAAEZ", &long] {
            assert_eq!(RequestId::from_proxy(id.as_bytes()).unwrap().as_str(), id);
        }
        let longer = "x".repeat(129);
        for id in ["", "a b", "a\nb", "é", "<b>", "a,b", &longer] {
            assert!(RequestId::from_proxy(id.as_bytes()).is_none(), "{id}");
        }
    }
}
