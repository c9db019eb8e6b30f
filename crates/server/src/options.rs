//! The one table of options: a row for each, with all its names, what it takes, its default and its help.
//! Parsing, checking, `--help` and docs/options.md are all read from here; nothing else knows an option's name.
//! To add an option: a name, a row, a field in settings.rs, and its use.

use crate::size::{GIB, KIB, MIB};

/// Which option. The order is that of [`TABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    Bind,
    Port,
    Host,
    Environment,
    Engine,
    Threads,
    Fresh,
    MaxRequests,
    MemoryLimit,
    RequestTime,
    Queue,
    QueueWait,
    IoThreads,
    Connections,
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
    AccessLog,
    Log,
    Workers,
    Config,
    Preload,
    Pidfile,
    Tag,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing on the command line; yes or no in the environment.
    Flag,
    /// A word or a path, checked where it is used.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number in this range.
    Count(u64, u64),
    /// A number of bytes in this range.
    Size(u64, u64),
    /// A duration in this range of milliseconds.
    Time(u64, u64),
    /// Known from other servers and refused, with these words. The flag says whether it takes a value there.
    Refused(bool, &'static str),
}

/// Under which heading an option is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Where,
    Application,
    Load,
    Http,
    Log,
    Elsewhere,
}

/// What holds when nobody says anything.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// This text, parsed like any other.
    Text(&'static str),
    /// What the function says of this number of cores; the words are for the help.
    Cores(&'static str, fn(usize) -> usize),
    /// Nothing.
    None,
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub name: Name,
    pub long: &'static str,
    pub short: Option<char>,
    /// What the value is called in the help.
    pub value: &'static str,
    /// Names in the environment beside `FOOLS_GOLD_<LONG>`, which comes first.
    pub also: &'static [&'static str],
    pub kind: Kind,
    pub default: Default,
    pub section: Section,
    pub help: &'static str,
}

impl Section {
    /// In the order in which they are shown.
    pub const ALL: [Section; 6] =
        [Section::Where, Section::Application, Section::Load, Section::Http, Section::Log, Section::Elsewhere];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Where => "Where it listens",
            Section::Application => "How the application runs",
            Section::Load => "How much at once",
            Section::Http => "Limits of a request and its connection",
            Section::Log => "What it writes",
            Section::Elsewhere => "Known from other servers, not in this version",
        }
    }
}

impl Name {
    /// The row of this option.
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

impl Row {
    /// All names in the environment, the one that counts most first.
    pub fn variables(&self) -> Vec<String> {
        let own = format!("FOOLS_GOLD_{}", self.long.to_uppercase().replace('-', "_"));
        std::iter::once(own).chain(self.also.iter().map(|name| (*name).to_owned())).collect()
    }

    /// Whether a value follows it on the command line.
    pub fn takes_value(&self) -> bool {
        !matches!(self.kind, Kind::Flag | Kind::Refused(false, _))
    }

