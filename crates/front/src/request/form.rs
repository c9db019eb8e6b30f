//! Format of error responses.

use http::header::{ACCEPT, HeaderMap};

/// Format of an error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Html,
    Json,
}

/// Whether the client accepts HTML.
pub(crate) fn wants_html(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(|value| value.contains("text/html"))
}
