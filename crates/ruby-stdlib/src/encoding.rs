//! Encodings of embedded Ruby's strings (UTF-8, ASCII and bytes): checks and conversions, Unicode normal forms, and
//! case mapping.

use unicode_normalization::UnicodeNormalization;

use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// `text_kind(text)`: 1 for ASCII, 2 for other UTF-8, 0 for invalid UTF-8.
pub fn kind(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let bytes = arg(args, 0).bytes()?;
    let kind = if bytes.is_ascii() {
        1
    } else if std::str::from_utf8(bytes).is_ok() {
        2
    } else {
        0
    };
    Ok(Value::Int(kind))
}

/// `text_scrub(text, replacement)`: the text with each run of bytes that cannot begin or continue a character replaced
/// once.
pub fn scrub(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (bytes, replacement) = (arg(args, 0).bytes()?, arg(args, 1).bytes()?);
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice(replacement);
        }
    }
    Ok(Value::Str(out))
}

/// `text_split(text)`: pairs of valid UTF-8 and the invalid bytes behind it.
pub fn split(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let chunks = arg(args, 0).bytes()?.utf8_chunks();
    let pair = |valid: &str, invalid: &[u8]| Tree::Array(vec![Tree::Str(valid.into()), Tree::Str(invalid.to_vec())]);
    Ok(Value::Tree(Tree::Array(chunks.map(|chunk| pair(chunk.valid(), chunk.invalid())).collect()).encoded()))
}

/// `text_widen(text)`: ISO-8859-1 text as UTF-8.
pub fn widen(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text: String = arg(args, 0).bytes()?.iter().map(|&byte| char::from(byte)).collect();
    Ok(Value::Str(text.into_bytes()))
}

/// `text_from_utf16(text, big_endian, replacement)`: UTF-16 text as UTF-8. Half a surrogate pair, and half a code unit,
/// becomes the replacement; where that is nil, the result is the position of its first byte.
pub fn from_utf16(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let bytes = arg(args, 0).bytes()?;
    let big_endian = arg(args, 1).truthy();
    let replacement = match arg(args, 2) {
        Arg::Nil => None,
        text => Some(text.bytes()?),
    };
    let units = bytes.chunks_exact(2).map(|pair| match big_endian {
        true => u16::from_be_bytes([pair[0], pair[1]]),
        false => u16::from_le_bytes([pair[0], pair[1]]),
    });
    let half = (bytes.len() % 2 == 1).then_some(None);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for char in char::decode_utf16(units).map(Result::ok).chain(half) {
        match (char, replacement) {
            (Some(char), _) => {
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                at += 2 * char.len_utf16();
            }
            (None, Some(text)) => {
                out.extend_from_slice(text);
                at += 2;
            }
            (None, None) => return Ok(Value::Int(at as i64)),
        }
    }
    Ok(Value::Str(out))
}

/// `text_normalize(text, form, check)`: the text in one of Unicode's normal forms, such as `nfc`; with `check` whether
/// it is in that form already.
pub fn normalize(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let bytes = arg(args, 0).bytes()?;
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(raise("ArgumentError", "invalid byte sequence in UTF-8"));
    };
    let normal: String = match arg(args, 1).bytes()? {
        b"nfc" => text.nfc().collect(),
        b"nfd" => text.nfd().collect(),
        b"nfkc" => text.nfkc().collect(),
        b"nfkd" => text.nfkd().collect(),
        other => {
            let form = String::from_utf8_lossy(other);
            return Err(raise("ArgumentError", format!("Invalid normalization form {form}.")));
        }
    };
    if arg(args, 2).truthy() {
        return Ok(Value::Bool(normal.as_bytes() == bytes));
    }
    Ok(Value::Str(normal.into_bytes()))
}

/// String#upcase
pub fn upcase(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    in_case(args, false, |_, _| Case::Upper)
}

/// String#downcase
pub fn downcase(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    in_case(args, true, |_, _| Case::Lower)
}

/// String#swapcase
pub fn swapcase(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    in_case(args, false, |char, _| if char.is_lowercase() { Case::Upper } else { Case::Lower })
}

/// String#capitalize
pub fn capitalize(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    in_case(args, false, |_, first| if first { Case::Title } else { Case::Lower })
}

