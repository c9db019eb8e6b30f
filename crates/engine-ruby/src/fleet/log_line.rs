//! What the log is to say of the fleet. The words and the level of each are in the supervisor's `log`.

use std::time::Duration;

use engine::snapshot::Shortage;

use crate::exit::Exit;

/// What a start waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// This process loads the application.
    Mold(u32),
    /// This worker boots in this process.
    Worker(u32, u32),
    /// No worker has a process.
    Fork,
}

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogLine {
    /// The start takes long.
    NotReady { passed: Duration, waiting: Waiting },
    /// A mold or a worker did not boot in time, and is killed.
    BootTimedOut { pid: u32, limit: Duration },
    /// No worker, or no mold, came of a start.
    BootFailed { pause: Duration, error: String },
    /// Loaded during the start of the engine, or later.
    MoldLoaded { pid: u32, took: Duration, is_first: bool },
    /// Workers would share these connections.
    WillNotFork { shared: String },
    /// A mold has ended while its workers stay.
    MoldExited { pid: u32, exit: Exit },
    /// One more worker, because requests wait.
    ScalingUp { wanted: usize },
    /// By order.
    Scaled { min: usize, max: usize, wanted: usize },
    /// Memory does not hold another worker.
    HeldByMemory { shortage: Shortage, there: usize, wanted: usize },
    /// About this worker, in this process if it has one.
    Worker(u32, Option<u32>, WorkerLine),
}

/// An entry of the log about a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerLine {
    Ready {
        took: Duration,
    },
    /// It broke the protocol.
    Killed {
        why: String,
    },
    /// How it ended, unless the log has that already.
    Exited(Exit),
    /// How it ended only its mold could have told; unless the log has that already.
    ExitUnknown,
    /// The kernel has killed it before it was ready, because memory was full.
    OutOfMemory,
    /// It did not answer for too long, and is killed.
    Hung,
    /// It does not answer; with the limit after which it is killed.
    Silent {
        silent: Duration,
        limit: Duration,
    },
    AnswersAgain,
    TooLarge {
        pss_kib: u64,
        limit_kib: u64,
    },
    /// The system does not tell of its memory.
    WeightUnknown,
    /// Memory is short, and as the largest it leaves.
    Largest {
        shortage: Shortage,
        own_kib: u64,
    },
}
