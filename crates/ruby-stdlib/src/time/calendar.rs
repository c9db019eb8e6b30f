//! Conversion between day numbers (Julian day numbers, JD) and years, months, days and weeks. Times use the Gregorian
//! calendar throughout, dates before the 15th of October 1582 the Julian one, as in Ruby. Our own code, since jiff has
//! no Julian calendar and no year after 9999.

use super::{integers, seconds};
use ruby_native::{Arg, Context, Outcome, Raise, Value, arg, raise};

/// The day number of the 1st of January 1970.
pub const EPOCH: i64 = 2_440_588;
/// The first day of the Gregorian calendar.
const REFORM: i64 = 2_299_161;
const DAY: i64 = 86_400;
/// Largest month, day, hour, minute or second that is accepted.
const FIELD_MAX: u64 = 1 << 32;
/// Largest year that is accepted, before and after year 0.
const YEARS_MAX: i64 = 1 << 31;

/// The day number of a Gregorian date; months and days may be any numbers.
pub fn gregorian(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
    // Years begin in March here, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468 + EPOCH
}

fn julian(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year + (month - 1).div_euclid(12), (month - 1).rem_euclid(12) + 1);
    let year = if month <= 2 { year - 1 } else { year };
    365 * year + year.div_euclid(4) + (153 * ((month + 9) % 12) + 2) / 5 + day - 1 + 1_721_118
}

/// Year, month and day of a day number in the Gregorian calendar.
pub fn from_gregorian(number: i64) -> (i64, i64, i64) {
    let days = number - EPOCH + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    from_march(era * 400 + year, of_era - (365 * year + year / 4 - year / 100))
}

fn from_julian(number: i64) -> (i64, i64, i64) {
    let days = number - 1_721_118;
    let (era, of_era) = (days.div_euclid(1461), days.rem_euclid(1461));
    let year = (of_era - of_era / 1460) / 365;
    from_march(era * 4 + year, of_era - 365 * year)
}

fn from_march(year: i64, of_year: i64) -> (i64, i64, i64) {
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (if month <= 2 { year + 1 } else { year }, month, day)
}

/// Year, month and day of a day number: Julian before the reform of 1582, Gregorian from then on.
pub fn civil(number: i64) -> (i64, i64, i64) {
    if number < REFORM { from_julian(number) } else { from_gregorian(number) }
}

/// The day number of a date, Julian or Gregorian by the reform; months and days may be any numbers.
fn number(year: i64, month: i64, day: i64) -> i64 {
    let number = gregorian(year, month, day);
    if number < REFORM { julian(year, month, day) } else { number }
}

/// The day number of a date, or None where it does not exist. A negative month or day counts from the end.
pub fn valid(year: i64, month: i64, day: i64) -> Option<i64> {
    let month = if month < 0 { month.saturating_add(13) } else { month };
    if !(1..=12).contains(&month) || !(-31..=31).contains(&day) || year.unsigned_abs() > YEARS_MAX as u64 {
        return None;
    }
    let found = if day < 0 { number(year, month + 1, 1) + day } else { number(year, month, day) };
    let (its_year, its_month, its_day) = civil(found);
    ((its_year, its_month) == (year, month) && (day < 0 || its_day == day)).then_some(found)
}

/// The day of the year of a day number, from 1.
pub fn year_day(day: i64) -> i64 {
    day - number(civil(day).0, 1, 1) + 1
}

/// The day number of a day of a year (from 1, or negative from the end); None where it does not exist.
fn ordinal(year: i64, day: i64) -> Option<i64> {
    if year.unsigned_abs() > YEARS_MAX as u64 || !(-366..=366).contains(&day) {
        return None;
    }
    let found = if day < 0 { number(year + 1, 1, 1) + day } else { number(year, 1, 1) + day - 1 };
    (day != 0 && civil(found).0 == year).then_some(found)
}

/// The day number of the Monday of week 1 of a year: the week with the 4th of January (ISO 8601).
fn first_monday(year: i64) -> i64 {
    let fourth = number(year, 1, 4);
    fourth - fourth.rem_euclid(7)
}

/// The day number of a day (1 is Monday) of an ISO 8601 week. Negative numbers count from the end; None where the day
/// does not exist.
pub fn commercial(year: i64, week: i64, day: i64) -> Option<i64> {
    let day = if day < 0 { day.saturating_add(8) } else { day };
    if year.unsigned_abs() > YEARS_MAX as u64 || !(-53..=53).contains(&week) || !(1..=7).contains(&day) {
        return None;
    }
    let start = if week < 0 { first_monday(year + 1) + 7 * week } else { first_monday(year) + 7 * (week - 1) };
    let found = start + day - 1;
    (week != 0 && week_of(found).0 == year).then_some(found)
}

/// Year and number of the ISO 8601 week of a day number, and the day in it (1 is Monday).
pub fn week_of(number: i64) -> (i64, i64, i64) {
    let year = civil(number - 3).0;
    let year = if number >= first_monday(year + 1) { year + 1 } else { year };
    ((year), (number - first_monday(year)) / 7 + 1, number.rem_euclid(7) + 1)
}

