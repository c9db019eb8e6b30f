//! Ruby values as bytes: the encoding in which Arrays and Hashes cross the border. Its C twin, mruby-sys/c/tree.c,
//! describes the format.

use std::fmt;

/// Nesting up to which trees are decoded: DEPTH_MAX of c/tree.c, and room for what wraps its values.
pub const DEPTH_MAX: usize = 102;

/// A decoded Ruby value, without object identity.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// nil
    Nil,
    /// true and false
    Bool(bool),
    /// An Integer of 64 bits.
    Int(i64),
    /// A Float.
    Float(f64),
    /// A String of any bytes.
    Str(Vec<u8>),
    /// A Symbol.
    Sym(Vec<u8>),
    /// A String of bytes that are not read as UTF-8; from Ruby only with [`Tree::decode_marked`].
    Bytes(Vec<u8>),
    /// JSON text that is to stand as it is; on the way to Ruby, the digits of an Integer of any size.
    Raw(Vec<u8>),
    /// An Array.
    Array(Vec<Tree>),
    /// A Hash: pairs of key and value in insertion order.
    Hash(Vec<(Tree, Tree)>),
}

/// The error for bytes that are not an encoded tree.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value from the interpreter is malformed")
    }
}

/// The encoded tree of an integer.
pub fn integer(number: i64) -> Vec<u8> {
    let mut out = vec![b'i'];
    out.extend_from_slice(&number.to_le_bytes());
    out
}

/// The integer, if the bytes are the encoded tree of one.
pub fn as_integer(bytes: &[u8]) -> Option<i64> {
    match bytes.split_first() {
        Some((b'i', number)) => number.try_into().ok().map(i64::from_le_bytes),
        _ => None,
    }
}

impl Tree {
    /// Decodes a tree; an error where bytes follow it. Strings of bytes become [`Tree::Str`].
    pub fn decode(bytes: &[u8]) -> Result<Tree, Malformed> {
        Tree::decoded(bytes, false)
    }

    /// Decodes a tree; an error where bytes follow it. Strings of bytes become [`Tree::Bytes`].
    pub fn decode_marked(bytes: &[u8]) -> Result<Tree, Malformed> {
        Tree::decoded(bytes, true)
    }

    fn decoded(bytes: &[u8], marked: bool) -> Result<Tree, Malformed> {
        let mut reader = Reader(bytes);
        let tree = reader.tree(0, marked)?;
        if reader.0.is_empty() { Ok(tree) } else { Err(Malformed) }
    }

    /// The encoded tree.
    pub fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }

    /// Appends the encoded tree to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Tree::Nil => out.push(b'n'),
            Tree::Bool(false) => out.push(b'f'),
            Tree::Bool(true) => out.push(b't'),
            Tree::Int(number) => out.extend_from_slice(&integer(*number)),
            Tree::Float(number) => {
                out.push(b'd');
                out.extend_from_slice(&number.to_le_bytes());
            }
            Tree::Str(bytes) => counted(out, b's', bytes),
            Tree::Sym(bytes) => counted(out, b'y', bytes),
            Tree::Raw(bytes) => counted(out, b'r', bytes),
            Tree::Bytes(bytes) => counted(out, b'b', bytes),
            Tree::Array(items) => {
                count(out, b'a', items.len());
                items.iter().for_each(|item| item.encode(out));
            }
            Tree::Hash(pairs) => {
                count(out, b'h', pairs.len());
                for (key, value) in pairs {
                    key.encode(out);
                    value.encode(out);
                }
            }
        }
    }
}

