//! What the fleet is told.

use std::time::{Duration, Instant};

use machine::Standing;

use super::action::{Dead, Facts};
use super::speaker::Speaker;
use crate::exit::Exit;
use crate::process::memory::Weight;
use crate::reason::Reason;
use crate::start_error::StartError;

/// What dispatch knows of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub worker: u32,
    /// Requests that it has, and connections that the application has taken over in it.
    pub requests: usize,
    /// It has nothing to do at all.
    pub is_done: bool,
    pub is_leaving: bool,
}

/// What has happened, what others want of the fleet, or that it is time to look at something.
#[derive(Debug)]
pub enum Event {
    /// See to it that there are as many processes as there should be.
    Fill,

    /// A mold was started: this is its process.
    MoldStarted(u32),
    /// None could be.
    MoldNotStarted(StartError),
    /// The connection of a mold has come in.
    MoldConnected(u32),
    /// A mold has loaded the application, and says this of itself.
    MoldReady(u32, Facts),
    /// A mold cannot load the application.
    MoldFailed(u32, StartError),
    /// A mold will not fork, because its workers would share these connections.
    MoldShares(u32, Vec<String>),
    /// A mold has forked a worker, or has become one.
    Forked { mold: u32, worker: u32, pid: u32 },
    /// A mold tells how a worker of it has ended.
    Exited { mold: u32, worker: u32, pid: u32, exit: Exit },
    /// The connection of a mold has ended.
    MoldSilent(u32),
    /// A process that was started for a mold has ended.
    MoldEnded(u32, Exit),

    /// The connection over which a worker is given orders has come in, from this process.
    WorkerConnected(u32, u32),
    /// The connection of one thread of a worker has come in.
    ThreadConnected(u32),
    /// A worker has run its hooks.
    WorkerReady(u32),
    /// Dispatch gives a worker requests.
    TakenIn(u32),
    /// Its connections could not be used.
    NotTakenIn(u32),
    /// A worker cannot load the application.
    WorkerFailed(u32, StartError),
    /// A hook keeps a worker from starting.
    HookFailed(u32, StartError),
    /// A worker says something, whatever it is.
    Heard(u32),
    /// The connection of a worker has ended, or did so a while ago.
    WorkerSilent(u32),
    /// Dispatch has given a worker up; with what it did wrong if its process must be ended.
    WorkerGone(u32, Option<String>),
    /// A worker finishes what it has and goes.
    Leaving(u32, Reason),
    /// A worker should be replaced when there is time for it.
    Worn(u32, Reason),

    /// Whether the kernel has killed a process to have memory.
    KernelAsked(Dead, bool),
    /// The kernel has killed a worker, which served, to have memory.
    OutOfMemory(u32),
    /// Time to see whether memory is short.
    MemoryDue,
    /// How memory stands; and whether an application is being loaded anywhere in this program.
    Memory { standing: Option<Standing>, is_loading: bool },
    /// What memory these need.
    Weighed(Vec<(Speaker, Option<Weight>)>),
    /// That could not be found out.
    NotWeighed,

    /// Requests wait.
    Wanted,
    /// There is a place for one more worker among those that applications share.
    PlaceTaken,
    /// Another application needs one of our places.
    GiveUp(Vec<Load>),
    /// The number of workers that were needed of late.
    Needed(usize, Vec<Load>),

    /// Time to see what is late. The caller may have called the start off.
    Late { is_called_off: bool },
    /// Time to see whether processes that have ended will still say something.
    LastWordsDue,
    /// So much time has passed since workers were last looked at.
    HealthDue {
        passed: Duration,
        /// Workers that are away between two requests for too long, with their processes.
        out: Vec<(u32, u32)>,
        /// An operator looks at what memory they need.
        is_watched: bool,
    },

    /// An operator wants other bounds for the number of workers.
    Scale { min: usize, max: usize, loads: Vec<Load> },
    /// An operator wants a worker to end when it has finished what it has.
    EndWorker(u32),
    /// An operator wants a worker to end at once.
    KillWorker(u32),
    /// An operator wants all workers to be replaced.
    Recycle,
    /// An operator wants to know what a worker does.
    Backtraces(u32),

    /// End all processes; those of workers that have not ended by then are killed.
    Stop(Instant),
    /// Time to see how far the end has come. Answers of workers that are gone may still be read.
    StopDue { has_last_answers: bool },
}
