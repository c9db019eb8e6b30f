//! Format of arena/contenders/*.toml, as types. The README beside the recipes explains it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::record::summary::CHOOSES_WORKERS;

/// A recipe: how a server is found, started, counted and stopped.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Name of its file, without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// Text of its file.
    #[serde(skip)]
    pub text: String,
    /// Name for people.
    pub title: String,
    /// Description in a sentence or two.
    pub about: String,
    /// URL of its website.
    pub home: String,
    /// Ruby implementation that runs the application.
    pub runtime: Runtime,
    /// Whether it needs a PID namespace of its own.
    #[serde(default)]
    pub namespace: bool,
    /// Seconds within which it must answer after its start.
    #[serde(default = "minute")]
    pub ready_s: u32,
    /// Sentences that a reader of its figures should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What it cannot do, and why; keys are `threads`, `workers`, `reload`, `kill`, `idle`, `allocator`, `duel`.
    #[serde(default)]
    pub cannot: BTreeMap<String, String>,
    /// Programs, libraries and files that it requires.
    pub needs: Needs,
    /// Ways to install it.
    pub get: Get,
    /// Command that prints its version.
    pub version: Question,
    /// Command that prints which allocator is built in, where it is not the C library's. An output without a match
    /// means that none is.
    pub allocator: Option<Question>,
    /// Environment variables of all its processes, as templates.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Facts about the environment that the templates use, by variable.
    #[serde(default)]
    pub find: BTreeMap<String, Find>,
    /// Workers and threads that it gets for those requested.
    #[serde(default)]
    pub shape: Shape,
    /// Files written before it starts.
    #[serde(default, rename = "file")]
    pub files: Vec<GeneratedFile>,
    /// Processes started, in this order.
    #[serde(rename = "process")]
    pub processes: Vec<Part>,
    /// How its actual workers and threads are counted.
    pub count: Count,
    /// How it is stopped.
    #[serde(default)]
    pub stop: Stop,
    /// How it reloads the application without downtime.
    pub reload: Option<Reload>,
}

impl Recipe {
    /// Whether its commands or files name the application that it is to run, so that another one can take its place.
    pub fn names_its_app(&self) -> bool {
        let of_parts = self.processes.iter().flat_map(|part| part.command.iter().chain(part.env.values()));
        let mut texts = of_parts.chain(self.files.iter().map(|file| &file.text));
        texts.any(|text| ["{{ rackup", "{{ file", "{{ folder"].iter().any(|name| text.contains(name)))
    }

    /// Whether it chooses the numbers of its workers and threads itself, and may have more of both while it runs.
    pub fn chooses_workers(&self) -> bool {
        self.all_notes().iter().any(|note| note == CHOOSES_WORKERS)
    }

    /// Notes for the report: what it cannot do, and what a reader should know.
    pub fn all_notes(&self) -> Vec<String> {
        let cannot = self.cannot.iter().map(|(what, why)| format!("{what}: {why}"));
        let shape = (!self.shape.why.is_empty()).then(|| self.shape.why.clone());
        self.notes.iter().cloned().chain(shape).chain(cannot).collect()
    }
}

/// Ruby implementation that runs the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// mruby, embedded in the server.
    Mruby,
    /// CRuby.
    Cruby,
    /// JRuby.
    Jruby,
}

/// Requirements of a server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needs {
    /// Commands on PATH.
    pub programs: Vec<String>,
    /// Libraries that its Ruby must be able to require.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// Paths that must exist, as templates; `*` stands for any part of a name.
    #[serde(default)]
    pub files: Vec<String>,
}

/// Ways to install a server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Get {
    /// Debian packages.
    pub apt: Vec<String>,
    /// Gems.
    pub gem: Vec<String>,
    /// Anything else, as a sentence.
    pub how: String,
}

