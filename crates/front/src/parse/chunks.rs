//! Strict parser of chunked bodies (RFC 9112 section 7.1), which finds their end and refuses every deviation from the
//! grammar. hyper decodes the same bytes of requests afterwards. It gets sizes and data only: extensions and trailers,
//! which are of no use here, are removed, so that hyper's own limits for them are never reached.

use std::ops::Range;

use http::StatusCode;

use crate::parse::chars::is_token;
use crate::parse::refusal::{Refusal, bad, refuse};

/// Bytes of a chunk's size line with extensions and line end. Usual ones have three to ten, signed chunks about ninety.
const SIZE_LINE: usize = 4096;
/// Bytes by which extensions may exceed the data.
const EXCESS: u64 = 16 * 1024;

/// State of the parser.
#[derive(Debug)]
pub(crate) struct Chunks {
    at: At,
    /// Size of the current chunk, as far as it was read.
    size: u64,
    /// Bytes of the current size line, or of all trailers, which are limited.
    used: usize,
    /// Bytes by which extensions exceed the data.
    excess: u64,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In the size, after this many digits.
    Size(u8),
    Extension(Extension),
    SizeLf,
    /// In the data, with this many bytes left.
    Data(u64),
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )`, begun by a semicolon or by white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    AfterSize,
    Start,
    Name,
    AfterName,
    Equals,
    Token,
    Quoted,
    QuotedPair,
    QuoteEnd,
    AfterValue,
}

/// Kind of bytes in a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteKind {
    Data,
    /// Sizes and line ends.
    Coding,
    /// Extensions and trailers, which are removed.
    LeftOut,
}

/// Result of parsing: the number of bytes that belong to the body, after removals, and whether it is complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fed {
    pub(crate) bytes: usize,
    pub(crate) is_done: bool,
}

impl Chunks {
    /// A parser at the beginning of a body, with a limit on the bytes of its trailers.
    pub(crate) fn new(trailer_bytes: usize) -> Chunks {
        Chunks { at: At::Size(0), size: 0, used: 0, excess: 0, trailer_bytes }
    }

    /// Parses the bytes from `start` on, up to the end of the body, and removes what hyper must not see.
    pub(crate) fn feed(&mut self, bytes: &mut Vec<u8>, start: usize) -> Result<Fed, Refusal> {
        let (mut from, mut to) = (start, start);
        while from < bytes.len() && self.at != At::Done {
            let (taken, kind) = self.next_bytes(&bytes[from..])?;
            if kind != ByteKind::LeftOut {
                if from != to {
                    bytes.copy_within(from..from + taken, to);
                }
                to += taken;
            }
            from += taken;
        }
        bytes.drain(to..from);
        Ok(Fed { bytes: to - start, is_done: self.at == At::Done })
    }

    /// Parses `bytes`, up to the end of the body, and passes the ranges of the chunks' data to `data`.
    pub(crate) fn decode(&mut self, bytes: &[u8], mut data: impl FnMut(Range<usize>)) -> Result<Fed, Refusal> {
        let mut index = 0;
        while index < bytes.len() && self.at != At::Done {
            let (taken, kind) = self.next_bytes(&bytes[index..])?;
            if kind == ByteKind::Data {
                data(index..index + taken);
            }
            index += taken;
        }
        Ok(Fed { bytes: index, is_done: self.at == At::Done })
    }

    /// Length and kind of the next bytes that belong together.
    fn next_bytes(&mut self, bytes: &[u8]) -> Result<(usize, ByteKind), Refusal> {
        let before = self.at;
        if let At::Data(left) = before {
            let taken = left.min(bytes.len() as u64);
            self.at = if taken == left { At::DataCr } else { At::Data(left - taken) };
            return Ok((taken as usize, ByteKind::Data));
        }
        self.at = self.step(bytes[0])?;
        Ok((1, if is_left_out(before, self.at) { ByteKind::LeftOut } else { ByteKind::Coding }))
    }

    fn step(&mut self, byte: u8) -> Result<At, Refusal> {
        self.used += 1;
        match self.at {
            At::Size(_) | At::Extension(_) | At::SizeLf if self.used > SIZE_LINE => {
                return bad("the line with a chunk's size is too long");
            }
            _ if self.used > self.trailer_bytes.max(SIZE_LINE) => {
                return refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the trailers are too long");
            }
            _ => {}
        }
        Ok(match (self.at, byte) {
            // Fifteen digits are up to 2^60 bytes: enough, and they cannot overflow.
            (At::Size(digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if digits < 15 => {
                self.size = self.size << 4 | u64::from((byte as char).to_digit(16).unwrap_or(0));
                At::Size(digits + 1)
            }
            (At::Size(1..), b'\r') => At::SizeLf,
            (At::Size(1..), b';') => self.extended(Extension::Start)?,
            (At::Size(1..), b' ' | b'\t') => self.extended(Extension::AfterSize)?,
            (At::Size(_), _) => return bad("the size of a chunk is not a hexadecimal number"),
            (At::Extension(Extension::Name | Extension::Token | Extension::QuoteEnd), b'\r') => At::SizeLf,
            (At::Extension(at), _) => self.extended(at.step(byte)?)?,
            (At::SizeLf, b'\n') => self.sized(),
            (At::SizeLf, _) => return bad("the line with a chunk's size does not end in a line feed"),
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => {
                (self.used, self.size) = (0, 0);
                At::Size(0)
            }
            (At::DataCr | At::DataLf, _) => return bad("a chunk is longer than its size says"),
            (At::TrailerStart, b'\r') => At::EndLf,
            (At::EndLf, b'\n') => At::Done,
            (at, _) => trailer(at, byte)?,
        })
    }

    /// State after a complete size line.
    fn sized(&mut self) -> At {
        self.used = 0;
        self.excess = self.excess.saturating_sub(self.size);
        if self.size == 0 { At::TrailerStart } else { At::Data(self.size) }
    }

    fn extended(&mut self, at: Extension) -> Result<At, Refusal> {
        self.excess += 1;
        if self.excess > EXCESS { bad("there are more chunk extensions than data") } else { Ok(At::Extension(at)) }
    }
}

impl Extension {
    fn step(self, byte: u8) -> Result<Extension, Refusal> {
        Ok(match (self, byte) {
            (Extension::Start | Extension::Name, _) if is_token(byte) => Extension::Name,
            (Extension::Equals | Extension::Token, _) if is_token(byte) => Extension::Token,
            (Extension::AfterSize | Extension::Start | Extension::Equals, b' ' | b'\t') => self,
            (Extension::AfterSize, b';') => Extension::Start,
            (Extension::Name | Extension::AfterName, b' ' | b'\t') => Extension::AfterName,
            (Extension::Name | Extension::AfterName, b'=') => Extension::Equals,
            (Extension::Equals, b'"') => Extension::Quoted,
            (Extension::Quoted, b'"') => Extension::QuoteEnd,
            (Extension::Quoted, b'\\') => Extension::QuotedPair,
            (Extension::Quoted | Extension::QuotedPair, b'\t' | b' '..=b'~' | 0x80..) => Extension::Quoted,
            (Extension::Token | Extension::QuoteEnd | Extension::AfterValue, b' ' | b'\t') => Extension::AfterValue,
            (
                Extension::Name | Extension::AfterName | Extension::Token | Extension::QuoteEnd | Extension::AfterValue,
                b';',
            ) => Extension::Start,
            _ => return bad("a chunk extension is not a name with a value"),
        })
    }
}

/// Next state within trailers.
fn trailer(at: At, byte: u8) -> Result<At, Refusal> {
    Ok(match (at, byte) {
        (At::TrailerStart | At::TrailerName, _) if is_token(byte) => At::TrailerName,
        (At::TrailerName, b':') => At::TrailerValue,
        (At::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => At::TrailerValue,
        (At::TrailerValue, b'\r') => At::TrailerLf,
        (At::TrailerLf, b'\n') => At::TrailerStart,
        (At::EndLf, _) => return bad("the chunked body does not end in an empty line"),
        _ => return bad("a trailer is not a header"),
    })
}

/// Whether a byte that changed the state is part of an extension or a trailer.
fn is_left_out(before: At, after: At) -> bool {
    let is_trailer = |at| matches!(at, At::TrailerName | At::TrailerValue | At::TrailerLf);
    matches!(after, At::Extension(_)) || is_trailer(before) || is_trailer(after)
}

#[cfg(test)]
#[path = "chunks_test.rs"]
mod tests;
