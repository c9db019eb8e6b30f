//! The fields of a date and time that have been parsed, and the values of zones and fractions.

use ruby_native::{Tree, Value};

/// Fields of a date and time, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Known(Vec<(&'static str, Tree)>);

impl Known {
    /// Sets a field to a number.
    pub fn set(&mut self, name: &'static str, number: i64) {
        self.put(name, Tree::Int(number));
    }

    /// Sets a field.
    pub fn put(&mut self, name: &'static str, value: Tree) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(place) => place.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// The number of a field; None where the field is missing or no number.
    pub fn get(&self, name: &str) -> Option<i64> {
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, value)| match value {
            Tree::Int(number) => Some(*number),
            _ => None,
        })
    }

    /// The text of a field; None where the field is missing or no text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| *known == name).and_then(|(_, value)| match value {
            Tree::Str(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        })
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| *known != name);
    }

    /// The fields as a Hash for Ruby.
    pub fn hash(self) -> Value {
        let pairs = self.0.into_iter().map(|(name, value)| (Tree::Sym(name.into()), value)).collect();
        Value::Tree(Tree::Hash(pairs).encoded())
    }
}

/// Offset in seconds of a zone's name (`CET`, `EASTERN DAYLIGHT TIME`, a military letter) or of a text such as
/// `+02:00`; None where it is neither.
pub fn offset(zone: &str) -> Option<i64> {
    let upper = zone.to_ascii_uppercase();
    let (name, summer) = match upper.split_once(' ') {
        Some((name, "STANDARD TIME")) => (name, 0),
        Some((name, "DAYLIGHT TIME" | "DST")) => (name, 3600),
        _ => (upper.as_str(), 0),
    };
    let hours = |hours: i64| Some(hours * 3600 + summer);
    match name {
        "UTC" | "GMT" | "UT" | "WET" | "Z" => return hours(0),
        "BST" | "CET" | "MET" | "WAT" | "WEST" => return hours(1),
        "CAT" | "CEST" | "EET" | "MEST" | "SAST" | "WAST" => return hours(2),
        "EAT" | "EEST" | "IDT" | "MSK" | "TRT" => return hours(3),
        "MSD" => return hours(4),
        "PKT" | "UZT" => return hours(5),
        "IST" => return Some(19_800 + summer),
        "NPT" => return Some(20_700 + summer),
        "ICT" | "WIB" => return hours(7),
        "AWST" | "HKT" | "MYT" | "PHT" | "SGT" | "WITA" => return hours(8),
        "JST" | "KST" | "WIT" => return hours(9),
        "ACST" => return Some(34_200 + summer),
        "AEST" | "GST" | "PGT" => return hours(10),
        "ACDT" => return Some(37_800 + summer),
        "AEDT" => return hours(11),
        "FJT" | "NZST" | "NZT" => return hours(12),
        "NZDT" => return hours(13),
        "BRST" => return hours(-2),
        "ADT" | "ART" | "BRT" | "CLST" | "UYT" => return hours(-3),
        "AST" | "BOT" | "CLT" | "EDT" | "VET" => return hours(-4),
        "CDT" | "COT" | "EASTERN" | "ECT" | "EST" | "PET" => return hours(-5),
        "CENTRAL" | "CST" | "MDT" => return hours(-6),
        "MOUNTAIN" | "MST" | "PDT" => return hours(-7),
        "AKDT" | "PACIFIC" | "PST" => return hours(-8),
        "AKST" | "HDT" => return hours(-9),
        "HST" => return hours(-10),
        "SST" => return hours(-11),
        _ => {}
    }
    if let [letter] = *name.as_bytes() {
        return match letter {
            b'A'..=b'I' => hours(i64::from(letter - b'A') + 1),
            b'K'..=b'M' => hours(i64::from(letter - b'K') + 10),
            b'N'..=b'Y' => hours(-i64::from(letter - b'N') - 1),
            _ => None,
        };
    }
    let name = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC")).unwrap_or(name);
    signed(name)
}

/// Seconds of an offset such as `+hh`, `+hhmm` or `+hh:mm:ss`; a fraction is one of an hour.
fn signed(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let number = |part: &str| part.parse::<i64>().ok();
    if let Some((hours, rest)) = digits.split_once(':') {
        let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
        return Some(sign * (number(hours)? * 3600 + number(minutes)? * 60 + number(seconds)?));
    }
    if let Some((hours, fraction)) = digits.split_once(['.', ',']) {
        let part: f64 = format!("0.{fraction}").parse().ok()?;
        return Some(sign * (number(hours)? * 3600 + (part * 3600.0).round() as i64));
    }
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let even = digits.len() % 2 == 0;
    let (hours, rest) = digits.split_at(if even { 2 } else { 1 });
    let minutes = rest.get(..2).map_or(Some(0), number)?;
    let seconds = rest.get(2..4).map_or(Some(0), number)?;
    Some(sign * (number(hours)? * 3600 + minutes * 60 + seconds))
}

/// Nanoseconds of the digits behind the decimal point of a second.
pub fn nanoseconds(digits: &str) -> i64 {
    let nine: String = digits.chars().chain(std::iter::repeat('0')).take(9).collect();
    nine.parse().unwrap_or(0)
}
