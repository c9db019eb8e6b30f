//! What the list of processes says of a worker whose request takes long. Short requests cost nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::slot::Slot;
use super::worker::Worker;

/// A request that has run for so long is shown.
const LONG: Duration = Duration::from_secs(1);
/// Each further change comes after this part of the time that it has run, and not before `LONG`: an endless stream
/// would otherwise be told of every second.
const PART: u32 = 10;
/// Of a path.
const LETTERS: usize = 60;

/// Shows the oldest request of a worker, which has run for so long.
pub fn show(worker: &mut Worker, slot: &Arc<Slot>, age: Duration, now: Instant) {
    if age < LONG {
        return clear(worker);
    }
    let pause = (age / PART).max(LONG);
    if worker.titled.is_some_and(|then| now.saturating_duration_since(then) < pause) {
        return;
    }
    worker.titled = Some(now);
    worker.control.title(&words(&slot.title(), age));
}

/// Shows no request any more.
pub fn clear(worker: &mut Worker) {
    if worker.titled.take().is_some() {
        worker.control.title("");
    }
}

/// `GET /orders 1.2s`, of printable letters alone: it ends up on people's terminals.
fn words(title: &str, age: Duration) -> String {
    let plain = |letter: char| if letter.is_ascii_graphic() || letter == ' ' { letter } else { '?' };
    let mut shown: String = title.chars().take(LETTERS).map(plain).collect();
    if title.chars().count() > LETTERS {
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
