//! The state of a worker in the fleet, from its order to its exit.

use std::time::{Duration, Instant};

use crate::exit::Exit;
use crate::exit_reason::ExitReason;
use crate::weight::Weight;

/// The stage in the life of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Its mold was ordered to fork it, or its process runs hooks, loads the application or opens its connections.
    Starting,
    /// It has reported that it is ready; some of its connections have not been accepted yet.
    Booted,
    /// It serves, or finishes its requests if it is retired.
    Ready,
    /// It has reported why it cannot start, so its exit is no news.
    Failed,
}

/// The end of a worker that ended before it was ready, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its control connection has ended; its mold has not reported its exit yet.
    Disconnected,
    /// Its mold has reported its exit.
    Reported(Exit),
}

/// The use of a place after its worker has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// A successor takes the place.
    Replaced,
    /// The place is free when the worker has ended.
    Last,
}

impl Leave {
    /// Returns what follows from this exit reason.
    pub fn of(reason: ExitReason) -> Leave {
        if reason.has_successor() { Leave::Replaced } else { Leave::Last }
    }
}

/// A worker, from its order until it has ended.
#[derive(Debug)]
pub struct WorkerProcess {
    /// When it was ordered.
    pub since: Instant,
    /// Its index among the workers, which its successor gets: the lowest that was free.
    pub index: u32,
    pub life: Life,
    /// Its process id, once it has been forked.
    pub pid: Option<u32>,
    /// The mold that forked it, until that has reported its exit.
    pub mold: Option<u32>,
    /// Its control connection has been opened, whose end shows its own.
    pub is_connected: bool,
    /// Number of its threads that have connected.
    pub threads: usize,
    /// Set when it is on its way out and does not count any more.
    pub leave: Option<Leave>,
    pub end: Option<End>,
    /// It was killed because it had timed out. Its exit may take a while.
    pub is_timed_out: bool,
    /// The time since its last frame on the control connection.
    pub silent: Duration,
    /// The log has an entry about the silence.
    pub is_silence_logged: bool,
    /// When its memory use was last read, and the result.
    pub weighed: Option<(Instant, Option<Weight>)>,
}

impl WorkerProcess {
    /// Creates a worker that is being ordered.
    pub fn ordered(now: Instant) -> WorkerProcess {
        WorkerProcess {
            since: now,
            index: 0,
            life: Life::Starting,
            pid: None,
            mold: None,
            is_connected: false,
            threads: 0,
            leave: None,
            end: None,
            is_timed_out: false,
            silent: Duration::ZERO,
            is_silence_logged: false,
            weighed: None,
        }
    }

    /// Notes that it cannot start and has reported why.
    pub fn fail(&mut self) {
        self.life = Life::Failed;
        self.leave.get_or_insert(Leave::Replaced);
    }

    /// Returns whether it is not ready yet, but may become so.
    pub fn is_booting(&self) -> bool {
        matches!(self.life, Life::Starting | Life::Booted)
    }

    /// Returns whether it counts towards the wanted number, because it is not on its way out.
    pub fn stays(&self) -> bool {
        self.leave.is_none()
    }

    /// Returns whether it serves, and is not on its way out.
    pub fn serves(&self) -> bool {
        self.life == Life::Ready && self.stays()
    }

    /// Returns its proportional share of memory, as last read.
    pub fn pss_kib(&self) -> Option<u64> {
        self.weight().map(|weight| weight.pss_kib)
    }

    /// Returns its private memory, as last read.
    pub fn own_kib(&self) -> Option<u64> {
        self.weight().map(|weight| weight.own_kib)
    }

    fn weight(&self) -> Option<Weight> {
        self.weighed.and_then(|(_, weight)| weight)
    }
}

/// Returns the name of a worker in the log, with its process.
pub fn named(worker: u32, pid: Option<u32>) -> String {
    pid.map_or_else(|| format!("worker {worker}"), |pid| format!("worker {worker} (pid {pid})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_fails_leaves_as_it_was_to() {
        let mut worker = WorkerProcess::ordered(Instant::now());
        worker.fail();
        assert_eq!((worker.life, worker.leave, worker.is_booting()), (Life::Failed, Some(Leave::Replaced), false));
        let mut worker =
            WorkerProcess { leave: Some(Leave::of(ExitReason::Idle)), ..WorkerProcess::ordered(Instant::now()) };
        worker.fail();
        assert_eq!(worker.leave, Some(Leave::Last));
        assert!(!worker.stays());
    }
}
