//! How a client is told of an error.

use http::header::{ACCEPT, HeaderMap};

/// How a client is told of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Html,
    Json,
}

/// Whether the client would rather have HTML than plain text.
pub(crate) fn wants_html(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(|value| value.contains("text/html"))
}
