//! Counters that many threads increment at once and that are read rarely.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Number of copies of each counter. Threads increment different copies, so that they do not contend for one cache line
/// at every request.
const SHARDS: usize = 8;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Index of the copy that this thread increments.
    static SHARD: usize = THREADS.fetch_add(1, Relaxed) % SHARDS;
}

/// A set of `N` counters, all starting at 0.
#[derive(Debug)]
pub struct Counters<const N: usize> {
    shards: [Shard<N>; SHARDS],
}

#[derive(Debug)]
#[repr(align(128))]
struct Shard<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Counters<N> {
    fn default() -> Counters<N> {
        Counters { shards: std::array::from_fn(|_| Shard(std::array::from_fn(|_| AtomicU64::new(0)))) }
    }
}

impl<const N: usize> Counters<N> {
    /// Adds `by` to the counter with index `at`.
    pub fn add(&self, at: usize, by: u64) {
        self.shards[SHARD.with(|shard| *shard)].0[at].fetch_add(by, Relaxed);
    }

    /// Returns the values of all counters.
    pub fn read(&self) -> [u64; N] {
        let mut sums = [0; N];
        for shard in &self.shards {
            for (sum, count) in sums.iter_mut().zip(&shard.0) {
                *sum += count.load(Relaxed);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_threads_count_adds_up() {
        let counters = Counters::<2>::default();
        std::thread::scope(|scope| {
            (0..20).for_each(|_| drop(scope.spawn(|| counters.add(1, 3))));
        });
        assert_eq!(counters.read(), [0, 60]);
    }
}
