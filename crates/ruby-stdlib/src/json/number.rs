//! Numbers in JSON: where one ends, and what it is.

use ruby_native::Tree;

/// How many bytes of a number stand at the beginning of a text, and whether it has a fraction or an exponent; none
/// where there is no number.
pub fn scan(bytes: &[u8]) -> Option<(usize, bool)> {
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let start = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(start);
    if whole == 0 || (whole > 1 && bytes[start] == b'0') {
        return None;
    }
    let mut end = start + whole;
    let mut is_float = false;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if fraction == 0 {
            return None;
        }
        end += 1 + fraction;
        is_float = true;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let power = digits(end + 1 + sign);
        if power == 0 {
            return None;
        }
        end += 1 + sign + power;
        is_float = true;
    }
    Some((end, is_float))
}

/// The number in a text that is one.
pub fn value(text: &str, is_float: bool) -> Tree {
    if is_float {
        return Tree::Float(text.parse().unwrap_or(f64::NAN));
    }
    text.parse().map_or_else(|_| Tree::Raw(text.into()), Tree::Int)
}
