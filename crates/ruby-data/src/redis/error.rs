//! What goes wrong with a connection to Redis.

/// What went wrong.
#[derive(Debug)]
pub enum Error {
    /// There is no connection to be had.
    Connect(String),
    /// It took too long.
    Time,
    /// The other side is gone.
    Lost(String),
    /// What came is not what Redis says, or too much of it.
    Protocol(String),
}

/// An answer is larger than was allowed.
pub fn too_much() -> Error {
    Error::Protocol("the answer is larger than an answer may be".into())
}
