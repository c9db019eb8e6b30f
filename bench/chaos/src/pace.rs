//! Speed of this machine at the moment, and waits that allow for it. Other programs may use it as well: what takes a
//! second on a quiet machine may take ten on a busy one, and is no fault of the server.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loadgen::process::{machine_ticks, ticks_of, until};

/// Interval of the measurements.
const EVERY: Duration = Duration::from_millis(250);
/// Number of steps in a wait with a limit, each of which the machine may delay.
const STEPS: u32 = 20;
/// Greatest extension of a limit.
const MORE_MAX: Duration = Duration::from_secs(60);
/// Time for the start of a program above which the machine counts as busy.
const STALL: Duration = Duration::from_millis(300);

/// Slowest start of a program since [`begin`], in milliseconds.
static SLOWEST_MS: AtomicU64 = AtomicU64::new(0);

/// Measures from now on, as long as this program lives: the time until a program that does nothing has started and
/// exited.
pub fn watch() {
    thread::spawn(|| {
        loop {
            let begun = Instant::now();
            let program = Command::new("true").stdin(Stdio::null()).stdout(Stdio::null()).status();
            if program.is_ok() {
                SLOWEST_MS.fetch_max(begun.elapsed().as_millis() as u64, Ordering::AcqRel);
            }
            pause(EVERY);
        }
    });
}

/// Resets the measurements at the beginning of a scenario.
pub fn begin() {
    SLOWEST_MS.store(0, Ordering::Release);
}

/// Slowest start of a program in this scenario.
pub fn slowest() -> Duration {
    Duration::from_millis(SLOWEST_MS.load(Ordering::Acquire))
}

/// Whether this machine was busy in this scenario.
pub fn is_busy() -> bool {
    slowest() >= STALL
}

/// Processor time so far, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Time of all processors together, idle or not.
    all: u64,
    /// Without idle time; with time that the host gave to other machines.
    busy: u64,
    /// Time of the given processes and this one.
    own: u64,
}

impl Work {
    /// Processor time so far, with that of these processes and this one.
    pub fn now(processes: &[u32]) -> Work {
        let (free, all) = machine_ticks().unwrap_or_default();
        let ids = processes.iter().copied().chain([std::process::id()]);
        Work { all, busy: all - free, own: ids.filter_map(ticks_of).sum() }
    }

    /// Share of all processors that other programs have used since then, from 0 to 1.
    pub fn of_others_since(&self, before: &Work) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        let busy = self.busy.saturating_sub(before.busy);
        busy.saturating_sub(self.own.saturating_sub(before.own)) as f64 / all as f64
    }
}

/// A limit with an extension for a machine as slow as this one.
pub fn allowed(limit: Duration) -> Duration {
    limit + (slowest() * STEPS).min(MORE_MAX)
}

/// Waits for a condition within the limit, as extended by [`allowed`]. Returns whether it came true.
pub fn within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        let left = allowed(limit).saturating_sub(begun.elapsed());
        if until(left.min(limit), &mut is_so) {
            return true;
        }
        if begun.elapsed() >= allowed(limit) {
            return false;
        }
    }
}

/// Calls `act` at an interval, for a period.
pub fn each(every: Duration, time: Duration, mut act: impl FnMut()) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        act();
        pause(every.min(end.saturating_duration_since(Instant::now())));
    }
}

/// The same, and on until `act` returns true: a busy machine may need three times as long.
pub fn each_until_enough(every: Duration, time: Duration, mut act: impl FnMut() -> bool) {
    let begun = Instant::now();
    let mut is_enough = false;
    while begun.elapsed() < time || (!is_enough && begun.elapsed() < allowed(3 * time)) {
        is_enough = act();
        pause(every);
    }
}

/// Sleeps for a time.
pub fn pause(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        // No thread unparks this one: it only waits.
        thread::park_timeout(end.saturating_duration_since(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_had_is_what_is_not_ours() {
        let work = |all, busy, own| Work { all, busy, own };
        assert_eq!(work(300, 150, 60).of_others_since(&work(100, 50, 10)), 0.25);
        assert_eq!(work(300, 150, 200).of_others_since(&work(100, 50, 10)), 0.0);
        assert!(Work::now(&[]).all > 0);
    }

    #[test]
    fn limits_grow_with_what_a_start_takes_and_not_without_end() {
        let second = Duration::from_secs(1);
        begin();
        assert!(allowed(second) == second && !is_busy());
        SLOWEST_MS.store(500, Ordering::Release);
        assert!(allowed(second) == 11 * second && is_busy());
        SLOWEST_MS.store(50_000, Ordering::Release);
        assert_eq!(allowed(second), 61 * second);
        begin();
        assert!(!within(Duration::from_millis(1), || false) && within(second, || true));
    }
}
