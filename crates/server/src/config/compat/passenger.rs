//! The keys of Passengerfile.json and their translations.

use std::ffi::OsStr;
use std::path::Path;

use nix::unistd::geteuid;
use serde_json::{Map, Value};

use super::lenient_json::{self, Entry};
use super::puma::{absolute, capped_backlog};
use super::record::Directive;
use super::thin::{TLS, rackup, ssl};
use super::translation::{DirectiveRule, HEADERS_OF_PROXIES, RemarkKind, Rule, Translation, text};
use crate::config::arguments::{HIDDEN, is_service_link};
use crate::config::bind_query::tcp;

const CACHE: &str = "responses are not cached";
const POOL: &str = "there are no preloaders that come and go: the process that forks stays";
const STATIC: &str = "the application serves its files itself; answer with a path in the body (to_path) and the server \
                      sends the file";
const STICKY: &str = "any worker may get any request";
const HARD_LIMIT: &str = "no request is cut off for its memory; memory_limit replaces the worker when its requests \
                          have ended";
const PANEL: &str = "there is no panel; --admin shows a page of this server";
const NGINX: &str = "there is no nginx in it";
/// Why no port need wait for the application.
pub const DEFERRED: &str = "no connection is accepted before the application is loaded";
/// Why there is no log of the application alone.
pub const ONE_LOG: &str = "the application's lines and the server's are in one log";
const START: &str = "applications are started by their config.ru";

const STATIC_FILES: &str = "RAILS_SERVE_STATIC_FILES";
const PUBLIC: &str = "unlike Passenger, the server does not serve public/: the proxy must, or the application, as \
                      Sinatra and Rails from 7.1 on do (older Rails: RAILS_SERVE_STATIC_FILES=1)";

/// Passenger's default of `max_pool_size`.
const POOL_SIZE: u32 = 6;
const POOL_DEFAULT: &str = "there are 6 processes at most, as in Passenger without max_pool_size";

/// Differences from Passenger with any file.
pub const ALWAYS: &[&str] = &[
    "a request has at most --header-count (100) header fields, then 431; Passenger has no such limit but their size",
    HEADERS_OF_PROXIES,
    PUBLIC,
    "spawn_method smart with several workers: an application that holds a connection open is not forked, each worker \
     loads it (--preload=force forks it)",
];

