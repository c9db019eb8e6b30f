//! Who hears how a run goes.

/// Hears how a run goes.
pub trait Watcher {
    /// All of it may take so many seconds, of which so many have passed.
    fn begins(&self, seconds: f64, passed: f64);
    /// What is being done now.
    fn doing(&self, words: &str);
    /// Work of so many seconds is done or was left out.
    fn passed(&self, seconds: f64);
    /// Something that a person should know.
    fn said(&self, line: &str);
}
