//! Response bodies that the application has encoded as chunked itself (Rack::Chunked of Rack 2, Rails before 7.1). They
//! are decoded, since the front determines the framing.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use engine::body::Next;
use engine::{Fault, Source};

use crate::parse::chunks::Chunks;

/// Bytes of trailers, which are discarded.
const TRAILER_BYTES: usize = 16 << 10;

/// The body of a response as it comes from the engine.
pub(crate) struct CodedSource {
    source: Source,
    coding: Option<Coding>,
}

/// The decoder and whether the last chunk was seen.
struct Coding {
    chunks: Chunks,
    is_done: bool,
}

impl CodedSource {
    pub(crate) fn new(source: Source, is_chunked: bool) -> CodedSource {
        CodedSource { source, coding: is_chunked.then(Coding::new) }
    }

    /// The fault with which the engine has ended the body, even while bytes before it are not taken yet. Takes none.
    pub(crate) fn poll_fault(&self, cx: &mut Context<'_>) -> Poll<Fault> {
        self.source.poll_fault(cx)
    }

    /// The next bytes, or a request of the engine to write what comes next to the client itself, unless that has to be
    /// decoded; `None` after the last.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Next, Fault>>> {
        let Some(coding) = &mut self.coding else { return self.source.poll_next_or_direct(cx) };
        loop {
            return Poll::Ready(match ready!(self.source.poll_next(cx)) {
                Some(Ok(bytes)) => match coding.decode(&bytes) {
                    Ok(data) if data.is_empty() => continue,
                    decoded => Some(decoded.map(Next::Bytes)),
                },
                None => coding.end().err().map(Err),
                Some(Err(fault)) => Some(Err(fault)),
            });
        }
    }
}

/// Decodes a whole body.
pub(crate) fn decode(bytes: &Bytes) -> Result<Bytes, Fault> {
    let mut coding = Coding::new();
    let data = coding.decode(bytes)?;
    coding.end()?;
    Ok(data)
}

/// The pieces as one; a single one is not copied.
pub(crate) fn joined(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() == 1 { pieces.swap_remove(0) } else { Bytes::from(pieces.concat()) }
}

impl Coding {
    fn new() -> Coding {
        Coding { chunks: Chunks::new(TRAILER_BYTES), is_done: false }
    }

    fn decode(&mut self, bytes: &Bytes) -> Result<Bytes, Fault> {
        let mut pieces = Vec::new();
        let fed = self.chunks.decode(bytes, |range| pieces.push(bytes.slice(range)));
        let fed = fed.map_err(|refusal| wrong(&format!("is not in chunks ({})", refusal.why)))?;
        if fed.bytes < bytes.len() {
            return Err(wrong("goes on behind its last chunk"));
        }
        self.is_done = fed.is_done;
        Ok(joined(pieces))
    }

    fn end(&mut self) -> Result<(), Fault> {
        if std::mem::replace(&mut self.is_done, true) { Ok(()) } else { Err(wrong("ends before its last chunk")) }
    }
}

fn wrong(how: &str) -> Fault {
    Fault::BadAnswer(format!("transfer-encoding is chunked, but the body {how}: leave that header to the server"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(body: &[u8]) -> Result<Bytes, Fault> {
        decode(&Bytes::copy_from_slice(body))
    }

    #[test]
    fn what_the_chunks_carry_is_the_body() {
        assert_eq!(decoded(b"5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nx: y\r\n\r\n").unwrap(), "hello!");
        assert_eq!(decoded(b"5\r\nhello\r\n0\r\n\r\n").unwrap(), "hello");
        assert_eq!(decoded(b"0\r\n\r\n").unwrap(), "");
    }

    #[test]
    fn what_is_not_in_chunks_is_refused() {
        for body in [&b"hello"[..], b"5\r\nhello\r\n", b"5\r\nhel", b"0\r\n\r\nmore", b""] {
            assert!(matches!(decoded(body), Err(Fault::BadAnswer(_))), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn pieces_may_be_cut_anywhere() {
        let body = b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
        for size in 1..body.len() {
            let mut coding = Coding::new();
            let data: Result<Vec<Bytes>, Fault> =
                body.chunks(size).map(|piece| coding.decode(&Bytes::copy_from_slice(piece))).collect();
            assert_eq!(data.unwrap().concat(), b"hello world");
            assert_eq!(coding.end(), Ok(()));
        }
    }

    #[test]
    fn behind_the_last_chunk_there_may_be_pieces_only_if_they_are_empty() {
        let mut coding = Coding::new();
        for (piece, data) in [("1\r\na\r\n1\r\nb\r\n0\r\n", "ab"), ("", ""), ("\r\n", ""), ("", "")] {
            assert_eq!(coding.decode(&Bytes::from(piece)).unwrap(), data, "{piece:?}");
        }
        assert!(matches!(coding.decode(&Bytes::from("0\r\n\r\n")), Err(Fault::BadAnswer(_))));
    }
}
