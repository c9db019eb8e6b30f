//! The handle by which an engine's thread reaches a connection during one request: for early hints, or to take the
//! connection over.

use std::sync::Arc;

use engine::request::Takeover;
use engine::{Duplex, Hints, body};
use http::HeaderMap;

use crate::connection::link::Link;
use crate::connection::raw_head::write_head;

/// Bytes of early hints that one connection buffers; more are dropped, since they are only hints.
const HINT_BYTES: usize = 32 * 1024;
/// Bytes buffered in each direction of a connection that the application has taken over.
const TAKEOVER_BYTES: usize = 64 * 1024;

/// A connection during one request. Without effect once the response has begun.
pub(crate) struct RequestEpoch {
    link: Arc<Link>,
    number: u64,
}

impl RequestEpoch {
    /// The epoch of the request that is about to run.
    pub(crate) fn new(link: &Arc<Link>) -> RequestEpoch {
        RequestEpoch { link: link.clone(), number: link.out_of_band.epoch() }
    }
}

impl Hints for RequestEpoch {
    fn send(&self, mut headers: HeaderMap) {
        // These belong to the connection or to the final response (RFC 9110 sections 7.6.1 and 8.6, RFC 9112 section
        // 6.1).
        for name in [http::header::CONNECTION, http::header::CONTENT_LENGTH, http::header::TRANSFER_ENCODING] {
            headers.remove(name);
        }
        self.link.out_of_band.leave(self.number, |items| {
            if items.hints.len() < HINT_BYTES {
                write_head(&mut items.hints, http::StatusCode::EARLY_HINTS, &headers);
            }
        });
        self.link.wake();
    }
}

impl Takeover for RequestEpoch {
    fn take(self: Box<Self>) -> Duplex {
        let (ours, theirs) = body::duplex(TAKEOVER_BYTES);
        self.link.out_of_band.leave(self.number, |items| items.takeover = Some(ours));
        self.link.wake();
        theirs
    }
}
