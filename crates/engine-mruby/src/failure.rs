//! What C tells of an exception, or of a place where something was stopped, and the fault that it becomes.

use std::ffi::{CStr, c_char, c_void};

use engine::{AppError, Fault, Overrun, Request};

use crate::exchange::Exchange;
use crate::host::{text, with};

/// Follows a frame of a backtrace that stands for several.
const REPEATED: &str = " (";

/// Adds a frame; a run of equal ones, as endless recursion has, becomes one line with their number.
fn push_frame(backtrace: &mut Vec<String>, line: String) {
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

// SAFETY: the names below are declared in c/fg.h with these very types, and defined nowhere else.
#[unsafe(no_mangle)]
extern "C" fn fg_host_error(
    host: *mut c_void,
    klass: *const c_char,
    klass_length: usize,
    message: *const c_char,
    message_length: usize,
) {
    with(host, (), |host| {
        let (class, message) = (text(klass, klass_length), text(message, message_length));
        host.error = Some(AppError { class, message, ..AppError::default() });
    })
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn fg_host_frame(host: *mut c_void, line: *const c_char, length: usize) {
    with(host, (), |host| {
        if let Some(error) = &mut host.error {
            let line = text(line, length);
            if line.starts_with(AppError::CAUSE) {
                error.causes.push(line)
            } else {
                push_frame(&mut error.backtrace, line)
            }
        }
    })
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn fg_host_late_error(host: *mut c_void, what: *const c_char) {
    // SAFETY: C passes a literal.
    let what = unsafe { CStr::from_ptr(what) }.to_string_lossy();
    with(host, (), |host| {
        let (Some(exchange), Some(error)) = (&host.exchange, host.error.take()) else { return };
        let app = host.shared.app.as_deref();
        let Request { id, method, path, .. } = &exchange.request;
        let AppError { class, message, .. } = &error;
        let lines: String = error.lines().map(|line| format!("\n  {line}")).collect();
        tracing::error!(
            target: "app",
            id, %method, path, app,
            "request {id}, {method} {path}: {what}: {message} ({class}){lines}"
        );
    })
}
