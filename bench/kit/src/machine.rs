//! Facts about the machine and the versions of programs: a figure means nothing without them.

use std::fs;
use std::process::Command;

/// Facts for the head of a record.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Start of the run, in UTC, as in ISO 8601.
    pub started: String,
    /// Name and value of each fact.
    pub facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// The facts that every benchmark reports.
    pub fn ask() -> Machine {
        let facts = vec![
            ("processor", processor()),
            ("cores", std::thread::available_parallelism().map_or_else(|_| "?".into(), |cores| cores.to_string())),
            ("memory", memory()),
            ("kernel", said(Command::new("uname").arg("-sr"))),
        ];
        Machine { started: said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])), facts }
    }
}

/// The first line of a program's output.
pub fn said(command: &mut Command) -> String {
    let Ok(output) = command.output() else { return "not here".into() };
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned()
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or_else(|| "?".into(), |(_, name)| name.to_owned())
}

fn memory() -> String {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or_else(|| "?".into(), |kib| format!("{} MiB", kib / 1024))
}
