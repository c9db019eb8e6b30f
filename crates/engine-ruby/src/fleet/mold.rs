//! The state of a process in the fleet that the front has started: a mold, or a worker of a Ruby that cannot fork.

use std::time::Instant;

use crate::exit::Exit;

/// The stage in the life of a mold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoldState {
    /// It loads the application, or only itself where each worker loads the application.
    Loading,
    /// It has reported why it cannot load the application, so its exit is no news.
    CannotLoad,
    /// It is ready to fork workers.
    Forks,
    /// Since this time, it refuses to fork and makes way for a mold that does not load the application.
    Yielding(Instant),
    /// Its Ruby cannot fork: it can become one worker.
    CannotFork,
    /// It has become the worker with this number.
    Worker(u32),
}

/// The state of the control connection of a mold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The mold has not connected yet.
    Awaited,
    Open,
    /// The connection has ended.
    Closed,
}

/// A process that the front has started, until it has ended.
#[derive(Debug)]
pub struct Mold {
    pub since: Instant,
    pub state: MoldState,
    pub connection: Connection,
    /// How its process exited, and when that was reported.
    pub ended: Option<(Exit, Instant)>,
    /// Workers that it forked and that are gone, with their processes, whose exit it has not reported yet.
    pub unreported: Vec<(u32, u32)>,
    /// It was killed because it had timed out. Its exit may take a while.
    pub is_timed_out: bool,
    /// Its proportional share of memory in KiB, as last read.
    pub pss_kib: Option<u64>,
}

impl Mold {
    /// Creates the state of a process that was just started.
    pub fn started(now: Instant) -> Mold {
        Mold {
            since: now,
            state: MoldState::Loading,
            connection: Connection::Awaited,
            ended: None,
            unreported: Vec::new(),
            is_timed_out: false,
            pss_kib: None,
        }
    }

    /// Returns whether it has loaded what it should.
    pub fn is_loaded(&self) -> bool {
        !matches!(self.state, MoldState::Loading | MoldState::CannotLoad)
    }

    /// Returns whether it may have orders to fork. One that makes way for another has none any more.
    pub fn is_forker(&self) -> bool {
        self.state == MoldState::Forks
    }

    /// Returns whether it has announced its end.
    pub fn is_over(&self) -> bool {
        matches!(self.state, MoldState::CannotLoad | MoldState::Yielding(_))
    }

    /// Returns whether its Ruby cannot fork, so that each process is at most one worker.
    pub fn is_no_forker(&self) -> bool {
        matches!(self.state, MoldState::CannotFork | MoldState::Worker(_))
    }

    /// Returns since when it makes way for another mold.
    pub fn yields_since(&self) -> Option<Instant> {
        if let MoldState::Yielding(since) = self.state { Some(since) } else { None }
    }

    /// Returns whether it has become a worker.
    pub fn is_worker(&self) -> bool {
        matches!(self.state, MoldState::Worker(_))
    }

    /// Returns whether its process has exited and everything that it sent has been read.
    pub fn is_gone(&self) -> bool {
        self.ended.is_some() && self.connection != Connection::Open
    }
}
