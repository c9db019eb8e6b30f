//! Puma's directives, up to version 8, and their translations.

use std::net::IpAddr;

use serde_json::Value;

use super::record::Directive;
use super::translation::{DirectiveRule, HEADERS_OF_PROXIES, RemarkKind, Rule, Translation, is_no, seconds, text};
use crate::config::bind_query::{BACKLOG_MAX, tcp};
use crate::config::options::{DAY_MS, WORKER_TIMEOUT_MS};
use crate::config::size::parse_time;

/// Puma's default of `worker_shutdown_timeout`.
const WORKER_SHUTDOWN: &str = "30s";
const TLS: &str = "there is no TLS in this version: end it in front, or leave this address out";
pub const REFORK: &str = "workers are forked from a process that never serves; reforking from a warm one is not done";
const THREADS: &str = "all threads are there from the start; their number does not change";
const RESTART: &str = "runs at a restart (USR2), in a process forked from the one that has loaded the application; \
                       what it changes in ENV is for the new program";
const ERROR_HANDLER: &str = "its answer is the client's when the application raises; requests that the server itself \
                             refuses, and those that time out, have the server's";
const BY_HEADER: &str = "the header counts where a proxy has sent it that --trust-proxy names (private networks unless \
                         said otherwise); in Puma any client can say with it who it is";
const PRELOADED: &str = "it is for workers that load the application: where that is preloaded, and in single mode, \
                         Puma has no limit either; --boot-time sets one";
const NO_WORKERS: &str = "it is for the workers of a cluster: in single mode Puma does not end a request by it either";
const NO_HEARTBEAT: &str = "it is for the workers of a cluster: in single mode Puma ends no process by it either";
const BOOTED: &str = "runs when the server serves, in the process that forks workers; with workers 0 in the worker; \
                      also when a reload has loaded new code";
const STOPPED: &str = "runs when all workers have exited, in the process that forked them; with workers 0 in the \
                       worker, before it has answered its requests; also when a reload or an upgrade ends the old one";
const ADDED: &str = "an option of a library for Puma, which nothing here reads";
const OF_WORKERS: &str = "runs as it stands; not with workers 0, as in Puma";
const CONTROL: &str = "there is no control app: pumactl -S and -P send signals, and work; foolsgold status, reload, \
                       stop and others ask the control socket, also for what pumactl stats and thread-backtraces tell";

/// Differences from Puma with any file.
pub const ALWAYS: &[&str] = &[
    "requests wait in one queue for all workers, at most --queue of them (as many as --connections), then 503; in Puma \
     each worker has a queue of its own, without a limit",
    "each request has a line in the log; --access-log off writes none, as in Puma",
    "a request has at most --header-count (100) header fields, then 431; Puma has no such limit but the size of all",
    HEADERS_OF_PROXIES,
    "a body must come at 500 bytes per second or more once it has taken --body-time (60s)",
    "preload_app! with several workers: an application that holds a connection open is not forked, each worker loads \
     it (--preload=force forks it)",
    "there is at least one worker process; Puma's single mode has none beside itself",
];

