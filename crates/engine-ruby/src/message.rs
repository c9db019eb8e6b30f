//! Messages to the supervisor, in the order in which they arrive: from the connections of processes, from dispatch,
//! from timers and from operators.

use std::os::unix::net::UnixStream as StdStream;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use engine::{Order, Surroundings};
use tokio::net::UnixStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::fleet::{Event, Outcome, Speaker};
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
    /// A worker asks for its claims: its number.
    Claims(u32, UnixStream),
    /// A mold or a worker has sent a frame on its control connection. The permit is a place in the queue, which is free
    /// again when the frame has been handled.
    Received(Speaker, Frame, OwnedSemaphorePermit),
    /// The control connection of a mold or a worker has ended.
    Disconnected(Speaker),
    /// An event for the fleet, which gets it unchanged.
    Event(Event),
    /// Another application needs one of the places that this one has in the shared budget.
    GiveUp,
    /// An operator has given an order and waits for its outcome.
    Order(Order, SyncSender<Outcome>),
    /// The server is about to execute itself anew: run the `before_exec` hooks within this time, and send the result.
    BeforeExec(Duration, SyncSender<Prepared>),
    /// The server serves with this engine.
    Serving,
    /// End all processes within this time, and report when that is done.
    Stop(Duration, SyncSender<()>),
}

/// Creates the queue of a supervisor. Messages are few: a process begins or ends, and of each connection only some
/// frames are queued. None may be lost.
#[expect(clippy::disallowed_methods, reason = "see above")]
pub fn channel() -> (UnboundedSender<Message>, UnboundedReceiver<Message>) {
    unbounded_channel()
}
