//! Native functions for the shared key-value store and the shared counter of requests.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ruby_native::{Arg, Outcome, Raise, Value, arg, raise};

use super::Call;
use crate::store::Refused;

/// `FoolsGold::Counter.count`: the value of the counter of requests.
pub fn requests_count(call: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Int(call.shared.settings.keep.requests().load(Ordering::Relaxed) as i64))
}

/// `FoolsGold::Counter.increment(by = 1)`: adds to the counter of requests and returns its new value.
pub fn requests_increment(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let by = if args.is_empty() { 1 } else { arg(args, 0).int()? };
    let Ok(by) = u64::try_from(by) else {
        return Err(raise("ArgumentError", "the counter of requests only goes up"));
    };
    Ok(Value::Int((call.shared.settings.keep.requests().fetch_add(by, Ordering::Relaxed) + by) as i64))
}

fn key<'a>(args: &[Arg<'a>]) -> Result<&'a [u8], Raise> {
    arg(args, 0).bytes().map_err(|error| raise("TypeError", format!("a key of the store: {}", error.message)))
}

fn ttl(value: Arg<'_>) -> Result<Option<Duration>, Raise> {
    if value == Arg::Nil {
        return Ok(None);
    }
    let seconds = value.number()?;
    // An `Instant` may not reach further than a century.
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

/// `store_get(key)`: the value of a key, or nil.
pub fn get(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(call.shared.settings.keep.store().get(key(args)?).map_or(Value::Nil, Value::Tree))
}

/// `store_set(key, value, ttl)`: sets a value, which expires after `ttl` seconds unless that is nil.
pub fn set(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let value = arg(args, 1).tree();
    call.shared.settings.keep.store().set(key(args)?, value, ttl(arg(args, 2))?).map_err(refused)?;
    Ok(Value::Nil)
}

/// `store_delete(key)`: removes a key and returns its value, or nil.
pub fn delete(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    Ok(call.shared.settings.keep.store().delete(key(args)?).map_or(Value::Nil, Value::Tree))
}

/// `store_increment(key, by, ttl)`: adds to an Integer atomically and returns the sum.
pub fn increment(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let by = arg(args, 1).int()?;
    let sum = call.shared.settings.keep.store().increment(key(args)?, by, ttl(arg(args, 2))?).map_err(refused)?;
    Ok(Value::Int(sum))
}

/// `store_clear`: removes all keys.
pub fn clear(call: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    call.shared.settings.keep.store().clear();
    Ok(Value::Nil)
}

/// `store_size`: the number of keys that have not expired.
pub fn size(call: &mut Call<'_>, _: &[Arg<'_>]) -> Outcome {
    Ok(Value::Int(call.shared.settings.keep.store().len() as i64))
}
