//! The table of options: a row for each, with names, kind of value, default and help. Parsing, checking, `--help` and
//! docs/options.md are read from it; nothing else knows an option's name. To add an option: a name, a row, a field in
//! settings.rs, and its use.

use machine::Machine;

use crate::config::machine_defaults;
use crate::config::signal_map::Habit;
use crate::config::size::{GIB, KIB, MIB};

/// Upper bound of all durations.
pub const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Default of `--worker-timeout` outside of development, which its row has as text.
pub const WORKER_TIMEOUT_MS: u64 = 60_000;
/// Upper bound of counts, to catch typing errors: more than any kernel gives to one process by default.
pub const MILLION: u64 = 1_000_000;
/// Upper bound of workers, to catch typing errors.
const WORKERS_MAX: u64 = 1024;
/// Least size of a read buffer that the HTTP library accepts.
const HEADER_BYTES_MIN: u64 = 8 * KIB;
/// Least memory of an interpreter: the Rack prelude alone needs about 1 MiB.
const MEMORY_MIN: u64 = 4 * MIB;
/// Variables of Puma and Rails for the number of threads. They are not meant for interpreters, and ignored there.
pub const RUBY_THREADS: [&str; 3] = ["PUMA_MAX_THREADS", "MAX_THREADS", "RAILS_MAX_THREADS"];

const fn row(name: Name, long: &'static str, value: &'static str, section: Section) -> Row {
    let kind = Kind::Text;
    let default = Default::None;
    let per_app = matches!(section, Section::Application | Section::Mruby | Section::Ruby);
    Row { name, long, short: None, value, also: &[], kind, default, section, per_app, help: "" }
}

const fn limit(name: Name, long: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Row {
    let value = match kind {
        Kind::Size(..) | Kind::SizeOrNone(..) => "SIZE",
        Kind::Time(..) => "TIME",
        _ => "N",
    };
    Row { kind, default: Default::Text(default), help, ..row(name, long, value, Section::Http) }
}

/// Identifies an option, in the order of [`TABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    Bind,
    Port,
    Host,
    TrustProxy,
    UnderscoreHeaders,
    RemoteAddress,
    UrlScheme,
    Environment,
    Engine,
    Threads,
    RequestTime,
    Tag,
    Prefix,
    Probe,
    RestartFile,
    Preload,
    Fresh,
    MaxRequests,
    MaxRequestsJitter,
    SlowTime,
    MemoryLimit,
    Ruby,
    Workers,
    MinWorkers,
    MaxWorkers,
    MaxThreads,
    IdleTime,
    WorkerMemory,
    WorkerTimeout,
    OobGc,
    EarlyHints,
    RubyWorker,
    Scheduling,
    Hooks,
    ReloadSurge,
    ReloadBatch,
    RubyUser,
    BootTime,
    KillTime,
    Queue,
    QueueWait,
    TotalWorkers,
    IoThreads,
    Connections,
    ConnectionsPerClient,
    HeaderBytes,
    HeaderCount,
    HeaderTime,
    BodyBytes,
    BodyMemory,
    BodyTime,
    SpoolBytes,
    WriteTime,
    KeepAlive,
    DrainTime,
    WebsocketDrain,
    DrainLag,
    AccessLog,
    LogQuery,
    Log,
    LogFile,
    RedirectStdout,
    RedirectStderr,
    Daemonize,
    Pidfile,
    State,
    StatePermission,
    User,
    Group,
    Dir,
    Umask,
    Signals,
    BindToActivatedSockets,
    Control,
    Admin,
    AdminToken,
    Config,
    Reload,
}

