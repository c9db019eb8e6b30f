//! Exceptions and backtraces that C reports, and the faults they become.

use engine::{AppError, Fault, Overrun, Request};

use crate::response_writer::ResponseWriter;

/// Classes of the exceptions that end the code of a request whose client has disconnected, or that is interrupted.
const ENDINGS: [&str; 2] = ["FoolsGold::ClientGone", "FoolsGold::RequestTimeout"];

/// Separates a frame of a backtrace from the number of its repetitions: "app.rb:3:in f (12 times)".
const REPEATED: &str = " (";

/// Appends a frame to a backtrace. A run of equal frames, as endless recursion has, becomes one line with their number.
pub fn push_frame(backtrace: &mut Vec<String>, line: String) {
    match backtrace.last_mut().and_then(|last| last.strip_prefix(line.as_str()).map(str::to_owned)) {
        Some(rest) if rest.is_empty() || rest.starts_with(REPEATED) => {
            let times = rest.trim_start_matches(REPEATED).split(' ').next().and_then(|times| times.parse().ok());
            let times: u32 = times.unwrap_or(1);
            backtrace.pop();
            backtrace.push(format!("{line}{REPEATED}{} times)", times + 1));
        }
        _ => backtrace.push(line),
    }
}

/// The backtrace of a reported exception; empty where none was reported.
pub fn trace(error: Option<AppError>) -> Vec<String> {
    error.map(|error| error.backtrace).unwrap_or_default()
}

/// The fault of a request that was interrupted, with the place where it was: it timed out, or an order has ended it.
pub fn interrupted(writer: &ResponseWriter, error: Option<AppError>) -> Fault {
    let backtrace = trace(error);
    if writer.is_ended_by_order() {
        let place = backtrace.first().map(|frame| format!(", at {frame}")).unwrap_or_default();
        return Fault::WorkerDied(format!(
            "it was ended, by kill-worker --now or with the code that a reload has replaced{place}"
        ));
    }
    Fault::OutOfTime(Overrun { limit: writer.request.time_allowed(), backtrace })
}

/// Logs a fault of the application in a request whose client has disconnected. The front logs only faults that it
/// answers with, and does not learn of this one.
pub fn log_unseen(fault: &Fault, request: &Request, app: Option<&str>) {
    let is_unseen = match fault {
        Fault::App(error) => {
            let is_ending = |text: &str| ENDINGS.iter().any(|words| text.contains(*words));
            !is_ending(&error.class) && !error.causes.iter().any(|cause| is_ending(cause))
        }
        Fault::BadAnswer(_) | Fault::OutOfMemory(_) => true,
        _ => false,
    };
    if !is_unseen {
        return;
    }
    let Request { id, method, path, .. } = request;
    let name = fault.name();
    let lines = fault.log_lines();
    tracing::error!(
        target: "app",
        id, %method, path, app, fault = name,
        "request {id}, {method} {path}: its client has disconnected: {fault}{lines}"
    );
}
