//! Directives of Unicorn and Pitchfork, and their translations.

use std::net::Ipv4Addr;

use nix::unistd::{User, geteuid};
use serde_json::Value;

use super::ServerKind;
use super::puma::{REFORK, absolute, body_limit, capped_backlog};
use super::rainbows;
use super::record::Directive;
use super::translation::{DirectiveRule, HEADERS_OF_PROXIES, RemarkKind, Rule, Translation, seconds, text};
use crate::config::bind_query::tcp;
use crate::config::options::{DAY_MS, WORKER_TIMEOUT_MS};
use crate::config::size::{parse_time, show_time};

const TIMEOUT: &str = "counts from the last byte of a request to its answer, waiting included; the request is \
                       interrupted, its client gets 504, and its worker is killed only if that does not end it \
                       (--kill-time)";
const DEADLINE: &str = "no request gets more time than this: env[\"pitchfork.timeout\"], by which one asks for more \
                        (extend_deadline), is not there";
const EXEC: &str = "runs at an upgrade (USR2), in a process forked from the one that has loaded the application; what \
                    it changes in ENV is for the new program, and where it raises there is none";
const RETIRES: &str = "runs; of the server it is given there are config, pid, logger and worker_processes; where it \
                       ends the old master (pid.oldbin, QUIT) after USR2, that ends when the new one serves";
const TRAPS: &str = "runs; traps for TERM in it have no effect, since workers end when the server says so";
const MOLD: &str = "runs in the process that has loaded the application and forks workers";
const USER: &str = "the server becomes this user when its addresses are bound and its files are open, and runs all \
                    hooks as it; in Unicorn the master stays root, and before_fork and after_fork run as root";
const SERVER: &str = "nothing calls these methods here: what is to run in each worker belongs in after_fork, after \
                      each request in a middleware (or --worker-memory, --oob-gc), at intervals in a thread that \
                      before_fork starts, and before a worker is killed in on_request_timeout of a hooks file";
const COMPLETE: &str = "runs before the next request of its thread; where it exits, the worker is replaced";
const MONITOR: &str = "runs when the server serves, in the process that forks workers";
const SPAWN: &str = "it is for a worker from its fork on: loading the application has no limit in Pitchfork either; \
                     --boot-time sets one for both";
const SERVICE: &str = "there is no service worker, so nothing that it starts runs, such as background jobs: start \
                       those as a process of their own";

/// Options of `listen` that no client notices: how the kernel cuts responses into packets, when it reports a
/// connection, and from how many sockets the workers of Pitchfork take.
const UNSEEN: [&str; 6] =
    ["tcp_nodelay", "tcp_nopush", "tcp_defer_accept", "accept_filter", "queues", "queues_per_worker"];

/// Differences from Unicorn with any file.
pub const ALWAYS: &[&str] = &[
    "requests wait in one queue for all workers, at most --queue of them (as many as --connections), then 503; in \
     Unicorn they wait in the socket, as many as its backlog",
    "a request has at most --header-count (100) header fields, then 431; Unicorn has no such limit but the size of all",
    HEADERS_OF_PROXIES,
    "a body must come at 500 bytes per second or more once it has taken --body-time (60s)",
    "preload_app true with several workers: an application that holds a connection open is not forked, each worker \
     loads it (--preload=force forks it)",
    "slow clients do not hold a worker: requests and answers are buffered, and connections are kept alive",
    "no middleware is added in any environment",
    "USR1 reopens the log files of the server, and none that the application has opened, such as Rails' log: rotate \
     those with copytruncate, or log to standard output",
];

/// Differences from Pitchfork with any file: those from Unicorn without the last one, which is about the signal for log
/// files. Pitchfork has none.
pub const ALWAYS_IN_PITCHFORK: &[&str] = match ALWAYS {
    [others @ .., _] => others,
    [] => &[],
};

