//! Date._parse: the fields of a date and time in a text of any order and form. Rules are tried in turn. Each is
//! a pattern and a function that reads fields from its groups, and removes what it understands from the text.

use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;

use super::known::{Known, nanoseconds, offset};
use super::strptime::{DAYS, MONTHS};
use ruby_native::{Arg, Context, Outcome, Raise, Tree, arg, raise};

/// Most bytes of a text where `limit: nil` says none: the rules look at a text many times, and cannot be interrupted.
const LENGTH_MAX: usize = 64 << 10;

/// `date_guess(text, complete, limit)`: a Hash of the fields. With `complete`, a year of two digits gets its century:
/// 69 to 99 are in the 1900s. `limit` is the most bytes of the text, or nil.
pub fn guess(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0).text()?;
    let limit = match arg(args, 2) {
        Arg::Nil => LENGTH_MAX,
        limit => usize::try_from(limit.int()?).unwrap_or(0),
    };
    if text.len() > limit {
        let message = format!("string length ({}) exceeds the limit {limit}", text.len());
        return Err(raise("ArgumentError", message));
    }
    Ok(guessed(&text, arg(args, 1).truthy())?.hash())
}

fn guessed(text: &str, complete: bool) -> Result<Known, Raise> {
    // Characters that no rule uses separate words, as blanks do.
    let kept = |char: char| char.is_ascii_alphanumeric() || "-+',./:@[]".contains(char);
    let plain: String = text.chars().map(|char| if kept(char) { char } else { ' ' }).collect();
    let mut state = Found { text: plain, known: Known::default(), before_christ: false };
    for rule in rules().map_err(|error| raise("RuntimeError", error))? {
        rule.apply(&mut state);
    }
    let mut known = state.known;
    if let Some(zone) = known.text("zone") {
        known.put("offset", offset(&zone).map_or(Tree::Nil, Tree::Int));
    }
    if state.before_christ {
        for name in ["cwyear", "year"] {
            if let Some(year) = known.get(name) {
                known.set(name, 1 - year);
            }
        }
    }
    let whole = known.get("_whole") == Some(1);
    known.remove("_whole");
    known.remove("_date");
    if complete && !whole && !state.before_christ {
        for name in ["cwyear", "year"] {
            match known.get(name) {
                Some(year @ 0..=68) => known.set(name, year + 2000),
                Some(year @ 69..=99) => known.set(name, year + 1900),
                _ => {}
            }
        }
    }
    Ok(known)
}

/// The state of parsing a text.
struct Found {
    /// The part of the text that no rule has understood yet.
    text: String,
    /// The fields found so far.
    known: Known,
    /// Whether the text says that the year is before Christ.
    before_christ: bool,
}

/// Reads fields from the groups of a pattern; false if they have no meaning.
type Learn = fn(&mut Found, &[Option<String>]) -> bool;

/// A rule: a pattern and a function that reads fields from its groups.
struct Rule {
    pattern: Regex,
    /// Reads fields from the groups; false if the groups have no meaning, so that the text stays.
    learn: Learn,
    /// The group of the rule in [`GROUPS`], 0 for none. Once a rule of a group has matched, its other rules are not
    /// tried.
    group: u8,
}

impl Rule {
    /// Applies the rule to the text, unless another rule of its group has matched.
    fn apply(&self, state: &mut Found) {
        let done = |state: &Found| state.known.get(GROUPS[usize::from(self.group)]).is_some();
        if self.group > 0 && done(state) {
            return;
        }
        let mut captures: Captures = self.pattern.create_captures();
        self.pattern.captures(&state.text, &mut captures);
        let Some(whole) = captures.get_match() else { return };
        let part = |at| captures.get_group(at).map(|span| state.text[span.range()].to_owned());
        let groups: Vec<Option<String>> = (0..captures.group_len()).map(part).collect();
        if (self.learn)(state, &groups) {
            state.text.replace_range(whole.range(), " ");
            if self.group > 0 {
                state.known.set(GROUPS[usize::from(self.group)], 1);
            }
        }
    }
}

/// Names of the marks among the fields that say which group has matched; they are removed in the end.
const GROUPS: [&str; 2] = ["", "_date"];

