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
        // A hint without headers says nothing, and some clients understand no response before the final one.
        if headers.is_empty() {
            return;
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

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::{CONNECTION, CONTENT_LENGTH, LINK, TRANSFER_ENCODING};

    use super::*;
    use crate::connection::link::tests::{link, watched};

    /// The headers of a hint, with a value of this length.
    fn hint(length: usize) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(LINK, HeaderValue::from_str(&"x".repeat(length)).unwrap());
        for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.insert(name, HeaderValue::from_static("1"));
        }
        headers
    }

    #[test]
    fn hints_have_a_limit_and_name_neither_the_connection_nor_a_length() {
        let link = link();
        let woken = watched(&link);
        let epoch = RequestEpoch::new(&link);
        epoch.send(hint(1));
        assert_eq!(woken.times(), 1);
        let first = link.out_of_band.take_hints();
        assert_eq!(String::from_utf8_lossy(&first), "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n");
        let each = 1024;
        for _ in 0..2 * HINT_BYTES / each {
            epoch.send(hint(each - (first.len() - 1)));
        }
        assert_eq!(link.out_of_band.take_hints().len(), HINT_BYTES);
        let mut empty = hint(1);
        empty.remove(LINK);
        epoch.send(empty);
        assert!(!link.out_of_band.has_items(), "it has no header");
        link.end_epoch();
        epoch.send(hint(1));
        assert!(link.out_of_band.take_hints().is_empty(), "the response has begun");
    }

    #[test]
    fn a_takeover_wakes_the_task_and_comes_too_late_for_an_earlier_request() {
        let link = link();
        let woken = watched(&link);
        let take = |epoch: RequestEpoch| drop(Box::new(epoch).take());
        take(RequestEpoch::new(&link));
        assert!(link.out_of_band.take_takeover().is_some() && woken.times() == 1);
        let earlier = RequestEpoch::new(&link);
        link.end_epoch();
        take(earlier);
        assert!(!link.out_of_band.has_takeover());
    }
}
