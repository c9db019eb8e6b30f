//! The frames of PROTOCOL.md: their numbers, and how they are written and read.

use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The version of the protocol that both sides must speak.
pub const VERSION: u8 = 1;
/// The largest length of a frame from Ruby, in bytes.
pub const LENGTH_MAX: usize = (1 << 20) + (64 << 10);

/// The bytes of a frame before its payload: length and kind.
const HEAD_BYTES: usize = 5;
/// The largest payload in bytes that [`join_chunks`] makes.
const JOINED_BYTES: usize = 16 << 10;

/// Kinds of frames.
pub mod kind {
    pub const HELLO: u8 = 1;
    pub const SETUP: u8 = 2;
    pub const READY: u8 = 3;
    pub const FAILED: u8 = 4;
    pub const FORK: u8 = 5;
    pub const FORKED: u8 = 6;
    pub const EXITED: u8 = 7;
    pub const LOG: u8 = 8;
    pub const STOP: u8 = 9;
    pub const CANCEL: u8 = 10;
    pub const DUMP: u8 = 11;
    pub const INTERRUPT: u8 = 12;
    pub const PING: u8 = 13;
    pub const TITLE: u8 = 14;
    pub const THREADS: u8 = 15;
    pub const TRACE: u8 = 16;
    pub const OUT_OF_BAND: u8 = 17;
    pub const SHARED: u8 = 18;
    pub const ENDING: u8 = 19;
    pub const SHAPE: u8 = 20;
    pub const REQUEST: u8 = 21;
    pub const BEFORE_EXEC: u8 = 22;
    pub const HOOK_FAILED: u8 = 23;
    pub const RELEASE: u8 = 24;
    pub const NO_NATIVE: u8 = 25;
    pub const CLOSING: u8 = 26;
    pub const SERVING: u8 = 27;
    pub const GROW: u8 = 28;
    pub const FLUSH: u8 = 29;
    pub const ANSWER: u8 = 30;
    pub const CHUNK: u8 = 31;
    pub const END: u8 = 32;
    pub const FAULT: u8 = 33;
    pub const HINTS: u8 = 34;
    pub const BAD: u8 = 35;
    pub const FREE: u8 = 36;
    pub const MEMORY: u8 = 37;
    pub const LEFT: u8 = 38;
}

/// Flags of an ANSWER.
pub mod flag {
    pub const MORE: u8 = 1;
    pub const FILE: u8 = 2;
    pub const UPGRADE: u8 = 4;
    pub const TAKEN: u8 = 8;
    pub const LATER: u8 = 16;
    pub const UNASKED: u8 = 32;
    pub const WITHDRAWN: u8 = 64;
}

/// The role of a connection, from its HELLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Mold,
    Control,
    Slot,
    Body,
    Full,
    Partial,
    Rest,
    Broken,
    Direct,
    Claims,
}

/// An error for a frame that PROTOCOL.md does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError(pub String);

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WireError {}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The number of its kind, one of [`kind`].
    pub kind: u8,
    /// The bytes after the kind.
    pub payload: Bytes,
}

/// Removes the first complete frame from the buffer; none if it is not complete yet.
pub fn take(buffer: &mut BytesMut) -> Result<Option<Frame>, WireError> {
    let Some(mut head) = buffer.get(..HEAD_BYTES) else { return Ok(None) };
    let length = head.get_u32() as usize;
    let kind = head.get_u8();
    if length == 0 || length > LENGTH_MAX {
        return Err(WireError(format!("a frame of {length} bytes: it must have from 1 to {LENGTH_MAX}")));
    }
    if buffer.len() < 4 + length {
        buffer.reserve(4 + length - buffer.len());
        return Ok(None);
    }
    let mut frame = buffer.split_to(4 + length);
    frame.advance(HEAD_BYTES);
    Ok(Some(Frame { kind, payload: frame.freeze() }))
}

/// Adds to a CHUNK the payloads of the CHUNK frames that follow it in the buffer, up to [`JOINED_BYTES`] in all, and
/// removes these frames. A body may be made of many small parts that came in one read, and each that is passed on wakes
/// two tasks, and is a chunk for the client to read.
pub fn join_chunks(frame: Frame, buffer: &mut BytesMut) -> Frame {
    if frame.kind != kind::CHUNK {
        return frame;
    }
    let mut following = 0;
    let mut length = frame.payload.len();
    while let Some(more) = chunk_length(&buffer[following..])
        && length + more <= JOINED_BYTES
    {
        following += HEAD_BYTES + more;
        length += more;
    }
    if following == 0 {
        return frame;
    }
    let mut joined = BytesMut::with_capacity(length);
    joined.extend_from_slice(&frame.payload);
    let mut rest = buffer.split_to(following);
    while let Some(more) = chunk_length(&rest) {
        joined.extend_from_slice(&rest[HEAD_BYTES..HEAD_BYTES + more]);
        rest.advance(HEAD_BYTES + more);
    }
    Frame { kind: frame.kind, payload: joined.freeze() }
}

