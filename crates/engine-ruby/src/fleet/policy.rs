//! The part of the settings that decides the number of processes and their life.

use std::path::PathBuf;
use std::time::Duration;

use crate::preload::Preload;

/// Fields of the engine's settings under the same names. An operator's order changes the numbers of workers, and an
/// application with connections that workers must not share changes `preload`.
#[derive(Debug, Clone)]
pub struct Policy {
    pub ruby: PathBuf,
    pub preload: Preload,
    pub threads: usize,
    pub min_workers: usize,
    pub max_workers: usize,
    pub retries_hooks: bool,
    pub boot_time: Duration,
    pub worker_timeout: Duration,
    pub worker_memory: Option<u64>,
}
