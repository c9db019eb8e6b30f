//! What the fuzz targets see of this crate: the two readers of raw bytes, without the types that are its own business.
//! Only there with the feature `fuzzing`, and no promise to anybody.

use crate::limits::Limits;
use crate::parse::chunks::Chunks;
use crate::parse::head::{Change, Framing, Scan, scan};
use crate::tests_support::limits;

/// What a head was found to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Scanned {
    /// More bytes are needed.
    Partial,
    /// All there.
    Whole {
        /// How long the head is, in bytes.
        bytes: usize,
        /// How long its body is, in bytes; `None` when it is chunked.
        body: Option<u64>,
        /// What hyper gets.
        given: Vec<u8>,
    },
    /// Refused with this status.
    Refused(u16),
}

/// Scans a head from its first byte; it may have so many bytes and so many headers.
pub fn scan_head(bytes: &[u8], header_bytes: usize, header_count: usize) -> Scanned {
    match scan(bytes, &Limits { header_bytes, header_count, ..limits() }) {
        Scan::Partial => Scanned::Partial,
        Scan::Refused(refusal) => Scanned::Refused(refusal.status.as_u16()),
        Scan::Whole(length, framing, change) => {
            let mut given = bytes[..length].to_vec();
            if let Some(Change { place, bytes }) = change {
                given.splice(place, bytes);
            }
            let body = if let Framing::Length(body) = framing { Some(body) } else { None };
            Scanned::Whole { bytes: length, body, given }
        }
    }
}

/// A chunked body on its way in.
#[derive(Debug)]
pub struct ChunkedBody(Chunks);

impl ChunkedBody {
    /// At its beginning; its trailers may have so many bytes.
    pub fn new(trailer_bytes: usize) -> ChunkedBody {
        ChunkedBody(Chunks::new(trailer_bytes))
    }

    /// Reads these bytes, and leaves in their place what hyper gets of them and what is behind the body. How many bytes
    /// of the former there are, and whether the body is complete; `None` when it is malformed.
    pub fn feed(&mut self, bytes: &mut Vec<u8>) -> Option<(usize, bool)> {
        self.0.feed(bytes, 0).ok().map(|fed| (fed.bytes, fed.is_done))
    }
}