/// A command, and the part of its output that counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Words of the command.
    pub command: Vec<String>,
    /// Regular expression whose first group is the answer.
    pub pattern: String,
    /// Program that the answer is about, where it is not the contender itself.
    #[serde(default)]
    pub of: String,
}

/// A command whose first line of output is a variable of the templates.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Words of the command.
    pub command: Vec<String>,
    /// What is missing when the command fails.
    pub lacks: String,
}

/// Numbers of workers and threads, as templates.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    /// Worker processes.
    pub workers: String,
    /// Threads per worker.
    pub threads: String,
    /// Reason why they are not what was requested.
    pub why: String,
}

/// A file written for the server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratedFile {
    /// Name in the server's own folder, `tmp` of the templates.
    pub name: String,
    /// Contents, as a template.
    pub text: String,
}

/// A process that is started, or one for each worker.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name for errors and logs.
    pub name: String,
    /// Words of the command, as templates. One that comes out empty is left out, and so is `{{ extra }}`, which marks
    /// where further words could stand: the arena adds none.
    pub command: Vec<String>,
    /// Environment variables, as templates.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// For a part with one process per worker: whether each listens on a socket or a port of its own.
    pub each_worker: Option<Door>,
    /// Whether its program comes with a gem, and is run by Bundler where there is a Gemfile.
    #[serde(default)]
    pub gem: bool,
}

/// Address on which a process behind a proxy listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// A Unix socket, `socket` of the templates.
    Socket,
    /// A TCP port, `own_port` of the templates.
    Port,
}

/// How workers and threads are counted: regular expressions, as templates.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// Matches the process titles (command lines) of workers.
    pub worker: String,
    /// Matches the names, of at most 15 characters, of the threads of a worker that serve requests. Without it, a
    /// worker counts as one thread.
    pub thread: Option<String>,
    /// Threads per worker that serve requests without such a name: 1 where the main thread does.
    #[serde(default)]
    pub unnamed: u32,
    /// Whether only a process without children is a worker: for servers whose master has a title like those of its
    /// workers.
    #[serde(default)]
    pub leaves: bool,
    /// Whether more threads than requested are right: for servers whose serving threads look like others.
    #[serde(default)]
    pub at_least: bool,
    /// Signal on which a worker writes a list of its threads to the log; `thread` then matches lines of it.
    pub dump: Option<String>,
    /// Seconds within which all processes must be there: some servers start them one after the other and answer
    /// already.
    #[serde(default = "quarter_of_a_minute")]
    pub within_s: u32,
}

/// How a server is stopped.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// Signal sent to its processes, last started first.
    pub signal: String,
    /// Seconds after which it is killed.
    pub patience_s: u32,
    /// Matches titles of helper processes that the server does not stop itself; they get the signal, too.
    pub also: Option<String>,
}

/// How a server reloads its application.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reload {
    /// Name of the method in the server's own documentation.
    pub about: String,
    /// Whether the started process survives the reload.
    pub keeps_master: bool,
    /// `true` where all workers are replaced, which is then waited for; a template.
    pub new_workers: String,
    /// Steps, in this order.
    #[serde(rename = "step")]
    pub steps: Vec<ReloadStep>,
}

/// A step of a reload: a signal or a command.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReloadStep {
    /// Signal to send.
    pub signal: Option<String>,
    /// Matches the title of the process that gets the signal. Without it, the process that was started last gets it.
    pub to: Option<String>,
    /// Command to run in the environment, as templates.
    #[serde(default)]
    pub command: Vec<String>,
    /// Number of processes with a title like `to_see` that the step waits for.
    pub when: Option<String>,
    /// Regular expression of those titles.
    pub to_see: Option<String>,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { workers: "{{ asked_workers }}".into(), threads: "{{ asked_threads }}".into(), why: String::new() }
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop { signal: "TERM".into(), patience_s: 30, also: None }
    }
}

fn minute() -> u32 {
    60
}

fn quarter_of_a_minute() -> u32 {
    15
}

/// Parses the name of a signal that recipes may use.
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