pub const RULES: &[DirectiveRule] = &[
    ("address", Rule::Later),
    ("port", Rule::Later),
    ("socket_file", Rule::Later),
    ("socket_backlog", Rule::Later),
    ("daemonize", Rule::Same("daemonize")),
    ("user", Rule::Custom(user)),
    ("log_file", Rule::Same("log-file")),
    ("app_log_file", Rule::Custom(app_log)),
    ("pid_file", Rule::Same("pidfile")),
    ("environment", Rule::Same("environment")),
    ("ruby", Rule::Same("ruby")),
    ("app_root", Rule::Same("dir")),
    ("rackup", Rule::Custom(rackup)),
    ("startup_file", Rule::Custom(rackup)),
    ("app_type", Rule::Custom(app_type)),
    ("app_start_command", Rule::Refused(START)),
    ("spawn_method", Rule::Custom(spawn_method)),
    ("preload_bundler", Rule::Needless("Bundler is set up before the application is loaded")),
    ("load_shell_envvars", Rule::Off("the application's environment is the server's")),
    ("envvars", Rule::Custom(variables)),
    ("max_pool_size", Rule::Later),
    ("min_instances", Rule::Later),
    ("max_instances", Rule::Later),
    ("pool_idle_time", Rule::SecondsOrNone("idle-time")),
    ("max_preloader_idle_time", Rule::Missing(POOL)),
    ("start_timeout", Rule::Seconds("boot-time")),
    ("stop_timeout", Rule::Seconds("drain-time")),
    ("app_connect_timeout", Rule::Needless("workers connect to the server, not it to them")),
    ("max_requests", Rule::Same("max-requests")),
    ("max_request_queue_size", Rule::Custom(queue_size)),
    ("max_request_queue_time", Rule::SecondsOrNone("queue-wait")),
    ("max_request_time", Rule::SecondsOrNone("request-time")),
    ("memory_limit", Rule::Custom(memory)),
    ("hard_memory_limit", Rule::Missing(HARD_LIMIT)),
    ("defer_port_binding", Rule::Needless(DEFERRED)),
    ("request_queue_overflow_status_code", Rule::Missing("the status is 503")),
    (
        "force_max_concurrent_requests_per_process",
        Rule::Missing("a worker has as many requests at once as it has threads (-t)"),
    ),
    ("unlimited_concurrency_paths", Rule::Missing("all paths have the same limits")),
    ("concurrency_model", Rule::Later),
    ("thread_count", Rule::Later),
    ("old_routing", Rule::Needless("a worker that is idle gets the next request")),
    ("sticky_sessions", Rule::Custom(sticky)),
    ("sticky_sessions_cookie_name", Rule::Missing(STICKY)),
    ("sticky_sessions_cookie_attributes", Rule::Missing(STICKY)),
    ("turbocaching", Rule::Off(CACHE)),
    ("disable_turbocaching", Rule::Needless(CACHE)),
    ("vary_turbocache_by_cookie", Rule::Missing(CACHE)),
    ("friendly_error_pages", Rule::Missing("errors are shown in the environment development, and in no other")),
    ("custom_error_page", Rule::Missing("the pages of the server are its own")),
    ("ssl", Rule::Custom(ssl)),
    ("ssl_certificate", Rule::Missing(TLS)),
    ("ssl_certificate_key", Rule::Missing(TLS)),
    ("ssl_port", Rule::Missing(TLS)),
    ("engine", Rule::Needless(NGINX)),
    ("nginx_bin", Rule::Needless(NGINX)),
    ("nginx_version", Rule::Needless(NGINX)),
    ("nginx_config_template", Rule::Missing(NGINX)),
    ("ctls", Rule::Needless(NGINX)),
    ("static_files_dir", Rule::Missing(STATIC)),
    ("restart_dir", Rule::Missing("touching tmp/restart.txt reloads; --restart-file names another file")),
    ("meteor_app_settings", Rule::Refused("only Ruby is served")),
    ("log_level", Rule::Missing("say --log error, warn, info or debug")),
    ("admin_panel_url", Rule::Missing(PANEL)),
    ("admin_panel_auth_type", Rule::Missing(PANEL)),
    ("admin_panel_username", Rule::Missing(PANEL)),
    ("admin_panel_password", Rule::Missing(PANEL)),
    ("abort_websockets_on_process_shutdown", Rule::Missing("they are closed within --websocket-drain")),
    ("rolling_restarts", Rule::Needless("a reload always keeps serving")),
    ("resist_deployment_errors", Rule::Needless("when the new code does not start, the old goes on")),
    ("debugger", Rule::Off("the log has the backtrace of each request that timed out")),
    ("core_file_descriptor_ulimit", Rule::Needless("the server raises its limit to the hard limit")),
    ("app_file_descriptor_ulimit", Rule::Missing("the application has the limit of the server")),
    ("disable_security_update_check", Rule::Needless("no updates are looked for")),
    ("disable_anonymous_telemetry", Rule::Needless("nothing is reported")),
    ("auto", Rule::Needless("nothing is asked for")),
    ("python", Rule::Needless("only Ruby is served")),
    ("nodejs", Rule::Needless("only Ruby is served")),
    ("app_support_kuria_protocol", Rule::Refused("only Rack applications are served")),
    ("direct_instance_request_address", Rule::Needless("workers listen on no address of their own")),
    ("nginx_tarball", Rule::Needless(NGINX)),
    ("debug_nginx_config", Rule::Off(NGINX)),
    ("binaries_url_root", Rule::Needless(NGINX)),
    ("runtime_check_only", Rule::Refused("nothing has to be installed: leave it out")),
    ("dont_install_runtime", Rule::Needless("nothing is installed")),
    ("dont_compile_runtime", Rule::Needless("nothing is installed")),
    ("security_update_check_proxy", Rule::Needless("no updates are looked for")),
    ("anonymous_telemetry_proxy", Rule::Needless("nothing is reported")),
    ("disable_log_prefix", Rule::Off("lines of the application have no prefix; those of the server have")),
    ("data_buffer_dir", Rule::Missing("TMPDIR says where bodies are kept")),
    ("instance_registry_dir", Rule::Missing("the control socket says where the server is: --control")),
];

