//! Kernel#format: C's format directives with Ruby's additions.

mod directive;
mod float;
mod integer;
mod pad;
mod values;

use super::float as plain_float;
use directive::{Directive, FormatParser, Part};
use pad::pad_text;
use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};
use values::{Used, Values};

fn array(arg: Arg<'_>) -> Vec<Tree> {
    match Tree::decode_marked(&arg.tree()) {
        Ok(Tree::Array(values)) => values,
        Ok(Tree::Hash(pairs)) => vec![Tree::Hash(pairs)],
        _ => Vec::new(),
    }
}

/// `format(text, values, inspected or nil)`: the formatted text. `inspected` is the result of `inspect` for each value,
/// where the format has `%p`.
pub fn format(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0).bytes()?;
    let mut values = Values { values: array(arg(args, 1)), inspected: array(arg(args, 2)), used: Used::InTurn(0) };
    let mut out = Vec::with_capacity(text.len() + 32);
    let mut parser = FormatParser::new(text);
    let mut binary = matches!(arg(args, 0), Arg::Bytes(_));
    while let Some(part) = parser.next(&mut values)? {
        match part {
            Part::Text(text) => out.extend_from_slice(text),
            Part::Directive(directive) => binary |= put(&mut out, &directive, &mut values)?,
        }
        if out.len() > context.memory_bytes {
            return Err(raise("NoMemoryError", "the text is larger than the interpreter's memory"));
        }
    }
    Ok(if binary { Value::Bytes(out) } else { Value::Str(out) })
}

/// Appends a value as a directive says. Returns whether the value makes the result a String of bytes.
fn put(out: &mut Vec<u8>, directive: &Directive<'_>, values: &mut Values) -> Result<bool, Raise> {
    let (value, inspected) = match (directive.name, directive.place) {
        (Some(name), _) => values.named(name)?,
        (None, Some(place)) => values.place(place)?,
        (None, None) => values.take()?,
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
        _ => float::put(out, directive, value)?,
    }
    Ok(matches!(directive.letter, b's' | b'c') && matches!(value, Tree::Bytes(text) if !text.is_ascii()))
}

fn is_bytes(value: &Tree) -> bool {
    matches!(value, Tree::Bytes(_))
}

/// The text of `to_s` of a value.
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
