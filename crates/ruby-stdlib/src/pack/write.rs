//! Array#pack: from values to bytes, one directive after the other.

use super::directive::{ByteOrder, Count, PackDirective};
use super::text;
use ruby_native::{Arg, Raise, Tree, raise};

/// 2 to the power of 64. The remainder of a division by it has the lowest 64 bits.
const WRAP: f64 = (1u128 << 64) as f64;

/// The lowest 64 bits of an Integer in decimal digits.
fn low_bits(digits: &[u8]) -> u64 {
    let positive = digits.strip_prefix(b"-").unwrap_or(digits);
    let low = positive.iter().fold(0u64, |low, digit| low.wrapping_mul(10).wrapping_add(u64::from(digit & 15)));
    if positive.len() < digits.len() { low.wrapping_neg() } else { low }
}

/// The bytes packed so far, and the values left.
pub struct Packer {
    /// The bytes packed so far.
    pub out: Vec<u8>,
    values: std::vec::IntoIter<Tree>,
    bytes_max: usize,
}

impl Packer {
    /// A packer of the values of an Array.
    pub fn new(values: Arg<'_>, bytes_max: usize) -> Result<Packer, Raise> {
        match Tree::decode(&values.tree()) {
            Ok(Tree::Array(values)) => Ok(Packer { out: Vec::new(), values: values.into_iter(), bytes_max }),
            _ => Err(raise("TypeError", "pack needs an Array of Integers, Floats and Strings")),
        }
    }

    /// Writes the values of one directive.
    pub fn put(&mut self, directive: PackDirective) -> Result<(), Raise> {
        let left = self.values.len();
        if let Some(form) = directive.integer() {
            return self.repeat(directive.count.or(left), |packer| {
                let number = packer.low_bits()?;
                packer.number(&number.to_le_bytes()[..form.size], form.order);
                Ok(())
            });
        }
        if let Some((size, order)) = directive.float() {
            return self.repeat(directive.count.or(left), |packer| {
                let number = packer.float()?;
                let (single, double) = ((number as f32).to_le_bytes(), number.to_le_bytes());
                packer.number(if size == 4 { &single } else { &double }, order);
                Ok(())
            });
        }
        match directive.letter {
            b'U' => self.repeat(directive.count.or(left), Packer::character),
            b'w' => self.repeat(directive.count.or(left), Packer::compressed),
            b'x' => self.zeros(directive.count.or(0)),
            b'X' => {
                let back = directive.count.or(0);
                let kept =
                    self.out.len().checked_sub(back).ok_or_else(|| raise("ArgumentError", "X outside of string"))?;
                self.out.truncate(kept);
                Ok(())
            }
            b'@' => {
                let wanted = directive.count.or(0);
                let missing = wanted.saturating_sub(self.out.len());
                self.out.truncate(wanted);
                self.zeros(missing)
            }
            _ => self.string(directive),
        }
    }

    fn repeat(&mut self, times: usize, one: impl Fn(&mut Packer) -> Result<(), Raise>) -> Result<(), Raise> {
        (0..times).try_for_each(|_| one(self))
    }

    fn next(&mut self) -> Result<Tree, Raise> {
        self.values.next().ok_or_else(|| raise("ArgumentError", "too few arguments"))
    }

    /// The lowest 64 bits of the next value: as in CRuby, it may be an Integer of any size.
    fn low_bits(&mut self) -> Result<u64, Raise> {
        let low = match self.values.as_slice() {
            [Tree::Raw(digits), ..] => low_bits(digits),
            [Tree::Float(number), ..] if number.is_finite() => (number % WRAP) as i128 as u64,
            _ => return self.integer(),
        };
        self.values.next();
        Ok(low)
    }