pub const RULES: &[DirectiveRule] = &[
    ("bind", Rule::Custom(bind)),
    ("port", Rule::Custom(port)),
    ("ssl_bind", Rule::Refused(TLS)),
    ("set_default_host", Rule::Custom(|to, call| to.default_host = text(call.args.first()))),
    ("clear_binds!", Rule::Custom(|to, _| to.unset("bind"))),
    ("bind_to_activated_sockets", Rule::Custom(activated)),
    ("threads", Rule::Custom(threads)),
    ("max_io_threads", Rule::Missing("a request that waits does not keep others from another thread or worker")),
    ("auto_trim_time", Rule::Needless(THREADS)),
    ("reaping_time", Rule::Needless(THREADS)),
    ("fiber_per_request", Rule::Off("a request runs in a thread that serves others after it")),
    ("clean_thread_locals", Rule::Off("a request runs in a thread that serves others after it")),
    ("workers", Rule::Custom(workers)),
    ("preload_app!", Rule::Switch("preload", "yes", "no")),
    ("fork_worker", Rule::Missing(REFORK)),
    ("nakayoshi_fork", Rule::Needless("garbage is collected before the first fork")),
    ("prune_bundler", Rule::Needless("the server is no gem; each reload reads the Gemfile afresh")),
    ("extra_runtime_dependencies", Rule::Needless("the server is no gem; each reload reads the Gemfile afresh")),
    ("directory", Rule::Same("dir")),
    // Its name up to Puma 4.
    ("worker_directory", Rule::Same("dir")),
    ("tag", Rule::Custom(tag)),
    // Since they depend on the number of workers, and on the preload.
    ("worker_timeout", Rule::Later),
    ("worker_boot_timeout", Rule::Later),
    // Since they depend on each other and on the number of workers.
    ("worker_shutdown_timeout", Rule::Later),
    ("force_shutdown_after", Rule::Later),
    ("worker_check_interval", Rule::Needless("the end of a worker is noticed when it happens")),
    ("worker_culling_strategy", Rule::Missing("which worker leaves is decided by who is idle")),
    ("first_data_timeout", Rule::Seconds("header-time")),
    ("persistent_timeout", Rule::Seconds("keep-alive")),
    ("idle_timeout", Rule::Missing("the server does not end by itself; --min-workers 0 lets its workers end")),
    ("enable_keep_alives", Rule::Custom(keep_alives)),
    ("max_keep_alive", Rule::Missing("a connection may serve any number of requests")),
    ("max_fast_inline", Rule::Needless("connections take turns at each request")),
    ("queue_requests", Rule::Needless("requests are always read to their end before Ruby sees them")),
    ("wait_for_less_busy_worker", Rule::Needless("there is one queue, from which idle workers take")),
    ("io_selector_backend", Rule::Needless("sockets are not read by Ruby")),
    ("http_content_length_limit", Rule::Custom(body_limit)),
    ("supported_http_methods", Rule::Custom(methods)),
    ("allow_underscore_headers", Rule::Switch("underscore-headers", "pass", "drop")),
    ("set_remote_address", Rule::Custom(remote_address)),
    ("drain_on_shutdown", Rule::Needless("accepted connections are always served to their end")),
    ("raise_exception_on_sigterm", Rule::Needless("no worker sees SIGTERM; the server ends them when they are done")),
    ("shutdown_debug", Rule::Off("the log has the backtrace of each request that timed out")),
    ("environment", Rule::Same("environment")),
    ("rackup", Rule::Custom(rackup)),
    ("app", Rule::Refused("an application inside a configuration file is not served: put it into a config.ru")),
    ("rack_url_scheme", Rule::Same("url-scheme")),
    ("early_hints", Rule::Same("early-hints")),
    ("http_parser", Rule::Needless("HTTP is not parsed by Ruby")),
    ("pidfile", Rule::Same("pidfile")),
    ("state_path", Rule::Same("state")),
    ("state_permission", Rule::Custom(state_permission)),
    ("stdout_redirect", Rule::Custom(redirect)),
    ("log_requests", Rule::Switch("access-log", "text", "off")),
    ("quiet", Rule::Switch("access-log", "off", "text")),
    ("debug", Rule::Custom(|to, call| to.set(call, "log", "debug".to_owned()))),
    ("log_formatter", Rule::Missing("--access-log json gives lines for machines")),
    ("custom_logger", Rule::Missing("the log goes to standard output, or where --redirect-stdout says")),
    ("activate_control_app", Rule::Missing(CONTROL)),
    ("plugin", Rule::Custom(plugin)),
    ("load", Rule::Missing("Puma does not read it either where a file says so: instance_eval File.read(...) does")),
    ("single", Rule::Needless("")),
    ("cluster", Rule::Needless("")),
    ("get", Rule::Needless("")),
    ("default_host", Rule::Needless("")),
    ("lowlevel_error_handler", Rule::Hook(ERROR_HANDLER)),
    ("restart_command", Rule::Missing("a restart starts the program with the arguments it was started with")),
    ("silence_single_worker_warning", Rule::Needless("there is no such warning")),
    ("silence_fork_callback_warning", Rule::Needless("there is no such warning")),
    ("mutate_stdout_and_stderr_to_sync_on_write", Rule::Needless("both are always so")),
    ("daemonize", Rule::Same("daemonize")),
    ("before_fork", Rule::Hook("runs once, before the first worker is forked; not with workers 0, as in Puma")),
    ("before_worker_fork", Rule::Hook(OF_WORKERS)),
    ("on_worker_fork", Rule::Hook(OF_WORKERS)),
    ("after_worker_fork", Rule::Hook(OF_WORKERS)),
    ("after_worker_boot", Rule::Hook(OF_WORKERS)),
    ("before_worker_boot", Rule::Hook(OF_WORKERS)),
    ("on_worker_boot", Rule::Hook(OF_WORKERS)),
    ("before_worker_shutdown", Rule::Hook(OF_WORKERS)),
    ("on_worker_shutdown", Rule::Hook(OF_WORKERS)),
    ("after_worker_shutdown", Rule::Hook("as before_fork, in the same process")),
    ("before_thread_start", Rule::Hook("")),
    ("on_thread_start", Rule::Hook("")),
    ("before_thread_exit", Rule::Hook("")),
    ("on_thread_exit", Rule::Hook("")),
    ("out_of_band", Rule::Hook("")),
    ("after_booted", Rule::Hook(BOOTED)),
    ("on_booted", Rule::Hook(BOOTED)),
    ("after_stopped", Rule::Hook(STOPPED)),
    ("on_stopped", Rule::Hook(STOPPED)),
    ("before_restart", Rule::Hook(RESTART)),
    ("on_restart", Rule::Hook(RESTART)),
    ("Puma::DSL", Rule::Missing(ADDED)),
    ("before_refork", Rule::Missing(REFORK)),
    ("on_refork", Rule::Missing(REFORK)),
    ("after_refork", Rule::Missing(REFORK)),
];

