//! Whether a worker that has requests computes or waits, as the kernel tells it. The readings take up to a few
//! microseconds for each thread of the worker, so none is made under the lock of the dispatch: a worker gives its
//! [`Probe`] away for the time of a sample.

use std::time::{Duration, Instant};

use nix::time::ClockId;
use nix::unistd::Pid;

use super::run_queue::RunQueue;

/// The shortest time over which the processor time of a process is sampled.
pub const SAMPLE: Duration = Duration::from_millis(1);
/// The pause after a sample of a worker is at least this many times as long as the sample took: to know whether it
/// stands in the run queue, a file is read for each of its threads.
const SAMPLE_PART: u32 = 100;
/// A process that had or wanted a processor for more of the time than this computes; another request would only wait in
/// it.
const COMPUTING_SHARE: f64 = 0.85;
/// The longest time for which a computing worker may stand in the run queue before it counts as waiting: the kernel
/// counts that time only when the worker has a processor again, which takes a few milliseconds with two of them per
/// core.
const QUEUED_MAX: Duration = Duration::from_millis(20);

/// Whether a request that comes to a busy worker finds Ruby's lock free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Not known yet: it has been busy for less than two samples.
    Unknown,
    /// It waits for something other than a processor for a part of the time.
    Waiting,
    /// It has a processor all the time, or would if there were one for it.
    Computing,
}

/// What a sample has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing new: it was the first sample, or the kernel has not yet counted what the worker did.
    Nothing,
    /// It waited.
    Waiting(Interval),
    /// It has been computing since the last sample.
    Computing(Interval),
}

/// The time from one sample to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interval {
    /// Its length.
    pub time: Duration,
    /// Number of requests that the worker has answered in it.
    pub answered: u64,
}

/// What the threads of a process have done since its start.
#[derive(Debug)]
struct Sample {
    at: Instant,
    /// Time on a processor.
    used: Duration,
    /// Time in which a thread was ready to run while others had the processors, summed over threads. `None` if it was
    /// not read: no request waited for it, and it takes one file for each thread.
    queued: Option<Duration>,
    /// Number of requests that it has answered in all.
    answered: u64,
}

/// What is known of the processor time of a process, from one sample to the next.
#[derive(Debug)]
pub struct Probe {
    pid: i32,
    sample: Option<Sample>,
    run_queue: RunQueue,
    /// Time after a sample before the next one.
    pause: Duration,
}

impl Probe {
    /// Creates the probe of a process that has not been sampled.
    pub fn of(pid: i32) -> Probe {
        Probe { pid, sample: None, run_queue: RunQueue::of(pid), pause: SAMPLE }
    }

    /// Returns whether it is time for the next sample.
    pub fn is_due(&self, now: Instant) -> bool {
        self.sample.as_ref().is_none_or(|last| now.saturating_duration_since(last.at) >= self.pause)
    }

    /// Forgets what was seen: what the process does next is another request.
    pub fn forget(&mut self) {
        self.sample = None;
    }

    /// Samples whether the process computes all the time. Only the kernel can tell: a request that waits for a database
    /// and one that computes look the same from outside. Time in which it was ready to run counts as computing: with
    /// more processes that compute than processors, each has one for a part of the time only. That part is read when
    /// `is_wanted`: while requests wait, and what it does decides whether they get more of its threads, fewer, or
    /// another worker. `was` is what it did before, and `answered` the number of requests that it has answered in all.
    pub fn sample(&mut self, now: Instant, is_wanted: bool, was: Activity, answered: u64) -> Found {
        let begun = Instant::now();
        // The first reading finds the files, which takes longer; and it shows nothing yet.
        let is_first = is_wanted && self.sample.as_ref().is_none_or(|last| last.queued.is_none());
        let found = self.compare(now, is_wanted, was, answered);
        self.pause = match is_first {
            true => SAMPLE,
            false => (begun.elapsed() * SAMPLE_PART).clamp(SAMPLE, QUEUED_MAX / 2),
        };
        found
    }