/// Kind of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No value on the command line; yes or no in the environment.
    Flag,
    /// Yes, no, or one of these words. Without a value on the command line it is yes; a word follows after `=`.
    Switch(&'static [&'static str]),
    /// A text, checked where it is used.
    Text,
    /// A path; in a settings file, a relative one starts at the file's folder.
    Path,
    /// Words separated by commas; several occurrences add up.
    List,
    /// A choice: one of these words.
    Choice(&'static [&'static str]),
    /// A whole number in this range.
    Count(u64, u64),
    /// A whole number in this range, or `auto`.
    CountOrAuto(u64, u64),
    /// A number of bytes in this range.
    Size(u64, u64),
    /// A number of bytes in this range, or `none` for no limit.
    SizeOrNone(u64, u64),
    /// A duration in this range of milliseconds.
    Time(u64, u64),
    /// A duration in this range of milliseconds, or `none` (also written 0, where 0 is not in the range) for no limit.
    TimeOrNone(u64, u64),
    /// Known from other servers, and refused with this error.
    Refused(&'static str),
}

/// Heading under which an option is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Settings,
    Where,
    Application,
    Mruby,
    Ruby,
    Load,
    Http,
    Log,
    Run,
    Watch,
    Elsewhere,
}

/// Value of an option that is not set.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// A text, parsed like any other.
    Text(&'static str),
    /// A number that depends on the machine; the text is for the help.
    Machine(&'static str, fn(Machine) -> usize),
    /// The value of this other option, or its default where that value is wrong; the text is for the help.
    SameAs(&'static str, Name),
    /// The first text in development, the second otherwise; the third is for the help.
    Stage(&'static str, &'static str, &'static str),
    /// No default.
    None,
}

/// An option.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub name: Name,
    pub long: &'static str,
    pub short: Option<char>,
    /// Name of the value in the help.
    pub value: &'static str,
    /// Environment variables beside `FOOLS_GOLD_<LONG>`, which comes first.
    pub also: &'static [&'static str],
    pub kind: Kind,
    pub default: Default,
    pub section: Section,
    /// Whether each application may have its own value; otherwise it is the server's, and a change needs a restart.
    pub per_app: bool,
    pub help: &'static str,
}

impl Section {
    /// All sections with their headings, in the order in which they are shown.
    pub const ALL: [(Section, &'static str); 11] = [
        (Section::Settings, "Where settings come from"),
        (Section::Where, "Addresses and trusted proxies"),
        (Section::Application, "Application"),
        (Section::Mruby, "Embedded interpreters (--engine mruby)"),
        (Section::Ruby, "Ruby processes (--engine ruby)"),
        (Section::Load, "Concurrency and shutdown"),
        (Section::Http, "Limits of a request and its connection"),
        (Section::Log, "Logs"),
        (Section::Run, "Process"),
        (Section::Watch, "Control and monitoring"),
        (Section::Elsewhere, "Known from other servers, not in this version"),
    ];
}

impl Row {
    /// All its environment variables, by precedence.
    pub fn variables(&self) -> Vec<String> {
        let own = format!("FOOLS_GOLD_{}", self.long.to_uppercase().replace('-', "_"));
        std::iter::once(own).chain(self.also.iter().map(|name| (*name).to_owned())).collect()
    }

    /// Whether a value follows it on the command line.
    pub fn takes_value(&self) -> bool {
        !matches!(self.kind, Kind::Flag | Kind::Switch(_)) && !self.value.is_empty()
    }

    /// The default as text, for the help.
    pub fn default_words(&self) -> &'static str {
        match self.default {
            Default::Text(text) | Default::Machine(text, _) | Default::SameAs(text, _) | Default::Stage(_, _, text) => {
                text
            }
            Default::None => "",
        }
    }
}

/// All options, in the order of [`Name`].
pub static TABLE: [Row; Name::Reload as usize + 1] = [
    Row {
        short: Some('b'),
        default: Default::Text("tcp://[::]:9292"),
        help: "listen here: tcp://HOST:PORT, unix:///PATH, or fd://3 for a socket that systemd hands over; options \
               follow a question mark, as in unix:///PATH?mode=0660&group=www-data; may be given several times (in \
               the environment: separated by commas)",
        ..row(Name::Bind, "bind", "URI", Section::Where)
    },
    Row {
        short: Some('p'),
        kind: Kind::Count(0, 65_535),
        also: &["PORT"],
        help: "listen on this TCP port of --host, beside any --bind; 0 lets the system choose",
        ..row(Name::Port, "port", "PORT", Section::Where)
    },
    Row {
        short: Some('o'),
        help: "the address that --port belongs to: a name means all its addresses (default [::]: all there are, of \
               IPv4 and IPv6, in development too)",
        ..row(Name::Host, "host", "HOST", Section::Where)
    },
    Row {
        kind: Kind::List,
        default: Default::Text("private"),
        help: "trusted proxies: their X-Forwarded-... and other headers that only a proxy may send are passed on, \
               those of other peers are dropped: private (this machine and private networks), none, all, an IP \
               address or a network such as 10.0.0.0/8; several with commas between them",
        ..row(Name::TrustProxy, "trust-proxy", "WHO", Section::Where)
    },
    Row {
        kind: Kind::Choice(&["pass", "drop"]),
        default: Default::Text("pass"),
        help: "headers with an underscore in their names, which applications cannot tell from those with a dash: pass \
               them on, except those that could be taken for a header that only a proxy may send, or drop them all, \
               as nginx does",
        ..row(Name::UnderscoreHeaders, "underscore-headers", "WHAT", Section::Where)
    },
    Row {
        default: Default::Text("socket"),
        help: "what the application finds in REMOTE_ADDR: socket, the address of the peer; header:NAME, the first word \
               of this header of a proxy that --trust-proxy names, and the address of all other peers; an IP address; \
               or value:TEXT, any other text",
        ..row(Name::RemoteAddress, "remote-address", "FROM", Section::Where)
    },
    Row {
        kind: Kind::Choice(&["auto", "http", "https"]),
        default: Default::Text("auto"),
        help: "what the application finds in rack.url_scheme: auto, what a proxy that --trust-proxy names says, else \
               http; or always this",
        ..row(Name::UrlScheme, "url-scheme", "SCHEME", Section::Where)
    },
    Row {
        short: Some('e'),
        also: &["APP_ENV", "RACK_ENV", "RAILS_ENV", "HANAMI_ENV"],
        default: Default::Text("development"),
        help: "what the application finds in RACK_ENV; in development, error pages show the exception",
        ..row(Name::Environment, "environment", "NAME", Section::Application)
    },
    Row {
        kind: Kind::Choice(&["auto", "mruby", "ruby"]),
        default: Default::Text("auto"),
        help: "what runs the application: mruby, embedded in this program; ruby, processes of your own Ruby; auto \
               takes ruby where there is a Gemfile, a require of what mruby does not have, or, if there is a Ruby, any \
               doubt",
        ..row(Name::Engine, "engine", "ENGINE", Section::Application)
    },
    Row {
        short: Some('t'),
        kind: Kind::Count(1, 1024),
        also: &RUBY_THREADS,
        default: Default::Machine(
            "mruby: 2 per core, at least 4, as far as memory allows; ruby: 5",
            machine_defaults::interpreters,
        ),
        help: "requests that run at once: in interpreters with mruby, in threads of each worker with ruby; of Puma's \
               MIN:MAX, MAX counts; variables that are not this program's own count for ruby only",
        ..row(Name::Threads, "threads", "N", Section::Application)
    },
    Row {
        kind: Kind::TimeOrNone(1, DAY_MS),
        default: Default::Text("30s"),
        help: "time from the last byte of a request to its answer; then 504 (default: 30s; none in development with \
               ruby, for debuggers, and with the file of a server that has no such limit)",
        ..row(Name::RequestTime, "request-time", "TIME", Section::Application)
    },
    Row {
        help: "what process titles call the application, or none (default: the name of its folder; shop for \
               shop/releases/7 and shop/current)",
        ..row(Name::Tag, "tag", "NAME", Section::Application)
    },
    Row {
        // Each [[app]] has a key of this name, which is no option.
        per_app: false,
        help: "path below which the application is served, such as /shop: it finds this in SCRIPT_NAME, and requests \
               for other paths get 404; in a settings file with [[app]], each of these has its own",
        ..row(Name::Prefix, "prefix", "PATH", Section::Application)
    },
    Row {
        default: Default::Text("auto"),
        help: "a path such as /up that a reload asks the new code for: when it is not answered with a status from 200 \
               to 399 within the boot time, the old code goes on; auto asks for /up, then /, and refuses what answers \
               500 or more, or not at all, where the old code does better, but not in development; none asks nothing",
        ..row(Name::Probe, "probe", "PATH", Section::Application)
    },
    Row {
        default: Default::Text("tmp/restart.txt"),
        help: "a file in the application's folder: when it is touched, the application is reloaded, as with Passenger; \
               none turns this off",
        ..row(Name::RestartFile, "restart-file", "FILE", Section::Application)
    },
    Row {
        kind: Kind::Switch(&["auto", "force"]),
        default: Default::Text("auto"),
        help: "load the application once, before workers are forked; with no, each worker loads it; auto is yes where \
               there may be several workers. It is loaded in each worker, too, where it holds connections that they \
               would share; with force it is forked all the same",
        ..row(Name::Preload, "preload", "[=MODE]", Section::Ruby)
    },
    Row {
        kind: Kind::Flag,
        default: Default::Text("no"),
        help: "shared-nothing: a fresh interpreter for every request",
        ..row(Name::Fresh, "fresh", "", Section::Mruby)
    },
    Row {
        kind: Kind::Count(0, u64::MAX),
        default: Default::Text("0"),
        help: "replace an interpreter, or a worker, after this number of requests; 0 means never",
        ..row(Name::MaxRequests, "max-requests", "N", Section::Application)
    },
    Row {
        kind: Kind::Count(0, 100),
        default: Default::Text("10"),
        help: "replace each up to this many percent later than --max-requests, so that not all are replaced at once",
        ..row(Name::MaxRequestsJitter, "max-requests-jitter", "PERCENT", Section::Application)
    },
    Row {
        kind: Kind::Time(1, DAY_MS),
        default: Default::Text("1s"),
        help: "requests that run at least this long are kept in the flight recorder, the last 50 of them",
        ..row(Name::SlowTime, "slow-time", "TIME", Section::Application)
    },
    Row {
        kind: Kind::Size(MEMORY_MIN, 64 * GIB),
        default: Default::Text("64MiB"),
        help: "memory of one interpreter; what needs more gets NoMemoryError",
        ..row(Name::MemoryLimit, "memory-limit", "SIZE", Section::Mruby)
    },
    Row {
        default: Default::Text("ruby"),
        help: "the Ruby that runs the application: a name on PATH or a path, such as jruby or a version manager's shim",
        ..row(Name::Ruby, "ruby", "PATH", Section::Ruby)
    },
    Row {
        short: Some('w'),
        kind: Kind::CountOrAuto(0, WORKERS_MAX),
        also: &["WEB_CONCURRENCY"],
        default: Default::Stage("1", "auto", "auto; in development 1"),
        help: "worker processes; auto means one per core, as far as memory allows, 0 is taken as 1 (default: auto, \
               and up to two per core while all of them compute); for a number that changes with the load see \
               --max-workers",
        ..row(Name::Workers, "workers", "N", Section::Ruby)
    },
    Row {
        kind: Kind::Count(0, WORKERS_MAX),
        help: "never fewer worker processes (default: as many as --workers, or 1 if only --max-workers is set); 0 \
               lets an idle application sleep: its next request waits for a worker",
        ..row(Name::MinWorkers, "min-workers", "N", Section::Ruby)
    },
    Row {
        kind: Kind::Count(1, WORKERS_MAX),
        help: "never more worker processes: where this is set, one is added whenever requests wait (default: as many \
               as --workers, or --min-workers if that is more; where nothing is set, two per core)",
        ..row(Name::MaxWorkers, "max-workers", "N", Section::Ruby)
    },
    Row {
        kind: Kind::Count(1, 1024),
        help: "never more threads in a worker: where this is more than --threads, a worker gets more while requests \
               wait and its own wait for something other than a processor (default: as many as --threads; where \
               neither threads nor workers are set, and not in development, 64, but 5 where the application has loaded \
               a client of a database)",
        ..row(Name::MaxThreads, "max-threads", "N", Section::Ruby)
    },
    Row {
        kind: Kind::Time(1, DAY_MS),
        default: Default::Text("300s"),
        help: "a worker that was not needed for this long exits, while there are more than --min-workers",
        ..row(Name::IdleTime, "idle-time", "TIME", Section::Ruby)
    },
    Row {
        kind: Kind::Size(MIB, u64::MAX),
        help: "replace a worker that needs more memory (its proportional share, as the kernel counts it); looked at \
               every 5 s (default: no limit)",
        ..row(Name::WorkerMemory, "worker-memory", "SIZE", Section::Ruby)
    },
    Row {
        kind: Kind::Time(0, DAY_MS),
        default: Default::Stage("0", "60s", "60s; in development 0"),
        help: "a worker process that does not answer the server for this long is killed and replaced, whatever it does \
               (a limit for requests is --request-time); 0 means never, for debuggers that stop all threads",
        ..row(Name::WorkerTimeout, "worker-timeout", "TIME", Section::Ruby)
    },
    Row {
        kind: Kind::Flag,
        default: Default::Text("no"),
        help: "workers collect garbage between requests, while they get no requests",
        ..row(Name::OobGc, "oob-gc", "", Section::Ruby)
    },
    Row {
        kind: Kind::Flag,
        default: Default::Text("no"),
        help: "offer applications rack.early_hints, which sends 103 responses; Rails sends one with nearly every page \
               then. Not behind an nginx before 1.29 with proxy_http_version 1.1: such pages hang there",
        ..row(Name::EarlyHints, "early-hints", "", Section::Ruby)
    },
    Row {
        kind: Kind::Choice(&["auto", "plain", "native"]),
        default: Default::Text("auto"),
        help: "how a worker reads requests: plain Ruby, which runs everywhere; native code, which is faster; auto \
               takes native where it can",
        ..row(Name::RubyWorker, "ruby-worker", "KIND", Section::Ruby)
    },
    Row {
        kind: Kind::Choice(&["batch", "normal"]),
        default: Default::Text("batch"),
        help: "scheduling policy (sched(7)) of the I/O threads and of the threads of native workers: with batch, one \
               that becomes ready while all processors are busy lets the running one go on, which saves changes of \
               threads under load; normal is the kernel's default, and better beside other programs that keep all \
               processors busy",
        ..row(Name::Scheduling, "scheduling", "POLICY", Section::Ruby)
    },
    Row {
        kind: Kind::Path,
        help: "Ruby file with hooks around forks and requests, or a config/puma.rb or config/unicorn.rb whose hooks \
               are to run (default: config/foolsgold.rb beside config.ru, if it is there)",
        ..row(Name::Hooks, "hooks", "FILE", Section::Ruby)
    },
    Row {
        kind: Kind::CountOrAuto(1, 1024),
        default: Default::Text("auto"),
        help: "how many workers of the new code a reload may have beside all of the old: fewer need less memory; auto \
               means as many as there will be in all",
        ..row(Name::ReloadSurge, "reload-surge", "N", Section::Ruby)
    },
    Row {
        kind: Kind::CountOrAuto(1, 1024),
        default: Default::Text("auto"),
        help: "how many workers of the old code a reload replaces at a time when --reload-surge is less than all of \
               them; auto means as many as --reload-surge",
        ..row(Name::ReloadBatch, "reload-batch", "N", Section::Ruby)
    },
    Row {
        help: "run the application's Ruby processes as this user, a name or a number, or as USER:GROUP, while the \
               server itself stays root; only root can",
        ..row(Name::RubyUser, "ruby-user", "USER", Section::Ruby)
    },
    Row {
        kind: Kind::TimeOrNone(1, DAY_MS),
        default: Default::Text("none"),
        help: "time in which the application must be loaded, and a worker be ready; a reload and a later worker have \
               10m at most, and an embedded application has 60s with none",
        ..row(Name::BootTime, "boot-time", "TIME", Section::Application)
    },
    Row {
        kind: Kind::Time(0, DAY_MS),
        default: Default::Text("5s"),
        help: "a request past its --request-time is interrupted; if that does not end it, its worker is killed after \
               this time",
        ..row(Name::KillTime, "kill-time", "TIME", Section::Ruby)
    },
    Row {
        kind: Kind::Count(0, MILLION),
        default: Default::SameAs("as many as --connections", Name::Connections),
        per_app: true,
        help: "requests that may wait for an interpreter or a worker; more get 503",
        ..row(Name::Queue, "queue", "N", Section::Load)
    },
    Row {
        kind: Kind::TimeOrNone(0, DAY_MS),
        default: Default::Text("10s"),
        per_app: true,
        help: "time a request may wait for an interpreter or a worker; then 503; none with the file of a server that \
               has no such limit",
        ..row(Name::QueueWait, "queue-wait", "TIME", Section::Load)
    },
    Row {
        kind: Kind::Count(1, 100_000),
        help: "worker processes of all applications together: an application that needs one more when all exist gets \
               the place of an idle one (default: no limit but those of each)",
        ..row(Name::TotalWorkers, "total-workers", "N", Section::Load)
    },
    Row {
        kind: Kind::Count(1, 1024),
        default: Default::Machine("1 per core, as far as memory allows", machine_defaults::io_threads),
        help: "threads that read and write connections",
        ..row(Name::IoThreads, "io-threads", "N", Section::Load)
    },
    Row {
        kind: Kind::Count(1, MILLION),
        default: Default::Machine("16384, or what a quarter of the memory holds", machine_defaults::connections),
        help: "open connections; when they are all taken, idle and slow ones are closed for new ones",
        ..row(Name::Connections, "connections", "N", Section::Load)
    },
    Row {
        kind: Kind::Count(1, MILLION),
        help: "open connections of one client; more are closed; trusted proxies and Unix sockets are not counted \
               (default: no limit but --connections)",
        ..row(Name::ConnectionsPerClient, "connections-per-client", "N", Section::Load)
    },
    limit(Name::HeaderBytes, "header-bytes", Kind::Size(HEADER_BYTES_MIN, 16 * MIB), "112KiB", HEADER_BYTES_HELP),
    limit(Name::HeaderCount, "header-count", Kind::Count(1, 10_000), "100", "header fields; more get 431"),
    limit(Name::HeaderTime, "header-time", Kind::Time(1, DAY_MS), "30s", "time to send the request head; then 408"),
    limit(Name::BodyBytes, "body-bytes", Kind::SizeOrNone(0, u64::MAX), "1GiB", BODY_BYTES_HELP),
    limit(Name::BodyMemory, "body-memory", Kind::Size(0, GIB), "112KiB", BODY_MEMORY_HELP),
    limit(Name::BodyTime, "body-time", Kind::Time(1, DAY_MS), "60s", BODY_TIME_HELP),
    limit(Name::SpoolBytes, "spool-bytes", Kind::Size(0, u64::MAX), "1GiB", SPOOL_HELP),
    limit(Name::WriteTime, "write-time", Kind::Time(1, DAY_MS), "30s", WRITE_TIME_HELP),
    Row {
        also: &["PUMA_PERSISTENT_TIMEOUT"],
        ..limit(Name::KeepAlive, "keep-alive", Kind::Time(0, DAY_MS), "65s", KEEP_ALIVE_HELP)
    },
    Row {
        section: Section::Load,
        ..limit(Name::DrainTime, "drain-time", Kind::Time(0, DAY_MS), "30s", DRAIN_TIME_HELP)
    },
    Row {
        section: Section::Load,
        help: "time over which WebSockets, and other connections that the application has taken over, are closed when \
               the server, or the code that they belong to, ends: each at a moment of its own, WebSockets with 1001 \
               (going away)",
        ..limit(Name::WebsocketDrain, "websocket-drain", Kind::Time(0, DAY_MS), "1s", "")
    },
    Row { section: Section::Load, ..limit(Name::DrainLag, "drain-lag", Kind::Time(0, DAY_MS), "0s", DRAIN_LAG_HELP) },
    Row {
        kind: Kind::Choice(&["text", "json", "off"]),
        default: Default::Text("text"),
        help: "a line for each request on standard output, and the format of all log lines",
        ..row(Name::AccessLog, "access-log", "FORM", Section::Log)
    },
    Row {
        default: Default::Text("filtered"),
        help: "what the access log shows of query strings: filtered hides the values of parameters named like \
               passwords and tokens, filtered:NAME,NAME those with these words in their names, too; full; none",
        ..row(Name::LogQuery, "log-query", "MODE", Section::Log)
    },
    Row {
        default: Default::Text("info"),
        help: "which log lines are written: a level (off, error, warn, info, debug, trace), TARGET=LEVEL, or several \
               of these with commas between them; targets: server, front, engine, access, app",
        ..row(Name::Log, "log", "FILTER", Section::Log)
    },
    Row {
        kind: Kind::Path,
        help: "append the log and the application's output to this file; a signal reopens it after a rotation \
               (default: standard output)",
        ..row(Name::LogFile, "log-file", "FILE", Section::Log)
    },
    Row {
        kind: Kind::Path,
        help: "append standard output alone, which has the log, to this file",
        ..row(Name::RedirectStdout, "redirect-stdout", "FILE", Section::Log)
    },
    Row {
        kind: Kind::Path,
        help: "append standard error alone to this file",
        ..row(Name::RedirectStderr, "redirect-stderr", "FILE", Section::Log)
    },
    Row {
        short: Some('d'),
        kind: Kind::Flag,
        default: Default::Text("no"),
        help: "serve in the background, with --log-file: the command exits when the server is ready, or prints why it \
               is not",
        ..row(Name::Daemonize, "daemonize", "", Section::Run)
    },
    Row {
        kind: Kind::Path,
        also: &["PIDFILE"],
        help: "write the process id to this file as long as the server serves; refused while a running server has it",
        ..row(Name::Pidfile, "pidfile", "FILE", Section::Run)
    },
    Row {
        short: Some('S'),
        kind: Kind::Path,
        help: "write process id and control address to this file, in the form of Puma's",
        ..row(Name::State, "state", "FILE", Section::Run)
    },
    Row {
        help: "permissions of the state file, in octal, such as 0640 (default: 0644 without those of --umask)",
        ..row(Name::StatePermission, "state-permission", "BITS", Section::Run)
    },
    Row {
        help: "become this user, a name or a number, when addresses are bound and files are open, before the \
               application is loaded",
        ..row(Name::User, "user", "USER", Section::Run)
    },
    Row { help: "become this group (default: that of --user)", ..row(Name::Group, "group", "GROUP", Section::Run) },
    Row {
        kind: Kind::Path,
        help: "change to this folder first: all other paths are relative to it",
        ..row(Name::Dir, "dir", "FOLDER", Section::Run)
    },
    Row {
        help: "permissions that new files and Unix sockets do not get, in octal, such as 027",
        ..row(Name::Umask, "umask", "BITS", Section::Run)
    },
    Row {
        kind: Kind::Choice(Habit::WORDS),
        default: Default::Text("puma"),
        help: "signals have the meanings that they have in this server",
        ..row(Name::Signals, "signals", "SERVER", Section::Run)
    },
    Row {
        kind: Kind::Choice(&["no", "yes", "only"]),
        default: Default::Text("no"),
        help: "listen on all sockets that systemd hands over, beside --bind or, with =only, instead of it (where none \
               is handed over, --bind counts); without this, on those that --bind names",
        ..row(Name::BindToActivatedSockets, "bind-to-activated-sockets", "", Section::Run)
    },
    Row {
        default: Default::Text("auto"),
        help: "the Unix socket by which commands such as status and reload talk to this server: a path; auto derives \
               it from the application's folder, where the commands find it; off",
        ..row(Name::Control, "control", "PATH", Section::Watch)
    },
    Row {
        default: Default::Text("off"),
        help: "show a live page, /metrics for Prometheus, /healthz and /readyz on this address: a port of this \
               machine, tcp://HOST:PORT or unix:///PATH",
        ..row(Name::Admin, "admin", "URI", Section::Watch)
    },
    Row {
        help: "token that requests to --admin must carry, as a bearer token or as the password of any user; none \
               allows all requests; required for addresses that other machines can reach (better set as a variable \
               than as an option, which other users of this machine can see)",
        ..row(Name::AdminToken, "admin-token", "TOKEN", Section::Watch)
    },
    Row {
        short: Some('C'),
        kind: Kind::Path,
        help: "read settings from this file: a foolsgold.toml, or a configuration file of Puma, Unicorn, \
               Pitchfork, Thin or Passenger; - or --no-config reads none (default: foolsgold.toml beside config.ru; \
               without one, a config/puma.rb or Passengerfile.json in the working directory)",
        ..row(Name::Config, "config", "FILE", Section::Settings)
    },
    Row { kind: Kind::Refused(RELOAD_WHY), help: RELOAD_WHY, ..row(Name::Reload, "reload", "", Section::Elsewhere) },
];

const HEADER_BYTES_HELP: &str =
    "request line and header fields together; more gets 431, or 414 where the request line alone is longer";
const BODY_BYTES_HELP: &str = "the request body; more gets 413; none with the file of a server that has no such limit";
const BODY_TIME_HELP: &str =
    "time without a byte of a request body; then 408. A body that takes longer must average 500 bytes/s";
const BODY_MEMORY_HELP: &str = "a body up to this size is held in memory, a larger one in a temporary file";
const SPOOL_HELP: &str =
    "temporary file for one response that its client takes slowly; what does not fit waits for the client";
const WRITE_TIME_HELP: &str = "time in which a client must take some of its response; then the connection is closed";
const KEEP_ALIVE_HELP: &str = "time a connection may stay open between requests; 0: each has a connection of its own";
const DRAIN_TIME_HELP: &str = "time for running requests after SIGTERM; longer ones are cut off";
const DRAIN_LAG_HELP: &str =
    "time between \"not ready\" for load balancers and the end of accepting connections, when the server drains";
const RELOAD_WHY: &str = "files are not watched: `foolsgold reload` takes new code without an interruption; Rails \
                          reloads its own code in development";

impl Name {
    /// The option's row.
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Whether its value must not be shown.
    pub fn is_secret(self) -> bool {
        self == Name::AdminToken
    }
}

impl Row {
    /// The row with this long name; underscores count as dashes.
    pub fn called(long: &str) -> Option<&'static Row> {
        let long = long.replace('_', "-");
        TABLE.iter().find(|row| row.long == long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_names() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.name as usize, at, "the row of --{} is in the wrong place", row.long);
        }
    }

    #[test]
    fn every_row_has_help() {
        assert_eq!(TABLE.iter().find(|row| row.help.is_empty()).map(|row| row.long), None);
    }
}
