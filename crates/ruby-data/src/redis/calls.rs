//! Native functions for library/redis.rb. The request's deadline caps the timeouts that Ruby passes.

use std::time::{Duration, Instant};

use crate::redis::{Place, RedisConnection, RedisError, encode};
use ruby_native::{Arg, Context, Outcome, Raise, Tree, Value, arg, raise};

/// Connections that one interpreter may have open.
const CONNECTIONS_MAX: usize = 64;
/// Bytes that a connection with its buffer counts towards the interpreter's memory limit.
const CONNECTION_BYTES: usize = 32 << 10;

fn until(context: &Context<'_>, seconds: Arg<'_>) -> Result<Instant, Raise> {
    let latest = context.work.until();
    if seconds == Arg::Nil {
        return Ok(latest);
    }
    let time = Duration::try_from_secs_f64(seconds.number()?)
        .map_err(|_| raise("ArgumentError", "a time-out must be a number of seconds, not below 0"))?;
    Ok(Instant::now().checked_add(time).map_or(latest, |ends| ends.min(latest)))
}

fn failed(context: &mut Context<'_>, error: RedisError) -> Raise {
    let late = if matches!(error, RedisError::Time) { context.work.overdue_by_now() } else { context.work.overdue() };
    if let Some(late) = late {
        return late;
    }
    match error {
        RedisError::Connect(why) => raise("Redis::CannotConnectError", why),
        RedisError::Time => raise("Redis::TimeoutError", "Waited too long for Redis"),
        RedisError::Lost(why) => raise("Redis::ConnectionError", format!("Connection lost ({why})")),
        RedisError::Protocol(why) => raise("Redis::ProtocolError", why),
    }
}

/// `redis_open(host, port, timeout)` and `redis_open(path, nil, timeout)`: connects, and returns a handle. The timeout
/// is in seconds, or nil.
pub fn open(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    let ends = until(context, arg(args, 2))?;
    let host = arg(args, 0).text()?;
    let place = match arg(args, 1) {
        Arg::Nil => Place::Unix(arg(args, 0).path()?),
        port => Place::Tcp(
            &host,
            u16::try_from(port.int()?).map_err(|_| raise("ArgumentError", "a port is from 0 to 65535"))?,
        ),
    };
    let connection = RedisConnection::open(&place, ends).map_err(|error| failed(context, error))?;
    Ok(Value::Handle(context.handles.hold_one_of(CONNECTIONS_MAX, connection)?, CONNECTION_BYTES))
}

/// `redis_call(handle, [command, …], timeout)`: sends commands and returns an Array of the replies; an error reply is a
/// Symbol. After an exception the connection cannot be used any more.
pub fn call(context: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    context.tick()?;
    // The part of the response body that is there should not wait for Redis.
    context.work.flush();
    let ends = until(context, arg(args, 2))?;
    let most = context.memory_bytes / 4;
    let Ok(Tree::Array(commands)) = Tree::decode(&arg(args, 1).tree()) else {
        return Err(raise("TypeError", "commands are Arrays in an Array"));
    };
    let mut bytes = Vec::new();
    for command in &commands {
        let Tree::Array(parts) = command else { return Err(raise("TypeError", "a command is an Array")) };
        encode(parts, &mut bytes).map_err(|why| raise("TypeError", why))?;
    }
    let connection = context.handles.get::<RedisConnection>(arg(args, 0).handle()?)?;
    let answers = connection.call(&bytes, commands.len(), ends, most).map_err(|error| failed(context, error))?;
    Ok(Value::Tree(Tree::Array(answers).encoded()))
}
