//! Flags of other servers that users type by habit: each has its usual meaning here, or is refused with an explanation.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::config::arguments::{Arguments, Origin, RawValue, is_flag_next, value_if};
use crate::config::compat::passenger::{DEFERRED, ONE_LOG};
use crate::config::compat::thin::THREADPOOL;
use crate::config::compat::unicorn::{self, has_port};
use crate::config::options::{Kind, Name, Row};

/// Meaning of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// This option.
    Is(&'static str),
    /// This option; 0 means no limit, and is this value.
    IsOrNone(&'static str, &'static str),
    /// This option; of several such flags the smallest number counts.
    Smallest(&'static str),
    /// This option with this value; the flag takes none.
    Says(&'static str, &'static str),
    /// This option, with values by those of the flag.
    Word(&'static str, &'static [(&'static str, &'static str)]),
    /// The log of the application as in Passenger: the one log, unless another flag names that.
    AppLog,
    /// The path of a Unix socket, as in Thin and Passenger.
    Socket,
    /// An address in Unicorn's syntax.
    Listen,
    /// An address as in Unicorn, or a log file as in Thin, depending on the text.
    ListenOrLog,
    /// A folder as in Thin, or else a configuration file as in Unicorn.
    FolderOrConfig,
    /// The application's file as in Thin and Passenger, or the command of a restart as in Puma.
    RackupOrCommand,
    /// The kind of application as in Thin: no effect for one with a config.ru.
    Adapter,
    /// As many threads as Thin's pool has.
    Threaded,
    /// A number of servers as in Thin.
    Servers,
    /// The same, or alone no access log as in Puma; refused with the name of a server.
    ServersOrSilent,
    /// No effect alone, since it is always so, as in Thin; refused with an option of a server as in rackup.
    AlwaysOrOption(&'static str),
    /// Requests are logged, as in Puma; alone an error, since in other servers it asks for the version.
    LogOrVersion,
    /// This variable of the application's environment, with the flag's value.
    Sets(&'static str),
    /// No effect, since it is always so; with an explanation.
    Always(&'static str),
    /// The same; a number may follow.
    AlwaysNumbered(&'static str),
    /// An error with this explanation.
    Refused(&'static str),
    /// An error: this variable of the environment has the same effect, with the flag's value behind this text.
    Variable(&'static str, &'static str),
}

/// A flag with all its spellings.
#[derive(Debug, Clone, Copy)]
pub struct OtherFlag {
    pub flags: &'static [&'static str],
    /// The servers that have it.
    pub of: &'static str,
    /// Name of its value, if it takes one.
    pub value: &'static str,
    pub means: Means,
}

use Means::{
    Adapter, Always, AlwaysNumbered, AlwaysOrOption, AppLog, FolderOrConfig, Is, IsOrNone, Listen, ListenOrLog,
    LogOrVersion, RackupOrCommand, Refused, Says, Servers, ServersOrSilent, Sets, Smallest, Socket, Threaded, Variable,
    Word,
};

const fn flag(flags: &'static [&'static str], of: &'static str, value: &'static str, means: Means) -> OtherFlag {
    OtherFlag { flags, of, value, means }
}

const TLS: &str = "there is no TLS in this version: end it in front";
const REFORK: &str = "workers are forked from a process that never serves";
const CONTROL: &str = "there is no control app: foolsgold status, reload, stop and others ask the control socket";
const VERSION: &str = "say --version for the version; requests are logged anyway";
const CONFIG_RU: &str = "the application is its config.ru";
const NGINX: &str = "there is no nginx in it; leave it out";
const KEEPS_SERVING: &str = "a reload always keeps serving";
const UPDATES: &str = "no updates are looked for, and nothing is reported";
const HARD_LIMIT: &str = "no request is cut off for its memory; say --worker-memory with a unit, such as 512MiB, by \
                          which a worker is replaced when its requests have ended";
const RESTART: &str = "a restart runs the same command again";
const ONE_SERVER: &str = "the server is foolsgold; leave it out";
const PORTS: &str = "one address for all workers, each with one thread unless --threads says more; for the ports of a \
                     Thin cluster, such as 3000 to 3002, say --bind for each";
const SOCKETS: &str =
    "each server of a Thin cluster has one of its own, such as thin.0.sock: say --bind unix://PATH for each";
const RACKUP_OPTION: &str = "options of rackup's server are flags of their own; see foolsgold --help";

/// Passenger's flag for the log of the application.
const APP_LOG: &str = "--app-log-file";
/// The error for Thin's `-D`, which is debugging there, and for Unicorn and rackup means the background.
const D_BESIDE_START: &str = "-D: say -d for the background, --debug for more lines in the log";
/// The error for Thin's `-o`, a letter that means `--host` here.
const ONLY: &str = "is Thin's --only beside start: all servers of a cluster are one here; leave it out";
/// The most threads that `-t` takes beside `start`, where Thin's `-t` is a time: 30 seconds by default.
const THREADS_MOST: u64 = 16;

/// Servers that rackup's -s names, in any case.
const SERVERS: [&str; 12] = [
    "agoo",
    "falcon",
    "foolsgold",
    "iodine",
    "itsi",
    "passenger",
    "pitchfork",
    "puma",
    "rainbows",
    "thin",
    "unicorn",
    "webrick",
];

/// All flags of other servers.
pub const ALL: &[OtherFlag] = &[
    flag(&["-E", "--env"], "Unicorn, rackup", "NAME", Is("environment")),
    flag(&["-a", "--address"], "Thin, Passenger", "HOST", Is("host")),
    flag(&["--socket"], "Thin, Passenger", "FILE", Socket),
    flag(&["--listen"], "Unicorn", "ADDRESS", Listen),
    flag(&["-l"], "Unicorn, Thin", "X", ListenOrLog),
    flag(&["--config-file"], "Unicorn", "FILE", Is("config")),
    flag(&["-c"], "Unicorn, Thin", "X", FolderOrConfig),
    flag(&["--chdir"], "Thin", "FOLDER", Is("dir")),
    flag(&["-D", "--daemon"], "Unicorn, rackup", "", Says("daemonize", "yes")),
    flag(&["-P", "--pid", "--pid-file"], "Thin, Passenger, rackup", "FILE", Is("pidfile")),
    flag(&["-u"], "Thin", "USER", Is("user")),
    flag(&["-g"], "Thin", "GROUP", Is("group")),
    flag(&["--servers"], "Thin", "N", Servers),
    flag(&["-s"], "Thin, Puma, rackup", "", ServersOrSilent),
    flag(&["--server"], "rackup, Unicorn", "NAME", Refused(ONE_SERVER)),
    flag(&["-R", "--rackup", "--startup-file"], "Thin, Passenger, Puma", "X", RackupOrCommand),
    flag(&["--max-conns"], "Thin", "N", Is("connections")),
    flag(&["--threaded"], "Thin", "", Threaded),
    flag(&["--threadpool-size"], "Thin", "N", Is("threads")),
    flag(&["--timeout"], "Thin", "N", Refused("say --keep-alive for silent connections, --request-time for requests")),
    flag(&["--path"], "unicorn_rails", "PATH", Sets("RAILS_RELATIVE_URL_ROOT")),
    flag(&["-O"], "Thin, rackup", "", AlwaysOrOption(KEEPS_SERVING)),
    flag(&["--onebyone"], "Thin", "", Always(KEEPS_SERVING)),
    flag(&["--option"], "rackup", "X", Refused(RACKUP_OPTION)),
    flag(
        &["--stats"],
        "Thin",
        "PATH",
        Always("no such page is served: foolsgold status, and the page of --admin, tell more"),
    ),
    flag(&["-A", "--adapter"], "Thin", "NAME", Adapter),
    flag(
        &["--max-persistent-conns"],
        "Thin",
        "N",
        Always("every connection may be kept, as long as --keep-alive says"),
    ),
    flag(&["--no-epoll"], "Thin", "", Always("sockets are not read by Ruby")),
    flag(&["--wait"], "Thin", "SECONDS", Always("a reload waits as long as --boot-time says")),
    flag(&["--force"], "Thin", "", Always("the pid file of a server that has ended is no obstacle")),
    flag(&["--trace"], "Thin", "", Says("log", "trace")),
    flag(&["-y", "--swiftiply"], "Thin", "", Refused("Swiftiply is not spoken; leave it out")),
    flag(&["--only"], "Thin", "N", Refused("all servers of a cluster are one here; leave it out")),
    flag(&["--all"], "Thin", "", Refused("name one file at a time")),
    flag(&["--backend"], "Thin", "CLASS", Refused("there is no other way to listen; leave it out")),
    flag(&["--ssl", "--ssl-disable-verify", "--ssl-verify"], "Thin, Passenger", "", Refused(TLS)),
    flag(
        &["--ssl-key-file", "--ssl-cert-file", "--ssl-certificate", "--ssl-certificate-key", "--ssl-port"],
        "Thin, Passenger",
        "X",
        Refused(TLS),
    ),
    flag(&["-N", "--no-default-middleware"], "Unicorn", "", Always("no middleware is ever added")),
    flag(&["-I", "--include"], "all", "PATH", Variable("RUBYLIB", "")),
    flag(&["-r", "--require"], "all", "NAME", Variable("RUBYOPT", "-r")),
    flag(&["-W"], "Ruby", "", Variable("RUBYOPT", "-W")),
    flag(&["--warn"], "Unicorn, rackup", "", Variable("RUBYOPT", "-w")),
    flag(&["-q", "--quiet", "--silent"], "Puma, Thin, rackup", "", Says("access-log", "off")),
    flag(&["--log-requests"], "Puma", "", Says("access-log", "text")),
    flag(&["-v"], "Puma", "", LogOrVersion),
    flag(&["--debug"], "Puma, Thin", "", Says("log", "debug")),
    flag(&["-f", "--fork-worker"], "Puma", "", AlwaysNumbered(REFORK)),
    flag(&["--no-preload"], "Puma", "", Says("preload", "no")),
    flag(&["--prune-bundler"], "Puma", "", Always("the server is no gem; a reload reads the Gemfile afresh")),
    flag(&["--extra-runtime-dependencies"], "Puma", "GEMS", Always("the server is no gem")),
    flag(&["--redirect-append"], "Puma", "", Always("log files are always appended to")),
    flag(&["--no-redirect-append"], "Puma", "", Refused("log files are always appended to; leave it out")),
    flag(&["--restart-cmd"], "Puma", "COMMAND", Always(RESTART)),
    flag(&["--control-url", "--control-token"], "Puma", "X", Always(CONTROL)),
    flag(
        &["--plugin"],
        "Puma",
        "NAME",
        Always("what tmp_restart and systemd do is done without them; others are not loaded"),
    ),
    flag(&["--idle-timeout"], "Puma", "N", Always("the server does not end by itself")),
    flag(&["--max-pool-size"], "Passenger", "N", Smallest("max-workers")),
    flag(&["--max-instances"], "Passenger", "N", Smallest("max-workers")),
    flag(&["--min-instances"], "Passenger", "N", Is("min-workers")),
    flag(&["--pool-idle-time"], "Passenger", "SECONDS", IsOrNone("idle-time", "24h")),
    flag(&["--start-timeout"], "Passenger", "SECONDS", Is("boot-time")),
    flag(&["--stop-timeout"], "Passenger", "SECONDS", Is("drain-time")),
    flag(&["--app-connect-timeout"], "Passenger", "SECONDS", Always("workers connect to the server, not it to them")),
    flag(&["--max-request-queue-size"], "Passenger", "N", IsOrNone("queue", "1000000")),
    flag(&["--max-request-queue-time"], "Passenger", "SECONDS", IsOrNone("queue-wait", "none")),
    flag(&["--max-request-time"], "Passenger", "SECONDS", IsOrNone("request-time", "none")),
    flag(&["--thread-count"], "Passenger", "N", Is("threads")),
    flag(&["--concurrency-model"], "Passenger", "X", Always("workers have as many threads as -t says")),
    flag(&["--spawn-method"], "Passenger", "X", Word("preload", &[("smart", "yes"), ("direct", "no")])),
    flag(&["--rolling-restarts"], "Passenger", "", Always(KEEPS_SERVING)),
    flag(&["--resist-deployment-errors"], "Passenger", "", Always("the old code goes on when the new fails")),
    flag(&["--defer-port-binding"], "Passenger", "", Always(DEFERRED)),
    flag(&["--hard-memory-limit"], "Passenger", "N", Refused(HARD_LIMIT)),
    flag(&["--sticky-sessions"], "Passenger", "", Refused("any worker may get any request; leave it out")),
    flag(&["--envvar"], "Passenger", "X", Refused("set it in the environment of this command")),
    flag(&["--nginx-config-template", "--static-files-dir"], "Passenger", "X", Refused(NGINX)),
    flag(&[APP_LOG], "Passenger", "FILE", AppLog),
    flag(&["--app-type"], "Passenger", "NAME", Always("only Rack applications are served")),
    flag(&["--python", "--nodejs"], "Passenger", "FILE", Always("only Ruby is served")),
    flag(
        &["--app-start-command", "--meteor-app-settings"],
        "Passenger",
        "X",
        Refused("applications are started by their config.ru"),
    ),
    flag(&["--app-support-kuria-protocol"], "Passenger", "", Refused("only Rack applications are served")),
    flag(
        &["--direct-instance-request-address"],
        "Passenger",
        "HOST",
        Always("workers listen on no address of their own"),
    ),
    flag(&["--socket-backlog"], "Passenger", "N", Refused("say --bind with ?backlog=N behind the address")),
    flag(&["--restart-dir"], "Passenger", "FOLDER", Refused("say --restart-file FOLDER/restart.txt")),
    flag(
        &["--friendly-error-pages", "--no-friendly-error-pages"],
        "Passenger",
        "",
        Always("errors are shown in the environment development, and in no other"),
    ),
    flag(&["--custom-error-page"], "Passenger", "FILE", Always("the pages of the server are its own")),
    flag(&["--request-queue-overflow-status-code"], "Passenger", "N", Always("the status is 503")),
    flag(&["--load-shell-envvars"], "Passenger", "", Always("the application's environment is the server's")),
    flag(&["--preload-bundler"], "Passenger", "", Always("Bundler is set up before the application is loaded")),
    flag(&["--max-preloader-idle-time"], "Passenger", "SECONDS", Always("the process that forks stays")),
    flag(
        &["--force-max-concurrent-requests-per-process"],
        "Passenger",
        "N",
        Always("a worker has as many requests at once as threads (-t)"),
    ),
    flag(&["--unlimited-concurrency-path"], "Passenger", "PATH", Always("all paths have the same limits")),
    flag(
        &["--sticky-sessions-cookie-name", "--sticky-sessions-cookie-attributes"],
        "Passenger",
        "X",
        Refused("any worker may get any request; leave it out"),
    ),
    flag(&["--old-routing"], "Passenger", "", Always("a worker that is idle gets the next request")),
    flag(&["--disable-turbocaching"], "Passenger", "", Always("responses are not cached")),
    flag(&["--vary-turbocache-by-cookie"], "Passenger", "NAME", Always("responses are not cached")),
    flag(
        &["--abort-websockets-on-process-shutdown", "--no-abort-websockets-on-process-shutdown"],
        "Passenger",
        "",
        Always("they are closed within --websocket-drain"),
    ),
    flag(
        &["--nginx-bin", "--nginx-version", "--nginx-tarball", "--ctl", "--ctls", "--binaries-url-root"],
        "Passenger",
        "X",
        Always("there is no nginx in it"),
    ),
    flag(&["--debug-nginx-config"], "Passenger", "", Refused(NGINX)),
    flag(&["--runtime-check-only"], "Passenger", "", Refused("nothing has to be installed; leave it out")),
    flag(
        &["--no-install-runtime", "--no-compile-runtime", "--no-download-binaries"],
        "Passenger",
        "",
        Always("nothing is installed"),
    ),
    flag(&["--disable-security-update-check", "--disable-anonymous-telemetry"], "Passenger", "", Always(UPDATES)),
    flag(&["--security-update-check-proxy", "--anonymous-telemetry-proxy"], "Passenger", "URL", Always(UPDATES)),
    flag(&["--log-level"], "Passenger", "N", Always("the log has the lines that --log says")),
    flag(&["--disable-log-prefix"], "Passenger", "", Always("lines of the application have no prefix")),
    flag(&["--auto"], "Passenger", "", Always("nothing is asked for")),
    flag(&["--debugger"], "Passenger", "", Always("the log has the backtrace of each request that timed out")),
    flag(&["--core-file-descriptor-ulimit"], "Passenger", "N", Always("the server raises its limit to the hard limit")),
    flag(&["--app-file-descriptor-ulimit"], "Passenger", "N", Always("the application has the limit of the server")),
    flag(&["--instance-registry-dir"], "Passenger", "FOLDER", Always("the control socket says where the server is")),
    flag(&["--data-buffer-dir"], "Passenger", "FOLDER", Always("TMPDIR says where bodies are kept")),
    flag(
        &["--admin-panel-url", "--admin-panel-auth-type", "--admin-panel-username", "--admin-panel-password"],
        "Passenger",
        "X",
        Always("there is no panel; --admin shows a page of this server"),
    ),
];

impl OtherFlag {
    /// The flag with this spelling.
    fn called(spelt: &str) -> Option<&'static OtherFlag> {
        ALL.iter().find(|flag| flag.flags.contains(&spelt))
    }

    /// Whether it is Thin's beside `start`, which Passenger has as well.
    fn is_of_thin(&self, value: &OsStr) -> bool {
        let is_of = |server: &str| self.of.split(", ").any(|one| one == server);
        match self.means {
            ServersOrSilent => is_number(value),
            _ => is_of("Thin") && !is_of("Passenger") && !is_of("Puma"),
        }
    }

    /// The meaning as text, for docs/options.md.
    pub fn here(&self) -> String {
        let of_option =
            |name: &str| Row::called(name).map_or_else(|| "not in this version".to_owned(), |_| format!("`--{name}`"));
        match self.means {
            Is(name) => of_option(name),
            IsOrNone(name, none) => format!("`--{name}`; 0, which is no limit, as `{none}`"),
            Smallest(name) => format!("`--{name}`; of both flags the smaller number"),
            Says(name, "yes") => of_option(name),
            Says(name, value) => format!("`--{name} {value}`"),
            Word(name, words) => {
                let words: Vec<String> =
                    words.iter().map(|(word, value)| format!("{word}: `--{name}={value}`")).collect();
                words.join(", ")
            }
            AppLog => "`--log-file`; no effect beside that, since there is one log".to_owned(),
            Socket => format!("`--bind unix://FILE`; refused beside `--servers`: {SOCKETS}"),
            Listen => "`--bind`, of an address as Unicorn's `listen` takes it".to_owned(),
            ListenOrLog => {
                "`--listen` of an address, `--log-file` of a name that ends in .log; refused for others".to_owned()
            }
            FolderOrConfig => "`--dir` of a folder, `--config` of all others".to_owned(),
            RackupOrCommand => {
                format!("the application's file, as without this; a command as of Puma's `-R` is taken: {RESTART}")
            }
            Adapter => format!("taken for rack and rails: {CONFIG_RU}; refused for others"),
            Servers => format!("`--workers`: {PORTS}"),
            Threaded => format!("`--threads {THREADPOOL}`, unless `--threadpool-size` says another number"),
            ServersOrSilent => {
                format!("`--workers` of a number, alone `--access-log off`; with a server's name refused: {ONE_SERVER}")
            }
            AlwaysOrOption(why) => format!("taken: {why}; with NAME=VALUE refused: {RACKUP_OPTION}"),
            LogOrVersion => format!("`--access-log text`; alone refused: {VERSION}"),
            Sets(variable) => format!(
                "sets {variable} for the application, as in that server; requests are not changed (see `--prefix`)"
            ),
            Always(why) | AlwaysNumbered(why) => format!("taken: {why}"),
            Refused(why) => format!("refused: {why}"),
            Variable(variable, before) => format!("refused: say {variable}={before}{} in the environment", self.value),
        }
    }
}

impl RawValue {
    /// A flag of another server as it was typed, where the option has another value: `-q`, `--spawn-method smart`.
    pub fn as_typed(&self) -> Option<String> {
        let Origin::Flag(spelt) = &self.origin else { return None };
        match OtherFlag::called(spelt)?.means {
            Says(_, value) if value == self.value => Some(spelt.clone()),
            ServersOrSilent if self.value == "off" => Some(spelt.clone()),
            Threaded | LogOrVersion => Some(spelt.clone()),
            Word(_, words) => {
                let (word, _) = words.iter().find(|(_, value)| *value == self.value)?;
                Some(format!("{spelt} {word}"))
            }
            _ => None,
        }
    }
}

/// Whether a text can only be an address of Unicorn's: a port, a host with a port, or a Unix socket.
fn is_address(text: &str) -> bool {
    let is_socket = text.ends_with(".sock") || text.ends_with(".socket");
    has_port(text) || is_socket || text.starts_with("unix:")
}

/// Whether a text is a number of digits only.
fn is_number(text: &OsStr) -> bool {
    !text.is_empty() && text.as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

/// Whether a text is the name of a server, as behind rackup's -s.
fn is_server(text: &OsStr) -> bool {
    SERVERS.iter().any(|server| text.eq_ignore_ascii_case(server))
}

/// Whether a value of `-R` is a command for a restart, as in Puma, and not the application's file.
fn is_command(value: &OsStr) -> bool {
    let path = Path::new(value);
    let is_puma = path.file_name().is_some_and(|name| name == "puma") && !path.is_dir();
    let has_words = value.to_string_lossy().split_whitespace().count() > 1;
    is_puma || (has_words && !path.exists())
}

/// Whether no argument is left.
fn is_last(parser: &mut lexopt::Parser) -> bool {
    parser.try_raw_args().is_some_and(|rest| rest.peek().is_none())
}

impl Arguments {
    /// Takes a flag of another server; returns whether it is one.
    pub fn take_other_flag(&mut self, spelt: &str, parser: &mut lexopt::Parser) -> bool {
        let Some(flag) = OtherFlag::called(spelt) else { return false };
        let value = match (flag.value, flag.means) {
            (_, AlwaysNumbered(_)) => value_if(parser, is_number),
            (_, ServersOrSilent) => value_if(parser, |next| is_number(next) || is_server(next)),
            (_, AlwaysOrOption(_)) => value_if(parser, |next| next.to_string_lossy().contains('=')),
            // The letters behind a letter are flags of their own, as in `-Dc config/unicorn.rb`.
            ("", means) if !spelt.starts_with("--") && !matches!(means, Variable(..)) => None,
            ("", _) => parser.optional_value(),
            // A refused flag need not have its value.
            (_, Refused(_) | Variable(..)) => parser.value().ok(),
            (name, _) => {
                // That of a shell variable may be missing.
                let given = if is_flag_next(parser) { None } else { parser.value().ok() };
                let given = given.filter(|value| !value.is_empty());
                if given.is_none() {
                    self.refuse(format!("{spelt}: needs a value: {spelt} {name}"));
                    return true;
                }
                given
            }
        };
        let value = value.unwrap_or_default();
        self.has_thin_flag |= flag.is_of_thin(&value);
        match flag.means {
            IsOrNone(name, none) if value == "0" => self.take_as(name, OsStr::new(none), spelt),
            Is(name) | IsOrNone(name, _) => self.take_as(name, &value, spelt),
            Smallest(name) => self.take_smallest(name, &value, spelt),
            Says(name, value) => self.take_as(name, OsStr::new(value), spelt),
            Word(name, words) => match words.iter().find(|(word, _)| value.to_str() == Some(word)) {
                Some((_, value)) => self.take_as(name, OsStr::new(value), spelt),
                None => {
                    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                    self.refuse(format!("{spelt} {}: must be {}", value.to_string_lossy(), known.join(" or ")));
                }
            },
            AppLog => self.take_as("log-file", &value, spelt),
            Socket => self.socket(&value, spelt),
            Listen => self.listen(&value, spelt),
            ListenOrLog if value.to_string_lossy().ends_with(".log") => self.take_as("log-file", &value, spelt),
            ListenOrLog if is_address(&value.to_string_lossy()) => self.listen(&value, spelt),
            ListenOrLog => self.refuse(format!(
                "{spelt} {}: say --bind for an address, --log-file for a log",
                value.to_string_lossy()
            )),
            FolderOrConfig if Path::new(&value).is_dir() => self.take_as("dir", &value, spelt),
            FolderOrConfig => self.take_as("config", &value, spelt),
            RackupOrCommand if is_command(&value) => self.always(spelt, RESTART),
            RackupOrCommand => self.take_rackup(value),
            Adapter if matches!(value.to_str(), Some("rack" | "rails")) => self.always(spelt, CONFIG_RU),
            Adapter => {
                let adapter = value.to_string_lossy();
                self.refuse(format!("{spelt} {adapter}: only applications with a config.ru are served"));
            }
            Servers => self.servers(&value, spelt),
            // The size counts, wherever it stands.
            Threaded if self.given.iter().any(|given| given.name == Name::Threads) => {}
            Threaded => self.take_as("threads", OsStr::new(THREADPOOL), spelt),
            ServersOrSilent if value.is_empty() => self.take_as("access-log", OsStr::new("off"), spelt),
            ServersOrSilent if is_number(&value) => self.servers(&value, spelt),
            ServersOrSilent => self.refuse(format!("{spelt} {}: {ONE_SERVER}", value.to_string_lossy())),
            AlwaysOrOption(why) if value.is_empty() => self.always(spelt, why),
            AlwaysOrOption(_) => self.refuse(format!("{spelt} {}: {RACKUP_OPTION}", value.to_string_lossy())),
            LogOrVersion if self.given.is_empty() && self.rackup.is_none() && is_last(parser) => {
                self.refuse(format!("{spelt}: {VERSION}"));
            }
            LogOrVersion => self.take_as("access-log", OsStr::new("text"), spelt),
            Sets(variable) => match value.to_str() {
                Some(value) => self.variables.push((variable.to_owned(), value.to_owned())),
                None => self.refuse(format!("{spelt}: its value is not valid UTF-8")),
            },
            Always(why) | AlwaysNumbered(why) => self.always(spelt, why),
            Refused(why) => self.refuse(format!("{spelt}: {why}")),
            Variable(variable, before) => {
                let value = if value.is_empty() { flag.value.into() } else { value.to_string_lossy() };
                self.refuse(format!("{spelt}: say {variable}={before}{value} in the environment"));
            }
        }
        true
    }

    /// Beside a number of Thin's servers, refuses a socket: the proxy in front knows those of all servers.
    pub fn check_sockets_of_thin(&mut self) {
        let is_socket = |given: &RawValue| matches!(&given.origin, Origin::Flag(flag) if flag == "--socket");
        if self.has_servers && self.given.iter().any(is_socket) {
            self.refuse(format!("--socket: {SOCKETS}"));
        }
    }

    /// Of Passenger's two flags for a log, keeps that of the server, in whichever order they stand.
    pub fn leave_one_log_of_passenger(&mut self) {
        let is_of_app = |given: &RawValue| matches!(&given.origin, Origin::Flag(flag) if flag == APP_LOG);
        let log = self.given.iter().rfind(|given| given.name == Name::LogFile && !is_of_app(given));
        let Some(log) = log.map(RawValue::as_written) else { return };
        for given in std::mem::take(&mut self.given) {
            if is_of_app(&given) {
                let why = format!("{ONE_LOG}, that of {log}; nothing is written here");
                self.notices.push(format!("{}: {why}", given.as_written()));
            } else {
                self.given.push(given);
            }
        }
    }

    /// Beside `start`, refuses letters that have another meaning in Thin than here, where the words are Thin's: beside
    /// other flags of Thin or its file, and where the number is more likely a time than one of threads.
    pub fn check_letters_of_thin(&mut self) {
        if !self.has_start {
            return;
        }
        let is_yaml = |path: &str| Path::new(path).extension().is_some_and(|end| end == "yml" || end == "yaml");
        let is_thin = self.has_thin_flag || self.values(Name::Config).iter().any(|file| is_yaml(&file.value));
        for given in std::mem::take(&mut self.given) {
            let is = |letter: &str| matches!(&given.origin, Origin::Flag(flag) if flag == letter);
            let number = given.value.parse::<u64>().ok();
            if is("-D") {
                self.refuse(D_BESIDE_START);
                continue;
            }
            if number.is_some_and(|number| is("-o") && (is_thin || number > 0)) {
                self.refuse(format!("{}: {ONLY}", given.as_written()));
                continue;
            }
            if let Some(seconds) = number.filter(|_| is("-t")) {
                // 0 is no limit there.
                let time = if seconds == 0 { "24h".to_owned() } else { seconds.to_string() };
                if is_thin || !(1..=THREADS_MOST).contains(&seconds) {
                    let what = "is Thin's --timeout beside start, or a number of threads";
                    let right = format!("say --keep-alive {time} for silent connections, --threads N for threads");
                    self.refuse(format!("-t {seconds}: {what}: {right}"));
                    continue;
                }
                let threads = engine::count(seconds, "thread");
                let why = format!("{threads} in each worker; for Thin's --timeout say --keep-alive {time}");
                self.notices.push(format!("-t {seconds}: {why}"));
            }
            self.given.push(given);
        }
    }

    fn always(&mut self, spelt: &str, why: &str) {
        self.notices.push(format!("{spelt}: {why}, with or without this"));
    }

    fn socket(&mut self, path: &OsStr, spelt: &str) {
        let mut bind = OsString::from("unix://");
        bind.push(path);
        self.take_as("bind", &bind, spelt);
    }

    fn listen(&mut self, address: &OsStr, spelt: &str) {
        let bind = unicorn::bind(&address.to_string_lossy(), str::to_owned);
        self.take_as("bind", OsStr::new(&bind), spelt);
    }

    /// Each server of a Thin cluster has a port of its own, which the proxy in front knows.
    fn servers(&mut self, count: &OsStr, spelt: &str) {
        self.has_servers = true;
        self.take_as("workers", count, spelt);
        if count != "1" {
            self.notices.push(format!("{spelt} {}: {PORTS}", count.to_string_lossy()));
        }
    }

    fn take_smallest(&mut self, name: &str, value: &OsStr, spelt: &str) {
        let number = |text: &str| text.parse::<u64>().ok();
        let Some(count) = value.to_str().and_then(number) else { return self.take_as(name, value, spelt) };
        if let Some(row) = Row::called(name) {
            let (value, origin) = (value.to_string_lossy().into_owned(), Origin::Flag(spelt.to_owned()));
            self.pool_flags.push(RawValue { name: row.name, value, origin, app: None });
        }
        if count == 0 && spelt == "--max-instances" {
            return self.notices.push(format!("{spelt} 0: sets no limit"));
        }
        let is_such =
            |flag: &str| OtherFlag::called(flag).is_some_and(|other| matches!(other.means, Smallest(of) if of == name));
        let is_larger = |given: &RawValue| match &given.origin {
            Origin::Flag(flag) if flag != spelt && is_such(flag) => number(&given.value).map(|other| other >= count),
            _ => None,
        };
        if let Some(smaller) = self.given.iter().find(|given| is_larger(given) == Some(false)) {
            let counts = smaller.as_written();
            return self.notices.push(format!("{spelt} {count}: {counts} is less, and counts"));
        }
        self.given.retain(|given| is_larger(given).is_none());
        self.take_as(name, value, spelt);
    }

    fn take_as(&mut self, name: &str, value: &OsStr, spelt: &str) {
        match Row::called(name).filter(|row| !matches!(row.kind, Kind::Refused(_))) {
            Some(row) => self.take(row, value, Origin::Flag(spelt.to_owned())),
            None => self.refuse(format!("{spelt}: is not in this version")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::arguments::{self, problems};
    use crate::config::options::TABLE;

    fn ask(arguments: &[&str]) -> Arguments {
        arguments::ask(arguments, &[])
    }

    #[test]
    fn flags_of_other_servers_do_what_they_mean() {
        let asked =
            ask(&["-E", "production", "-a", "127.0.0.1", "--pid=x.pid", "-q", "--servers", "3", "-D", "app.ru"]);
        let said = |name: Name| asked.values(name).last().map(|given| given.as_written());
        assert_eq!(asked.problems, []);
        assert_eq!(said(Name::Environment).as_deref(), Some("-E production"));
        assert_eq!(said(Name::Host).as_deref(), Some("-a 127.0.0.1"));
        assert_eq!(said(Name::Pidfile).as_deref(), Some("--pid x.pid"));
        assert_eq!(said(Name::AccessLog).as_deref(), Some("-q"));
        assert_eq!(said(Name::Workers).as_deref(), Some("--servers 3"));
        assert_eq!(said(Name::Daemonize).as_deref(), Some("-D"));
        assert_eq!(asked.rackup.as_deref(), Some(std::path::Path::new("app.ru")));
        let variable = ("RAILS_RELATIVE_URL_ROOT".to_owned(), "/shop".to_owned());
        assert_eq!(ask(&["--path", "/shop", "app.ru"]).variables, [variable]);
        let bind = |arguments: &[&str]| ask(arguments).values(Name::Bind)[0].value.clone();
        assert_eq!(bind(&["--listen", "8080"]), "tcp://0.0.0.0:8080");
        assert_eq!(bind(&["start", "--socket", "tmp/thin.sock"]), "unix://tmp/thin.sock");
        let cluster = problems(&["start", "--socket=/tmp/thin.sock", "-s", "3"]);
        assert_eq!(cluster, [format!("--socket: {SOCKETS}")]);
    }

    #[test]
    fn a_letter_that_two_servers_use_is_told_by_its_value() {
        let said = |arguments: &[&str], name: Name| {
            let asked = ask(arguments);
            assert_eq!(asked.problems, [], "{arguments:?}");
            asked.values(name).last().map(|given| given.value.clone())
        };
        assert_eq!(said(&["-c", "config/unicorn.rb"], Name::Config).as_deref(), Some("config/unicorn.rb"));
        assert_eq!(said(&["-c", "/"], Name::Dir).as_deref(), Some("/"));
        assert_eq!(said(&["-l", "8080"], Name::Bind).as_deref(), Some("tcp://0.0.0.0:8080"));
        assert_eq!(said(&["-l", "10.0.0.1:80"], Name::Bind).as_deref(), Some("tcp://10.0.0.1:80"));
        assert_eq!(said(&["-l", "/run/a.sock"], Name::Bind).as_deref(), Some("unix:///run/a.sock"));
        let relative = said(&["-l", "tmp/a.sock"], Name::Bind).unwrap_or_default();
        assert!(relative.starts_with("unix:///") && relative.ends_with("/tmp/a.sock"), "{relative}");
        assert_eq!(said(&["-l", "log/thin.log"], Name::LogFile).as_deref(), Some("log/thin.log"));
        assert_eq!(ask(&["-R", "app.ru", "start"]).rackup.as_deref(), Some(Path::new("app.ru")));
        for arguments in [&["-v", "-p", "3000"][..], &["-C", "-", "-v"], &["app.ru", "-v"]] {
            assert_eq!(said(arguments, Name::AccessLog).as_deref(), Some("text"), "{arguments:?}");
        }
        assert_eq!(problems(&["-v"]), ["-v: say --version for the version; requests are logged anyway"]);
    }

    #[test]
    fn what_is_always_so_is_noticed_and_what_cannot_be_is_refused() {
        assert_eq!(
            ask(&["--redirect-append"]).notices,
            ["--redirect-append: log files are always appended to, with or without this"]
        );
        let expected = [
            "-A merb: only applications with a config.ru are served",
            "-l y: say --bind for an address, --log-file for a log",
            "--pid: needs a value: --pid FILE",
        ];
        assert_eq!(problems(&["-A", "merb", "-l", "y", "--pid"]), expected);
    }

    #[test]
    fn a_value_that_may_follow_a_flag_of_another_server_is_no_application() {
        for arguments in [
            &["--fork-worker", "100", "app.ru"][..],
            &["-f", "100", "app.ru"],
            &["--fork-worker=100", "app.ru"],
            &["-f", "app.ru"],
            &["-s", "3", "app.ru"],
            &["-s", "app.ru"],
            &["-O", "app.ru"],
            &["-R", "bundle exec puma -C config/puma.rb config.ru", "app.ru"],
            &["-R", "bin/puma", "app.ru"],
            &["-w", "auto", "-R", "app.ru"],
        ] {
            let asked = ask(arguments);
            assert_eq!(asked.problems, [], "{arguments:?}");
            assert_eq!(asked.rackup.as_deref(), Some(Path::new("app.ru")), "{arguments:?}");
        }
        let said = |arguments: &[&str], name: Name| ask(arguments).values(name).last().map(|given| given.as_written());
        assert_eq!(said(&["-s", "3"], Name::Workers).as_deref(), Some("-s 3"));
        for arguments in [&["-s", "3"][..], &["--servers", "3"]] {
            let notices = ask(arguments).notices;
            assert!(notices.len() == 1 && notices[0].ends_with("say --bind for each"), "{arguments:?}: {notices:?}");
            // Beside such a flag -t is Thin's time.
            assert!(notices[0].contains("unless --threads says more"), "{notices:?}");
        }
        assert_eq!(ask(&["-s", "1"]).notices, <[String; 0]>::default(), "it has the port of -p");
        assert_eq!(said(&["-s"], Name::AccessLog).as_deref(), Some("-s"));
        for (arguments, name) in [
            (&["--trace"][..], Name::Log),
            (&["--threaded"], Name::Threads),
            (&["--no-preload"], Name::Preload),
            (&["--spawn-method", "smart"], Name::Preload),
        ] {
            assert_eq!(said(arguments, name), Some(arguments.join(" ")), "as it was typed");
        }
        assert_eq!(said(&["-p", "3000", "-v"], Name::AccessLog).as_deref(), Some("-v"));
        assert_eq!(ask(&["-R", "puma"]).notices, ["-R: a restart runs the same command again, with or without this"]);
    }

    /// As in `unicorn -Dc config/unicorn.rb`, which is in many scripts.
    #[test]
    fn letters_behind_a_letter_without_a_value_are_flags() {
        let said = |arguments: &[&str]| {
            let asked = ask(arguments);
            assert_eq!(asked.problems, [], "{arguments:?}");
            assert_eq!(asked.rackup, None, "{arguments:?}");
            asked.given.iter().map(|given| given.as_written()).collect::<Vec<_>>()
        };
        let unicorn = ["-D", "-c config/unicorn.rb", "-E production"];
        assert_eq!(said(&["-Dc", "config/unicorn.rb", "-E", "production"]), unicorn);
        assert_eq!(said(&["-dp", "3000"]), ["-d", "-p 3000"]);
        assert_eq!(said(&["-qDp3000"]), ["-q", "-D", "-p 3000"]);
    }

    /// As scripts that start Passenger and Thin have them.
    #[test]
    fn flags_that_ask_for_what_is_so_anyway_are_taken() {
        for arguments in [
            &["start", "--no-friendly-error-pages", "--disable-turbocaching", "app.ru"][..],
            &["--disable-security-update-check", "--disable-anonymous-telemetry", "--auto", "app.ru"],
            &["--app-type", "rack", "--log-level=3", "--ctl", "a=b", "--load-shell-envvars", "app.ru"],
            &["--engine", "builtin", "app.ru"],
            &["--engine=nginx", "app.ru"],
            &["--app-connect-timeout", "60", "--old-routing", "--ctls", "a=b", "app.ru"],
            &["--direct-instance-request-address", "127.0.0.1", "app.ru"],
            &["start", "--defer-port-binding", "app.ru"],
            &["start", "-A", "rails", "--adapter=rack", "app.ru"],
            &["--max-persistent-conns", "512", "--no-epoll", "--wait=30", "--force", "--trace", "app.ru"],
            &["start", "--startup-file", "app.ru"],
        ] {
            let asked = ask(arguments);
            assert_eq!(asked.problems, [], "{arguments:?}");
            assert_eq!(asked.rackup.as_deref(), Some(Path::new("app.ru")), "{arguments:?}");
            assert!(asked.values(Name::Engine).is_empty(), "{arguments:?}");
        }
        let notices = [
            "--engine builtin: the server speaks HTTP itself, with or without this",
            "--auto: nothing is asked for, with or without this",
        ];
        assert_eq!(ask(&["--engine", "builtin", "--auto"]).notices, notices);
        assert_eq!(problems(&["--restart-dir", "x"]), ["--restart-dir: say --restart-file FOLDER/restart.txt"]);
        assert_eq!(problems(&["--hard-memory-limit", "512"]), [format!("--hard-memory-limit: {HARD_LIMIT}")]);
        let threads = |arguments: &[&str]| ask(arguments).values(Name::Threads).last().map(|given| given.value.clone());
        assert_eq!(threads(&["start", "--threaded", "-p", "3000"]).as_deref(), Some("20"));
        for size in [["--threaded", "--threadpool-size", "5"], ["--threadpool-size", "5", "--threaded"]] {
            assert_eq!(threads(&size).as_deref(), Some("5"), "{size:?}");
        }
        assert_eq!(ask(&["start", "--stats=/stats"]).problems, []);
        assert_eq!(ask(&["--app-log-file", "x.log"]).values(Name::LogFile)[0].value, "x.log");
        assert_eq!(ask(&["--stop-timeout", "90"]).values(Name::DrainTime)[0].value, "90");
    }

    /// As `thin start -t 30`, of which other words mean here what they mean there.
    #[test]
    fn letters_of_thin_beside_start_are_told_from_ours() {
        let timeout = |written: &str, time: &str| {
            let right = format!("say --keep-alive {time} for silent connections, --threads N for threads");
            [format!("{written}: is Thin's --timeout beside start, or a number of threads: {right}")]
        };
        assert_eq!(problems(&["start", "-p", "3000", "-t", "30"]), timeout("-t 30", "30"));
        assert_eq!(problems(&["-t30", "start", "-d"]), timeout("-t 30", "30"), "the command may be the last word");
        assert_eq!(problems(&["start", "-t", "0"]), timeout("-t 0", "24h"));
        let words_of_thin: [&[&str]; 5] =
            [&["-C", "thin.yml"], &["-s", "3"], &["--max-conns", "512"], &["-c", "/"], &["-V"]];
        for words in words_of_thin {
            let all = [&["start", "-t", "10"][..], words].concat();
            assert_eq!(problems(&all), timeout("-t 10", "10"), "{words:?}");
        }
        assert_eq!(problems(&["-D", "-p", "3000", "start"]), [D_BESIDE_START]);
        assert_eq!(problems(&["start", "--daemon"]), <[String; 0]>::default());
        let only = "is Thin's --only beside start: all servers of a cluster are one here; leave it out";
        assert_eq!(problems(&["start", "-C", "thin.yml", "-o", "0"]), [format!("-o 0: {only}")]);
        assert_eq!(problems(&["start", "-o", "5001"]), [format!("-o 5001: {only}")]);
        let passenger = ["start", "-t", "5", "-o", "0.0.0.0", "--max-pool-size", "3"];
        let asked = ask(&passenger);
        assert_eq!((asked.problems.len(), asked.values(Name::Threads)[0].as_written().as_str()), (0, "-t 5"));
        let notice = "-t 5: 5 threads in each worker; for Thin's --timeout say --keep-alive 5".to_owned();
        assert!(asked.notices.contains(&notice), "{:?}", asked.notices);
        let notice = "-t 1: 1 thread in each worker; for Thin's --timeout say --keep-alive 1".to_owned();
        assert!(ask(&["start", "-t", "1"]).notices.contains(&notice));
        let ours: [&[&str]; 4] =
            [&["-t", "30"], &["-s", "3", "-t", "30"], &["start", "-t", "0:32"], &["start", "--threads", "32"]];
        for arguments in ours {
            let asked = ask(arguments);
            assert_eq!(asked.problems, [], "{arguments:?}");
            assert_eq!(asked.values(Name::Threads).len(), 1, "{arguments:?}");
        }
    }

    #[test]
    fn a_limit_of_0_is_none_for_the_flags_of_passenger() {
        for (flag, name, none) in [
            ("--pool-idle-time", Name::IdleTime, "24h"),
            ("--max-request-queue-size", Name::Queue, "1000000"),
            ("--max-request-queue-time", Name::QueueWait, "none"),
            ("--max-request-time", Name::RequestTime, "none"),
        ] {
            let value = |text: &str| ask(&[flag, text]).values(name)[0].value.clone();
            assert_eq!((value("0").as_str(), value("7").as_str()), (none, "7"), "{flag}");
        }
    }

    /// The processes of an application are some of the pool's.
    #[test]
    fn the_smaller_of_two_limits_of_passenger_counts_in_any_order() {
        let most = |arguments: &[&str]| {
            let asked = ask(arguments);
            assert_eq!(asked.problems, [], "{arguments:?}");
            let counts = asked.values(Name::MaxWorkers).iter().map(|given| given.as_written()).collect::<Vec<_>>();
            (counts.join(" "), asked.notices.join("; "))
        };
        let of_app = "--max-instances 3".to_owned();
        let notice = "--max-pool-size 8: --max-instances 3 is less, and counts".to_owned();
        assert_eq!(most(&["--max-instances", "3", "--max-pool-size", "8"]), (of_app.clone(), notice));
        assert_eq!(most(&["--max-pool-size", "8", "--max-instances", "3"]), (of_app, String::new()));
        let none = "--max-instances 0: sets no limit".to_owned();
        assert_eq!(most(&["--max-pool-size", "8", "--max-instances", "0"]), ("--max-pool-size 8".to_owned(), none));
    }

    /// Whichever comes last, as in its file.
    #[test]
    fn the_one_log_is_that_of_log_file_where_passenger_has_another_for_the_application() {
        let logs = |arguments: &[&str]| {
            let asked = ask(arguments);
            assert_eq!(asked.problems, [], "{arguments:?}");
            let logs: Vec<String> = asked.values(Name::LogFile).iter().map(|given| given.as_written()).collect();
            (logs.join(" "), asked.notices.join("; "))
        };
        let notice = "--app-log-file b.log: the application's lines and the server's are in one log, that of \
                      --log-file a.log; nothing is written here";
        for arguments in
            [["--log-file", "a.log", "--app-log-file", "b.log"], ["--app-log-file", "b.log", "--log-file", "a.log"]]
        {
            assert_eq!(logs(&arguments), ("--log-file a.log".to_owned(), notice.to_owned()), "{arguments:?}");
        }
        assert_eq!(logs(&["--app-log-file", "b.log"]), ("--app-log-file b.log".to_owned(), String::new()));
    }

    #[test]
    fn a_refused_flag_is_told_with_its_value_and_all_that_is_right() {
        let cases: [(&[&str], &str); 10] = [
            (&["-s", "Puma", "app.ru"], "-s Puma: the server is foolsgold; leave it out"),
            (&["-I", "lib", "app.ru"], "-I: say RUBYLIB=lib in the environment"),
            (&["-Ilib"], "-I: say RUBYLIB=lib in the environment"),
            (&["-I"], "-I: say RUBYLIB=PATH in the environment"),
            (&["--require", "set", "app.ru"], "--require: say RUBYOPT=-rset in the environment"),
            (&["-W0"], "-W: say RUBYOPT=-W0 in the environment"),
            (&["--warn", "app.ru"], "--warn: say RUBYOPT=-w in the environment"),
            (&["-s", "puma", "app.ru"], "-s puma: the server is foolsgold; leave it out"),
            (&["--server", "puma", "app.ru"], "--server: the server is foolsgold; leave it out"),
            (
                &["-O", "Threads=0:16", "app.ru"],
                "-O Threads=0:16: options of rackup's server are flags of their own; see foolsgold --help",
            ),
        ];
        for (arguments, message) in cases {
            assert_eq!(problems(arguments), [message], "{arguments:?}");
        }
    }

    #[test]
    fn no_flag_and_no_variable_is_known_twice() {
        let mut flags: Vec<String> = ALL.iter().flat_map(|one| one.flags).map(|flag| (*flag).to_owned()).collect();
        flags.extend(TABLE.iter().map(|row| format!("--{}", row.long)));
        flags.extend(TABLE.iter().filter_map(|row| row.short).map(|letter| format!("-{letter}")));
        flags.extend(["--help", "-h", "--version", "-V"].map(String::from));
        flags.extend(TABLE.iter().flat_map(Row::variables));
        flags.sort();
        let twice: Vec<&[String]> = flags.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert_eq!(twice, Vec::<&[String]>::new());
    }
}
