//! The shared store and the shared counter, as Ruby sees them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ruby_native::{Arg, Outcome, Raise, Value, arg, raise};

use super::Call;
use crate::store::Refused;

/// The counter of requests.
pub fn requests_count(call: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Int(call.shared.keep.requests().load(Ordering::Relaxed) as i64))
}

/// Adds to the counter of requests; its new value.
pub fn requests_increment(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let by = if args.is_empty() { 1 } else { arg(args, 0).int()? };
    let Ok(by) = u64::try_from(by) else {
        return Err(raise("ArgumentError", "the counter of requests only goes up"));
    };
    Ok(Value::Int((call.shared.keep.requests().fetch_add(by, Ordering::Relaxed) + by) as i64))
}

fn key<'a>(args: &[Arg<'a>]) -> Result<&'a [u8], Raise> {
    arg(args, 0).bytes().map_err(|error| raise("TypeError", format!("a key of the store: {}", error.message)))
}

fn ttl(value: Arg<'_>) -> Result<Option<Duration>, Raise> {
    if value == Arg::Nil {
        return Ok(None);
    }
    let seconds = value.number()?;
    // A century: beyond that an Instant may not reach.
    if !(0.0..=3.2e9).contains(&seconds) {
        return Err(raise("ArgumentError", format!("ttl is {seconds} seconds, but must be from 0 to 3200000000")));
    }
    Ok(Some(Duration::from_secs_f64(seconds)))
}

fn refused(why: Refused) -> Raise {
    match why {
        Refused::Full => raise("FoolsGold::Store::Full", "the store has no room for this value"),
        Refused::NotAnInteger => raise("TypeError", "the value of this key is not an Integer"),
        Refused::Overflow => raise("RangeError", "the sum does not fit in 64 bits"),
    }
}

/// get(key)
pub fn get(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(call.shared.keep.store().get(key(args)?).map_or(Value::Nil, Value::Tree))
}

/// set(key, value, ttl)
pub fn set(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let value = arg(args, 1).tree();
    call.shared.keep.store().set(key(args)?, value, ttl(arg(args, 2))?).map_err(refused)?;
    Ok(Value::Nil)
}

/// delete(key)
pub fn delete(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(call.shared.keep.store().delete(key(args)?).map_or(Value::Nil, Value::Tree))
}

/// increment(key, by, ttl)
pub fn increment(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let by = arg(args, 1).int()?;
    let sum = call.shared.keep.store().increment(key(args)?, by, ttl(arg(args, 2))?).map_err(refused)?;
    Ok(Value::Int(sum))
}

/// clear
pub fn clear(call: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    call.shared.keep.store().clear();
    Ok(Value::Nil)
}

/// size
pub fn size(call: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Int(call.shared.keep.store().len() as i64))
}
