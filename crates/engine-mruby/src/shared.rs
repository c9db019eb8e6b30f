//! State that all interpreters of an engine share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::keep::Keep;
use crate::settings::Settings;

/// State that all interpreters of an engine share.
pub struct Shared {
    /// The counter of requests and the key-value store.
    pub keep: Keep,
    /// Memory limit of one interpreter, in bytes.
    pub memory_bytes: usize,
    /// Time limit for loading the application.
    pub boot_time: Duration,
    /// Name of the application in the log; None where the server has only one.
    pub app: Option<String>,
    /// The name of the environment the application runs in, such as `production`.
    pub environment: String,
    sources: Mutex<HashMap<PathBuf, Arc<[u8]>>>,
}

impl Shared {
    /// Shared state without any source files.
    pub fn new(keep: Keep, settings: &Settings) -> Shared {
        let app = settings.app.clone();
        let environment = settings.environment.clone();
        let memory_bytes = settings.memory_bytes;
        let boot_time = settings.boot_time;
        Shared { keep, memory_bytes, boot_time, app, environment, sources: Mutex::default() }
    }

    /// A source file as it was when it was first read. A new interpreter must not load the code of the next deploy,
    /// which may be copied only in part.
    pub fn source(&self, path: &Path) -> Option<Arc<[u8]>> {
        self.sources.lock().get(path).cloned()
    }

    /// Remembers a source file and returns the remembered one: if two interpreters read it at the same time, the first
    /// counts.
    pub fn remember(&self, path: &Path, source: Arc<[u8]>) -> Arc<[u8]> {
        self.sources.lock().entry(path.to_owned()).or_insert(source).clone()
    }
}
