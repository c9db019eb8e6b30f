//! The count of a response in its application's meter, which stays open until the front has looked at the response.

use std::sync::Arc;
use std::time::Duration;

use crate::fault::Fault;
use crate::meter::Meter;
use crate::snapshot::Past;

/// The open count of a response. Dropping it counts the response by its status; [`Tally::fail`] counts a fault in its
/// place, for a response that the front cannot send. The default counts nothing: faults, and the server's own requests.
#[derive(Debug, Default)]
pub struct Tally(Option<(Arc<Meter>, u16)>);

impl Tally {
    /// The count of a response with this status.
    pub(crate) fn new(meter: Arc<Meter>, status: u16) -> Tally {
        Tally(Some((meter, status)))
    }

    /// Counts the fault that followed the response, and records its request, which waited and ran for these times;
    /// `about` gives its identity.
    pub fn fail(mut self, fault: &Fault, queued: Duration, ran: Duration, about: impl FnOnce() -> Past) {
        let Some((meter, _)) = self.0.take() else { return };
        meter.failed(fault);
        // It may have been recorded with its status.
        meter.recorder.note_anew(fault, queued, ran, about());
    }

    /// Counts the response by its status, as its head is about to be sent. Returns the count of a fault in its body.
    pub fn begin_body(mut self) -> BodyTally {
        let meter = self.0.take().map(|(meter, status)| {
            meter.answered(status);
            meter
        });
        BodyTally(meter)
    }

    /// Counts nothing: another answer takes the place of this response.
    pub(crate) fn cancel(&mut self) {
        self.0 = None;
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if let Some((meter, status)) = self.0.take() {
            meter.answered(status);
        }
    }
}

/// The count of a fault that breaks the body of a response off. The response itself has been counted by its status. The
/// default counts nothing.
#[derive(Debug, Default)]
pub struct BodyTally(Option<Arc<Meter>>);

impl BodyTally {
    /// Counts the fault, the first time, and records the request if `about` knows it: its identity, times and status.
    pub fn fail(&mut self, fault: &Fault, about: impl FnOnce() -> Option<Past>) {
        let Some(meter) = self.0.take() else { return };
        meter.failed(fault);
        if let Some(past) = about() {
            meter.recorder.note_broken_off(fault, past);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past() -> Past {
        Past { id: "one".to_owned(), ..Past::default() }
    }

    #[test]
    fn a_response_is_counted_once_by_its_status_or_under_the_fault_that_followed() {
        let meter = Arc::new(Meter::default());
        let tally = Tally::new(meter.clone(), 200);
        assert_eq!(meter.answers(), [0; 5], "the front may still find a fault");
        drop(tally);
        assert_eq!((meter.answers(), meter.faults().iter().sum::<u64>()), ([0, 1, 0, 0, 0], 0));
        Tally::new(meter.clone(), 200).fail(&Fault::OutOfFiles, Duration::ZERO, Duration::ZERO, past);
        Tally::new(meter.clone(), 200).cancel();
        Tally::default().fail(&Fault::OutOfFiles, Duration::ZERO, Duration::ZERO, || panic!("it counts nothing"));
        assert_eq!((meter.answers(), meter.faults().iter().sum::<u64>()), ([0, 1, 0, 0, 0], 1));
        assert_eq!(meter.recorder.read().refused[0].fault, "out_of_files");
    }

    #[test]
    fn a_response_whose_body_breaks_off_is_counted_by_its_status_and_its_first_fault_too() {
        let meter = Arc::new(Meter::default());
        let mut body = Tally::new(meter.clone(), 200).begin_body();
        assert_eq!(meter.answers(), [0, 1, 0, 0, 0]);
        body.fail(&Fault::BadAnswer("shorter".to_owned()), || Some(past()));
        body.fail(&Fault::OutOfFiles, || Some(past()));
        assert_eq!((meter.answers(), meter.faults().iter().sum::<u64>()), ([0, 1, 0, 0, 0], 1));
        let failed = meter.recorder.read().failed;
        assert_eq!((failed.len(), failed[0].fault.as_str()), (1, "bad_answer"));
        Tally::new(meter.clone(), 200).begin_body().fail(&Fault::ClientGone, || None);
        assert_eq!((meter.faults().iter().sum::<u64>(), meter.recorder.read().failed.len()), (2, 1));
        Tally::default().begin_body().fail(&Fault::OutOfFiles, || panic!("it counts nothing"));
    }

    #[test]
    fn a_slow_response_that_then_fails_is_recorded_once() {
        let meter = Arc::new(Meter::default());
        let slow = Duration::from_secs(5);
        meter.recorder.note(Ok(200), Duration::ZERO, slow, past);
        let why = Fault::BadAnswer("two lengths".to_owned());
        Tally::new(meter.clone(), 200).fail(&why, Duration::ZERO, slow, past);
        let recorded = meter.recorder.read();
        assert_eq!((recorded.slow.len(), recorded.failed.len()), (1, 1), "{recorded:?}");
        assert_eq!((recorded.slow[0].status, recorded.slow[0].fault.as_str()), (None, "bad_answer"));
    }
}