    fn integer(&mut self) -> Result<u64, Raise> {
        let wrong = |what: &str| raise("TypeError", format!("no implicit conversion of {what} into Integer"));
        match self.next()? {
            Tree::Int(number) => Ok(number as u64),
            Tree::Float(number) if number.is_finite() => Ok(number as i64 as u64),
            Tree::Raw(digits) => {
                let number: Option<i128> = std::str::from_utf8(&digits).ok().and_then(|digits| digits.parse().ok());
                let number = number.filter(|number| (-(1i128 << 64) < *number) && *number < (1i128 << 64));
                number
                    .map(|number| number as u64)
                    .ok_or_else(|| raise("RangeError", "bignum too big to convert into 'unsigned long'"))
            }
            Tree::Float(_) => Err(raise("FloatDomainError", "not a number that an Integer can be")),
            Tree::Nil => Err(wrong("nil")),
            Tree::Bool(_) => Err(wrong("a boolean")),
            Tree::Str(_) => Err(wrong("String")),
            _ => Err(wrong("this")),
        }
    }

    fn float(&mut self) -> Result<f64, Raise> {
        match self.next()? {
            Tree::Int(number) => Ok(number as f64),
            Tree::Float(number) => Ok(number),
            Tree::Nil => Err(raise("TypeError", "can't convert nil into Float")),
            _ => Err(raise("TypeError", "can't convert this into Float")),
        }
    }

    fn number(&mut self, little: &[u8], order: ByteOrder) {
        match order {
            ByteOrder::Little => self.out.extend_from_slice(little),
            ByteOrder::Big => self.out.extend(little.iter().rev()),
        }
    }

    fn character(&mut self) -> Result<(), Raise> {
        let number = self.integer()?;
        let char = u32::try_from(number).ok().and_then(char::from_u32);
        let char = char.ok_or_else(|| raise("RangeError", "pack(U): value out of range"))?;
        self.out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// `w`: a BER-compressed integer of seven bits a byte, the highest first, with bit 7 set in all bytes but the last.
    fn compressed(&mut self) -> Result<(), Raise> {
        let number = self.integer()?;
        if (number as i64) < 0 {
            return Err(raise("ArgumentError", "can't compress negative numbers"));
        }
        let bits = 64 - number.leading_zeros();
        for part in (0..bits.div_ceil(7).max(1)).rev() {
            let mark = if part == 0 { 0 } else { 0x80 };
            self.out.push((number >> (7 * part)) as u8 & 0x7f | mark);
        }
        Ok(())
    }

    fn zeros(&mut self, count: usize) -> Result<(), Raise> {
        if self.out.len() + count > self.bytes_max {
            return Err(raise("NoMemoryError", "more than the interpreter's memory holds"));
        }
        self.out.resize(self.out.len() + count, 0);
        Ok(())
    }

    fn string(&mut self, directive: PackDirective) -> Result<(), Raise> {
        let value = match self.next()? {
            Tree::Str(bytes) => bytes,
            // For a, A and Z, CRuby takes nil for an empty String.
            Tree::Nil if b"aAZ".contains(&directive.letter) => Vec::new(),
            Tree::Nil => return Err(raise("TypeError", "no implicit conversion of nil into String")),
            Tree::Int(number) if directive.letter == b'M' => number.to_string().into_bytes(),
            _ => return Err(raise("TypeError", "no implicit conversion of this into String")),
        };
        let letter = directive.letter;
        let count = directive.count;
        match letter {
            b'm' => text::base64(&mut self.out, &value, count),
            b'M' => text::quoted(&mut self.out, &value, count),
            b'u' => text::uuencoded(&mut self.out, &value, count),
            b'B' | b'b' => text::bits(&mut self.out, &value, count, letter == b'B'),
            b'H' | b'h' => text::nibbles(&mut self.out, &value, count, letter == b'H'),
            _ => {
                let wanted = match count {
                    Count::Star if letter == b'Z' => value.len() + 1,
                    count => count.or(value.len()),
                };
                let kept = wanted.min(value.len());
                self.out.extend_from_slice(&value[..kept]);
                let end = self.out.len();
                self.zeros(wanted - kept)?;
                if letter == b'A' {
                    self.out[end..].fill(b' ');
                }
            }
        }
        Ok(())
    }
}