fn bind(to: &mut Translation, call: &Directive) {
    let Some(uri) = text(call.args.first()) else {
        return to.remark(call, RemarkKind::Refused, "needs an address such as tcp://0.0.0.0:3000");
    };
    if uri.starts_with("ssl://") {
        return to.remark(call, RemarkKind::Refused, TLS);
    }
    let (address, query) = uri.split_once('?').unwrap_or((&uri, ""));
    // To Puma, `unix:/run/web.sock` is the same as `unix:///run/web.sock`.
    let one_slash = address.strip_prefix("unix:").filter(|path| path.starts_with('/'));
    let address = match address.strip_prefix("unix://").or(one_slash) {
        Some(path) if !path.starts_with(['/', '@']) => format!("unix://{}", absolute(&to.in_folder(path))),
        Some(path) => format!("unix://{path}"),
        // To Ruby, an empty host is all IPv4 addresses.
        None => match address.strip_prefix("tcp://:").filter(|port| !port.contains(':')) {
            Some(port) => tcp("0.0.0.0", port),
            None => address.to_owned(),
        },
    };
    let options: &[&str] = if address.starts_with("unix://") { &UNIX_OPTIONS } else { &TCP_OPTIONS };
    let (known, unknown): (Vec<&str>, Vec<&str>) = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .partition(|pair| options.contains(&pair.split('=').next().unwrap_or_default()));
    if !unknown.is_empty() {
        to.remark(call, RemarkKind::Needless, &format!("Puma does nothing about it either: {}", unknown.join(", ")));
    }
    let query: Vec<String> = known.iter().map(|pair| capped_backlog(&octal_umask(pair))).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    to.set(call, "bind", format!("{address}{mark}{}", query.join("&")));
}

