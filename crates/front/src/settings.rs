//! Everything about serving that can be set.

use std::sync::Arc;

use engine::Scheme;

use crate::counts::Counts;
use crate::limits::Limits;
use crate::log::access_log::AccessLog;
use crate::proxy::remote::RemoteAddress;
use crate::proxy::trust::Trusted;

/// Everything about serving that can be set. It does not change any more once serving has begun.
#[derive(Debug)]
pub struct Settings {
    /// What a client may cost.
    pub limits: Limits,
    /// Peers whose word about the client before them is taken, the proxies. Empty where there are never any: then the
    /// log does not say what was left out.
    pub trusted: Vec<Trusted>,
    /// Whether headers with an underscore in their names reach the application. Their keys in the environment are the
    /// same as with a dash; those that could pass for headers of a proxy never do.
    pub passes_underscores: bool,
    /// What applications find in REMOTE_ADDR.
    pub remote_address: RemoteAddress,
    /// What applications find in rack.url_scheme, whatever a proxy says; `None` is what a trusted one says, or http.
    pub scheme: Option<Scheme>,
    /// Where each request is written down, if anywhere.
    pub access_log: Option<AccessLog>,
    /// Whether pages tell what went wrong in the application.
    pub development: bool,
    /// Whether errors are told as an API tells them, `{"error": "..."}`, and not as pages.
    pub json_errors: bool,
    /// What was seen so far.
    pub counts: Arc<Counts>,
}
