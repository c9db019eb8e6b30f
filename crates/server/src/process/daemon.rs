//! `--daemonize`: starts the program again in a session of its own, with its output in the log file, and waits until it
//! serves, or reports why it does not.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Child;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::process::exit::NotServing;
use crate::process::init;
use crate::process::parent::{Channel, InheritedSocket, StartOutcome, StartedAs};
use crate::process::program::Program;

/// Starts the server in the background and returns its process id once it serves.
pub fn start(program: &Program, sockets: &[InheritedSocket], log: Option<&Path>) -> Result<u32, NotServing> {
    let not_started = |error: io::Error| {
        let path = program.path.display();
        NotServing::Failed(format!("{path} cannot be started in the background: {error}"))
    };
    let (channel, mut child) = Channel::start(program.again(), StartedAs::Background).map_err(not_started)?;
    pass_signals_on(&child);
    for handed in sockets {
        channel.hand(handed.socket.as_fd(), &handed.asked, handed.is_activated).map_err(not_started)?;
    }
    channel.say("begin").map_err(not_started)?;
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

/// Passes TERM, INT and QUIT on to the child from now on, as TERM, which is a shutdown with every `--signals`. The
/// child ends, and reports that it does not serve.
fn pass_signals_on(child: &Child) {
    let child = Pid::from_child(child);
    let listen = move || -> io::Result<()> {
        Builder::new_current_thread().enable_io().build()?.block_on(async {
            let mut term = signal(SignalKind::terminate())?;
            let mut int = signal(SignalKind::interrupt())?;
            let mut quit = signal(SignalKind::quit())?;
            loop {
                tokio::select! {
                    _ = term.recv() => {}
                    _ = int.recv() => {}
                    _ = quit.recv() => {}
                }
                // It may have ended by itself.
                let _ = kill_process(child, Signal::TERM);
            }
        })
    };
    // Where that is not possible, a signal ends this process alone.
    let _ = thread::Builder::new().name("signals".into()).spawn(listen);
}

/// In the child: leaves the terminal's session, so that closing the terminal does not affect it.
pub fn leave_terminal() -> Result<(), String> {
    rustix::process::setsid().map(drop).map_err(|error| format!("there is no session of its own: {error}"))
}
