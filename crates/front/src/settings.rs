//! Settings of the front.

use std::sync::Arc;

use engine::Scheme;

use crate::counts::Counts;
use crate::limits::Limits;
use crate::log::access_log::AccessLog;
use crate::proxy::remote::RemoteAddress;
use crate::proxy::trust::Trusted;

/// Settings of the front, which do not change while it serves.
#[derive(Debug)]
pub struct Settings {
    /// Limits of connections, requests and responses.
    pub limits: Limits,
    /// Peers that are trusted as proxies. If it is empty there are no proxies, and the log does not mention headers
    /// that were left out.
    pub trusted: Vec<Trusted>,
    /// Whether headers with an underscore in their name reach the application. They have the same keys in the
    /// environment as names with a dash; those that could be mistaken for headers of a proxy are always removed.
    pub passes_underscores: bool,
    /// Source of `REMOTE_ADDR`.
    pub remote_address: RemoteAddress,
    /// Fixed value of `rack.url_scheme`; `None` uses what a trusted proxy forwards, or http.
    pub scheme: Option<Scheme>,
    /// The access log, if there is one.
    pub access_log: Option<AccessLog>,
    /// What allows more connections, or that nothing does, for the log where all are taken.
    pub more_connections: &'static str,
    /// Whether error responses are JSON, `{"error": "..."}`, instead of pages.
    pub json_errors: bool,
    /// The counters of the front.
    pub counts: Arc<Counts>,
}
