//! Everything that can keep a request from its response, each with the one whose fault it is.
//! What status a fault becomes is not said here: the front's `reply.rs` is the only place that chooses.

use std::fmt;
use std::time::Duration;

use crate::brief::brief;

/// Whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Culprit {
    /// The one who sent the request.
    Client,
    /// The Ruby application.
    App,
    /// The engine, or the machine it runs on.
    Engine,
    /// Nobody: more work arrived than the settings allow.
    Load,
}

/// An exception the application let through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppError {
    /// The class of the exception, such as `NoMethodError`.
    pub class: String,
    /// Its message.
    pub message: String,
    /// Exceptions that led to it (`cause`), the nearest first: `caused by CLASS: MESSAGE (file:line)` each.
    pub causes: Vec<String>,
    /// Its backtrace, innermost call first, one `file:line:in method` each.
    pub backtrace: Vec<String>,
}

impl AppError {
    /// How the line of a cause begins.
    pub const CAUSE: &str = "caused by ";

    /// All that is told below its message.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.causes.iter().chain(&self.backtrace).map(String::as_str)
    }
}

/// More of something than a request may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overrun<T> {
    /// What it may have.
    pub limit: T,
    /// What it was doing then, innermost call first; empty where nobody knows.
    pub backtrace: Vec<String>,
}

impl<T> From<T> for Overrun<T> {
    fn from(limit: T) -> Overrun<T> {
        Overrun { limit, backtrace: Vec::new() }
    }
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The client went away before it had its whole answer.
    ClientGone,
    /// The application raised.
    App(Box<AppError>),
    /// The application answered something that the Rack specification does not allow; the text says what and why.
    BadAnswer(String),
    /// The application used up the time of its request.
    OutOfTime(Overrun<Duration>),
    /// The application used up the memory of its interpreter; bytes allowed.
    OutOfMemory(Overrun<usize>),
    /// The queue was full; how many may wait.
    QueueFull(usize),
    /// Nobody was free in the time a request may wait, or will be.
    QueueWait(Duration),
    /// The server is ending and takes nothing new.
    Stopping,
    /// The worker that ran the request died.
    WorkerDied(String),
    /// The engine cannot run the application at all.
    Broken(String),
}

impl Fault {
    /// The one word of each, with whose fault it is.
    pub const NAMES: [(&str, Culprit); 10] = [
        ("client_gone", Culprit::Client),
        ("app_error", Culprit::App),
        ("bad_answer", Culprit::App),
        ("out_of_time", Culprit::App),
        ("out_of_memory", Culprit::App),
        ("queue_full", Culprit::Load),
        ("queue_wait", Culprit::Load),
        ("stopping", Culprit::Load),
        ("worker_died", Culprit::Engine),
        ("broken", Culprit::Engine),
    ];

    /// Whose fault this is.
    pub fn culprit(&self) -> Culprit {
        match self {
            Fault::ClientGone => Culprit::Client,
            Fault::App(_) | Fault::BadAnswer(_) | Fault::OutOfTime(_) | Fault::OutOfMemory(_) => Culprit::App,
            Fault::WorkerDied(_) | Fault::Broken(_) => Culprit::Engine,
            Fault::QueueFull(_) | Fault::QueueWait(_) | Fault::Stopping => Culprit::Load,
        }
    }

    /// Where it happened, as far as that is known, and what led to it.
    pub fn lines(&self) -> Vec<&str> {
        match self {
            Fault::App(error) => error.lines().collect(),
            Fault::OutOfTime(Overrun { backtrace, .. }) | Fault::OutOfMemory(Overrun { backtrace, .. }) => {
                backtrace.iter().map(String::as_str).collect()
            }
            _ => Vec::new(),
        }
    }

    /// One word for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::ClientGone => "client_gone",
            Fault::App(_) => "app_error",
            Fault::BadAnswer(_) => "bad_answer",
            Fault::OutOfTime(_) => "out_of_time",
            Fault::OutOfMemory(_) => "out_of_memory",
            Fault::QueueFull(_) => "queue_full",
            Fault::QueueWait(_) => "queue_wait",
            Fault::Stopping => "stopping",
            Fault::WorkerDied(_) => "worker_died",
            Fault::Broken(_) => "broken",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::ClientGone => f.write_str("the client went away"),
            Fault::App(error) => write!(f, "{}: {}", error.class, error.message),
            Fault::BadAnswer(why) => write!(f, "the application's answer is not valid Rack: {why}"),
            Fault::OutOfTime(over) => write!(f, "timed out: the application took longer than {}", brief(over.limit)),
            Fault::OutOfMemory(Overrun { limit, .. }) => {
                write!(f, "the application used more than its {limit} bytes of memory")
            }
            Fault::QueueFull(places) => write!(f, "all {places} places in the queue are taken"),
            Fault::QueueWait(limit) => write!(f, "timed out in the queue: no worker was free within {}", brief(*limit)),
            Fault::Stopping => f.write_str("the server is shutting down"),
            Fault::WorkerDied(how) => write!(f, "the worker died: {how}"),
            Fault::Broken(why) => write!(f, "the engine cannot run the application: {why}"),
        }
    }
}

impl std::error::Error for Fault {}
