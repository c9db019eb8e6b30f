//! The date and time, in UTC, as RFC 3339 writes it.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY_S: u64 = 86_400;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Now: `2026-11-21T09:05:04Z`.
pub fn now() -> String {
    written(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// Seconds since 1970, written.
pub fn written(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / DAY_S);
    let of_day = seconds % DAY_S;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The day for people, `21 November 2026`; the text itself when it is no date.
pub fn day_in_words(written: &str) -> String {
    let mut parts = written.get(..10).unwrap_or("").split('-').map(str::parse::<usize>);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(Ok(year)), Some(Ok(month @ 1..=12)), Some(Ok(day @ 1..=31))) => {
            format!("{day} {} {year}", MONTHS[month - 1])
        }
        _ => written.to_owned(),
    }
}

/// The day since 1970 on which this date falls, if there is such a date from then on.
pub fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (of_march, from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (of_march / 400, of_march % 400);
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let found = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    // 31 April is none.
    (civil(found) == (year, month, day)).then_some(found)
}

/// Year, month and day of a day since 1970. Years are counted from March, so that a leap day is a year's last one;
/// 400 years have 146 097 days.
fn civil(day: u64) -> (u64, u64, u64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, of_year - (153 * from_march + 2) / 5 + 1)
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
        assert_eq!(now().len(), 20);
    }

    #[test]
    fn dates_have_their_days() {
        for day in (0..80_000).step_by(13) {
            let (year, month, of_month) = civil(day);
            assert_eq!(day_of(year, month, of_month), Some(day));
        }
        assert_eq!((day_of(2000, 2, 29), day_of(2001, 2, 29), day_of(1969, 12, 31)), (Some(11_016), None, None));
        assert_eq!((day_of(2000, 13, 1), day_of(2000, 4, 31), day_of(2000, 0, 0)), (None, None, None));
    }

    #[test]
    fn days_for_people() {
        assert_eq!(day_in_words("2026-11-21T09:05:04Z"), "21 November 2026");
        assert_eq!(day_in_words("2026-13-01"), "2026-13-01");
        assert_eq!(day_in_words("yesterday"), "yesterday");
    }
}
