//! State that survives a reload of an application: the counter of requests and the key-value store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::store::{self, Store};

/// State of the server that a reload passes on from the old engine to the new one. Clones share one value.
#[derive(Clone)]
pub struct Keep(Arc<Kept>);

struct Kept {
    requests: AtomicU64,
    store: Store,
}

impl Keep {
    /// The counter of requests that all interpreters share.
    pub(crate) fn requests(&self) -> &AtomicU64 {
        &self.0.requests
    }

    /// The key-value store.
    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }
}

impl Default for Keep {
    fn default() -> Keep {
        Keep(Arc::new(Kept { requests: AtomicU64::new(0), store: Store::new(store::BYTES_MAX) }))
    }
}

impl fmt::Debug for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keep")
    }
}
