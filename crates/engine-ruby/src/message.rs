//! What reaches the supervisor: from the connections of processes, from dispatch, from timers and from those who order
//! something, in the order in which it comes.

use std::os::unix::net::UnixStream as StdStream;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use engine::{Order, Surroundings};
use tokio::net::UnixStream;

use crate::exit::Exit;
use crate::fleet::{Outcome, Speaker};
use crate::process::memory::Weight;
use crate::reason::Reason;
use crate::wire::frames::Frame;

/// What came of the hooks `before_exec`.
pub type Prepared = Result<Surroundings, String>;

/// One of them.
pub enum Message {
    /// A process that we started has said HELLO.
    Mold(u32, UnixStream),
    /// A worker has opened its control connection.
    Control(u32, u32, UnixStream),
    /// A worker has opened the connection of a thread.
    Slot(u32, u32, StdStream),
    /// A mold or a worker says something.
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
    Order(Order, SyncSender<Outcome>),
    /// The program is to be started anew: run the hooks for that within this time, and say what came of it.
    BeforeExec(Duration, SyncSender<Prepared>),
    /// End all processes within this time, and say when.
    Stop(Duration, SyncSender<()>),
}
