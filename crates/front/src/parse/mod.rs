//! Reads raw bytes and says where things end: heads and bodies of requests before hyper gets them, and frames of a
//! WebSocket. Nothing here has a socket, a clock or a request: bytes and limits go in, and what is ambiguous, or
//! would be to the next program, comes out as a refusal. Nothing panics on any bytes: heads and chunked bodies are
//! fuzzed.

pub(crate) mod chars;
pub(crate) mod chunks;
pub(crate) mod head;
pub(crate) mod held;
pub(crate) mod host;
pub(crate) mod refusal;
pub(crate) mod target;
pub(crate) mod websocket;
