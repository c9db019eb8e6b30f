//! Bytes of a connection that arrived and that hyper may not have yet: heads until they are whole and were checked,
//! bodies as far as they are known to reach.

use hyper::rt::ReadBufCursor;

use crate::limits::Limits;
use crate::parse::chunks::Chunks;
use crate::parse::head::{self, Change, Framing, Scan};
use crate::parse::refusal::Refusal;

/// A buffer larger than this is given back when it is empty.
const KEPT_BYTES: usize = 4 * 1024;

/// The bytes, and how many of them hyper may have.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bytes: Vec<u8>,
    /// How many of them hyper has had.
    start: usize,
    /// How many of the next bytes are a checked head or its body.
    allowed: u64,
    /// The rest of a chunked body, beyond `allowed`.
    chunks: Option<Chunks>,
    /// There is a whole line more than when a head was last looked for.
    is_worth_a_scan: bool,
}

impl Held {
    /// Bytes that hyper did not get yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// The same, to be kept.
    pub(crate) fn take_rest(&mut self) -> Vec<u8> {
        self.bytes.drain(..std::mem::take(&mut self.start));
        std::mem::take(&mut self.bytes)
    }

    /// Takes back what hyper had and did not use, and keeps no more memory than that takes.
    pub(crate) fn give_back(&mut self, unused: &[u8]) {
        let rest = self.take_rest();
        self.allowed += unused.len() as u64;
        self.bytes = [unused, &rest].concat();
    }

    /// Whether the next byte is the first of a head, as far as it is known where the body before it ends.
    pub(crate) fn is_at_a_head(&self) -> bool {
        self.allowed == 0 && self.chunks.is_none()
    }

    /// Adds what was read and is not passed on by [`Held::pass`].
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.is_worth_a_scan |= memchr::memchr(b'\n', bytes).is_some();
        self.bytes.extend_from_slice(bytes);
    }

    /// Gives hyper what it may have of the bytes just read, without a stay, and returns how many that were.
    pub(crate) fn pass(&mut self, bytes: &[u8], cursor: &mut ReadBufCursor<'_>) -> usize {
        if self.allowed == 0 || !self.rest().is_empty() {
            return 0;
        }
        let most = bytes.len().min(cursor.remaining());
        let count = most.min(usize::try_from(self.allowed).unwrap_or(most));
        cursor.put_slice(&bytes[..count]);
        self.allowed -= count as u64;
        count
    }

    /// Gives hyper what it may have of what is held; whether that was anything.
    pub(crate) fn give(&mut self, cursor: &mut ReadBufCursor<'_>) -> Result<bool, Refusal> {
        if self.allowed == 0
            && let Some(chunks) = &mut self.chunks
        {
            let fed = chunks.feed(&mut self.bytes, self.start)?;
            self.allowed = fed.bytes as u64;
            if fed.is_done {
                self.chunks = None;
            }
        }
        let ready = self.rest().len();
        let count = ready.min(usize::try_from(self.allowed).unwrap_or(ready)).min(cursor.remaining());
        cursor.put_slice(&self.bytes[self.start..self.start + count]);
        self.allowed -= count as u64;
        self.start += count;
        if self.start == self.bytes.len() {
            self.start = 0;
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_BYTES);
        }
        Ok(count > 0)
    }

    /// Whether a head begins here. Empty lines before it are to be ignored (RFC 9112 section 2.2).
    pub(crate) fn begins_a_head(&mut self) -> bool {
        while self.rest().starts_with(b"\r\n") {
            self.start += 2;
        }
        self.is_worth_a_scan = true;
        !matches!(self.rest(), [] | [b'\r'])
    }

    /// Looks for a whole head, unless nothing can have changed since the last look.
    pub(crate) fn scan(&mut self, limits: &Limits) -> Result<bool, Refusal> {
        if !self.is_worth_a_scan && self.rest().len() <= limits.header_bytes {
            return Ok(false);
        }
        self.is_worth_a_scan = false;
        match head::scan(self.rest(), limits) {
            Scan::Partial => Ok(false),
            Scan::Refused(refusal) => Err(refusal),
            Scan::Whole(len, framing, change) => {
                self.allowed = len as u64;
                if let Some(Change { place, bytes }) = change {
                    self.allowed = (len - place.len() + bytes.len()) as u64;
                    self.bytes.splice(self.start + place.start..self.start + place.end, bytes);
                }
                match framing {
                    Framing::Length(body) => self.allowed += body,
                    Framing::Chunked => self.chunks = Some(Chunks::new(limits.header_bytes)),
                }
                Ok(true)
            }
        }
    }
}
