//! Durations, counts and panics in words for people: a duration keeps three digits.

use std::any::Any;
use std::fmt;
use std::time::Duration;

/// A duration rounded for reading: `861ms` instead of `861.156098ms`. Whole seconds are never rounded away.
#[derive(Debug, Clone, Copy)]
pub struct HumanDuration(Duration);

/// Rounds a duration for reading.
pub fn brief(time: Duration) -> HumanDuration {
    let nanos = time.as_nanos();
    let mut unit = 1;
    while nanos / unit >= 1000 && unit < 1_000_000_000 {
        unit *= 10;
    }
    let rounded = (nanos + unit / 2) / unit * unit;
    HumanDuration(u64::try_from(rounded).map_or(time, Duration::from_nanos))
}

/// A number with its noun, in the plural unless it is one: `1 worker`, `2 workers`.
pub fn count<N: Copy + fmt::Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The log line about a panic that was caught, with its message.
pub fn panic_words(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().copied();
    let words = literal.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    format!("a request has panicked inside the server and gets 500: {words}; this is a defect of the server")
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() { f.write_str("0s") } else { write!(f, "{:?}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_is_in_the_plural_unless_there_is_one() {
        assert_eq!([0, 1, 2].map(|number| count(number, "worker")), ["0 workers", "1 worker", "2 workers"]);
    }

    #[test]
    fn a_panic_has_the_words_with_which_it_began() {
        let words = [panic_words(&"literal"), panic_words(&"made".to_owned()), panic_words(&7)];
        let expected = ["literal", "made", "no message"].map(|words| format!(" gets 500: {words}; "));
        assert!(words.iter().zip(&expected).all(|(words, expected)| words.contains(expected)), "{words:?}");
    }

    #[test]
    fn three_digits_and_whole_seconds_are_kept() {
        for (nanos, text) in [
            (0, "0s"),
            (999, "999ns"),
            (861_156_098, "861ms"),
            (999_999_999, "1s"),
            (2_345_678_901, "2.35s"),
            (30_000_000_000, "30s"),
            (86_400_000_000_000, "86400s"),
            (3_661_400_000_000, "3661s"),
        ] {
            assert_eq!(brief(Duration::from_nanos(nanos)).to_string(), text);
        }
        assert_eq!(brief(Duration::MAX).to_string(), format!("{:?}", Duration::MAX));
    }
}
