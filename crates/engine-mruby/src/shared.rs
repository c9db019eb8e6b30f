//! State that all interpreters of an engine share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::settings::Settings;

/// State that all interpreters of an engine share.
pub struct Shared {
    /// The engine's settings.
    pub settings: Arc<Settings>,
    sources: Mutex<HashMap<PathBuf, Arc<[u8]>>>,
}

impl Shared {
    /// Shared state without any source files.
    pub fn new(settings: Arc<Settings>) -> Shared {
        Shared { settings, sources: Mutex::default() }
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
