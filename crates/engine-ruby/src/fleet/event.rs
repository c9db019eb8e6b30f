//! The events of the fleet.

use std::time::{Duration, Instant};

use machine::MemoryUse;

use super::action::{Dead, Facts};
use super::speaker::Speaker;
use crate::exit::Exit;
use crate::exit_reason::ExitReason;
use crate::start_error::StartError;
use crate::weight::Weight;

/// The load of a worker, from dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub worker: u32,
    /// Number of its requests in flight and of its upgraded connections.
    pub requests: usize,
    /// It has nothing left to do at all.
    pub is_done: bool,
    pub is_leaving: bool,
}

/// An event: something has happened, an operator or another part wants something, or a check is due.
#[derive(Debug)]
pub enum Event {
    /// Start processes until there are as many as there should be.
    Fill,

    /// A mold was started as this process.
    MoldStarted(u32),
    /// A mold could not be started.
    MoldNotStarted(StartError),
    /// A mold has connected.
    MoldConnected(u32),
    /// A mold has loaded the application and reports these facts.
    MoldReady(u32, Facts),
    /// A mold cannot load the application.
    MoldFailed(u32, StartError),
    /// A mold refuses to fork, because its workers would share these connections.
    MoldShares(u32, Vec<String>),
    /// A mold has forked a worker, or has become one.
    Forked { mold: u32, worker: u32, pid: u32 },
    /// A mold reports the exit of a worker that it forked.
    Exited { mold: u32, worker: u32, pid: u32, exit: Exit },
    /// The control connection of a mold has ended.
    MoldDisconnected(u32),
    /// The process of a mold has exited.
    MoldEnded(u32, Exit),

    /// The control connection of a worker has been opened, by this process.
    WorkerConnected(u32, u32),
    /// The connection of one thread of a worker has been opened.
    ThreadConnected(u32),
    /// A worker has opened its connections and run its hooks.
    WorkerReady(u32),
    /// Dispatch has added a worker.
    WorkerAdded(u32),
    /// Dispatch could not add a worker, because its connections cannot be used, for this reason.
    WorkerNotAdded(u32, String),
    /// A worker cannot load the application.
    WorkerFailed(u32, StartError),
    /// A hook keeps a worker from starting.
    HookFailed(u32, StartError),
    /// A worker has sent a frame, so it is alive.
    Alive(u32),
    /// The control connection of a worker has ended, or its process, now or a while ago.
    WorkerDisconnected(u32),
    /// Dispatch has removed a worker; with its error if the process must be killed.
    WorkerGone(u32, Option<String>),
    /// Dispatch has retired a worker, for this reason.
    Leaving(u32, ExitReason),
    /// A worker asks to be replaced at once.
    AsksToEnd(u32),
    /// A worker has expired and should be replaced when possible.
    Expired(u32, ExitReason),

    /// The answer to `AskKernel`: whether the kernel has killed the process for memory.
    KernelAsked(Dead, bool),
    /// The kernel has killed a serving worker for memory.
    OutOfMemory(u32),
    /// A check of memory is due.
    MemoryDue,
    /// The answer to `ReadMemory`, and whether an application is being loaded anywhere in this program.
    Memory { memory: Option<MemoryUse>, is_loading: bool },
    /// The answer to `Weigh`: the memory use of these processes; empty where no thread could be started to read it.
    Weighed(Vec<(Speaker, Option<Weight>)>),

    /// Requests wait for a worker.
    Wanted,
    /// A place of the shared budget was taken for one more worker.
    PlaceTaken,
    /// Another application needs one of the places of this one.
    GiveUp(Vec<Load>),
    /// The number of workers that were needed within the idle time.
    Needed(usize, Vec<Load>),

    /// A check of timeouts is due. The caller may have cancelled the start.
    TimeoutsDue { is_called_off: bool },
    /// A check is due whether processes that have exited may still send something.
    LastFramesDue,
    /// A health check of workers is due, this long after the last.
    HealthDue {
        passed: Duration,
        /// Workers whose out-of-band hooks run for too long, with their processes.
        out: Vec<(u32, u32)>,
        /// An operator watches snapshots, which show memory use.
        is_watched: bool,
    },

    /// An operator orders other bounds for the number of workers.
    Scale { min: usize, max: usize, loads: Vec<Load> },
    /// An operator orders a worker to exit when it has finished its requests, or to be killed now; without a successor,
    /// if it is not to be replaced and another one serves.
    EndWorker { worker: u32, now: bool, is_replaced: bool },
    /// An operator orders all workers to be replaced.
    Recycle,
    /// An operator asks for the backtraces of a worker.
    Backtraces(u32),

    /// End all processes; workers that have not exited by this time are killed.
    Stop(Instant),
    /// A check of the shutdown is due. Answers of dead workers may still be read.
    StopDue { has_last_answers: bool },
}
