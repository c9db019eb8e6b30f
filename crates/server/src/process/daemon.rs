//! `--daemonize`: starts the program again in a session of its own, with its output in the log file, and waits until it
//! serves, or reports why it does not.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::process::exit::NotServing;
use crate::process::init;
use crate::process::parent::{Channel, InheritedSocket, StartOutcome, StartedAs};
use crate::process::program::Program;

/// Starts the server in the background and returns its process id once it serves.
pub fn start(program: &Program, sockets: &[InheritedSocket], log: Option<&Path>) -> Result<u32, NotServing> {
    let told = |error: io::Error| {
        let path = program.path().display();
        NotServing::Failed(format!("{path} cannot be started in the background: {error}"))
    };
    let (channel, mut child) = Channel::start(program.again(), StartedAs::Background).map_err(told)?;
    for handed in sockets {
        channel.hand(handed.socket.as_fd(), &handed.asked, handed.is_activated).map_err(told)?;
    }
    channel.say("begin").map_err(told)?;
    let outcome = channel.outcome();
    if let Ok(StartOutcome::Serving(_)) = outcome {
        init::moved_to(child.id());
        return Ok(child.id());
    }
    let how = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
    if let Ok(StartOutcome::NotServing(why)) = outcome {
        return Err(why);
    }
    let hint = log.map(|log| format!("; {} may say why", log.display())).unwrap_or_default();
    Err(NotServing::Failed(format!("it has ended before it served ({how}){hint}")))
}

/// In the child: leaves the terminal's session, so that closing the terminal does not affect it.
pub fn leave_terminal() -> Result<(), String> {
    rustix::process::setsid().map(drop).map_err(|error| format!("there is no session of its own: {error}"))
}
