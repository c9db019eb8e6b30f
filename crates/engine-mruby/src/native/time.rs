//! Time as text: strftime with Ruby's directives, and the dates of HTTP (RFC 9110 section 5.6.7). And sleeping.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use strftime::Time;

use super::{Arg, Context, Outcome, Value, arg, raise};

/// The fields of a Ruby Time.
struct Fields {
    year: i32,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    nanosecond: u32,
    offset: i32,
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
        self.hour
    }
    fn minute(&self) -> u8 {
        self.minute
    }
    fn second(&self) -> u8 {
        self.second
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
        if self.utc { "UTC" } else { "" }
    }
}

/// strftime(format, epoch, nanosecond, year, month, day, hour, minute, second, week day, year day, offset or nil)
pub fn strftime(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let field = |at: usize| arg(args, at).int();
    let fields = Fields {
        epoch: field(1)?,
        nanosecond: field(2)? as u32,
        year: field(3)? as i32,
        month: field(4)? as u8,
        day: field(5)? as u8,
        hour: field(6)? as u8,
        minute: field(7)? as u8,
        second: field(8)? as u8,
        week_day: field(9)? as u8,
        // Ruby counts the days of a year from 1, this crate too.
        year_day: field(10)? as u16,
        offset: if arg(args, 11) == Arg::Nil { 0 } else { field(11)? as i32 },
        utc: arg(args, 11) == Arg::Nil,
    };
    let format = arg(args, 0).text()?;
    let text = strftime::string::strftime(&fields, &format)
        .map_err(|error| raise("ArgumentError", format!("strftime format {format:?}: {error}")))?;
    Ok(Value::Str(text.into_bytes()))
}

/// httpdate(epoch)
pub fn httpdate(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let seconds = arg(args, 0).int()?;
    let time = u64::try_from(seconds).ok().map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    // The format has four digits for the year (9999 ends at this second), and the crate begins at 1970.
    match time {
        Some(time) if seconds < 253_402_300_800 => Ok(Value::Str(httpdate::fmt_http_date(time).into_bytes())),
        _ => Err(raise("ArgumentError", "an HTTP date must be from the years 1970 to 9999")),
    }
}

/// parse_httpdate(text) → epoch
pub fn parse_httpdate(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0).text()?;
    let time = httpdate::parse_http_date(&text)
        .map_err(|_| raise("ArgumentError", format!("not RFC 2616 compliant date: {text:?}")))?;
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    Ok(Value::Int(seconds as i64))
}

/// monotonic → seconds
pub fn monotonic(_: &mut Context<'_>, _: &[Arg<'_>]) -> Outcome {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    Ok(Value::Float(BEGIN.get_or_init(Instant::now).elapsed().as_secs_f64()))
}

/// sleep(seconds) → seconds slept, rounded. Ends with the request's deadline at the latest.
pub fn sleep(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let seconds = match arg(args, 0) {
        Arg::Nil => f64::MAX,
        given => given.number()?,
    };
    if seconds.is_nan() || seconds < 0.0 {
        return Err(raise("ArgumentError", "time interval must not be negative"));
    }
    let wanted = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let begin = Instant::now();
    let Some(exchange) = &mut context.exchange else {
        return Err(raise(
            "NotImplementedError",
            "sleep while the application is loaded would delay every interpreter. Leave it out, or run \
             with --engine ruby.",
        ));
    };
    exchange.leave();
    // A client that has gone is noticed by the next write.
    let _ = exchange.hurry();
    let allowed = exchange.deadline().saturating_duration_since(begin);
    #[expect(clippy::disallowed_methods, reason = "to sleep is what the application asked for")]
    std::thread::sleep(wanted.min(allowed));
    if wanted > allowed {
        return Err(raise("FoolsGold::RequestTimeout", "the request took longer than it may"));
    }
    Ok(Value::Int(begin.elapsed().as_secs_f64().round() as i64))
}
