//! Integer directives of a format (`%d`, `%x`, `%o`, `%b`), for Integers of any size.

use super::directive::Directive;
use super::pad::{pad_number, sign};
use ruby_native::{Raise, Tree, raise};

/// Most digits of a number; conversion to another base takes quadratic time.
const DIGITS_MAX: usize = 20_000;

/// An Integer: its sign, and its magnitude in parts of 32 bits, the lowest first.
pub struct Integer {
    negative: bool,
    parts: Vec<u32>,
}

/// The Integer that a value is converted to; TypeError or ArgumentError for others, as from Kernel#Integer.
pub fn of(value: &Tree) -> Result<Integer, Raise> {
    match value {
        Tree::Int(number) => Ok(from(&number.to_string())),
        Tree::Raw(digits) if digits.len() <= DIGITS_MAX => Ok(from(&String::from_utf8_lossy(digits))),
        Tree::Raw(_) => Err(raise("ArgumentError", "the number is too large to be laid out")),
        Tree::Float(number) if !number.is_finite() => {
            Err(raise("FloatDomainError", super::plain_float::print(*number)))
        }
        Tree::Float(number) => Ok(from(&format!("{:.0}", number.trunc()))),
        Tree::Str(text) | Tree::Bytes(text) => parsed(&String::from_utf8_lossy(text)),
        Tree::Nil => Err(raise("TypeError", "can't convert nil into Integer")),
        Tree::Bool(value) => Err(raise("TypeError", format!("can't convert {value} into Integer"))),
        _ => Err(raise("TypeError", "can't convert this into Integer")),
    }
}

/// Parses a text as Kernel#Integer does.
fn parsed(text: &str) -> Result<Integer, Raise> {
    let wrong = || raise("ArgumentError", format!("invalid value for Integer(): {text:?}"));
    let trimmed = text.trim();
    let (minus, digits) = match trimmed.strip_prefix(['-', '+']) {
        Some(digits) => (trimmed.starts_with('-'), digits),
        None => (false, trimmed),
    };
    let lower = digits.to_ascii_lowercase();
    let bases = [("0x", 16), ("0b", 2), ("0o", 8), ("0d", 10)];
    let (base, digits) = match bases.iter().find(|(prefix, _)| lower.starts_with(prefix)) {
        Some((prefix, base)) => (*base, &lower[prefix.len()..]),
        None if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        None => (10, lower.as_str()),
    };
    let plain = digits.replace('_', "");
    let ends = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    if plain.is_empty() || ends || plain.len() > DIGITS_MAX || !plain.chars().all(|digit| digit.is_digit(base)) {
        return Err(wrong());
    }
    let mut number = Integer { negative: minus, parts: Vec::new() };
    plain.chars().for_each(|digit| number.push(base, digit.to_digit(base).unwrap_or(0)));
    Ok(number)
}

fn from(digits: &str) -> Integer {
    let plain = digits.trim_start_matches('-');
    let mut number = Integer { negative: digits.starts_with('-') && plain != "0", parts: Vec::new() };
    for chunk in plain.as_bytes().chunks(9) {
        let text = String::from_utf8_lossy(chunk);
        number.push(10u32.pow(chunk.len() as u32), text.parse().unwrap_or(0));
    }
    number
}

impl Integer {
    /// Multiplies the magnitude by `base` and adds `digit`.
    fn push(&mut self, base: u32, digit: u32) {
        let mut carry = u64::from(digit);
        for part in &mut self.parts {
            carry += u64::from(*part) * u64::from(base);
            *part = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.parts.push(carry as u32);
        }
    }

    fn decimal(&self) -> String {
        let mut parts = self.parts.clone();
        let mut groups = Vec::new();
        while !parts.is_empty() {
            let mut rest = 0u64;
            for part in parts.iter_mut().rev() {
                rest = rest << 32 | u64::from(*part);
                *part = (rest / 1_000_000_000) as u32;
                rest %= 1_000_000_000;
            }
            while parts.last() == Some(&0) {
                parts.pop();
            }
            groups.push(rest);
        }
        let Some(first) = groups.pop() else { return "0".into() };
        groups.iter().rev().fold(first.to_string(), |text, group| format!("{text}{group:09}"))
    }

