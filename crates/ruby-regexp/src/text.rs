//! Characters of text that is usually UTF-8, counted as in mruby: a byte that belongs to no valid character counts as
//! one.

/// Code of a byte that belongs to no valid character: above that of all characters.
const BROKEN: u32 = 0x11_0000;

/// Bytes of the character at byte `at`, which must be in the text.
pub fn char_length(text: &[u8], at: usize) -> usize {
    let length = match text[at] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return 1,
    };
    match text.get(at + 1..at + length) {
        Some(rest) if rest.iter().all(|byte| byte & 0xc0 == 0x80) => length,
        _ => 1,
    }
}

/// The code of the character at byte `at`, which must be in the text, and its length in bytes.
pub fn decode(text: &[u8], at: usize) -> (u32, usize) {
    let length = char_length(text, at);
    let lead = u32::from(text[at]);
    let code = match length {
        1 if lead < 0x80 => lead,
        2 => lead & 0x1f,
        3 => lead & 0x0f,
        4 => lead & 0x07,
        _ => return (BROKEN, 1),
    };
    let code = text[at + 1..at + length].iter().fold(code, |code, byte| code << 6 | u32::from(byte & 0x3f));
    (code, length)
}

/// The byte where the character before byte `at` begins; 0 at the start.
pub fn before(text: &[u8], at: usize) -> usize {
    let mut begin = at.saturating_sub(1);
    while begin > 0 && at - begin < 4 && text[begin] & 0xc0 == 0x80 {
        begin -= 1;
    }
    if begin + char_length(text, begin.min(text.len().saturating_sub(1))) == at { begin } else { at.saturating_sub(1) }
}

/// Number of characters in a text.
pub fn count(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let mut at = 0;
    let mut count = 0;
    while at < text.len() {
        at += char_length(text, at);
        count += 1;
    }
    count
}

/// The byte where the character with this number (from 0) begins; None beyond the end.
pub fn offset(text: &[u8], number: usize) -> Option<usize> {
    if number <= text.len() && text[..number].is_ascii() {
        return Some(number);
    }
    let mut at = 0;
    for _ in 0..number {
        if at >= text.len() {
            return None;
        }
        at += char_length(text, at);
    }
    Some(at)
}