/// The variable of Passenger for the environment, beside that for the key.
pub const APP_ENV: &str = "PASSENGER_APP_ENV";
/// The key whose value no message shows.
const PASSWORD: &str = "admin_panel_password";
/// Keys that have no environment variable.
const NOT_IN_VARIABLES: [&str; 3] = ["envvars", "ctls", "unlimited_concurrency_paths"];

/// Keys whose value is yes or no, and that have no effect where it is no.
const SWITCHES: [&str; 10] = [
    "daemonize",
    "ssl",
    "sticky_sessions",
    "app_support_kuria_protocol",
    "runtime_check_only",
    "load_shell_envvars",
    "turbocaching",
    "debugger",
    "debug_nginx_config",
    "disable_log_prefix",
];

/// The keys of the file, and then variables such as `PASSENGER_MAX_POOL_SIZE`, which count more.
pub fn read(json: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Directive>, String> {
    let calls = lenient_json::read(json)?.into_iter().map(|Entry { name, line, value }| {
        let is_hidden = value.is_object() || value.is_array() || name == PASSWORD;
        let short = if is_hidden { HIDDEN.to_owned() } else { value.to_string() };
        let written = format!("\"{name}\": {short}");
        let args = vec![switch(&name, value)];
        Directive { name, line: Some(line), file: None, args, written }
    });
    let in_environment = in_environment(&variable).into_iter().map(|(name, key, value)| {
        let written = format!("{key}={}", if name == PASSWORD { HIDDEN } else { value.as_str() });
        let args = vec![switch(name, Value::String(value))];
        Directive { name: name.to_owned(), line: None, file: None, args, written }
    });
    let mut calls: Vec<Directive> = calls.chain(in_environment).collect();
    let is_said = |call: &Directive| match (call.name.as_str(), call.args.first()) {
        ("environment", value) => text(value).is_some(),
        ("envvars", Some(Value::Object(variables))) => environment_of(variables).is_some(),
        _ => false,
    };
    if !calls.iter().any(is_said) {
        calls.extend(usual_environment(variable));
    }
    Ok(calls)
}

/// The value of a key; Passenger takes several words and numbers for yes and no.
fn switch(name: &str, value: Value) -> Value {
    let word = text(Some(&value)).filter(|_| SWITCHES.contains(&name)).map(|word| word.to_lowercase());
    match word.as_deref() {
        Some("true" | "yes" | "on" | "1") => Value::Bool(true),
        Some("false" | "no" | "off" | "0") => Value::Bool(false),
        _ => value,
    }
}

/// Keys that a variable sets, each with the variable's name and value.
fn in_environment(variable: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String, String)> {
    let names = RULES.iter().map(|(name, _)| *name).filter(|name| !NOT_IN_VARIABLES.contains(name));
    let set = names.filter_map(|name| {
        let key = format!("PASSENGER_{}", name.to_uppercase());
        let counts = |value: &String| !value.is_empty() && !is_service_link(&key, OsStr::new(value));
        let value = variable(&key).filter(counts)?;
        Some((name, key, value))
    });
    set.collect()
}

/// Names of the variables that are set by which Passenger is configured, also without a file.
pub fn set_variables(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let environment = variable(APP_ENV).filter(|value| !value.is_empty()).map(|_| APP_ENV.to_owned());
    in_environment(&variable).into_iter().map(|(_, key, _)| key).chain(environment).collect()
}

/// The difference that Passenger serves public/ and this server does not, if there is one and Rails is not to serve it.
pub fn unserved(translation: &Translation, variable: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    let in_file = translation.variables.iter().any(|(name, value)| name == STATIC_FILES && !value.is_empty());
    let is_served = in_file || variable(STATIC_FILES).is_some_and(|value| !value.is_empty());
    (!is_served && Path::new(&translation.in_folder("public")).is_dir()).then_some(PUBLIC)
}

/// The environment that these variables of the application name.
fn environment_of(variables: &Map<String, Value>) -> Option<String> {
    ENVIRONMENT.iter().find_map(|name| text(variables.get(*name)))
}

/// Passenger's default of `environment`, where the variables that count here with any file say nothing.
fn usual_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Directive> {
    let said = |name: &str| variable(name).filter(|value| !value.is_empty());
    if ENVIRONMENT.iter().any(|name| said(name).is_some()) {
        return None;
    }
    let (name, value) = ["NODE_ENV", APP_ENV].into_iter().find_map(|name| Some((name, said(name)?)))?;
    let written = format!("{name}={value}");
    let args = vec![Value::String(value)];
    Some(Directive { name: "environment".to_owned(), line: None, file: None, args, written })
}

/// There is one log: that of `log_file`, if both are named.
fn app_log(to: &mut Translation, call: &Directive) {
    let log = to.call("log_file").and_then(|call| call.args.first()?.as_str()).filter(|log| !log.is_empty());
    match log.map(|log| format!("{ONE_LOG}, that of log_file ({log}); nothing is written here")) {
        Some(why) => to.remark(call, RemarkKind::Differs, &why),
        None => {
            to.copy(call, "log-file");
            to.remark(call, RemarkKind::Differs, ONE_LOG);
        }
    }
}

/// Passenger uses it only as root.
fn user(to: &mut Translation, call: &Directive) {
    if geteuid().is_root() {
        to.copy(call, "user");
    } else {
        to.remark(call, RemarkKind::Needless, "counts where the server is root, as in Passenger");
    }
}

fn app_type(to: &mut Translation, call: &Directive) {
    match text(call.args.first()).as_deref() {
        Some("rack" | "ruby") => to.remark(call, RemarkKind::Needless, "only Rack applications are served"),
        _ => to.remark(call, RemarkKind::Refused, "only Rack applications are served"),
    }
}

fn spawn_method(to: &mut Translation, call: &Directive) {
    match text(call.args.first()).as_deref() {
        Some("smart" | "smart-lv2") => to.set(call, "preload", "yes".to_owned()),
        Some("direct" | "conservative") => to.set(call, "preload", "no".to_owned()),
        _ => to.remark(call, RemarkKind::Refused, "must be smart or direct"),
    }
}

/// Variables by which applications find their environment: the first one that is set is also the server's, unless the
/// file names that.
const ENVIRONMENT: [&str; 3] = ["RAILS_ENV", "RACK_ENV", "APP_ENV"];

/// The application gets them, as in Passenger; a foolsgold.toml has nothing like them.
fn variables(to: &mut Translation, call: &Directive) {
    let Some(Value::Object(variables)) = call.args.first() else {
        return to.remark(call, RemarkKind::Refused, "must be an object of names with their values");
    };
    if variables.is_empty() {
        return to.remark(call, RemarkKind::Needless, "says nothing, and changes nothing");
    }
    let mut names = Vec::new();
    for (name, value) in variables {
        if name.starts_with("FOOLS_GOLD_") {
            let why = format!("{name} is not set: such a variable counts in the environment of the server only");
            to.remark(call, RemarkKind::Differs, &why);
            continue;
        }
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(yes) => yes.to_string(),
            Value::Null => String::new(),
            Value::Array(_) | Value::Object(_) => {
                return to.remark(call, RemarkKind::Refused, &format!("{name} must be a text"));
            }
        };
        // What no process can have (environ(7)).
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return to.remark(call, RemarkKind::Refused, &format!("{name:?} cannot be a variable of the environment"));
        }
        to.variables.push((name.clone(), value));
        names.push(name.as_str());
    }
    if let Some(environment) = environment_of(variables).filter(|_| to.word("environment").is_none()) {
        to.set(call, "environment", environment);
    }
    if !names.is_empty() {
        let why = format!(
            "Ruby's processes get {}; the server itself and embedded Ruby do not, and a foolsgold.toml cannot set them",
            names.join(", ")
        );
        to.remark(call, RemarkKind::Differs, &why);
    }
}

