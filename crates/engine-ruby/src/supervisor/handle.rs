//! The handle of the supervisor, for the owner of an engine.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::Order;
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use crate::fleet::Outcome;
use crate::message::{Message, Prepared};

/// The time within which an order is carried out or refused.
const ORDER_TIME: Duration = Duration::from_secs(5);

/// The time that the result of the `before_exec` hooks may need to arrive after their time limit.
const WORD_TIME: Duration = Duration::from_secs(5);

/// The handle of a running supervisor.
pub struct Supervisor {
    messages: UnboundedSender<Message>,
    /// The supervisor's thread, until [`Supervisor::stop`] joins it.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Supervisor {
    /// Creates the handle of a supervisor from the channel of its messages and its thread.
    pub fn new(messages: UnboundedSender<Message>, thread: JoinHandle<()>) -> Supervisor {
        Supervisor { messages, thread: Mutex::new(Some(thread)) }
    }

    /// Sends an order and waits for its outcome.
    pub fn order(&self, order: Order) -> Outcome {
        let (sender, outcome) = sync_channel(1);
        let late = match &order {
            Order::Backtraces(worker) => format!("worker {worker} did not answer within {ORDER_TIME:?}"),
            _ => format!("the supervisor did not answer within {ORDER_TIME:?}"),
        };
        if self.messages.send(Message::Order(order, sender)).is_err() {
            return Err("the engine has ended".to_owned());
        }
        outcome.recv_timeout(ORDER_TIME).unwrap_or(Err(late))
    }

    /// Runs the `before_exec` hooks and returns what they have changed, or why they failed.
    pub fn before_exec(&self, limit: Duration) -> Prepared {
        let (sender, outcome) = sync_channel(1);
        if self.messages.send(Message::BeforeExec(limit, sender)).is_err() {
            return Err("the engine has ended".to_owned());
        }
        match outcome.recv_timeout(limit + WORD_TIME) {
            Ok(prepared) => prepared,
            Err(RecvTimeoutError::Timeout) => Err(format!("they have not ended within {limit:?}")),
            Err(RecvTimeoutError::Disconnected) => Err("the process that runs them has ended".to_owned()),
        }
    }

    /// Reports that the server serves with this engine. Does not wait.
    pub fn serve(&self) {
        let _ = self.messages.send(Message::Serving);
    }

    /// Leaves at most this time to the stop that has begun, and begins one if none has. Does not wait.
    pub fn hurry(&self, time: Duration) {
        let (sender, _) = sync_channel(1);
        let _ = self.messages.send(Message::Stop(time, sender));
    }

    /// Ends all processes; returns when they have ended and the process folder is removed.
    pub fn stop(&self, time: Duration) {
        let (sender, done) = sync_channel(1);
        if self.messages.send(Message::Stop(time, sender)).is_ok()
            && done.recv_timeout(time + Duration::from_secs(5)) == Err(RecvTimeoutError::Timeout)
        {
            return;
        }
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}
