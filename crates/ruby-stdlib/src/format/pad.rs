//! Texts and numbers in their width.

use super::directive::Directive;
use ruby_regexp::text;

/// A text in its width, cut to the precision, both of which count characters or bytes.
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

/// A number with what stands before its digits, in its width.
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

/// What stands before a number for its sign.
pub fn sign(directive: &Directive<'_>, negative: bool) -> &'static str {
    match (negative, directive.plus, directive.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}
