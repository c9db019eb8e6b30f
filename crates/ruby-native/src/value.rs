//! Values on their way between Ruby and Rust: the arguments of native functions, their results, and exceptions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::tree::Tree;

/// The most arguments of a native function, its receiver included.
pub const ARGUMENTS_MAX: usize = 13;

/// An argument from Ruby.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg<'a> {
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
    /// String of bytes, which are not read as UTF-8
    Bytes(&'a [u8]),
    /// Symbol
    Sym(&'a [u8]),
    /// Array, Hash and, where [`Native::json`](crate::Native::json) is set, any object, as an encoded tree: see
    /// `tree.rs`.
    Tree(&'a [u8]),
    /// The number of a held value: see `handles.rs`.
    Handle(u64),
}

/// A result for Ruby.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// nil
    Nil,
    /// true and false
    Bool(bool),
    /// Integer
    Int(i64),
    /// Float
    Float(f64),
    /// String
    Str(Vec<u8>),
    /// A String of bytes (ASCII-8BIT), even where the bytes are valid UTF-8.
    Bytes(Vec<u8>),
    /// A FoolsGold::Handle for a held value: its number, and the bytes that count towards the interpreter's memory
    /// limit.
    Handle(u64, usize),
    /// An Array or Hash as an encoded tree.
    Tree(Vec<u8>),
}

/// An exception to be raised in Ruby.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raise {
    /// Full name of its class, such as `Errno::ENOENT`.
    pub class: &'static str,
    /// The message of the exception.
    pub message: String,
}

/// The result of a native function, or the exception to raise.
pub type Outcome = Result<Value, Raise>;

/// An exception of this class and message.
pub fn raise(class: &'static str, message: impl Into<String>) -> Raise {
    Raise { class, message: message.into() }
}

impl<'a> Arg<'a> {
    /// The bytes of a String or Symbol; a TypeError for others.
    pub fn bytes(self) -> Result<&'a [u8], Raise> {
        match self {
            Arg::Str(bytes) | Arg::Bytes(bytes) | Arg::Sym(bytes) => Ok(bytes),
            other => Err(raise("TypeError", format!("no implicit conversion of {} into String", other.kind()))),
        }
    }

    /// The text of a String or Symbol, with U+FFFD for invalid UTF-8; a TypeError for others.
    pub fn text(self) -> Result<std::borrow::Cow<'a, str>, Raise> {
        self.bytes().map(String::from_utf8_lossy)
    }

    /// A String as a path; an ArgumentError where it has a NUL byte.
    pub fn path(self) -> Result<&'a Path, Raise> {
        let bytes = self.bytes()?;
        if bytes.contains(&0) {
            return Err(raise("ArgumentError", "path name contains null byte"));
        }
        Ok(Path::new(OsStr::from_bytes(bytes)))
    }

    /// An Integer, or a Float rounded towards zero; a TypeError for others.
    pub fn int(self) -> Result<i64, Raise> {
        match self {
            Arg::Int(number) => Ok(number),
            Arg::Float(number) => Ok(number as i64),
            Arg::Nil => Err(raise("TypeError", "no implicit conversion from nil to integer")),
            Arg::Tree([b'r', ..]) => Err(too_big()),
            other => Err(raise("TypeError", format!("no implicit conversion of {} into Integer", other.kind()))),
        }
    }

    /// The number of a held value; an IOError for nil, a TypeError for others.
    pub fn handle(self) -> Result<u64, Raise> {
        match self {
            Arg::Handle(number) => Ok(number),
            Arg::Nil => Err(raise("IOError", "closed stream")),
            other => Err(raise("TypeError", format!("expected a handle, got {}", other.kind()))),
        }
    }

    /// An Integer or Float as a float; a TypeError for others.
    pub fn number(self) -> Result<f64, Raise> {
        match self {
            Arg::Int(number) => Ok(number as f64),
            Arg::Float(number) => Ok(number),
            Arg::Tree([b'r', ..]) => Err(too_big()),
            other => Err(raise("TypeError", format!("can't convert {} into Float", other.kind()))),
        }
    }

    /// The argument as an encoded tree.
    pub fn tree(self) -> Vec<u8> {
        let tree = match self {
            Arg::Nil | Arg::Handle(_) => Tree::Nil,
            Arg::Bool(value) => Tree::Bool(value),
            Arg::Int(number) => Tree::Int(number),
            Arg::Float(number) => Tree::Float(number),
            Arg::Str(bytes) => Tree::Str(bytes.to_vec()),
            Arg::Bytes(bytes) => Tree::Bytes(bytes.to_vec()),
            Arg::Sym(bytes) => Tree::Sym(bytes.to_vec()),
            Arg::Tree(bytes) => return bytes.to_vec(),
        };
        tree.encoded()
    }

    /// Bytes of a text or tree; 0 for others.
    pub fn size(self) -> usize {
        match self {
            Arg::Str(bytes) | Arg::Bytes(bytes) | Arg::Sym(bytes) | Arg::Tree(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Whether Ruby takes the argument for true: it is neither nil nor false.
    pub fn truthy(self) -> bool {
        !matches!(self, Arg::Nil | Arg::Bool(false))
    }

    fn kind(self) -> &'static str {
        match self {
            Arg::Nil => "nil",
            Arg::Bool(true) => "true",
            Arg::Bool(false) => "false",
            Arg::Int(_) => "Integer",
            Arg::Float(_) => "Float",
            Arg::Str(_) | Arg::Bytes(_) => "String",
            Arg::Sym(_) => "Symbol",
            Arg::Handle(_) => "FoolsGold::Handle",
            Arg::Tree([b'h', ..]) => "Hash",
            // An Integer beyond 64 bits: its text.
            Arg::Tree([b'r', ..]) => "Integer",
            Arg::Tree(_) => "Array",
        }
    }
}

/// The error for an Integer that has more than 64 bits, where one of them is wanted.
fn too_big() -> Raise {
    raise("RangeError", "bignum too big to convert into 'long'")
}

/// The argument at a place; nil where there is none, as in Ruby's optional parameters.
pub fn arg<'a>(args: &[Arg<'a>], at: usize) -> Arg<'a> {
    args.get(at).copied().unwrap_or(Arg::Nil)
}
