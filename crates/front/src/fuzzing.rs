//! Access for the fuzz targets to the two parsers of raw bytes, without their private types. Exists only with the
//! feature `fuzzing`, and may change at any time.

use crate::limits::Limits;
use crate::parse::chunks::Chunks;
use crate::parse::head::{Change, Framing, scan};
use crate::tests_support::limits;

/// Outcome of scanning a head.
#[derive(Debug, PartialEq, Eq)]
pub enum Scanned {
    /// More bytes are needed.
    Partial,
    /// The head is complete and valid.
    Whole {
        /// Length of the head in bytes.
        bytes: usize,
        /// Length of its body in bytes; `None` if it is chunked.
        body: Option<u64>,
        /// The head that hyper gets.
        given: Vec<u8>,
    },
    /// The head is refused with this status.
    Refused(u16),
}

/// Scans a head from its first byte, with limits on its bytes and the number of its headers.
pub fn scan_head(bytes: &[u8], header_bytes: usize, header_count: usize) -> Scanned {
    match scan(bytes, &Limits { header_bytes, header_count, ..limits() }) {
        Ok(None) => Scanned::Partial,
        Err(refusal) => Scanned::Refused(refusal.status.as_u16()),
        Ok(Some((length, framing, change))) => {
            let mut given = bytes[..length].to_vec();
            if let Some(Change { place, bytes }) = change {
                given.splice(place, bytes);
            }
            let body = if let Framing::Length(body) = framing { Some(body) } else { None };
            Scanned::Whole { bytes: length, body, given }
        }
    }
}

/// Parser of a chunked request body.
#[derive(Debug)]
pub struct ChunkedBody(Chunks);

impl ChunkedBody {
    /// A parser at the beginning of a body, with a limit on the bytes of its trailers.
    pub fn new(trailer_bytes: usize) -> ChunkedBody {
        ChunkedBody(Chunks::new(trailer_bytes))
    }

    /// Parses the bytes and replaces them by those for hyper, followed by what comes after the body. Returns the number
    /// of bytes for hyper, and whether the body is complete; `None` if it is malformed.
    pub fn feed(&mut self, bytes: &mut Vec<u8>) -> Option<(usize, bool)> {
        self.0.feed(bytes, 0).ok().map(|fed| (fed.bytes, fed.is_done))
    }
}
