//! Numbers in JSON: finding their end, and their value.

use ruby_native::Tree;

/// The length in bytes of the number at the beginning of `bytes`, and whether it has a fraction or an exponent; None
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

/// The value of a text that [`scan`] has found to be a number.
pub fn value(text: &str, is_float: bool) -> Tree {
    if is_float {
        return Tree::Float(text.parse().unwrap_or(f64::NAN));
    }
    text.parse().map_or_else(|_| Tree::Raw(text.into()), Tree::Int)
}
