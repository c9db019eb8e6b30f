//! Commands that an operator can give to an engine while it serves.

use std::path::PathBuf;

/// Changes of environment variables: each name with its new value, or `None` where it was removed.
pub type Variables = Vec<(String, Option<String>)>;

/// The process environment that hooks ask for when the program executes itself anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Changes of its environment variables.
    pub variables: Variables,
    /// Its new working directory, if that changes.
    pub folder: Option<PathBuf>,
}

/// A command. Each takes a few seconds at most and blocks its caller, so none may be given on an I/O thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Keeps the number of workers between these bounds from now on.
    Scale {
        /// Fewest workers.
        min: usize,
        /// Most workers.
        max: usize,
    },
    /// Begins no requests; new ones wait, within the limits of the queue.
    Pause,
    /// Ends a pause.
    Resume,
    /// Ends a worker: after the requests that it runs, or at once.
    EndWorker {
        /// Number of the worker.
        worker: u32,
        /// Ends it at once, by SIGKILL.
        now: bool,
    },
    /// Returns the backtraces of the threads of this worker, as text.
    Backtraces(u32),
    /// Replaces all workers by new ones of the same loaded application, a few at a time.
    Recycle,
}
