//! The head of a request, byte by byte as a slow client would send it: once the scanner has decided, more bytes must
//! not change its mind, what it calls a head must be one by itself, and hyper must take it: a head that only hyper
//! refused would leave no reason behind. The first byte picks the limits.

use front::fuzzing::{Scanned, scan_head};
use http::{HeaderName, HeaderValue, Method, Uri};

/// Reads it with the same parts as hyper.
fn assert_taken_by_hyper(head: &[u8]) {
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut headers);
    assert_eq!(request.parse(head), Ok(httparse::Status::Complete(head.len())));
    Method::from_bytes(request.method.unwrap().as_bytes()).unwrap();
    request.path.unwrap().parse::<Uri>().unwrap();
    for header in request.headers {
        HeaderName::from_bytes(header.name.as_bytes()).unwrap();
        HeaderValue::from_bytes(header.value).unwrap();
    }
}

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let header_bytes = [64, 300, 114_688][usize::from(*choice) % 3];
    let scan = |bytes| scan_head(bytes, header_bytes, 8);
    let whole = scan(bytes);
    if let Scanned::Whole { bytes: length, given, .. } = &whole {
        let length = *length;
        assert!(length <= bytes.len() && bytes[..length].ends_with(b"\r\n\r\n"));
        assert!(!bytes[..length].contains(&0));
        assert_eq!(scan(&bytes[..length]), whole);
        assert_taken_by_hyper(given);
    }
    for end in 0..bytes.len() {
        let early = scan(&bytes[..end]);
        match (&early, &whole) {
            (Scanned::Partial, _) => assert!(end <= header_bytes),
            (Scanned::Whole { .. }, _) => return assert_eq!(early, whole),
            (Scanned::Refused(_), Scanned::Refused(_)) => return,
            (Scanned::Refused(_), _) => panic!("{end} bytes: {early:?}, all: {whole:?}"),
        }
    }
}
