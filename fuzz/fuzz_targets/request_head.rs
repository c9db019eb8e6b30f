//! The head of a request, byte by byte as a slow client would send it: once the scanner has decided, more bytes must
//! not change its mind, and what it calls a head must be one by itself. The first byte picks the limits.

#![no_main]

use std::time::Duration;

use front::Limits;
use front::fuzzing::{Scanned, scan_head};
use libfuzzer_sys::fuzz_target;

fn limits(header_bytes: usize) -> Limits {
    let long = Duration::from_secs(30);
    Limits {
        header_bytes,
        header_count: 8,
        header_time: long,
        body_bytes: 1 << 20,
        body_memory_bytes: 1 << 16,
        body_time: long,
        keep_alive: long,
        connections: 100,
        write_time: long,
        spool_bytes: 1 << 20,
        queue_wait: long,
        request_time: long,
        drain_time: long,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let limits = limits([64, 300, 114_688][usize::from(*choice) % 3]);
    let whole = scan_head(bytes, &limits);
    if let Scanned::Whole { bytes: length, .. } = whole {
        assert!(length <= bytes.len() && bytes[..length].ends_with(b"\r\n\r\n"));
        assert!(!bytes[..length].contains(&0));
        assert_eq!(scan_head(&bytes[..length], &limits), whole);
    }
    for end in 0..bytes.len() {
        let early = scan_head(&bytes[..end], &limits);
        match (&early, &whole) {
            (Scanned::Partial, _) => assert!(end <= limits.header_bytes),
            (Scanned::Whole { .. }, _) => return assert_eq!(early, whole),
            (Scanned::Refused(_), Scanned::Refused(_)) => return,
            (Scanned::Refused(_), _) => panic!("{end} bytes: {early:?}, all: {whole:?}"),
        }
    }
});
