//! How long the threads of a load generator waited for a processor, as the kernel counts it: the second number of
//! `/proc/PID/task/TID/schedstat`, in nanoseconds (proc_schedstat in the kernel's documentation). The latencies that a
//! thread measures include such waits, and no server is to blame for them.

use std::collections::BTreeMap;
use std::time::Duration;

use procfs::FromRead;
use procfs::process::{Process, Schedstat};

/// Time after its start at which the waits of a process are sampled first. Of one that ends before, no wait is
/// known.
const FIRST: Duration = Duration::from_millis(20);
/// The next sample is due when the process has run for this many times as long as at the last one. A sample takes some
/// microseconds for each thread, of a processor that the server needs as well: so there are few (about 25 in ten
/// seconds), and the last one is after four fifths of the load, however long it is.
const AGAIN: f64 = 1.25;

/// Waits of the threads of a process, of those that have ended since they were seen as well.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// Nanoseconds, by the id of the thread.
    each: BTreeMap<i32, u64>,
    /// Time for which the process had run at the last sample.
    at: Duration,
}

impl Waits {
    /// Samples the threads of a process that has run for this time, if the next sample is due.
    pub fn sample(&mut self, id: u32, ran: Duration) {
        if ran < FIRST.max(self.at.mul_f64(AGAIN)) {
            return;
        }
        let tasks = Process::new(id.cast_signed()).and_then(|process| process.tasks());
        let tasks = tasks.into_iter().flatten().flatten();
        self.note(ran, tasks.filter_map(|task| Some((task.tid, task.schedstat().ok()?))));
    }

    /// Notes what was read of each thread, when the process had run for this time.
    fn note(&mut self, ran: Duration, threads: impl Iterator<Item = (i32, Schedstat)>) {
        self.at = ran;
        self.each.extend(threads.filter_map(|(thread, times)| Some((thread, waited_ns(&times)?))));
    }

    /// Number of threads that waited at a time, as a mean until the last sample. `None` if the kernel does not count
    /// waits, or there was no sample.
    pub fn waiting(&self) -> Option<f64> {
        let waited_s = self.each.values().sum::<u64>() as f64 / 1e9;
        (!self.each.is_empty()).then(|| waited_s / self.at.as_secs_f64())
    }
}

/// The number of a record (`metric::GENERATOR_WAITED`), of the number of threads that waited at a time and of those
/// that generated the load. No more than 100: a tool may have a further thread that only waits for the others.
pub(crate) fn waited_pct(waiting: f64, threads: u32) -> f64 {
    (waiting / f64::from(threads.max(1))).min(1.0) * 100.0
}

/// Seconds for which this thread has waited so far; `None` if the kernel does not count them.
pub(crate) fn own_wait_s() -> Option<f64> {
    let times = Schedstat::from_file("/proc/thread-self/schedstat").ok()?;
    Some(waited_ns(&times)? as f64 / 1e9)
}

/// Seconds for which this thread has waited since it had waited for `before`.
pub(crate) fn wait_since(before: Option<f64>) -> Option<f64> {
    Some(own_wait_s()? - before?)
}

/// Nanoseconds for which a thread has waited. `None` from a kernel that does not count them: it writes zeros, of a
/// thread that runs as well.
fn waited_ns(times: &Schedstat) -> Option<u64> {
    (times.pcount > 0).then_some(times.run_delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Schedstat> {
        Schedstat::from_read(text.as_bytes()).ok()
    }

    #[test]
    fn the_waits_of_all_threads_are_summed_and_those_of_ended_threads_kept() {
        let mut waits = Waits::default();
        assert_eq!(waits.waiting(), None);
        let text = |ns: u64| parsed(&format!("5000000 {ns} 9\n")).unwrap();
        waits.note(Duration::from_secs(1), [(7, text(100_000_000)), (8, text(500_000_000))].into_iter());
        assert_eq!(waits.waiting(), Some(0.6));
        // One has ended, and another has begun: 0.9, 0.5 and 0.6 s in two seconds.
        waits.note(Duration::from_secs(2), [(7, text(900_000_000)), (9, text(600_000_000))].into_iter());
        assert_eq!(waits.waiting(), Some(1.0));
        assert_eq!((waited_pct(1.0, 4), waited_pct(0.0, 2), waited_pct(2.5, 2)), (25.0, 0.0, 100.0));
    }

    #[test]
    fn where_the_kernel_does_not_count_waits_there_is_no_number() {
        let of = |text: &str| {
            let mut waits = Waits::default();
            waits.note(Duration::from_secs(1), parsed(text).map(|times| (7, times)).into_iter());
            waits.waiting()
        };
        assert_eq!([of("0 0 0\n"), of(""), of("7"), of("1 x 3\n"), of("1 2\n")], [None; 5]);
        // The first number of a thread that has just begun may be 0.
        assert_eq!([of("0 500000000 1\n"), of("812 0 3\n")], [Some(0.5), Some(0.0)]);
    }

    #[test]
    fn the_samples_are_few_and_the_last_one_is_late() {
        let mut waits = Waits::default();
        let mut samples = 0;
        for pass in 0..=500 {
            let before = waits.at;
            // No process has this id.
            waits.sample(u32::MAX, FIRST * pass);
            samples += u32::from(waits.at != before);
        }
        assert!((10..40).contains(&samples) && waits.at >= Duration::from_secs(8), "{samples} {waits:?}");
        assert_eq!(waits.waiting(), None);
    }

    #[test]
    fn this_process_is_read() {
        let mut waits = Waits::default();
        waits.sample(std::process::id(), Duration::from_secs(3600));
        let own = own_wait_s();
        assert_eq!(waits.waiting().is_some(), own.is_some(), "{waits:?}");
        assert!(wait_since(own).is_none_or(|seconds| seconds >= 0.0));
    }
}
