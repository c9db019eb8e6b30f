//! Conversion of ANSWER, HINTS and FAULT frames into responses, headers and faults.

use std::path::Path;

use bytes::Bytes;
use engine::body::{duplex, stream};
use engine::{AppError, Body, Duplex, Fault, ResponseHead, Sink};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::frames::{Reader, WireError, flag};

/// The most bytes in transit in each direction of an upgraded connection.
const UPGRADE_BYTES: usize = 64 << 10;
/// The size in bytes below which a body is copied, so that it does not keep the whole read buffer alive.
const COPIED_BYTES: usize = 16 << 10;
/// The most lines of a backtrace that are kept.
const BACKTRACE_MAX: usize = 1000;

/// An ANSWER frame, split into its fields but not validated.
pub struct Answer {
    /// The sequence number of the request.
    pub seq: u32,
    status: u16,
    flags: u8,
    pairs: usize,
    headers: Bytes,
    body: Bytes,
}

/// The parts of a response that an answer is converted into.
pub struct Made {
    /// Status and headers.
    pub head: ResponseHead,
    /// The body.
    pub body: Body,
    /// The first chunk of a body of which more follows.
    pub first: Option<Bytes>,
    /// The application's end of an upgraded connection.
    pub duplex: Option<Duplex>,
}

/// Splits an ANSWER frame into its fields.
pub fn read(payload: Bytes) -> Result<Answer, WireError> {
    let mut reader = Reader::new(payload, "ANSWER");
    let (seq, status, flags) = (reader.u32()?, reader.u16()?, reader.u8()?);
    let pairs = usize::from(reader.u16()?);
    let length = reader.u32()? as usize;
    let headers = reader.bytes(length)?;
    Ok(Answer { seq, status, flags, pairs, headers, body: reader.rest() })
}

impl Answer {
    /// Returns whether chunks of the body follow.
    pub fn is_open(&self) -> bool {
        self.flags & flag::MORE != 0
    }

    /// Returns whether the thread stays busy after the answer is complete.
    pub fn is_free_later(&self) -> bool {
        self.flags & flag::LATER != 0
    }

    /// Returns whether the thread waits for the application's end of an upgraded connection.
    pub fn is_upgrade(&self) -> bool {
        self.flags & flag::UPGRADE != 0
    }

    /// Returns whether the thread waits until the file that this answer names has been opened. What the application
    /// does after the answer may remove it.
    pub fn awaits_opening(&self) -> bool {
        let both = flag::FILE | flag::LATER;
        self.flags & both == both
    }

    /// Returns the response, or the fault if the answer is invalid.
    pub fn response(self, may_name_files: bool) -> Result<Made, Fault> {
        let mut head = ResponseHead::default();
        if self.flags & flag::TAKEN != 0 {
            return Ok(Made { head, body: Body::Taken, first: None, duplex: None });
        }
        let bad = |error: engine::response::HeadError| Fault::BadAnswer(error.0);
        head.set_status(i64::from(self.status)).map_err(bad)?;
        for (name, value) in split(&self.headers, self.pairs).map_err(Fault::BadAnswer)? {
            head.add(name, value).map_err(bad)?;
        }
        let mut made = Made { head, body: Body::Empty, first: None, duplex: None };
        if self.is_upgrade() {
            let (theirs, ours) = duplex(UPGRADE_BYTES);
            made.body = Body::Upgrade(theirs);
            made.duplex = Some(ours);
        } else if self.flags & flag::FILE != 0 {
            if !may_name_files {
                // SETUP forbids it: a worker with the server's Ruby files would not send this.
                return Err(Fault::BadAnswer("it names a file, which another user's worker must not".to_owned()));
            }
            made.body = file(&self.body)?;
        } else if self.flags & flag::UNASKED != 0 {
            made.body = Body::Unasked;
        } else if self.flags & flag::MORE != 0 {
            made.first = Some(self.body);
        } else if !self.body.is_empty() {
            let is_small = self.body.len() < COPIED_BYTES;
            made.body = Body::Full(if is_small { Bytes::copy_from_slice(&self.body) } else { self.body });
        }
        Ok(made)
    }
}

