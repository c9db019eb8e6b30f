//! How the engine is to work.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::Meter;

use crate::keep::Keep;

/// How the engine is to work. The caller decides all of it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The application: a rackup file, usually `config.ru`.
    pub rackup: PathBuf,
    /// What the log calls the application, where there are several.
    pub app: Option<String>,
    /// What `FoolsGold.environment` says, such as `production`.
    pub environment: String,
    /// How many interpreters, and so how many requests at once.
    pub interpreters: usize,
    /// A new interpreter for each request.
    pub fresh: bool,
    /// A new interpreter after so many requests; 0 for never.
    pub max_requests: u64,
    /// And up to so many percent of that later, each at its own time.
    pub max_requests_jitter: u64,
    /// The most memory of one interpreter, in bytes.
    pub memory_bytes: usize,
    /// How many requests may wait.
    pub queue_places: usize,
    /// In which the application must be loaded.
    pub boot_time: Duration,
    /// The counter and the store, of the engine before it if there was one.
    pub keep: Keep,
    /// A request that takes so long is recorded.
    pub slow_time: Duration,
    /// Counts, and keeps what is recorded.
    pub meter: Arc<Meter>,
}
