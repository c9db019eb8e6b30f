//! What somebody who operates the server may tell an engine to do while it serves.

/// Environment variables by name, each with its new value, or without one where it was removed.
pub type Variables = Vec<(String, Option<String>)>;

/// An order. Each takes at most a few seconds; the one who gives it waits, so never give one in an I/O thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Have between so many workers and so many from now on.
    Scale {
        /// Never fewer.
        min: usize,
        /// Never more.
        max: usize,
    },
    /// Begin no request; those that come wait, within the bounds of the queue.
    Pause,
    /// Go on.
    Resume,
    /// End this worker: when it has finished what it runs, or at once.
    EndWorker {
        /// Its number.
        worker: u32,
        /// At once, by SIGKILL.
        now: bool,
    },
    /// What the threads of this worker do, as text.
    Backtraces(u32),
    /// Replace all workers by new ones of the same loaded application, a few at a time.
    Recycle,
}
