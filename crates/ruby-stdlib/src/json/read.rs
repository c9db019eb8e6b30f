//! The JSON parser: from text to an encoded tree.

use super::number;
use super::options::{Options, VALUES, too_deep, too_large};
use ruby_native::tree::{DEPTH_MAX, Tree};
use ruby_native::{Context, Raise, raise};

/// Bytes of the text that an error message shows.
const SHOWN: usize = 40;

struct Parser<'a, 'c, 'd> {
    context: &'c mut Context<'d>,
    values: usize,
    bytes: &'a [u8],
    at: usize,
    out: Vec<u8>,
    symbolize: bool,
    allow_nan: bool,
    /// Whether numbers with a fraction or an exponent stay texts, as bytes.
    decimals: bool,
    nesting_max: usize,
}

/// Parses a JSON text; a JSON::ParserError where something follows the value.
pub fn read(bytes: &[u8], options: &Options, context: &mut Context<'_>) -> Result<Vec<u8>, Raise> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut parser = Parser {
        context,
        values: 0,
        bytes,
        at: 0,
        out: Vec::with_capacity(bytes.len()),
        symbolize: options.is_on("symbolize_names"),
        allow_nan: options.is_on("allow_nan"),
        decimals: options.is_on("decimals"),
        // `fg_tree_decode` takes no deeper values.
        nesting_max: options.nesting().min(2 * DEPTH_MAX - 8),
    };
    parser.blanks()?;
    parser.value(0)?;
    parser.blanks()?;
    if parser.at < bytes.len() { Err(parser.unexpected()) } else { Ok(parser.out) }
}

impl Parser<'_, '_, '_> {
    fn unexpected(&self) -> Raise {
        self.found("unexpected token")
    }

    /// The error for the text at the current position.
    fn found(&self, what: &str) -> Raise {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let shown = String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]);
        raise("JSON::ParserError", format!("{what} at '{shown}'"))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Result<(), Raise> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<(), Raise> {
        let rest = &self.bytes[self.at..];
        let length = if rest.starts_with(b"//") {
            rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            let end = rest[2..].windows(2).position(|pair| pair == b"*/");
            end.ok_or_else(|| self.unexpected())? + 4
        } else {
            return Err(self.unexpected());
        };
        self.at += length;
        Ok(())
    }

    fn word(&mut self, word: &[u8], value: &Tree) -> Result<(), Raise> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        value.encode(&mut self.out);
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<(), Raise> {
        if self.out.len() > self.context.memory_bytes {
            return Err(too_large());
        }
        self.values += 1;
        if self.values.is_multiple_of(VALUES) {
            self.context.tick()?;
        }
        match self.peek() {
            Some(b'"') => self.text(b's'),
            Some(b'[') => self.items(b'a', b']', depth + 1, Self::value),
            Some(b'{') => self.items(b'h', b'}', depth + 1, Self::pair),
            Some(b'n') => self.word(b"null", &Tree::Nil),
            Some(b't') => self.word(b"true", &Tree::Bool(true)),
            Some(b'f') => self.word(b"false", &Tree::Bool(false)),
            Some(b'N') if self.allow_nan => self.word(b"NaN", &Tree::Float(f64::NAN)),
            Some(b'I') if self.allow_nan => self.word(b"Infinity", &Tree::Float(f64::INFINITY)),
            Some(b'-') if self.allow_nan && self.bytes[self.at..].starts_with(b"-I") => {
                self.word(b"-Infinity", &Tree::Float(f64::NEG_INFINITY))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected()),
        }
    }

    fn number(&mut self) -> Result<(), Raise> {
        let rest = &self.bytes[self.at..];
        let (length, is_float) = number::scan(rest).ok_or_else(|| self.unexpected())?;
        let text = std::str::from_utf8(&rest[..length]).map_err(|_| self.unexpected())?;
        let as_text = is_float && self.decimals;
        let value = if as_text { Tree::Bytes(text.into()) } else { number::value(text, is_float) };
        value.encode(&mut self.out);
        self.at += length;
        Ok(())
    }

    /// Begins an array or object. Returns the place of its length, which is not known yet.
    fn open(&mut self, tag: u8, depth: usize) -> Result<usize, Raise> {
        if depth > self.nesting_max {
            return Err(too_deep(depth));
        }
        self.at += 1;
        self.out.push(tag);
        self.out.extend_from_slice(&[0; 4]);
        Ok(self.out.len() - 4)
    }

    /// Whether another item follows, behind an item. `end` is the closing bracket, which is skipped.
    fn more(&mut self, end: u8) -> Result<bool, Raise> {
        self.blanks()?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.blanks()?;
                if self.peek() == Some(end) { Err(self.unexpected()) } else { Ok(true) }
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Parses an array or object; `item` parses one of its values or pairs.
    fn items<F>(&mut self, tag: u8, end: u8, depth: usize, item: F) -> Result<(), Raise>
    where
        F: Fn(&mut Self, usize) -> Result<(), Raise>,
    {
        let place = self.open(tag, depth)?;
        let mut count = 0u32;
        self.blanks()?;
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self, depth)?;
            count += 1;
            if !self.more(end)? {
                break;
            }
        }
        self.out[place..place + 4].copy_from_slice(&count.to_le_bytes());
        Ok(())
    }

    fn pair(&mut self, depth: usize) -> Result<(), Raise> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        self.text(if self.symbolize { b'y' } else { b's' })?;
        self.blanks()?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected());
        }
        self.at += 1;
        self.blanks()?;
        self.value(depth)
    }

    fn text(&mut self, tag: u8) -> Result<(), Raise> {
        let start = self.at;
        self.out.push(tag);
        self.out.extend_from_slice(&[0; 4]);
        let place = self.out.len();
        self.at += 1;
        loop {
            let rest = &self.bytes[self.at..];
            let plain = rest.iter().position(|byte| *byte == b'"' || *byte == b'\\' || *byte < b' ');
            let plain = plain.unwrap_or(rest.len());
            self.out.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape(start)?,
                _ => {
                    self.at = start;
                    return Err(self.unexpected());
                }
            }
        }
        self.at += 1;
        let length = u32::try_from(self.out.len() - place).map_err(|_| too_large())?;
        self.out[place - 4..place].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    fn escape(&mut self, start: usize) -> Result<(), Raise> {
        let letter = self.bytes.get(self.at + 1).copied();
        self.at += 2;
        let byte = match letter {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'u') => return self.unicode(start),
            // Any other character stands for itself, as in Ruby's own parser.
            Some(other) if other >= b' ' => other,
            _ => {
                self.at = start;
                return Err(self.unexpected());
            }
        };
        self.out.push(byte);
        Ok(())
    }

    fn unit(&self, at: usize) -> Option<u32> {
        let digits = self.bytes.get(at..at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    fn unicode(&mut self, start: usize) -> Result<(), Raise> {
        let Some(unit) = self.unit(self.at) else {
            self.at = start;
            return Err(self.unexpected());
        };
        self.at += 4;
        let mut code = unit;
        let second = self.bytes[self.at..].starts_with(b"\\u").then(|| self.unit(self.at + 2)).flatten();
        if let (0xd800..0xdc00, Some(low @ 0xdc00..=0xdfff)) = (unit, second) {
            self.at += 6;
            code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        }
        match char::from_u32(code) {
            Some(char) => self.out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            // Half of a pair is no character. Ruby's own library refuses only some, and makes broken text of others.
            None => {
                self.at -= 6;
                return Err(self.found("incomplete surrogate pair"));
            }
        }
        Ok(())
    }
}
