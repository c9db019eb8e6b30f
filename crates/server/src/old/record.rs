//! Runs the user's Ruby on a configuration file that is Ruby, or YAML with Ruby in it, and reads what it wrote down.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

const PRELUDE: &str = include_str!("../../ruby/prelude.rb");
const RECORDER: &str = include_str!("../../ruby/recorder.rb");
/// Files of the processes that run the application: hooks are evaluated by the same code.
const SHARED: [&str; 3] = ["directives.rb", "puma_options.rb", "old_file.rb"];
const THIN: &str = include_str!("../../ruby/thin.rb");

/// A configuration that does more than say something may take a while, but not for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// One directive, or one key, with what it is given.
#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    pub name: String,
    pub line: Option<usize>,
    /// Another one than the file itself where that loads it.
    pub file: Option<String>,
    pub args: Vec<Value>,
    pub written: String,
}

/// What a file says, as far as it was read.
#[derive(Debug, Deserialize)]
pub struct Record {
    pub calls: Vec<Call>,
    pub error: Option<Failure>,
}

/// Why it could not be read to its end.
#[derive(Debug, Deserialize)]
pub struct Failure {
    class: String,
    message: String,
    line: Option<usize>,
}

impl Failure {
    /// Of a file with this name.
    pub fn in_words(&self, shown: &str) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{shown}{line}: {}: {}", self.class, self.message.trim_end())
    }
}

/// Which part of the script reads it.
pub enum Language<'a> {
    /// Of this server, with these directives.
    Ruby(&'static str, &'a [&'a str]),
    Yaml,
}

/// What the command line says that the file may ask for.
#[derive(Debug, Default)]
pub struct Asked {
    pub ruby: String,
    pub workers: Option<String>,
    pub environment: Option<String>,
}

/// Reads the file, which must be named by an absolute path, so that `__dir__` works in it. `home` is where it is read.
pub fn read(path: &Path, home: &Path, language: &Language<'_>, asked: &Asked) -> Result<Record, String> {
    let mut command = Command::new(&asked.ruby);
    command.arg("-").arg(path);
    let script = match language {
        Language::Ruby(kind, names) => {
            command.arg(kind).arg(names.join(",")).args(&asked.workers);
            let shared = SHARED.map(engine_ruby::scripts::text).concat();
            format!("{PRELUDE}{shared}{RECORDER}")
        }
        Language::Yaml => format!("{PRELUDE}{THIN}"),
    };
    if home.is_absolute() {
        command.current_dir(home);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    for name in ["RACK_ENV", "RAILS_ENV", "APP_ENV"] {
        command.envs(asked.environment.as_ref().map(|environment| (name, OsStr::new(environment))));
    }
    let child = command.spawn().map_err(|error| {
        format!("it is read by Ruby, and {} cannot be started: {error}; name another with --ruby", asked.ruby)
    })?;
    let output = finish(child, script)?;
    serde_json::from_slice(&output).map_err(|_| "Ruby ended before it had read it; see above".to_owned())
}

/// Hands the script over and takes what comes. Two threads, since both sides may wait for each other.
fn finish(mut child: Child, script: String) -> Result<Vec<u8>, String> {
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("Ruby has no standard input or output".to_owned());
    };
    thread::spawn(move || {
        // A Ruby that ends early says why itself.
        let _ = stdin.write_all(script.as_bytes());
    });
    let (done, all) = mpsc::sync_channel(1);
    thread::spawn(move || {
        // To the end of a line: a process that the configuration has started may hold the pipe open for ever.
        let mut output = Vec::new();
        let _ = BufReader::new(stdout).read_until(b'\n', &mut output);
        let _ = done.send(output);
    });
    let output = all.recv_timeout(PATIENCE);
    if output.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    output.map_err(|_| format!("Ruby has not read it within {PATIENCE:?}"))
}
