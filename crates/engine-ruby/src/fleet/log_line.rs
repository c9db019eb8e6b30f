//! Log entries of the fleet. Their words and levels are in the supervisor's `log`.

use std::time::Duration;

use engine::snapshot::Shortage;

use crate::exit::Exit;

/// The process, or fork, that a slow start waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// The mold in this process loads the application.
    Mold(u32),
    /// The worker with this number boots in this process.
    Worker(u32, u32),
    /// The worker, or at the start any, has no process yet.
    Fork,
}

/// A log entry of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogLine {
    /// The start takes long.
    NotReady { passed: Duration, waiting: Waiting },
    /// The boot of a worker takes long, while others may serve.
    BootSlow { worker: u32, passed: Duration, waiting: Waiting },
    /// A mold or a worker did not boot in time and is killed.
    BootTimedOut { pid: u32, limit: Duration },
    /// The start of a worker or a mold failed and is retried after a pause.
    BootFailed { pause: Duration, error: String },
    /// A mold has loaded the application, during the start of the engine or later.
    MoldLoaded { pid: u32, took: Duration, is_first: bool },
    /// Workers would share these connections, so each loads the application itself.
    WillNotFork { shared: String },
    /// A mold has exited while its workers stay.
    MoldExited { pid: u32, exit: Exit },
    /// A worker is added because requests wait.
    ScalingUp { wanted: usize },
    /// An operator has changed the number of workers.
    Scaled { min: usize, max: usize, wanted: usize },
    /// There is no memory for another worker.
    HeldByMemory { shortage: Shortage, there: usize, wanted: usize },
    /// An entry about a worker, with its process if it has one.
    Worker(u32, Option<u32>, WorkerLine),
}

/// A log entry about a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerLine {
    /// It serves; whether starts had failed before.
    Ready { took: Duration, is_recovery: bool },
    /// It broke the protocol and is killed.
    Killed { why: String },
    /// It exited, unless the log has that already.
    Exited(Exit),
    /// It exited, and its mold ended before it could report how; unless the log has the exit already.
    ExitUnknown,
    /// The kernel killed it for memory before it was ready.
    OutOfMemory,
    /// It did not answer pings for too long and is killed.
    Hung,
    /// It does not answer pings; with the limit after which it is killed.
    Silent { silent: Duration, limit: Duration },
    /// It answers pings again.
    AnswersAgain,
    /// It uses more memory than a worker may.
    TooLarge { pss_kib: u64, limit_kib: u64 },
    /// Its memory use cannot be read.
    WeightUnknown,
    /// Memory is short, and it is retired because it is the largest.
    Largest { shortage: Shortage, own_kib: u64 },
}
