//! The actions of the fleet, which the supervisor carries out.

use std::time::Duration;

use super::log_line::LogLine;
use super::speaker::Speaker;
use crate::exit::Exit;
use crate::exit_reason::ExitReason;
use crate::preload::Preload;
use crate::start_error::StartError;

/// Names and values that a mold reports when it is ready.
pub type Facts = Vec<(String, String)>;

/// The outcome of an operator's order, as a sentence: what was done, or why the order was refused.
pub type Outcome = Result<String, String>;

/// A process that ended before it was ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dead {
    /// A worker, with its exit if its mold has reported that.
    Worker { id: u32, pid: Option<u32>, exit: Option<Exit> },
    /// A mold: how it exited, whether it ever connected, and whether it had already announced its end.
    Mold { exit: Exit, has_connected: bool, is_over: bool },
}

/// An action for the supervisor.
#[derive(Debug)]
pub enum Action {
    /// Start a mold: answered by `MoldStarted` or `MoldNotStarted`.
    StartMold,
    /// Send a mold its SETUP: what to load, and how.
    SetUp { mold: u32, preload: Preload, max_workers: usize },
    /// Order a mold to fork a worker, or to become it.
    Fork { mold: u32, worker: u32 },
    /// Ping a worker.
    Ping(u32),
    /// Tell a process to finish its requests and exit.
    Stop(Speaker),
    /// Kill this process.
    Kill(u32),
    /// Drop the connections of a process that is gone.
    Forget(Speaker),

    /// Add a worker to dispatch: answered by `WorkerAdded` or `WorkerNotAdded`.
    AddWorker { worker: u32, pid: u32 },
    /// Retire a worker in dispatch, for this reason.
    Retire(u32, ExitReason),
    /// Record in dispatch why a worker is about to be killed.
    Mark(u32, ExitReason),
    /// Remove a worker that is gone from dispatch.
    Remove(u32),
    /// Report the new size of the pool to dispatch.
    Grown(usize),
    /// Note that the log has the exit of a worker before its mold reports it.
    ExitIsLogged(u32),

    /// Find out whether the kernel has killed a process for memory: answered by `KernelAsked`.
    AskKernel(Dead),
    /// Read how much memory is used: answered by `Memory`.
    ReadMemory,
    /// Read the memory use of these processes: answered by `Weighed`.
    Weigh(Vec<(Speaker, u32)>),
    /// Send `WorkerDisconnected` again after this time.
    CheckAgain(u32, Duration),

    /// Take a place of the shared budget, if there is one: answered by `PlaceTaken` on success.
    TakePlace { has_none: bool },
    /// Tell the shared budget that no place can be given up.
    KeepPlace,

    /// Answer the current order.
    Answer(Outcome),
    /// Ask a worker for the backtraces of its threads, and answer the order with them.
    AskForBacktraces { worker: u32, pid: u32 },
    /// Report that the start is over, with the facts of the mold.
    Started(Facts),
    /// Report that the start has failed; everything has ended.
    CannotStart(StartError),

    /// Write a log entry.
    Log(LogLine),
}
