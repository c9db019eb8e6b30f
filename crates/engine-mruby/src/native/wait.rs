//! Native functions for sleeping and for the time limits of blocks (Timeout.timeout).

use std::time::{Duration, Instant};

use ruby_native::{Arg, Outcome, Value, Work, arg, raise};

use super::Call;
use crate::run_state::NAP;

/// `timer_start(seconds)`: sets a time limit for a block and returns its number.
pub fn timer_start(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let seconds = arg(args, 0).number()?;
    if seconds.is_nan() || seconds < 0.0 {
        return Err(raise("ArgumentError", "Timeout sec must be a non-negative number"));
    }
    let wanted = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let now = call.work.clock.at(Instant::now());
    let ends = now.saturating_add(u64::try_from(wanted.as_nanos()).unwrap_or(u64::MAX));
    let Some(number) = call.work.timers.start(ends) else {
        return Err(raise("ThreadError", "too many blocks with a limit are inside of each other"));
    };
    call.work.run_state.set_soon(call.work.timers.next());
    Ok(Value::Int(number as i64))
}

/// `timer_stop(number)`: removes a time limit. Returns whether it had expired, and none around it.
pub fn timer_stop(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let number = u64::try_from(arg(args, 0).int()?).unwrap_or(0);
    let was_over = call.work.timers.stop(number);
    call.work.run_state.set_soon(call.work.timers.next());
    Ok(Value::Bool(was_over))
}

/// `sleep(seconds)`: sleeps until the request's deadline at the latest, and returns the seconds slept, rounded.
pub fn sleep(call: &mut Call<'_>, args: &[Arg<'_>]) -> Outcome {
    let seconds = match arg(args, 0) {
        Arg::Nil => f64::MAX,
        given => given.number()?,
    };
    if seconds.is_nan() || seconds < 0.0 {
        return Err(raise("ArgumentError", "time interval must not be negative"));
    }
    let wanted = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let begin = Instant::now();
    if !call.work.is_request() {
        return Err(raise(
            "NotImplementedError",
            "sleep while the application is loaded would delay every interpreter. Leave it out, or run \
             with --engine ruby.",
        ));
    }
    call.work.migrate();
    call.work.flush();
    // From now on: the flush may have blocked.
    let ends = Instant::now().checked_add(wanted);
    loop {
        // Read again each time: an order to end the request sets its deadline to a time in the past.
        let until = call.work.until();
        let left = ends.map_or(until, |ends| ends.min(until)).saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        #[expect(clippy::disallowed_methods, reason = "to sleep is what the application asked for")]
        std::thread::sleep(left.min(NAP));
    }
    // After a short sleep, too: a Timeout that has expired meanwhile is reported only once, by this call.
    if let Some(late) = call.work.overdue() {
        return Err(late);
    }
    Ok(Value::Int(begin.elapsed().as_secs_f64().round() as i64))
}
