//! All reasons why a request has no response, each with the party at fault. The response that the client gets instead
//! is chosen in one place, the front's `reply.rs`.

use std::fmt;
use std::time::Duration;

use crate::human::brief;

/// The party at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Culprit {
    /// The client.
    Client,
    /// The Ruby application.
    App,
    /// The engine, or the machine it runs on.
    Engine,
    /// None of these: more work arrived than the settings allow.
    Load,
}

/// An exception that the application raised and did not rescue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppError {
    /// The class of the exception, such as `NoMethodError`.
    pub class: String,
    /// Its message.
    pub message: String,
    /// Its causes (`Exception#cause`), nearest first, one `caused by CLASS: MESSAGE (file:line)` each.
    pub causes: Vec<String>,
    /// Its backtrace, innermost call first, one `file:line:in method` each.
    pub backtrace: Vec<String>,
}

impl AppError {
    /// Prefix of a line in [`AppError::causes`].
    pub const CAUSE: &str = "caused by ";

    /// All lines that are printed below its message: causes, then backtrace.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.causes.iter().chain(&self.backtrace).map(String::as_str)
    }
}

/// A limit of a request that was exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overrun<T> {
    /// The limit.
    pub limit: T,
    /// The application's backtrace at that moment, innermost call first; empty where it is unknown.
    pub backtrace: Vec<String>,
}

impl<T> From<T> for Overrun<T> {
    fn from(limit: T) -> Overrun<T> {
        Overrun { limit, backtrace: Vec::new() }
    }
}

