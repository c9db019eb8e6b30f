//! What C tells of an exception, or of a place where something was stopped, and the fault that it becomes.

use engine::{AppError, Fault, Overrun};

use crate::exchange::Exchange;

/// Follows a frame of a backtrace that stands for several.
const REPEATED: &str = " (";

/// Adds a frame; a run of equal ones, as endless recursion has, becomes one line with their number.
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

/// Where it was.
pub fn trace(error: Option<AppError>) -> Vec<String> {
    error.map(|error| error.backtrace).unwrap_or_default()
}

/// The fault of a request that has used up its time there.
pub fn out_of_time(exchange: &Exchange, error: Option<AppError>) -> Fault {
    Fault::OutOfTime(Overrun { limit: exchange.request.time_allowed(), backtrace: trace(error) })
}
