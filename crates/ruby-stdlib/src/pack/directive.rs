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

/// The order of a number's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

/// The form of an integer in bytes.
#[derive(Debug, Clone, Copy)]
pub struct IntegerForm {
    /// Number of bytes.
    pub size: usize,
    pub is_signed: bool,
    pub order: ByteOrder,
}

/// A directive of a format: its letter, modifiers and count.
#[derive(Debug, Clone, Copy)]
pub struct PackDirective {
    pub letter: u8,
    /// The order that `<` or `>` asks for; `Little` without either.
    pub order: ByteOrder,
    /// `_` or `!`: the size of the type in C.
    pub native: bool,
    pub count: Count,
}

impl PackDirective {
    /// The form of an integer; None for other directives.
    pub fn integer(self) -> Option<IntegerForm> {
        let signed = |size, order| IntegerForm { size, is_signed: true, order };
        let unsigned = |size, order| IntegerForm { size, is_signed: false, order };
        Some(match (self.letter, self.native) {
            (b'C', _) => unsigned(1, ByteOrder::Little),
            (b'c', _) => signed(1, ByteOrder::Little),
            (b'S', _) => unsigned(2, self.order),
            (b's', _) => signed(2, self.order),
            (b'I', _) | (b'L', false) => unsigned(4, self.order),
            (b'i', _) | (b'l', false) => signed(4, self.order),
            (b'L', true) | (b'Q' | b'J', _) => unsigned(8, self.order),
            (b'l', true) | (b'q' | b'j', _) => signed(8, self.order),
            (b'n', _) => unsigned(2, ByteOrder::Big),
            (b'N', _) => unsigned(4, ByteOrder::Big),
            (b'v', _) => unsigned(2, ByteOrder::Little),
            (b'V', _) => unsigned(4, ByteOrder::Little),
            _ => return None,
        })
    }

    /// Size in bytes of a float, and their order; None for other directives.
    pub fn float(self) -> Option<(usize, ByteOrder)> {
        Some(match self.letter {
            b'e' | b'f' | b'F' => (4, ByteOrder::Little),
            b'E' | b'd' | b'D' => (8, ByteOrder::Little),
            b'g' => (4, ByteOrder::Big),
            b'G' => (8, ByteOrder::Big),
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
        let mut directive = PackDirective { letter, order: ByteOrder::Little, native: false, count: Count::None };
        while let Some(modifier) = rest.next_if(|byte| b"_!<>".contains(byte)) {
            if !b"sSiIlLqQjJ".contains(&letter) {
                let shown = char::from(modifier);
                return Err(raise("ArgumentError", format!("'{shown}' allowed only after types sSiIlLqQjJ")));
            }
            match modifier {
                b'>' => directive.order = ByteOrder::Big,
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
