//! Rounding of Floats to Integers and to fewer digits, as in CRuby.

use std::cmp::Ordering;

use super::float;
use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// Most digits behind the point for which CRuby rounds by Float arithmetic; more are cut from the exact text.
const QUICK_DIGITS_MAX: i64 = 14;
/// Most digits behind the point of any Float.
const PLACES_MAX: usize = 1074;
/// Most zeros of a rounding to tens, hundreds and so on. A Float has at most 309 digits before the point.
const ZEROS_MAX: u64 = 1 << 16;

fn integer(number: f64) -> Outcome {
    if !number.is_finite() {
        return Err(raise("FloatDomainError", float::print(number)));
    }
    if number.abs() < 9e18 {
        return Ok(Value::Int(number as i64));
    }
    Ok(Value::Tree(Tree::Raw(format!("{number:.0}").into_bytes()).encoded()))
}

/// The digits that rounding leaves.
enum Kept {
    All,
    None,
    Some,
}

/// The digits that are left with `digits` behind the point. A Float has 17 digits, and its exponent gives the place of
/// the first.
fn kept(number: f64, digits: i64) -> Kept {
    let exponent = if number == 0.0 { 0 } else { ((number.to_bits() >> 52 & 0x7ff) as i64) - 1022 };
    let places = if exponent > 0 { exponent / 4 } else { exponent / 3 - 1 };
    if digits >= 17 - places {
        return Kept::All;
    }
    let places = if exponent > 0 { exponent / 3 + 1 } else { exponent / 4 };
    if digits < -places { Kept::None } else { Kept::Some }
}

/// A direction of rounding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Floor,
    Ceil,
    Truncate,
    Nearest(Half),
}

/// The direction in which halves are rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Up,
    Even,
    Down,
}

impl Way {
    /// The whole number that a number is rounded to.
    fn whole(self, number: f64) -> f64 {
        match self {
            Way::Floor => number.floor(),
            Way::Ceil => number.ceil(),
            Way::Truncate => number.trunc(),
            Way::Nearest(half) => rounded(number, 1.0, half),
        }
    }

    /// A number rounded to digits behind the point. `unit` is the power of ten that makes these digits whole.
    fn part(self, number: f64, unit: f64) -> f64 {
        match self {
            Way::Floor => down(number, unit),
            Way::Ceil => up(number, unit),
            Way::Truncate if number < 0.0 => up(number, unit),
            Way::Truncate => down(number, unit),
            Way::Nearest(half) => rounded(number, unit, half) / unit,
        }
    }

    /// Whether a number is rounded away from zero, of whose digits `kept` stay and `rest` are cut off.
    fn raises(self, negative: bool, kept: &str, rest: &str) -> bool {
        let rest = rest.trim_end_matches('0');
        if rest.is_empty() {
            return false;
        }
        match self {
            Way::Floor => negative,
            Way::Ceil => !negative,
            Way::Truncate => false,
            Way::Nearest(half) => match rest.cmp("5") {
                Ordering::Less => false,
                Ordering::Greater => true,
                Ordering::Equal => match half {
                    Half::Up => true,
                    Half::Down => false,
                    Half::Even => kept.bytes().last().is_some_and(|digit| digit % 2 == 1),
                },
            },
        }
    }
}

/// The digits of a number without the last `count`, rounded. There are more than `count` digits.
fn cut(digits: &str, count: usize, negative: bool, way: Way) -> String {
    let (kept, rest) = digits.split_at(digits.len().saturating_sub(count));
    if way.raises(negative, kept, rest) { float::raised(kept) } else { kept.to_owned() }
}

/// Rounds a number to tens, hundreds and so on, by the number of zeros; the result is an Integer of any size. As in
/// CRuby, the digits behind the point do not count for the nearest one.
fn to_tens(number: f64, zeros: u64, way: Way) -> Outcome {
    let whole = match way {
        Way::Nearest(_) => number.trunc(),
        way => way.whole(number),
    };
    if !whole.is_finite() {
        return integer(whole);
    }
    if zeros > ZEROS_MAX {
        return Err(raise("RangeError", "a Float is not rounded to that many zeros"));
    }
    let zeros = zeros as usize;
    let digits = format!("{:.0}", whole.abs());
    let digits = "0".repeat((zeros + 1).saturating_sub(digits.len())) + &digits;
    let kept = cut(&digits, zeros, whole < 0.0, way);
    let kept = kept.trim_start_matches('0');
    if kept.is_empty() {
        return Ok(Value::Int(0));
    }
    let text = format!("{}{kept}{}", if whole < 0.0 { "-" } else { "" }, "0".repeat(zeros));
    Ok(text.parse::<i64>().map_or_else(|_| Value::Tree(Tree::Raw(text.into_bytes()).encoded()), Value::Int))
}

