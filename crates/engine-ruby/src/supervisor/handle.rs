//! The way to the supervisor, for those who have an engine.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::Order;
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use crate::fleet::Outcome;
use crate::message::{Message, Prepared};

/// An order is carried out, or refused, in this time.
const ORDER_TIME: Duration = Duration::from_secs(5);

/// The hooks `before_exec` end in their time, or are ended; word of it has so long to arrive.
const WORD_TIME: Duration = Duration::from_secs(5);

/// The way to the supervisor.
pub struct Supervisor {
    messages: UnboundedSender<Message>,
    /// Its thread, until [`Supervisor::stop`] waits for the end of that.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Supervisor {
    /// With the channel of its messages, and its thread.
    pub fn new(messages: UnboundedSender<Message>, thread: JoinHandle<()>) -> Supervisor {
        Supervisor { messages, thread: Mutex::new(Some(thread)) }
    }

    /// Gives an order and waits for what comes of it.
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

    /// Runs the hooks `before_exec`, and gives what these have changed, or why they have failed.
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

    /// Ends all processes and returns when they have ended, and what was made for them is removed.
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
