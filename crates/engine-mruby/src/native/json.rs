//! JSON.generate and JSON.parse, on serde_json, with the messages and limits of Ruby's json library.

use serde_json::Value as Json;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::{Arg, Context, Outcome, Raise, Value, arg, float, raise};
use crate::tree::Tree;

/// JSON.generate(object)
pub fn generate(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let mut out = Vec::new();
    write(&mut out, &mut CompactFormatter, &tree_of(arg(args, 0))?)?;
    Ok(Value::Str(out))
}

/// JSON.pretty_generate(object)
pub fn pretty(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let mut out = Vec::new();
    write(&mut out, &mut PrettyFormatter::new(), &tree_of(arg(args, 0))?)?;
    Ok(Value::Str(out))
}

fn tree_of(value: Arg<'_>) -> Result<Tree, Raise> {
    Ok(match value {
        Arg::Nil => Tree::Nil,
        Arg::Bool(value) => Tree::Bool(value),
        Arg::Int(number) => Tree::Int(number),
        Arg::Float(number) => Tree::Float(number),
        Arg::Str(bytes) | Arg::Sym(bytes) => Tree::Str(bytes.to_vec()),
        Arg::Tree(bytes) => Tree::decode(bytes).map_err(|error| raise("RuntimeError", error.to_string()))?,
    })
}

fn write<F: Formatter>(out: &mut Vec<u8>, form: &mut F, tree: &Tree) -> Result<(), Raise> {
    // Writing to memory cannot fail.
    let fine = Ok::<(), std::io::Error>(());
    match tree {
        Tree::Nil => out.extend_from_slice(b"null"),
        Tree::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Tree::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Tree::Float(number) if number.is_finite() => out.extend_from_slice(float::print(*number).as_bytes()),
        Tree::Float(number) => {
            return Err(raise("JSON::GeneratorError", format!("{} not allowed in JSON", float::print(*number))));
        }
        Tree::Str(bytes) | Tree::Sym(bytes) => write_text(out, bytes)?,
        Tree::Raw(bytes) => out.extend_from_slice(bytes),
        Tree::Array(items) if items.is_empty() => out.extend_from_slice(b"[]"),
        Tree::Array(items) => {
            let _ = form.begin_array(out);
            for (index, item) in items.iter().enumerate() {
                let _ = form.begin_array_value(out, index == 0);
                write(out, form, item)?;
                let _ = form.end_array_value(out);
            }
            let _ = form.end_array(out);
        }
        Tree::Hash(pairs) if pairs.is_empty() => out.extend_from_slice(b"{}"),
        Tree::Hash(pairs) => {
            let _ = form.begin_object(out);
            for (index, (key, value)) in pairs.iter().enumerate() {
                let _ = form.begin_object_key(out, index == 0);
                write(out, form, key)?;
                let _ = form.end_object_key(out);
                let _ = form.begin_object_value(out);
                write(out, form, value)?;
                let _ = form.end_object_value(out);
            }
            let _ = form.end_object(out);
        }
    }
    fine.map_err(|error| raise("IOError", error.to_string()))
}

fn write_text(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Raise> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(raise("JSON::GeneratorError", "source sequence is illegal/malformed utf-8"));
    };
    serde_json::to_writer(out, text).map_err(|error| raise("JSON::GeneratorError", error.to_string()))
}

/// JSON.parse(text, symbolize)
pub fn parse(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let symbolize = arg(args, 1).truthy();
    let json: Json = serde_json::from_slice(arg(args, 0).bytes()?)
        .map_err(|error| raise("JSON::ParserError", format!("invalid JSON: {error}")))?;
    let mut out = Vec::new();
    to_tree(json, symbolize).encode(&mut out);
    Ok(Value::Tree(out))
}

fn to_tree(json: Json, symbolize: bool) -> Tree {
    match json {
        Json::Null => Tree::Nil,
        Json::Bool(value) => Tree::Bool(value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(small), _) => Tree::Int(small),
            (None, Some(large)) => Tree::Raw(large.to_string().into_bytes()),
            (None, None) => Tree::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Tree::Str(text.into_bytes()),
        Json::Array(items) => Tree::Array(items.into_iter().map(|item| to_tree(item, symbolize)).collect()),
        Json::Object(pairs) => {
            let key =
                |text: String| if symbolize { Tree::Sym(text.into_bytes()) } else { Tree::Str(text.into_bytes()) };
            Tree::Hash(pairs.into_iter().map(|(name, value)| (key(name), to_tree(value, symbolize))).collect())
        }
    }
}
