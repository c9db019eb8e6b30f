//! Headers by which a proxy describes the client: which peers are trusted proxies, which headers only they may send,
//! and what they mean for a request's address, scheme and id. Such headers reach the application from a trusted peer or
//! not at all.

pub(crate) mod forwarded;
pub(crate) mod proxy_headers;
pub(crate) mod remote;
pub(crate) mod request_id;
pub(crate) mod sanitize;
pub(crate) mod trust;
