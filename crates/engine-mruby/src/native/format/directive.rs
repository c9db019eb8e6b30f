//! The parts of a format: text, and directives with their flags, widths and names.

use super::super::{Raise, raise};
use super::{Values, WIDTH_MAX};
use crate::tree::Tree;

/// One directive.
#[derive(Debug, Clone, Copy, Default)]
pub struct Directive<'a> {
    /// What it asks for.
    pub letter: u8,
    /// `-`: blanks come behind.
    pub left: bool,
    /// `+`
    pub plus: bool,
    /// A blank where a plus would stand.
    pub space: bool,
    /// `0`: zeros instead of blanks.
    pub zero: bool,
    /// `#`: the other form.
    pub other: bool,
    /// At least so many characters.
    pub width: Option<usize>,
    /// So many digits, or at most so many characters.
    pub precision: Option<usize>,
    /// The name of its value.
    pub name: Option<&'a [u8]>,
    /// Or the place of it.
    pub place: Option<usize>,
}

/// A part of a format.
pub enum Part<'a> {
    /// As it is.
    Text(&'a [u8]),
    /// In its place a value.
    Directive(Directive<'a>),
}

/// Reads a format.
pub struct Parser<'a> {
    rest: &'a [u8],
}

fn malformed(what: &str) -> Raise {
    raise("ArgumentError", what)
}

impl<'a> Parser<'a> {
    /// From its beginning.
    pub fn new(text: &'a [u8]) -> Parser<'a> {
        Parser { rest: text }
    }

    /// The next part. Widths may be taken from the values.
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
                        directive.place = Some(number - 1);
                    } else {
                        directive.width = Some(number);
                    }
                }
                b'*' => self.width_from(&mut directive, values)?,
                b'.' => directive.precision = Some(self.precision(values)?),
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

    fn width_from(&mut self, directive: &mut Directive<'a>, values: &mut Values) -> Result<(), Raise> {
        let place = values.take()?;
        let Tree::Int(width) = values.at(place)?.0 else {
            return Err(raise("TypeError", "a width must be an Integer"));
        };
        directive.left |= *width < 0;
        directive.width = usize::try_from(width.unsigned_abs()).ok().filter(|width| *width <= WIDTH_MAX);
        directive.width.map(|_| ()).ok_or_else(|| malformed("width too big"))
    }

    fn precision(&mut self, values: &mut Values) -> Result<usize, Raise> {
        if self.rest.first() != Some(&b'*') {
            return self.number(0);
        }
        self.rest = &self.rest[1..];
        let place = values.take()?;
        match values.at(place)?.0 {
            Tree::Int(digits) => usize::try_from(*digits).ok().filter(|digits| *digits <= WIDTH_MAX),
            _ => None,
        }
        .ok_or_else(|| malformed("precision too big"))
    }

    fn name(&mut self, end: u8) -> Result<&'a [u8], Raise> {
        let length = self.rest.iter().position(|byte| *byte == end);
        let length = length.ok_or_else(|| malformed("malformed name - unmatched parenthesis"))?;
        let (name, rest) = self.rest.split_at(length);
        self.rest = &rest[1..];
        Ok(name)
    }
}
