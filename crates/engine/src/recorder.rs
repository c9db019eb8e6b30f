//! The flight recorder: recent requests that were slow, failed or refused, kept even after their worker has died. Most
//! requests are none of these; for them it costs two comparisons.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::fault::{Culprit, Fault};
use crate::snapshot::{Past, Recorded};

/// Number of requests that are kept of each kind.
const KEPT: usize = 50;
/// Number of requests that are kept whose only failure is that the client left in the middle of the response, or sent a
/// body that was not accepted. Clients do that all the time, and must not push out the requests that failed otherwise.
const CLIENTS_KEPT: usize = 10;
/// Lines of a backtrace that are kept.
const BACKTRACE_LINES: usize = 200;
/// Interval in which at most one refused request is recorded; an overload can refuse thousands per second.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(1);
/// Time after which a request is slow, until [`Recorder::set_slow`] is called.
const SLOW: Duration = Duration::from_secs(1);

/// The recorder of one application.
#[derive(Debug)]
pub struct Recorder {
    slow_us: AtomicU64,
    /// Time when the last refused request was recorded, in milliseconds since 1970.
    refused_at_ms: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    slow: VecDeque<Past>,
    failed: VecDeque<Past>,
    refused: VecDeque<Past>,
}

/// The longest text of a failure that is kept, in bytes: an application's message may contain a whole request body.
const TEXT_MAX: usize = 16 << 10;

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_MAX));
    // What was longer must not be kept beside it.
    text.shrink_to_fit();
    text
}

impl Default for Recorder {
    fn default() -> Recorder {
        let slow_us = AtomicU64::new(SLOW.as_micros() as u64);
        Recorder { slow_us, refused_at_ms: AtomicU64::new(0), kept: Mutex::default() }
    }
}

