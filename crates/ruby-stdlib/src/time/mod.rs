//! Time as numbers and text: clocks, calendar (`calendar.rs`), time zones (`zone.rs`), strftime (`format.rs`), the
//! dates of HTTP (RFC 9110, section 5.6.7), strptime, and Date._parse (`guess.rs`).

pub mod calendar;
pub mod format;
pub mod guess;
mod known;
pub mod strptime;
pub mod zone;

use std::time::{Duration, SystemTime};

use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};
use rustix::time::{ClockId, clock_gettime};

/// Largest number of seconds that is accepted, so that no sum overflows.
const SECONDS_MAX: i64 = 1 << 55;

/// An argument as seconds; a RangeError where it is beyond `SECONDS_MAX`.
fn seconds(arg: Arg<'_>) -> Result<i64, Raise> {
    let seconds = arg.int()?;
    if seconds.unsigned_abs() > SECONDS_MAX as u64 {
        Err(raise("RangeError", "a time beyond all calendars"))
    } else {
        Ok(seconds)
    }
}

fn integers(numbers: &[i64]) -> Value {
    Value::Tree(Tree::Array(numbers.iter().map(|number| Tree::Int(*number)).collect()).encoded())
}

/// Seconds and nanoseconds since 1970.
fn now() -> (i64, i64) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() as i64, i64::from(since.subsec_nanos()))
}

/// `time_real`: seconds since 1970 as a Float.
pub fn real(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    let (seconds, nanoseconds) = now();
    Ok(Value::Float(seconds as f64 + nanoseconds as f64 / 1e9))
}

/// `httpdate(seconds)`: the HTTP date of seconds since 1970; an ArgumentError beyond the year 9999.
pub fn httpdate(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let seconds = arg(args, 0).int()?;
    let time = u64::try_from(seconds).ok().map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    // The format has four digits for the year (9999 ends at this second), and the crate begins at 1970.
    match time {
        Some(time) if seconds < 253_402_300_800 => Ok(Value::Str(httpdate::fmt_http_date(time).into_bytes())),
        _ => Err(raise("ArgumentError", "an HTTP date must be from the years 1970 to 9999")),
    }
}

/// `parse_httpdate(text)`: seconds since 1970 of an HTTP date.
pub fn parse_httpdate(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0).text()?;
    let time = httpdate::parse_http_date(&text)
        .map_err(|_| raise("ArgumentError", format!("not RFC 2616 compliant date: {text:?}")))?;
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    Ok(Value::Int(seconds as i64))
}

/// `monotonic`: seconds of the monotonic clock as a Float. As in CRuby they count from the start of the machine, so
/// that code which begins with 0 as its last time takes that for long ago.
pub fn monotonic(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Float(of_clock(ClockId::Monotonic)))
}

fn of_clock(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// `processor_time(whole)`: processor time so far in seconds, as a Float: that of this process, or with false that of
/// this thread. For the latter the request goes to a runner first, where it stays to its end: two readings are of one
/// thread, and their difference is what the request has used.
pub fn processor_time(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let whole = arg(args, 0).truthy();
    if !whole {
        context.work.migrate();
    }
    Ok(Value::Float(of_clock(if whole { ClockId::ProcessCPUTime } else { ClockId::ThreadCPUTime })))
}