const ZONE: &str = concat!(
    r"(?:gmt|utc?)?[-+]\d+(?:[,.:]\d+(?::\d+)?)?|",
    r"[a-z][a-z\s]*(?:standard|daylight)\stime(?-u:\b)|[a-z]+(?:\sdst)?(?-u:\b)",
);
const ERA: &str = r"(c(?:e|\.e\.)|bce|b\.c\.e\.|a(?:d|\.d\.)|bc|b\.c\.)";
/// Hours and minutes, hours as `10h`, or hours with AM or PM alone.
const CLOCK: &str = concat!(
    r"((?:\d+\s*:\s*\d+(?:\s*:\s*\d+(?:[,.]\d*)?)?|\d+\s*h(?:\s*\d+m?(?:\s*\d+s?)?)?)",
    r"(?:\s*[ap](?:m(?-u:\b)|\.m\.))?|\d+\s*[ap](?:m(?-u:\b)|\.m\.))",
);
const MONTH: &str = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)";

/// All rules, in the order in which they are tried; an error where a pattern does not compile.
fn rules() -> Result<&'static [Rule], String> {
    static RULES: OnceLock<Result<Vec<Rule>, String>> = OnceLock::new();
    RULES.get_or_init(make).as_ref().map(Vec::as_slice).map_err(Clone::clone)
}

fn make() -> Result<Vec<Rule>, String> {
    let time = format!(r"{CLOCK}(?:\s*({ZONE}))?");
    let european =
        format!(r"('?\d+)[^-\d\s]*\s*{MONTH}[^-\d\s']*(?:\s*{ERA}?\s*('?-?\d+(?:(?:st|nd|rd|th)(?-u:\b))?))?");
    let american = format!(r"(?-u:\b){MONTH}[^-\d\s']*\s*('?\d+)[^-\d\s']*(?:\s*,?\s*{ERA}?\s*('?-?\d+))?");
    let vms = format!(r"('?-?\d+)-{MONTH}[^-/.]*-('?-?\d+)");
    let vms_month = format!(r"(?-u:\b){MONTH}[^-/.]*-('?\d+)(?:-('?-?\d+))?");
    let slashed = format!(r"('?-?\d+)/\s*({MONTH}[a-z]*)(?:\D\s*('?-?\d+))?");
    let table: [(&str, Learn, u8); 21] = [
        (r"(?-u:\b)(sun|mon|tue|wed|thu|fri|sat)[^-/\d\s]*", week_day, 0),
        (&time, time_of_day, 0),
        (&european, |state, part| era(state, &part[3]) | date(state, &part[4], &part[2], &part[1]), 1),
        (&american, |state, part| era(state, &part[3]) | date(state, &part[4], &part[1], &part[2]), 1),
        (r"('?[-+]?\d+)-(\d+)-('?-?\d+)", |state, part| date(state, &part[1], &part[2], &part[3]), 1),
        (r"(?-u:\b)(\d{2}|\d{4})?-?w(\d{2})(?:-?(\d))?(?-u:\b)", week, 1),
        (r"-w-(\d)(?-u:\b)", |state, part| number(state, "cwday", &part[1]), 1),
        (r"--(\d{2})?-(\d{2})(?-u:\b)", month_and_day, 1),
        (r"(?-u:\b)(\d{4})-(\d{3})(?-u:\b)", ordinal, 1),
        (r"(?-u:\b)([mtshr])(\d+)\.(\d+)\.(\d+)", japanese, 1),
        (&vms, |state, part| date(state, &part[3], &part[2], &part[1]), 1),
        (&vms_month, |state, part| date(state, &part[3], &part[1], &part[2]), 1),
        (&slashed, |state, part| date(state, &part[4], &part[3], &part[1]), 1),
        (r"('?-?\d+)/\s*('?\d+)(?:\D\s*('?-?\d+))?", |state, part| date(state, &part[1], &part[2], &part[3]), 1),
        (r"('?-?\d+)\.\s*('?\d+)\.\s*('?-?\d+)", |state, part| date(state, &part[1], &part[2], &part[3]), 1),
        (r"(?-u:\b)'(\d+)(?-u:\b)", |state, part| number(state, "year", &part[1]), 1),
        (r"(?-u:\b)(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\S*", month_alone, 1),
        (r"(\d+)(?:st|nd|rd|th)(?-u:\b)", |state, part| number(state, "mday", &part[1]), 1),
        (r"([-+]?)(\d{2,14})(?:\s*t?\s*(\d{2,6})?(?:[,.](\d*))?)?(?:\s*(z(?-u:\b)|[-+]\d{1,4}(?-u:\b)))?", digits, 1),
        (
            r"(?-u:\b)(bc(?-u:\b)|bce(?-u:\b)|b\.c\.|b\.c\.e\.)",
            |state, _| {
                state.before_christ = true;
                true
            },
            0,
        ),
        (r"\A\s*(\d{1,2})\s*\z", left_over, 0),
    ];
    let rule = |(pattern, learn, group): (&str, Learn, u8)| {
        let pattern = Regex::new(&format!("(?i){pattern}")).map_err(|error| error.to_string())?;
        Ok(Rule { pattern, learn, group })
    };
    table.into_iter().map(rule).collect()
}

