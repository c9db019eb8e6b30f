//! The directives of a format of Array#pack and String#unpack.

use ruby_native::{Raise, raise};

/// The count behind a directive: none, a number, or `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    None,
    Number(usize),
    Star,
}

impl Count {
    /// The count as a number; `all` is that of `*`, and 1 that of no count.
    pub fn or(self, all: usize) -> usize {
        match self {
            Count::None => 1,
            Count::Number(number) => number,
            Count::Star => all,
        }
    }
}

/// A directive of a format: its letter, modifiers and count.
#[derive(Debug, Clone, Copy)]
pub struct PackDirective {
    pub letter: u8,
    /// Whether `>` asks for big-endian bytes.
    pub big: bool,
    /// `_` or `!`: the size of the type in C.
    pub native: bool,
    pub count: Count,
}

impl PackDirective {
    /// Size in bytes of an integer, whether it is signed, and whether it is big-endian; None for other directives.
    pub fn integer(self) -> Option<(usize, bool, bool)> {
        Some(match (self.letter, self.native) {
            (b'C', _) => (1, false, false),
            (b'c', _) => (1, true, false),
            (b'S', _) => (2, false, self.big),
            (b's', _) => (2, true, self.big),
            (b'I', _) | (b'L', false) => (4, false, self.big),
            (b'i', _) | (b'l', false) => (4, true, self.big),
            (b'L', true) | (b'Q' | b'J', _) => (8, false, self.big),
            (b'l', true) | (b'q' | b'j', _) => (8, true, self.big),
            (b'n', _) => (2, false, true),
            (b'N', _) => (4, false, true),
            (b'v', _) => (2, false, false),
            (b'V', _) => (4, false, false),
            _ => return None,
        })
    }

    /// Size in bytes of a float, and whether it is big-endian; None for other directives.
    pub fn float(self) -> Option<(usize, bool)> {
        Some(match self.letter {
            b'e' | b'f' | b'F' => (4, false),
            b'E' | b'd' | b'D' => (8, false),
            b'g' => (4, true),
            b'G' => (8, true),
            _ => return None,
        })
    }
}

/// Largest count of a directive.
const COUNT_MAX: usize = 1 << 30;

/// Parses a format. `way` is `pack` or `unpack`, for error messages.
pub fn directives(format: &[u8], way: &str) -> Result<Vec<PackDirective>, Raise> {
    let mut found = Vec::new();
    let mut rest = format.iter().copied().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => continue,
            b'#' => {
                while rest.next_if(|byte| *byte != b'\n').is_some() {}
                continue;
            }
            _ => {}
        }
        let mut directive = PackDirective { letter, big: false, native: false, count: Count::None };
        while let Some(modifier) = rest.next_if(|byte| b"_!<>".contains(byte)) {
            if !b"sSiIlLqQjJ".contains(&letter) {
                let shown = char::from(modifier);
                return Err(raise("ArgumentError", format!("'{shown}' allowed only after types sSiIlLqQjJ")));
            }
            match modifier {
                b'>' => directive.big = true,
                b'<' => {}
                _ => directive.native = true,
            }
        }
        directive.count = count(&mut rest)?;
        if !b"aAZBbHhCcSsIiLlQqJjNnVvUwmMuxX@eEfFdDgG".contains(&letter) {
            let shown = String::from_utf8_lossy(format);
            let letter =
                if letter.is_ascii_graphic() { char::from(letter).to_string() } else { format!("\\x{letter:02X}") };
            return Err(raise("ArgumentError", format!("unknown {way} directive '{letter}' in '{shown}'")));
        }
        found.push(directive);
    }
    Ok(found)
}

fn count(rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>) -> Result<Count, Raise> {
    if rest.next_if_eq(&b'*').is_some() {
        return Ok(Count::Star);
    }
    let mut number = None;
    while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
        let sum = number.unwrap_or(0usize) * 10 + usize::from(digit - b'0');
        if sum > COUNT_MAX {
            return Err(raise("RangeError", "pack length too big"));
        }
        number = Some(sum);
    }
    Ok(number.map_or(Count::None, Count::Number))
}