/// The day number of a day (from 0) of a week as `%U` (weeks begin on Sunday) or with `monday` as `%W` counts them.
pub fn week_num(year: i64, week: i64, day: i64, monday: bool) -> Option<i64> {
    if year.unsigned_abs() > YEARS_MAX as u64 || !(0..=53).contains(&week) || !(0..=6).contains(&day) {
        return None;
    }
    let first = number(year, 1, 1) + 6;
    let start = first - (first + if monday { 0 } else { 1 }).rem_euclid(7) - 7;
    Some(start + 7 * week + day)
}

/// `time_fields(seconds)`: `[year, month, day, hour, minute, second, day of the week, day of the year]` of a local
/// time, which is seconds since 1970 plus its offset.
pub fn fields(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let seconds = seconds(arg(args, 0))?;
    let day = seconds.div_euclid(DAY) + EPOCH;
    let (year, month, of_month) = from_gregorian(day);
    let of_year = day - gregorian(year, 1, 1) + 1;
    let (hour, rest) = (seconds.rem_euclid(DAY) / 3600, seconds.rem_euclid(3600));
    Ok(integers(&[year, month, of_month, hour, rest / 60, rest % 60, (day + 1).rem_euclid(7), of_year]))
}

/// `time_civil(year, month, day, hour, minute, second)`: seconds since 1970 as if the time were UTC.
pub fn seconds_of(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let field = |at: usize| {
        let field = arg(args, at).int()?;
        if field.unsigned_abs() > FIELD_MAX { Err(raise("ArgumentError", "argument out of range")) } else { Ok(field) }
    };
    let year = field(0)?;
    if year.unsigned_abs() > YEARS_MAX as u64 / 4 {
        return Err(raise("ArgumentError", "year too big"));
    }
    let day = gregorian(year, field(1)?, field(2)?) - EPOCH;
    Ok(Value::Int(day * DAY + field(3)? * 3600 + field(4)? * 60 + field(5)?))
}

fn day_number(arg: Arg<'_>) -> Result<i64, Raise> {
    let number = arg.int()?;
    if number.unsigned_abs() > YEARS_MAX as u64 * 366 {
        Err(raise("RangeError", "a date beyond all calendars"))
    } else {
        Ok(number)
    }
}

/// `date_fields(number)`: `[year, month, day, day of the week, day of the year]` of a day number.
pub fn date_fields(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = day_number(arg(args, 0))?;
    let (year, month, day) = civil(number);
    Ok(integers(&[year, month, day, (number + 1).rem_euclid(7), year_day(number)]))
}

/// `date_week(number)`: `[year, week, day of the week]` of a day number by ISO 8601.
pub fn date_week(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (year, week, day) = week_of(day_number(arg(args, 0))?);
    Ok(integers(&[year, week, day]))
}

fn found(number: Option<i64>) -> Outcome {
    Ok(number.map_or(Value::Nil, Value::Int))
}

/// `date_civil(year, month, day)`: the day number, or nil where there is no such day.
pub fn date_civil(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    found(valid(arg(args, 0).int()?, arg(args, 1).int()?, arg(args, 2).int()?))
}

/// `date_ordinal(year, day)`: the day number of a day of the year, or nil.
pub fn date_ordinal(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    found(ordinal(arg(args, 0).int()?, arg(args, 1).int()?))
}

/// `date_commercial(year, week, day)`: the day number of a day of an ISO 8601 week, or nil.
pub fn date_commercial(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    found(commercial(arg(args, 0).int()?, arg(args, 1).int()?, arg(args, 2).int()?))
}

/// `date_week_num(year, week, day, monday)`: the day number of a day of a week as `%U` or, with `monday`, `%W` counts
/// them, or nil.
pub fn date_week_num(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let year = arg(args, 0).int()?;
    let week = arg(args, 1).int()?;
    let day = arg(args, 2).int()?;
    found(week_num(year, week, day, arg(args, 3).truthy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_comes_back_as_it_went() {
        for day in (-2_000_000..4_000_000).step_by(61).chain(REFORM - 400..REFORM + 800) {
            let (year, month, of_month) = civil(day);
            assert_eq!(valid(year, month, of_month), Some(day), "{year}-{month}-{of_month}");
            let (year, week, of_week) = week_of(day);
            assert_eq!(commercial(year, week, of_week), Some(day), "{year}-W{week}-{of_week}");
        }
    }

    #[test]
    fn the_reform_left_out_ten_days() {
        assert_eq!(valid(1582, 10, 4).map(|day| day + 1), valid(1582, 10, 15));
        assert_eq!(valid(1582, 10, 10), None);
        assert_eq!(valid(2023, 2, 29), None);
        assert_eq!(valid(2024, 2, -1), valid(2024, 2, 29));
    }
}
