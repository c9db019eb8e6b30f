//! A process that the front has started, as the fleet knows it: a mold, or a worker of a Ruby that cannot fork.

use std::time::Instant;

use crate::exit::Exit;

/// What a mold can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoldState {
    /// It loads the application, or only itself where each worker does that.
    Loading,
    /// It has said why it cannot: that it ends is no news.
    CannotLoad,
    /// It forks workers.
    Forks,
    /// It forks no more, since then, and makes way for one that does not load the application.
    Yielding(Instant),
    /// Its Ruby cannot fork: it can become one worker.
    CannotFork,
    /// The worker that it has become.
    Worker(u32),
}

/// The connection over which a mold is given orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// It has not come in yet.
    Awaited,
    Open,
    /// It has ended.
    Closed,
}

/// A process that the front has started, until it has ended.
#[derive(Debug)]
pub struct Mold {
    pub since: Instant,
    pub state: MoldState,
    pub connection: Connection,
    /// How its process ended, and when that was heard.
    pub ended: Option<(Exit, Instant)>,
    /// Workers of it that are gone, with their processes, and of whose end it has not told yet.
    pub untold: Vec<(u32, u32)>,
    /// Its share of memory, as last looked at.
    pub pss_kib: Option<u64>,
}

impl Mold {
    /// One that was just started.
    pub fn started(now: Instant) -> Mold {
        Mold {
            since: now,
            state: MoldState::Loading,
            connection: Connection::Awaited,
            ended: None,
            untold: Vec::new(),
            pss_kib: None,
        }
    }

    /// Whether it has loaded what it was to load.
    pub fn is_loaded(&self) -> bool {
        !matches!(self.state, MoldState::Loading | MoldState::CannotLoad)
    }

    /// Whether it has forked workers, or was to.
    pub fn is_forker(&self) -> bool {
        matches!(self.state, MoldState::Forks | MoldState::Yielding(_))
    }

    /// Whether it has said that it will end.
    pub fn is_over(&self) -> bool {
        matches!(self.state, MoldState::CannotLoad | MoldState::Yielding(_))
    }

    /// Whether each process is one worker at most.
    pub fn is_no_forker(&self) -> bool {
        matches!(self.state, MoldState::CannotFork | MoldState::Worker(_))
    }

    /// Since when it makes way for another one.
    pub fn yields_since(&self) -> Option<Instant> {
        if let MoldState::Yielding(since) = self.state { Some(since) } else { None }
    }

    /// Whether it is a worker by now.
    pub fn is_worker(&self) -> bool {
        matches!(self.state, MoldState::Worker(_))
    }

    /// Whether its process has ended and its last words have been heard, if it had a way to say any.
    pub fn is_gone(&self) -> bool {
        self.ended.is_some() && self.connection != Connection::Open
    }
}