/// Options of an address that Puma reads; it ignores those of the other kind.
const UNIX_OPTIONS: [&str; 3] = ["backlog", "mode", "umask"];
const TCP_OPTIONS: [&str; 2] = ["backlog", "low_latency"];

/// A backlog of at most [`BACKLOG_MAX`]: other servers accept a larger one, which the kernel reduces (listen(2)), and a
/// negative one, which to the kernel is a large one.
pub fn capped_backlog(pair: &str) -> String {
    let number = pair.strip_prefix("backlog=").and_then(|text| text.parse::<i64>().ok());
    match number.filter(|number| !(0..=i64::from(BACKLOG_MAX)).contains(number)) {
        Some(_) => format!("backlog={BACKLOG_MAX}"),
        None => pair.to_owned(),
    }
}

/// Puma parses a umask as Ruby's Integer(), decimal unless it begins with 0, and the kernel drops the bits beyond 0777.
fn octal_umask(pair: &str) -> String {
    let decimal = pair.strip_prefix("umask=").filter(|text| text.len() > 1 && !text.starts_with('0'));
    match decimal.and_then(|text| text.parse::<u32>().ok()) {
        Some(bits) => format!("umask=0{:o}", bits & 0o777),
        None => pair.to_owned(),
    }
}

/// An absolute path; Puma's path of a Unix socket starts at the current folder.
pub fn absolute(path: &str) -> String {
    let absolute = std::path::absolute(path).ok();
    absolute.as_deref().and_then(std::path::Path::to_str).map_or_else(|| path.to_owned(), str::to_owned)
}

fn port(to: &mut Translation, call: &Directive) {
    let host = text(call.args.get(1)).or_else(|| to.default_host.clone()).unwrap_or_else(|| "::".to_owned());
    match whole(call.args.first()) {
        Some(port) => to.set(call, "bind", tcp(&host, &port)),
        None => to.remark(call, RemarkKind::Needless, "says nothing, and changes nothing"),
    }
}

fn activated(to: &mut Translation, call: &Directive) {
    // `nil`, for instance from a variable that is not set, means no.
    let without = if call.args.is_empty() { "yes" } else { "no" };
    let value = text(call.args.first()).unwrap_or_else(|| without.to_owned());
    to.set(call, "bind-to-activated-sockets", value);
}

/// A number as Puma reads it: the integer part of one such as `Etc.nprocessors * 1.5` (3.0 where there are two); of a
/// text, without the white space around it, such as the line feed of what `nproc` prints.
fn whole(value: Option<&Value>) -> Option<String> {
    let fraction = value.filter(|value| value.is_f64()).and_then(Value::as_f64);
    match fraction.filter(|number| (0.0..1e9).contains(number)) {
        Some(number) => Some((number as u64).to_string()),
        None => text(value).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
    }
}

/// Puma reads nil and an empty text as 0: a single process.
fn workers(to: &mut Translation, call: &Directive) {
    to.set(call, "workers", whole(call.args.first()).unwrap_or_else(|| "0".to_owned()));
}

fn threads(to: &mut Translation, call: &Directive) {
    let numbers: Vec<String> = call.args.iter().filter_map(|value| whole(Some(value))).collect();
    match numbers.as_slice() {
        [both] => to.set(call, "threads", both.clone()),
        [least, most] if least == most => to.set(call, "threads", most.clone()),
        [least, most] => {
            to.set(call, "threads", format!("{least}:{most}"));
            to.remark(call, RemarkKind::Differs, THREADS);
        }
        _ => to.remark(call, RemarkKind::Refused, "needs a smallest and a largest number"),
    }
}

