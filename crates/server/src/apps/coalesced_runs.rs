//! Runs of an action, such as a reload, one at a time. Calls that come during a run are coalesced: all of them wait for
//! the next run and share its result, since the current one may have begun too early to see what they have changed.
//! (With Go's `singleflight`, they would share the current one.)

use parking_lot::{Condvar, Mutex};

/// The runs of an action, one at a time.
#[derive(Debug)]
pub struct CoalescedRuns<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    begun: u64,
    ended: u64,
    last: Option<T>,
}

impl<T: Clone> CoalescedRuns<T> {
    /// Without a run so far.
    pub fn new() -> CoalescedRuns<T> {
        CoalescedRuns { state: Mutex::new(State { begun: 0, ended: 0, last: None }), changed: Condvar::new() }
    }

    /// Whether the action is running.
    pub fn is_running(&self) -> bool {
        let state = self.state.lock();
        state.begun > state.ended
    }

    /// Runs the action, or waits for a run of another caller. The result is always that of a run that began after this
    /// call.
    pub fn run(&self, act: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock();
        let mine = state.begun + 1;
        loop {
            if state.ended >= mine
                && let Some(last) = &state.last
            {
                return last.clone();
            }
            if state.begun == state.ended {
                break;
            }
            self.changed.wait(&mut state);
        }
        state.begun += 1;
        drop(state);
        let outcome = act();
        let mut state = self.state.lock();
        state.ended = state.begun;
        state.last = Some(outcome.clone());
        drop(state);
        self.changed.notify_all();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    #[test]
    fn calls_during_a_run_share_the_next_one() {
        let runs = CoalescedRuns::new();
        let done = AtomicU32::new(0);
        let gate = Barrier::new(2);
        let asked = AtomicU32::new(0);
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                runs.run(|| {
                    gate.wait();
                    done.fetch_add(1, Ordering::SeqCst) + 1
                })
            });
            while !runs.is_running() {
                thread::yield_now();
            }
            let others: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        asked.fetch_add(1, Ordering::SeqCst);
                        runs.run(|| done.fetch_add(1, Ordering::SeqCst) + 1)
                    })
                })
                .collect();
            while asked.load(Ordering::SeqCst) < 8 {
                thread::yield_now();
            }
            // So that the last of them waits by now.
            thread::park_timeout(std::time::Duration::from_millis(50));
            gate.wait();
            assert_eq!(first.join().unwrap(), 1);
            for other in others {
                assert_eq!(other.join().unwrap(), 2);
            }
        });
        assert!(!runs.is_running());
    }
}
