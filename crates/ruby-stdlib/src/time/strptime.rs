//! strptime for Date and Time: the fields of a text that has a given format.

use super::known::{Known, nanoseconds, offset};
use ruby_native::{Arg, Context, Outcome, Tree, Value, arg};

pub const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
pub const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
/// Most digits of a number.
const DIGITS_MAX: usize = 18;

/// `date_strptime(text, format)`: a Hash of the fields, or nil where the text does not have the format.
pub fn strptime(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (text, format) = (arg(args, 0).text()?, arg(args, 1).text()?);
    let mut scan = Scan { rest: &text, known: Known::default() };
    if scan.format(&format).is_none() {
        return Ok(Value::Nil);
    }
    let Scan { rest, mut known } = scan;
    if !rest.is_empty() {
        known.put("leftover", Tree::Str(rest.as_bytes().to_vec()));
    }
    if let Some(century) = known.get("_century") {
        known.remove("_century");
        for name in ["cwyear", "year"] {
            if let Some(year) = known.get(name) {
                known.set(name, century.saturating_mul(100).saturating_add(year.rem_euclid(100)));
            }
        }
    }
    if let (Some(half), Some(hour)) = (known.get("_half"), known.get("hour")) {
        known.set("hour", hour % 12 + half);
    }
    known.remove("_half");
    Ok(known.hash())
}

struct Scan<'a> {
    rest: &'a str,
    known: Known,
}

impl<'a> Scan<'a> {
    fn format(&mut self, format: &str) -> Option<()> {
        let mut chars = format.char_indices().peekable();
        while let Some((start, char)) = chars.next() {
            if char.is_ascii_whitespace() {
                self.rest = self.rest.trim_start();
                continue;
            }
            if char != '%' {
                self.rest = self.rest.strip_prefix(char)?;
                continue;
            }
            // A `%` at the end stands for itself.
            let (mut at, mut letter) = chars.next().unwrap_or((start, '%'));
            while matches!(letter, 'E' | 'O' | '-' | '0' | '^' | '#' | '_' | ':') {
                (at, letter) = chars.next()?;
            }
            // A number has a fixed width where more digits follow it in the format.
            let tight = format[at + letter.len_utf8()..].chars().next().is_some_and(|next| {
                next.is_ascii_digit()
                    || (next == '%' && !"sQzZapbBhAPt n%".contains(format[at..].chars().nth(2).unwrap_or(' ')))
            });
            self.directive(letter, tight)?;
        }
        Some(())
    }

    fn directive(&mut self, letter: char, tight: bool) -> Option<()> {
        match letter {
            'A' | 'a' => self.name("wday", &DAYS, 0)?,
            'B' | 'b' | 'h' => self.name("mon", &MONTHS, 1)?,
            'C' => self.number("_century", if tight { 2 } else { DIGITS_MAX }, i64::MIN..=i64::MAX)?,
            'd' | 'e' => self.number("mday", 2, 1..=31)?,
            'H' | 'k' => self.number("hour", 2, 0..=24)?,
            'I' | 'l' => self.number("hour", 2, 1..=12)?,
            'j' => self.number("yday", 3, 1..=366)?,
            'M' => self.number("min", 2, 0..=59)?,
            'm' => self.number("mon", 2, 1..=12)?,
            'S' => self.number("sec", 2, 0..=60)?,
            'U' => self.number("wnum0", 2, 0..=53)?,
            'W' => self.number("wnum1", 2, 0..=53)?,
            'u' => self.number("cwday", 1, 1..=7)?,
            'w' => self.number("wday", 1, 0..=6)?,
            'V' => self.number("cweek", 2, 1..=53)?,
            'G' => self.number("cwyear", if tight { 4 } else { DIGITS_MAX }, i64::MIN..=i64::MAX)?,
            'Y' => self.number("year", if tight { 4 } else { DIGITS_MAX }, i64::MIN..=i64::MAX)?,
            'g' | 'y' => self.short_year(if letter == 'g' { "cwyear" } else { "year" })?,
            'L' | 'N' => self.fraction(if tight { if letter == 'L' { 3 } else { 9 } } else { usize::MAX })?,
            'P' | 'p' => self.half()?,
            's' => self.number("seconds", DIGITS_MAX, i64::MIN..=i64::MAX)?,
            'Q' => self.milliseconds()?,
            'z' | 'Z' => self.zone()?,
            'n' | 't' => self.rest = self.rest.trim_start(),
            '%' => self.rest = self.rest.strip_prefix('%')?,
            other => {
                let whole = match other {
                    'c' => "%a %b %e %H:%M:%S %Y",
                    'D' | 'x' => "%m/%d/%y",
                    'F' => "%Y-%m-%d",
                    'R' => "%H:%M",
                    'r' => "%I:%M:%S %p",
                    'T' | 'X' => "%H:%M:%S",
                    'v' => "%e-%b-%Y",
                    '+' => "%a %b %e %H:%M:%S %Z %Y",
                    _ => {
                        self.rest = self.rest.strip_prefix('%')?.strip_prefix(other)?;
                        return Some(());
                    }
                };
                self.format(whole)?;
            }
        }
        Some(())
    }

