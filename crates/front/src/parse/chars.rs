//! Character classes of HTTP, by RFC 9110 and RFC 9112.

/// Whether the byte may be part of a token (RFC 9110 section 5.6.2): a method, a header name, a transfer coding.
pub(crate) fn is_token(byte: u8) -> bool {
    TOKENS[usize::from(byte)]
}

/// Whether the bytes may be part of a header's value: no control characters but tab (RFC 9110 section 5.5). Bytes above
/// ASCII are allowed, and opaque.
pub(crate) fn are_text(bytes: &[u8]) -> bool {
    // Without a branch per byte, so that the compiler vectorises it.
    !bytes.iter().fold(false, |is_bad, byte| is_bad | ((*byte < b' ') & (*byte != b'\t')) | (*byte == 0x7f))
}

/// Whether the byte may be part of a host's name: unreserved characters, percent and sub-delims (RFC 3986 sections 2.2
/// and 3.2.2).
pub(crate) fn is_host_name(byte: u8) -> bool {
    HOST_NAMES[usize::from(byte)]
}

/// The number in decimal digits, nineteen at most, which always fit into 64 bits; `None` for anything else.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.len() <= 19 && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

const TOKENS: [bool; 256] = alphanumerics_and(b"!#$%&'*+-.^_`|~");
const HOST_NAMES: [bool; 256] = alphanumerics_and(b"-._~%!$&'()*+,;=");

/// A table of the letters and digits of ASCII, and some other bytes.
const fn alphanumerics_and(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_what_the_grammar_says() {
        let tokens: String = (0..=255).filter(|byte| is_token(*byte)).map(char::from).collect();
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ^_`abcdefghijklmnopqrstuvwxyz";
        assert_eq!(tokens, format!("!#$%&'*+-.0123456789{letters}|~"));
        let refused: Vec<u8> = (0..=255).filter(|byte| !are_text(&[b'a', *byte, b'b'])).collect();
        assert_eq!(refused, (0..=8).chain(10..32).chain([127]).collect::<Vec<u8>>());
        // A second one does not make up for the first.
        assert!(!are_text(b"\x01\x01") && !are_text(b"\x7f\x7f"));
    }
}
