//! State that all applications of a server share.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::apps::engines::{Budget, EngineContext};
use crate::config::arguments::Problem;
use crate::config::settings::Settings;

/// Reads the settings again.
pub type ReloadSettings = Box<dyn Fn() -> Result<Settings, Vec<Problem>> + Send + Sync>;

/// State that all applications of a server share.
pub struct AppContext {
    /// Event loops of the I/O threads.
    pub io_threads: Vec<Handle>,
    /// Time limits that the front sets in each request.
    pub request_time: Duration,
    pub queue_wait: Duration,
    /// Time for old generations to finish requests.
    pub drain_time: Duration,
    /// Value of `BUNDLE_GEMFILE`.
    pub bundle_gemfile: Option<OsString>,
    pub reload_settings: ReloadSettings,
    /// Limit of the workers of all applications together (`--total-workers`).
    pub budget: Option<Arc<Budget>>,
    /// Whether the start retries while a hook of another server's configuration fails; not in an upgrade, where the
    /// previous process serves.
    pub retries_hooks: bool,
    /// Set when the server shuts down or cannot start: cancels loading.
    pub called_off: Arc<AtomicBool>,
    /// Notices that were logged already.
    pub noticed: Mutex<Vec<String>>,
    /// Settings changes that need a restart, as of the last reload.
    pub waiting: Mutex<Vec<String>>,
}

impl AppContext {
    /// The engine context of a new application.
    pub fn engine_context(&self) -> EngineContext {
        EngineContext {
            io_threads: self.io_threads.clone(),
            called_off: self.called_off.clone(),
            drain_time: self.drain_time,
            budget: self.budget.clone(),
            retries_hooks: self.retries_hooks,
            ..EngineContext::default()
        }
    }

    /// The notices that were not logged yet; they count as logged from now on.
    pub fn news(&self, notices: &[String]) -> Vec<String> {
        let mut noticed = self.noticed.lock();
        let news: Vec<String> = notices.iter().filter(|notice| !noticed.contains(notice)).cloned().collect();
        noticed.extend(news.iter().cloned());
        news
    }
}