/// The nearest number with more than [`QUICK_DIGITS_MAX`] digits behind the point. CRuby rounds the exact fraction, and
/// divides Integers of 64 bits as Floats, without their common divisor.
fn to_places(number: f64, places: usize, way: Way) -> f64 {
    let text = format!("{:.1$}", number.abs(), places.max(PLACES_MAX));
    let point = text.find('.').unwrap_or(text.len());
    let digits = text.replace('.', "");
    let kept = cut(&digits, digits.len() - point - places, number.is_sign_negative(), way);
    let size = match (kept.parse::<u64>(), 10u64.checked_pow(places as u32)) {
        (Ok(above), Some(below)) if places <= 18 => {
            let common = divisor(above, below);
            (above / common) as f64 / (below / common) as f64
        }
        _ => format!("{kept}e-{places}").parse().unwrap_or(f64::NAN),
    };
    size.copysign(number)
}

/// The greatest common divisor, of which the second number is not 0.
fn divisor(mut one: u64, mut other: u64) -> u64 {
    while one != 0 {
        (one, other) = (other % one, one);
    }
    other
}

/// Rounds argument 0 to the number of digits in argument 1. The result is a Float if there are digits behind the point,
/// else an Integer.
fn to_digits(args: &[Arg<'_>], way: Way) -> Outcome {
    let number = arg(args, 0).number()?;
    let digits = match arg(args, 1) {
        Arg::Nil | Arg::Tree(_) => 0,
        digits => digits.int()?,
    };
    if digits < 0 {
        return to_tens(number, digits.unsigned_abs(), way);
    }
    if digits == 0 {
        return integer(way.whole(number));
    }
    if !number.is_finite() {
        return Ok(Value::Float(number));
    }
    // Away from zero, a number that is too small for the digits becomes the last of them.
    let away = (way == Way::Floor && number < 0.0) || (way == Way::Ceil && number > 0.0);
    Ok(Value::Float(match kept(number, digits) {
        Kept::All => number,
        Kept::None if !away => 0.0,
        _ if digits > QUICK_DIGITS_MAX && matches!(way, Way::Nearest(_)) => to_places(number, digits as usize, way),
        _ => way.part(number, 10f64.powi(digits as i32)),
    }))
}

/// Float#to_i, Float#to_int and Float#truncate(digits = 0)
pub fn truncated(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    to_digits(args, Way::Truncate)
}

fn down(number: f64, unit: f64) -> f64 {
    let scaled = (number * unit).floor();
    if (scaled + 1.0) / unit > number { scaled / unit } else { (scaled + 1.0) / unit }
}

fn up(number: f64, unit: f64) -> f64 {
    let scaled = (number * unit).ceil();
    if (scaled - 1.0) / unit < number { scaled / unit } else { (scaled - 1.0) / unit }
}

/// Float#floor(digits = 0)
pub fn floor(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    to_digits(args, Way::Floor)
}

/// Float#ceil(digits = 0)
pub fn ceil(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    to_digits(args, Way::Ceil)
}

fn half(args: &[Arg<'_>]) -> Result<Half, Raise> {
    let Some(Arg::Tree(bytes)) = args.iter().skip(1).find(|arg| matches!(arg, Arg::Tree(_))) else {
        return Ok(Half::Up);
    };
    let Ok(Tree::Hash(pairs)) = Tree::decode(bytes) else { return Ok(Half::Up) };
    match pairs.first().map(|(_, mode)| mode) {
        None | Some(Tree::Nil) => Ok(Half::Up),
        Some(Tree::Sym(mode) | Tree::Str(mode)) => match mode.to_ascii_lowercase().as_slice() {
            b"up" => Ok(Half::Up),
            b"even" => Ok(Half::Even),
            b"down" => Ok(Half::Down),
            _ => Err(raise("ArgumentError", format!("invalid rounding mode: {}", String::from_utf8_lossy(mode)))),
        },
        _ => Err(raise("ArgumentError", "invalid rounding mode")),
    }
}

/// Float#round(digits = 0, half: :up)
pub fn round(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    to_digits(args, Way::Nearest(half(args)?))
}

/// Rounds `number * unit` to a whole number. Since the product may have been rounded itself, the division back shows
/// whether the number is a half. As in CRuby, the Float nearest to a half counts as one.
fn rounded(number: f64, unit: f64, half: Half) -> f64 {
    let size = number.abs();
    let near = (size * unit).round();
    let found = match half {
        Half::Up if unit > 1.0 && (near + 0.5) / unit <= size => near + 1.0,
        Half::Down if (near - 0.5) / unit >= size => near - 1.0,
        Half::Even if size.is_finite() => to_even(size, unit),
        _ => near,
    };
    found.copysign(number)
}

/// Rounds a positive number, a half to the even neighbour. The whole part is multiplied apart from the fraction, as in
/// CRuby: the product of the fraction alone is more precise.
fn to_even(size: f64, unit: f64) -> f64 {
    let part = size.fract() * unit;
    let low = size.trunc() * unit + part.floor();
    let rest = part - part.floor();
    if rest == 0.5 || (rest < 0.5 && (low + 0.5) / unit <= size) {
        low + low % 2.0
    } else if rest > 0.5 {
        low + 1.0
    } else {
        low
    }
}
