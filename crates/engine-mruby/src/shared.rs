//! What all interpreters share: given by Rust, and nothing else is.

use std::sync::atomic::AtomicU64;

use crate::store::Store;

/// One per engine.
pub struct Shared {
    /// The one counter of requests seen by all interpreters.
    pub requests: AtomicU64,
    /// The key-value store.
    pub store: Store,
    /// The most memory of one interpreter.
    pub memory_bytes: usize,
    /// The name of the environment the application runs in, such as `production`.
    pub environment: String,
}
