//! The flight recorder: requests of the past that were slow or failed, kept whatever became of their worker. Most
//! requests are neither, and cost it two comparisons.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::fault::{Culprit, Fault};
use crate::response::Response;
use crate::snapshot::{Past, Recorded};

/// So many of each kind.
const KEPT: usize = 50;
/// A deeper backtrace helps nobody.
const BACKTRACE_LINES: usize = 200;
/// Until somebody says otherwise.
const SLOW: Duration = Duration::from_secs(1);

/// What is kept.
#[derive(Debug)]
pub struct Recorder {
    slow_us: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    slow: VecDeque<Past>,
    failed: VecDeque<Past>,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder { slow_us: AtomicU64::new(SLOW.as_micros() as u64), kept: Mutex::default() }
    }
}

impl Recorder {
    /// From when on a request is slow.
    pub fn set_slow(&self, time: Duration) {
        self.slow_us.store(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Takes note of a request that is over, if it was slow or failed; only then it asks who it was.
    pub fn note(
        &self,
        result: &Result<Response, Fault>,
        queued: Duration,
        ran: Duration,
        about: impl FnOnce() -> Past,
    ) {
        let has_failed = match result {
            Ok(response) => response.head.status.as_u16() >= 500,
            Err(fault) => matches!(fault.culprit(), Culprit::App | Culprit::Engine),
        };
        let is_slow = ran.as_micros() >= u128::from(self.slow_us.load(Ordering::Relaxed));
        let is_refused = result.is_err() && !has_failed;
        if is_refused || !(has_failed || is_slow) {
            return;
        }
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let fault = result.as_ref().err();
        let past = Past {
            at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            queued_ms: queued.as_secs_f64() * 1e3,
            took_ms: ran.as_secs_f64() * 1e3,
            status: result.as_ref().ok().map(|response| response.head.status.as_u16()),
            fault: fault.map_or("", Fault::name).to_owned(),
            why: fault.map(ToString::to_string).unwrap_or_default(),
            backtrace: fault.map_or_else(Vec::new, |fault| {
                fault.lines().into_iter().take(BACKTRACE_LINES).map(str::to_owned).collect()
            }),
            ..about()
        };
        let mut kept = self.lock();
        if is_slow {
            push(&mut kept.slow, past.clone());
        }
        if has_failed {
            push(&mut kept.failed, past);
        }
    }

    /// What the thread of a request was doing when its time was over; this is learned after its answer.
    pub fn add_backtrace(&self, id: &str, lines: &[String]) {
        let mut kept = self.lock();
        let Kept { slow, failed } = &mut *kept;
        for past in slow.iter_mut().chain(failed).filter(|past| past.id == id) {
            past.backtrace = lines.iter().take(BACKTRACE_LINES).cloned().collect();
        }
    }

    /// All that is kept, newest first.
    pub fn read(&self) -> Recorded {
        let kept = self.lock();
        Recorded { slow: kept.slow.iter().cloned().collect(), failed: kept.failed.iter().cloned().collect() }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing under this lock can panic half-way through a change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push(kept: &mut VecDeque<Past>, past: Past) {
    kept.truncate(KEPT - 1);
    kept.push_front(past);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::{Body, ResponseHead};

    fn answer(status: i64) -> Result<Response, Fault> {
        let mut head = ResponseHead::default();
        head.set_status(status).unwrap();
        Ok(Response { head, body: Body::Empty })
    }

    fn note(recorder: &Recorder, result: &Result<Response, Fault>, ran_ms: u64, id: &str) {
        let about = || Past { id: id.to_owned(), ..Past::default() };
        recorder.note(result, Duration::from_millis(5), Duration::from_millis(ran_ms), about);
    }

    fn ids(of: &[Past]) -> Vec<&str> {
        of.iter().map(|past| past.id.as_str()).collect()
    }

    #[test]
    fn slow_and_failed_requests_are_kept_newest_first() {
        let recorder = Recorder::default();
        note(&recorder, &answer(200), 999, "quick");
        note(&recorder, &answer(200), 1000, "slow");
        note(&recorder, &answer(503), 1, "failed");
        note(&recorder, &Err(Fault::OutOfTime(Duration::from_secs(3).into())), 3000, "late");
        note(&recorder, &Err(Fault::QueueFull(3)), 0, "refused");
        let Recorded { slow, failed } = recorder.read();
        assert_eq!((ids(&slow), ids(&failed)), (vec!["late", "slow"], vec!["late", "failed"]));
        assert_eq!((failed[0].fault.as_str(), failed[1].status), ("out_of_time", Some(503)));
        assert!(failed[0].why.contains("3s") && failed[0].took_ms >= 3000.0, "{:?}", failed[0]);
    }

    #[test]
    fn what_is_kept_has_an_end_and_the_oldest_goes() {
        let recorder = Recorder::default();
        recorder.set_slow(Duration::ZERO);
        (0..KEPT + 3).for_each(|number| note(&recorder, &answer(200), 1, &number.to_string()));
        let slow = recorder.read().slow;
        assert_eq!((slow.len(), slow[0].id.as_str(), slow[KEPT - 1].id.as_str()), (KEPT, "52", "3"));
    }

    #[test]
    fn a_backtrace_finds_its_request() {
        let recorder = Recorder::default();
        note(&recorder, &Err(Fault::OutOfTime(Duration::from_secs(3).into())), 3000, "late");
        recorder.add_backtrace("late", &["app.rb:1".to_owned()]);
        recorder.add_backtrace("other", &["app.rb:2".to_owned()]);
        assert_eq!(recorder.read().failed[0].backtrace, ["app.rb:1"]);
        assert_eq!(recorder.read().slow[0].backtrace, ["app.rb:1"]);
    }
}