/// Appends the tag of an Array, Hash or text and the number of its parts, which the caller appends.
pub fn count(out: &mut Vec<u8>, tag: u8, number: usize) {
    out.push(tag);
    // What comes from Ruby or JSON is bounded by the interpreter's memory, far below 4 GiB.
    out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

/// Appends a tag, the length of `bytes` and the bytes.
pub fn counted(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    count(out, tag, bytes.len());
    out.extend_from_slice(bytes);
}

/// One token of an encoded tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'a> {
    /// nil
    Nil,
    /// true and false
    Bool(bool),
    /// Integer
    Int(i64),
    /// Float
    Float(f64),
    /// String
    Str(&'a [u8]),
    /// String of bytes
    Bytes(&'a [u8]),
    /// Symbol
    Sym(&'a [u8]),
    /// See [`Tree::Raw`].
    Raw(&'a [u8]),
    /// An Array: this many trees follow.
    Array(usize),
    /// A Hash: this many pairs of trees follow.
    Hash(usize),
}

/// Reads an encoded tree token by token, without allocating.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// A reader at the beginning of an encoded tree.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// Reads the next token.
    pub fn token(&mut self) -> Result<Token<'a>, Malformed> {
        Ok(match self.take(1)?[0] {
            b'n' => Token::Nil,
            b'f' => Token::Bool(false),
            b't' => Token::Bool(true),
            b'i' => Token::Int(i64::from_le_bytes(self.word()?)),
            b'd' => Token::Float(f64::from_le_bytes(self.word()?)),
            b's' => Token::Str(self.text()?),
            b'b' => Token::Bytes(self.text()?),
            b'y' => Token::Sym(self.text()?),
            b'r' => Token::Raw(self.text()?),
            b'a' => Token::Array(self.count()?),
            b'h' => Token::Hash(self.count()?),
            _ => return Err(Malformed),
        })
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<[u8; 8], Malformed> {
        self.take(8)?.try_into().map_err(|_| Malformed)
    }

    fn count(&mut self) -> Result<usize, Malformed> {
        let bytes: [u8; 4] = self.take(4)?.try_into().map_err(|_| Malformed)?;
        Ok(u32::from_le_bytes(bytes) as usize)
    }

    fn text(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.count()?;
        self.take(length)
    }

    fn tree(&mut self, depth: usize, marked: bool) -> Result<Tree, Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed);
        }
        Ok(match self.token()? {
            Token::Nil => Tree::Nil,
            Token::Bool(value) => Tree::Bool(value),
            Token::Int(number) => Tree::Int(number),
            Token::Float(number) => Tree::Float(number),
            Token::Bytes(text) if marked => Tree::Bytes(text.to_vec()),
            Token::Str(text) | Token::Bytes(text) => Tree::Str(text.to_vec()),
            Token::Sym(text) => Tree::Sym(text.to_vec()),
            Token::Raw(text) => Tree::Raw(text.to_vec()),
            Token::Array(count) => {
                // No capacity from the count: it could promise more than there is.
                let mut items = Vec::new();
                for _ in 0..count {
                    items.push(self.tree(depth + 1, marked)?);
                }
                Tree::Array(items)
            }
            Token::Hash(count) => {
                let mut pairs = Vec::new();
                for _ in 0..count {
                    let key = self.tree(depth + 1, marked)?;
                    pairs.push((key, self.tree(depth + 1, marked)?));
                }
                Tree::Hash(pairs)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tree {
        let pairs = vec![
            (Tree::Str(b"k".to_vec()), Tree::Array(vec![Tree::Int(-1), Tree::Float(0.5), Tree::Nil])),
            (Tree::Sym(b"s".to_vec()), Tree::Bool(true)),
            (Tree::Int(0), Tree::Raw(b"123".to_vec())),
        ];
        Tree::Hash(pairs)
    }

    #[test]
    fn a_tree_comes_back_as_it_went() {
        assert_eq!(Tree::decode(&sample().encoded()), Ok(sample()));
    }

    #[test]
    fn every_cut_and_every_extra_byte_is_noticed() {
        let mut bytes = sample().encoded();
        for end in 0..bytes.len() {
            assert_eq!(Tree::decode(&bytes[..end]), Err(Malformed));
        }
        bytes.push(b'n');
        assert_eq!(Tree::decode(&bytes), Err(Malformed));
    }

    #[test]
    fn counts_that_lie_and_circles_without_end_are_refused() {
        assert_eq!(Tree::decode(b"a\xff\xff\xff\xff"), Err(Malformed));
        assert_eq!(Tree::decode(b"s\xff\xff\xff\xffabc"), Err(Malformed));
        let deep = b"a\x01\0\0\0".repeat(1000);
        assert_eq!(Tree::decode(&deep), Err(Malformed));
    }
}
