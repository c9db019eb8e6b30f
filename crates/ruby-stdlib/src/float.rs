//! Floats as CRuby prints and reads them. They are printed with the fewest digits that read back as the same number.
//! Numbers from 1e-4 to below 1e16 have no exponent, unless that needs zeros before the point.

use ruby_native::{Arg, Context, Outcome, Value, arg};

/// Float#to_s
pub fn to_s(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Str(print(arg(args, 0).number()?).into_bytes()))
}

/// String#to_f: the number at the beginning of a text, 0.0 where there is none.
pub fn to_f(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(Value::Float(read(arg(args, 0).bytes()?).map_or(0.0, |(number, _)| number)))
}

/// `float_of(text)`: the number that a text is; nil for other texts.
pub fn float_of(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(whole(arg(args, 0).bytes()?).map_or(Value::Nil, Value::Float))
}

/// The number that a text is, with nothing but blanks around it; None for other texts.
pub fn whole(text: &[u8]) -> Option<f64> {
    let (number, length) = read(text)?;
    text[length..].iter().all(is_blank).then_some(number)
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The number at the beginning of a text, behind blanks, and the length of both.
fn read(text: &[u8]) -> Option<(f64, usize)> {
    let mut at = text.iter().take_while(|byte| is_blank(byte)).count();
    let mut plain = String::new();
    at += sign(&text[at..], &mut plain);
    let before = digits(&text[at..], &mut plain);
    at += before;
    let mut behind = 0;
    // A point without digits behind it ends the number.
    if text.get(at) == Some(&b'.') && text.get(at + 1).is_some_and(u8::is_ascii_digit) {
        plain.push('.');
        behind = digits(&text[at + 1..], &mut plain);
        at += 1 + behind;
    }
    if before + behind == 0 {
        return None;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let mut power = String::from("e");
        let signs = sign(&text[at + 1..], &mut power);
        let count = digits(&text[at + 1 + signs..], &mut power);
        if count > 0 {
            plain.push_str(&power);
            at += 1 + signs + count;
        }
    }
    plain.parse().ok().map(|number| (number, at))
}

/// Appends the sign at the beginning of a text, and returns its length.
fn sign(text: &[u8], out: &mut String) -> usize {
    let found = text.first().filter(|byte| matches!(byte, b'-' | b'+'));
    out.extend(found.map(|byte| char::from(*byte)));
    usize::from(found.is_some())
}

/// Appends the digits at the beginning of a text, without the single underscores between them. Returns the length of
/// both.
fn digits(text: &[u8], out: &mut String) -> usize {
    let mut length = 0;
    loop {
        let joint = usize::from(length > 0 && text.get(length) == Some(&b'_'));
        let Some(digit) = text.get(length + joint).filter(|byte| byte.is_ascii_digit()) else { return length };
        out.push(char::from(*digit));
        length += joint + 1;
    }
}

/// The text of Float#to_s.
pub fn print(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    if number == 0.0 {
        return if number.is_sign_negative() { "-0.0".into() } else { "0.0".into() };
    }
    let (digits, exponent) = shortest(number.abs());
    let sign = if number < 0.0 { "-" } else { "" };
    // `exponent` is the place of the point. CRuby goes one place further (16) where a digit stands behind the point.
    let plain = match exponent {
        -3..=0 => format!("0.{}{digits}", "0".repeat(-exponent as usize)),
        1..=15 if digits.len() <= exponent as usize => {
            format!("{digits}{}.0", "0".repeat(exponent as usize - digits.len()))
        }
        1..=16 if digits.len() > exponent as usize => {
            format!("{}.{}", &digits[..exponent as usize], &digits[exponent as usize..])
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let rest = if rest.is_empty() { "0" } else { rest };
            let power = exponent - 1;
            format!("{first}.{rest}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
        }
    };
    format!("{sign}{plain}")
}

/// A text of digits, which may have a point, with its last digit raised by one. Nines become zeros and raise the digit
/// before them.
pub fn raised(digits: &str) -> String {
    let mut digits = digits.as_bytes().to_vec();
    for digit in digits.iter_mut().rev() {
        match digit {
            b'.' => {}
            b'9' => *digit = b'0',
            _ => {
                *digit += 1;
                return String::from_utf8_lossy(&digits).into_owned();
            }
        }
    }
    format!("1{}", String::from_utf8_lossy(&digits))
}

/// The shortest digits `d` and the exponent `e` such that the number is 0.d × 10^e.
fn shortest(number: f64) -> (String, i32) {
    let mut buffer = ryu::Buffer::new();
    let printed = buffer.format_finite(number);
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut exponent = exponent.parse::<i32>().unwrap_or(0) + whole.len() as i32;
    let all = format!("{whole}{fraction}");
    let leading = all.len() - all.trim_start_matches('0').len();
    exponent -= leading as i32;
    let digits = all.trim_matches('0').to_owned();
    (digits, exponent)
}

#[cfg(test)]
mod tests {
    use super::print;

    #[test]
    fn floats_print_as_in_cruby() {
        let table = [
            (0.1 + 0.2, "0.30000000000000004"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (1e14, "100000000000000.0"),
            (1e15, "1.0e+15"),
            (1e16, "1.0e+16"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (9007199254740993.0, "9.007199254740992e+15"),
            (123456789012345.6, "123456789012345.6"),
            (1234567890123456.8, "1234567890123456.8"),
            (-1234567890123456.8, "-1234567890123456.8"),
            (1234567890123456.0, "1.234567890123456e+15"),
            (123456789012345.0, "123456789012345.0"),
            (12345678901234568.0, "1.2345678901234568e+16"),
            (999999999999999.9, "999999999999999.9"),
            (0.0001, "0.0001"),
            (0.00001, "1.0e-05"),
            (0.00012345, "0.00012345"),
            (1.25e-4, "0.000125"),
            (1.25e-5, "1.25e-05"),
            (1.25e14, "125000000000000.0"),
            (1.25e15, "1.25e+15"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e100, "1.0e+100"),
            (5e-324, "5.0e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (12345.678, "12345.678"),
            (-0.0, "-0.0"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (number, expected) in table {
            assert_eq!(print(number), expected);
        }
    }
}