/// What ends first: Puma's workers give up by `force_shutdown_after`, and in a cluster the master kills those that have
/// not ended after `worker_shutdown_timeout` (30 s), which a single process does not know.
fn shutdown_time(to: &mut Translation) {
    let is_cluster = to.workers().is_some_and(|workers| workers != "0");
    let of_workers = to.call("worker_shutdown_timeout").cloned();
    match &of_workers {
        Some(call) if is_cluster => to.seconds(call, "drain-time"),
        Some(call) => to.remark(call, RemarkKind::Needless, NO_WORKERS),
        None => {}
    }
    let Some(call) = to.call("force_shutdown_after").cloned() else { return };
    let time = match text(call.args.first()).as_deref() {
        Some("immediately") => "0s".to_owned(),
        None | Some("forever" | "-1" | "-1.0") => "24h".to_owned(),
        Some(_) => match seconds(call.args.first()) {
            Some(time) if parse_time(&time) > Some(DAY_MS) => "24h".to_owned(),
            Some(time) => time,
            None => {
                let why = "must be a number of seconds, :forever or :immediately";
                return to.remark(&call, RemarkKind::Refused, why);
            }
        },
    };
    let limit = of_workers.and_then(|call| seconds(call.args.first()));
    let limit = limit.unwrap_or_else(|| WORKER_SHUTDOWN.to_owned());
    let is_shorter = parse_time(&limit) < parse_time(&time);
    to.set(&call, "drain-time", if is_cluster && is_shorter { limit } else { time });
}

/// A single process of Puma may stand still for any time, as in a debugger that stops all threads. In single mode our
/// default counts, which is no limit in development, unless the file has a longer time.
fn worker_timeout(to: &mut Translation) {
    let Some(call) = to.call("worker_timeout").cloned() else { return };
    let is_cluster = to.workers().is_some_and(|workers| workers != "0");
    let time = seconds(call.args.first()).and_then(|time| parse_time(&time));
    if !is_cluster && time.is_some_and(|time| (1..=WORKER_TIMEOUT_MS).contains(&time)) {
        to.remark(&call, RemarkKind::Needless, NO_HEARTBEAT);
    } else {
        to.seconds(&call, "worker-timeout");
    }
}

/// In Puma it bounds the start of a worker, and so the loading of the application only where each worker loads it: a
/// single worker does by default. Our limit holds for both.
fn boot_time(to: &mut Translation) {
    let Some(call) = to.call("worker_boot_timeout").cloned() else { return };
    let loads_in_workers = match (to.value("preload"), to.workers()) {
        (_, Some("0")) | (Some("yes"), _) => false,
        (preload, workers) => preload == Some("no") || workers == Some("1"),
    };
    if loads_in_workers {
        to.seconds(&call, "boot-time");
    } else {
        to.remark(&call, RemarkKind::Needless, PRELOADED);
    }
}

/// With `false`, `finish` sets the time, whatever else is configured.
fn keep_alives(to: &mut Translation, call: &Directive) {
    if !is_no(call) {
        to.remark(call, RemarkKind::Needless, "connections are kept as long as --keep-alive says");
    }
}

fn remote_address(to: &mut Translation, call: &Directive) {
    let of = |key: &str| match call.args.first() {
        Some(Value::Object(how)) => text(how.get(key)),
        _ => None,
    };
    if of("proxy_protocol").is_some() {
        let why = "the PROXY protocol is not spoken: let the proxy send X-Forwarded-For";
        return to.remark(call, RemarkKind::Refused, why);
    }
    if let Some(name) = of("header") {
        // Puma reads `HTTP_` and this name, so X_REAL_IP is X-Real-IP.
        to.set(call, "remote-address", format!("header:{}", name.replace('_', "-")));
        return to.remark(call, RemarkKind::Differs, BY_HEADER);
    }
    match text(call.args.first()).as_deref() {
        None | Some("socket") => to.set(call, "remote-address", "socket".to_owned()),
        Some("localhost") => to.set(call, "remote-address", "127.0.0.1".to_owned()),
        // In Puma it is any text.
        Some(text) if text.parse::<IpAddr>().is_err() => to.set(call, "remote-address", format!("value:{text}")),
        Some(address) => to.set(call, "remote-address", address.to_owned()),
    }
}

