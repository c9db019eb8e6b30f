//! The arithmetic of BigDecimal, by the crate bigdecimal. A number crosses the border as text: its digits without
//! trailing zeros, and the power of ten of the last digit, as in `-125e-2`.

use std::cmp::Ordering;

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{BigDecimal, Context as Precision, RoundingMode, Zero};

use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// Most digits of a number; an operation on more would take too long without an interruption.
const DIGITS_MAX: i64 = 50_000;
/// Most digits of a square root, for the same reason.
const ROOT_DIGITS_MAX: i64 = 5_000;
/// Largest power of ten of the last digit, so that sums of a few of them fit in 64 bits.
const EXPONENT_MAX: i64 = 1 << 60;
/// Digits in one word of CRuby's BigDecimal; quotients are rounded at the border of a word.
const WORD: i64 = 9;
/// Least number of digits of a quotient in CRuby.
const QUOTIENT: i64 = 32;

/// A result that may be returned to Ruby once its size is checked.
struct Number(BigDecimal);

impl Number {
    fn of(arg: Arg<'_>) -> Result<BigDecimal, Raise> {
        let text = arg.text()?;
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        if digits.len() as i64 > DIGITS_MAX + 1 {
            return Err(too_long());
        }
        let wrong = || raise("ArgumentError", format!("invalid value for BigDecimal(): \"{text}\""));
        let digits = digits.parse::<BigInt>().map_err(|_| wrong())?;
        let exponent = exponent.parse::<i64>().map_err(|_| wrong())?;
        if exponent.unsigned_abs() > EXPONENT_MAX.unsigned_abs() {
            return Err(too_far());
        }
        Ok(BigDecimal::new(digits, -exponent))
    }

    fn text(self) -> Vec<u8> {
        let (digits, exponent) = self.0.normalized().into_bigint_and_exponent();
        if digits.is_zero() { b"0".to_vec() } else { format!("{digits}e{}", -exponent).into_bytes() }
    }

    fn value(self) -> Outcome {
        if self.0.digits() as i64 > DIGITS_MAX {
            return Err(too_long());
        }
        if self.0.fractional_digit_count().unsigned_abs() > EXPONENT_MAX.unsigned_abs() {
            return Err(too_far());
        }
        Ok(Value::Str(self.text()))
    }
}

fn too_long() -> Raise {
    raise("RangeError", format!("a BigDecimal has at most {DIGITS_MAX} digits here"))
}

fn too_far() -> Raise {
    raise("RangeError", format!("the exponent of a BigDecimal is at most {EXPONENT_MAX} here"))
}

/// The power of ten above the first digit: 3 for 125.
fn magnitude(number: &BigDecimal) -> i64 {
    number.digits() as i64 - number.fractional_digit_count()
}

/// An error where two numbers are so far apart that their sum would have more than `DIGITS_MAX` digits.
fn spanned(left: &BigDecimal, right: &BigDecimal) -> Result<(), Raise> {
    if left.is_zero() || right.is_zero() {
        return Ok(());
    }
    let first = magnitude(left).max(magnitude(right));
    let last = left.fractional_digit_count().max(right.fractional_digit_count());
    if first.saturating_add(last) > DIGITS_MAX { Err(too_long()) } else { Ok(()) }
}

/// The rounding mode of a number of Ruby's (`BigDecimal::ROUND_UP` and so on).
fn mode(arg: Arg<'_>) -> Result<RoundingMode, Raise> {
    Ok(match arg.int()? {
        1 => RoundingMode::Up,
        2 => RoundingMode::Down,
        3 => RoundingMode::HalfUp,
        4 => RoundingMode::HalfDown,
        5 => RoundingMode::Ceiling,
        6 => RoundingMode::Floor,
        7 => RoundingMode::HalfEven,
        _ => return Err(raise("ArgumentError", "invalid rounding mode")),
    })
}

/// `decimal_add(a, b)`: the exact sum.
pub fn add(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (left, right) = (Number::of(arg(args, 0))?, Number::of(arg(args, 1))?);
    spanned(&left, &right)?;
    // Zero has an exponent too, which may be far from that of the other number.
    match (left.is_zero(), right.is_zero()) {
        (true, _) => Number(right).value(),
        (_, true) => Number(left).value(),
        _ => Number(left + right).value(),
    }
}

