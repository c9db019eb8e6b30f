//! String#unpack: from bytes to values, one directive after the other.

use super::directive::{ByteOrder, Count, IntegerForm, PackDirective};
use super::text;
use ruby_native::{Raise, Tree, raise};

/// The bytes, the position in them, and the values found.
pub struct Unpacker<'a> {
    bytes: &'a [u8],
    at: usize,
    first: bool,
    most: usize,
    /// The values found so far.
    pub found: Vec<Tree>,
}

impl<'a> Unpacker<'a> {
    /// An unpacker at the first byte; `first` if only one value is wanted, as by String#unpack1.
    pub fn new(bytes: &'a [u8], first: bool, bytes_max: usize) -> Unpacker<'a> {
        // A value takes some 32 bytes here.
        Unpacker { bytes, at: 0, first, most: bytes_max / 32, found: Vec::new() }
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at.min(self.bytes.len())..]
    }

    fn push(&mut self, value: Tree) -> Result<(), Raise> {
        if self.found.len() >= self.most {
            return Err(raise("NoMemoryError", "more values than the interpreter's memory holds"));
        }
        self.found.push(value);
        Ok(())
    }

    /// Reads the values of one directive.
    pub fn take(&mut self, directive: PackDirective) -> Result<(), Raise> {
        if let Some(form) = directive.integer() {
            return self.repeat(directive.count, form.size, |bytes| integer(bytes, form));
        }
        if let Some((size, order)) = directive.float() {
            return self.repeat(directive.count, size, |bytes| float(bytes, order));
        }
        let count = directive.count;
        match directive.letter {
            b'U' => self.characters(count),
            b'w' => self.compressed(count),
            b'x' => {
                let by = count.or(self.rest().len());
                self.go(self.at.checked_add(by).filter(|at| *at <= self.bytes.len()), "x")
            }
            b'X' => self.go(self.at.checked_sub(count.or(0)), "X"),
            b'@' => self.go(Some(count.or(0)).filter(|at| *at <= self.bytes.len()), "@"),
            letter => self.string(letter, count),
        }
    }

    fn go(&mut self, at: Option<usize>, letter: &str) -> Result<(), Raise> {
        self.at = at.ok_or_else(|| raise("ArgumentError", format!("{letter} outside of string")))?;
        Ok(())
    }

    fn repeat(&mut self, count: Count, size: usize, make: impl Fn(&[u8]) -> Tree) -> Result<(), Raise> {
        let wanted = count.or(self.rest().len() / size);
        for _ in 0..wanted {
            if self.first && !self.found.is_empty() {
                return Ok(());
            }
            let Some(part) = self.rest().get(..size) else {
                // Missing values are nil, one for each count.
                self.push(Tree::Nil)?;
                continue;
            };
            self.push(make(part))?;
            self.at += size;
        }
        Ok(())
    }

    fn characters(&mut self, count: Count) -> Result<(), Raise> {
        let mut left = count.or(usize::MAX);
        while left > 0 && !self.rest().is_empty() {
            let rest = self.rest();
            let length = [1, 2, 3, 4]
                .into_iter()
                .find(|length| rest.get(..*length).is_some_and(|part| std::str::from_utf8(part).is_ok()));
            let part = length.and_then(|length| std::str::from_utf8(&rest[..length]).ok());
            let Some(char) = part.and_then(|part| part.chars().next()) else {
                return Err(raise("ArgumentError", "malformed UTF-8 character"));
            };
            self.at += char.len_utf8();
            self.push(Tree::Int(i64::from(u32::from(char))))?;
            left -= 1;
        }
        Ok(())
    }

    fn compressed(&mut self, count: Count) -> Result<(), Raise> {
        let mut left = count.or(usize::MAX);
        let mut number: u128 = 0;
        while left > 0 && !self.rest().is_empty() {
            let byte = self.rest()[0];
            self.at += 1;
            number = number << 7 | u128::from(byte & 0x7f);
            if number > u128::from(u64::MAX) {
                return Err(raise("RangeError", "a compressed Integer of more than 64 bits"));
            }
            if byte & 0x80 == 0 {
                self.push(whole(number as i128))?;
                number = 0;
                left -= 1;
            }
        }
        Ok(())
    }

    fn string(&mut self, letter: u8, count: Count) -> Result<(), Raise> {
        let rest = self.rest();
        let (value, used) = match letter {
            b'B' | b'b' => {
                let digits = text::from_bits(rest, count, letter == b'B');
                let used = digits.len().div_ceil(8);
                (Tree::Str(digits), used)
            }
            b'H' | b'h' => {
                let digits = text::from_nibbles(rest, count, letter == b'H');
                let used = digits.len().div_ceil(2);
                (Tree::Str(digits), used)
            }
            b'm' if count == Count::Number(0) => (Tree::Bytes(text::from_strict_base64(rest)?), rest.len()),
            b'm' => (Tree::Bytes(text::from_base64(rest)), rest.len()),
            b'M' => (Tree::Bytes(text::from_quoted(rest)), rest.len()),
            b'u' => (Tree::Bytes(text::from_uuencoded(rest)), rest.len()),
            _ => plain(rest, letter, count),
        };
        self.at += used;
        self.push(value)
    }
}

/// The String of `a` (as it is), `A` (without trailing blanks and NULs) or `Z` (up to the first NUL), and the bytes
/// that it takes.
fn plain(rest: &[u8], letter: u8, count: Count) -> (Tree, usize) {
    let taken = &rest[..count.or(rest.len()).min(rest.len())];
    let zero = taken.iter().position(|byte| *byte == 0);
    match (letter, zero) {
        (b'A', _) => {
            let end = taken.iter().rposition(|byte| *byte != b' ' && *byte != 0).map_or(0, |last| last + 1);
            (Tree::Bytes(taken[..end].to_vec()), taken.len())
        }
        (b'Z', Some(zero)) if count == Count::Star => (Tree::Bytes(taken[..zero].to_vec()), zero + 1),
        (b'Z', Some(zero)) => (Tree::Bytes(taken[..zero].to_vec()), taken.len()),
        _ => (Tree::Bytes(taken.to_vec()), taken.len()),
    }
}

fn whole(number: i128) -> Tree {
    i64::try_from(number).map_or_else(|_| Tree::Raw(number.to_string().into_bytes()), Tree::Int)
}

/// The unsigned number of up to eight bytes in this order.
fn number(bytes: &[u8], order: ByteOrder) -> u64 {
    let mut little = [0; 8];
    for (at, byte) in bytes.iter().enumerate() {
        let place = match order {
            ByteOrder::Little => at,
            ByteOrder::Big => bytes.len() - 1 - at,
        };
        little[place] = *byte;
    }
    u64::from_le_bytes(little)
}

fn integer(bytes: &[u8], form: IntegerForm) -> Tree {
    let number = number(bytes, form.order);
    let unused = 64 - 8 * bytes.len() as u32;
    if form.is_signed { Tree::Int((number << unused) as i64 >> unused) } else { whole(i128::from(number)) }
}

fn float(bytes: &[u8], order: ByteOrder) -> Tree {
    let number = number(bytes, order);
    Tree::Float(if bytes.len() == 4 { f64::from(f32::from_bits(number as u32)) } else { f64::from_bits(number) })
}
