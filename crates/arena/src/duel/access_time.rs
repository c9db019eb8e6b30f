//! Parses times in access logs to whole seconds since 1970. Anything else is `None`; no input makes the parser panic.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

/// Numbers of seconds since 1970 that are times; a smaller one is a duration or a counter. The upper bound is the year
/// 5138.
const SECONDS: std::ops::Range<f64> = 1e8..1e11;
/// Parts of a second in which a number may be: seconds, milliseconds, microseconds and nanoseconds.
const PARTS: [f64; 4] = [1.0, 1e3, 1e6, 1e9];
/// Names under which JSON lines have their time; the last one is that of systemd's journal.
const NAMES: [&str; 11] = [
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "time_iso8601",
    "time_local",
    "msec",
    "datetime",
    "date",
    "StartUTC",
    "__REALTIME_TIMESTAMP",
];
/// Most words of a line among which its time begins.
const WORDS_BEFORE: usize = 3;
/// Most words of a time: a day, a time of day and a zone.
const WORDS: usize = 3;

/// Parses the format of nginx and Apache: `10/Oct/2000:13:55:36 -0700`.
pub fn common(text: &str) -> Option<u64> {
    second(Timestamp::strptime("%d/%b/%Y:%H:%M:%S %z", text).ok()?)
}

/// Parses `2026-11-21T04:40:24.496Z`, also with an offset, with a space in place of the T, with slashes (Caddy), or
/// without a zone (UTC).
pub fn rfc3339(text: &str) -> Option<u64> {
    let text = text.replacen(" +", "+", 1).replacen(" -", "-", 1);
    let text = text.strip_suffix(" UTC").unwrap_or(&text);
    let in_utc =
        |text: &str| text.contains(':').then(|| text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok())?;
    let slashes = || text.as_bytes().get(4) == Some(&b'/');
    let text = if slashes() { &text.replacen('/', "-", 2) } else { text };
    second(text.parse().ok().or_else(|| in_utc(text).map(|time| time.timestamp()))?)
}

/// Parses a time in any of these formats, also in brackets as Apache writes it, or a number since 1970.
pub fn any(text: &str) -> Option<u64> {
    let text = text.trim_matches(['[', ']', ' ']);
    rfc3339(text).or_else(|| common(text)).or_else(|| since_1970(text.parse().ok()?))
}

/// Finds the time with which a line begins, behind a few words such as the priority of a log drain, or the severity
/// letter of Ruby's logger: `I, [2026-11-21T04:40:24.496123 #4242]`.
pub fn first(line: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().take(WORDS_BEFORE + 1).collect();
    let dated = |word: &str| rfc3339(word.trim_matches(['[', ']']));
    let together = |two: &[&str]| rfc3339(&two.join(" "));
    words.iter().take(WORDS_BEFORE).find_map(|word| dated(word)).or_else(|| words.windows(2).find_map(together))
}

/// Parses a time at the beginning of a text; other words may follow it.
pub fn begin(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_whitespace().take(WORDS).collect();
    (1..=words.len()).rev().find_map(|count| any(&words[..count].join(" ")))
}

fn second(stamp: Timestamp) -> Option<u64> {
    u64::try_from(stamp.as_second()).ok()
}

/// Finds the time of a JSON object: a date in any of these formats, or a number since 1970.
pub fn json(object: &Map<String, Value>) -> Option<u64> {
    NAMES.iter().find_map(|name| match object.get(*name)? {
        Value::String(text) => any(text),
        other => since_1970(other.as_f64()?),
    })
}

fn since_1970(number: f64) -> Option<u64> {
    let seconds = PARTS.iter().map(|parts| number / parts).find(|seconds| SECONDS.contains(seconds))?;
    Some(seconds as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_zones() {
        for text in ["09/Sep/2001:01:46:40 +0000", "09/Sep/2001:03:46:40 +0200", "8/Sep/2001:18:46:40 -0700"] {
            assert_eq!(common(text), Some(1_000_000_000), "{text}");
        }
        for text in [
            "2001-09-09T01:46:40Z",
            "2001-09-09T01:46:40.999Z",
            "2001-09-09T03:46:40+02:00",
            "2001-09-09T03:46:40.5+0200",
            "2001-09-09 01:46:40",
            "2001-09-09 01:46:40,123",
            "2001-09-09 03:46:40 +0200",
            "2001-09-09 01:46:40 UTC",
            "2001/09/09 01:46:40",
            "2001/09/09 01:46:40.123",
        ] {
            assert_eq!(rfc3339(text), Some(1_000_000_000), "{text}");
        }
        assert!(common("30/jun/2015:23:59:60 +0000") >= Some(1_435_708_799), "a leap second");
        assert!(rfc3339("2015-06-30T23:59:60Z") >= Some(1_435_708_799), "a leap second");
    }

    #[test]
    fn times_are_found_where_lines_and_objects_have_them() {
        for line in [
            "2001-09-09T01:46:40.5Z x",
            "I, [2001-09-09T01:46:40.123456 #4242]  INFO -- : x",
            "[2001-09-09T01:46:40+00:00] x",
            "2001/09/09 01:46:40.123 INFO x",
            "<158>1 2001-09-09T01:46:40Z x",
        ] {
            assert_eq!(first(line), Some(1_000_000_000), "{line}");
        }
        for text in ["2001-09-09T01:46:40Z ip=x", "2001-09-09 03:46:40 +0200 x", "2001-09-09 01:46:40", "1000000000.5"]
        {
            assert_eq!(begin(text), Some(1_000_000_000), "{text}");
        }
        for text in [
            r#"{"time": "[09/Sep/2001:03:46:40 +0200]"}"#,
            r#"{"ts": "2001/09/09 01:46:40"}"#,
            r#"{"ts": 1000000000123456789}"#,
            r#"{"__REALTIME_TIMESTAMP": "1000000000123456"}"#,
        ] {
            assert_eq!(json(&serde_json::from_str(text).unwrap()), Some(1_000_000_000), "{text}");
        }
        for text in ["", "x y z", "GET / 200", "[]", "a b c 2001-09-09T01:46:40Z"] {
            assert_eq!((first(text), begin(text)), (None, None), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "x", "31/Feb/2001:01:46:40 +0000", "09/Sep/2001:25:46:40 +0000", "09/Sep/2001:01:46:40 x"] {
            assert_eq!(common(text), None, "{text}");
        }
        for text in ["", "2001-09-09", "2001-09-09Tx", "2001-99-09T01:46:40Z", "é-é-éTé:é:é", "1969-01-01T00:00:00Z"]
        {
            assert_eq!(rfc3339(text), None, "{text}");
        }
        let of = |text: &str| json(&serde_json::from_str(text).unwrap());
        assert_eq!(of(r#"{"time": 1000000000123}"#), Some(1_000_000_000));
        assert_eq!(of(r#"{"time": 0.25, "ts": 1000000000.5}"#), Some(1_000_000_000), "one of seconds that it took");
        assert_eq!(of(r#"{"time": "x", "timestamp": [1]}"#), None);
    }
}