/// `decimal_mul(a, b)`: the exact product.
pub fn mul(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Number(Number::of(arg(args, 0))? * Number::of(arg(args, 1))?).value()
}

/// `decimal_compare(a, b)`: -1, 0 or 1.
pub fn compare(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (left, right) = (Number::of(arg(args, 0))?, Number::of(arg(args, 1))?);
    let signs = left.sign().cmp(&right.sign());
    let sizes = || match left.sign() {
        Sign::Minus => magnitude(&right).cmp(&magnitude(&left)),
        _ => magnitude(&left).cmp(&magnitude(&right)),
    };
    let order = match signs {
        Ordering::Equal if left.is_zero() => Ordering::Equal,
        Ordering::Equal => sizes().then_with(|| left.cmp(&right)),
        other => other,
    };
    Ok(Value::Int(order as i64))
}

/// `decimal_round(a, digits, mode)`: the number rounded to `digits` behind the point.
pub fn round(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = Number::of(arg(args, 0))?;
    let places = arg(args, 1).int()?;
    let mode = mode(arg(args, 2))?;
    if places >= number.fractional_digit_count() {
        return Number(number).value();
    }
    Number(rounded(&number, places, mode)).value()
}

/// Rounds to `places` behind the point, which may be any number, even far above the first digit.
fn rounded(number: &BigDecimal, places: i64, mode: RoundingMode) -> BigDecimal {
    // Far above the first digit the result depends only on whether it rounds up from zero.
    let lowest = -magnitude(number) - 2;
    if places < lowest {
        let up = rounded(number, lowest, mode);
        return if up.is_zero() {
            up
        } else {
            BigDecimal::new(BigInt::from(if up.sign() == Sign::Minus { -1 } else { 1 }), places)
        };
    }
    number.with_scale_round(places, mode)
}

/// `decimal_limit(a, digits, mode)`: the number rounded to `digits` significant digits.
pub fn limit(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = Number::of(arg(args, 0))?;
    let digits = arg(args, 1).int()?;
    let mode = mode(arg(args, 2))?;
    let places = digits.saturating_sub(magnitude(&number));
    if number.is_zero() || places >= number.fractional_digit_count() {
        return Number(number).value();
    }
    Number(rounded(&number, places, mode)).value()
}

/// `decimal_divide(a, b, digits, mode)`: the quotient rounded to `digits` significant digits; with nil, to as many as
/// CRuby's `/` gives.
pub fn divide(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (left, right) = (Number::of(arg(args, 0))?, Number::of(arg(args, 1))?);
    let mode = mode(arg(args, 3))?;
    if left.is_zero() {
        return Number(left).value();
    }
    let places = match arg(args, 2) {
        Arg::Nil => as_cruby(&left.normalized(), &right.normalized()),
        digits => {
            let digits = digits.int()?;
            if digits > DIGITS_MAX {
                return Err(too_long());
            }
            digits - magnitude(&quotient(&left, &right, 2 - magnitude(&left) + magnitude(&right))?)
        }
    };
    let exact = quotient(&left, &right, places + 2)?;
    Number(rounded(&exact, places, mode)).value()
}

/// Number of digits behind the point of CRuby's quotient, which ends at the border of a word.
fn as_cruby(left: &BigDecimal, right: &BigDecimal) -> i64 {
    let precision = |number: &BigDecimal| (number.digits() as i64).max(magnitude(number)).min(DIGITS_MAX);
    let words = |number: &BigDecimal| -(-magnitude(number)).div_euclid(WORD);
    let digits = (2 * precision(left).max(precision(right))).max(QUOTIENT);
    let count = (digits + 3 * WORD - 1) / WORD - 1;
    WORD * (count - 1 - words(left) + words(right))
}

/// The quotient with `places` digits behind the point and one more, which is 1 if the division leaves a remainder and 0
/// if not: rounded to fewer than `places` digits, it gives the result of the exact quotient.
fn quotient(left: &BigDecimal, right: &BigDecimal, places: i64) -> Result<BigDecimal, Raise> {
    let top = left.as_bigint_and_exponent();
    let below = right.as_bigint_and_exponent();
    let shift = places - top.1 + below.1;
    if shift.abs() > 2 * DIGITS_MAX {
        return Err(too_long());
    }
    let power = BigInt::from(10).pow(shift.unsigned_abs() as u32);
    let (top, below) = if shift >= 0 { (top.0 * power, below.0) } else { (top.0, below.0 * power) };
    let whole = &top / &below;
    let is_exact = &whole * &below == top;
    let negative = (top.sign() == Sign::Minus) != (below.sign() == Sign::Minus);
    let rest = if is_exact {
        0
    } else if negative {
        -1
    } else {
        1
    };
    Ok(BigDecimal::new(whole * 10 + rest, places + 1))
}

