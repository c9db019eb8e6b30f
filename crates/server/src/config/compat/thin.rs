//! The keys of thin.yml and their translations.

use nix::unistd::geteuid;

use super::puma::absolute;
use super::record::Directive;
use super::translation::{DirectiveRule, HEADERS_OF_PROXIES, RemarkKind, Rule, Translation, seconds, text};
use crate::config::bind_query::tcp;
use crate::config::options::MILLION;
use crate::config::size::parse_time;

pub const TLS: &str = "there is no TLS in this version: end it in front";
const LIKE_ONE: &str = "a cluster of Thin writes one for each of its servers; here there is one for all";
const ONE_BY_ONE: &str = "a reload always keeps serving";
const WAIT: &str = "Thin's restart one by one waits so long for each server; a reload as long as --boot-time says";
/// Thin's default port.
const PORT: u16 = 3000;
/// Thin's default number of threads where it has some.
pub const THREADPOOL: &str = "20";

/// Differences from Thin with any file.
pub const ALWAYS: &[&str] = &[
    "each of the servers of a cluster is a worker behind all addresses; one that is down does not close its port",
    "requests wait in one queue for all workers, at most --queue of them (as many as --connections), then 503",
    "a request has at most --header-count (100) header fields, then 431; Thin has no such limit but the size of all",
    HEADERS_OF_PROXIES,
    "there is no EventMachine loop: async.callback, throw :async and EventMachine's timers do not work",
];

pub const RULES: &[DirectiveRule] = &[
    ("address", Rule::Later),
    ("port", Rule::Later),
    ("socket", Rule::Later),
    ("servers", Rule::Same("workers")),
    ("environment", Rule::Same("environment")),
    ("daemonize", Rule::Same("daemonize")),
    ("pid", Rule::Custom(pid)),
    ("log", Rule::Later),
    ("user", Rule::Custom(identity)),
    ("group", Rule::Custom(identity)),
    ("chdir", Rule::Same("dir")),
    ("tag", Rule::Same("tag")),
    ("rackup", Rule::Custom(rackup)),
    ("timeout", Rule::Custom(timeout)),
    ("wait", Rule::Needless(WAIT)),
    ("max_conns", Rule::Custom(connections)),
    ("max_persistent_conns", Rule::Missing("every connection may be kept, as long as --keep-alive says")),
    ("threaded", Rule::Later),
    ("threadpool_size", Rule::Later),
    ("prefix", Rule::Same("prefix")),
    ("stats", Rule::Missing("foolsgold status, and the page of --admin, tell more")),
    ("adapter", Rule::Custom(adapter)),
    ("require", Rule::Custom(require)),
    ("onebyone", Rule::Needless(ONE_BY_ONE)),
    ("only", Rule::Refused("all servers of the cluster are one here: leave it out")),
    // Older versions of Thin wrote this name into generated files.
    ("no-epoll", Rule::Needless("sockets are not read by Ruby")),
    ("no_epoll", Rule::Needless("sockets are not read by Ruby")),
    ("epoll", Rule::Needless("sockets are not read by Ruby")),
    ("backend", Rule::Refused("there is no other way to listen: leave it out")),
    ("swiftiply", Rule::Refused("Swiftiply is not spoken: leave it out")),
    ("force", Rule::Needless("it is for thin stop")),
    ("all", Rule::Refused("name one file at a time")),
    ("debug", Rule::Custom(verbosity)),
    ("trace", Rule::Custom(verbosity)),
    ("quiet", Rule::Custom(verbosity)),
    ("ssl", Rule::Custom(ssl)),
    ("ssl_key_file", Rule::Missing(TLS)),
    ("ssl_cert_file", Rule::Missing(TLS)),
    ("ssl_disable_verify", Rule::Off(TLS)),
    ("ssl_version", Rule::Missing(TLS)),
    ("ssl_cipher_list", Rule::Missing(TLS)),
];

/// For Passenger, too.
pub fn rackup(to: &mut Translation, call: &Directive) {
    if let Some(path) = text(call.args.first()) {
        to.rackup = Some(to.path_of(call, &path).into());
    }
}

