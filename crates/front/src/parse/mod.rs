//! Parsers of raw bytes: heads and bodies of requests before hyper gets them, and frames of WebSockets. Nothing here
//! has a socket, a clock or a request. What is ambiguous, or would be to the next program, is refused. No input panics:
//! heads and chunked bodies are fuzzed.

pub(crate) mod chars;
pub(crate) mod chunks;
pub(crate) mod head;
pub(crate) mod host;
pub(crate) mod input_buffer;
pub(crate) mod refusal;
pub(crate) mod target;
pub(crate) mod websocket;
