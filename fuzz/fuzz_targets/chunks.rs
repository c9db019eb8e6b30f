//! A chunked body in pieces of all sizes: the end is where it is when all comes at once, and so is what is malformed.
//! The first bytes, up to a NUL, are the sizes of the pieces.

#![no_main]

use front::fuzzing::ChunkedBody;
use libfuzzer_sys::fuzz_target;

const TRAILER_BYTES: usize = 300;

/// Bytes of the body and whether its end was among them, or nothing when it is malformed.
fn end<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Option<(usize, bool)> {
    let mut body = ChunkedBody::new(TRAILER_BYTES);
    let mut sum = 0;
    for piece in pieces {
        let (bytes, is_done) = body.feed(piece)?;
        assert!(bytes == piece.len() || is_done);
        sum += bytes;
        if is_done {
            return Some((sum, true));
        }
    }
    Some((sum, false))
}

fn cut<'a>(sizes: &'a [u8], mut bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut sizes = sizes.iter().map(|size| usize::from(*size)).cycle();
    std::iter::from_fn(move || {
        let length = sizes.next().unwrap_or(1).min(bytes.len());
        let (piece, rest) = bytes.split_at(length);
        bytes = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

fuzz_target!(|bytes: &[u8]| {
    let (sizes, bytes) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&[][..], bytes),
    };
    let at_once = end(std::iter::once(bytes));
    assert_eq!(end(cut(sizes, bytes)), at_once);
    assert_eq!(end(cut(&[], bytes)), at_once);
    if let Some((length, true)) = at_once {
        assert!(bytes[..length].ends_with(b"\r\n\r\n"));
        assert_eq!(end(std::iter::once(&bytes[..length])), Some((length, true)));
    }
});
