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

/// Shows the oldest request of a worker, and its age, in the process title. A title stays for [`LONG`]: where requests
/// take about as long, as streams may, each of them would change it twice, and wake a thread of the worker for that.
pub fn show(worker: &mut Worker, thread: &Arc<WorkerThread>, age: Duration, now: Instant) {
    let pause = (age / PART).max(LONG);
    if worker.titled.is_some_and(|then| now.saturating_duration_since(then) < pause) {
        return;
    }
    if age < LONG {
        return clear(worker);
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
    use std::iter;

    use super::*;
    use crate::wire::control::Control;

    #[tokio::test]
    async fn a_title_stays_for_a_second_unless_its_worker_has_nothing_to_do() {
        let (control, mut orders) = Control::new();
        let control = Arc::new(control);
        let thread = Arc::new(WorkerThread::sample(1, 0, control.clone()).unwrap().0);
        let mut worker = Worker::new(1, 1, 0, control, Vec::new());
        let mut changes = || iter::from_fn(|| orders.try_recv().ok()).count();
        let start = Instant::now();
        let half = LONG / 2;
        for (millis, age, changed) in [(0, half, 0), (1, LONG, 1), (2, half, 0), (3, LONG, 0), (1001, half, 1)] {
            show(&mut worker, &thread, age, start + Duration::from_millis(millis));
            assert_eq!(changes(), changed, "after {millis} ms");
        }
        show(&mut worker, &thread, LONG, start + Duration::from_millis(1002));
        clear(&mut worker);
        assert_eq!(changes(), 2);
    }

    #[test]
    fn titles_are_short_and_printable() {
        assert_eq!(words("GET /orders", Duration::from_millis(1240)), "GET /orders 1.2s");
        assert_eq!(words("GET /a\u{1b}[2J\u{e4}", Duration::from_secs(2)), "GET /a?[2J? 2.0s");
        assert!(words(&"x".repeat(100), Duration::from_secs(2)).ends_with("xxx... 2.0s"));
    }
}
