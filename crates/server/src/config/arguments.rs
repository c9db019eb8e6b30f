//! The parsed arguments: words of the command line and of the environment, matched with the table of options; `file.rs`
//! adds the settings file. No value is checked, so help works in a broken folder, too.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use lexopt::Arg;

use crate::config::commands;
use crate::config::options::{Kind, Name, RUBY_THREADS, Row, TABLE};
use crate::config::rackup;
use crate::config::suggest::nearest;
use crate::config::toml_apps;

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The command line; the flag as it was spelt.
    Flag(String),
    /// A variable of the environment.
    Variable(String),
    /// A settings file.
    File(SourcePosition),
    /// The default.
    Default,
}

/// A position in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// The path as messages show it.
    pub file: String,
    /// `None` for a default of another server.
    pub line: Option<usize>,
    /// The text there, such as `threads = 5`.
    pub written: String,
    /// Whether the file is another server's: it then counts more than variables that are not this program's own.
    pub is_compat: bool,
    /// Whether this is not in the file, but a default of the other server, which reads a file of Ruby code.
    pub is_assumed: bool,
}

/// An option's value before it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawValue {
    pub name: Name,
    pub value: String,
    pub origin: Origin,
    /// Index of its application in [`Arguments::apps`]; `None` for all applications.
    pub app: Option<usize>,
}

/// An application in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppArguments {
    pub name: String,
    /// Its config.ru, or the folder of that.
    pub path: PathBuf,
    pub host: Option<String>,
    pub prefix: String,
    pub place: SourcePosition,
    /// Another server's configuration that is beside it and is not read, as messages show it.
    pub unread: Option<String>,
}

/// An error in the arguments: what is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(pub String);

/// Shown in place of a secret value.
pub const HIDDEN: &str = "...";

/// Prefix of this program's own variables.
pub const OWN_VARIABLES: &str = "FOOLS_GOLD_";

/// Variables with an address that counts if neither the user nor a file names one: `rails server` has such a default,
/// and the gem passes it on.
const USUAL_ADDRESS: [(&str, Name); 2] =
    [("FOOLSGOLD_DEFAULT_HOST", Name::Host), ("FOOLSGOLD_DEFAULT_PORT", Name::Port)];

/// The variable by which the gem names the folder of a script whose application it loads from a file in another folder.
const APP_FOLDER: &str = "FOOLSGOLD_APP_FOLDER";

/// The variable by which the gem finds this program. An image that sets it may start the program without the gem, too.
const OF_GEM: &str = "FOOLS_GOLD_BINARY";

/// Words by which `unicorn -E` and `rackup -E` choose middleware, and which are no environment of an application:
/// recipes for Capistrano start Unicorn with `RAILS_ENV=production` and `-E deployment`.
const OF_MIDDLEWARE: [&str; 2] = ["deployment", "none"];

/// Beginning of the error about a second application, after its name.
pub const ONE_AT_A_TIME: &str = "one application is served at a time";

/// The command of Thin and Passenger that starts a server.
const START: &str = "start";
/// `--config -`, as Puma spells it.
const NO_CONFIG: &str = "--no-config";
/// The error for `-S` of Thin and Passenger, which for Puma names a file of the server's state.
const OF_SOCKET: &str = "names the file for the server's state; for a socket say --bind unix://PATH";
/// The error for Passenger's `--memory-limit`.
const OF_INTERPRETER: &str = "is for the memory of an embedded interpreter, which needs 4MiB; for that of a worker \
                              process, as in Passenger, say --worker-memory with a unit, such as 512MiB";
/// What may speak HTTP for Passenger (`passenger start --engine=builtin`), and no engine of ours.
const ENGINES_OF_PASSENGER: [&str; 2] = ["builtin", "nginx"];

/// The command of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Command {
    #[default]
    Serve,
    Help,
    Version,
    /// `options --markdown`: print docs/options.md.
    OptionsPage,
    /// `native`: build the C extension for a Ruby.
    Native,
    /// `config`: print the resulting settings, or only check them.
    Config {
        json: bool,
        check: bool,
    },
    /// `explain FILE`: print the translation of another server's configuration.
    Explain,
}

/// Words of the command line that are neither flags nor their values.
#[derive(Debug, Default)]
struct Words {
    all: Vec<OsString>,
    /// How many of them stand before the first unknown flag: it is unclear whether the next one is its value.
    before_unknown: usize,
    /// Unknown flags, as they were spelt.
    unknown: Vec<String>,
}