/// Returns the length of the payload if these bytes begin with a whole CHUNK frame.
fn chunk_length(bytes: &[u8]) -> Option<usize> {
    let mut head = bytes.get(..HEAD_BYTES)?;
    let (length, number) = (head.get_u32() as usize, head.get_u8());
    let is_whole = number == kind::CHUNK && bytes.len() - 4 >= length;
    length.checked_sub(1).filter(|_| is_whole)
}

/// Appends a frame whose payload `write` appends.
pub fn put(out: &mut BytesMut, kind: u8, write: impl FnOnce(&mut BytesMut)) {
    let at = out.len();
    out.put_u32(0);
    out.put_u8(kind);
    write(out);
    let length = u32::try_from(out.len() - at - 4).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Returns a frame whose payload `write` appends.
pub fn frame(kind: u8, write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::new();
    put(&mut out, kind, write);
    out.freeze()
}

/// Appends one string of a list. A NUL would end it early, so the string is cut there.
pub fn put_item(out: &mut BytesMut, item: &[u8]) {
    out.extend(item.iter().take_while(|byte| **byte != 0));
    out.put_u8(0);
}

/// Reads the fields of a payload; if one is missing, the error names the frame.
#[derive(Debug)]
pub struct Reader {
    rest: Bytes,
    frame: &'static str,
}

impl Reader {
    /// Creates a reader; errors call the frame `frame`.
    pub fn new(payload: Bytes, frame: &'static str) -> Reader {
        Reader { rest: payload, frame }
    }

    /// Reads `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<Bytes, WireError> {
        if self.rest.len() < count {
            let missing = engine::count(count - self.rest.len(), "byte");
            return Err(WireError(format!("{} ends {missing} too early", self.frame)));
        }
        Ok(self.rest.split_to(count))
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.bytes(1)?[0])
    }

    /// Reads a big-endian number of two bytes.
    pub fn u16(&mut self) -> Result<u16, WireError> {
        Ok(self.bytes(2)?.get_u16())
    }

    /// Reads a big-endian number of four bytes.
    pub fn u32(&mut self) -> Result<u32, WireError> {
        Ok(self.bytes(4)?.get_u32())
    }

    /// Reads a big-endian number of eight bytes.
    pub fn u64(&mut self) -> Result<u64, WireError> {
        Ok(self.bytes(8)?.get_u64())
    }

    /// Reads a signed big-endian number of four bytes.
    pub fn i32(&mut self) -> Result<i32, WireError> {
        Ok(self.bytes(4)?.get_i32())
    }

    /// Reads the rest.
    pub fn rest(&mut self) -> Bytes {
        self.rest.split_off(0)
    }

    /// Reads the rest as text.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(&self.rest()).into_owned()
    }

    /// Reads the rest as a list of strings.
    pub fn list(&mut self) -> Vec<String> {
        let rest = self.rest();
        let rest = rest.strip_suffix(b"\0").unwrap_or(&rest);
        if rest.is_empty() {
            return Vec::new();
        }
        rest.split(|byte| *byte == 0).map(|item| String::from_utf8_lossy(item).into_owned()).collect()
    }
}

impl Role {
    /// Returns the role with this number.
    pub fn of(number: u8) -> Result<Role, WireError> {
        use Role::{Body, Broken, Claims, Control, Direct, Full, Mold, Partial, Rest, Slot};
        let roles = [Mold, Control, Slot, Body, Full, Partial, Rest, Broken, Direct, Claims];
        let role = roles.get(usize::from(number)).copied();
        role.ok_or_else(|| WireError(format!("HELLO of role {number}, of which there is none")))
    }
}

/// The fields of HELLO, the first frame of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The role of the connection.
    pub role: Role,
    /// The number of the worker, 0 for a mold.
    pub worker: u32,
    /// The number of the thread in the worker.
    pub slot: u32,
    /// The sequence number of the request, for roles that belong to one.
    pub seq: u32,
    /// The process id.
    pub pid: u32,
    /// The handshake token, which only processes of this server know.
    pub token: String,
}

impl Hello {
    /// Reads a HELLO frame of this version.
    pub fn read(frame: Frame) -> Result<Hello, WireError> {
        if frame.kind != kind::HELLO {
            return Err(WireError(format!("a connection began with a frame of kind {} instead of HELLO", frame.kind)));
        }
        let mut reader = Reader::new(frame.payload, "HELLO");
        let version = reader.u8()?;
        if version != VERSION {
            return Err(WireError(format!("HELLO of version {version}; here it is {VERSION}")));
        }
        let role = Role::of(reader.u8()?)?;
        let (worker, slot, seq, pid) = (reader.u32()?, reader.u32()?, reader.u32()?, reader.u32()?);
        Ok(Hello { role, worker, slot, seq, pid, token: reader.text() })
    }
}

#[cfg(test)]
#[path = "frames_test.rs"]
mod tests;