fn place(names: &[&str], name: &str) -> Option<i64> {
    let start: String = name.chars().take(3).collect::<String>().to_ascii_lowercase();
    names.iter().position(|known| known[..3] == start).map(|at| at as i64)
}

fn number(state: &mut Found, name: &'static str, text: &Option<String>) -> bool {
    let found = text.as_deref().and_then(|text| text.parse().ok());
    if let Some(found) = found {
        state.known.set(name, found);
    }
    found.is_some()
}

fn week_day(state: &mut Found, part: &[Option<String>]) -> bool {
    let day = part[1].as_deref().and_then(|name| place(&DAYS, name));
    day.into_iter().for_each(|day| state.known.set("wday", day));
    day.is_some()
}

fn time_of_day(state: &mut Found, part: &[Option<String>]) -> bool {
    let text = part[1].as_deref().unwrap_or("").to_ascii_lowercase();
    if let Some(zone) = &part[2] {
        state.known.put("zone", Tree::Str(zone.trim_end().as_bytes().to_vec()));
    }
    let mut numbers = text.split(|char: char| !char.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let names = ["hour", "min", "sec"];
    let has_fraction = text.contains(['.', ',']) && text.matches(':').count() == 2;
    for name in names {
        let Some(number) = numbers.next().and_then(|digits| digits.parse::<i64>().ok()) else { break };
        state.known.set(name, number);
    }
    if let Some(digits) = numbers.next().filter(|_| has_fraction) {
        state.known.set("_fraction", nanoseconds(digits));
    }
    let half = text.trim_end_matches(['m', '.']).chars().last().filter(|char| "ap".contains(*char));
    if let (Some(half), Some(hour)) = (half, state.known.get("hour")) {
        state.known.set("hour", hour % 12 + if half == 'p' { 12 } else { 0 });
    }
    true
}

fn era(state: &mut Found, text: &Option<String>) -> bool {
    let lower = text.as_deref().unwrap_or("").to_ascii_lowercase();
    state.before_christ |= lower.starts_with('b');
    false
}

/// Sets year, month and day of three numbers. The year is the one with more than two digits, a sign or an apostrophe,
/// else the first.
fn date(state: &mut Found, year: &Option<String>, month: &Option<String>, day: &Option<String>) -> bool {
    let (mut year, mut month, mut day) = (year.as_deref(), month.as_deref(), day.as_deref());
    if year.is_some() && month.is_some() && day.is_none() {
        // Two numbers: month and day.
        (year, month, day) = (None, year, month);
    }
    let is_year = |text: Option<&str>| {
        let text = text.unwrap_or("");
        text.starts_with(['\'', '-', '+']) || text.chars().filter(char::is_ascii_digit).count() > 2
    };
    if is_year(day) && !is_year(year) {
        std::mem::swap(&mut year, &mut day);
    }
    if is_year(month) && !is_year(year) && month.is_some_and(|month| place(&MONTHS, month).is_none()) {
        // The month is behind the year then (2024/05), as in CRuby.
        (year, month, day) = (month, day, year);
    }
    let plain = |text: &str| {
        let text = text.trim_start_matches(['\'', '+']);
        let end = text.char_indices().find(|(at, char)| !char.is_ascii_digit() && (*at > 0 || *char != '-'));
        text[..end.map_or(text.len(), |(at, _)| at)].parse::<i64>().ok()
    };
    if let Some(number) = year.and_then(plain) {
        state.known.set("year", number);
        let text = year.unwrap_or("");
        // With a sign or more than two digits the year is complete, with its century.
        let digits = text.chars().filter(char::is_ascii_digit).count();
        if text.starts_with(['-', '+']) || (digits > 2 && !text.starts_with('\'')) {
            state.known.set("_whole", 1);
        }
    }
    if let Some(number) = month.and_then(|month| place(&MONTHS, month).map(|at| at + 1).or_else(|| plain(month))) {
        state.known.set("mon", number);
    }
    if let Some(number) = day.and_then(plain) {
        state.known.set("mday", number);
    }
    true
}

fn week(state: &mut Found, part: &[Option<String>]) -> bool {
    number(state, "cwyear", &part[1]);
    if part[1].as_ref().is_some_and(|year| year.len() > 2) {
        state.known.set("_whole", 1);
    }
    number(state, "cweek", &part[2]);
    number(state, "cwday", &part[3]);
    true
}

fn month_and_day(state: &mut Found, part: &[Option<String>]) -> bool {
    number(state, "mon", &part[1]);
    number(state, "mday", &part[2])
}

fn ordinal(state: &mut Found, part: &[Option<String>]) -> bool {
    state.known.set("_whole", 1);
    number(state, "year", &part[1]) && number(state, "yday", &part[2])
}

fn japanese(state: &mut Found, part: &[Option<String>]) -> bool {
    let begin = match part[1].as_deref().unwrap_or("").to_ascii_lowercase().as_str() {
        "m" => 1867,
        "t" => 1911,
        "s" => 1925,
        "r" => 2018,
        _ => 1988,
    };
    let year = part[2].as_deref().and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    state.known.set("year", year + begin);
    state.known.set("_whole", 1);
    number(state, "mon", &part[3]) && number(state, "mday", &part[4])
}

fn month_alone(state: &mut Found, part: &[Option<String>]) -> bool {
    let month = part[1].as_deref().and_then(|name| place(&MONTHS, name));
    month.into_iter().for_each(|month| state.known.set("mon", month + 1));
    month.is_some()
}

/// Reads a number that is all that is left: the day beside a time, or the hour beside a day.
fn left_over(state: &mut Found, part: &[Option<String>]) -> bool {
    let Some(number) = part[1].as_deref().and_then(|digits| digits.parse::<i64>().ok()) else { return false };
    let (has_hour, has_day) = (state.known.get("hour").is_some(), state.known.get("mday").is_some());
    if has_hour && !has_day && (1..=31).contains(&number) {
        state.known.set("mday", number);
    }
    if has_day && !has_hour && (0..=24).contains(&number) {
        state.known.set("hour", number);
    }
    true
}

/// Reads a run of digits, whose number decides about the fields.
fn digits(state: &mut Found, part: &[Option<String>]) -> bool {
    let text = part[2].clone().unwrap_or_default();
    let fields: &[(&'static str, usize)] = match text.len() {
        2 => &[("mday", 2)],
        3 => &[("yday", 3)],
        4 => &[("mon", 2), ("mday", 2)],
        5 => &[("year", 2), ("yday", 3)],
        6 => &[("year", 2), ("mon", 2), ("mday", 2)],
        7 => &[("year", 4), ("yday", 3)],
        8 => &[("year", 4), ("mon", 2), ("mday", 2)],
        10 => &[("year", 4), ("mon", 2), ("mday", 2), ("hour", 2)],
        12 => &[("year", 4), ("mon", 2), ("mday", 2), ("hour", 2), ("min", 2)],
        14 => &[("year", 4), ("mon", 2), ("mday", 2), ("hour", 2), ("min", 2), ("sec", 2)],
        _ => return false,
    };
    take(state, &text, fields);
    if let (Some("-"), Some(year)) = (part[1].as_deref(), state.known.get("year")) {
        state.known.set("year", -year);
    }
    if fields[0] == ("year", 4) || part[1].as_deref().is_some_and(|sign| !sign.is_empty()) {
        state.known.set("_whole", 1);
    }
    if let Some(time) = &part[3] {
        take(state, time, &[("hour", 2), ("min", 2), ("sec", 2)]);
    }
    if let Some(fraction) = part[4].as_deref().filter(|digits| !digits.is_empty()) {
        state.known.set("_fraction", nanoseconds(fraction));
    }
    if let Some(zone) = &part[5] {
        state.known.put("zone", Tree::Str(zone.as_bytes().to_vec()));
    }
    true
}

fn take(state: &mut Found, text: &str, fields: &[(&'static str, usize)]) {
    let mut at = 0;
    for (name, length) in fields {
        let Some(number) = text.get(at..at + length).and_then(|digits| digits.parse().ok()) else { break };
        state.known.set(name, number);
        at += length;
    }
}
