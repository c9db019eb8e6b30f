//! Settings of the embedded engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::Meter;

use crate::keep::Keep;

/// Settings of the embedded engine. There are no defaults: the caller sets every field.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The application: a rackup file, usually `config.ru`.
    pub rackup: PathBuf,
    /// Name of the application in the log; None where the server has only one.
    pub app: Option<String>,
    /// Value of `FoolsGold.environment`, such as `production`.
    pub environment: String,
    /// Number of interpreters, which is the number of requests served at once.
    pub interpreters: usize,
    /// Whether each request gets a new interpreter.
    pub fresh: bool,
    /// Requests after which an interpreter is replaced; 0 for never.
    pub max_requests: u64,
    /// Percent of `max_requests` by which the replacement is put off at random, so that not all happen at once.
    pub max_requests_jitter: u64,
    /// Memory limit of one interpreter, in bytes.
    pub memory_bytes: usize,
    /// Requests that may wait in the queue.
    pub queue_places: usize,
    /// Time limit for loading the application.
    pub boot_time: Duration,
    /// The counter and the key-value store, taken over from the previous engine at a reload.
    pub keep: Keep,
    /// Duration from which a request is recorded as a slow one.
    pub slow_time: Duration,
    /// Metrics, and the recorder of past requests.
    pub meter: Arc<Meter>,
}
