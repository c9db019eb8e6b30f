//! The part of the settings that decides the number of processes and their life.

use std::path::PathBuf;
use std::time::Duration;

use crate::settings::{Preload, Settings};

/// Fields of [`Settings`] under the same names. An operator's order changes the numbers of workers, and an application
/// with connections that workers must not share changes `preload`.
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

impl Policy {
    /// Takes the policy out of the settings.
    pub fn of(settings: &Settings) -> Policy {
        Policy {
            ruby: settings.ruby.clone(),
            preload: settings.preload,
            threads: settings.threads,
            min_workers: settings.min_workers,
            max_workers: settings.max_workers,
            retries_hooks: settings.retries_hooks,
            boot_time: settings.boot_time,
            worker_timeout: settings.worker_timeout,
            worker_memory: settings.worker_memory,
        }
    }
}
