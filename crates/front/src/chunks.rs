//! Finds the end of a chunked body in raw bytes (RFC 9112 section 7.1), strictly: what is not written exactly as the
//! grammar says is malformed. Of requests, hyper decodes the same bytes after us; we only say how many of them are the
//! body's.

use std::ops::Range;

/// Bytes of one chunk's size line, extensions included. Real ones have two to eight.
const SIZE_LINE: usize = 256;

/// Where in a chunked body we are.
#[derive(Debug)]
pub(crate) struct Chunks {
    at: At,
    /// Bytes of the current size line or of all trailers, to bound them.
    used: usize,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In the digits: the value so far, and how many there were.
    Size(u64, u8),
    Extension(u64),
    SizeLf(u64),
    Data(u64),
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Done,
}

/// How far the body reaches in what was fed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fed {
    pub(crate) bytes: usize,
    pub(crate) is_done: bool,
}

/// The bytes are not a chunked body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Chunks {
    /// At the beginning of a body whose trailers may have so many bytes.
    pub(crate) fn new(trailer_bytes: usize) -> Chunks {
        Chunks { at: At::Size(0, 0), used: 0, trailer_bytes }
    }

    /// Goes on over `bytes`, up to the end of the body.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Fed, Malformed> {
        self.decode(bytes, |_| {})
    }

    /// The same; `data` is told where in `bytes` there is what the chunks carry.
    pub(crate) fn decode(&mut self, bytes: &[u8], mut data: impl FnMut(Range<usize>)) -> Result<Fed, Malformed> {
        let mut index = 0;
        while index < bytes.len() && self.at != At::Done {
            if let At::Data(left) = self.at {
                let taken = left.min((bytes.len() - index) as u64);
                data(index..index + taken as usize);
                index += taken as usize;
                self.at = if taken == left { At::DataCr } else { At::Data(left - taken) };
                continue;
            }
            self.at = self.step(bytes[index])?;
            index += 1;
        }
        Ok(Fed { bytes: index, is_done: self.at == At::Done })
    }

    fn step(&mut self, byte: u8) -> Result<At, Malformed> {
        self.used += 1;
        let limit = match self.at {
            At::Size(..) | At::Extension(_) => SIZE_LINE,
            _ => self.trailer_bytes.max(SIZE_LINE),
        };
        if self.used > limit {
            return Err(Malformed);
        }
        Ok(match (self.at, byte) {
            // Fifteen digits are 2^60 bytes: more is no size, and can never overflow here.
            (At::Size(size, digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if digits < 15 => {
                At::Size(size << 4 | u64::from((byte as char).to_digit(16).unwrap_or(0)), digits + 1)
            }
            (At::Size(size, 1..), b'\r') => At::SizeLf(size),
            (At::Size(size, 1..), b';') => At::Extension(size),
            (At::Extension(size), b'\r') => At::SizeLf(size),
            (At::Extension(size), b'\t' | b' '..=b'~' | 0x80..) => At::Extension(size),
            (At::SizeLf(0), b'\n') => self.fresh(At::TrailerStart),
            (At::SizeLf(size), b'\n') => At::Data(size),
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => self.fresh(At::Size(0, 0)),
            (At::TrailerStart, b'\r') => At::EndLf,
            (At::TrailerStart, b'!'..=b'~') => At::Trailer,
            (At::Trailer, b'\r') => At::TrailerLf,
            (At::Trailer, b'\t' | b' '..=b'~' | 0x80..) => At::Trailer,
            (At::TrailerLf, b'\n') => At::TrailerStart,
            (At::EndLf, b'\n') => At::Done,
            _ => return Err(Malformed),
        })
    }

    fn fresh(&mut self, at: At) -> At {
        self.used = 0;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds in pieces of the given size; the bytes up to the end, or `None` when it did not come.
    fn end(body: &[u8], piece: usize) -> Result<Option<usize>, Malformed> {
        let mut chunks = Chunks::new(100);
        let mut sum = 0;
        for part in body.chunks(piece) {
            let fed = chunks.feed(part)?;
            sum += fed.bytes;
            if fed.is_done {
                return Ok(Some(sum));
            }
        }
        Ok(None)
    }

    #[test]
    fn the_end_is_found_however_the_bytes_arrive() {
        let body = b"5\r\nhello\r\n1;a=\"b\"\r\n!\r\n0\r\nx: y\r\n\r\nGET / HTTP/1.1\r\n";
        let len = body.len() - 16;
        for piece in 1..body.len() {
            assert_eq!(end(body, piece), Ok(Some(len)), "{piece}");
        }
        assert_eq!(end(b"0\r\n\r\n", 9), Ok(Some(5)));
        assert_eq!(end(b"5\r\nhell", 9), Ok(None));
    }

    #[test]
    fn what_the_grammar_does_not_allow_is_malformed() {
        let long = [b"1;".to_vec(), vec![b'a'; 300]].concat();
        let trailers = [b"0\r\nx: ".to_vec(), vec![b'a'; 300]].concat();
        let bodies: [&[u8]; 14] = [
            b"\r\n",
            b"g\r\n",
            b"-1\r\n",
            b"+1\r\n",
            b"0x1\r\n",
            b" 1\r\n",
            b"1 \r\n",
            b"1\n",
            b"1\r\naXX",
            b"1\r\na\n",
            b"1000000000000000\r\n",
            b"0\r\n\n",
            &long,
            &trailers,
        ];
        for body in bodies {
            assert_eq!(end(body, 7), Err(Malformed), "{}", body.escape_ascii());
        }
    }
}
