//! String#inspect and String#dump as in CRuby, for UTF-8 and for bytes.

use std::fmt::Write as _;
use std::sync::OnceLock;

use regex_automata::meta::Regex;

use ruby_native::{Arg, Context, Outcome, Value, arg};

/// String#inspect
pub fn inspect(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let value = arg(args, 0);
    let bytes = value.bytes()?;
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    if matches!(value, Arg::Bytes(_)) {
        push_bytes(&mut out, bytes);
        out.push('"');
        return Ok(Value::Str(out.into_bytes()));
    }
    for chunk in bytes.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(char) = chars.next() {
            push(&mut out, char, chars.peek().copied());
        }
        push_bytes(&mut out, chunk.invalid());
    }
    out.push('"');
    Ok(Value::Str(out.into_bytes()))
}

/// String#dump
pub fn dump(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let value = arg(args, 0);
    let bytes = value.bytes()?;
    let mut out = String::from("\"");
    if matches!(value, Arg::Bytes(_)) {
        push_bytes(&mut out, bytes);
        out.push('"');
        return Ok(Value::Bytes(out.into_bytes()));
    }
    for chunk in bytes.utf8_chunks() {
        push_dumped(&mut out, chunk.valid());
        push_bytes(&mut out, chunk.invalid());
    }
    out.push('"');
    Ok(Value::Str(out.into_bytes()))
}

fn push_dumped(out: &mut String, text: &str) {
    for (at, char) in text.char_indices() {
        if char.is_ascii() {
            let rest = &text.as_bytes()[at..];
            push_byte(out, rest[0], rest.get(1).copied());
        } else {
            push_code(out, char);
        }
    }
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    for (at, byte) in bytes.iter().enumerate() {
        push_byte(out, *byte, bytes.get(at + 1).copied());
    }
}

fn push_byte(out: &mut String, byte: u8, next: Option<u8>) {
    match byte {
        b' '..=b'~' | b'\n' | b'\r' | b'\t' | 0x07..=0x0c | 0x1b => push(out, char::from(byte), next.map(char::from)),
        _ => {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
}

fn push(out: &mut String, char: char, next: Option<char>) {
    match char {
        '"' | '\\' => out.extend(['\\', char]),
        // Escaped only where it would begin an interpolation.
        '#' if matches!(next, Some('{' | '$' | '@')) => out.push_str("\\#"),
        ' '..='~' => out.push(char),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0c' => out.push_str("\\f"),
        '\x0b' => out.push_str("\\v"),
        '\x08' => out.push_str("\\b"),
        '\x07' => out.push_str("\\a"),
        '\x1b' => out.push_str("\\e"),
        _ if prints(char) => out.push(char),
        _ => push_code(out, char),
    }
}

fn push_code(out: &mut String, char: char) {
    let code = u32::from(char);
    let _ = if code > 0xffff { write!(out, "\\u{{{code:X}}}") } else { write!(out, "\\u{code:04X}") };
}

/// Whether a character beyond ASCII is printed as it is: it is assigned, and neither a control character nor a line or
/// paragraph separator.
fn prints(char: char) -> bool {
    static HIDDEN: OnceLock<Option<Regex>> = OnceLock::new();
    let hidden = HIDDEN.get_or_init(|| Regex::new(r"[\p{Cc}\p{Cn}\p{Zl}\p{Zp}&&[^\x{85}]]").ok());
    let mut room = [0; 4];
    !hidden.as_ref().is_some_and(|hidden| hidden.is_match(char.encode_utf8(&mut room).as_bytes()))
}
