//! Float directives of a format (`%f`, `%e`, `%g`, `%a`): all digits are exact. Ties, and numbers that CRuby takes for
//! ties, are rounded to even.

use super::directive::Directive;
use super::pad::{pad_number, sign};
use super::plain_float;
use ruby_native::{Raise, Tree, raise};

/// Appends a value as a directive says. An Integer keeps all its digits with `%f`; other values become Floats.
pub fn put(out: &mut Vec<u8>, directive: &Directive<'_>, value: &Tree) -> Result<(), Raise> {
    match value {
        Tree::Int(number) if directive.letter == b'f' => put_integer(out, directive, &number.to_string()),
        Tree::Raw(digits) if directive.letter == b'f' => put_integer(out, directive, &String::from_utf8_lossy(digits)),
        _ => put_float(out, directive, of(value)?),
    }
    Ok(())
}

/// The Float that a value is converted to; TypeError or ArgumentError for others, as from Kernel#Float.
fn of(value: &Tree) -> Result<f64, Raise> {
    match value {
        Tree::Float(number) => Ok(*number),
        Tree::Int(number) => Ok(*number as f64),
        Tree::Raw(digits) => Ok(String::from_utf8_lossy(digits).parse().unwrap_or(f64::INFINITY)),
        Tree::Str(text) | Tree::Bytes(text) => {
            let wrong = || format!("invalid value for Float(): {:?}", String::from_utf8_lossy(text));
            plain_float::whole(text).ok_or_else(|| raise("ArgumentError", wrong()))
        }
        Tree::Nil => Err(raise("TypeError", "can't convert nil into Float")),
        _ => Err(raise("TypeError", "can't convert this into Float")),
    }
}

/// Appends an Integer of any size with the places of `%f`.
fn put_integer(out: &mut Vec<u8>, directive: &Directive<'_>, text: &str) {
    let size = text.trim_start_matches('-');
    let places = directive.precision.unwrap_or(6);
    let digits = format!("{size}{}{}", if places > 0 { "." } else { "" }, "0".repeat(places));
    pad_number(out, directive, sign(directive, size.len() < text.len()), &digits, true);
}

fn put_float(out: &mut Vec<u8>, directive: &Directive<'_>, number: f64) {
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

/// Most digits for which CRuby's conversion (`dtoa`) tries Float arithmetic first; with more it is always exact.
const QUICK_DIGITS_MAX: i32 = 14;
/// Digits that a text has behind the wanted ones, so that it can be cut off instead of rounded.
const MORE: usize = 30;
/// The powers of ten by which a number is scaled, besides those below 16.
const POWERS: [f64; 5] = [1e16, 1e32, 1e64, 1e128, 1e256];

/// The power of ten of a number's first digit.
fn exponent(size: f64) -> i32 {
    format!("{size:e}").split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

/// Whether the last of the first `count` digits is odd, if CRuby's Float arithmetic cannot tell the rest behind them
/// from a half; None for any other rest. CRuby rounds such a number to the even digit, although its exact rest may be
/// more or less than a half: 2.675, which is a little less, becomes 2.68, and 2.665 becomes 2.66.
fn odd_before_half(size: f64, power: i32, count: i32) -> Option<bool> {
    if !(1..=QUICK_DIGITS_MAX).contains(&count) {
        return None;
    }
    let low = 10f64.powi(power.abs() % 16);
    let high = POWERS.iter().enumerate().filter(|(bit, _)| power.abs() >> (4 + bit) & 1 == 1).map(|(_, unit)| *unit);
    let steps = high.clone().count() as f64;
    let mut rest = match power < 0 {
        true => high.fold(size * low, |size, unit| size * unit),
        false => high.fold(size / low, |size, unit| size / unit),
    };
    // The bound of dtoa for the errors of its arithmetic: each scaling adds to it.
    let error = ((2.0 + steps) * rest + 7.0) * f64::EPSILON * 10f64.powi(count - 1);
    let mut digit = rest.trunc();
    for _ in 1..count {
        rest = (rest - digit) * 10.0;
        digit = rest.trunc();
    }
    rest -= digit;
    (0.5 - error..=0.5 + error).contains(&rest).then_some(digit % 2.0 == 1.0)
}

/// A text of digits without the last [`MORE`] of them, raised by one where the last digit left is odd.
fn to_even(long: &str, is_odd: bool) -> String {
    let kept = long[..long.len().saturating_sub(MORE)].trim_end_matches('.');
    if is_odd { plain_float::raised(kept) } else { kept.to_owned() }
}

fn fixed(size: f64, precision: usize, point: bool) -> String {
    let places = precision.min(DIGITS_MAX);
    let power = exponent(size);
    let mut text = match odd_before_half(size, power, places as i32 + 1 + power) {
        Some(is_odd) => to_even(&format!("{size:.0$}", places + MORE), is_odd),
        None => format!("{size:.places$}"),
    };
    text.extend(zeros(precision));
    if point && precision == 0 {
        text.push('.');
    }
    text
}

/// The mantissa with `precision` digits behind the point, and the power of ten.
fn split(size: f64, precision: usize) -> (String, i32) {
    let places = precision.min(DIGITS_MAX);
    let half = odd_before_half(size, exponent(size), places as i32 + 1);
    let text = format!("{size:.0$e}", places + if half.is_some() { MORE } else { 0 });
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let mut power: i32 = power.parse().unwrap_or(0);
    let mut mantissa = half.map_or_else(|| digits.to_owned(), |is_odd| to_even(digits, is_odd));
    if mantissa.starts_with("10") {
        // Nines that were raised.
        mantissa.remove(1);
        power += 1;
    }
    mantissa.extend(zeros(precision));
    (mantissa, power)
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
