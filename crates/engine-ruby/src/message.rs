//! Messages to the supervisor, in the order in which they arrive: from the connections of processes, from dispatch,
//! from timers and from operators.

use std::os::unix::net::UnixStream as StdStream;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use engine::{Order, Surroundings};
use tokio::net::UnixStream;

use crate::exit::Exit;
use crate::exit_reason::ExitReason;
use crate::fleet::{Outcome, Speaker};
use crate::weight::Weight;
use crate::wire::frames::Frame;

/// Result of the `before_exec` hooks: what they changed, or why they failed.
pub type Prepared = Result<Surroundings, String>;

/// A message to the supervisor.
pub enum Message {
    /// A mold, by process id, has connected and sent HELLO.
    Mold(u32, UnixStream),
    /// A worker has opened its control connection: its number and process.
    Control(u32, u32, UnixStream),
    /// A worker has opened the connection of a thread: the numbers of worker and thread.
    Thread(u32, u32, StdStream),
    /// A mold or a worker has sent a frame on its control connection.
    Received(Speaker, Frame),
    /// The control connection of a mold or a worker has ended.
    Disconnected(Speaker),
    /// A process that this one started has ended.
    Ended(u32, Exit),
    /// A worker was removed from the pool; with an error if its process must be killed.
    WorkerGone(u32, Option<String>),
    /// A worker is retired: it finishes its requests and exits.
    Leaving(u32, ExitReason),
    /// A worker has expired and should be replaced when possible.
    Expired(u32, ExitReason),
    /// Requests wait for a worker.
    Wanted,
    /// Another application needs one of the places that this one has in the shared budget.
    GiveUp,
    /// The kernel has killed a worker because memory was full.
    OutOfMemory(u32),
    /// The memory use of these processes; none where it cannot be read.
    Weighed(Vec<(Speaker, Option<Weight>)>),
    /// An operator has given an order and waits for its outcome.
    Order(Order, SyncSender<Outcome>),
    /// The server is about to execute itself anew: run the `before_exec` hooks within this time, and send the result.
    BeforeExec(Duration, SyncSender<Prepared>),
    /// End all processes within this time, and report when that is done.
    Stop(Duration, SyncSender<()>),
}
