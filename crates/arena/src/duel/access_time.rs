//! Parses times in access logs to whole seconds since 1970. Anything else is `None`; no input makes the parser panic.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

/// Number from which on a time is in milliseconds: in seconds it would be the year 5138.
const MILLISECONDS: f64 = 1e11;
/// Names under which JSON lines have their time.
const NAMES: [&str; 10] =
    ["time", "timestamp", "@timestamp", "ts", "time_iso8601", "time_local", "msec", "datetime", "date", "StartUTC"];

/// Parses the format of nginx and Apache: `10/Oct/2000:13:55:36 -0700`.
pub fn common(text: &str) -> Option<u64> {
    second(Timestamp::strptime("%d/%b/%Y:%H:%M:%S %z", text).ok()?)
}

/// Parses `2026-11-21T04:40:24.496Z`, also with an offset, with a space in place of the T, or without a zone (UTC).
pub fn rfc3339(text: &str) -> Option<u64> {
    let text = text.replacen(" +", "+", 1).replacen(" -", "-", 1);
    let in_utc = || text.contains(':').then(|| text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok())?;
    second(text.parse().ok().or_else(|| in_utc().map(|time| time.timestamp()))?)
}

fn second(stamp: Timestamp) -> Option<u64> {
    u64::try_from(stamp.as_second()).ok()
}

/// Finds the time of a JSON object: a date in either format, or a number of seconds or milliseconds.
pub fn json(object: &Map<String, Value>) -> Option<u64> {
    NAMES.iter().find_map(|name| match object.get(*name)? {
        Value::String(text) => rfc3339(text).or_else(|| common(text)).or_else(|| since_1970(text.parse().ok()?)),
        other => since_1970(other.as_f64()?),
    })
}

fn since_1970(number: f64) -> Option<u64> {
    let seconds = if number >= MILLISECONDS { number / 1000.0 } else { number };
    // A small number is a duration or a counter.
    (1e8..MILLISECONDS).contains(&seconds).then_some(seconds as u64)
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
        ] {
            assert_eq!(rfc3339(text), Some(1_000_000_000), "{text}");
        }
        assert!(common("30/jun/2015:23:59:60 +0000") >= Some(1_435_708_799), "a leap second");
        assert!(rfc3339("2015-06-30T23:59:60Z") >= Some(1_435_708_799), "a leap second");
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
