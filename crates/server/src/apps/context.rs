//! What all applications of a server have in common.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::apps::engines::{Budget, EngineContext};
use crate::config::arguments::Problem;
use crate::config::settings::Settings;

/// Reads the settings again, as they are now.
pub type ReloadSettings = Box<dyn Fn() -> Result<Settings, Vec<Problem>> + Send + Sync>;

/// What all applications of a server have in common.
pub struct AppContext {
    /// The event loops of the I/O threads.
    pub lanes: Vec<Handle>,
    /// The times that the front gives to each request.
    pub request_time: Duration,
    pub queue_wait: Duration,
    /// For what old code still has to do.
    pub drain_time: Duration,
    /// `BUNDLE_GEMFILE`.
    pub bundle_gemfile: Option<OsString>,
    pub reload_settings: ReloadSettings,
    /// A bound on the workers of all of them together.
    pub budget: Option<Arc<Budget>>,
    /// Whether the start goes on trying while a hook of another server's configuration fails: not at an upgrade, where
    /// the older process serves.
    pub retries_hooks: bool,
    /// Set when the server ends, or cannot start: nothing that is being loaded is wanted any more.
    pub called_off: Arc<AtomicBool>,
    /// Notices that are in the log already.
    pub noticed: Mutex<Vec<String>>,
    /// Changes of the settings that take a new start, as of the last reload.
    pub waiting: Mutex<Vec<String>>,
}

impl AppContext {
    /// What a new application's engines are given of it.
    pub fn base(&self) -> EngineContext {
        EngineContext {
            called_off: self.called_off.clone(),
            drain_time: self.drain_time,
            budget: self.budget.clone(),
            retries_hooks: self.retries_hooks,
            ..EngineContext::new(self.lanes.clone())
        }
    }

    /// Which of these are not in the log yet. They are from now on.
    pub fn news(&self, notices: &[String]) -> Vec<String> {
        let mut noticed = self.noticed.lock();
        let news: Vec<String> = notices.iter().filter(|notice| !noticed.contains(notice)).cloned().collect();
        noticed.extend(news.iter().cloned());
        news
    }

    /// What a reload could not change.
    pub fn set_waiting(&self, changes: Vec<String>) {
        *self.waiting.lock() = changes;
    }

    /// What the last reload could not change.
    pub fn waiting(&self) -> Vec<String> {
        self.waiting.lock().clone()
    }
}
