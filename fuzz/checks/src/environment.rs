//! A request as the pairs of its Rack environment: no key twice, every key of the form Rack asks for, and the name
//! and port of the server cut out of a Host without a byte lost.

use std::collections::HashSet;

use engine::Request;
use engine::env::{Fixed, Key, header_key, pairs, split_authority};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

fn request(bytes: &[u8]) -> Request {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b':').unwrap_or(line.len()));
        let value = HeaderValue::from_bytes(value.get(1..).unwrap_or_default());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), value) {
            headers.append(name, value);
        }
    }
    Request { headers, ..Request::sample(Method::GET, "/") }
}

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let mut seen = HashSet::new();
    pairs(&request(bytes), &mut |key, value| {
        let name = match key {
            Key::Fixed(fixed) => fixed.name().to_owned(),
            Key::Header(name) => header_key(name),
        };
        assert!(matches!(key, Key::Fixed(_)) || name.starts_with("HTTP_"), "{name}");
        assert!(!name.contains('-') && matches!(key, Key::Fixed(_)) | !name.contains(char::is_lowercase), "{name}");
        assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "{name}");
        assert!(name != Fixed::ServerName.name() || !value.is_empty(), "a server without a name");
        assert!(seen.insert(name), "{key:?} comes twice");
    });
    if let Ok(text) = std::str::from_utf8(bytes) {
        let whole = match split_authority(text) {
            (name, Some(port)) => format!("{name}:{port}"),
            (name, None) => name.to_owned(),
        };
        assert!(text == whole || text == format!("{whole}:"), "{text:?}");
    }
}
