//! What the fleet wants to be done.

use std::time::Duration;

use super::log_line::LogLine;
use super::outcome::Outcome;
use super::speaker::Speaker;
use crate::exit::Exit;
use crate::reason::Reason;
use crate::settings::Preload;
use crate::start_error::StartError;

/// What a mold says of itself when it is ready.
pub type Facts = Vec<(String, String)>;

/// A process that has ended before it was ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dead {
    /// With how it ended, where its mold has told.
    Worker { id: u32, pid: Option<u32>, exit: Option<Exit> },
    /// What it was to be, and whether it has spoken to us at all.
    Mold { exit: Exit, has_connected: bool, is_over: bool },
}

/// What is to be done, in this order.
#[derive(Debug)]
pub enum Action {
    /// Start a process: answered by `MoldStarted` or `MoldNotStarted`.
    StartMold,
    /// Tell a mold what to load and how.
    SetUp {
        mold: u32,
        preload: Preload,
        max_workers: usize,
    },
    /// Have a mold fork a worker, or become it.
    Fork {
        mold: u32,
        worker: u32,
    },
    /// Ask a worker whether it is there.
    Ping(u32),
    /// Have it finish what it has, then exit.
    Stop(Speaker),
    /// End this process at once.
    Kill(u32),
    /// It is gone: drop its connections.
    Forget(Speaker),

    /// Have dispatch give requests to a worker: answered by `TakenIn` or `NotTakenIn`.
    TakeIn {
        worker: u32,
        pid: u32,
    },
    /// Have dispatch give it nothing new, for this reason.
    Retire(u32, Reason),
    /// Tell dispatch why it is about to be killed.
    Mark(u32, Reason),
    /// Tell dispatch that it is gone.
    Bury(u32),
    /// Tell dispatch how many workers there are to be from now on.
    Grown(usize),
    /// The log says how it ended before its mold reports it.
    EndIsLogged(u32),

    /// Find out whether the kernel has killed it: answered by `KernelAsked`.
    AskKernel(Dead),
    /// See how memory stands: answered by `Memory`.
    LookAtMemory,
    /// See what memory these processes need: answered by `Weighed` or `NotWeighed`.
    Weigh(Vec<(Speaker, u32)>),
    /// Say `WorkerSilent` again after this time.
    LookAgain(u32, Duration),

    /// Take one of the places that applications share, where they do: answered by `PlaceTaken`, if there is one.
    TakePlace {
        has_none: bool,
    },
    /// Say that none of our places can be given up.
    KeepPlace,

    /// Answer the order that was given.
    Answer(Outcome),
    /// Ask a worker what its threads do, and answer with that.
    AskForBacktraces {
        worker: u32,
        pid: u32,
    },
    /// The start is over: what was loaded.
    Started(Facts),
    /// The start has failed, and all is over.
    CannotStart(StartError),

    Log(LogLine),
}