pub const RULES: &[DirectiveRule] = &[
    ("worker_processes", Rule::Same("workers")),
    ("timeout", Rule::Custom(timeout)),
    ("cleanup_timeout", Rule::Seconds("kill-time")),
    ("timeout_signal", Rule::Missing("a worker that must be killed gets SIGKILL")),
    ("spawn_timeout", Rule::Needless(SPAWN)),
    ("listen", Rule::Custom(listen)),
    ("listeners", Rule::Refused("say listen for each address")),
    ("preload_app", Rule::Same("preload")),
    ("pid", Rule::Same("pidfile")),
    ("stderr_path", Rule::Same("redirect-stderr")),
    ("stdout_path", Rule::Same("redirect-stdout")),
    ("working_directory", Rule::Same("dir")),
    ("user", Rule::Custom(user)),
    ("logger", Rule::Missing("the log goes to the file of stderr_path, or without one to standard output")),
    ("log_buffer_size", Rule::Needless("the log is not written by Ruby")),
    ("rewindable_input", Rule::Needless("rack.input can always be rewound")),
    ("client_body_buffer_size", Rule::Same("body-memory")),
    ("check_client_connection", Rule::Needless("a request whose client has gone before it began is never run")),
    ("worker_exec", Rule::Off("workers are always forked")),
    ("default_middleware", Rule::Needless("no middleware is added")),
    ("early_hints", Rule::Same("early-hints")),
    ("set", Rule::Needless("")),
    ("HttpRequest::DEFAULTS", Rule::Custom(defaults)),
    // Methods that the file has replaced.
    ("Unicorn::HttpServer", Rule::Differs(SERVER)),
    ("before_fork", Rule::Hook(RETIRES)),
    ("after_fork", Rule::Hook(TRAPS)),
    ("after_worker_ready", Rule::Hook("")),
    ("after_worker_exit", Rule::Hook(MOLD)),
    ("before_exec", Rule::Hook(EXEC)),
    ("after_mold_fork", Rule::Hook("runs once, in the process that has loaded the application")),
    ("after_worker_fork", Rule::Hook(TRAPS)),
    ("before_worker_exit", Rule::Hook("")),
    ("after_worker_timeout", Rule::Missing("the log has the backtrace; on_request_timeout of a hooks file runs then")),
    ("after_worker_hard_timeout", Rule::Missing("the log says which worker was killed, and for which request")),
    ("after_request_complete", Rule::Hook(COMPLETE)),
    ("after_monitor_ready", Rule::Hook(MONITOR)),
    ("refork_after", Rule::Missing(REFORK)),
    ("refork_max_unavailable", Rule::Missing(REFORK)),
    ("mold_selector", Rule::Missing(REFORK)),
    ("restart_command_prefix", Rule::Needless("a restart runs the same command again")),
    ("max_consecutive_spawn_errors", Rule::Missing("workers that do not come up are started less and less often")),
    ("setpgid", Rule::Off("workers are in the group of the process that forked them")),
    ("before_service_worker_ready", Rule::Differs(SERVICE)),
    ("before_service_worker_exit", Rule::Missing("there is no service worker")),
    ("modify_app", Rule::Missing("a middleware in config.ru can do the same")),
    // Of Rainbows!.
    ("Rainbows!", Rule::Needless("")),
    ("use", Rule::Custom(rainbows::model)),
    ("worker_connections", Rule::Custom(rainbows::connections)),
    ("keepalive_timeout", Rule::Seconds("keep-alive")),
    ("keepalive_requests", Rule::Missing("a connection may serve any number of requests")),
    ("client_max_body_size", Rule::Custom(body_limit)),
    ("client_max_header_size", Rule::Custom(rainbows::header_limit)),
    ("client_header_buffer_size", Rule::Needless("a head takes the memory that it needs")),
    ("copy_stream", Rule::Needless("files are not sent by Ruby")),
];

/// Pitchfork's has `cleanup:` as well, the time that a worker has after that.
fn timeout(to: &mut Translation, call: &Directive) {
    if rainbows::is_concurrent(to) {
        return to.seconds(call, "worker-timeout");
    }
    to.seconds(call, "request-time");
    to.remark(call, RemarkKind::Differs, TIMEOUT);
    if to.kind == ServerKind::Pitchfork {
        to.remark(call, RemarkKind::Differs, DEADLINE);
    }
    if let Some(Value::Object(options)) = call.args.get(1)
        && let Some(time) = seconds(options.get("cleanup"))
    {
        to.set(call, "kill-time", time);
    }
}

fn listen(to: &mut Translation, call: &Directive) {
    let Some(address) = text(call.args.first()) else {
        return to.remark(call, RemarkKind::Refused, "needs a port, an address or the path of a socket");
    };
    let mut query = Vec::new();
    if let Some(Value::Object(options)) = call.args.get(1) {
        let is_unix = socket_path(&address).is_some();
        let (mut needless, mut others) = (Vec::new(), Vec::new());
        for (name, value) in options {
            match (name.as_str(), value.as_i64()) {
                ("backlog", Some(backlog)) => query.push(capped_backlog(&format!("backlog={backlog}"))),
                ("umask", Some(bits)) if is_unix => query.push(format!("umask=0{bits:o}")),
                _ if matches!(value, Value::Null | Value::Bool(false)) => {}
                // Unicorn does nothing about it on TCP either.
                ("umask", Some(_)) => needless.push("umask"),
                (name, _) if UNSEEN.contains(&name) => needless.push(name),
                (name, _) => others.push(name),
            }
        }
        if !needless.is_empty() {
            to.remark(call, RemarkKind::Needless, &format!("no client sees a difference: {}", needless.join(", ")));
        }
        if !others.is_empty() {
            to.remark(call, RemarkKind::Differs, &format!("without effect here: {}", others.join(", ")));
        }
    }
    let bind = bind(&address, |path| to.in_folder(path));
    let mark = if query.is_empty() { "" } else { "?" };
    to.set(call, "bind", format!("{bind}{mark}{}", query.join("&")));
}