    /// Compares what it has done with the last sample, and remembers it for the next one.
    fn compare(&mut self, now: Instant, is_wanted: bool, was: Activity, answered: u64) -> Found {
        // Where nothing is known of it for good, its threads are there to be used.
        let Some(used) = processor_time(self.pid) else { return Found::Waiting(Interval::default()) };
        let queued = if is_wanted { self.run_queue.time(now) } else { None };
        let mut found = Found::Nothing;
        if let Some(last) = &self.sample {
            let waited = queued.zip(last.queued).map_or(Duration::ZERO, |(now, then)| now.saturating_sub(then));
            let wanted = used.saturating_sub(last.used) + waited;
            let passed = now.saturating_duration_since(last.at);
            let is_computing = wanted.as_secs_f64() / passed.as_secs_f64() > COMPUTING_SHARE;
            let may_be_queued = is_wanted && was == Activity::Computing && passed < QUEUED_MAX;
            if !is_computing && may_be_queued && self.run_queue.is_runnable() {
                // The sample stays: it is compared again when the time in the run queue has been counted.
                return Found::Nothing;
            }
            // What it has waited for is not known where the time in the run queue is read for the first time.
            let is_compared = queued.is_none() || last.queued.is_some();
            let interval = Interval { time: passed, answered: answered.saturating_sub(last.answered) };
            found = match is_computing {
                true => Found::Computing(interval),
                false if is_compared => Found::Waiting(interval),
                false => Found::Nothing,
            };
        }
        self.sample = Some(Sample { at: now, used, queued, answered });
        found
    }
}

fn processor_time(pid: i32) -> Option<Duration> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid)).ok()?;
    clock.now().ok().map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(time: Duration) -> Found {
        Found::Waiting(Interval { time, answered: 0 })
    }

    fn this_process() -> Probe {
        Probe::of(std::process::id().cast_signed())
    }

    /// While requests wait, a sample reads a file for each thread: with many threads that is too much for each
    /// millisecond.
    #[test]
    fn a_sample_that_takes_long_is_followed_by_a_long_pause() {
        let mut probe = this_process();
        let now = Instant::now();
        assert!(probe.is_due(now), "there was no sample yet");
        assert_eq!(probe.sample(now, true, Activity::Unknown, 0), Found::Nothing, "there is nothing to compare with");
        assert!(probe.pause >= SAMPLE && probe.pause <= QUEUED_MAX / 2, "{:?}", probe.pause);
        probe.pause = QUEUED_MAX / 2;
        assert!(!probe.is_due(now + 2 * SAMPLE), "it is too soon");
        assert!(probe.is_due(now + QUEUED_MAX));
    }

    #[test]
    fn a_computing_process_in_the_run_queue_goes_on_computing() {
        let mut probe = this_process();
        let now = Instant::now();
        let mut sampled = |after: Duration, is_wanted: bool| {
            // Used no processor since then, as the kernel tells it.
            let queued = is_wanted.then_some(Duration::MAX);
            probe.sample = Some(Sample { at: now, used: Duration::MAX, queued, answered: 0 });
            probe.sample(now + after, is_wanted, Activity::Computing, 0)
        };
        assert_eq!(sampled(2 * SAMPLE, true), Found::Nothing, "this thread runs");
        assert_eq!(sampled(QUEUED_MAX, true), waiting(QUEUED_MAX), "not for ever");
        assert_eq!(sampled(2 * SAMPLE, false), waiting(2 * SAMPLE));
    }

    #[test]
    fn a_process_may_have_been_in_the_run_queue_before_that_was_first_read() {
        let mut probe = this_process();
        let now = Instant::now();
        probe.sample = Some(Sample { at: now, used: Duration::MAX, queued: None, answered: 0 });
        let mut sampled = |after| probe.sample(now + after, true, Activity::Unknown, 0);
        assert_eq!(sampled(Duration::from_secs(3600)), Found::Nothing);
        assert_eq!(sampled(Duration::from_secs(7200)), waiting(Duration::from_secs(3600)));
    }

    #[test]
    fn a_process_that_used_all_the_time_computes() {
        let mut probe = this_process();
        let now = Instant::now();
        probe.sample = Some(Sample { at: now, used: Duration::ZERO, queued: None, answered: 0 });
        let used = processor_time(probe.pid).expect("this process is there");
        let found = probe.sample(now + used, false, Activity::Unknown, 7);
        assert_eq!(found, Found::Computing(Interval { time: used, answered: 7 }));
        // The kernel's greatest process id is one less.
        let mut missing = Probe::of(1 << 22);
        let found = missing.sample(now, true, Activity::Computing, 0);
        assert_eq!(found, waiting(Duration::ZERO), "there is no such process");
    }
}
