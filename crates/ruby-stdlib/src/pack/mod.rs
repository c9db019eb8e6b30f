//! Array#pack and String#unpack: conversion between values and bytes by a format of directives.

mod directive;
mod read;
mod text;
mod write;

use directive::directives;
use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// Array#pack(format, begun): the bytes are appended to those of `begun`, nil for none.
pub fn pack(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let directives = directives(arg(args, 1).bytes()?, "pack")?;
    let mut packer = write::Packer::new(arg(args, 0), context.memory_bytes)?;
    if !matches!(arg(args, 2), Arg::Nil) {
        packer.out.extend_from_slice(arg(args, 2).bytes()?);
    }
    for directive in &directives {
        packer.put(*directive)?;
    }
    // As in CRuby, the result is text where the format begins with U or has only directives that make text.
    let is_text = directives.first().is_none_or(|first| first.letter == b'U')
        || directives.iter().all(|directive| b"mMu".contains(&directive.letter));
    Ok(if is_text { Value::Str(packer.out) } else { Value::Bytes(packer.out) })
}

/// String#unpack(format, offset: 0)
pub fn unpack(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    unpacked(context, args, false)
}

/// String#unpack1(format, offset: 0)
pub fn unpack1(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    unpacked(context, args, true)
}

/// The value of the option `offset:`, 0 where it is not given.
fn offset(options: Arg<'_>) -> Result<i64, Raise> {
    let Arg::Tree(bytes) = options else { return Ok(0) };
    match Tree::decode(bytes) {
        Ok(Tree::Hash(pairs)) => match pairs.as_slice() {
            [(Tree::Sym(name), Tree::Int(offset))] if name == b"offset" => Ok(*offset),
            _ => Err(raise("ArgumentError", "unpack has one option, offset: Integer")),
        },
        _ => Err(raise("ArgumentError", "wrong number of arguments (given 2, expected 1)")),
    }
}

fn unpacked(context: &Context<'_>, args: &[Arg<'_>], first: bool) -> Outcome {
    let bytes = arg(args, 0).bytes()?;
    let offset = usize::try_from(offset(arg(args, 2))?).ok().filter(|offset| *offset <= bytes.len());
    let Some(offset) = offset else { return Err(raise("ArgumentError", "offset outside of string")) };
    let mut unpacker = read::Unpacker::new(&bytes[offset..], first, context.memory_bytes);
    for directive in directives(arg(args, 1).bytes()?, "unpack")? {
        unpacker.take(directive)?;
        if first && !unpacker.found.is_empty() {
            break;
        }
    }
    let tree = if first { unpacker.found.into_iter().next().unwrap_or(Tree::Nil) } else { Tree::Array(unpacker.found) };
    Ok(Value::Tree(tree.encoded()))
}
