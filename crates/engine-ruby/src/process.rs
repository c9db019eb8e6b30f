//! Ruby processes that the front starts itself: molds, and workers of a Ruby that cannot fork.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use tokio::sync::mpsc::UnboundedSender;

use crate::Settings;
use crate::supervisor::Event;

/// Where a process finds its way in.
pub struct Way<'a> {
    /// The folder of our Ruby files.
    pub scripts: &'a Path,
    /// The Unix socket.
    pub socket: &'a Path,
    /// The secret.
    pub token: &'a str,
}

/// Starts one. Its end is an event, with the number of its process.
pub fn start(settings: &Settings, way: &Way<'_>, events: UnboundedSender<Event>) -> io::Result<u32> {
    let mut command = Command::new(&settings.ruby);
    command
        .arg(way.scripts.join("mold.rb"))
        .stdin(Stdio::null())
        .env("FOOLS_GOLD_WIRE", way.socket)
        .env("FOOLS_GOLD_TOKEN", way.token);
    for name in ["RACK_ENV", "APP_ENV", "RAILS_ENV"] {
        command.env(name, &settings.environment);
    }
    let child = command.spawn()?;
    let pid = child.id();
    thread::Builder::new().name("ruby wait".into()).stack_size(64 << 10).spawn(move || wait(child, &events))?;
    Ok(pid)
}

fn wait(mut child: Child, events: &UnboundedSender<Event>) {
    let pid = child.id();
    let ended = child.wait().map_or_else(|error| error.to_string(), ending);
    let _ = events.send(Event::Ended(pid, ended));
}

/// How a process ended, in words.
fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (None, Some(signal)) => by_signal(signal),
        (None, None) => "it ended".to_owned(),
    }
}

/// The same, of a process whose parent is the mold: an exit code, or a signal's number negated.
pub fn ending_of(code: i32) -> String {
    if code < 0 { by_signal(-code) } else { format!("it exited with status {code}") }
}

fn by_signal(number: i32) -> String {
    match nix::sys::signal::Signal::try_from(number) {
        Ok(signal) => format!("it was ended by {}", signal.as_str()),
        Err(_) => format!("it was ended by signal {number}"),
    }
}
