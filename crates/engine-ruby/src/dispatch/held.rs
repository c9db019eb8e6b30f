//! An answer whose body comes in pieces, held back for a moment. Most such bodies are complete at once: they go out
//! whole, with their length. And as long as nothing has gone out, the request can run elsewhere if its worker dies, and
//! an exception in the middle of the body is a clean 500.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use engine::body::stream;
use engine::{Body, Response, ResponseHead, Sink};

/// Longer than this nothing is held: whoever sends events wants them to arrive.
const TIME: Duration = Duration::from_millis(1);
/// More than this is not held either.
const BYTES: usize = 64 << 10;
/// How far a worker may be ahead of the front, which itself buffers for the client.
const STREAM_BYTES: usize = 256 << 10;

/// A head, and the pieces that have come.
pub struct Held {
    head: ResponseHead,
    pieces: Vec<Bytes>,
    bytes: usize,
    since: Instant,
}

impl Held {
    /// With the first piece, which may be empty.
    pub fn new(head: ResponseHead, first: Bytes) -> Held {
        Held { head, bytes: first.len(), pieces: vec![first], since: Instant::now() }
    }

    /// Whether another piece may be held too.
    pub fn has_room(&self, piece: &Bytes) -> bool {
        self.bytes + piece.len() <= BYTES
    }

    /// Whether it must go out now.
    pub fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= TIME
    }

    /// One more.
    pub fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        self.pieces.push(piece);
    }

    /// That was all.
    pub fn whole(self) -> Response {
        let mut body = BytesMut::with_capacity(self.bytes);
        self.pieces.iter().for_each(|piece| body.extend_from_slice(piece));
        let body = if body.is_empty() { Body::Empty } else { Body::Full(body.freeze()) };
        Response { head: self.head, body }
    }

    /// More will come.
    pub fn stream(self) -> (Response, Sink) {
        let (sink, source) = stream(STREAM_BYTES);
        for piece in self.pieces.into_iter().filter(|piece| !piece.is_empty()) {
            // There is room for all that may be held, and for a first piece in an empty stream: nothing waits here.
            let _ = sink.send_blocking(piece, Instant::now());
        }
        (Response { head: self.head, body: Body::Stream(source) }, sink)
    }
}
