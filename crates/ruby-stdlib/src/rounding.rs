//! Rounding of Floats to Integers and to fewer digits, as in CRuby.

use super::float;
use ruby_native::Tree;
use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};

/// Largest Float that is rounded to tens, hundreds and so on (a negative number of digits).
const EXACT_MAX: f64 = 1e30;

fn integer(number: f64) -> Outcome {
    if !number.is_finite() {
        return Err(raise("FloatDomainError", float::print(number)));
    }
    if number.abs() < 9e18 {
        return Ok(Value::Int(number as i64));
    }
    Ok(Value::Tree(Tree::Raw(format!("{number:.0}").into_bytes()).encoded()))
}

/// The digits that rounding leaves: all, none, or those of a power of ten (10 to the number of digits).
enum Kept {
    All,
    None,
    Some(f64),
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
    if digits < -places { Kept::None } else { Kept::Some(10f64.powi(digits as i32)) }
}

/// Rounds argument 0 to the number of digits in argument 1. Where there are digits behind the point, `part` rounds to a
/// Float, and gets the power of ten by which the digits become whole. Else `whole` gets a unit (1, 10, 100 and so on),
/// and returns how many of these the number has.
fn to_digits(args: &[Arg<'_>], whole: impl Fn(f64, f64) -> f64, part: impl Fn(f64, f64) -> f64) -> Outcome {
    let number = arg(args, 0).number()?;
    let digits = match arg(args, 1) {
        Arg::Nil | Arg::Tree(_) => 0,
        digits => digits.int()?,
    };
    if digits == 0 {
        return integer(whole(number, 1.0));
    }
    if digits < 0 {
        if number.abs() > EXACT_MAX {
            return Err(raise("RangeError", "a Float that large is not rounded to tens"));
        }
        let unit = 10f64.powi((-digits).min(300) as i32);
        return integer(whole(number, unit) * unit);
    }
    if !number.is_finite() {
        return Ok(Value::Float(number));
    }
    Ok(Value::Float(match kept(number, digits) {
        Kept::All => number,
        Kept::None => 0.0,
        Kept::Some(unit) => part(number, unit),
    }))
}

/// Float#to_i, Float#to_int and Float#truncate(digits = 0)
pub fn truncated(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let part = |number: f64, unit: f64| if number < 0.0 { up(number, unit) } else { down(number, unit) };
    to_digits(args, |number, unit| (number / unit).trunc(), part)
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
    to_digits(args, |number, unit| (number / unit).floor(), down)
}

/// Float#ceil(digits = 0)
pub fn ceil(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    to_digits(args, |number, unit| (number / unit).ceil(), up)
}

/// The direction in which halves are rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Up,
    Even,
    Down,
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
    let half = half(args)?;
    // As in CRuby, what is behind the point does not count for a rounding to tens.
    let tens = |number: f64, unit: f64| if unit > 1.0 { number.trunc() / unit } else { number };
    let whole = |number, unit| rounded(tens(number, unit), 1.0, half);
    to_digits(args, whole, |number, unit| rounded(number, unit, half) / unit)
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
