//! strftime for Time and Date.

use std::io::{self, Write};

use strftime::Time;

use super::calendar::{self, EPOCH};
use super::seconds;
use ruby_native::{Arg, Context, Outcome, Value, arg, raise};

/// The fields of a time that the crate strftime reads.
struct Fields {
    year: i32,
    month: u8,
    day: u8,
    second_of_day: i64,
    nanosecond: u32,
    offset: i32,
    zone: String,
    utc: bool,
    epoch: i64,
    week_day: u8,
    year_day: u16,
}

impl Time for Fields {
    fn year(&self) -> i32 {
        self.year
    }
    fn month(&self) -> u8 {
        self.month
    }
    fn day(&self) -> u8 {
        self.day
    }
    fn hour(&self) -> u8 {
        (self.second_of_day / 3600) as u8
    }
    fn minute(&self) -> u8 {
        (self.second_of_day / 60 % 60) as u8
    }
    fn second(&self) -> u8 {
        (self.second_of_day % 60) as u8
    }
    fn nanoseconds(&self) -> u32 {
        self.nanosecond
    }
    fn day_of_week(&self) -> u8 {
        self.week_day
    }
    fn day_of_year(&self) -> u16 {
        self.year_day
    }
    fn to_int(&self) -> i64 {
        self.epoch
    }
    fn is_utc(&self) -> bool {
        self.utc
    }
    fn utc_offset(&self) -> i32 {
        self.offset
    }
    fn time_zone(&self) -> &str {
        &self.zone
    }
}

/// Most bytes of a result.
const BYTES_MAX: usize = 1 << 20;

/// An output of at most `BYTES_MAX`, since a directive may have any width.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > BYTES_MAX {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `strftime(format, seconds, nanoseconds, offset, zone, is_utc, is_date)`: the formatted time. A Date before 1582 uses
/// the Julian calendar.
pub fn strftime(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let epoch = seconds(arg(args, 1))?;
    let offset = seconds(arg(args, 3))?;
    let local = epoch + offset;
    let day = local.div_euclid(86_400) + EPOCH;
    let (year, month, of_month, year_day) = if arg(args, 6).truthy() {
        let (year, month, of_month) = calendar::civil(day);
        (year, month, of_month, calendar::year_day(day))
    } else {
        let (year, month, of_month) = calendar::from_gregorian(day);
        (year, month, of_month, day - calendar::gregorian(year, 1, 1) + 1)
    };
    let fields = Fields {
        year: i32::try_from(year).map_err(|_| raise("ArgumentError", "strftime knows years of 32 bits"))?,
        month: month as u8,
        day: of_month as u8,
        second_of_day: local.rem_euclid(86_400),
        nanosecond: arg(args, 2).int()? as u32,
        offset: offset as i32,
        zone: if arg(args, 4) == Arg::Nil { String::new() } else { arg(args, 4).text()?.into_owned() },
        utc: arg(args, 5).truthy(),
        epoch,
        week_day: (day + 1).rem_euclid(7) as u8,
        year_day: year_day as u16,
    };
    let format = arg(args, 0).bytes()?;
    let mut limited = Limited(Vec::with_capacity(format.len() * 2));
    strftime::io::strftime(&fields, format, &mut limited).map_err(|error| {
        raise("ArgumentError", format!("strftime format {:?}: {error}", String::from_utf8_lossy(format)))
    })?;
    Ok(Value::Str(limited.0))
}
