//! What all interpreters share: given by Rust, and nothing else is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::keep::Keep;
use crate::settings::Settings;

/// One per engine.
pub struct Shared {
    /// The counter and the store.
    pub keep: Keep,
    /// The most memory of one interpreter.
    pub memory_bytes: usize,
    /// The most time that the application may take to load.
    pub boot_time: Duration,
    /// What the log calls the application, where there are several.
    pub app: Option<String>,
    /// The name of the environment the application runs in, such as `production`.
    pub environment: String,
    sources: Mutex<HashMap<PathBuf, Arc<[u8]>>>,
}

impl Shared {
    /// No code has been read yet.
    pub fn new(keep: Keep, settings: &Settings) -> Shared {
        let app = settings.app.clone();
        let environment = settings.environment.clone();
        let memory_bytes = settings.memory_bytes;
        let boot_time = settings.boot_time;
        Shared { keep, memory_bytes, boot_time, app, environment, sources: Mutex::default() }
    }

    /// A file of code as it was when it was first read. An interpreter that is made anew must not find the code of the
    /// next deploy, which may be half there.
    pub fn source(&self, path: &Path) -> Option<Arc<[u8]>> {
        self.sources.lock().get(path).cloned()
    }

    /// Remembers it. Two interpreters may have read it side by side: the first counts.
    pub fn remember(&self, path: &Path, source: Arc<[u8]>) -> Arc<[u8]> {
        self.sources.lock().entry(path.to_owned()).or_insert(source).clone()
    }
}
