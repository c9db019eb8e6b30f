//! The values of a call of Kernel#format, taken in turn, by index or by name.

use ruby_native::{Raise, Tree, raise};

/// Largest width and precision.
pub const WIDTH_MAX: usize = 1 << 24;

/// The values of a call, and how they have been taken so far.
pub struct Values {
    pub values: Vec<Tree>,
    /// The result of `inspect` for each value, where the format has `%p`.
    pub inspected: Vec<Tree>,
    pub used: Used,
}

/// The way in which directives refer to values: all directives of one format use the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// In turn: the number of values taken so far.
    InTurn(usize),
    /// By index: `%1$s`.
    Places,
    /// By name: `%<a>s`.
    Names,
}

/// A value, and the result of its `inspect` where that is known.
pub type Shown<'a> = (&'a Tree, Option<&'a [u8]>);

impl Values {
    fn at(&self, place: usize) -> Result<Shown<'_>, Raise> {
        let value = self.values.get(place).ok_or_else(|| raise("ArgumentError", "too few arguments"))?;
        Ok((value, self.inspected_at(place)))
    }

    pub fn inspected_at(&self, place: usize) -> Option<&[u8]> {
        match self.inspected.get(place) {
            Some(Tree::Str(text) | Tree::Bytes(text)) => Some(text),
            _ => None,
        }
    }

    /// Takes the next value in turn.
    pub fn take(&mut self) -> Result<Shown<'_>, Raise> {
        let next = match self.used {
            Used::InTurn(next) => next,
            Used::Places => return Err(malformed("unnumbered(1) mixed with numbered")),
            Used::Names => return Err(malformed("unnumbered(1) mixed with named")),
        };
        self.used = Used::InTurn(next + 1);
        self.at(next)
    }

    /// Takes the value at an index.
    pub fn place(&mut self, place: usize) -> Result<Shown<'_>, Raise> {
        match self.used {
            Used::InTurn(0) | Used::Places => self.used = Used::Places,
            Used::InTurn(count) => {
                return Err(malformed(&format!("numbered({}) after unnumbered({count})", place + 1)));
            }
            Used::Names => return Err(malformed(&format!("numbered({}) after named", place + 1))),
        }
        self.at(place)
    }

    /// Takes the value of a name from the Hash that must be the only value.
    pub fn named(&mut self, name: &[u8]) -> Result<Shown<'_>, Raise> {
        let shown = String::from_utf8_lossy(name);
        match self.used {
            Used::InTurn(0) | Used::Names => self.used = Used::Names,
            Used::InTurn(count) => return Err(malformed(&format!("named<{shown}> after unnumbered({count})"))),
            Used::Places => return Err(malformed(&format!("named<{shown}> after numbered"))),
        }
        let Some(Tree::Hash(pairs)) = self.values.first() else {
            return Err(raise("ArgumentError", "one hash required"));
        };
        let is = |key: &Tree| matches!(key, Tree::Sym(symbol) if symbol == name);
        let place = pairs
            .iter()
            .position(|(key, _)| is(key))
            .ok_or_else(|| raise("KeyError", format!("key<{shown}> not found")))?;
        Ok((&pairs[place].1, self.inspected_at(place)))
    }
}

pub fn malformed(what: &str) -> Raise {
    raise("ArgumentError", what)
}