/// All parsed arguments.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    pub command: Command,
    /// The word `start` was given, the command of Thin and Passenger, after which some flags mean what they do there.
    pub has_start: bool,
    /// A flag was given that, beside `start`, only Thin has.
    pub has_thin_flag: bool,
    /// A number of Thin's servers was given.
    pub has_servers: bool,
    pub rackup: Option<PathBuf>,
    /// Where settings files, hooks and the restart file of `rackup` are, if not beside it.
    pub app_folder: Option<PathBuf>,
    /// Applications of a settings file; if there are none, `rackup` is the only one.
    pub apps: Vec<AppArguments>,
    /// The settings file that was read.
    pub file: Option<PathBuf>,
    /// The working directory by the user's name for it; empty before it was entered.
    pub folder: PathBuf,
    /// Another server's configuration that was read: its path as messages show it, and the server's name.
    pub compat: Option<(String, &'static str)>,
    /// The process that has evaluated it, which may become the mold.
    pub evaluated: Option<engine_ruby::Evaluated>,
    /// Variables that it, or a flag of another server, sets for the application, with their values; the last of a name
    /// counts.
    pub variables: Vec<(String, String)>,
    /// Host and port in another server's configuration: the host counts with `--port` alone, the port with `--host`
    /// alone.
    pub file_host: Option<String>,
    pub file_port: Option<u16>,
    /// Another server's configuration that is beside the only application and is not read, as messages show it.
    pub unread: Option<String>,
    /// Passenger's flags for numbers of processes, whether they count or not: beside its file each takes the place of
    /// its own key.
    pub pool_flags: Vec<RawValue>,
    pub given: Vec<RawValue>,
    pub problems: Vec<Problem>,
    /// Warnings.
    pub notices: Vec<String>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(f, "{flag} on the command line"),
            Origin::Variable(name) => write!(f, "{name} in the environment"),
            Origin::File(place) => write!(f, "{place}"),
            Origin::Default => f.write_str("the default"),
        }
    }
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl RawValue {
    /// Whether it was set for this program in particular, and not found in a variable that others read too, or in
    /// another server's file.
    pub fn is_for_this_program(&self) -> bool {
        match &self.origin {
            Origin::Flag(_) => true,
            Origin::Variable(name) => name.starts_with(OWN_VARIABLES),
            Origin::File(place) => !place.is_compat,
            Origin::Default => false,
        }
    }

    /// Whether it is an environment that only chooses the middleware of Unicorn and rackup: it is the value of
    /// RACK_ENV, and does not replace a RAILS_ENV or APP_ENV that is set.
    pub fn is_for_middleware(&self) -> bool {
        let is_theirs = matches!(&self.origin, Origin::Flag(flag) if flag == "-E" || flag == "--env");
        self.name == Name::Environment && is_theirs && OF_MIDDLEWARE.contains(&self.value.as_str())
    }

    /// Precedence; the least counts most.
    fn rank(&self) -> u8 {
        match &self.origin {
            Origin::Flag(_) => 0,
            Origin::Variable(name) if name.starts_with(OWN_VARIABLES) => 1,
            Origin::File(place) if place.is_compat => 2,
            Origin::Variable(_) => 3,
            Origin::File(_) if self.app.is_some() => 4,
            Origin::File(_) => 5,
            Origin::Default => 6,
        }
    }

    /// The value of a switch; `None` if it is neither yes nor no. On the command line the flag alone means yes, and
    /// elsewhere an empty value no.
    pub fn yes_or_no(&self) -> Option<bool> {
        match self.value.to_lowercase().as_str() {
            "yes" | "true" | "on" | "1" => Some(true),
            "no" | "false" | "off" | "0" => Some(false),
            "" => Some(matches!(self.origin, Origin::Flag(_))),
            _ => None,
        }
    }

    /// Whether it comes from a variable of Puma or Rails for the number of threads.
    pub fn is_for_ruby_threads(&self) -> bool {
        matches!(&self.origin, Origin::Variable(name) if RUBY_THREADS.contains(&name.as_str()))
    }

    /// Whether another server's file sets it.
    pub fn is_of_compat_file(&self) -> bool {
        matches!(&self.origin, Origin::File(place) if place.is_compat)
    }

    /// Whether it is only a default of another server.
    pub fn is_assumed(&self) -> bool {
        matches!(&self.origin, Origin::File(place) if place.is_assumed)
    }

    /// The setting as it was written: `-t 0`, `FOOLS_GOLD_THREADS=0`, `foolsgold.toml:3: threads = 0`.
    pub fn as_written(&self) -> String {
        let is_secret = self.name.is_secret();
        match &self.origin {
            Origin::Flag(flag) if is_secret => format!("{flag} {HIDDEN}"),
            Origin::Variable(name) if is_secret => format!("{name}={HIDDEN}"),
            Origin::File(place) if is_secret => format!("{place}: {} = {HIDDEN}", self.name.row().long),
            // -V is Thin's, and has no value.
            Origin::Flag(flag) if self.value.is_empty() || flag == NO_CONFIG || flag == "-V" => flag.clone(),
            Origin::Flag(flag) if self.name.row().value.is_empty() && self.value == "yes" => flag.clone(),
            Origin::Flag(flag) => self.as_typed().unwrap_or_else(|| format!("{flag} {}", self.value)),
            Origin::Variable(name) => format!("{name}={}", self.value),
            Origin::File(place) => format!("{place}: {}", place.written),
            Origin::Default => self.value.clone(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses the arguments after the program's name, and the environment.
pub fn read(mut arguments: Vec<OsString>, environment: &[(OsString, OsString)]) -> Arguments {
    let mut asked = Arguments::default();
    if arguments.first().is_some_and(|first| first == "options") {
        if arguments.get(1).is_some_and(|word| word == "-h" || word == "--help") {
            asked.command = Command::Help;
            return asked;
        }
        asked.command = Command::OptionsPage;
        if arguments.len() != 2 || arguments[1] != "--markdown" {
            asked.refuse("options: say `foolsgold options --markdown`, or ./options to serve a file of that name");
        }
        return asked;
    }
    asked.command = command(&mut arguments);
    let words = asked.read_flags(lexopt::Parser::from_args(arguments.clone()));
    asked.read_variables(environment);
    if asked.command == Command::Serve && !asked.refuse_no_command(&words) {
        asked.refuse_late_command(&arguments, &words);
    }
    if let Some(rackup) = asked.rackup.take_if(|_| asked.command == Command::Native) {
        asked.refuse(format!("{}: say `foolsgold native`, perhaps with --ruby PATH", rackup.display()));
    }
    asked
}

/// Removes the command and the flags that only it has; the rest are options.
fn command(arguments: &mut Vec<OsString>) -> Command {
    let command = match arguments.first().and_then(|first| first.to_str()) {
        Some("native") => Command::Native,
        Some("explain") => Command::Explain,
        Some("config") => {
            let mut take = |flag: &str| {
                let before = arguments.len();
                arguments.retain(|word| word != flag);
                arguments.len() < before
            };
            Command::Config { json: take("--json"), check: take("--check") }
        }
        _ => return Command::Serve,
    };
    arguments.remove(0);
    command
}

impl Arguments {
    /// The values of an option that count for the server, and for applications without their own.
    pub fn values(&self, name: Name) -> Vec<&RawValue> {
        self.values_for(None, name)
    }

    /// The values of an option that count for an application: those of the source with the highest precedence.
    pub fn values_for(&self, app: Option<usize>, name: Name) -> Vec<&RawValue> {
        self.most_important(app, name, |_| true)
    }

    /// The same, without variables that are meant for Ruby's threads.
    pub fn values_for_interpreters(&self, app: Option<usize>, name: Name) -> Vec<&RawValue> {
        self.most_important(app, name, |given| !given.is_for_ruby_threads())
    }

    fn most_important(&self, app: Option<usize>, name: Name, counts: fn(&RawValue) -> bool) -> Vec<&RawValue> {
        let heard = |given: &&RawValue| given.name == name && (given.app.is_none() || given.app == app);
        let all: Vec<&RawValue> = self.given.iter().filter(heard).filter(|given| counts(given)).collect();
        let most = all.iter().map(|given| given.rank()).min();
        all.into_iter().filter(|given| Some(given.rank()) == most).collect()
    }

    /// Whether Thin's or Passenger's flag for a number of processes was given, each of which runs one request at a time
    /// there.
    pub fn has_single_threads(&self) -> bool {
        self.has_servers || !self.pool_flags.is_empty()
    }

    /// Whether a configuration file of one of these servers is read.
    pub fn reads_file_of(&self, servers: &[&str]) -> bool {
        self.compat.as_ref().is_some_and(|(_, server)| servers.contains(server))
    }

    /// The values that another server's configuration file has for an option, whether or not they count.
    pub fn of_file(&self, name: Name) -> impl Iterator<Item = &RawValue> {
        self.given.iter().filter(move |given| given.name == name && !given.is_assumed() && given.is_of_compat_file())
    }

    /// The host that counts if neither the user nor a file names one, where it is not that of this program.
    pub fn usual_host(&self) -> Option<&str> {
        let usual = self.given.iter().find(|given| given.name == Name::Host && given.origin == Origin::Default);
        usual.map(|given| given.value.as_str())
    }

    /// Precedence of the values of an option, if there are any; the least counts most.
    pub fn rank_for(&self, app: Option<usize>, name: Name) -> Option<u8> {
        self.values_for(app, name).first().map(|given| given.rank())
    }

    /// Adds an error.
    pub fn refuse(&mut self, why: impl Into<String>) {
        self.problems.push(Problem(why.into()));
    }

    fn read_flags(&mut self, mut parser: lexopt::Parser) -> Words {
        let mut words = Words::default();
        loop {
            let (row, spelt) = match parser.next() {
                Ok(None) => {
                    self.leave_one_log_of_passenger();
                    self.check_sockets_of_thin();
                    self.check_letters_of_thin();
                    return words;
                }
                Ok(Some(Arg::Value(word))) => {
                    if words.unknown.is_empty() {
                        words.before_unknown += 1;
                        self.take_rackup(word.clone());
                    }
                    words.all.push(word);
                    continue;
                }
                Ok(Some(Arg::Short('h') | Arg::Long("help"))) => {
                    self.command = Command::Help;
                    continue;
                }
                // Thin's flag for a log of everything.
                Ok(Some(Arg::Short('V'))) if self.has_start => {
                    self.has_thin_flag = true;
                    self.take(Name::Log.row(), OsStr::new("trace"), Origin::Flag("-V".to_owned()));
                    continue;
                }
                Ok(Some(Arg::Short('V') | Arg::Long("version"))) => {
                    self.command = Command::Version;
                    continue;
                }
                Ok(Some(Arg::Long(word))) if NO_CONFIG.strip_prefix("--") == Some(word) => {
                    self.take(Name::Config.row(), OsStr::new("-"), Origin::Flag(NO_CONFIG.to_owned()));
                    continue;
                }
                Ok(Some(Arg::Short(letter))) => {
                    (TABLE.iter().find(|row| row.short == Some(letter)), format!("-{letter}"))
                }
                Ok(Some(Arg::Long(word))) => (TABLE.iter().find(|row| row.long == word), format!("--{word}")),
                // Only a value where none is expected can fail here, as in --help=x.
                Err(error) => {
                    self.refuse(format!("the command line: {error}"));
                    continue;
                }
            };
            match row {
                Some(row) => self.take_flag(row, spelt, &mut parser),
                None if self.take_other_flag(&spelt, &mut parser) => {}
                None => {
                    // The name of an application is no command, even if it is that of one.
                    let has_value = commands::is_flag_with_value(&spelt) && !is_flag_next(&mut parser);
                    let _ = if has_value { parser.value().ok() } else { parser.optional_value() };
                    self.refuse(unknown_flag(&spelt));
                    words.unknown.push(spelt);
                }
            }
        }
    }

    /// Takes a word that stands alone, or behind another server's flag for the application's file.
    pub fn take_rackup(&mut self, path: OsString) {
        if path == START {
            self.has_start = true;
            return self.notices.push(
                "start: the server starts with or without this word, and stays in the foreground without -d; say \
                 ./start to serve a folder of that name"
                    .to_owned(),
            );
        }
        match &self.rackup {
            None => self.rackup = Some(path.into()),
            Some(first) => {
                // As in `thin -C thin.yml -R config.ru restart`: here a command comes first.
                if let Some(why) = path.to_str().filter(|_| !Path::new(&path).exists()).and_then(rackup::no_command) {
                    return self.refuse(why);
                }
                let (first, second) = (first.display().to_string(), path.display().to_string());
                let is_explain = self.command == Command::Explain;
                let one = if is_explain { "one file is explained at a time" } else { ONE_AT_A_TIME };
                self.refuse(format!("{second}: {one}, and {first} was named already"));
            }
        }
    }

    /// Where the first word is probably a misspelt command, that is the only error: the others follow from it, such as
    /// those about the flags of that command. Returns whether it is misspelt.
    fn refuse_no_command(&mut self, words: &Words) -> bool {
        let first = words.all.first().filter(|_| words.before_unknown > 0).and_then(|word| word.to_str());
        let is_there = |word: &str| self.is_there(OsStr::new(word));
        let word = first.filter(|word| !rackup::is_command(word) && !is_there(word) && !self.problems.is_empty());
        let Some(why) = word.and_then(rackup::no_command) else { return false };
        self.problems = vec![Problem(why)];
        true
    }

    /// Where a command does not come first, that is the only error, too: others are about its flags and its file, or
    /// about a folder of its name, such as `config`.
    fn refuse_late_command(&mut self, arguments: &[OsString], words: &Words) {
        let is_command = |word: &&str| rackup::is_command(word) && !self.is_application(word);
        let Some(word) = words.all.iter().filter_map(|word| word.to_str()).find(is_command) else { return };
        // After `start`, which is a command itself, the word is most probably misspelt otherwise.
        if self.has_start || !words.unknown.iter().all(|flag| commands::is_flag(flag)) {
            return;
        }
        let line = self.with_command_first(word, arguments, words);
        let is_there = self.is_there(OsStr::new(word));
        let what = if is_there { "is a folder without a config.ru" } else { "there is no such file" };
        self.problems = vec![Problem(format!("{word}: {what}; as a command it comes first: `{line}`"))];
    }

    /// The command line to type for a command that is among these words: without what it does not take, and without
    /// secrets.
    fn with_command_first(&self, command: &str, arguments: &[OsString], words: &Words) -> String {
        let flags = || self.given.iter().filter(|given| matches!(given.origin, Origin::Flag(_)));
        // A command for a running server has only these.
        let finds_server = |name| matches!(name, Name::Control | Name::State | Name::Dir | Name::Config);
        let is_of_client = commands::names().any(|name| name == command);
        let takes = |name: Name| if is_of_client { finds_server(name) } else { !name.is_secret() };
        let surplus = self.surplus(command, words);
        let takes_all = command != "options" && flags().all(|given| takes(given.name));
        // Without the flags its value is left.
        let typed: &[OsString] = match takes_all {
            true => arguments,
            false if is_of_client => &words.all,
            false => &[],
        };
        let mut left_out = surplus.clone();
        left_out.push(OsStr::new(command));
        let mut line = format!("foolsgold {command}");
        for one in typed {
            if let Some(at) = left_out.iter().position(|word| *word == one.as_os_str()) {
                left_out.swap_remove(at);
                continue;
            }
            line.push(' ');
            line.push_str(&for_shell(one));
        }
        // By their own names: `-c web.yml` is a settings file here, and a folder behind a command. Commands have no
        // --no-config, whose value is a dash.
        let rest = flags().filter(|given| is_of_client && !takes_all && takes(given.name) && given.value != "-");
        for given in rest {
            line.push_str(&format!(" --{} {}", given.name.row().long, for_shell(OsStr::new(&given.value))));
        }
        // The application says which server is meant, where nothing else does.
        let is_found = !is_of_client || flags().any(|given| finds_server(given.name));
        if let Some(app) = surplus.first().filter(|app| !is_found && self.is_there(app)) {
            line.push_str(" --dir ");
            line.push_str(&for_shell(app));
        }
        line
    }

    /// The words beside a command that it does not take: one for a running server takes its value at most.
    fn surplus<'a>(&self, command: &str, words: &'a Words) -> Vec<&'a OsStr> {
        let value = match commands::COMMANDS.iter().find(|one| one.word == command) {
            Some(of_client) => of_client.value,
            None if command == "native" => "",
            None => return Vec::new(),
        };
        let mut others: Vec<&OsStr> = words.all.iter().map(OsString::as_os_str).collect();
        if let Some(own) = others.iter().position(|word| *word == command) {
            others.remove(own);
        }
        // The last one: an application that is not there, by a slip, stands before it.
        if let Some(value) = others.iter().rposition(|word| !value.is_empty() && !self.is_there(word)) {
            others.remove(value);
        }
        others
    }

    /// Whether a word names an application: its file, or a folder with that or with a settings file, which may name it,
    /// or with a file that the named settings file names.
    fn is_application(&self, word: &str) -> bool {
        let reads_own = self.values(Name::Config).is_empty();
        self.places(OsStr::new(word)).iter().any(|place| {
            let has = |name: &str| place.join(name).exists();
            let is_found = place.is_file() || has("config.ru") || (reads_own && has("foolsgold.toml"));
            is_found || self.is_in_settings(place)
        })
    }

    /// Whether the settings file that is named on the command line leads to an application in this folder.
    fn is_in_settings(&self, folder: &Path) -> bool {
        let named = self.values(Name::Config).last().map(|given| self.places(OsStr::new(&given.value)));
        let Ok(folder) = folder.canonicalize() else { return false };
        let is_in = |path: &PathBuf| path.is_file() && path.canonicalize().is_ok_and(|path| path.starts_with(&folder));
        named.into_iter().flatten().any(|file| toml_apps::paths(&file).iter().any(is_in))
    }

    /// Whether there is a file or a folder of this name.
    fn is_there(&self, word: &OsStr) -> bool {
        self.places(word).iter().any(|place| place.exists())
    }

    /// Where a path of the command line may be: in this folder, or in the one that the server enters first.
    fn places(&self, word: &OsStr) -> [PathBuf; 2] {
        let dir = self.values(Name::Dir).last().map_or_else(PathBuf::new, |given| PathBuf::from(&given.value));
        [PathBuf::from(word), dir.join(word)]
    }

    fn take_flag(&mut self, row: &'static Row, spelt: String, parser: &mut lexopt::Parser) {
        let value = if row.takes_value() {
            // -w and -t of other programs have no value, and a value may be that of a shell variable that is not set.
            let may_look_like_flag = matches!(row.name, Name::Tag | Name::AdminToken);
            if !may_look_like_flag && is_flag_next(parser) {
                return self.refuse(needs_value(row, &spelt));
            }
            match parser.value() {
                // An empty word may come from a shell variable that is not set: falling back to the default would be a
                // surprise.
                Ok(value) if !value.is_empty() => Some(value),
                _ => return self.refuse(needs_value(row, &spelt)),
            }
        } else if spelt.starts_with("--") {
            optional_value(row, parser)
        } else {
            // The letters behind it are flags of their own, as in `-dp 3000`.
            None
        };
        let word = value.as_deref().and_then(OsStr::to_str).unwrap_or_default();
        match row.kind {
            Kind::Refused(why) => self.refuse(format!("{spelt}: {why}")),
            _ if row.name == Name::Engine && ENGINES_OF_PASSENGER.contains(&word) => {
                self.notices.push(format!("{spelt} {word}: the server speaks HTTP itself, with or without this"));
            }
            _ if spelt == "-S" && (word.ends_with(".sock") || word.ends_with(".socket")) => {
                self.refuse(format!("{spelt} {word}: {OF_SOCKET}"));
            }
            // Too small for an interpreter: it is the number of megabytes that Passenger takes.
            Kind::Size(least, _) if row.name == Name::MemoryLimit && word.parse::<u64>().is_ok_and(|mb| mb < least) => {
                self.refuse(format!("{spelt} {word}: {OF_INTERPRETER}"));
            }
            _ => self.take(row, value.as_deref().unwrap_or(OsStr::new("")), Origin::Flag(spelt)),
        }
    }

    fn read_variables(&mut self, environment: &[(OsString, OsString)]) {
        let find = |name: &str| environment.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        for row in TABLE.iter().filter(|row| !matches!(row.kind, Kind::Refused(..))) {
            // The first counts; but between our own and the others stands another server's file.
            let mut others = false;
            for name in row.variables() {
                // A blank variable counts as absent: container tools cannot remove one.
                let is_blank = |value: &OsStr| value.as_encoded_bytes().trim_ascii().is_empty();
                let counts = |value: &&OsString| !is_blank(value.as_os_str()) && !is_service_link(&name, value);
                let Some(value) = find(&name).filter(counts) else { continue };
                if name.starts_with(OWN_VARIABLES) || !std::mem::replace(&mut others, true) {
                    self.take(row, value, Origin::Variable(name));
                }
            }
        }
        for (key, name) in USUAL_ADDRESS {
            if let Some(value) = find(key).filter(|value| !value.is_empty()) {
                self.take(name.row(), value, Origin::Default);
            }
        }
        self.app_folder = find(APP_FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        for (key, value) in environment {
            if let Some(notice) = key.to_str().filter(|key| !is_service_link(key, value)).and_then(unknown_variable) {
                self.notices.push(notice);
            }
        }
    }

    /// Adds a value, or each element of a list.
    pub fn take(&mut self, row: &'static Row, value: &OsStr, origin: Origin) {
        let Some(value) = value.to_str() else {
            return self.refuse(format!("{origin}: its value is not valid UTF-8"));
        };
        let one = |value: &str| {
            let value = value.trim().to_owned();
            let origin = origin.clone();
            RawValue { name: row.name, value, origin, app: None }
        };
        // A variable cannot be given twice, so it contains a list.
        let is_list = row.kind == Kind::List || (row.name == Name::Bind && matches!(origin, Origin::Variable(_)));
        let parts: Vec<&str> = value.split(',').filter(|part| !part.trim().is_empty()).collect();
        // A list of nothing but commas is refused as it is.
        if is_list && !parts.is_empty() {
            self.given.extend(parts.into_iter().map(one));
        } else {
            self.given.push(one(value));
        }
    }
}

/// The value of an option whose value may be left out: after an equals sign, or the next argument if it is one of the
/// option's words, as in Puma's `--bind-to-activated-sockets only`.
fn optional_value(row: &Row, parser: &mut lexopt::Parser) -> Option<OsString> {
    let words: &[&str] = if let Kind::Choice(words) = row.kind { words } else { &[] };
    value_if(parser, |next| next.to_str().is_some_and(|next| words.contains(&next)))
}

/// The value of a flag whose value may be left out: after an equals sign, or the next argument if it can be one.
pub fn value_if(parser: &mut lexopt::Parser, can_be: impl FnOnce(&OsStr) -> bool) -> Option<OsString> {
    match parser.optional_value() {
        Some(value) => Some(value),
        None => parser.try_raw_args()?.next_if(can_be),
    }
}

/// Whether the next argument is another flag, and no value.
pub fn is_flag_next(parser: &mut lexopt::Parser) -> bool {
    let is_flag = |next: &OsStr| matches!(next.as_encoded_bytes(), [b'-', next, ..] if !next.is_ascii_digit());
    parser.try_raw_args().is_some_and(|rest| rest.peek().is_some_and(is_flag))
}

fn needs_value(row: &Row, spelt: &str) -> String {
    let hint = if spelt == "-w" { "; for the warnings of Ruby say RUBYOPT=-w in the environment" } else { "" };
    format!("{spelt}: needs a value: {spelt} {}{hint}", row.value)
}

fn unknown_flag(spelt: &str) -> String {
    let word = spelt.trim_start_matches('-');
    let known = TABLE.iter().map(|row| row.long).chain(["help", "version"]);
    match nearest(word, known).filter(|_| spelt.starts_with("--")) {
        Some(near) => format!("{spelt}: there is no such option; --{near} is the nearest"),
        None => format!("{spelt}: there is no such option; see foolsgold --help"),
    }
}

/// A word for the command line of a shell, in quotes if it needs them.
fn for_shell(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,:@%/".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Whether a variable is one of those that Kubernetes sets in every container for a service, as Docker did for a linked
/// container: beside `fools-gold`, `fools-gold-web` or `passenger`, `FOOLS_GOLD_PORT=tcp://10.0.0.1:80` and others give
/// the address of that service and are no settings of this server.
pub fn is_service_link(key: &str, value: &OsStr) -> bool {
    let is_address = || value.to_str().is_some_and(|value| value.contains("://"));
    let is_part = ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"].iter().any(|part| key.contains(part));
    is_part || (key.ends_with("_PORT") && is_address())
}

/// A warning about a variable with our prefix that is no option.
fn unknown_variable(key: &str) -> Option<String> {
    let rest = key.strip_prefix(OWN_VARIABLES)?;
    let ours: Vec<String> = TABLE.iter().flat_map(Row::variables).collect();
    if key == OF_GEM || ours.iter().any(|name| name == key) {
        return None;
    }
    let near = nearest(rest, ours.iter().filter_map(|name| name.strip_prefix(OWN_VARIABLES)));
    let hint = near.map(|near| format!("; FOOLS_GOLD_{near} is the nearest")).unwrap_or_default();
    Some(format!("{key} in the environment is not a setting of this version{hint}"))
}

/// [`read`] of texts, for tests.
#[cfg(test)]
pub fn ask(arguments: &[&str], environment: &[(&str, &str)]) -> Arguments {
    let environment: Vec<_> = environment.iter().map(|(key, value)| (key.into(), value.into())).collect();
    read(arguments.iter().map(OsString::from).collect(), &environment)
}

#[cfg(test)]
pub fn problems(arguments: &[&str]) -> Vec<String> {
    ask(arguments, &[]).problems.iter().map(Problem::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_flags_first_and_the_own_variable_before_others() {
        let environment = [("FOOLS_GOLD_THREADS", "3"), ("RACK_ENV", "test"), ("APP_ENV", "staging"), ("PORT", "")];
        let asked = ask(&["-t", "5", "app.ru"], &environment);
        assert_eq!(asked.values(Name::Threads)[0].as_written(), "-t 5");
        assert_eq!(asked.values(Name::Environment)[0].as_written(), "APP_ENV=staging");
        // Images of Hanami applications set nothing else.
        for (environment, expected) in [
            (&[("HANAMI_ENV", "production")][..], "HANAMI_ENV=production"),
            (&[("HANAMI_ENV", "production"), ("RACK_ENV", "test")], "RACK_ENV=test"),
        ] {
            assert_eq!(ask(&[], environment).values(Name::Environment)[0].as_written(), expected);
        }
        assert!(asked.values(Name::Port).is_empty());
        assert_eq!(asked.rackup, Some(PathBuf::from("app.ru")));
    }

    #[test]
    fn binds_are_collected_from_flags_or_split_in_the_environment() {
        let environment = [("FOOLS_GOLD_BIND", "tcp://a:1, unix:///b")];
        let written =
            |asked: &Arguments| asked.values(Name::Bind).iter().map(|given| given.value.clone()).collect::<Vec<_>>();
        assert_eq!(written(&ask(&[], &environment)), ["tcp://a:1", "unix:///b"]);
        assert_eq!(written(&ask(&["-b", "x", "--bind=unix:///y,z"], &environment)), ["x", "unix:///y,z"]);
        assert_eq!(written(&ask(&[], &[("FOOLS_GOLD_BIND", " ,")])), [","]);
        let asked = ask(&["--trust-proxy", "private,10.0.0.0/8", "--trust-proxy", "::1"], &[]);
        let words: Vec<_> = asked.values(Name::TrustProxy).iter().map(|given| given.value.as_str()).collect();
        assert_eq!(words, ["private", "10.0.0.0/8", "::1"]);
    }

    #[test]
    fn every_wrong_word_is_named_with_what_would_be_right() {
        let cases: [(&[&str], &str); 18] = [
            (
                &["start", "--memory-limit", "512"],
                "--memory-limit 512: is for the memory of an embedded interpreter, which needs 4MiB; for that of a \
                 worker process, as in Passenger, say --worker-memory with a unit, such as 512MiB",
            ),
            (&["--thread", "5"], "--thread: there is no such option; --threads is the nearest"),
            (&["--zebra=5"], "--zebra: there is no such option; see foolsgold --help"),
            (&["-z"], "-z: there is no such option; see foolsgold --help"),
            (&["-t"], "-t: needs a value: -t N"),
            (&["--connections", "-d"], "--connections: needs a value: --connections N"),
            (
                &["-w", "-C", "config/unicorn.rb"],
                "-w: needs a value: -w N; for the warnings of Ruby say RUBYOPT=-w in the environment",
            ),
            (
                &["-R", "a.ru", "-s", "1", "restart"],
                "restart: there is no such file; as a command it comes first: `foolsgold restart`",
            ),
            (&["a.ru", "b.ru"], "b.ru: one application is served at a time, and a.ru was named already"),
            (&["-p", ""], "-p: needs a value: -p PORT"),
            (&["-e", "-p", "3000"], "-e: needs a value: -e NAME"),
            (&["-E", "-c", "config/unicorn.rb"], "-E: needs a value: -E NAME"),
            (&["--log-file", "--pidfile", "web.pid"], "--log-file: needs a value: --log-file FILE"),
            (&["--log="], "--log: needs a value: --log FILTER"),
            (&["-C", ""], "-C: needs a value: -C FILE"),
            (&["--help=x"], "the command line: unexpected argument for option '--help': \"x\""),
            (
                &["--reload", "a.ru"],
                "--reload: files are not watched: `foolsgold reload` takes new code without an \
                 interruption; Rails reloads its own code in development",
            ),
            (&["options"], "options: say `foolsgold options --markdown`, or ./options to serve a file of that name"),
        ];
        for (arguments, message) in cases {
            assert_eq!(problems(arguments), [message], "{arguments:?}");
        }
        assert_eq!(problems(&["--nope", "-t", "--config=x", "--zebra"]).len(), 3);
        for (arguments, command) in [
            (&["explian", "config/puma.rb"][..], "explain"),
            (&["confg", "--json"], "config"),
            (&["reloda", "--app", "shop"], "reload"),
        ] {
            let word = arguments[0];
            let expected = format!("{word}: there is no such file; `foolsgold {command}` is the nearest command");
            assert_eq!(problems(arguments), [expected], "{arguments:?}");
        }
        assert_eq!(problems(&["--nope", "--reload", "--zebra"]).len(), 3);
    }

    #[test]
    fn a_command_behind_flags_is_told_with_the_line_to_type() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("config")).unwrap();
        let dir = folder.path().to_str().unwrap();
        let of_dir = format!("config --dir {dir} --check");
        let stop_it = format!("`foolsgold stop --dir {dir}`");
        let scale_it = format!("`foolsgold scale 3 --dir {dir}`");
        let of_thin = format!("`foolsgold stop --dir {dir} --config thin.yml`");
        let cases: [(&[&str], &str, &str); 19] = [
            (
                &["-e", "production", "explain", "config/puma.rb"],
                "explain: there is no such file",
                "explain -e production config/puma.rb",
            ),
            (&["-e", "production", "confg", "--json"], "confg: there is no such file", ""),
            (&["--dir", dir, "config", "--check"], "config: is a folder", of_dir.as_str()),
            (&["-C", "my file.rb", "native"], "native: there is no such file", "native -C 'my file.rb'"),
            (&["-e", "test", "app.ru", "doctor", "/"], "doctor: there is no such file", "doctor -e test app.ru /"),
            (&["-C", "thin.yml", "scale", "3"], "scale: there is no such file", "scale -C thin.yml 3"),
            (&["--app", "shop", "status"], "status: there is no such file", "status --app shop"),
            (&["-p", "3000", "stop"], "stop: there is no such file", "stop"),
            // What a command does not take is not in its line, or says which server is meant.
            (&["-p", "3000", dir, "stop"], "stop: there is no such file", stop_it.as_str()),
            (&[dir, "stop"], "stop: there is no such file", stop_it.as_str()),
            (&[dir, "scale", "3"], "scale: there is no such file", scale_it.as_str()),
            (&["-C", "thin.yml", "app.ru", "stop"], "stop: there is no such file", "`foolsgold stop -C thin.yml`"),
            (
                &["-c", dir, "-e", "production", "-C", "thin.yml", "stop"],
                "stop: there is no such file",
                of_thin.as_str(),
            ),
            (&["-p", "3000", "-c", "web.yml", "stop"], "stop: there is no such file", "stop --config web.yml`"),
            (&["-p", "3000", "--no-config", "stop"], "stop: there is no such file", "`foolsgold stop`"),
            (&["-p", "3000", "scale", "3"], "scale: there is no such file", "`foolsgold scale 3`"),
            (&["app.ru", "scale", "3"], "scale: there is no such file", "`foolsgold scale 3`"),
            (&["app.ru", "native"], "native: there is no such file", "`foolsgold native`"),
            (&["--app", "control", "status"], "status: there is no such file", "`foolsgold status --app control`"),
        ];
        for (arguments, what, line) in cases {
            let found = problems(arguments);
            assert!(found.len() == 1 && found[0].starts_with(what), "{arguments:?}: {found:?}");
            let right = if line.is_empty() { "`foolsgold config` is the nearest command" } else { line };
            assert!(found[0].contains(right), "{arguments:?}: {found:?}");
        }
        assert_eq!(problems(&["help", "status"]), ["help: there is no such file; that is `foolsgold --help` here"]);
        let secret = problems(&["--admin-token", "0123456789abcdef", "config"]);
        assert!(secret[0].ends_with(": `foolsgold config`"), "{secret:?}");
        // A folder of this name that is an application is served.
        for name in ["config.ru", "foolsgold.toml"] {
            let file = folder.path().join("config").join(name);
            std::fs::write(&file, "").unwrap();
            assert_eq!(problems(&["--dir", dir, "config"]), <[String; 0]>::default(), "{name}");
            std::fs::remove_file(file).unwrap();
        }
        // So is one whose application is named by a settings file that is elsewhere.
        std::fs::write(folder.path().join("config/web.ru"), "").unwrap();
        for text in ["path = \"config/web.ru\"\n", "[[app]]\npath = \"config/web.ru\"\n"] {
            std::fs::write(folder.path().join("x.toml"), text).unwrap();
            assert_eq!(problems(&["--dir", dir, "-C", "x.toml", "config"]), <[String; 0]>::default(), "{text}");
        }
        std::fs::write(folder.path().join("x.toml"), "path = \"web.ru\"\n").unwrap();
        assert_eq!(problems(&["--dir", dir, "-C", "x.toml", "config"]).len(), 1);
    }

    #[test]
    fn flags_after_start_are_those_of_thin_and_passenger() {
        let asked = ask(&["start", "-p", "3000", "-V"], &[]);
        assert_eq!((asked.command, asked.problems.len()), (Command::Serve, 0));
        assert_eq!(asked.values(Name::Log)[0].as_written(), "-V");
        assert_eq!(ask(&["-V"], &[]).command, Command::Version);
        let debug = "-D: say -d for the background, --debug for more lines in the log";
        assert_eq!(problems(&["start", "-D"]), [debug]);
        assert_eq!(problems(&["-D"]), <[String; 0]>::default());
        let socket = "-S /tmp/thin.sock: names the file for the server's state; for a socket say --bind unix://PATH";
        assert_eq!(problems(&["start", "-S", "/tmp/thin.sock"]), [socket]);
        assert_eq!(problems(&["-S", "tmp/pids/puma.state"]), <[String; 0]>::default());
    }

    #[test]
    fn the_word_of_an_option_that_may_go_without_one_may_follow_it() {
        let said = |arguments: &[&str]| {
            let asked = ask(arguments, &[]);
            assert_eq!(asked.problems, [], "{arguments:?}");
            let value = asked.values(Name::BindToActivatedSockets)[0].value.clone();
            (value, asked.rackup.map(|path| path.display().to_string()))
        };
        let with = |value: &str, rackup: &str| (value.to_owned(), Some(rackup.to_owned()));
        assert_eq!(said(&["--bind-to-activated-sockets", "only", "app.ru"]), with("only", "app.ru"));
        assert_eq!(said(&["--bind-to-activated-sockets=only", "app.ru"]), with("only", "app.ru"));
        assert_eq!(said(&["--bind-to-activated-sockets", "app.ru"]), with("", "app.ru"));
        assert_eq!(said(&["--bind-to-activated-sockets=yes", "only"]), with("yes", "only"));
        assert_eq!(said(&["--bind-to-activated-sockets"]), (String::new(), None));
    }

    #[test]
    fn commands_are_recognised() {
        assert_eq!(ask(&["-h"], &[]).command, Command::Help);
        assert_eq!(ask(&["--version"], &[]).command, Command::Version);
        assert_eq!(ask(&["options", "--markdown"], &[]).command, Command::OptionsPage);
        assert_eq!(ask(&["options", "--help"], &[]).command, Command::Help);
        assert_eq!(ask(&["native", "--ruby", "ruby3.1"], &[]).command, Command::Native);
        assert_eq!(problems(&["native", "a.ru"]), ["a.ru: say `foolsgold native`, perhaps with --ruby PATH"]);
        assert_eq!(ask(&["./options"], &[]).command, Command::Serve);
        assert_eq!(ask(&["config", "-t", "3"], &[]).command, Command::Config { json: false, check: false });
        let both = ask(&["config", "--check", "shop", "--json"], &[]);
        assert_eq!(both.command, Command::Config { json: true, check: true });
        assert_eq!(both.rackup, Some(PathBuf::from("shop")));
        assert_eq!(ask(&["explain", "config/puma.rb"], &[]).command, Command::Explain);
        let two = "b.rb: one file is explained at a time, and a.rb was named already";
        assert_eq!(problems(&["explain", "a.rb", "b.rb"]), [two]);
    }

    #[test]
    fn variables_of_a_service_of_our_name_are_no_settings() {
        let of_kubernetes = [
            ("FOOLS_GOLD_PORT", "tcp://10.96.0.7:80"),
            ("FOOLS_GOLD_SERVICE_HOST", "10.96.0.7"),
            ("FOOLS_GOLD_SERVICE_PORT_HTTP", "80"),
            ("FOOLS_GOLD_PORT_80_TCP_ADDR", "10.96.0.7"),
            ("FOOLS_GOLD_WEB_PORT", "tcp://10.96.0.8:80"),
            ("FOOLS_GOLD_WEB_SERVICE_HOST", "10.96.0.8"),
            ("FOOLS_GOLD_WEB_PORT_80_TCP", "tcp://10.96.0.8:80"),
            ("PORT", "3000"),
        ];
        let asked = ask(&[], &of_kubernetes);
        assert!(asked.notices.is_empty() && asked.problems.is_empty(), "{:?} {:?}", asked.notices, asked.problems);
        let ports: Vec<&str> = asked.given.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(ports, ["3000"], "PORT counts as if that variable were not there");
        assert!(TABLE.iter().flat_map(Row::variables).all(|name| !is_service_link(&name, OsStr::new("1"))));
        let asked = ask(&[], &[("FOOLS_GOLD_PORT", "4000")]);
        assert_eq!(asked.given.len(), 1);
    }

    #[test]
    fn a_variable_with_a_slip_is_noticed() {
        let known = [("FOOLS_GOLD_LOG", "debug"), ("FOOLS", "x"), ("FOOLS_GOLD_BINARY", "/opt/foolsgold")];
        assert_eq!(ask(&[], &known).notices, <[String; 0]>::default());
        let asked = ask(&[], &[("FOOLS_GOLD_THREDS", "5")]);
        let expected = "FOOLS_GOLD_THREDS in the environment is not a setting of this version; \
                        FOOLS_GOLD_THREADS is the nearest";
        assert_eq!(asked.notices, [expected]);
    }
}
