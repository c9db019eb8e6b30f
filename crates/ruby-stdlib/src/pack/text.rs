//! Directives that convert between bytes and text: base64, quoted-printable, uuencode, bits and hexadecimal digits.

use super::directive::Count;
use ruby_native::{Raise, raise};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX: &[u8; 16] = b"0123456789abcdef";
/// Bytes in a line of base64 or uuencode where the count does not say otherwise.
const LINE: usize = 45;

/// `m`: base64 in lines, or with a count of 0 without line feeds.
pub fn base64(out: &mut Vec<u8>, bytes: &[u8], count: Count) {
    let line = match count {
        Count::Number(0) => usize::MAX,
        Count::Number(number) if number >= 3 => number / 3 * 3,
        _ => LINE,
    };
    for part in bytes.chunks(line) {
        out.reserve(part.len() / 3 * 4 + 5);
        for group in part.chunks(3) {
            let word = word(group);
            let digit = |place: u32| BASE64[(word >> (18 - 6 * place)) as usize & 63];
            out.extend((0..4).map(|place| if (place as usize) <= group.len() { digit(place) } else { b'=' }));
        }
        if line != usize::MAX {
            out.push(b'\n');
        }
    }
}

fn word(group: &[u8]) -> u32 {
    let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
    byte(0) << 16 | byte(1) << 8 | byte(2)
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

/// Decodes `m`: other characters are skipped, and a `=` in its place ends the text.
pub fn from_base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3 + 3);
    let mut word = 0;
    let mut digits = 0;
    for byte in bytes {
        let Some(digit) = value(*byte) else {
            if *byte == b'=' && digits >= 2 {
                break;
            }
            continue;
        };
        word = word << 6 | digit;
        digits += 1;
        if digits == 4 {
            out.extend_from_slice(&word.to_be_bytes()[1..]);
            (word, digits) = (0, 0);
        }
    }
    if digits >= 2 {
        let whole: u32 = word << (6 * (4 - digits));
        out.extend_from_slice(&whole.to_be_bytes()[1..digits as usize]);
    }
    out
}

/// Decodes `m0`: strict base64 (RFC 4648), complete and padded, else an ArgumentError.
pub fn from_strict_base64(bytes: &[u8]) -> Result<Vec<u8>, Raise> {
    let refused = || raise("ArgumentError", "invalid base64");
    let padding = bytes.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &bytes[..bytes.len() - padding];
    if !bytes.len().is_multiple_of(4) || padding > 2 || digits.iter().any(|digit| value(*digit).is_none()) {
        return Err(refused());
    }
    let out = from_base64(bytes);
    // The unused bits of the last digit must be 0.
    let last = digits.last().and_then(|digit| value(*digit)).unwrap_or(0);
    let unused = if padding == 2 { 15 } else { 3 };
    if padding > 0 && last & unused != 0 { Err(refused()) } else { Ok(out) }
}

/// `u`: uuencode in lines.
pub fn uuencoded(out: &mut Vec<u8>, bytes: &[u8], count: Count) {
    let line = match count {
        Count::Number(number) if number >= 3 => (number / 3 * 3).min(63),
        _ => LINE,
    };
    let shown = |six: u32| if six == 0 { b'`' } else { six as u8 + b' ' };
    for part in bytes.chunks(line) {
        out.push(shown(part.len() as u32));
        for group in part.chunks(3) {
            let word = word(group);
            out.extend((0..4).map(|place| shown(word >> (18 - 6 * place) & 63)));
        }
        out.push(b'\n');
    }
}

/// Decodes `u`.
pub fn from_uuencoded(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some((length, digits)) = line.split_first() else { continue };
        let length = usize::from(length.wrapping_sub(b' ') & 63);
        if length == 0 {
            break;
        }
        let mut part = Vec::new();
        for group in digits.chunks(4) {
            let six = |at: usize| u32::from(group.get(at).copied().unwrap_or(b' ').wrapping_sub(b' ') & 63);
            let word: u32 = six(0) << 18 | six(1) << 12 | six(2) << 6 | six(3);
            part.extend_from_slice(&word.to_be_bytes()[1..]);
        }
        part.truncate(length);
        out.extend(part);
    }
    out
}