    fn digits(&mut self, most: usize) -> Option<&'a str> {
        let length = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        (length > 0).then_some(digits)
    }

    fn integer(&mut self, most: usize) -> Option<i64> {
        let sign = if self.rest.starts_with('-') { -1 } else { 1 };
        self.rest = self.rest.strip_prefix(['-', '+']).unwrap_or(self.rest);
        Some(sign * self.digits(most.min(DIGITS_MAX))?.parse::<i64>().ok()?)
    }

    fn number(&mut self, name: &'static str, most: usize, range: std::ops::RangeInclusive<i64>) -> Option<()> {
        let number = if *range.start() == i64::MIN {
            self.integer(most)?
        } else {
            // A blank may stand for a zero.
            let blank = most == 2 && self.rest.starts_with(' ');
            self.rest = if blank { &self.rest[1..] } else { self.rest };
            self.digits(most - usize::from(blank))?.parse().ok()?
        };
        range.contains(&number).then(|| self.known.set(name, number))
    }

    fn short_year(&mut self, name: &'static str) -> Option<()> {
        let number: i64 = self.digits(2)?.parse().ok()?;
        let century = if number >= 69 { 1900 } else { 2000 };
        self.known.set(name, number + if self.known.get("_century").is_some() { 0 } else { century });
        Some(())
    }

    fn name(&mut self, field: &'static str, names: &[&str], first: i64) -> Option<()> {
        let lower = self.rest.to_ascii_lowercase();
        let at = names.iter().position(|name| lower.starts_with(&name[..3]))?;
        let whole = lower.starts_with(names[at]);
        self.rest = &self.rest[if whole { names[at].len() } else { 3 }..];
        self.known.set(field, at as i64 + first);
        Some(())
    }

    fn fraction(&mut self, most: usize) -> Option<()> {
        self.rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let digits = self.digits(most)?;
        self.known.set("_fraction", nanoseconds(digits));
        Some(())
    }

    fn milliseconds(&mut self) -> Option<()> {
        let number = self.integer(DIGITS_MAX)?;
        self.known.set("seconds", number.div_euclid(1000));
        self.known.set("_fraction", number.rem_euclid(1000) * 1_000_000);
        Some(())
    }

    fn half(&mut self) -> Option<()> {
        let lower: String = self.rest.chars().take(4).collect::<String>().to_ascii_lowercase();
        let found = [("a.m.", 0), ("p.m.", 12), ("am", 0), ("pm", 12)];
        let (text, half) = found.iter().find(|(text, _)| lower.starts_with(text))?;
        self.rest = &self.rest[text.len()..];
        self.known.set("_half", *half);
        Some(())
    }

    fn zone(&mut self) -> Option<()> {
        let rest = self.rest;
        let signed = rest.trim_start_matches(|char: char| char.is_ascii_alphabetic());
        let prefix = &rest[..rest.len() - signed.len()];
        let is_signed =
            signed.starts_with(['+', '-']) && matches!(prefix.to_ascii_lowercase().as_str(), "" | "gmt" | "utc" | "ut");
        let length = if is_signed {
            let number = signed[1..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
            prefix.len() + 1 + number
        } else {
            let long = [" standard time", " daylight time", " dst"].into_iter();
            let after = signed.to_ascii_lowercase();
            prefix.len() + long.filter(|words| after.starts_with(words)).map(str::len).max().unwrap_or(0)
        };
        if length == 0 || (is_signed && length == prefix.len() + 1) {
            return None;
        }
        let (zone, rest) = rest.split_at(length);
        self.rest = rest;
        self.known.put("zone", Tree::Str(zone.as_bytes().to_vec()));
        self.known.put("offset", offset(zone).map_or(Tree::Nil, Tree::Int));
        Some(())
    }
}