/// Reason why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The client disconnected before it had received the whole response.
    ClientGone,
    /// The application raised an exception.
    App(Box<AppError>),
    /// The application's answer violates the Rack specification; the text says what is wrong and why.
    BadAnswer(String),
    /// The application exceeded the time limit of its request.
    OutOfTime(Overrun<Duration>),
    /// The application exceeded the memory limit of its interpreter, in bytes.
    OutOfMemory(Overrun<usize>),
    /// The queue was full; the number is its size.
    QueueFull(usize),
    /// No worker was free within the time that the request has waited.
    QueueWait(Duration),
    /// The application is paused, and the request has waited for all the time that it may take.
    QueuePaused(Duration),
    /// By the forecast, no worker would be free within the time that the request may wait: it was refused at once.
    QueueLate(Duration),
    /// No file could be opened for a large request or for the response: there are as many open files as there may be.
    OutOfFiles,
    /// The server is shutting down and accepts no new requests.
    Stopping,
    /// The worker that ran the request died; the text says how.
    WorkerDied(String),
    /// The engine cannot run the application at all; the text says why.
    Broken(String),
    /// The body of the request is not valid HTTP; the text says why.
    BodyMalformed(&'static str),
    /// The body of the request is larger than allowed.
    BodyTooLarge,
    /// The body of the request came too slowly; the text says more.
    BodyLate(&'static str),
    /// There is no space for the body of the request; the text says where.
    DiskFull(String),
    /// The body of the request could not be stored; the text says why.
    DiskError(String),
}

impl Fault {
    /// The name of each fault in logs and metrics, with the party at fault.
    pub const NAMES: [(&str, Culprit); 16] = [
        ("client_gone", Culprit::Client),
        ("app_error", Culprit::App),
        ("bad_answer", Culprit::App),
        ("out_of_time", Culprit::App),
        ("out_of_memory", Culprit::App),
        ("queue_full", Culprit::Load),
        ("queue_wait", Culprit::Load),
        ("out_of_files", Culprit::Load),
        ("stopping", Culprit::Load),
        ("worker_died", Culprit::Engine),
        ("broken", Culprit::Engine),
        ("body_malformed", Culprit::Client),
        ("body_too_large", Culprit::Client),
        ("body_late", Culprit::Client),
        ("disk_full", Culprit::Engine),
        ("disk_error", Culprit::Engine),
    ];

    /// The party at fault.
    pub fn culprit(&self) -> Culprit {
        match self {
            Fault::ClientGone | Fault::BodyMalformed(_) | Fault::BodyTooLarge | Fault::BodyLate(_) => Culprit::Client,
            Fault::App(_) | Fault::BadAnswer(_) | Fault::OutOfTime(_) | Fault::OutOfMemory(_) => Culprit::App,
            Fault::WorkerDied(_) | Fault::Broken(_) | Fault::DiskFull(_) | Fault::DiskError(_) => Culprit::Engine,
            Fault::QueueFull(_)
            | Fault::QueueWait(_)
            | Fault::QueuePaused(_)
            | Fault::QueueLate(_)
            | Fault::OutOfFiles
            | Fault::Stopping => Culprit::Load,
        }
    }

    /// Backtrace and causes, as far as they are known.
    pub fn lines(&self) -> Vec<&str> {
        match self {
            Fault::App(error) => error.lines().collect(),
            Fault::OutOfTime(Overrun { backtrace, .. }) | Fault::OutOfMemory(Overrun { backtrace, .. }) => {
                backtrace.iter().map(String::as_str).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Backtrace and causes as the log has them below a message: each on a line of its own, indented.
    pub fn log_lines(&self) -> String {
        self.lines().iter().flat_map(|line| ["\n  ", line]).collect()
    }

    /// Name of the fault in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::ClientGone => "client_gone",
            Fault::App(_) => "app_error",
            Fault::BadAnswer(_) => "bad_answer",
            Fault::OutOfTime(_) => "out_of_time",
            Fault::OutOfMemory(_) => "out_of_memory",
            Fault::QueueFull(_) => "queue_full",
            Fault::QueueWait(_) | Fault::QueuePaused(_) | Fault::QueueLate(_) => "queue_wait",
            Fault::OutOfFiles => "out_of_files",
            Fault::Stopping => "stopping",
            Fault::WorkerDied(_) => "worker_died",
            Fault::Broken(_) => "broken",
            Fault::BodyMalformed(_) => "body_malformed",
            Fault::BodyTooLarge => "body_too_large",
            Fault::BodyLate(_) => "body_late",
            Fault::DiskFull(_) => "disk_full",
            Fault::DiskError(_) => "disk_error",
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
            Fault::QueueFull(1) => f.write_str("the only place in the queue is taken"),
            Fault::QueueFull(places) => write!(f, "all {places} places in the queue are taken"),
            Fault::QueueWait(limit) => write!(f, "timed out in the queue: no worker was free within {}", brief(*limit)),
            Fault::QueuePaused(waited) => {
                write!(f, "timed out in the queue after {}: the application is paused", brief(*waited))
            }
            Fault::QueueLate(limit) => {
                write!(f, "the queue is too long: no worker would be free within {}", brief(*limit))
            }
            Fault::OutOfFiles => f.write_str("no file could be opened: too many open files"),
            Fault::Stopping => f.write_str("the server is shutting down"),
            Fault::WorkerDied(how) => write!(f, "the worker died: {how}"),
            Fault::Broken(why) => write!(f, "the engine cannot run the application: {why}"),
            Fault::BodyMalformed(why) | Fault::BodyLate(why) => f.write_str(why),
            Fault::BodyTooLarge => f.write_str("the body is too large"),
            Fault::DiskFull(why) | Fault::DiskError(why) => write!(f, "the body cannot be kept: {why}"),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_name_and_its_culprit_and_says_what_is_known() {
        let backtrace = vec!["app.rb:1".to_owned()];
        let causes = vec!["caused by F: n".to_owned()];
        let error = AppError { class: "E".into(), message: "m".into(), causes, backtrace: backtrace.clone() };
        let time = Overrun { limit: Duration::from_secs(3), backtrace: backtrace.clone() };
        let faults: [(Fault, &str, &[&str]); 19] = [
            (Fault::ClientGone, "", &[]),
            (Fault::App(Box::new(error)), "E: m", &["caused by F: n", "app.rb:1"]),
            (Fault::BadAnswer("no status".into()), "no status", &[]),
            (Fault::OutOfTime(time), "longer than 3s", &["app.rb:1"]),
            (Fault::OutOfMemory(Overrun { limit: 7, backtrace }), "7 bytes", &["app.rb:1"]),
            (Fault::QueueFull(5), "5 places", &[]),
            (Fault::QueueFull(1), "the only place", &[]),
            (Fault::QueueWait(Duration::from_millis(1500)), "within 1.5s", &[]),
            (Fault::QueuePaused(Duration::from_secs(30)), "after 30s: the application is paused", &[]),
            (Fault::QueueLate(Duration::from_secs(10)), "would be free within 10s", &[]),
            (Fault::OutOfFiles, "", &[]),
            (Fault::Stopping, "", &[]),
            (Fault::WorkerDied("killed".into()), "killed", &[]),
            (Fault::Broken("no Ruby".into()), "no Ruby", &[]),
            (Fault::BodyMalformed("no end"), "no end", &[]),
            (Fault::BodyTooLarge, "too large", &[]),
            (Fault::BodyLate("too slow"), "too slow", &[]),
            (Fault::DiskFull("no space".into()), "cannot be kept: no space", &[]),
            (Fault::DiskError("no permission".into()), "cannot be kept: no permission", &[]),
        ];
        // All faults of a wait have one name.
        let mut names = faults.each_ref().map(|(fault, ..)| (fault.name(), fault.culprit())).to_vec();
        names.dedup();
        assert_eq!(names, Fault::NAMES);
        for (fault, words, lines) in faults {
            assert!(fault.to_string().contains(words), "{fault}");
            assert_eq!(fault.lines(), lines, "{fault}");
        }
    }
}
