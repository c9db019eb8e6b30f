//! The process title of a worker whose request takes long. Short requests cost nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::worker::Worker;
use super::worker_thread::WorkerThread;

/// The run time after which a request is shown in the title.
const LONG: Duration = Duration::from_secs(1);
/// Divisor of the run time that gives the pause before the next change of the title, which is at least `LONG`: an
/// endless stream would otherwise change it every second.
const PART: u32 = 10;
/// Characters of a request's method and path that are shown.
const LETTERS: usize = 60;

/// Shows the oldest request of a worker, and its age, in the process title.
pub fn show(worker: &mut Worker, thread: &Arc<WorkerThread>, age: Duration, now: Instant) {
    if age < LONG {
        return clear(worker);
    }
    let pause = (age / PART).max(LONG);
    if worker.titled.is_some_and(|then| now.saturating_duration_since(then) < pause) {
        return;
    }
    worker.titled = Some(now);
    worker.control.title(&words(&thread.request_line(), age));
}

/// Removes the request from the process title.
pub fn clear(worker: &mut Worker) {
    if worker.titled.take().is_some() {
        worker.control.title("");
    }
}

/// Returns a title such as `GET /orders 1.2s`, in printable ASCII alone, since it ends up on terminals.
fn words(request: &str, age: Duration) -> String {
    let plain = |letter: char| if letter.is_ascii_graphic() || letter == ' ' { letter } else { '?' };
    let mut shown: String = request.chars().take(LETTERS).map(plain).collect();
    if request.chars().count() > LETTERS {
        shown.push_str("...");
    }
    format!("{shown} {:.1}s", age.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_short_and_printable() {
        assert_eq!(words("GET /orders", Duration::from_millis(1240)), "GET /orders 1.2s");
        assert_eq!(words("GET /a\u{1b}[2J\u{e4}", Duration::from_secs(2)), "GET /a?[2J? 2.0s");
        assert!(words(&"x".repeat(100), Duration::from_secs(2)).ends_with("xxx... 2.0s"));
    }
}
