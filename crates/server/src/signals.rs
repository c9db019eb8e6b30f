//! Signals as events: the first SIGTERM or SIGINT asks for a graceful end, the second for one at once.
//! SIGHUP is taken and ignored, so that a terminal that closes does not end the server; docs/signals.md promises this.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals this program listens to.
pub struct Signals {
    term: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Starts listening; from now on these signals do not end the process by themselves.
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals {
            term: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next request to end, and names the signal.
    pub async fn end(&mut self) -> &'static str {
        loop {
            tokio::select! {
                Some(()) = self.term.recv() => return "SIGTERM",
                Some(()) = self.interrupt.recv() => return "SIGINT",
                Some(()) = self.hangup.recv() => {
                    tracing::info!(target: "server", "SIGHUP is ignored: settings are read at start only");
                }
            }
        }
    }
}
