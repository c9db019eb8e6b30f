//! The JSON generator: from an encoded tree to text.

use super::super::float;
use super::options::{Options, VALUES, too_deep, too_large};
use ruby_native::tree::{self, Reader, Token};
use ruby_native::{Context, Raise, raise};

/// Levels of nesting beyond which even a larger `max_nesting` is refused, to protect the stack. Twin: DEPTH_FARTHEST in
/// c/tree.c.
const DEPTH_MAX: usize = 4000;

/// The generator, its options and the text so far.
struct Writer<'c, 'd> {
    context: &'c mut Context<'d>,
    values: usize,
    out: Vec<u8>,
    indent: Vec<u8>,
    space: Vec<u8>,
    space_before: Vec<u8>,
    object_nl: Vec<u8>,
    array_nl: Vec<u8>,
    nesting_max: usize,
    allow_nan: bool,
    ascii_only: bool,
    script_safe: bool,
}

/// Generates the JSON text of an encoded tree.
pub fn write(tree: &[u8], options: &Options, context: &mut Context<'_>) -> Result<Vec<u8>, Raise> {
    let mut writer = Writer {
        context,
        values: 0,
        out: Vec::with_capacity(tree.len()),
        indent: options.text("indent"),
        space: options.text("space"),
        space_before: options.text("space_before"),
        object_nl: options.text("object_nl"),
        array_nl: options.text("array_nl"),
        nesting_max: options.nesting().min(DEPTH_MAX),
        allow_nan: options.is_on("allow_nan"),
        ascii_only: options.is_on("ascii_only"),
        script_safe: options.is_on("script_safe") || options.is_on("escape_slash"),
    };
    writer.value(&mut Reader::new(tree), options.depth())?;
    Ok(writer.out)
}

fn malformed(error: tree::Malformed) -> Raise {
    raise("RuntimeError", error.to_string())
}

impl Writer<'_, '_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn value(&mut self, reader: &mut Reader<'_>, depth: usize) -> Result<(), Raise> {
        if self.out.len() > self.context.memory_bytes {
            return Err(too_large());
        }
        self.values += 1;
        if self.values.is_multiple_of(VALUES) {
            self.context.tick()?;
        }
        match reader.token().map_err(malformed)? {
            Token::Nil => self.put(b"null"),
            Token::Bool(value) => self.put(if value { b"true" } else { b"false" }),
            Token::Int(number) => self.put(number.to_string().as_bytes()),
            Token::Float(number) if number.is_finite() || self.allow_nan => {
                self.put(float::print(number).as_bytes());
            }
            Token::Float(number) => {
                return Err(raise("JSON::GeneratorError", format!("{} not allowed in JSON", float::print(number))));
            }
            Token::Str(bytes) | Token::Bytes(bytes) | Token::Sym(bytes) => self.text(bytes)?,
            Token::Raw(bytes) => self.put(bytes),
            Token::Array(0) => self.put(b"[]"),
            Token::Hash(0) => self.put(b"{}"),
            Token::Array(count) => self.array(reader, count, depth + 1)?,
            Token::Hash(count) => self.object(reader, count, depth + 1)?,
        }
        Ok(())
    }

    fn check(&self, depth: usize) -> Result<(), Raise> {
        if depth > self.nesting_max { Err(too_deep(depth)) } else { Ok(()) }
    }

    fn indentation(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.extend_from_slice(&self.indent);
        }
    }

    fn array(&mut self, reader: &mut Reader<'_>, count: usize, depth: usize) -> Result<(), Raise> {
        self.check(depth)?;
        self.out.push(b'[');
        self.out.extend_from_slice(&self.array_nl);
        for index in 0..count {
            if index > 0 {
                self.out.push(b',');
                self.out.extend_from_slice(&self.array_nl);
            }
            self.indentation(depth);
            self.value(reader, depth)?;
        }
        if !self.array_nl.is_empty() {
            self.out.extend_from_slice(&self.array_nl);
            self.indentation(depth - 1);
        }
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, reader: &mut Reader<'_>, count: usize, depth: usize) -> Result<(), Raise> {
        self.check(depth)?;
        self.out.push(b'{');
        self.out.extend_from_slice(&self.object_nl);
        for index in 0..count {
            if index > 0 {
                self.out.push(b',');
                self.out.extend_from_slice(&self.object_nl);
            }
            self.indentation(depth);
            self.value(reader, depth)?;
            self.out.extend_from_slice(&self.space_before);
            self.out.push(b':');
            self.out.extend_from_slice(&self.space);
            self.value(reader, depth)?;
        }
        if !self.object_nl.is_empty() {
            self.out.extend_from_slice(&self.object_nl);
            self.indentation(depth - 1);
        }
        self.out.push(b'}');
        Ok(())
    }

    fn text(&mut self, bytes: &[u8]) -> Result<(), Raise> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(raise("JSON::GeneratorError", "source sequence is illegal/malformed utf-8"));
        };
        self.out.push(b'"');
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let plain = *byte >= b' ' && *byte != b'"' && *byte != b'\\';
            let plain = plain && !(*byte == b'/' && self.script_safe) && !(*byte >= 0x80 && self.is_careful());
            if !plain && at >= from {
                self.out.extend_from_slice(&bytes[from..at]);
                from = at + self.escaped(&text[at..]);
            }
        }
        self.out.extend_from_slice(&bytes[from..]);
        self.out.push(b'"');
        Ok(())
    }

    /// Whether characters beyond ASCII may have to be escaped.
    fn is_careful(&self) -> bool {
        self.ascii_only || self.script_safe
    }

    /// Writes the first character of a text, escaped where needed, and returns its length in bytes.
    fn escaped(&mut self, text: &str) -> usize {
        let Some(char) = text.chars().next() else { return 0 };
        match char {
            '"' => self.put(b"\\\""),
            '\\' => self.put(b"\\\\"),
            '/' => self.put(b"\\/"),
            '\n' => self.put(b"\\n"),
            '\r' => self.put(b"\\r"),
            '\t' => self.put(b"\\t"),
            '\x0c' => self.put(b"\\f"),
            '\x08' => self.put(b"\\b"),
            '\0'..' ' => self.put(format!("\\u{:04x}", u32::from(char)).as_bytes()),
            '\u{2028}' | '\u{2029}' => self.put(format!("\\u{:04x}", u32::from(char)).as_bytes()),
            _ if self.ascii_only => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    self.put(format!("\\u{unit:04x}").as_bytes());
                }
            }
            _ => self.put(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        char.len_utf8()
    }
}
