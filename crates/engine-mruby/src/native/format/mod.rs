//! Kernel#format: values laid out by a format of directives, as in C and then as in Ruby.

mod directive;
mod float;
mod integer;

use super::{Arg, Context, Outcome, Raise, Value, arg, float as plain_float, raise};
use crate::regex::text;
use crate::tree::Tree;
use directive::{Directive, Parser, Part, malformed};

/// No width or precision is larger.
const WIDTH_MAX: usize = 1 << 24;

/// The values of a call, and which is next.
struct Values {
    values: Vec<Tree>,
    /// What `inspect` says of each, where somebody asks.
    inspected: Vec<Tree>,
    used: Used,
}

/// How directives have named their values: those of one format all do it in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Used {
    /// Each takes the next value; how many have, 0 at first.
    InTurn(usize),
    /// By place, `%1$s`.
    Places,
    /// By name, `%<a>s`.
    Names,
}

/// One value, and what `inspect` says of it if that is known.
type Shown<'a> = (&'a Tree, Option<&'a [u8]>);

impl Values {
    fn at(&self, place: usize) -> Result<Shown<'_>, Raise> {
        let value = self.values.get(place).ok_or_else(|| raise("ArgumentError", "too few arguments"))?;
        Ok((value, self.inspected_at(place)))
    }

    fn inspected_at(&self, place: usize) -> Option<&[u8]> {
        match self.inspected.get(place) {
            Some(Tree::Str(text) | Tree::Bytes(text)) => Some(text),
            _ => None,
        }
    }

    /// The place of the next value.
    fn take(&mut self) -> Result<usize, Raise> {
        let next = match self.used {
            Used::InTurn(next) => next,
            Used::Places => return Err(malformed("unnumbered(1) mixed with numbered")),
            Used::Names => return Err(malformed("unnumbered(1) mixed with named")),
        };
        self.used = Used::InTurn(next + 1);
        self.at(next)?;
        Ok(next)
    }

    /// A value by its place.
    fn place(&mut self, place: usize) -> Result<usize, Raise> {
        match self.used {
            Used::InTurn(0) | Used::Places => self.used = Used::Places,
            Used::InTurn(count) => {
                return Err(malformed(&format!("numbered({}) after unnumbered({count})", place + 1)));
            }
            Used::Names => return Err(malformed(&format!("numbered({}) after named", place + 1))),
        }
        self.at(place)?;
        Ok(place)
    }

    /// The value of a name in the Hash that is the only argument.
    fn named(&mut self, name: &[u8]) -> Result<Shown<'_>, Raise> {
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

fn array(arg: Arg<'_>) -> Vec<Tree> {
    match Tree::decode_marked(&arg.tree()) {
        Ok(Tree::Array(values)) => values,
        Ok(Tree::Hash(pairs)) => vec![Tree::Hash(pairs)],
        _ => Vec::new(),
    }
}

/// format(text, values, what inspect says of each or nil)
pub fn format(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0).bytes()?;
    let mut values = Values { values: array(arg(args, 1)), inspected: array(arg(args, 2)), used: Used::InTurn(0) };
    let mut out = Vec::with_capacity(text.len() + 32);
    let mut parser = Parser::new(text);
    let mut binary = matches!(arg(args, 0), Arg::Bytes(_));
    while let Some(part) = parser.next(&mut values)? {
        match part {
            Part::Text(text) => out.extend_from_slice(text),
            Part::Directive(directive) => binary |= put(&mut out, &directive, &mut values)?,
        }
        if out.len() > context.shared.memory_bytes {
            return Err(raise("NoMemoryError", "the text is larger than the interpreter's memory"));
        }
    }
    Ok(if binary { Value::Bytes(out) } else { Value::Str(out) })
}

