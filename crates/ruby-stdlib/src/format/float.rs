//! Float directives of a format (`%f`, `%e`, `%g`, `%a`): all digits are exact, and ties are rounded to even.

use super::directive::Directive;
use super::pad::{pad_number, sign};
use ruby_native::Tree;
use ruby_native::{Raise, raise};

/// The Float that a value is converted to; TypeError or ArgumentError for others, as from Kernel#Float.
pub fn of(value: &Tree) -> Result<f64, Raise> {
    match value {
        Tree::Float(number) => Ok(*number),
        Tree::Int(number) => Ok(*number as f64),
        Tree::Raw(digits) => Ok(String::from_utf8_lossy(digits).parse().unwrap_or(f64::INFINITY)),
        Tree::Str(text) | Tree::Bytes(text) => {
            let text = String::from_utf8_lossy(text).into_owned();
            let plain = text.trim().replace('_', "");
            let starts = plain.trim_start_matches(['-', '+']).starts_with(|first: char| first.is_ascii_digit());
            plain
                .parse()
                .ok()
                .filter(|_| starts)
                .ok_or_else(|| raise("ArgumentError", format!("invalid value for Float(): {text:?}")))
        }
        Tree::Nil => Err(raise("TypeError", "can't convert nil into Float")),
        _ => Err(raise("TypeError", "can't convert this into Float")),
    }
}

/// Appends a number as a directive says.
pub fn put(out: &mut Vec<u8>, directive: &Directive<'_>, number: f64) {
    let before = sign(directive, number.is_sign_negative() && !number.is_nan());
    if !number.is_finite() {
        let text = if number.is_nan() { "NaN" } else { "Inf" };
        return pad_number(out, directive, before, text, false);
    }
    let size = number.abs();
    let mut digits = match directive.letter {
        b'f' => fixed(size, directive.precision.unwrap_or(6), directive.other),
        b'e' | b'E' => powered(size, directive.precision.unwrap_or(6), directive.other),
        b'g' | b'G' => general(size, directive.precision.unwrap_or(6).max(1), directive.other),
        _ => hexadecimal(size, directive.precision, directive.other),
    };
    let mut before = before.to_owned();
    if matches!(directive.letter, b'a' | b'A') {
        before.push_str("0x");
    }
    if directive.letter.is_ascii_uppercase() {
        digits.make_ascii_uppercase();
        before.make_ascii_uppercase();
    }
    pad_number(out, directive, &before, &digits, true);
}

/// Most digits of a Float; all digits behind are zeros, which are added here, since Rust formats at most 65535.
const DIGITS_MAX: usize = 1100;

fn zeros(precision: usize) -> impl Iterator<Item = char> {
    std::iter::repeat_n('0', precision.saturating_sub(DIGITS_MAX))
}

fn fixed(size: f64, precision: usize, point: bool) -> String {
    let mut text = format!("{size:.0$}", precision.min(DIGITS_MAX));
    text.extend(zeros(precision));
    if point && precision == 0 {
        text.push('.');
    }
    text
}

/// The mantissa with `precision` digits behind the point, and the power of ten.
fn split(size: f64, precision: usize) -> (String, i32) {
    let text = format!("{size:.0$e}", precision.min(DIGITS_MAX));
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.chars().chain(zeros(precision)).collect(), power.parse().unwrap_or(0))
}

fn with_power(mantissa: &str, power: i32) -> String {
    format!("{mantissa}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}

fn powered(size: f64, precision: usize, point: bool) -> String {
    let (mut mantissa, power) = split(size, precision);
    if point && precision == 0 {
        mantissa.push('.');
    }
    with_power(&mantissa, power)
}

/// `%g`: as `%e` or `%f` by the exponent, without zeros at the end unless `keep_zeros`.
fn general(size: f64, precision: usize, keep_zeros: bool) -> String {
    let (mantissa, power) = split(size, precision - 1);
    let trim = |text: String| {
        if keep_zeros || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if power < -4 || power >= precision as i32 {
        let point = if keep_zeros && precision == 1 { "." } else { "" };
        return with_power(&(trim(mantissa) + point), power);
    }
    trim(fixed(size, (precision as i32 - 1 - power) as usize, keep_zeros))
}

fn hexadecimal(size: f64, precision: Option<usize>, point: bool) -> String {
    let bits = size.to_bits();
    let mut mantissa = bits & ((1 << 52) - 1);
    let mut power = (bits >> 52) as i32 - 1023;
    let mut first = 1;
    if power == -1023 {
        (first, power) = (0, if mantissa == 0 { 0 } else { -1022 });
    }
    if let Some(digits) = precision.filter(|digits| *digits < 13) {
        let unit = 1u64 << (52 - 4 * digits);
        let rest = mantissa % unit;
        mantissa -= rest;
        if rest * 2 > unit || (rest * 2 == unit && mantissa / unit % 2 == 1) {
            mantissa += unit;
        }
        first += mantissa >> 52;
        mantissa &= (1 << 52) - 1;
    }
    let all = format!("{mantissa:013x}");
    let digits = precision
        .map_or_else(|| all.trim_end_matches('0').to_owned(), |count| format!("{all:0<count$}")[..count].to_owned());
    let point = if digits.is_empty() && !point { "" } else { "." };
    format!("{first}{point}{digits}p{power:+}")
}
