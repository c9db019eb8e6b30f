//! A request of any bytes to a whole interpreter, whose application (echo.ru) touches all that Rust gives to Ruby.
//! There must be an answer, with status 200 and a JSON object: no fault, no crash. The first line is the target, then
//! come headers up to an empty line, then the body.

use std::sync::LazyLock;

use bytes::Bytes;
use engine::{Input, Request};
use http::{HeaderName, HeaderValue};

use crate::support::{self, App};

static APP: LazyLock<App> = LazyLock::new(|| support::app(include_str!("../../echo.ru")));

fn request(bytes: &[u8]) -> Request {
    let (head, body) = match bytes.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) => (&bytes[..at], &bytes[at + 2..]),
        None => (bytes, &[][..]),
    };
    let mut lines = head.split(|byte| *byte == b'\n');
    let target = lines.next().unwrap_or_default();
    let mut request = support::get(&String::from_utf8_lossy(target));
    for line in lines {
        let (name, value) = line.split_at(line.iter().position(|byte| *byte == b':').unwrap_or(line.len()));
        let value = HeaderValue::from_bytes(value.get(1..).unwrap_or_default());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), value) {
            request.headers.append(name, value);
        }
    }
    if !body.is_empty() {
        request.input = Input::Memory(Bytes::copy_from_slice(body));
    }
    request
}

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let got = APP.got(request(bytes));
    assert_eq!(got.status, 200, "{got:?}");
    assert!(got.body.starts_with('{') && got.body.ends_with('}'), "{got:?}");
}
