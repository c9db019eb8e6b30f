//! What an option is: its names, what it takes, its default, its help. The options themselves are in table.rs.
//! Parsing, checking, `--help` and docs/options.md are all read from there; nothing else knows an option's name.
//! To add an option: a name, a row, a field in settings.rs, and its use.

use machine::Machine;

pub use crate::table::TABLE;

/// Which option. The order is that of [`TABLE`].
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
    IdleTime,
    WorkerMemory,
    WorkerTimeout,
    OobGc,
    EarlyHints,
    RubyWorker,
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

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing on the command line; yes or no in the environment.
    Flag,
    /// Yes, no, or one of these words; nothing on the command line says yes, and a word follows after `=`.
    Switch(&'static [&'static str]),
    /// A word, checked where it is used.
    Text,
    /// A path; in a settings file, a relative one begins at the file's folder.
    Path,
    /// Words with commas between them; given several times, they add up.
    List,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number in this range.
    Count(u64, u64),
    /// A whole number in this range, or `auto`.
    CountOrAuto(u64, u64),
    /// A number of bytes in this range.
    Size(u64, u64),
    /// The same, or `none` for no limit.
    SizeOrNone(u64, u64),
    /// A duration in this range of milliseconds.
    Time(u64, u64),
    /// A duration in this range of milliseconds, or `none` (also written 0, where 0 is not in the range) for no limit.
    TimeOrNone(u64, u64),
    /// Known from other servers, and refused, with these words.
    Refused(&'static str),
}

/// Under which heading an option is shown.
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

/// What holds when nobody says anything.
#[derive(Debug, Clone, Copy)]
pub enum Default {
    /// This text, parsed like any other.
    Text(&'static str),
    /// What the function says of this machine; the words are for the help.
    Machine(&'static str, fn(Machine) -> usize),
    /// The first text in development, the second otherwise; the third is for the help.
    Stage(&'static str, &'static str, &'static str),
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
    /// Each application may have its own; what is not so is of the server, and takes a new start.
    pub per_app: bool,
    pub help: &'static str,
}

impl Section {
    /// In the order in which they are shown.
    pub const ALL: [Section; 11] = [
        Section::Settings,
        Section::Where,
        Section::Application,
        Section::Mruby,
        Section::Ruby,
        Section::Load,
        Section::Http,
        Section::Log,
        Section::Run,
        Section::Watch,
        Section::Elsewhere,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Settings => "Where settings come from",
            Section::Where => "Where it listens, and whom it believes",
            Section::Application => "How the application runs",
            Section::Mruby => "Embedded interpreters (--engine mruby)",
            Section::Ruby => "Ruby processes (--engine ruby)",
            Section::Load => "How much at once",
            Section::Http => "Limits of a request and its connection",
            Section::Log => "What it writes",
            Section::Run => "As which process it runs",
            Section::Watch => "How it is watched and told what to do",
            Section::Elsewhere => "Known from other servers, not in this version",
        }
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
        !matches!(self.kind, Kind::Flag | Kind::Switch(_)) && !self.value.is_empty()
    }

    /// The default in words.
    pub fn default_words(&self) -> &'static str {
        match self.default {
            Default::Text(text) | Default::Machine(text, _) | Default::Stage(_, _, text) => text,
            Default::None => "",
        }
    }
}
