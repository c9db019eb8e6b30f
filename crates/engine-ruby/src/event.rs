//! What happens to processes, and what the supervisor is told to do, in the order in which it comes.

use std::fmt;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use engine::{Order, Surroundings};
use tokio::net::UnixStream;

use crate::exit::Exit;
use crate::frames::Frame;
use crate::memory::Weight;
use crate::reason::Reason;

/// What came of an order.
pub type Outcome = Result<String, String>;
/// What came of the hooks `before_exec`.
pub type Prepared = Result<Surroundings, String>;

/// What happens to processes.
pub enum Event {
    /// A process that we started has said HELLO.
    Mold(u32, UnixStream),
    /// A worker has opened its control connection.
    Control(u32, u32, UnixStream),
    /// A worker has opened the connection of a thread.
    Slot(u32, u32, StdStream),
    /// A mold or a worker says something; a mold's worker number is 0.
    Said(Speaker, Frame),
    /// Its connection has ended.
    Silent(Speaker),
    /// A process that we started has ended, in these words.
    Ended(u32, Exit),
    /// A worker was taken out of the pool, for this reason if there is a reason to end it.
    WorkerGone(u32, Option<String>),
    /// A worker finishes what it has and goes.
    Leaving(u32, Reason),
    /// A worker should be replaced when there is time for it.
    Worn(u32, Reason),
    /// Requests wait.
    Wanted,
    /// Another application needs one of our places.
    GiveUp,
    /// The kernel has killed a worker because memory was full.
    OutOfMemory(u32),
    /// What memory these need.
    Weighed(Vec<(Speaker, Option<Weight>)>),
    /// Somebody has given an order and waits for its outcome.
    Told(Order, SyncSender<Outcome>),
    /// The program is to be started anew: run the hooks for that within this time, and say what came of it.
    BeforeExec(Duration, SyncSender<Prepared>),
    /// End all processes within this time, and say when.
    Stop(Duration, SyncSender<()>),
}

/// Who speaks on a connection of orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The mold in this process.
    Mold(u32),
    /// The worker with this number.
    Worker(u32),
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Speaker::Mold(pid) => write!(f, "mold (pid {pid})"),
            Speaker::Worker(worker) => write!(f, "worker {worker}"),
        }
    }
}