/// Passenger's unit is the megabyte.
fn memory(to: &mut Translation, call: &Directive) {
    match text(call.args.first()).and_then(|megabytes| megabytes.parse::<u64>().ok()) {
        Some(0) => to.remark(call, RemarkKind::Needless, "there is no limit unless --worker-memory says one"),
        Some(megabytes) => to.set(call, "worker-memory", format!("{megabytes}MiB")),
        None => to.remark(call, RemarkKind::Refused, "must be a number of megabytes"),
    }
}

/// 0 is no limit.
fn queue_size(to: &mut Translation, call: &Directive) {
    match text(call.args.first()).as_deref() {
        Some("0") => to.remark(call, RemarkKind::Differs, "as many wait as --connections says"),
        _ => to.copy(call, "queue"),
    }
}

fn sticky(to: &mut Translation, call: &Directive) {
    if to.says_yes("sticky_sessions") {
        to.remark(call, RemarkKind::Missing, STICKY);
    }
}

/// Translates addresses, processes and threads, which depend on several keys, and adds defaults.
pub fn finish(to: &mut Translation) {
    let backlog = to.word("socket_backlog").map(|backlog| capped_backlog(&format!("backlog={backlog}")));
    let backlog = backlog.map(|pair| format!("?{pair}")).unwrap_or_default();
    let port = to.word("port").unwrap_or_else(|| "3000".to_owned());
    to.host = to.word("address");
    to.port = port.parse().ok();
    if let (Some(call), Some(socket)) = (to.call("socket_file").cloned(), to.word("socket_file")) {
        let path = absolute(&to.path_of(&call, &socket));
        to.set(&call, "bind", format!("unix://{path}{backlog}"));
    } else {
        let host = to.host.clone().unwrap_or_else(|| "0.0.0.0".to_owned());
        let bind = tcp(&host, &port) + &backlog;
        match to.call("port").or_else(|| to.call("address")).cloned() {
            Some(call) => to.set(&call, "bind", bind),
            None => to.assume("bind", &bind, false),
        }
    }
    if to.says_yes("daemonize") {
        let name = if to.call("socket_file").is_some() { "passenger".to_owned() } else { format!("passenger.{port}") };
        // In these folders if they exist.
        let usual = |to: &Translation, folder: &str, file: &str| {
            let inner = to.in_folder(folder);
            if Path::new(&inner).is_dir() { format!("{inner}/{file}") } else { to.in_folder(file) }
        };
        to.assume("log-file", &usual(to, "log", &format!("{name}.log")), false);
        to.assume("pidfile", &usual(to, "tmp/pids", &format!("{name}.pid")), false);
    }
    processes(to);
    // In Passenger these have limits only if they are configured.
    to.assume_none(&["request-time", "queue-wait"]);
    to.assume("worker-timeout", "0s", false);
    to.assume("drain-time", "60s", false);
    match to.call("thread_count").cloned() {
        Some(call) if to.word("concurrency_model").is_some_and(|model| model == "thread") => to.copy(&call, "threads"),
        _ => to.assume("threads", "1", false),
    }
}