    /// The default in words.
    pub fn default_words(&self) -> &'static str {
        match self.default {
            Default::Text(text) | Default::Cores(text, _) => text,
            Default::None => "",
        }
    }
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// A million is more than any kernel gives to one process by default; it only catches slips of the keyboard.
const MILLION: u64 = 1_000_000;
/// The HTTP library needs a read buffer of at least this size.
const HEADER_BYTES_MIN: u64 = 8 * KIB;
/// An interpreter with the Rack prelude alone needs about 1 MiB.
const MEMORY_MIN: u64 = 4 * MIB;
const NOT_YET: &str = "is not in this version";

const fn row(name: Name, long: &'static str, value: &'static str, section: Section) -> Row {
    let (kind, default) = (Kind::Text, Default::None);
    Row { name, long, short: None, value, also: &[], kind, default, section, help: "" }
}

const fn limit(name: Name, long: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Row {
    let value = match kind {
        Kind::Size(..) => "SIZE",
        Kind::Time(..) => "TIME",
        _ => "N",
    };
    Row { kind, default: Default::Text(default), help, ..row(name, long, value, Section::Http) }
}

const fn refused(name: Name, long: &'static str, short: Option<char>, takes: bool, why: &'static str) -> Row {
    Row { short, kind: Kind::Refused(takes, why), help: why, ..row(name, long, "X", Section::Elsewhere) }
}

/// All options, in the order of [`Name`].
pub static TABLE: [Row; Name::Tag as usize + 1] = [
    Row {
        short: Some('b'),
        default: Default::Text("tcp://0.0.0.0:9292"),
        help: "listen here: tcp://HOST:PORT or unix:///PATH; may be given several times (in the environment: \
               separated by commas)",
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
        help: "the address that --port belongs to (default 0.0.0.0)",
        ..row(Name::Host, "host", "HOST", Section::Where)
    },
    Row {
        short: Some('e'),
        also: &["APP_ENV", "RACK_ENV"],
        default: Default::Text("development"),
        help: "what the application finds in RACK_ENV; in development, error pages show the exception",
        ..row(Name::Environment, "environment", "NAME", Section::Application)
    },
    Row {
        kind: Kind::Choice(&["mruby"]),
        default: Default::Text("mruby"),
        help: "what runs the application: mruby, embedded in this program",
        ..row(Name::Engine, "engine", "ENGINE", Section::Application)
    },
    Row {
        short: Some('t'),
        kind: Kind::Count(1, 1024),
        default: Default::Cores("2 per core, at least 4", |cores| (2 * cores).clamp(4, 1024)),
        help: "interpreters, each in a thread of its own: so many requests run at once; of Puma's MIN:MAX, MAX counts",
        ..row(Name::Threads, "threads", "N", Section::Application)
    },
    Row {
        kind: Kind::Flag,
        default: Default::Text("no"),
        help: "shared-nothing: a fresh interpreter for every request",
        ..row(Name::Fresh, "fresh", "", Section::Application)
    },
    Row {
        kind: Kind::Count(0, u64::MAX),
        default: Default::Text("0"),
        help: "replace an interpreter after so many requests; 0 means never",
        ..row(Name::MaxRequests, "max-requests", "N", Section::Application)
    },
    Row {
        kind: Kind::Size(MEMORY_MIN, 64 * GIB),
        default: Default::Text("64MiB"),
        help: "memory of one interpreter; what needs more gets NoMemoryError",
        ..row(Name::MemoryLimit, "memory-limit", "SIZE", Section::Application)
    },
    Row {
        kind: Kind::Time(1, DAY_MS),
        default: Default::Text("30s"),
        help: "time from the last byte of a request to its answer; then 504",
        ..row(Name::RequestTime, "request-time", "TIME", Section::Application)
    },
    Row {
        kind: Kind::Count(0, MILLION),
        default: Default::Text("1024"),
        help: "requests that may wait for an interpreter; more get 503",
        ..row(Name::Queue, "queue", "N", Section::Load)
    },
    Row {
        kind: Kind::Time(0, DAY_MS),
        default: Default::Text("10s"),
        help: "time a request may wait for an interpreter; then 503",
        ..row(Name::QueueWait, "queue-wait", "TIME", Section::Load)
    },
    Row {
        kind: Kind::Count(1, 1024),
        default: Default::Cores("1 per core", |cores| cores.clamp(1, 1024)),
        help: "threads that read and write connections",
        ..row(Name::IoThreads, "io-threads", "N", Section::Load)
    },
    Row {
        kind: Kind::Count(1, MILLION),
        default: Default::Text("16384"),
        help: "open connections; more wait in the kernel's queue until one ends",
        ..row(Name::Connections, "connections", "N", Section::Load)
    },
    limit(Name::HeaderBytes, "header-bytes", Kind::Size(HEADER_BYTES_MIN, 16 * MIB), "112KiB", HEADER_BYTES_HELP),
    limit(Name::HeaderCount, "header-count", Kind::Count(1, 10_000), "100", "header fields; more get 431"),
    limit(Name::HeaderTime, "header-time", Kind::Time(1, DAY_MS), "30s", "time to send the request head; then 408"),
    limit(Name::BodyBytes, "body-bytes", Kind::Size(0, u64::MAX), "1GiB", "the request body; more gets 413"),
    limit(Name::BodyMemory, "body-memory", Kind::Size(0, GIB), "112KiB", BODY_MEMORY_HELP),
    limit(Name::BodyTime, "body-time", Kind::Time(1, DAY_MS), "300s", "time to send the request body; then 408"),
    limit(Name::SpoolBytes, "spool-bytes", Kind::Size(0, u64::MAX), "1GiB", SPOOL_HELP),
    limit(Name::WriteTime, "write-time", Kind::Time(1, DAY_MS), "30s", WRITE_TIME_HELP),
    limit(Name::KeepAlive, "keep-alive", Kind::Time(1, DAY_MS), "65s", KEEP_ALIVE_HELP),
    Row {
        section: Section::Load,
        ..limit(Name::DrainTime, "drain-time", Kind::Time(0, DAY_MS), "30s", DRAIN_TIME_HELP)
    },
    Row {
        kind: Kind::Choice(&["text", "json", "off"]),
        default: Default::Text("text"),
        help: "a line for each request on standard output, and the form of the other lines",
        ..row(Name::AccessLog, "access-log", "FORM", Section::Log)
    },
    Row {
        default: Default::Text("info"),
        help: "which lines are written: a level (off, error, warn, info, debug, trace), TARGET=LEVEL, or several of \
               these with commas between them; targets: server, front, engine, access, app",
        ..row(Name::Log, "log", "FILTER", Section::Log)
    },
    refused(Name::Workers, "workers", Some('w'), true, WORKERS_WHY),
    refused(Name::Config, "config", Some('C'), true, CONFIG_WHY),
    refused(Name::Preload, "preload", None, false, PRELOAD_WHY),
    refused(Name::Pidfile, "pidfile", None, true, PIDFILE_WHY),
    refused(Name::Tag, "tag", None, true, NOT_YET),
];

const HEADER_BYTES_HELP: &str = "request line and header fields together; more gets 431";
const BODY_MEMORY_HELP: &str = "a body up to this size is held in memory, a larger one in a temporary file";
const SPOOL_HELP: &str =
    "temporary file for one response that its client takes slowly; what does not fit waits for the client";
const WRITE_TIME_HELP: &str = "time in which a client must take some of its response; then the connection is closed";
const KEEP_ALIVE_HELP: &str = "time a connection may stay open between requests";
const DRAIN_TIME_HELP: &str = "time for running requests after SIGTERM; what runs longer is cut off";
const WORKERS_WHY: &str = "the embedded engine has threads and no worker processes: say -t N for N interpreters \
                           (workers x threads of your old setting is a good N)";
const CONFIG_WHY: &str =
    "there is no configuration file in this version: say it with options or FOOLS_GOLD_... variables";
const PRELOAD_WHY: &str = "there is nothing to preload: each interpreter loads the application itself, all at start";
const PIDFILE_WHY: &str =
    "is not in this version; the log says the process id at start, and a service manager knows it";

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
    fn no_name_is_used_twice() {
        let mut names: Vec<String> = TABLE.iter().map(|row| row.long.to_owned()).collect();
        names.extend(TABLE.iter().filter_map(|row| row.short).map(String::from));
        names.extend(["help", "h", "version", "V"].map(String::from));
        names.extend(TABLE.iter().flat_map(Row::variables));
        let total = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), total);
    }

    #[test]
    fn every_row_has_help() {
        assert_eq!(TABLE.iter().find(|row| row.help.is_empty()).map(|row| row.long), None);
    }
}
