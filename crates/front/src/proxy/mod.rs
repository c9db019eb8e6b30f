//! What a proxy in front of the server may say of a client: who is such a proxy, which headers only it may send, and
//! what they mean for a request's address, scheme and id. Headers of this kind reach the application from a trusted
//! peer or not at all.

pub(crate) mod forwarded;
pub(crate) mod proxy_headers;
pub(crate) mod remote;
pub(crate) mod request_id;
pub(crate) mod sanitize;
pub(crate) mod trust;
