//! The contenders and how each is started. A program that is not installed is reported with how to get it, and the
//! others are measured without it.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use bench_kit::process::{PATIENCE, Ports, Process, free_ports, until};

use crate::answer::{self, Page, Template};
use crate::nginx;
use crate::options::Options;

/// Names in the report.
pub const FOOLSGOLD: &str = "foolsgold";
pub const BARE: &str = "bare-hyper";
pub const THIN: &str = "thin-16";
/// The same behind nginx, which is how sixteen Thins are deployed.
pub const THIN_NGINX: &str = "thin-16-nginx";
/// Two Pumas, since the best setting depends on the load; the report compares with the better one.
pub const PUMAS: [&str; 2] = ["puma-cluster", "puma-threads"];
const ALL: [&str; 6] = [FOOLSGOLD, BARE, THIN, THIN_NGINX, PUMAS[0], PUMAS[1]];

/// The original measurement had sixteen of each.
const SERVERS: usize = 16;

/// A server that is up.
pub struct Running {
    pub name: &'static str,
    /// Several only if the server is several processes without a common port.
    pub ports: Vec<u16>,
    /// Whether one counter sees every request, so that a lost one is noticed.
    pub counts_all: bool,
    template: Template,
    processes: Vec<Process>,
    /// Keeps its ports from other servers.
    _reserved: Vec<Ports>,
}

/// A server that is not installed, and how to get it.
pub type Missing = (&'static str, String);

impl Running {
    /// Requests one page and checks it.
    pub fn page(&self) -> Result<Page, String> {
        answer::ask(self.ports[0], &self.template).map_err(|error| format!("{}: {error}", self.name))
    }

    /// Requests two pages from each process: both must be right, with different ids where ids are made.
    pub fn check(&mut self) -> Result<(), String> {
        for port in &self.ports {
            let first = answer::ask(*port, &self.template).map_err(|error| format!("{}: {error}", self.name))?;
            let second = answer::ask(*port, &self.template).map_err(|error| format!("{}: {error}", self.name))?;
            if self.name != BARE && first.id == second.id {
                return Err(format!("{}: two requests had the id {}", self.name, first.id));
            }
            if self.counts_all && second.count <= first.count {
                return Err(format!("{}: the count went from {} to {}", self.name, first.count, second.count));
            }
        }
        if let Some(dead) = self.processes.iter_mut().position(Process::has_ended) {
            return Err(format!("{}: process {} of {} has ended", self.name, dead + 1, self.processes.len()));
        }
        Ok(())
    }
}

/// Starts all requested servers that are installed.
pub fn start_all(options: &Options, folder: &Path) -> Result<(Vec<Running>, Vec<Missing>), String> {
    if let Some(unknown) = options.only.iter().find(|name| !ALL.contains(&name.as_str())) {
        return Err(format!("--only {unknown}: there are {}", ALL.join(", ")));
    }
    let template = Template::read(&options.app)?;
    std::fs::write(folder.join("page.html"), template.fill("6f6f6c73-676f-4c64-8a21-000000000000", 12_345))
        .map_err(|error| error.to_string())?;
    let mut running = Vec::new();
    let mut missing = Vec::new();
    for name in ALL {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        match absent(name, options) {
            Some(how) => missing.push((name, how)),
            None => running.push(start(name, options, &template, folder)?),
        }
    }
    if running.is_empty() { Err(format!("no contender is installed: {missing:?}")) } else { Ok((running, missing)) }
}

/// How to get a program; `None` if it is installed.
fn absent(name: &str, options: &Options) -> Option<String> {
    let runs = |program: &str, flag: &str| Command::new(program).arg(flag).output().is_ok();
    match name {
        FOOLSGOLD if !options.foolsgold.is_file() => Some("cargo build --release -p server".into()),
        BARE if !options.bare.is_file() => Some("cargo build --release -p bench-fools-gold".into()),
        THIN | THIN_NGINX if !runs("thin", "--version") => Some("apt install thin, or gem install thin".into()),
        THIN_NGINX if !runs("nginx", "-v") => Some("apt install nginx-light".into()),
        "puma-cluster" | "puma-threads" if !runs("puma", "--version") => {
            Some("apt install puma, or gem install puma".into())
        }
        _ => None,
    }
}

fn start(name: &'static str, options: &Options, template: &Template, folder: &Path) -> Result<Running, String> {
    let count = if name == THIN || name == THIN_NGINX { SERVERS } else { 1 };
    let mut reserved = vec![free_ports(count)?];
    let mut ports = reserved[0].numbers.clone();
    let mut processes = Vec::with_capacity(count + 1);
    for port in &ports {
        let command = command(name, *port, options, folder);
        processes.push(Process::start(command, &folder.join(format!("{name}-{port}.log")))?);
    }
    for (port, process) in ports.iter().zip(&mut processes) {
        await_port(name, *port, process, folder)?;
    }
    if name == THIN_NGINX {
        let own = free_ports(1)?;
        let (port, mut process) = nginx::start(&ports, own.numbers[0], folder)?;
        reserved.push(own);
        await_port(name, port, &mut process, folder)?;
        // First in the list, so that the proxy stops before the servers behind it.
        processes.insert(0, process);
        ports = vec![port];
    }
    let counts_all = name == FOOLSGOLD || name == "puma-threads";
    Ok(Running { name, ports, counts_all, template: template.clone(), processes, _reserved: reserved })
}

fn await_port(name: &str, port: u16, process: &mut Process, folder: &Path) -> Result<(), String> {
    let up = until(PATIENCE, || process.has_ended() || TcpStream::connect(("127.0.0.1", port)).is_ok());
    if !up || process.has_ended() {
        return Err(format!("{name} did not start; see its log in {}", folder.display()));
    }
    Ok(())
}

fn command(name: &str, port: u16, options: &Options, folder: &Path) -> Command {
    let address = format!("tcp://127.0.0.1:{port}");
    let twin = options.app.join("twin/config.ru");
    let (program, words): (&Path, Vec<&str>) = match name {
        FOOLSGOLD => (&options.foolsgold, vec!["-t", "16", "-e", "production", "--access-log", "off", "-b", &address]),
        BARE => (&options.bare, vec![]),
        THIN | THIN_NGINX => (Path::new("thin"), vec!["-q", "-e", "production", "-a", "127.0.0.1"]),
        "puma-cluster" => {
            (Path::new("puma"), vec!["-e", "production", "-w", "2", "-t", "5:5", "--preload", "-b", &address])
        }
        _ => (Path::new("puma"), vec!["-e", "production", "-w", "0", "-t", "16:16", "-b", &address]),
    };
    let mut command = Command::new(program);
    command.args(words);
    match name {
        FOOLSGOLD => command.arg(options.app.join("config.ru")),
        BARE => command.arg(format!("127.0.0.1:{port}")).arg(folder.join("page.html")),
        THIN | THIN_NGINX => command
            .arg("-l")
            .arg(folder.join(format!("thin-{port}.own.log")))
            .arg("-R")
            .arg(twin)
            .args(["-p", &port.to_string(), "start"]),
        _ => command.arg("--no-config").arg(twin),
    };
    command
}
