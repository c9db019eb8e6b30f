//! Date and time in UTC, in the format of RFC 3339.

use jiff::Timestamp;
use jiff::civil::Date;

/// The present time: `2026-11-21T09:05:04Z`.
pub fn now() -> String {
    written(Timestamp::now().as_second().cast_unsigned())
}

/// Formats seconds since 1970. Anything after the year 9999 becomes its last second.
pub fn written(seconds: u64) -> String {
    let stamp = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    stamp.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Parses what [`written`] formats to seconds since 1970; `None` for anything else.
pub fn seconds(written: &str) -> Option<i64> {
    written.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// The day for people, `21 November 2026`; the text itself if it is no date.
pub fn day_in_words(written: &str) -> String {
    let day = written.get(..10).and_then(|day| day.parse::<Date>().ok());
    day.map_or_else(|| written.to_owned(), |day| day.strftime("%-d %B %Y").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        assert_eq!(written(0), "1970-01-01T00:00:00Z");
        assert_eq!(written(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(written(1_000_000_000), "2001-09-09T01:46:40Z");
        assert_eq!(written(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(written(4_107_542_400), "2100-03-01T00:00:00Z");
        assert!(written(u64::MAX).starts_with("9999-12-30T"));
        assert_eq!(now().len(), 20);
        assert_eq!((seconds("2001-09-09T01:46:40Z"), seconds("yesterday")), (Some(1_000_000_000), None));
    }

    #[test]
    fn days_for_people() {
        assert_eq!(day_in_words("2026-11-21T09:05:04Z"), "21 November 2026");
        assert_eq!(day_in_words("2024-02-29"), "29 February 2024");
        for no_date in ["2026-13-01", "2026-02-30", "yesterday", ""] {
            assert_eq!(day_in_words(no_date), no_date);
        }
    }
}
