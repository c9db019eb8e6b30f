//! Padding of texts and numbers to the width of a directive.

use super::directive::Directive;
use ruby_regexp::text;

/// Appends a text, cut to the precision and padded to the width. Both count characters, or with `bytes` bytes.
pub fn pad_text(out: &mut Vec<u8>, directive: &Directive<'_>, text: &[u8], bytes: bool) {
    let offset = |most| if bytes { Some(most).filter(|most| *most <= text.len()) } else { text::offset(text, most) };
    let text = directive.precision.and_then(offset).map_or(text, |end| &text[..end]);
    let length = if bytes { text.len() } else { text::count(text) };
    let blanks = directive.width.unwrap_or(0).saturating_sub(length);
    if !directive.left {
        out.extend(std::iter::repeat_n(b' ', blanks));
    }
    out.extend_from_slice(text);
    if directive.left {
        out.extend(std::iter::repeat_n(b' ', blanks));
    }
}

/// Appends a number, padded to the width: sign and prefix (`before`), then digits. `zeros` allows the directive's flag
/// `0`.
pub fn pad_number(out: &mut Vec<u8>, directive: &Directive<'_>, before: &str, digits: &str, zeros: bool) {
    let room = directive.width.unwrap_or(0).saturating_sub(before.len() + digits.len());
    let zeros = zeros && directive.zero && !directive.left;
    if !directive.left && !zeros {
        out.extend(std::iter::repeat_n(b' ', room));
    }
    out.extend_from_slice(before.as_bytes());
    if zeros {
        out.extend(std::iter::repeat_n(b'0', room));
    }
    out.extend_from_slice(digits.as_bytes());
    if directive.left {
        out.extend(std::iter::repeat_n(b' ', room));
    }
}

/// The sign, plus or blank before a number.
pub fn sign(directive: &Directive<'_>, negative: bool) -> &'static str {
    match (negative, directive.plus, directive.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}
