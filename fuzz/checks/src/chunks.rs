//! A chunked body in pieces of all sizes: the end is where it is when all comes at once, and so is what is malformed.
//! What is left of it without extensions and trailers is a chunked body again, of which nothing more is taken.
//! The first bytes, up to a NUL, are the sizes of the pieces.

use front::fuzzing::ChunkedBody;

const TRAILER_BYTES: usize = 300;

/// What is left of the body for hyper, what is behind it, and whether its end was there; nothing when it is malformed.
fn end<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Option<(Vec<u8>, Vec<u8>, bool)> {
    let mut body = ChunkedBody::new(TRAILER_BYTES);
    let (mut kept, mut behind, mut is_done) = (Vec::new(), Vec::new(), false);
    for piece in pieces {
        let mut bytes = piece.to_vec();
        if !is_done {
            let (length, is_last) = body.feed(&mut bytes)?;
            assert!(length == bytes.len() || is_last);
            kept.extend(bytes.drain(..length));
            is_done = is_last;
        }
        behind.extend(bytes);
    }
    Some((kept, behind, is_done))
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

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let (sizes, bytes) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&[][..], bytes),
    };
    let at_once = end(std::iter::once(bytes));
    assert_eq!(end(cut(sizes, bytes)), at_once);
    assert_eq!(end(cut(&[], bytes)), at_once);
    if let Some((kept, behind, true)) = at_once {
        assert!(kept.ends_with(b"0\r\n\r\n") && bytes.ends_with(&behind));
        assert_eq!(end(std::iter::once(kept.as_slice())), Some((kept.clone(), Vec::new(), true)));
    }
}