/// Returns the application's end of an upgraded connection without a client, for an answer that nobody waits for.
pub fn orphan() -> Duplex {
    duplex(UPGRADE_BYTES).1
}

/// Returns the application's end of a streamed body, in which nothing comes in.
pub fn rest(sink: Sink) -> Duplex {
    Duplex { incoming: stream(0).1, outgoing: sink }
}

fn file(path: &[u8]) -> Result<Body, Fault> {
    let path = Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
    match files::open(path) {
        Ok((file, length)) => Ok(Body::File(file, length)),
        Err(error) if files::is_short_of_files(&error) => Ok(Body::Unopened(path.to_owned())),
        Err(error) => Err(Fault::BadAnswer(format!("to_path names {}, but: {error}", path.display()))),
    }
}

/// A header's name and value.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// Splits a list into names and values. The worker does not inspect values, so a NUL in one shows here, by the count.
fn split(list: &[u8], pairs: usize) -> Result<Vec<Pair<'_>>, String> {
    let items: Vec<&[u8]> = match list.strip_suffix(b"\0") {
        Some(list) => list.split(|byte| *byte == 0).collect(),
        None => Vec::new(),
    };
    if items.len() != 2 * pairs {
        return Err("a header has a NUL character, which RFC 9110 section 5.5 forbids".to_owned());
    }
    Ok(items.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// Returns the headers of early hints. Invalid ones are left out, because hints are optional, and so are empty lines of
/// a value, as in a response.
pub fn hints(reader: &mut Reader) -> Result<HeaderMap, WireError> {
    let pairs = usize::from(reader.u16()?);
    let list = reader.rest();
    let mut headers = HeaderMap::new();
    for (name, value) in split(&list, pairs).map_err(WireError)? {
        for line in value.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(line))
                && headers.try_append(name, value).is_err()
            {
                return Err(WireError("HINTS has too many headers".to_owned()));
            }
        }
    }
    Ok(headers)
}

/// Returns the fault for an exception that the application raised.
pub fn fault(list: Vec<String>) -> Fault {
    Fault::App(Box::new(error(list)))
}

/// Returns an exception from its list of class, message, causes and backtrace lines.
pub fn error(list: Vec<String>) -> AppError {
    let mut list = list.into_iter();
    let class = list.next().unwrap_or_else(|| "Exception".to_owned());
    let message = list.next().unwrap_or_default();
    let (causes, backtrace) = list.take(BACKTRACE_MAX).partition(|line| line.starts_with(AppError::CAUSE));
    AppError { class, message, causes, backtrace }
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};

    use super::*;

    #[test]
    fn lines_of_hints_are_headers_and_empty_ones_are_none() {
        let mut frame = BytesMut::new();
        frame.put_u16(3);
        frame.put_slice(b"link\0</a.css>\n\n</b.css>\n\0x-empty\0\0x-odd\0a\rb\0");
        let headers = hints(&mut Reader::new(frame.freeze(), "HINTS")).unwrap();
        let links: Vec<&[u8]> = headers.get_all("link").iter().map(HeaderValue::as_bytes).collect();
        assert_eq!((links, headers.len()), (vec![&b"</a.css>"[..], b"</b.css>"], 2));
    }

    #[test]
    fn more_hints_than_a_map_can_hold_are_an_error() {
        let read = |count: u16| {
            let mut frame = BytesMut::new();
            frame.put_u16(count);
            (0..count).for_each(|number| frame.put_slice(format!("x-{number}\0a\0").as_bytes()));
            hints(&mut Reader::new(frame.freeze(), "HINTS"))
        };
        assert_eq!(read(1000).map(|headers| headers.len()), Ok(1000));
        assert!(read(40_000).is_err());
    }
}
