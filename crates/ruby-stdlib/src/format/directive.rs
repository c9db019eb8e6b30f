//! The parser of a format string: text, and directives with their flags, widths and names.

use super::values::{Values, WIDTH_MAX, malformed};
use ruby_native::{Raise, Tree, raise};

/// A directive of a format, such as `%-08.3f`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Directive<'a> {
    /// The conversion letter, such as `d`.
    pub letter: u8,
    /// `-`: left-aligned, blanks follow.
    pub left: bool,
    /// `+`: a plus sign before positive numbers.
    pub plus: bool,
    /// Blank: a blank before positive numbers.
    pub space: bool,
    /// `0`: padded with zeros instead of blanks.
    pub zero: bool,
    /// `#`: the alternative form, such as with the prefix `0x`.
    pub other: bool,
    /// Minimum width in characters.
    pub width: Option<usize>,
    /// Number of digits, or maximum number of characters.
    pub precision: Option<usize>,
    /// The name of the value: `%<name>d`, `%{name}`.
    pub name: Option<&'a [u8]>,
    /// The index of the value, from 0: `%1$d`.
    pub place: Option<usize>,
}

/// A part of a format.
pub enum Part<'a> {
    /// Literal text.
    Text(&'a [u8]),
    /// A directive, which a value replaces.
    Directive(Directive<'a>),
}

/// The parser and the unread rest of the format.
pub struct FormatParser<'a> {
    rest: &'a [u8],
}

fn no_width_yet(directive: &Directive<'_>, points: bool) -> Result<(), Raise> {
    match directive.width {
        Some(_) => Err(malformed("width given twice")),
        None if points => Err(malformed("width after precision")),
        None => Ok(()),
    }
}

impl<'a> FormatParser<'a> {
    /// A parser at the beginning of a format.
    pub fn new(text: &'a [u8]) -> FormatParser<'a> {
        FormatParser { rest: text }
    }

    /// The next part of the format; None at its end. A width `*` takes its number from `values`.
    pub fn next(&mut self, values: &mut Values) -> Result<Option<Part<'a>>, Raise> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let plain = self.rest.iter().position(|byte| *byte == b'%').unwrap_or(self.rest.len());
        if plain > 0 {
            let (text, rest) = self.rest.split_at(plain);
            self.rest = rest;
            return Ok(Some(Part::Text(text)));
        }
        self.rest = &self.rest[1..];
        match self.rest.first() {
            None => Err(malformed("incomplete format specifier; use %% (double %) instead")),
            Some(b'\n' | 0) => Ok(Some(Part::Text(b"%"))),
            Some(_) => self.directive(values),
        }
    }

    fn directive(&mut self, values: &mut Values) -> Result<Option<Part<'a>>, Raise> {
        let mut directive = Directive::default();
        let mut points = false;
        loop {
            let Some((byte, rest)) = self.rest.split_first() else {
                return Err(malformed("incomplete format specifier; use %% (double %) instead"));
            };
            self.rest = rest;
            match byte {
                b'-' => directive.left = true,
                b'+' => directive.plus = true,
                b' ' => directive.space = true,
                b'0' => directive.zero = true,
                b'#' => directive.other = true,
                b'1'..=b'9' => {
                    let number = self.number(usize::from(byte - b'0'))?;
                    if self.rest.first() == Some(&b'$') {
                        self.rest = &self.rest[1..];
                        if directive.place.is_some() {
                            return Err(malformed(&format!("value given twice - {number}$")));
                        }
                        directive.place = Some(number - 1);
                        if self.rest.is_empty() {
                            return Ok(Some(Part::Text(b"%")));
                        }
                    } else {
                        no_width_yet(&directive, points)?;
                        directive.width = Some(number);
                    }
                }
                b'*' => {
                    no_width_yet(&directive, points)?;
                    self.width_from(&mut directive, values)?;
                }
                b'.' if points => return Err(malformed("precision given twice")),
                b'.' => {
                    points = true;
                    directive.precision = self.precision(values)?;
                }
                b'<' if directive.name.is_some() => return Err(malformed("a second name in one directive")),
                b'<' => directive.name = Some(self.name(b'>')?),
                b'{' => {
                    directive.name = Some(self.name(b'}')?);
                    directive.letter = b's';
                    return Ok(Some(Part::Directive(directive)));
                }
                b'%' if directive.width.is_none() && !directive.left => return Ok(Some(Part::Text(b"%"))),
                b'%' => return Err(malformed("invalid format character - %")),
                letter if b"spcdiuxXobBfeEgGaA".contains(letter) => {
                    directive.letter = *letter;
                    return Ok(Some(Part::Directive(directive)));
                }
                other => {
                    let shown = char::from(*other);
                    return Err(malformed(&format!("malformed format string - %{shown}")));
                }
            }
        }
    }

    fn number(&mut self, first: usize) -> Result<usize, Raise> {
        let mut number = first;
        while let Some(digit) = self.rest.first().filter(|byte| byte.is_ascii_digit()) {
            number = number * 10 + usize::from(digit - b'0');
            if number > WIDTH_MAX {
                return Err(malformed("width too big"));
            }
            self.rest = &self.rest[1..];
        }
        Ok(number)
    }

    /// The Integer behind a `*`: the next value, or that of a place (`*1$`).
    fn star(&mut self, values: &mut Values) -> Result<i64, Raise> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (value, _) = if digits > 0 && self.rest.get(digits) == Some(&b'$') {
            let number = self.number(0)?;
            self.rest = &self.rest[1..];
            let place = number.checked_sub(1).ok_or_else(|| malformed("invalid index - 0$"))?;
            values.place(place)?
        } else {
            values.take()?
        };
        match value {
            Tree::Int(number) => Ok(*number),
            Tree::Float(number) if number.is_finite() => Ok(*number as i64),
            _ => Err(raise("TypeError", "no implicit conversion into Integer")),
        }
    }

    fn width_from(&mut self, directive: &mut Directive<'a>, values: &mut Values) -> Result<(), Raise> {
        let width = self.star(values)?;
        directive.left |= width < 0;
        directive.width = usize::try_from(width.unsigned_abs()).ok().filter(|width| *width <= WIDTH_MAX);
        directive.width.map(|_| ()).ok_or_else(|| malformed("width too big"))
    }

    /// Parses a precision. A negative one from `*` counts as none.
    fn precision(&mut self, values: &mut Values) -> Result<Option<usize>, Raise> {
        if self.rest.first() != Some(&b'*') {
            return self.number(0).map(Some);
        }
        self.rest = &self.rest[1..];
        match usize::try_from(self.star(values)?) {
            Ok(digits) if digits > WIDTH_MAX => Err(malformed("precision too big")),
            digits => Ok(digits.ok()),
        }
    }

    fn name(&mut self, end: u8) -> Result<&'a [u8], Raise> {
        let length = self.rest.iter().position(|byte| *byte == end);
        let length = length.ok_or_else(|| malformed("malformed name - unmatched parenthesis"))?;
        let (name, rest) = self.rest.split_at(length);
        self.rest = &rest[1..];
        Ok(name)
    }
}