/// Without a text there is none, whereas without the directive it is the folder's name.
fn tag(to: &mut Translation, call: &Directive) {
    let tag = text(call.args.first().filter(|tag| !tag.is_boolean()));
    to.set(call, "tag", tag.unwrap_or_else(|| "none".to_owned()));
}

fn state_permission(to: &mut Translation, call: &Directive) {
    match call.args.first().and_then(Value::as_u64) {
        Some(bits) => to.set(call, "state-permission", format!("{bits:04o}")),
        None => to.copy(call, "state-permission"),
    }
}

fn methods(to: &mut Translation, call: &Directive) {
    match text(call.args.first()).as_deref() {
        Some("any") => to.remark(call, RemarkKind::Needless, "the application gets requests of every method"),
        _ => to.remark(
            call,
            RemarkKind::Missing,
            "the application gets requests of every method: let it, or the proxy, refuse",
        ),
    }
}

/// Without a number there is no limit.
pub fn body_limit(to: &mut Translation, call: &Directive) {
    let bytes = whole(call.args.first()).unwrap_or_else(|| "none".to_owned());
    to.set(call, "body-bytes", bytes);
}

fn rackup(to: &mut Translation, call: &Directive) {
    // The first one counts.
    if let Some(path) = text(call.args.first()).filter(|_| to.rackup.is_none()) {
        to.rackup = Some(to.in_folder(&path).into());
    }
}

fn redirect(to: &mut Translation, call: &Directive) {
    if call.args.iter().take(2).all(|path| matches!(path, Value::Bool(false) | Value::Null)) {
        return to.remark(call, RemarkKind::Needless, "names no file, and changes nothing");
    }
    for (at, key) in ["redirect-stdout", "redirect-stderr"].into_iter().enumerate() {
        match call.args.get(at) {
            Some(Value::Bool(true)) => {
                to.remark(call, RemarkKind::Refused, "takes the paths of two files, then whether to append")
            }
            path => {
                if let Some(path) = text(path.filter(|path| !path.is_boolean())) {
                    to.set(call, key, path);
                }
            }
        }
    }
    // Puma appends for any value that Ruby takes for true, such as `:append`.
    if matches!(call.args.get(2), None | Some(Value::Bool(false) | Value::Null)) {
        to.remark(call, RemarkKind::Differs, "what is in the files is kept, and more is written behind it");
    }
}

fn plugin(to: &mut Translation, call: &Directive) {
    let name = text(call.args.first()).unwrap_or_default();
    let why = match name.as_str() {
        "tmp_restart" => "touching tmp/restart.txt reloads the application without a plugin".to_owned(),
        "systemd" => "systemd is told without a plugin".to_owned(),
        "solid_queue" => "no jobs are run beside the server: start bin/jobs as a process of its own".to_owned(),
        _ => format!(
            "{name} is a plugin of Puma, and is not loaded; what it starts must be started beside the server, and what \
             it sets, such as a port, must be set in the file"
        ),
    };
    let is_built_in = ["systemd", "tmp_restart"].contains(&name.as_str());
    to.remark(call, if is_built_in { RemarkKind::Needless } else { RemarkKind::Missing }, &why);
}

/// Puma's defaults: a single process, unless WEB_CONCURRENCY is set.
pub fn finish(to: &mut Translation) {
    shutdown_time(to);
    worker_timeout(to);
    if let Some(call) = to.call("enable_keep_alives").filter(|call| is_no(call)).cloned() {
        to.set(&call, "keep-alive", "0s".to_owned());
    }
    // `port` has it already; without any address it is that of the default port.
    if let Some(call) = to.call("set_default_host").filter(|_| to.value("bind").is_none()).cloned() {
        to.copy(&call, "host");
    }
    // Puma does not preload then unless the file asks for it.
    if to.says_yes("prune_bundler") && to.call("preload_app!").is_none() {
        to.assume("preload", "no", false);
    }
    boot_time(to);
    to.assume("workers", "1", true);
    to.assume_none(&["request-time", "queue-wait", "body-bytes"]);
}