/// Whether the text was made one of bytes by this value.
fn put(out: &mut Vec<u8>, directive: &Directive<'_>, values: &mut Values) -> Result<bool, Raise> {
    let (value, inspected) = match (directive.name, directive.place) {
        (Some(name), _) => values.named(name)?,
        (None, Some(place)) => {
            let place = values.place(place)?;
            values.at(place)?
        }
        (None, None) => {
            let place = values.take()?;
            values.at(place)?
        }
    };
    match directive.letter {
        b's' => pad_text(out, directive, &text_of(value), is_bytes(value)),
        b'p' => pad_text(out, directive, inspected.unwrap_or(&text_of(value)), false),
        b'c' => {
            let text = character(value)?;
            pad_text(out, &Directive { precision: None, ..*directive }, &text, is_bytes(value));
        }
        b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'b' | b'B' => {
            let number = integer::of(value)?;
            integer::put(out, directive, &number);
        }
        _ => float::put(out, directive, float::of(value)?),
    }
    Ok(matches!(directive.letter, b's' | b'c') && matches!(value, Tree::Bytes(text) if !text.is_ascii()))
}

fn is_bytes(value: &Tree) -> bool {
    matches!(value, Tree::Bytes(_))
}

/// What `to_s` says.
fn text_of(value: &Tree) -> Vec<u8> {
    match value {
        Tree::Nil => Vec::new(),
        Tree::Bool(value) => value.to_string().into_bytes(),
        Tree::Int(number) => number.to_string().into_bytes(),
        Tree::Float(number) => plain_float::print(*number).into_bytes(),
        Tree::Str(text) | Tree::Sym(text) | Tree::Raw(text) | Tree::Bytes(text) => text.clone(),
        Tree::Array(_) | Tree::Hash(_) => Vec::new(),
    }
}

fn character(value: &Tree) -> Result<Vec<u8>, Raise> {
    match value {
        Tree::Bytes(text) if !text.is_empty() => Ok(vec![text[0]]),
        Tree::Str(text) => {
            let first = text.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
            let first = first.map(|char| char.to_string().into_bytes());
            Ok(first.or_else(|| text.first().map(|byte| vec![*byte])).unwrap_or_default())
        }
        Tree::Bytes(_) => Ok(Vec::new()),
        Tree::Int(number) => {
            let char = u32::try_from(*number).ok().and_then(char::from_u32);
            let char = char.ok_or_else(|| raise("ArgumentError", "invalid character"))?;
            Ok(char.to_string().into_bytes())
        }
        _ => Err(raise("TypeError", "%c requires a character")),
    }
}

/// A text in its width, cut to the precision, both of which count characters or bytes.
fn pad_text(out: &mut Vec<u8>, directive: &Directive<'_>, text: &[u8], bytes: bool) {
    let offset = |most| if bytes { Some(most).filter(|most| *most <= text.len()) } else { text::offset(text, most) };
    let text = directive.precision.and_then(offset).map_or(text, |end| &text[..end]);
    let length = if bytes { text.len() } else { text::count(text) };
    let blanks = directive.width.unwrap_or(0).saturating_sub(length);
    if !directive.left {
        out.extend(std::iter::repeat_n(b' ', blanks));
    }
    out.extend_from_slice(text);
    if directive.left {
        out.extend(std::iter::repeat_n(b' ', blanks));
    }
}

/// A number with what stands before its digits, in its width.
fn pad_number(out: &mut Vec<u8>, directive: &Directive<'_>, before: &str, digits: &str, zeros: bool) {
    let room = directive.width.unwrap_or(0).saturating_sub(before.len() + digits.len());
    let zeros = zeros && directive.zero && !directive.left;
    if !directive.left && !zeros {
        out.extend(std::iter::repeat_n(b' ', room));
    }
    out.extend_from_slice(before.as_bytes());
    if zeros {
        out.extend(std::iter::repeat_n(b'0', room));
    }
    out.extend_from_slice(digits.as_bytes());
    if directive.left {
        out.extend(std::iter::repeat_n(b' ', room));
    }
}

/// What stands before a number for its sign.
fn sign(directive: &Directive<'_>, negative: bool) -> &'static str {
    match (negative, directive.plus, directive.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}