/// The cases of a letter. Title case is for the first letter of a word.
enum Case {
    Upper,
    Lower,
    Title,
}

/// A letter as the first one of a word. Mostly that is its capital letter; where that is two letters (SS of ß), the
/// second is small.
fn title(char: char) -> String {
    let one = |code: u32| -> String { char::from_u32(code).into_iter().collect() };
    match char {
        '\u{1C4}'..='\u{1C6}' => one(0x1C5),
        '\u{1C7}'..='\u{1C9}' => one(0x1C8),
        '\u{1CA}'..='\u{1CC}' => one(0x1CB),
        '\u{1F1}'..='\u{1F3}' => one(0x1F2),
        // Georgian capital letters are for whole words only.
        '\u{10D0}'..='\u{10FF}' | '\u{1C90}'..='\u{1CBF}' => char.to_lowercase().collect(),
        // Greek letters with an iota below.
        '\u{1F80}'..='\u{1FAF}' => one(u32::from(char) | 8),
        '\u{1FB3}' | '\u{1FBC}' | '\u{1FC3}' | '\u{1FCC}' | '\u{1FF3}' | '\u{1FFC}' => {
            one((u32::from(char) & !15) | 12)
        }
        // An apostrophe and a letter.
        '\u{149}' => char.to_uppercase().collect(),
        _ => {
            let mut letters = char.to_uppercase();
            // The iota below a Greek letter stays there.
            let small = |one: char| if one == '\u{399}' { '\u{345}'.to_lowercase() } else { one.to_lowercase() };
            letters.next().into_iter().chain(letters.flat_map(small)).collect()
        }
    }
}

/// Maps the case of all letters, or with `:ascii` of ASCII letters alone. `case` decides for each character, with the
/// fact whether it is the first. Of a String of bytes only ASCII letters are mapped; text that is not UTF-8 is refused,
/// as in CRuby.
fn in_case(args: &[Arg<'_>], downcase: bool, case: impl Fn(char, bool) -> Case) -> Outcome {
    let bytes = arg(args, 0).bytes()?;
    case_options(args.get(1..).unwrap_or_default(), downcase)?;
    if let Arg::Bytes(bytes) = arg(args, 0) {
        let cased = bytes.iter().enumerate().map(|(at, byte)| match case(char::from(*byte), at == 0) {
            Case::Upper | Case::Title => byte.to_ascii_uppercase(),
            Case::Lower => byte.to_ascii_lowercase(),
        });
        return Ok(Value::Bytes(cased.collect()));
    }
    let is_ascii = bytes.is_ascii() || arg(args, 1) == Arg::Sym(b"ascii");
    let text = std::str::from_utf8(bytes).map_err(|_| raise("ArgumentError", "input string invalid"))?;
    let mut out = Vec::with_capacity(bytes.len());
    let mut room = [0; 4];
    for char in text.chars() {
        let case = case(char, out.is_empty());
        let mut push = |one: char| out.extend_from_slice(one.encode_utf8(&mut room).as_bytes());
        match case {
            Case::Upper | Case::Title if is_ascii => push(char.to_ascii_uppercase()),
            Case::Lower if is_ascii => push(char.to_ascii_lowercase()),
            Case::Upper => char.to_uppercase().for_each(push),
            Case::Lower => char.to_lowercase().for_each(push),
            Case::Title => title(char).chars().for_each(push),
        }
    }
    Ok(Value::Str(out))
}

/// Refuses options that the case methods do not have, or that exclude each other, in CRuby's words.
fn case_options(options: &[Arg<'_>], downcase: bool) -> Result<(), Raise> {
    let wrong = |text: &str| Err(raise("ArgumentError", text));
    let names: Vec<&[u8]> =
        options.iter().map(|option| if let Arg::Sym(name) = option { *name } else { &b""[..] }).collect();
    match names.as_slice() {
        [] | [b"ascii" | b"turkic" | b"lithuanian"] => Ok(()),
        [b"turkic", b"lithuanian"] | [b"lithuanian", b"turkic"] => Ok(()),
        [b"fold"] if downcase => Ok(()),
        [b"fold"] => wrong("option :fold only allowed for downcasing"),
        [b"turkic" | b"lithuanian", _] => wrong("invalid second option"),
        [_] => wrong("invalid option"),
        _ => wrong("too many options"),
    }
}
