//! Bytes of a connection that have arrived and that hyper does not have yet: heads until they are complete and checked,
//! bodies as far as their end is known.

use hyper::rt::ReadBufCursor;

use crate::limits::Limits;
use crate::parse::chunks::Chunks;
use crate::parse::head::{self, Change, Framing};
use crate::parse::refusal::Refusal;

/// Capacity of the empty buffer above which its memory is freed.
const KEPT_BYTES: usize = 4 * 1024;

/// The buffer, and the number of bytes in it that hyper may have.
#[derive(Debug, Default)]
pub(crate) struct InputBuffer {
    bytes: Vec<u8>,
    /// Bytes at the beginning that hyper has had.
    start: usize,
    /// Further bytes that are a checked head or its body.
    allowed: u64,
    /// Parser of the rest of a chunked body, beyond `allowed`.
    chunks: Option<Chunks>,
    /// Whether a line end has arrived since the last scan for a head.
    is_worth_a_scan: bool,
}

impl InputBuffer {
    /// Bytes that hyper did not get yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Takes the bytes that hyper did not get.
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

    /// Whether the next byte begins a head, as far as the end of the previous body is known.
    pub(crate) fn is_at_a_head(&self) -> bool {
        self.allowed == 0 && self.chunks.is_none()
    }

    /// Adds bytes that were read and that [`InputBuffer::pass`] did not pass on.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        // A client that always sends ahead never lets it become empty.
        if self.start >= KEPT_BYTES && self.start >= self.bytes.len() / 2 {
            self.bytes.drain(..std::mem::take(&mut self.start));
        }
        self.is_worth_a_scan |= memchr::memchr(b'\n', bytes).is_some();
        self.bytes.extend_from_slice(bytes);
    }

    /// Passes bytes that were just read to hyper directly, as far as it may have them. Returns how many.
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

    /// Gives hyper the held bytes that it may have. Returns whether there were any.
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

    /// Skips empty lines (RFC 9112 section 2.2). Returns whether a head begins after them.
    pub(crate) fn begins_a_head(&mut self) -> bool {
        while self.rest().starts_with(b"\r\n") {
            self.start += 2;
        }
        self.is_worth_a_scan = true;
        !matches!(self.rest(), [] | [b'\r'])
    }

    /// Scans for a complete head, unless nothing has changed since the last scan. Returns whether there is one.
    pub(crate) fn scan(&mut self, limits: &Limits) -> Result<bool, Refusal> {
        if !self.is_worth_a_scan && self.rest().len() <= limits.header_bytes {
            return Ok(false);
        }
        self.is_worth_a_scan = false;
        let Some((len, framing, change)) = head::scan(self.rest(), limits)? else { return Ok(false) };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::limits;

    /// What hyper gets at one read, with space for this many bytes.
    fn given(buffer: &mut InputBuffer, most: usize) -> Result<String, Refusal> {
        let mut space = vec![0; most];
        let mut read = hyper::rt::ReadBuf::new(&mut space);
        buffer.give(&mut read.unfilled())?;
        Ok(String::from_utf8_lossy(read.filled()).into_owned())
    }

    #[test]
    fn empty_lines_before_a_head_are_skipped_also_when_they_come_in_halves() {
        let mut buffer = InputBuffer::default();
        for piece in ["\r", "\n\r", "\n"] {
            assert!(!buffer.begins_a_head(), "before {piece:?}");
            buffer.add(piece.as_bytes());
        }
        assert!(!buffer.begins_a_head());
        buffer.add(b"\r\nGET / HTTP/1.0\r\n\r\n");
        assert!(buffer.begins_a_head());
        assert_eq!(buffer.scan(&limits()), Ok(true));
        assert_eq!(given(&mut buffer, 99).unwrap(), "GET / HTTP/1.0\r\n\r\n");
        assert!(buffer.is_at_a_head() && buffer.rest().is_empty());
    }

    #[test]
    fn hyper_gets_a_head_with_its_body_and_nothing_of_the_next_request() {
        let chunked = "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nx: y\r\n\r\n";
        for (sent, body) in [
            ("Content-Length: 3\r\n\r\nabc", "Content-Length: 3\r\n\r\nabc"),
            ("\r\n", "\r\n"),
            (chunked, "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        ] {
            for most in [1, 7, 1000] {
                let mut buffer = InputBuffer::default();
                buffer.add(format!("POST /<#x HTTP/1.1\r\nHost: a\r\n{sent}GET /next").as_bytes());
                assert_eq!(buffer.scan(&limits()), Ok(true));
                let mut all = String::new();
                for _ in 0..1000 {
                    all.push_str(&given(&mut buffer, most).unwrap());
                }
                assert_eq!(all, format!("POST /%3C HTTP/1.1\r\nHost: a\r\n{body}"), "{sent:?} by {most} bytes");
                assert!(buffer.is_at_a_head());
                assert_eq!(buffer.rest(), b"GET /next");
            }
        }
    }

    #[test]
    fn of_bytes_that_are_read_those_of_the_body_pass_directly_if_none_wait_before_them() {
        let mut space = [0; 99];
        let mut read = hyper::rt::ReadBuf::new(&mut space);
        let mut buffer = InputBuffer::default();
        assert_eq!(buffer.pass(b"GET", &mut read.unfilled()), 0, "a head is checked first");
        buffer.add(b"POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\n");
        assert_eq!(buffer.scan(&limits()), Ok(true));
        assert_eq!(buffer.pass(b"abc", &mut read.unfilled()), 0, "the head comes before it");
        assert_eq!(given(&mut buffer, 99).unwrap().len(), 38);
        assert_eq!(buffer.pass(b"abc", &mut read.unfilled()), 3);
        assert_eq!(buffer.pass(b"deGET", &mut read.unfilled()), 2, "the rest is of the next request");
        assert_eq!((read.filled(), buffer.is_at_a_head()), (&b"abcde"[..], true));
    }

    #[test]
    fn a_chunked_body_that_is_malformed_gives_hyper_nothing_more() {
        let mut buffer = InputBuffer::default();
        buffer.add(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc");
        assert_eq!(buffer.scan(&limits()), Ok(true));
        assert!(given(&mut buffer, 99).unwrap().ends_with("chunked\r\n\r\n"));
        assert!(!buffer.is_at_a_head(), "the body comes first");
        assert!(given(&mut buffer, 99).is_err() && given(&mut buffer, 99).is_err());
    }

    #[test]
    fn what_hyper_gives_back_it_gets_again_before_anything_else() {
        let mut buffer = InputBuffer::default();
        for piece in ["POST / HTTP/1.0\r\n", "Content-Length: 3\r\n\r\nabcGET"] {
            buffer.add(piece.as_bytes());
        }
        assert_eq!(buffer.scan(&limits()), Ok(true));
        assert!(given(&mut buffer, 99).unwrap().ends_with("\r\n\r\nabc"));
        buffer.give_back(b"abc");
        assert!(!buffer.is_at_a_head());
        assert_eq!(given(&mut buffer, 99).unwrap(), "abc");
        assert!(buffer.is_at_a_head());
        assert_eq!(buffer.take_rest(), b"GET");
        assert!(buffer.rest().is_empty());
    }

    /// It is not scanned again for each piece, since no line has ended.
    #[test]
    fn a_head_without_a_line_end_is_refused_as_soon_as_it_is_too_long() {
        let limits = limits();
        let mut buffer = InputBuffer::default();
        buffer.add(b"GET /");
        assert!(buffer.begins_a_head());
        let mut scanned_with = |more: &[u8]| {
            buffer.add(more);
            buffer.scan(&limits).map_err(|refusal| refusal.status.as_u16())
        };
        assert_eq!(scanned_with(b""), Ok(false));
        assert_eq!(scanned_with(&vec![b'a'; limits.header_bytes - 5]), Ok(false));
        assert_eq!(scanned_with(b"a"), Err(414));
    }
}
