//! How slow this machine is at the moment. Other programs may use it as well: what takes a second on a quiet machine
//! may take ten on a busy one, and is no mistake of the server.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arena::process::until;

use crate::server::pause;

/// How often it is measured.
const EVERY: Duration = Duration::from_millis(250);
/// A wait that has a limit is made of no more steps than this, each of which the machine may delay.
const STEPS: u32 = 20;
/// No limit grows by more than this.
const MORE_MAX: Duration = Duration::from_secs(60);

/// The slowest start of a program since [`begin`], in milliseconds.
static SLOWEST_MS: AtomicU64 = AtomicU64::new(0);

/// Measures from now on, as long as this program lives: how long it takes until a program that does nothing has been
/// started and has ended.
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

/// Forgets what was measured: a scenario begins.
pub fn begin() {
    SLOWEST_MS.store(0, Ordering::Release);
}

/// The slowest start of a program in this scenario.
pub fn slowest() -> Duration {
    Duration::from_millis(SLOWEST_MS.load(Ordering::Acquire))
}

/// A limit, and what a machine as slow as this one may take beyond it.
pub fn allowed(limit: Duration) -> Duration {
    limit + (slowest() * STEPS).min(MORE_MAX)
}

/// Whether it becomes so within the limit, or what is [`allowed`] by then.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_grow_with_what_a_start_takes_and_not_without_end() {
        let second = Duration::from_secs(1);
        begin();
        assert_eq!(allowed(second), second);
        SLOWEST_MS.store(500, Ordering::Release);
        assert_eq!(allowed(second), 11 * second);
        SLOWEST_MS.store(50_000, Ordering::Release);
        assert_eq!(allowed(second), 61 * second);
        begin();
        assert!(!within(Duration::from_millis(1), || false) && within(second, || true));
    }
}
