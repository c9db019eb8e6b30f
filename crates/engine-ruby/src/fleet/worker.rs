//! A worker from its order to its end, as the fleet knows it.

use std::time::{Duration, Instant};

use crate::exit::Exit;
use crate::process::memory::Weight;
use crate::reason::Reason;

/// How far a worker has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// A mold was told to fork it: there is no process yet.
    Ordered,
    /// Its process runs hooks, loads the application or opens its connections.
    Starting,
    /// It has said that it is ready; some of its connections have not come in yet.
    Booted,
    /// It serves, or finishes what it has if it leaves.
    Ready,
    /// It has said why it cannot start: that it ends is no news.
    Failed,
}

/// What is known of the end of a worker that was not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its connection has ended; its mold has not told how it ended.
    Silent,
    /// Its mold has told.
    Told(Exit),
}

/// What becomes of the place of a worker that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// A successor takes it.
    Replaced,
    /// It is free when the worker has ended.
    Last,
}

impl Leave {
    /// For this reason.
    pub fn of(reason: Reason) -> Leave {
        if reason.has_successor() { Leave::Replaced } else { Leave::Last }
    }
}

/// A worker that was ordered, until it has ended.
#[derive(Debug)]
pub struct WorkerProcess {
    /// When it was ordered.
    pub since: Instant,
    pub life: Life,
    /// Its process, unless it was only ordered.
    pub pid: Option<u32>,
    /// The mold that forked it, until that has told of its end.
    pub mold: Option<u32>,
    /// How many of its threads have connected.
    pub threads: usize,
    /// It is on its way out, and does not count.
    pub leave: Option<Leave>,
    pub end: Option<End>,
    /// For how long nothing was heard of it.
    pub silent: Duration,
    /// The log has said so.
    pub is_silence_logged: bool,
    /// When its memory was last looked at, and what was found.
    pub weighed: Option<(Instant, Option<Weight>)>,
}

impl WorkerProcess {
    /// One that is being ordered.
    pub fn ordered(now: Instant) -> WorkerProcess {
        WorkerProcess {
            since: now,
            life: Life::Ordered,
            pid: None,
            mold: None,
            threads: 0,
            leave: None,
            end: None,
            silent: Duration::ZERO,
            is_silence_logged: false,
            weighed: None,
        }
    }

    /// It has this process.
    pub fn runs_as(&mut self, pid: u32) {
        self.pid = Some(pid);
        if self.life == Life::Ordered {
            self.life = Life::Starting;
        }
    }

    /// It cannot start, and has said why.
    pub fn fail(&mut self) {
        self.life = Life::Failed;
        self.leave.get_or_insert(Leave::Replaced);
    }

    /// Whether it is not ready yet, and may still be.
    pub fn is_booting(&self) -> bool {
        matches!(self.life, Life::Ordered | Life::Starting | Life::Booted)
    }

    /// Whether it counts as one of those that should be there.
    pub fn stays(&self) -> bool {
        self.leave.is_none()
    }

    /// Its share of memory, as last looked at.
    pub fn pss_kib(&self) -> Option<u64> {
        self.weight().map(|weight| weight.pss_kib)
    }

    /// Its memory that it does not share, as last looked at.
    pub fn own_kib(&self) -> Option<u64> {
        self.weight().map(|weight| weight.own_kib)
    }

    fn weight(&self) -> Option<Weight> {
        self.weighed.and_then(|(_, weight)| weight)
    }
}

/// A worker with its process, as every line of the log names it.
pub fn named(worker: u32, pid: Option<u32>) -> String {
    pid.map_or_else(|| format!("worker {worker}"), |pid| format!("worker {worker} (pid {pid})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_starts_when_it_has_a_process_and_not_again() {
        let mut worker = WorkerProcess::ordered(Instant::now());
        assert_eq!((worker.life, worker.is_booting()), (Life::Ordered, true));
        worker.runs_as(7);
        assert_eq!((worker.life, worker.pid), (Life::Starting, Some(7)));
        worker.life = Life::Ready;
        worker.runs_as(7);
        assert_eq!((worker.life, worker.is_booting()), (Life::Ready, false));
    }

    #[test]
    fn one_that_fails_leaves_as_it_was_to() {
        let mut worker = WorkerProcess::ordered(Instant::now());
        worker.fail();
        assert_eq!((worker.life, worker.leave, worker.is_booting()), (Life::Failed, Some(Leave::Replaced), false));
        let mut worker =
            WorkerProcess { leave: Some(Leave::of(Reason::Idle)), ..WorkerProcess::ordered(Instant::now()) };
        worker.fail();
        assert_eq!(worker.leave, Some(Leave::Last));
        assert!(!worker.stays());
    }
}
