//! Signals as events: the first SIGTERM or SIGINT asks for a graceful end, the second for one at once; SIGUSR1 asks for
//! the new code. SIGHUP is taken and ignored, so that a terminal that closes does not end the server.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

use crate::desk::Desk;

/// The signals this program listens to.
pub struct Signals {
    term: Signal,
    interrupt: Signal,
    hangup: Signal,
    user1: Signal,
    ends: u32,
}

impl Signals {
    /// Starts listening; from now on these signals do not end the process by themselves.
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals {
            term: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            user1: signal(SignalKind::user_defined1())?,
            ends: 0,
        })
    }

    /// Waits for the next signal and does what it asks for.
    pub async fn follow(&mut self, desk: &Desk) {
        let name = tokio::select! {
            Some(()) = self.term.recv() => "SIGTERM",
            Some(()) = self.interrupt.recv() => "SIGINT",
            Some(()) = self.hangup.recv() => {
                info!(target: "server", "SIGHUP is ignored: settings are read at start only");
                return;
            }
            Some(()) = self.user1.recv() => {
                info!(target: "server", "SIGUSR1: reloading");
                desk.reload_later(None);
                return;
            }
        };
        self.ends += 1;
        if self.ends == 1 {
            info!(target: "server", "{name}: a graceful end");
            desk.drain();
        } else {
            info!(target: "server", "{name} again");
            desk.stop(true);
        }
    }
}