/// Number of servers in a cluster; 0 if it is none.
fn servers(to: &Translation) -> u16 {
    to.word("servers").and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn pid(to: &mut Translation, call: &Directive) {
    to.copy(call, "pidfile");
    if servers(to) > 0 {
        to.remark(call, RemarkKind::Differs, LIKE_ONE);
    }
}

/// Each server of a cluster has as many; all of them at most what the option takes.
fn connections(to: &mut Translation, call: &Directive) {
    let count = u64::from(servers(to).max(1));
    match text(call.args.first()).and_then(|most| most.parse::<u64>().ok()) {
        Some(most) => to.set(call, "connections", most.saturating_mul(count).min(MILLION).to_string()),
        None => to.copy(call, "connections"),
    }
    to.remark(call, RemarkKind::Differs, "for more, idle ones are closed");
}

/// 0 is no limit, as people set it for WebSockets; our 0 would close every connection after its answer. Any other time
/// is also the one after which `thin stop` and `thin restart` kill a server that has not ended.
fn timeout(to: &mut Translation, call: &Directive) {
    to.seconds_or_no_limit(call, "keep-alive");
    if seconds(call.args.first()).and_then(|time| parse_time(&time)).is_some_and(|ms| ms > 0) {
        to.seconds(call, "drain-time");
    }
    to.remark(call, RemarkKind::Differs, "Thin's is the time a connection may be silent at any moment");
}

/// Thin goes on if it may not change its user, with a line in its log. It changes neither unless it is given both.
fn identity(to: &mut Translation, call: &Directive) {
    if !geteuid().is_root() {
        return to.remark(call, RemarkKind::Differs, "counts where the server is root; Thin goes on as it is, too");
    }
    match (call.name.as_str(), to.word("user"), to.word("group")) {
        ("user", Some(_), None) => {
            to.copy(call, "user");
            let why = "the server becomes this user, with its group; Thin needs a group, too";
            to.remark(call, RemarkKind::Differs, why);
        }
        ("group", None, Some(_)) => to.remark(call, RemarkKind::Needless, "counts beside a user only, as in Thin"),
        (name, ..) => to.copy(call, if name == "user" { "user" } else { "group" }),
    }
}

fn adapter(to: &mut Translation, call: &Directive) {
    match text(call.args.first()).as_deref() {
        Some("rack" | "rails") => to.remark(call, RemarkKind::Needless, "the application is its config.ru"),
        _ => to.remark(call, RemarkKind::Refused, "only an application with a config.ru is served"),
    }
}

/// As the flags of these names.
fn verbosity(to: &mut Translation, call: &Directive) {
    match call.name.as_str() {
        name if !to.says_yes(name) => to.remark(call, RemarkKind::Needless, "is off, as always here"),
        "quiet" => to.set(call, "access-log", "off".to_owned()),
        level => to.set(call, "log", level.to_owned()),
    }
}

/// Thin writes an empty list into every generated file.
fn require(to: &mut Translation, call: &Directive) {
    let is_empty = call.args.first().is_none_or(|value| value.as_array().is_some_and(Vec::is_empty) || value.is_null());
    if !is_empty {
        to.remark(call, RemarkKind::Refused, "say RUBYOPT=-rNAME in the environment, or require it in config.ru");
    }
}

pub fn ssl(to: &mut Translation, call: &Directive) {
    if to.says_yes("ssl") {
        to.remark(call, RemarkKind::Refused, TLS);
    }
}

/// Translates addresses and threads, and adds defaults. A cluster listens on one port per server, or on numbered
/// sockets; a proxy in front knows all of them.
pub fn finish(to: &mut Translation) {
    let count = servers(to);
    // Each server of a cluster loads the application.
    to.assume("preload", "no", false);
    to.host = to.word("address");
    to.port = to.word("port").map_or(Some(PORT), |port| port.parse().ok());
    let host = to.host.clone().unwrap_or_else(|| "0.0.0.0".to_owned());
    if let (Some(call), Some(socket)) = (to.call("socket").cloned(), to.word("socket")) {
        let names =
            if count == 0 { vec![socket] } else { (0..count).map(|number| numbered(&socket, number)).collect() };
        for name in names {
            let path = absolute(&to.in_folder(&name));
            to.set(&call, "bind", format!("unix://{path}"));
        }
    } else if let Some(call) = to.call("port").or_else(|| to.call("address")).cloned() {
        match to.port {
            Some(first) => {
                for number in 0..count.max(1) {
                    to.set(&call, "bind", tcp(&host, &first.saturating_add(number).to_string()));
                }
            }
            None => to.remark(&call, RemarkKind::Refused, "must be the number of a port"),
        }
    } else {
        for number in 0..count.max(1) {
            to.assume_more("bind", &tcp(&host, &PORT.saturating_add(number).to_string()));
        }
    }
    match to.call("threadpool_size").or_else(|| to.call("threaded")).cloned() {
        Some(call) if to.says_yes("threaded") => {
            let threads = to.word("threadpool_size").unwrap_or_else(|| THREADPOOL.to_owned());
            to.set(&call, "threads", threads);
        }
        _ => to.assume("threads", "1", false),
    }
    to.assume("workers", "1", false);
    if let Some(call) = to.call("log").filter(|_| to.says_yes("log")).cloned() {
        // Every server of a cluster is in the background.
        if count > 0 || to.says_yes("daemonize") {
            to.copy(&call, "log-file");
            to.remark(&call, RemarkKind::Differs, LIKE_ONE);
        } else {
            let why = "as in Thin the log goes to standard output without daemonize; --log-file sets it all the same";
            to.remark(&call, RemarkKind::Needless, why);
        }
    }
    to.assume_none(&["request-time", "queue-wait", "body-bytes"]);
    to.assume("worker-timeout", "0s", false);
    // `thin start` returns when it has started the servers of a cluster, whether the file says `daemonize` or not.
    if count > 0 {
        to.assume("daemonize", "yes", false);
    }
    if to.value("daemonize").is_some_and(|value| value != "no") {
        to.assume("log-file", &to.in_folder("log/thin.log"), false);
        to.assume("pidfile", &to.in_folder("tmp/pids/thin.pid"), false);
    }
}

/// The value of a key by the text of a file whose ERB is not run; the error says why it cannot be known.
pub fn word_without_erb(text: &str, key: &str) -> Result<Option<String>, String> {
    let mut values = text.lines().filter_map(|line| {
        let value = line.strip_prefix(key)?.trim_start().strip_prefix(':')?;
        (value.is_empty() || value.starts_with([' ', '\t'])).then(|| value.trim())
    });
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() || value.contains("<%") {
        return Err(format!("its {key} depends on ERB"));
    }
    let value = value.split_once(" #").map_or(value, |(value, _)| value).trim_end();
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let word = quoted.unwrap_or(value);
    Ok((!["", "~", "null"].contains(&word)).then(|| word.to_owned()))
}

/// `thin.sock` of server 2 is `thin.2.sock`.
fn numbered(path: &str, number: u16) -> String {
    match path.rsplit_once('.') {
        Some((stem, extension)) if !extension.contains('/') => format!("{stem}.{number}.{extension}"),
        _ => format!("{path}.{number}"),
    }
}