    /// Digits of `bits` bits each. With `complement` those of the two's complement, beginning with the digit that
    /// repeats for ever.
    fn binary(&self, bits: usize, complement: bool) -> String {
        let total = self.parts.len() * 32;
        let mut carry = 1u64;
        let parts: Vec<u32> = self
            .parts
            .iter()
            .map(|part| {
                if !complement {
                    return *part;
                }
                carry += u64::from(!part);
                let low = carry as u32;
                carry >>= 32;
                low
            })
            .collect();
        let bit = |at: usize| match parts.get(at / 32) {
            Some(part) => part >> (at % 32) & 1,
            None => u32::from(complement),
        };
        let digit = |place: usize| (0..bits).fold(0, |sum, at| sum | bit(place * bits + at) << at);
        let count = total / bits + 1;
        let digits: String = (0..count).rev().filter_map(|place| char::from_digit(digit(place), 16)).collect();
        let all = if complement { char::from_digit((1 << bits) - 1, 16).unwrap_or('1') } else { '0' };
        let plain = digits.trim_start_matches(all);
        match (complement, plain.is_empty()) {
            (false, true) => "0".into(),
            (false, false) => plain.into(),
            (true, _) => format!("{all}{plain}"),
        }
    }
}

/// Appends a number as a directive says.
pub fn put(out: &mut Vec<u8>, directive: &Directive<'_>, number: &Integer) {
    let bits = match directive.letter {
        b'x' | b'X' => 4,
        b'o' => 3,
        b'b' | b'B' => 1,
        _ => 0,
    };
    let signed = bits == 0 || directive.plus || directive.space;
    let complement = number.negative && !signed;
    let mut digits = if bits == 0 { number.decimal() } else { number.binary(bits, complement) };
    let is_zero = digits == "0";
    let zero_octal = is_zero && bits == 3 && directive.other;
    let prefix = match directive.letter {
        b'x' => "0x",
        b'X' => "0X",
        b'o' => "0",
        b'b' => "0b",
        b'B' => "0B",
        _ => "",
    };
    let prefix = if directive.other && !is_zero && !(complement && bits == 3) { prefix } else { "" };
    let mut before = format!("{}{prefix}", sign(directive, number.negative && signed));
    let fill = digits.chars().next().filter(|_| complement);
    if let Some(fill) = fill {
        // A digit that goes on for ever fills what room there is; without any it is shown by dots.
        let wanted = directive.precision.or((directive.zero && !directive.left).then_some(()).and(directive.width));
        let room =
            wanted.map(|wanted| wanted.saturating_sub(if directive.precision.is_some() { 0 } else { before.len() }));
        match room.filter(|room| *room > digits.len() + 2 || directive.precision.is_some()) {
            Some(room) if directive.precision.is_some() => {
                let missing = room.saturating_sub(digits.len());
                digits.insert_str(0, &fill.to_string().repeat(missing));
            }
            Some(room) => {
                let missing = room - digits.len() - 2;
                digits.insert_str(0, &fill.to_string().repeat(missing));
                before.push_str("..");
            }
            None => before.push_str(".."),
        }
    } else if let Some(least) = directive.precision {
        let missing = least.saturating_sub(digits.len());
        digits.insert_str(0, &"0".repeat(missing));
        // With a precision of 0, zero has no digits, except in `%#o`.
        if least == 0 && is_zero && !zero_octal {
            digits.clear();
        }
    }
    if directive.letter == b'X' {
        digits.make_ascii_uppercase();
    }
    pad_number(out, directive, &before, &digits, directive.precision.is_none() && !complement);
}
