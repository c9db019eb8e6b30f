//! The format of arena/contenders/*.toml, as types. What it means is told in the README beside the recipes.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How one server is found, started, counted and ended.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The name of its file.
    #[serde(skip)]
    pub name: String,
    /// All that is written in it.
    #[serde(skip)]
    pub text: String,
    /// For people.
    pub title: String,
    /// What it is, in a sentence or two.
    pub about: String,
    /// Where its own pages are.
    pub home: String,
    /// What runs the application.
    pub runtime: Runtime,
    /// Whether it needs a PID namespace of its own.
    #[serde(default)]
    pub namespace: bool,
    /// Seconds until it must answer.
    #[serde(default = "minute")]
    pub ready_s: u32,
    /// What a reader of its figures should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What it cannot do, and why: by `threads`, `workers`, `reload`, `kill`, `idle`, `extra`, `allocator`.
    #[serde(default)]
    pub cannot: BTreeMap<String, String>,
    /// What it takes.
    pub needs: Needs,
    /// How to get it.
    pub get: Get,
    /// Who says its version.
    pub version: Question,
    /// Who says which allocator is built in, where it is not that of the C library. An answer without it says that none
    /// is.
    #[serde(default)]
    pub allocator: Option<Question>,
    /// Settings of the environment for all its processes, as templates.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Facts about the place that the templates use.
    #[serde(default)]
    pub find: BTreeMap<String, Find>,
    /// How many workers and threads it gets when so many are asked for.
    #[serde(default)]
    pub shape: Shape,
    /// What is written before it starts.
    #[serde(default, rename = "file")]
    pub files: Vec<GeneratedFile>,
    /// What is started, in this order.
    #[serde(rename = "process")]
    pub processes: Vec<Part>,
    /// How its real workers and threads are counted.
    pub count: Count,
    /// How it is ended.
    #[serde(default)]
    pub stop: Stop,
    /// How the application is loaded anew without a stop.
    pub reload: Option<Reload>,
}

/// What runs the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// An embedded interpreter.
    Mruby,
    /// The Ruby everybody has.
    Cruby,
    /// The one on Java.
    Jruby,
}

/// What a server takes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needs {
    /// Commands.
    pub programs: Vec<String>,
    /// What its Ruby must be able to require.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// Paths that must be there, as templates; `*` stands for any part of a name.
    #[serde(default)]
    pub files: Vec<String>,
}

/// Ways to get a server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// Debian's packages.
    #[serde(default)]
    pub apt: Vec<String>,
    /// Gems.
    #[serde(default)]
    pub gem: Vec<String>,
    /// Anything else, as a sentence.
    #[serde(default)]
    pub how: String,
}

/// A command, and what of its answer counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Its words.
    pub command: Vec<String>,
    /// A regular expression; its first group is the answer.
    pub pattern: String,
    /// Whose answer it is, where that is not the contender's own.
    #[serde(default)]
    pub of: String,
}

/// A command whose first line of output is a variable of the templates.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Its words.
    pub command: Vec<String>,
    /// What is missing when it fails.
    pub lacks: String,
}

/// Numbers as templates.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Processes that serve.
    #[serde(default = "asked_workers")]
    pub workers: String,
    /// Threads of each of them.
    #[serde(default = "asked_threads")]
    pub threads: String,
    /// Why it is not what was asked for.
    #[serde(default)]
    pub why: String,
}

/// A file for the server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratedFile {
    /// Its name in the server's own folder, `tmp` of the templates.
    pub name: String,
    /// What is in it, as a template.
    pub text: String,
}

/// A process that is started.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// For errors and logs.
    pub name: String,
    /// Its words, as templates: one that comes out empty is left out; `{{ extra }}` stands for the words that a user
    /// adds.
    pub command: Vec<String>,
    /// Settings of the environment, as templates.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where there is one for each worker: whether each listens on a socket or a port of its own.
    pub each_worker: Option<Door>,
    /// Whether it comes with a gem, and is run by Bundler where there is a Gemfile.
    #[serde(default)]
    pub gem: bool,
}

/// Where a process behind another one listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// A Unix socket, `socket` of the templates.
    Socket,
    /// A TCP port, `own_port` of the templates.
    Port,
}

/// Regular expressions, as templates.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// What titles (command lines) of workers look like.
    pub worker: String,
    /// What names of threads that serve look like in a worker: 15 characters at most. Without it, a worker is one
    /// thread.
    pub thread: Option<String>,
    /// How many threads of a worker serve without such a name: 1 where the main thread does.
    #[serde(default)]
    pub unnamed: u32,
    /// Whether a worker is only who has started no process of its own: for masters that look like their workers.
    #[serde(default)]
    pub leaves: bool,
    /// Whether more threads than told are right: for servers whose serving threads cannot be told from others.
    #[serde(default)]
    pub at_least: bool,
    /// A signal upon which a worker writes a list of its threads into the log; `thread` then describes lines of
    /// it.
    pub dump: Option<String>,
}

/// How a server is ended.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// To its processes, last started first.
    #[serde(default = "term")]
    pub signal: String,
    /// Seconds until it is killed.
    #[serde(default = "half_a_minute")]
    pub patience_s: u32,
    /// Titles of helpers that its own end forgets, and that are told as well.
    pub also: Option<String>,
}

/// How a server loads its application anew.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reload {
    /// What it is called in the server's own documentation.
    pub about: String,
    /// Whether the process that was started lives on.
    pub keeps_master: bool,
    /// `true` where all workers are other processes afterwards, which is then waited for; a template.
    pub new_workers: String,
    /// What is done, in this order.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// A signal or a command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What is sent.
    pub signal: Option<String>,
    /// To whom: a process with such a title. Without it, to the process that was started last.
    pub to: Option<String>,
    /// Words that run in the place, as templates.
    #[serde(default)]
    pub command: Vec<String>,
    /// Not before so many processes have a title that the pattern `to_see` describes.
    pub when: Option<String>,
    /// That pattern.
    pub to_see: Option<String>,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { workers: asked_workers(), threads: asked_threads(), why: String::new() }
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop { signal: term(), patience_s: half_a_minute(), also: None }
    }
}

fn minute() -> u32 {
    60
}

fn half_a_minute() -> u32 {
    30
}

fn term() -> String {
    "TERM".into()
}

fn asked_workers() -> String {
    "{{ asked_workers }}".into()
}

fn asked_threads() -> String {
    "{{ asked_threads }}".into()
}

impl Recipe {
    /// What can be told about it beside its figures: what it cannot do, and what a reader should know.
    pub fn all_notes(&self) -> Vec<String> {
        let cannot = self.cannot.iter().map(|(what, why)| format!("{what}: {why}"));
        let shape = (!self.shape.why.is_empty()).then(|| self.shape.why.clone());
        self.notes.iter().cloned().chain(shape).chain(cannot).collect()
    }
}

/// Signals that recipes may name.
pub(crate) fn signal(name: &str) -> Result<rustix::process::Signal, String> {
    use rustix::process::Signal;
    match name {
        "TERM" => Ok(Signal::TERM),
        "INT" => Ok(Signal::INT),
        "QUIT" => Ok(Signal::QUIT),
        "HUP" => Ok(Signal::HUP),
        "USR1" => Ok(Signal::USR1),
        "USR2" => Ok(Signal::USR2),
        "WINCH" => Ok(Signal::WINCH),
        "KILL" => Ok(Signal::KILL),
        _ => Err(format!("{name} is no signal here; there are TERM, INT, QUIT, HUP, USR1, USR2, WINCH, KILL")),
    }
}
