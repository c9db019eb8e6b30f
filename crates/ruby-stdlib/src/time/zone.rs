//! Time zones: that of the system (TZ, /etc/localtime), and those that an application sets in its own ENV["TZ"].

use std::collections::HashMap;
use std::sync::OnceLock;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use super::{now, seconds};
use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg};

/// Time zones that are kept by name.
const NAMES_MAX: usize = 32;
/// The first second that zones are asked about, near the begin of jiff's range; earlier times have its offset.
const FIRST: i64 = -377_000_000_000;
/// The last second that zones are asked about, near the end of jiff's range; later times have its offset.
const LAST: i64 = 253_400_000_000;

/// The zone of a name such as Europe/Berlin or EST5EDT, or of a file's path; UTC where there is none, as in C's
/// library.
fn named(name: &str) -> TimeZone {
    static KNOWN: OnceLock<Mutex<HashMap<String, TimeZone>>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock();
    if let Some(zone) = known.get(name) {
        return zone.clone();
    }
    let plain = name.strip_prefix(':').unwrap_or(name);
    let from_file = || {
        let bytes = plain.starts_with('/').then(|| std::fs::read(plain).ok()).flatten()?;
        TimeZone::tzif(plain, &bytes).ok()
    };
    let zone = TimeZone::get(plain).ok().or_else(from_file).or_else(|| TimeZone::posix(plain).ok());
    let zone = zone.unwrap_or(TimeZone::UTC);
    if known.len() >= NAMES_MAX {
        known.clear();
    }
    known.insert(name.to_owned(), zone.clone());
    zone
}

/// The zone that an argument names; nil is that of the system.
fn zone(name: Arg<'_>) -> Result<TimeZone, Raise> {
    static SYSTEM: OnceLock<TimeZone> = OnceLock::new();
    match name {
        Arg::Nil => Ok(SYSTEM.get_or_init(TimeZone::system).clone()),
        name => Ok(named(&name.text()?)),
    }
}

/// Offset in seconds, abbreviation, and whether daylight saving time applies.
fn info(zone: &TimeZone, seconds: i64) -> [Tree; 3] {
    let stamp = Timestamp::from_second(seconds.clamp(FIRST, LAST)).unwrap_or_default();
    let info = zone.to_offset_info(stamp);
    [
        Tree::Int(i64::from(info.offset().seconds())),
        Tree::Str(info.abbreviation().as_bytes().to_vec()),
        Tree::Bool(info.dst().is_dst()),
    ]
}

fn array(first: &[i64], info: [Tree; 3]) -> Value {
    Value::Tree(Tree::Array(first.iter().map(|number| Tree::Int(*number)).chain(info).collect()).encoded())
}

/// `time_now(zone or nil)`: `[seconds, nanoseconds, offset, abbreviation, daylight saving]` of the current time.
pub fn time_now(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (seconds, nanoseconds) = now();
    Ok(array(&[seconds, nanoseconds], info(&zone(arg(args, 0))?, seconds)))
}

/// `time_local(seconds, zone or nil)`: `[offset, abbreviation, daylight saving]` of a time in a zone.
pub fn local(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(array(&[], info(&zone(arg(args, 1))?, seconds(arg(args, 0))?)))
}

/// `time_from_local(seconds, zone or nil)`: `[seconds, offset, abbreviation, daylight saving]` of a local time, which
/// is given in seconds as if it were UTC.
pub fn from_local(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let (wall, zone) = (seconds(arg(args, 0))?, zone(arg(args, 1))?);
    let day_one = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let civil = day_one.checked_add(SignedDuration::from_secs(wall.clamp(FIRST, LAST))).unwrap_or(day_one);
    // An hour that is skipped stands for the one after it; of an hour that occurs twice, the second one is taken.
    let stamp = zone.to_ambiguous_timestamp(civil).later().map_or(wall, |stamp| stamp.as_second());
    let seconds = stamp + (wall - wall.clamp(FIRST, LAST));
    Ok(array(&[seconds], info(&zone, seconds)))
}