/// The path in an address of Unicorn's `listen`, if that is a Unix socket: all that has no port and is no IP address is
/// one, such as `tmp/sockets/web.sock`.
fn socket_path(address: &str) -> Option<&str> {
    if let Some(path) = address.strip_prefix("unix:") {
        return Some(path.strip_prefix("//").unwrap_or(path));
    }
    let is_tcp = has_port(address)
        || address.starts_with('[')
        || address.starts_with("tcp://")
        || address.parse::<Ipv4Addr>().is_ok();
    (address.starts_with(['/', '.', '~']) || !is_tcp).then_some(address)
}

/// Whether an address of Unicorn's `listen` is a port, or ends with one.
pub fn has_port(address: &str) -> bool {
    let port = address.rsplit(':').next().unwrap_or_default();
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Translates an address of Unicorn's `listen` to one of `--bind`.
pub fn bind(address: &str, in_folder: impl Fn(&str) -> String) -> String {
    let unix = |path: &str| {
        let of_user = path.strip_prefix('~').and_then(|path| path.split_once('/'));
        match of_user.and_then(|(name, path)| Some((home(name)?, path))) {
            Some((home, path)) => format!("unix://{home}/{path}"),
            None => format!("unix://{}", absolute(&in_folder(path))),
        }
    };
    match socket_path(address) {
        Some(path) => unix(path),
        None if address.chars().all(|c| c.is_ascii_digit()) => tcp("0.0.0.0", address),
        // Brackets end the address.
        None if address.starts_with('[') && address.ends_with(']') => tcp(address, "80"),
        None => match address.strip_prefix("tcp://").unwrap_or(address).rsplit_once(':') {
            Some(("*" | "", port)) => tcp("0.0.0.0", port),
            Some((host, port)) => tcp(host, port),
            None => tcp(address, "80"),
        },
    }
}

/// The home of the user with this name; without a name, of this one.
fn home(name: &str) -> Option<String> {
    if name.is_empty() {
        return std::env::var("HOME").ok();
    }
    User::from_name(name).ok()??.dir.to_str().map(str::to_owned)
}

/// The default values of request environments.
fn defaults(to: &mut Translation, call: &Directive) {
    match (text(call.args.first()).as_deref(), text(call.args.get(1))) {
        (Some("rack.url_scheme"), Some(scheme)) => to.set(call, "url-scheme", scheme),
        _ => to.remark(call, RemarkKind::Missing, "of these values only rack.url_scheme can be set"),
    }
}

/// In Unicorn a process that is the user already stays as it is, and only workers of root become another one.
fn user(to: &mut Translation, call: &Directive) {
    to.copy(call, "user");
    if let Some(group) = text(call.args.get(1)) {
        to.set(call, "group", group);
    }
    if geteuid().is_root() && to.value("user").is_some() {
        to.remark(call, RemarkKind::Differs, USER);
    }
}

/// Whether code of the file makes TERM a graceful shutdown: a `trap "TERM"` that sends QUIT to its own process, as many
/// files have it in `before_fork`, since platforms such as Heroku and Docker end a server by TERM; or the option of
/// UnicornWrangler that does so.
pub fn ends_gracefully_at_term(text: &str) -> bool {
    let text = text.replace("$$", "Process.pid");
    let words: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    let is_mapped = words.windows(5).any(|five| five == ["map", "term", "to", "quit", "true"]);
    is_mapped
        || words.windows(2).enumerate().any(|(at, pair)| {
            // Up to the next one.
            let inside = words.iter().copied().skip(at + 1).take_while(|word| *word != "trap");
            matches!(pair, ["trap", "TERM" | "SIGTERM"]) && sends_quit(&inside.collect::<Vec<&str>>())
        })
}

/// Whether these words of code send QUIT to their own process.
fn sends_quit(words: &[&str]) -> bool {
    words.windows(4).any(|four| matches!(four, ["kill", "QUIT" | "SIGQUIT", "Process", "pid"]))
}

/// Adds defaults. An application that never ran in several threads must not begin here.
pub fn finish(to: &mut Translation) {
    rainbows::finish(to);
    to.assume("threads", "1", false);
    to.assume("workers", "1", false);
    to.assume("preload", if to.kind == ServerKind::Pitchfork { "yes" } else { "no" }, false);
    let time = if to.kind == ServerKind::Pitchfork { "20s" } else { "60s" };
    let port = "tcp://0.0.0.0:8080";
    to.assume("request-time", time, false);
    to.assume_none(&["queue-wait", "body-bytes"]);
    let of_requests = to.value("request-time").and_then(parse_time);
    // A silent process is killed no sooner than a request in it would be; and at a graceful shutdown requests have
    // their usual time.
    let of_workers = of_requests.map_or("0s".to_owned(), |ms| show_time(ms.max(WORKER_TIMEOUT_MS)));
    to.assume("worker-timeout", &of_workers, false);
    to.assume("drain-time", &show_time(of_requests.unwrap_or(DAY_MS)), false);
    to.assume("bind", port, false);
    to.port = Some(8080);
    // All inherited sockets are served, beside those of the file.
    to.assume("bind-to-activated-sockets", "yes", false);
}