/// `M`: quoted-printable (RFC 2045, section 6.7) in lines of up to 73 characters.
pub fn quoted(out: &mut Vec<u8>, bytes: &[u8], count: Count) {
    let most = match count {
        Count::Number(number) if number > 1 => number,
        _ => 72,
    };
    let mut column = 0;
    let mut before = None;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte > 126 || (byte < 32 && byte != b'\n' && byte != b'\t') || byte == b'=' {
            out.extend_from_slice(&[b'=', hex_upper(byte >> 4), hex_upper(byte & 15)]);
            column += 3;
        } else if byte == b'\n' {
            if matches!(before, Some(b' ' | b'\t')) {
                out.extend_from_slice(b"=\n");
            }
            out.push(b'\n');
            column = 0;
        } else {
            out.push(byte);
            column += 1;
        }
        if column > most && (byte != b'\n' || at + 1 == bytes.len()) {
            out.extend_from_slice(b"=\n");
            column = 0;
            before = Some(b'\n');
        } else {
            before = Some(byte);
        }
    }
    if column > 0 {
        out.extend_from_slice(b"=\n");
    }
}

fn hex_upper(nibble: u8) -> u8 {
    HEX[usize::from(nibble)].to_ascii_uppercase()
}

/// Decodes `M`.
pub fn from_quoted(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'=' {
            out.push(*byte);
            continue;
        }
        match after {
            [b'\r', b'\n', later @ ..] | [b'\n', later @ ..] => rest = later,
            [high, low, later @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.push(nibble(*high) << 4 | nibble(*low));
                rest = later;
            }
            _ => {
                out.push(b'=');
                out.extend_from_slice(after);
                break;
            }
        }
    }
    out
}

/// `B` and `b`: a text of binary digits as bytes. Only the lowest bit of each character counts.
pub fn bits(out: &mut Vec<u8>, text: &[u8], count: Count, high_first: bool) {
    let wanted = count.or(text.len());
    for group in text[..wanted.min(text.len())].chunks(8) {
        let places = group.iter().enumerate().map(|(at, digit)| (digit & 1) << if high_first { 7 - at } else { at });
        out.push(places.sum());
    }
    // Missing digits count as 0.
    let made = wanted.min(text.len()).div_ceil(8);
    out.resize(out.len() + wanted.div_ceil(8).saturating_sub(made).min(text.len() + 1), 0);
}

/// Decodes `B` and `b`: bytes as a text of binary digits.
pub fn from_bits(bytes: &[u8], count: Count, high_first: bool) -> Vec<u8> {
    let wanted = count.or(bytes.len() * 8).min(bytes.len() * 8);
    let bit = |at: usize| bytes[at / 8] >> if high_first { 7 - at % 8 } else { at % 8 } & 1;
    (0..wanted).map(|at| b'0' + bit(at)).collect()
}

fn nibble(digit: u8) -> u8 {
    if digit.is_ascii_alphabetic() { (digit & 7) + 9 } else { digit & 15 }
}

/// `H` and `h`: a text of hexadecimal digits as bytes.
pub fn nibbles(out: &mut Vec<u8>, text: &[u8], count: Count, high_first: bool) {
    let wanted = count.or(text.len());
    for group in text[..wanted.min(text.len())].chunks(2) {
        let (first, second) = (nibble(group[0]), group.get(1).map_or(0, |digit| nibble(*digit)));
        out.push(if high_first { (first & 15) << 4 | second & 15 } else { (second & 15) << 4 | first & 15 });
    }
    let made = wanted.min(text.len()).div_ceil(2);
    out.resize(out.len() + wanted.div_ceil(2).saturating_sub(made).min(text.len() + 1), 0);
}

/// Decodes `H` and `h`: bytes as a text of hexadecimal digits.
pub fn from_nibbles(bytes: &[u8], count: Count, high_first: bool) -> Vec<u8> {
    let wanted = count.or(bytes.len() * 2).min(bytes.len() * 2);
    let digit = |at: usize| if at.is_multiple_of(2) == high_first { bytes[at / 2] >> 4 } else { bytes[at / 2] & 15 };
    (0..wanted).map(|at| HEX[usize::from(digit(at))]).collect()
}
