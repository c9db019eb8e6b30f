//! The directives in the block of Rainbows!, a server whose files are otherwise Unicorn's.

use serde_json::Value;

use super::record::Directive;
use super::translation::{RemarkKind, Translation, text};
use crate::config::options::DAY_MS;
use crate::config::size::{KIB, parse_time, show_time};

const BLOCK: &str = "Rainbows!";
/// The model that runs one request at a time, as Unicorn does, and which counts if none is named.
const BASE: &str = "Base";
/// All models, those of older versions too. Rainbows! does not start with any other name.
const MODELS: [&str; 24] = [
    BASE,
    "ActorSpawn",
    "Coolio",
    "CoolioFiberSpawn",
    "CoolioThreadPool",
    "CoolioThreadSpawn",
    "Epoll",
    "EventMachine",
    "FiberPool",
    "FiberSpawn",
    "NeverBlock",
    "Rev",
    "RevFiberSpawn",
    "RevThreadPool",
    "RevThreadSpawn",
    "Revactor",
    "StreamResponseEpoll",
    "ThreadPool",
    "ThreadSpawn",
    "WriterThreadPool",
    "WriterThreadSpawn",
    "XEpoll",
    "XEpollThreadPool",
    "XEpollThreadSpawn",
];
/// Requests that a worker has at once if the file names no number.
const USUAL: u64 = 50;
/// The most threads, and the smallest limit of a head, that our options accept.
const MOST_THREADS: u64 = 1024;
const LEAST_HEADER: u64 = 8 * KIB;

const ONE_THREAD: &str = "a request has a thread here, no fiber and no turn in an event loop, and a worker one thread \
                          unless --threads says more, for which the application must be thread-safe; there is no \
                          async.callback";
const OUTSIDE: &str = "belongs in a Rainbows! block; a middleware belongs in config.ru";
const CONNECTIONS_OUTSIDE: &str = "belongs in a Rainbows! block; --connections limits the connections of the server";
const NO_MODEL: &str = "Rainbows! has no such concurrency model; those with threads are :ThreadPool and :ThreadSpawn, \
                        and :Base has one request at a time";
const NO_NUMBER: &str = "must be a whole number from 1 on";
const CONNECTIONS: &str = "connections are those of the whole server, at most --connections";

/// The concurrency model with which a file runs requests, if it is one of Rainbows!.
fn named(to: &Translation) -> Option<String> {
    to.call(BLOCK).map(|_| to.word("use").unwrap_or_else(|| BASE.to_owned()))
}

/// Whether a model runs the application as Unicorn does, one request at a time: there `timeout` limits each of them. In
/// two models only responses are written by threads.
fn is_as_unicorn(model: &str) -> bool {
    model == BASE || model.starts_with("Writer")
}

/// Whether a model runs the application in several threads.
fn has_threads(model: &str) -> bool {
    !is_as_unicorn(model) && (model.contains("Thread") || model == "ActorSpawn")
}

/// Whether requests run beside the loop that shows that a worker lives: then `timeout` is for a worker that hangs, and
/// no limit for requests.
pub fn is_concurrent(to: &Translation) -> bool {
    named(to).is_some_and(|model| !is_as_unicorn(&model))
}

/// The concurrency model. [`finish`] finds the number of threads.
pub fn model(to: &mut Translation, call: &Directive) {
    let model = text(call.args.first()).unwrap_or_default();
    if to.call(BLOCK).is_none() {
        to.remark(call, RemarkKind::Refused, OUTSIDE);
    } else if !MODELS.contains(&&*model) {
        to.remark(call, RemarkKind::Refused, NO_MODEL);
    } else if !is_as_unicorn(&model) && !has_threads(&model) {
        to.remark(call, RemarkKind::Differs, ONE_THREAD);
    }
}

/// The connections of a worker. [`finish`] finds their effect.
pub fn connections(to: &mut Translation, call: &Directive) {
    if to.call(BLOCK).is_none() {
        to.remark(call, RemarkKind::Refused, CONNECTIONS_OUTSIDE);
    } else if call.args.first().and_then(Value::as_u64).is_none() {
        to.remark(call, RemarkKind::Refused, NO_NUMBER);
    }
}

/// The limit of a request's head.
pub fn header_limit(to: &mut Translation, call: &Directive) {
    match call.args.first().and_then(Value::as_u64) {
        Some(bytes) if bytes < LEAST_HEADER => {
            to.set(call, "header-bytes", LEAST_HEADER.to_string());
            to.remark(call, RemarkKind::Differs, "the limit is 8 KiB, the smallest that there is");
        }
        _ => to.copy(call, "header-bytes"),
    }
}

/// Adds threads and defaults, if there is a block.
pub fn finish(to: &mut Translation) {
    let Some(model) = named(to) else { return };
    let connections = to.call("worker_connections").cloned();
    if has_threads(&model) {
        threads(to, &model, connections);
    } else if let Some(call) = connections {
        to.remark(&call, RemarkKind::Missing, CONNECTIONS);
    }
    if is_concurrent(to) {
        infer(to, "request-time", "none");
        infer(to, "worker-timeout", "60s");
        // A worker ends after twice this time at the latest.
        let end = to.value("worker-timeout").and_then(parse_time).filter(|ms| *ms > 0);
        infer(to, "drain-time", &show_time(end.map_or(DAY_MS, |ms| DAY_MS.min(2 * ms))));
    }
    infer(to, "keep-alive", "5s");
    infer(to, "body-bytes", "1MiB");
}

/// As many threads as a worker has connections, or as the pool behind an event loop has.
fn threads(to: &mut Translation, model: &str, connections: Option<Directive>) {
    let chosen = to.call("use").cloned();
    let is_behind_loop = model.ends_with("ThreadPool") && model != "ThreadPool";
    let call = if is_behind_loop { chosen } else { connections.or(chosen) };
    let Some(call) = call else { return };
    let number = match call.args.get(1) {
        Some(options) => options.get("pool_size"),
        None => call.args.first(),
    };
    let threads = number.and_then(Value::as_u64).unwrap_or(USUAL).min(MOST_THREADS);
    to.set(&call, "threads", threads.to_string());
}

/// Sets an option to the default of Rainbows!, unless the file has set it.
fn infer(to: &mut Translation, key: &str, value: &str) {
    if to.value(key).is_none() {
        to.set_inferred(key, value, &format!("{key} {value}, which is what Rainbows! does"));
    }
}