impl Recorder {
    /// Sets the running time from which a request counts as slow.
    pub fn set_slow(&self, time: Duration) {
        self.slow_us.store(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Records a request with the status of its response, or its fault, if it was slow, failed or refused. Calls
    /// `about` for its identity only then. With a fault, `about` may give the status, too.
    pub fn note(&self, outcome: Result<u16, &Fault>, queued: Duration, ran: Duration, about: impl FnOnce() -> Past) {
        let fault = outcome.err();
        let culprit = fault.map(Fault::culprit);
        let has_failed = match outcome {
            Ok(status) => status >= 500,
            Err(Fault::ClientGone) => false,
            Err(_) => culprit != Some(Culprit::Load),
        };
        let is_refused = culprit == Some(Culprit::Load);
        let is_slow = ran.as_micros() >= u128::from(self.slow_us.load(Ordering::Relaxed));
        let is_kept = has_failed || is_refused || is_slow && culprit.is_none();
        if !is_kept {
            return;
        }
        let at_ms = unix_ms(SystemTime::now());
        if is_refused && !self.is_next_refusal(at_ms) {
            return;
        }
        let about = about();
        let past = Past {
            at_ms,
            queued_ms: queued.as_secs_f64() * 1e3,
            took_ms: ran.as_secs_f64() * 1e3,
            status: outcome.ok().or(about.status),
            ..about
        };
        let past = match fault {
            Some(fault) => with_fault(past, fault),
            None => past,
        };
        let mut kept = self.kept.lock();
        if is_refused {
            return push(&mut kept.refused, past);
        }
        if is_slow {
            push(&mut kept.slow, past.clone());
        }
        if has_failed {
            push_failed(&mut kept.failed, past);
        }
    }

    /// Records a request whose response broke off with this fault after its head was sent, among those that failed.
    /// `past` has its identity, times and status.
    pub fn note_broken_off(&self, fault: &Fault, past: Past) {
        let mut past = with_fault(Past { at_ms: unix_ms(SystemTime::now()), ..past }, fault);
        let mut kept = self.kept.lock();
        let Kept { slow, failed, .. } = &mut *kept;
        // The engine has recorded it with its worker, if it was slow, or failed by its status.
        let earlier = failed.iter().position(|other| other.id == past.id).and_then(|at| failed.remove(at));
        let by = earlier.as_ref().or_else(|| slow.iter().find(|other| other.id == past.id));
        if let Some(by) = by {
            (past.worker, past.pid) = (by.worker, by.pid);
        }
        push_failed(failed, past);
    }

    /// Adds the backtrace of its thread to the records of a request that timed out: the engine learns it only after it
    /// has sent the fault.
    pub fn add_backtrace(&self, id: &str, lines: &[String]) {
        let mut kept = self.kept.lock();
        let Kept { slow, failed, .. } = &mut *kept;
        for past in slow.iter_mut().chain(failed).filter(|past| past.id == id) {
            past.backtrace = lines.iter().take(BACKTRACE_LINES).cloned().collect();
        }
    }

    /// Records a request with this fault in place of its earlier records. `past` has its identity.
    pub(crate) fn note_anew(&self, fault: &Fault, queued: Duration, ran: Duration, past: Past) {
        self.forget(&past.id);
        self.note(Err(fault), queued, ran, || past);
    }

    /// Removes the records of a request.
    fn forget(&self, id: &str) {
        let mut kept = self.kept.lock();
        let Kept { slow, failed, .. } = &mut *kept;
        for list in [slow, failed] {
            list.retain(|past| past.id != id);
        }
    }

    /// All recorded requests, newest first.
    pub fn read(&self) -> Recorded {
        let kept = self.kept.lock();
        let read = |kept: &VecDeque<Past>| kept.iter().cloned().collect();
        Recorded { slow: read(&kept.slow), failed: read(&kept.failed), refused: read(&kept.refused) }
    }

    /// Whether a refusal is due to be recorded: the last was long enough ago, or is in the future because the clock was
    /// set back.
    fn is_next_refusal(&self, now_ms: u64) -> bool {
        let between = BETWEEN_REFUSALS.as_millis() as u64;
        let is_due = |last: u64| last > now_ms || now_ms - last >= between;
        let next = |last: u64| is_due(last).then_some(now_ms);
        self.refused_at_ms.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// The record with what is known of its fault.
fn with_fault(past: Past, fault: &Fault) -> Past {
    let lines = fault.lines();
    Past {
        fault: fault.name().to_owned(),
        why: cut(fault.to_string()),
        backtrace: lines.into_iter().take(BACKTRACE_LINES).map(|line| cut(line.to_owned())).collect(),
        ..past
    }
}

/// A time in milliseconds since 1970; 0 if it is earlier.
pub fn unix_ms(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn push(kept: &mut VecDeque<Past>, past: Past) {
    kept.truncate(KEPT - 1);
    kept.push_front(past);
}

/// Adds a request that failed. Of those whose client alone is at fault the last [`CLIENTS_KEPT`] stay.
fn push_failed(failed: &mut VecDeque<Past>, past: Past) {
    if is_of_client(&past) {
        let mut of_clients = 1;
        failed.retain(|other| {
            let is_of_client = is_of_client(other);
            of_clients += usize::from(is_of_client);
            !is_of_client || of_clients <= CLIENTS_KEPT
        });
    }
    push(failed, past);
}

/// Whether the client alone is at fault.
fn is_of_client(past: &Past) -> bool {
    past.status.is_none_or(|status| status < 500)
        && Fault::NAMES.iter().any(|(name, culprit)| *name == past.fault && *culprit == Culprit::Client)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(recorder: &Recorder, outcome: Result<u16, &Fault>, ran_ms: u64, id: &str) {
        let about = || Past { id: id.to_owned(), ..Past::default() };
        recorder.note(outcome, Duration::from_millis(5), Duration::from_millis(ran_ms), about);
    }

    fn ids(of: &[Past]) -> Vec<&str> {
        of.iter().map(|past| past.id.as_str()).collect()
    }

    #[test]
    fn slow_and_failed_requests_are_kept_newest_first() {
        let recorder = Recorder::default();
        note(&recorder, Ok(200), 999, "quick");
        note(&recorder, Ok(200), 1000, "slow");
        note(&recorder, Ok(503), 1, "failed");
        note(&recorder, Err(&Fault::OutOfTime(Duration::from_secs(3).into())), 3000, "late");
        note(&recorder, Err(&Fault::QueueFull(3)), 0, "refused");
        let Recorded { slow, failed, refused } = recorder.read();
        assert_eq!((ids(&slow), ids(&failed)), (vec!["late", "slow"], vec!["late", "failed"]));
        assert_eq!((ids(&refused), refused[0].fault.as_str()), (vec!["refused"], "queue_full"));
        assert_eq!((failed[0].fault.as_str(), failed[1].status), ("out_of_time", Some(503)));
        assert!(failed[0].why.contains("3s") && failed[0].took_ms >= 3000.0, "{:?}", failed[0]);
    }

    fn break_off(recorder: &Recorder, fault: &Fault, id: &str) {
        recorder.note_broken_off(fault, Past { id: id.to_owned(), status: Some(200), ..Past::default() });
    }

    #[test]
    fn a_response_that_breaks_off_has_failed_with_its_status_and_the_worker_that_is_known() {
        let recorder = Recorder::default();
        let about = || Past { id: "slow".to_owned(), worker: Some(3), pid: Some(7), ..Past::default() };
        recorder.note(Ok(200), Duration::ZERO, Duration::from_secs(5), about);
        note(&recorder, Ok(500), 1, "failed");
        let why = Fault::BadAnswer("shorter".to_owned());
        ["quick", "failed", "slow"].into_iter().for_each(|id| break_off(&recorder, &why, id));
        let Recorded { slow, failed, .. } = recorder.read();
        assert_eq!((ids(&slow), ids(&failed)), (vec!["slow"], vec!["slow", "failed", "quick"]));
        let seen = (failed[0].status, failed[0].fault.as_str(), failed[0].worker, failed[0].pid);
        assert_eq!(seen, (Some(200), "bad_answer", Some(3), Some(7)));
        assert!(failed[0].why.contains("shorter") && failed[0].at_ms > 0, "{:?}", failed[0]);
        assert_eq!(failed[2].worker, None);
    }

    #[test]
    fn clients_that_leave_in_the_middle_of_a_response_push_out_few_others() {
        let recorder = Recorder::default();
        (0..KEPT).for_each(|number| note(&recorder, Ok(500), 1, &format!("failed {number}")));
        (0..KEPT).for_each(|number| break_off(&recorder, &Fault::ClientGone, &format!("gone {number}")));
        let failed = recorder.read().failed;
        let gone: Vec<_> = failed.iter().filter(|past| past.fault == "client_gone").cloned().collect();
        assert_eq!((failed.len(), gone.len()), (KEPT, CLIENTS_KEPT));
        assert_eq!((ids(&gone)[0], ids(&gone)[CLIENTS_KEPT - 1]), ("gone 49", "gone 40"), "the newest stay");
        assert_eq!(failed[KEPT - 1].id, "failed 10");
    }

    /// As the page of an error that its client does not take: it would be gone after ten clients that leave.
    #[test]
    fn a_failure_whose_client_leaves_as_well_stays_among_the_failures() {
        let recorder = Recorder::default();
        note(&recorder, Ok(500), 1, "failed");
        let past = Past { id: "failed".to_owned(), status: Some(500), ..Past::default() };
        recorder.note_broken_off(&Fault::ClientGone, past);
        (0..KEPT).for_each(|number| break_off(&recorder, &Fault::ClientGone, &format!("gone {number}")));
        let failed = recorder.read().failed;
        let last = failed.last().map(|past| (past.id.as_str(), past.status, past.fault.as_str()));
        assert_eq!((failed.len(), last), (CLIENTS_KEPT + 1, Some(("failed", Some(500), "client_gone"))));
    }

    #[test]
    fn bodies_that_are_not_accepted_push_out_few_others_and_none_that_have_failed_otherwise() {
        let recorder = Recorder::default();
        (0..KEPT).for_each(|number| note(&recorder, Ok(500), 1, &format!("failed {number}")));
        break_off(&recorder, &Fault::ClientGone, "gone");
        (0..KEPT).for_each(|number| note(&recorder, Err(&Fault::BodyTooLarge), 0, &format!("large {number}")));
        note(&recorder, Err(&Fault::DiskFull("no space".to_owned())), 0, "full");
        let Recorded { failed, refused, .. } = recorder.read();
        assert_eq!((failed.len(), refused.len()), (KEPT, 0));
        assert_eq!(ids(&failed)[..2], ["full", "large 49"]);
        assert_eq!(failed.iter().filter(|past| past.fault == "body_too_large").count(), CLIENTS_KEPT);
        assert_eq!(failed.iter().filter(|past| past.status == Some(500)).count(), KEPT - CLIENTS_KEPT - 1);
    }

    #[test]
    fn a_response_has_failed_from_status_500_on() {
        let recorder = Recorder::default();
        for status in [200, 404, 499, 500, 599, 999] {
            note(&recorder, Ok(status), 1, &status.to_string());
        }
        assert_eq!(ids(&recorder.read().failed), ["999", "599", "500"]);
    }

    #[test]
    fn of_a_long_message_and_a_long_backtrace_the_beginning_is_kept() {
        let recorder = Recorder::default();
        let mut backtrace = vec!["x".to_owned(); BACKTRACE_LINES + 1];
        backtrace[0] = "x".repeat(TEXT_MAX + 1);
        let (class, message) = ("E".to_owned(), "é".repeat(TEXT_MAX));
        let error = crate::AppError { class, message, backtrace: backtrace.clone(), ..crate::AppError::default() };
        note(&recorder, Err(&Fault::App(Box::new(error))), 1, "long");
        let failed = recorder.read().failed.remove(0);
        assert_eq!(failed.why, format!("E: {}", "é".repeat((TEXT_MAX - 3) / 2)), "no half letter");
        assert_eq!((failed.backtrace.len(), failed.backtrace[0].len()), (BACKTRACE_LINES, TEXT_MAX));
        recorder.add_backtrace("long", &backtrace);
        assert_eq!(recorder.read().failed[0].backtrace.len(), BACKTRACE_LINES);
    }

    #[test]
    fn what_is_kept_has_an_end_and_the_oldest_goes() {
        let recorder = Recorder::default();
        recorder.set_slow(Duration::ZERO);
        (0..KEPT + 3).for_each(|number| note(&recorder, Ok(200), 1, &number.to_string()));
        let slow = recorder.read().slow;
        assert_eq!((slow.len(), slow[0].id.as_str(), slow[KEPT - 1].id.as_str()), (KEPT, "52", "3"));
    }

    #[test]
    fn of_many_refusals_one_a_second_is_kept() {
        let recorder = Recorder::default();
        (0..1000).for_each(|number| note(&recorder, Err(&Fault::QueueFull(3)), 0, &number.to_string()));
        // Two where a second has just passed.
        let refused = recorder.read().refused;
        assert!((1..=2).contains(&refused.len()) && refused.last().unwrap().id == "0", "{refused:?}");
        assert!(!recorder.is_next_refusal(refused[0].at_ms + 999));
        assert!(recorder.is_next_refusal(refused[0].at_ms + 1000));
        assert!(recorder.is_next_refusal(5));
    }

    #[test]
    fn a_backtrace_finds_its_request() {
        let recorder = Recorder::default();
        note(&recorder, Err(&Fault::OutOfTime(Duration::from_secs(3).into())), 3000, "late");
        recorder.add_backtrace("late", &["app.rb:1".to_owned()]);
        recorder.add_backtrace("other", &["app.rb:2".to_owned()]);
        assert_eq!(recorder.read().failed[0].backtrace, ["app.rb:1"]);
        assert_eq!(recorder.read().slow[0].backtrace, ["app.rb:1"]);
    }

    #[test]
    fn a_record_has_its_wait_and_backtrace_and_a_slow_client_that_left_has_none() {
        let recorder = Recorder::default();
        note(&recorder, Err(&Fault::ClientGone), 3000, "left");
        recorder.note(Ok(200), Duration::ZERO, Duration::ZERO, || panic!("it was quick"));
        assert_eq!(recorder.read(), Recorded::default());
        let (causes, backtrace) = (vec!["caused by E: x".to_owned()], vec!["a.rb:1".to_owned()]);
        let error = crate::AppError { causes, backtrace: backtrace.clone(), ..crate::AppError::default() };
        note(&recorder, Err(&Fault::App(Box::new(error))), 1, "raised");
        note(&recorder, Err(&Fault::OutOfTime(crate::Overrun { limit: SLOW, backtrace })), 1, "late");
        let failed = recorder.read().failed;
        assert_eq!(
            (failed[0].backtrace.join("|"), failed[1].backtrace.join("|")),
            ("a.rb:1".to_owned(), "caused by E: x|a.rb:1".to_owned())
        );
        assert!((4.9..5.1).contains(&failed[1].queued_ms), "{failed:?}");
    }
}
