//! Errors of a connection to Redis.

/// An error of a connection to Redis.
#[derive(Debug)]
pub enum RedisError {
    /// The connection could not be opened.
    Connect(String),
    /// The time limit has passed.
    Time,
    /// The connection was closed or broke.
    Lost(String),
    /// The reply is not RESP, or larger than allowed.
    Protocol(String),
}

/// The error for a reply that is larger than allowed.
pub fn too_much() -> RedisError {
    RedisError::Protocol("the answer is larger than an answer may be".into())
}
