//! String#tr, delete, squeeze and count: sets of Unicode characters in the notation of `tr`.

use super::text::like;
use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};
use ruby_regexp::text;

/// The codes of a text's characters; a byte that belongs to no valid character has the code `BYTE` plus its value.
fn characters(bytes: &[u8], binary: bool) -> Vec<u32> {
    if binary {
        return bytes.iter().map(|byte| u32::from(*byte)).collect();
    }
    let mut found = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (code, length) = text::decode(bytes, at);
        found.push(if code > 0x10_ffff { BYTE + u32::from(bytes[at]) } else { code });
        at += length;
    }
    found
}

/// First code of bytes that belong to no character, above all codes of Unicode.
const BYTE: u32 = 0x20_0000;

fn push(out: &mut Vec<u8>, code: u32, binary: bool) {
    match char::from_u32(code).filter(|_| !binary) {
        Some(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.push(code as u8),
    }
}

/// A set of characters: ranges in the order of the text, and whether the set is their complement.
struct Set {
    ranges: Vec<(u32, u32)>,
    negated: bool,
}

impl Set {
    fn new(bytes: &[u8], binary: bool) -> Result<Set, Raise> {
        let mut codes = characters(bytes, binary);
        let negated = codes.len() > 1 && codes[0] == u32::from(b'^');
        if negated {
            codes.remove(0);
        }
        let mut ranges = Vec::new();
        let mut at = 0;
        let one = |at: &mut usize| {
            let is_escape = codes[*at] == u32::from(b'\\') && *at + 1 < codes.len();
            *at += if is_escape { 2 } else { 1 };
            codes[*at - 1]
        };
        while at < codes.len() {
            let first = one(&mut at);
            if at + 1 < codes.len() && codes[at] == u32::from(b'-') {
                at += 1;
                let last = one(&mut at);
                if first > last {
                    let shown = String::from_utf8_lossy(bytes).into_owned();
                    return Err(raise("ArgumentError", format!("invalid range {shown:?} in string transliteration")));
                }
                ranges.push((first, last));
            } else {
                ranges.push((first, first));
            }
        }
        Ok(Set { ranges, negated })
    }

    fn has(&self, code: u32) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&code)) != self.negated
    }

    /// The index of a character in the set.
    fn place(&self, code: u32) -> Option<u32> {
        let mut before = 0;
        let mut found = None;
        // Where a character occurs twice, its last index counts.
        for (first, last) in &self.ranges {
            if (*first..=*last).contains(&code) {
                found = Some(before + code - first);
            }
            before += last - first + 1;
        }
        found
    }

    fn at(&self, mut place: u32) -> Option<u32> {
        for (first, last) in &self.ranges {
            let size = last - first + 1;
            if place < size {
                return Some(first + place);
            }
            place -= size;
        }
        self.ranges.last().map(|(_, last)| *last)
    }
}

/// The codes of a text, or of the bytes of a String of bytes; an ArgumentError for invalid UTF-8, as in CRuby.
fn text_of(arg: Arg<'_>) -> Result<Vec<u32>, Raise> {
    let bytes = arg.bytes()?;
    if !is_binary(arg) && std::str::from_utf8(bytes).is_err() {
        return Err(raise("ArgumentError", "invalid byte sequence in UTF-8"));
    }
    Ok(characters(bytes, is_binary(arg)))
}

fn is_binary(arg: Arg<'_>) -> bool {
    matches!(arg, Arg::Bytes(_))
}

/// Replaces the characters of the set `from` by those of `to`. Arguments: text, from, to. With `squeeze`, runs of the
/// same replacement become one.
fn tr(args: &[Arg<'_>], squeeze: bool) -> Outcome {
    let binary = is_binary(arg(args, 0));
    let from = Set::new(arg(args, 1).bytes()?, binary)?;
    let to = Set::new(arg(args, 2).bytes()?, binary)?;
    let to = Set { negated: false, ranges: if to.negated { [vec![(94, 94)], to.ranges].concat() } else { to.ranges } };
    let mut out = Vec::with_capacity(arg(args, 0).bytes()?.len());
    let mut last = None;
    for code in text_of(arg(args, 0))? {
        if !from.has(code) {
            push(&mut out, code, binary);
            last = None;
            continue;
        }
        let place = if from.negated { u32::MAX } else { from.place(code).unwrap_or(u32::MAX) };
        let Some(new) = to.at(place) else { continue };
        if squeeze && last == Some(new) {
            continue;
        }
        push(&mut out, new, binary);
        last = Some(new);
    }
    Ok(like(arg(args, 0), out))
}

/// The sets in the arguments behind the first; a character must be in all of them.
fn sets(args: &[Arg<'_>]) -> Result<Vec<Set>, Raise> {
    let binary = is_binary(arg(args, 0));
    args[1..].iter().map(|set| Set::new(set.bytes()?, binary)).collect()
}

/// String#count(*sets)
pub fn count(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    needs_sets(args)?;
    let sets = sets(args)?;
    let codes = text_of(arg(args, 0))?;
    Ok(Value::Int(codes.iter().filter(|code| sets.iter().all(|set| set.has(**code))).count() as i64))
}

fn needs_sets(args: &[Arg<'_>]) -> Result<(), Raise> {
    if args.len() > 1 {
        return Ok(());
    }
    Err(raise("ArgumentError", "wrong number of arguments (given 0, expected 1+)"))
}

/// String#delete(*sets)
pub fn delete(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    needs_sets(args)?;
    let sets = sets(args)?;
    let binary = is_binary(arg(args, 0));
    let mut out = Vec::with_capacity(arg(args, 0).bytes()?.len());
    for code in text_of(arg(args, 0))? {
        if !sets.iter().all(|set| set.has(code)) {
            push(&mut out, code, binary);
        }
    }
    Ok(like(arg(args, 0), out))
}

/// String#squeeze(*sets): without sets, runs of all characters.
pub fn squeeze(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let sets = sets(args)?;
    let binary = is_binary(arg(args, 0));
    let mut out = Vec::with_capacity(arg(args, 0).bytes()?.len());
    let mut last = None;
    for code in text_of(arg(args, 0))? {
        if last != Some(code) || !sets.iter().all(|set| set.has(code)) {
            push(&mut out, code, binary);
        }
        last = Some(code);
    }
    Ok(like(arg(args, 0), out))
}

/// String#tr(from, to)
pub fn tr_plain(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    tr(args, false)
}

/// String#tr_s(from, to)
pub fn tr_squeezed(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    tr(args, true)
}

/// String#casecmp?(text): nil where the two cannot be compared
pub fn equal_folded(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (left, right) = (arg(args, 0).bytes()?, arg(args, 1).bytes()?);
    if is_binary(arg(args, 0)) || is_binary(arg(args, 1)) {
        let differ = is_binary(arg(args, 0)) != is_binary(arg(args, 1));
        if differ && !left.is_ascii() && !right.is_ascii() {
            return Ok(Value::Nil);
        }
        return Ok(Value::Bool(left.eq_ignore_ascii_case(right)));
    }
    let folded = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_uppercase().to_lowercase();
    Ok(Value::Bool(folded(left) == folded(right)))
}
