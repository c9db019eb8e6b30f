//! The contenders and how each is started. A missing one is reported with how to get it.

use std::fmt;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_kit::process::{PATIENCE, Ports, Process, free_ports, until};

use crate::options::Options;
use crate::place::Place;

/// The contenders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contender {
    /// foolsgold with workers in plain Ruby.
    Plain,
    /// foolsgold with the C extension in its workers.
    Native,
    /// Puma, the usual choice.
    Puma,
}

/// foolsgold's option that chooses between the two.
const RUBY_WORKER: &str = "--ruby-worker";

/// Number of workers and threads.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub workers: u32,
    pub threads: u32,
}

/// A server that is up.
pub struct Running {
    pub contender: Contender,
    pub port: u16,
    pub process: Process,
    /// File with its output.
    pub log: PathBuf,
    /// Keeps its port from other servers.
    _ports: Ports,
}

/// A contender that is not installed, and how to get it.
pub type Missing = (Contender, String);

impl Contender {
    /// All contenders, in the order of the report.
    pub const ALL: [Contender; 3] = [Contender::Plain, Contender::Native, Contender::Puma];

    /// Name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Contender::Plain => "foolsgold",
            Contender::Native => "foolsgold-native",
            Contender::Puma => "puma",
        }
    }

    /// Whether a process with this title is one of its workers.
    pub fn is_worker(self, title: &str, options: &Options) -> bool {
        let puma = self == Contender::Puma || options.stand_in;
        title.starts_with(if puma { "puma: cluster worker" } else { "foolsgold: worker" })
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// The requested contenders that are installed, and those that are missing.
pub fn present(folder: &Path, options: &Options, place: &Place) -> Result<(Vec<Contender>, Vec<Missing>), String> {
    let names = Contender::ALL.map(Contender::name);
    if let Some(unknown) = options.only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("--only {unknown}: there are {}", names.join(", ")));
    }
    let asked = |who: &Contender| options.only.is_empty() || options.only.iter().any(|name| name == who.name());
    let mut here = Vec::new();
    let mut missing = Vec::new();
    for contender in Contender::ALL.into_iter().filter(asked) {
        match absent(contender, folder, options, place) {
            Some(how) => missing.push((contender, how)),
            None => here.push(contender),
        }
    }
    if here.is_empty() { Err(format!("no contender is installed: {missing:?}")) } else { Ok((here, missing)) }
}

/// How to get a contender; `None` if it is installed.
fn absent(contender: Contender, folder: &Path, options: &Options, place: &Place) -> Option<String> {
    if contender == Contender::Puma || options.stand_in {
        return (!place.succeeds("puma", &["--version"])).then(|| "apt install puma, or gem install puma".into());
    }
    if !options.foolsgold.is_file() {
        return Some("cargo build --release -p server".into());
    }
    let option = if contender == Contender::Native { RUBY_WORKER } else { "--engine" };
    if !knows(option, options) {
        return Some(format!("a foolsgold that has {option}"));
    }
    if contender == Contender::Plain {
        return None;
    }
    // Only a try shows whether there is a C extension for this Ruby.
    let rackup = options.apps.join("hello/config.ru");
    let shape = Shape { workers: 1, threads: 1 };
    let error = start(contender, &rackup, shape, &folder.join("native-tried.log"), options, place).err()?;
    error.lines().last().map(str::to_owned)
}

/// Whether this foolsgold has an option.
fn knows(option: &str, options: &Options) -> bool {
    let output = Command::new(&options.foolsgold).arg("--help").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(option))
}

/// Starts a contender on this config.ru, with its output in `log`, and waits for its port.
pub fn start(
    contender: Contender,
    rackup: &Path,
    shape: Shape,
    log: &Path,
    options: &Options,
    place: &Place,
) -> Result<Running, String> {
    let ports = free_ports(1)?;
    let port = ports.numbers[0];
    let folder = rackup.parent().ok_or_else(|| format!("{} is in no folder", rackup.display()))?;
    let folder = place.bring(folder)?;
    let command = command(contender, &folder, shape, port, options, place)?;
    let mut process = Process::start(command, log)?;
    let up = until(PATIENCE, || process.has_ended() || TcpStream::connect(("127.0.0.1", port)).is_ok());
    if !up || process.has_ended() {
        return Err(format!("{contender} did not start on {}: {}", rackup.display(), last_lines(log)));
    }
    Ok(Running { contender, port, process, log: log.to_path_buf(), _ports: ports })
}

fn command(
    contender: Contender,
    folder: &Path,
    shape: Shape,
    port: u16,
    options: &Options,
    place: &Place,
) -> Result<Command, String> {
    let Shape { workers, threads } = shape;
    let address = format!("tcp://127.0.0.1:{port}");
    if contender == Contender::Puma || options.stand_in {
        let mut command = place.command(Path::new("puma"), folder);
        command.args(["-q", "-e", "production", "-t", &format!("{threads}:{threads}"), "-b", &address, "--no-config"]);
        match workers {
            // Puma advises against a cluster of one worker.
            1 => command.args(["-w", "0"]),
            _ => command.args(["-w", &workers.to_string(), "--preload"]),
        };
        command.arg("config.ru");
        return Ok(command);
    }
    let program = place.bring(&options.foolsgold)?;
    let mut command = place.command(&program, folder);
    command.args(["--engine", "ruby", "-w", &workers.to_string(), "-t", &threads.to_string(), "-e", "production"]);
    command.args(["--access-log", "off", "-b", &address]);
    if contender == Contender::Native {
        command.args([RUBY_WORKER, "native"]);
    } else if knows(RUBY_WORKER, options) {
        command.args([RUBY_WORKER, "plain"]);
    }
    command.args(&options.with).arg("config.ru");
    Ok(command)
}

/// The end of a log, for an error.
pub fn last_lines(log: &Path) -> String {
    let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    let lines: Vec<&str> = lines.into_iter().rev().collect();
    format!("{}\n{}", log.display(), lines.join("\n"))
}
