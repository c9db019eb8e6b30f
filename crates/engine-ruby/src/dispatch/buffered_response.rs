//! A buffered response: an answer with a chunked body, held back for a moment. Most such bodies are complete at once
//! and are sent whole, with their length. As long as nothing has been sent, the request can run on another worker if
//! its own dies, and an exception in the middle of the body is a clean 500.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use engine::body::stream;
use engine::{Body, Response, ResponseHead, Sink};

/// The longest time a response is held back; server-sent events must arrive at once.
const HOLD_TIME: Duration = Duration::from_millis(1);
/// The most bytes of a body that are held back.
const HELD_BYTES: usize = 64 << 10;
/// Bytes of a streamed body that a worker may be ahead of the front, which itself buffers for the client.
const STREAM_BYTES: usize = 256 << 10;

/// The head of a response and the chunks of its body received so far.
pub struct BufferedResponse {
    head: ResponseHead,
    pieces: Vec<Bytes>,
    bytes: usize,
    since: Instant,
}

impl BufferedResponse {
    /// Starts a buffered response with the first chunk, which may be empty.
    pub fn new(head: ResponseHead, first: Bytes) -> BufferedResponse {
        BufferedResponse { head, bytes: first.len(), pieces: vec![first], since: Instant::now() }
    }

    /// Returns whether this chunk still fits.
    pub fn has_room(&self, piece: &Bytes) -> bool {
        self.bytes + piece.len() <= HELD_BYTES
    }

    /// Returns whether the response has been held back for its full time and must be sent now.
    pub fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= HOLD_TIME
    }

    /// Appends a chunk.
    pub fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        self.pieces.push(piece);
    }

    /// Returns the complete response: the body has ended.
    pub fn whole(self) -> Response {
        let mut body = BytesMut::with_capacity(self.bytes);
        self.pieces.iter().for_each(|piece| body.extend_from_slice(piece));
        let body = if body.is_empty() { Body::Empty } else { Body::Full(body.freeze()) };
        Response { head: self.head, body }
    }

    /// Returns the response as a stream, with the sink for the chunks that follow.
    pub fn stream(self) -> (Response, Sink) {
        let (sink, source) = stream(STREAM_BYTES);
        for piece in self.pieces.into_iter().filter(|piece| !piece.is_empty()) {
            // The stream has room for everything that may be held, and for a first chunk when it is empty: this never
            // blocks.
            let _ = sink.send_blocking(piece, Instant::now());
        }
        (Response { head: self.head, body: Body::Stream(source) }, sink)
    }
}
