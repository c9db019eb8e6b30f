//! Reads single settings from the parsed arguments, checks each against its row, and collects errors.

use std::time::Duration;

use machine::Machine;

use crate::config::app_settings::{DEVELOPMENT, FOREVER};
use crate::config::arguments::{Arguments, Origin, Problem, RawValue};
use crate::config::options::{Default, Kind, Name};
use crate::config::size::{SIZE_FORM, TIME_FORM, parse_size, parse_time, show_size, show_time};

/// Reads settings from the parsed arguments and collects errors. The result for a wrong value does not matter, since
/// [`crate::config::settings::resolve`] then returns only the errors.
pub struct SettingsReader<'a> {
    pub asked: &'a Arguments,
    /// Index of the application whose settings are read; `None` for the server's.
    pub app: Option<usize>,
    pub machine: Machine,
    pub problems: Vec<Problem>,
    pub notices: Vec<String>,
}

impl<'a> SettingsReader<'a> {
    /// A reader of the settings of an application, or, with `None`, of the server's.
    pub fn new(asked: &'a Arguments, app: Option<usize>, machine: Machine) -> SettingsReader<'a> {
        SettingsReader { asked, app, machine, problems: Vec::new(), notices: Vec::new() }
    }

    /// The value that counts: of the command line, the environment, the file, or the default; the last of several.
    pub fn pick(&self, name: Name) -> RawValue {
        self.last_or_default(name, &self.asked.values_for(self.app, name))
    }

    /// The same, without variables that are meant for Ruby's threads.
    pub fn pick_for_interpreters(&self, name: Name) -> RawValue {
        self.last_or_default(name, &self.asked.values_for_interpreters(self.app, name))
    }

    fn last_or_default(&self, name: Name, given: &[&RawValue]) -> RawValue {
        let default = || RawValue { name, value: self.default(name), origin: Origin::Default, app: None };
        given.last().map_or_else(default, |last| (*last).clone())
    }

    /// All values that count, as one text. It may be secret ([`Name::is_secret`]).
    pub fn all(&self, name: Name) -> String {
        let given = self.asked.values_for(self.app, name);
        if given.is_empty() {
            return self.default(name);
        }
        let adds_up = name.row().kind == Kind::List || name == Name::Bind;
        let from = if adds_up { 0 } else { given.len() - 1 };
        given[from..].iter().map(|given| given.value.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The default; empty without one.
    pub fn default(&self, name: Name) -> String {
        match name.row().default {
            Default::Text(text) => text.to_owned(),
            Default::Machine(_, of) => of(self.machine).to_string(),
            Default::SameAs(_, other) => self.count_or_default(other),
            Default::Stage(development, ..) if self.is_development() => development.to_owned(),
            Default::Stage(_, other, _) => other.to_owned(),
            Default::None => String::new(),
        }
    }

    /// A whole number as configured, or its default where that is none in the range of its row.
    fn count_or_default(&self, name: Name) -> String {
        let value = self.pick(name).value;
        match name.row().kind {
            Kind::Count(least, most) if value.parse().is_ok_and(|number| (least..=most).contains(&number)) => value,
            _ => self.default(name),
        }
    }

    /// Whether the environment is `development`.
    pub fn is_development(&self) -> bool {
        self.pick(Name::Environment).value == DEVELOPMENT
    }

    /// A text or path without a default.
    pub fn optional(&self, name: Name) -> Option<String> {
        Some(self.pick(name).value).filter(|value| !value.is_empty())
    }

    /// Adds an error about this value; `right` says what would be right.
    pub fn refuse(&mut self, given: &RawValue, right: &str) {
        self.problems.push(Problem(format!("{}: {right}", given.as_written())));
    }

    /// Adds an error about the value that counts.
    pub fn refuse_value(&mut self, name: Name, right: &str) {
        let given = self.pick(name);
        self.refuse(&given, right);
    }

    /// A count, bytes or milliseconds, within the range of its row.
    pub fn number(&mut self, name: Name) -> u64 {
        let given = self.pick(name);
        self.number_of(&given, &given.value.clone())
    }

    /// The same for a part of the value.
    pub fn number_of(&mut self, given: &RawValue, text: &str) -> u64 {
        let plain = |number: u64| number.to_string();
        let kind = given.name.row().kind;
        let (parsed, form, least, most, show): (_, _, _, _, fn(u64) -> String) = match kind {
            Kind::Size(least, most) | Kind::SizeOrNone(least, most) => {
                (parse_size(text), SIZE_FORM, least, most, show_size)
            }
            Kind::Time(least, most) | Kind::TimeOrNone(least, most) => {
                (parse_time(text), TIME_FORM, least, most, show_time)
            }
            Kind::Count(least, most) => (text.parse().ok(), "a whole number", least, most, plain),
            Kind::CountOrAuto(least, most) => (text.parse().ok(), "a whole number or auto", least, most, plain),
            _ => (None, "a number", 0, 0, plain),
        };
        let (word_or, or_word) = match kind {
            Kind::SizeOrNone(..) | Kind::TimeOrNone(..) => ("none, or ", ", or none"),
            Kind::CountOrAuto(..) => ("", ", or auto"),
            _ => ("", ""),
        };
        let range = || format!("must be from {} to {}{or_word}", show(least), show(most));
        match parsed {
            Some(number) if (least..=most).contains(&number) => return number,
            Some(_) if most == u64::MAX => self.refuse(given, &format!("must be at least {}{or_word}", show(least))),
            Some(_) => self.refuse(given, &range()),
            // Too large for the type, but a number.
            None if is_too_large(text) && most == u64::MAX => self.refuse(given, "is too large"),
            None if is_too_large(text) => self.refuse(given, &range()),
            None => self.refuse(given, &format!("must be {word_or}{form}")),
        }
        0
    }

    /// A number as `usize`.
    pub fn small(&mut self, name: Name) -> usize {
        usize::try_from(self.number(name)).unwrap_or(usize::MAX)
    }

    /// A duration within the range of its row.
    pub fn time(&mut self, name: Name) -> Duration {
        Duration::from_millis(self.number(name))
    }

    /// A duration within the range of its row, or [`FOREVER`].
    pub fn time_or_none(&mut self, name: Name) -> Duration {
        let value = self.pick(name).value.to_lowercase();
        let is_zero_none = !matches!(name.row().kind, Kind::TimeOrNone(0, _));
        let is_none = value == "none" || (is_zero_none && parse_time(&value) == Some(0));
        if is_none { FOREVER } else { self.time(name) }
    }

    /// Bytes within the range of its row, or `u64::MAX` for none.
    pub fn size_or_none(&mut self, name: Name) -> u64 {
        if self.pick(name).value.to_lowercase() == "none" { u64::MAX } else { self.number(name) }
    }

    /// A yes or no.
    pub fn flag(&mut self, name: Name) -> bool {
        let given = self.pick(name);
        given.yes_or_no().unwrap_or_else(|| {
            self.refuse(&given, "must be yes or no");
            false
        })
    }

    /// Yes, no, or one of the words of its row.
    pub fn switch(&mut self, name: Name) -> String {
        let given = self.pick(name);
        let value = given.value.to_lowercase();
        let Kind::Switch(words) = name.row().kind else { return value };
        // Only on the command line an empty value is an answer.
        if let Some(is_yes) = given.yes_or_no().filter(|is_yes| *is_yes || !value.is_empty()) {
            return if is_yes { "yes" } else { "no" }.to_owned();
        }
        if !words.contains(&value.as_str()) {
            self.refuse(&given, &format!("must be yes, no, {}", words.join(", ")));
        }
        value
    }

    /// A choice: one of the words of its row.
    pub fn choice(&mut self, name: Name) -> String {
        let given = self.pick(name);
        if let Kind::Choice(words) = name.row().kind
            && !words.contains(&given.value.as_str())
        {
            self.refuse(&given, &format!("must be {}", words.join(", ")));
        }
        given.value
    }
}

/// Whether a text is a size or duration with too many digits for a number.
fn is_too_large(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let one = format!("1{unit}");
    unit.len() < text.len() && (parse_size(&one).is_some() || parse_time(&one).is_some())
}
