//! Receiver of a run's progress.

/// Receives the progress of a run.
pub trait Watcher {
    /// Sets the estimated seconds of the whole work, which begins now.
    fn begins(&self, seconds: f64);
    /// Shows what is being done.
    fn doing(&self, words: &str);
    /// Work of this many seconds has been done or left out.
    fn passed(&self, seconds: f64);
    /// Shows a message to the user.
    fn said(&self, line: &str);
}
