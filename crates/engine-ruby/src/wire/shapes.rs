//! Shapes of environments: the set of keys is defined once per connection, and each request sends only the values. A
//! value that rarely differs is part of the shape.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{BufMut, BytesMut};
use engine::env::{self, Fixed, Key};
use engine::{Input, Request};
use foldhash::fast::RandomState;
use http::{HeaderName, Method};

use super::frames::{kind, put, put_item};

/// The most shapes per connection: clients choose header names, so the number must be limited.
const SHAPES_MAX: u16 = 200;
/// The longest header name in bytes that is part of a shape: workers keep such names, and a native one takes no key of
/// more than 1024 bytes.
const NAME_MAX: usize = 512;
/// The most bytes of all names of a shape: a client could fill the memory of workers with them.
const NAMES_MAX: usize = 4096;
/// Added to the kind of the body of a request that is sent ahead.
const AHEAD: u8 = 128;
/// The number for requests without a shape, which send keys and values.
const SHAPELESS: u16 = 0;

/// The methods that are part of a shape.
static METHODS: [Method; 6] = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

static START: HeaderName = HeaderName::from_static("x-request-start");
/// The other name of X-Request-Start, which monitoring tools read where that is absent.
static QUEUE_START: HeaderName = HeaderName::from_static("x-queue-start");

/// The shapes defined on one connection.
#[derive(Debug, Default)]
pub struct Shapes {
    known: HashMap<Box<[u8]>, u16, RandomState>,
    signature: Vec<u8>,
    values: Vec<u8>,
}

impl Shapes {
    /// Appends a REQUEST frame, after a SHAPE frame if the shape is new. `is_ahead` says that another request of the
    /// connection is not over yet.
    pub fn put(&mut self, out: &mut BytesMut, seq: u32, request: &Request, is_ahead: bool) {
        self.gather(request);
        let shape = match self.known.get(self.signature.as_slice()) {
            Some(shape) => *shape,
            None => self.define(out, request),
        };
        if shape == SHAPELESS {
            self.spell_out(request);
        }
        put(out, kind::REQUEST, |out| {
            out.put_u32(seq);
            out.put_u16(shape);
            let body = match &request.input {
                Input::Memory(bytes) if !bytes.is_empty() => 1,
                Input::File(..) => 2,
                _ => 0,
            };
            out.put_u8(if is_ahead { body | AHEAD } else { body });
            out.put_u32(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
            out.put_slice(&self.values);
            match &request.input {
                Input::Memory(bytes) => out.put_slice(bytes),
                Input::File(_, length) => out.put_u64(*length),
                _ => {}
            }
        });
    }

    /// Collects, in one pass, the signature of the request's shape and the values that are not part of it.
    fn gather(&mut self, request: &Request) {
        let (signature, values) = (&mut self.signature, &mut self.values);
        signature.clear();
        values.clear();
        pairs(request, &mut |key, value| match key {
            Key::Fixed(fixed) if is_constant(fixed, request) => {
                signature.push(fixed as u8);
                signature.extend_from_slice(value);
                signature.push(0);
            }
            Key::Fixed(fixed) => {
                signature.push(0x80 | fixed as u8);
                put_value(values, value);
            }
            Key::Header(name) => {
                signature.extend_from_slice(name.as_str().as_bytes());
                signature.push(0);
                put_value(values, value);
            }
        });
        values.pop();
    }

    fn define(&mut self, out: &mut BytesMut, request: &Request) -> u16 {
        let next = u16::try_from(self.known.len() + 1).unwrap_or(u16::MAX);
        let plain = request.headers.keys().all(|name| is_plain(name.as_str()));
        if next > SHAPES_MAX || self.signature.len() > NAMES_MAX || !plain {
            return SHAPELESS;
        }
        put(out, kind::SHAPE, |out| {
            out.put_u16(next);
            pairs(request, &mut |key, value| match key {
                Key::Fixed(fixed) if is_constant(fixed, request) => {
                    put_item(out, fixed.name().as_bytes());
                    put_item(out, b"c");
                    put_item(out, value);
                }
                Key::Fixed(fixed) => put_variable(out, fixed.name()),
                Key::Header(name) => put_variable(out, &env::header_key(name)),
            });
        });
        self.known.insert(self.signature.as_slice().into(), next);
        next
    }

    /// Collects keys and values as a list, which has a NUL after the last string too.
    fn spell_out(&mut self, request: &Request) {
        let values = &mut self.values;
        values.clear();
        pairs(request, &mut |key, value| {
            match key {
                Key::Fixed(fixed) => put_value(values, fixed.name().as_bytes()),
                Key::Header(name) => put_value(values, env::header_key(name).as_bytes()),
            }
            put_value(values, value);
        });
    }
}

fn put_variable(out: &mut BytesMut, name: &str) {
    put_item(out, name.as_bytes());
    put_item(out, b"v");
}

/// Appends a value. HTTP allows no NUL in values (RFC 9110 section 5.5), and the front refuses it; if there were one,
/// it would shift all that follows, so the value is cut there.
fn put_value(values: &mut Vec<u8>, value: &[u8]) {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    values.extend_from_slice(&value[..end]);
    values.push(0);
}

/// Visits all keys and values: those of the client, and X-Request-Start for monitoring tools, from which they take the
/// time in the queue (seconds since 1970 at the arrival of the complete request; a slow upload does not count as
/// queueing). It has the form of nginx's `t=${msec}`: rack-timeout takes three decimals, and no other number of them.
/// If a proxy has set the start, the tools subtract the time that the body took to arrive from the time in the queue:
/// they find it in milliseconds under Puma's key.
fn pairs<'a>(request: &'a Request, visit: &mut dyn FnMut(Key<'a>, &[u8])) {
    env::pairs(request, visit);
    if !request.headers.contains_key(&START) && !request.headers.contains_key(&QUEUE_START) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let arrived = now.saturating_sub(request.complete.elapsed());
        let (seconds, millis) = (arrived.as_secs(), arrived.subsec_millis());
        visit(Key::Header(&START), format!("t={seconds}.{millis:03}").as_bytes());
    } else if !request.input.is_empty() {
        let wait = request.complete.saturating_duration_since(request.head_complete);
        visit(Key::Fixed(Fixed::RequestBodyWait), format!("{:.3}", wait.as_secs_f64() * 1e3).as_bytes());
    }
}

/// Returns whether a value is part of the shape: the server chooses it, or the client from a few.
fn is_constant(fixed: Fixed, request: &Request) -> bool {
    match fixed {
        Fixed::RequestMethod => METHODS.contains(&request.method),
        Fixed::ScriptName | Fixed::ServerProtocol | Fixed::HttpVersion | Fixed::UrlScheme => true,
        _ => false,
    }
}

/// Returns whether a name is short enough, and needs no escaping in Ruby source, which it becomes part of on the other
/// side.
fn is_plain(name: &str) -> bool {
    name.len() <= NAME_MAX && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