/// By default one to six processes, as many as needed.
fn processes(to: &mut Translation) {
    let said = |name: &str| to.call(name).filter(|call| text(call.args.first()).is_some()).cloned();
    let number = |call: &Directive| text(call.args.first()).and_then(|count| count.parse::<u32>().ok());
    // 0 is no limit.
    let instances = said("max_instances").filter(|call| number(call) != Some(0));
    match (instances, said("max_pool_size")) {
        // The processes of an application are some of the pool's.
        (Some(instances), Some(pool)) => {
            let is_pool_less = number(&pool) < number(&instances);
            let (less, more) = if is_pool_less { (pool, instances) } else { (instances, pool) };
            to.copy(&less, "max-workers");
            to.remark(&more, RemarkKind::Needless, "the smaller of max_instances and max_pool_size counts");
        }
        (Some(instances), None) if number(&instances) > Some(POOL_SIZE) => {
            to.set(&instances, "max-workers", POOL_SIZE.to_string());
            to.remark(&instances, RemarkKind::Differs, POOL_DEFAULT);
        }
        (Some(one), None) | (None, Some(one)) => to.copy(&one, "max-workers"),
        // More that are to be there at least are as many as there may be.
        (None, None) => {
            let least = to.word("min_instances").and_then(|least| least.parse::<u32>().ok());
            to.assume("max-workers", &least.unwrap_or(0).max(POOL_SIZE).to_string(), false);
        }
    }
    match to.call("min_instances").cloned() {
        Some(call) => {
            to.copy(&call, "min-workers");
            let number = |key| to.value(key).and_then(|count| count.parse::<u32>().ok());
            // Of more than its pool holds, Passenger starts as many as that.
            if let (Some(least), Some(most)) = (number("min-workers"), number("max-workers"))
                && least > most
            {
                to.set(&call, "min-workers", most.to_string());
            }
        }
        None => to.assume("min-workers", "1", false),
    }
}