/// `decimal_divmod(a, b)`: the quotient rounded down to a whole number, and the remainder.
pub fn divmod(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (left, right) = (Number::of(arg(args, 0))?, Number::of(arg(args, 1))?);
    spanned(&left, &right)?;
    if left.is_zero() {
        return pair(BigDecimal::zero(), BigDecimal::zero());
    }
    let whole = rounded(&quotient(&left, &right, 1)?, 0, RoundingMode::Floor);
    let rest = if whole.is_zero() { left } else { left - &whole * right };
    pair(whole, rest)
}

fn pair(one: BigDecimal, two: BigDecimal) -> Outcome {
    Ok(Value::Tree(Tree::Array(vec![Tree::Str(Number(one).text()), Tree::Str(Number(two).text())]).encoded()))
}

/// Digits of an intermediate result beside those of a rounded power: an exponent of 64 bits multiplies the error of one
/// rounding by less than 10 to the 20th.
const GUARD_DIGITS: i64 = 30;

/// `decimal_power(a, exponent, digits)`: the power, for an exponent from 0 on. It is exact, unless it has too many
/// digits for that and `digits`, the number of significant digits wanted, is not 0.
pub fn power(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = Number::of(arg(args, 0))?;
    let (exponent, wanted) = (arg(args, 1).int()?.max(0), arg(args, 2).int()?.max(0));
    let (digits, scale) = number.normalized().into_bigint_and_exponent();
    // The power of a number of n bits has more than (n - 1) times the exponent bits.
    let length = (digits.bits().max(1) as i128 - 1) * exponent as i128 * 30_103 / 100_000;
    let fits = length <= DIGITS_MAX as i128;
    if !fits && wanted > 0 {
        let number = BigDecimal::new(digits, scale);
        return rounded_power(context, number, exponent, wanted + GUARD_DIGITS);
    }
    let Some(scale) = scale.checked_mul(exponent).filter(|_| fits) else { return Err(too_long()) };
    context.tick()?;
    // Only 1 and -1 have exponents of more than 32 bits here, and the lowest bit alone counts for them.
    Number(BigDecimal::new(digits.pow(exponent as u32), scale)).value()
}

/// The power by squaring, with intermediate results of `digits` significant digits.
fn rounded_power(context: &mut Context<'_>, number: BigDecimal, exponent: i64, digits: i64) -> Outcome {
    if digits > DIGITS_MAX {
        return Err(too_long());
    }
    if (magnitude(&number).abs() as i128 + 1) * exponent as i128 > EXPONENT_MAX as i128 {
        return Err(too_far());
    }
    let short = |one: BigDecimal| rounded(&one, digits - magnitude(&one), RoundingMode::HalfEven);
    let (mut made, mut square, mut left) = (BigDecimal::from(1), number, exponent);
    loop {
        context.tick()?;
        if left & 1 == 1 {
            made = short(made * &square);
        }
        left >>= 1;
        if left == 0 {
            return Number(made).value();
        }
        square = short(square.square());
    }
}

/// `decimal_sqrt(a, digits)`: the square root, to at least 32 digits.
pub fn sqrt(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = Number::of(arg(args, 0))?;
    let digits = arg(args, 1).int()?.max(QUOTIENT);
    if digits > ROOT_DIGITS_MAX {
        return Err(raise("RangeError", format!("a square root has at most {ROOT_DIGITS_MAX} digits here")));
    }
    let digits = digits as u64;
    context.tick()?;
    let Some(precision) = std::num::NonZeroU64::new(digits) else { return Err(too_long()) };
    let root = number.sqrt_with_context(&Precision::new(precision, RoundingMode::HalfUp));
    root.map_or_else(|| Err(raise("FloatDomainError", "sqrt of negative value")), |root| Number(root).value())
}
