//! How many threads of a worker get requests at once: all, or, while it computes short requests, as few as keep it
//! computing.
//!
//! The threads of a Ruby process take turns at Ruby's lock. Where a request takes some tens of microseconds, each turn
//! costs as much again, and every request waits for those of the other threads, so that all of them look long. And as
//! long as the queue is never empty, a thread that once had a request would always get the next one.

use std::time::Duration;

use super::activity::Interval;

/// The processor time below which a request is short.
const SHORT: Duration = Duration::from_micros(500);
/// The number of samples that must show a worker computing short requests before it gets fewer at once.
const SAMPLES: u32 = 8;
/// The same for a worker that had too few before: each time twice as many, up to this number; half as many after the
/// second time in a row that it has had too many.
const SAMPLES_MAX: u32 = 256;
/// How many of these samples one that shows something else takes away.
const WEIGHT: u32 = 4;
/// The time without a sample that shows short requests after which all threads get requests again.
const KEPT: Duration = Duration::from_millis(50);

/// The limit of the number of threads of a worker that have a request.
#[derive(Debug)]
pub struct Concurrency {
    /// None: all threads may have one. Never 0.
    limit: Option<usize>,
    /// Number of samples that have shown that fewer would do, less what others have taken away.
    spare: u32,
    /// The number of them at which the limit is halved.
    needed: u32,
    /// Whether the limit has risen since it was last halved.
    has_risen: bool,
    /// For how long no sample has shown short requests.
    unproven: Duration,
}

impl Concurrency {
    /// All threads may have a request.
    pub fn unlimited() -> Concurrency {
        Concurrency { limit: None, spare: 0, needed: SAMPLES, has_risen: false, unproven: Duration::ZERO }
    }

    /// Returns whether one more thread may get a request beside `busy` others whose request may be short.
    pub fn allows(&self, busy: usize) -> bool {
        self.limit.is_none_or(|limit| busy < limit)
    }

    /// Takes a sample: the worker computed all of this time, or would have if this server had not kept it waiting.
    /// `busy` of its threads have a request that may be short. After some such samples the limit is half of that.
    pub fn computed(&mut self, interval: Interval, busy: usize) {
        let are_short = are_short(interval, 1);
        self.prove(interval, are_short);
        self.spare = if are_short && busy > 1 { self.spare + 1 } else { self.spare.saturating_sub(WEIGHT) };
        if self.spare >= self.needed {
            self.spare = 0;
            // Twice in a row: it was right.
            if !std::mem::take(&mut self.has_risen) {
                self.needed = (self.needed / 2).max(SAMPLES);
            }
            let half = busy / 2;
            self.limit = Some(self.limit.map_or(half, |limit| limit.min(half)).max(1));
        }
    }

    /// Takes a sample that has shown the worker waiting, with a request that may be short in `busy` threads.
    pub fn waited(&mut self, interval: Interval, busy: usize) {
        self.prove(interval, are_short(interval, busy.max(1)));
        self.spare = self.spare.saturating_sub(WEIGHT);
    }

    /// Ends the limit if for some time no sample has shown short requests.
    fn prove(&mut self, interval: Interval, are_short: bool) {
        self.unproven = if are_short { Duration::ZERO } else { self.unproven + interval.time };
        if self.unproven > KEPT {
            self.limit = None;
        }
    }

    /// Doubles the limit, at which a worker with `threads` threads waits. Returns false if there is none.
    pub fn raise(&mut self, threads: usize) -> bool {
        let Some(limit) = self.limit else { return false };
        self.limit = Some(2 * limit).filter(|limit| *limit < threads);
        self.needed = (2 * self.needed).min(SAMPLES_MAX);
        self.has_risen = true;
        true
    }
}

/// Returns whether the requests that `busy` threads have answered have taken a short time each.
fn are_short(interval: Interval, busy: usize) -> bool {
    let answered = u32::try_from(interval.answered).unwrap_or(u32::MAX);
    interval.time * u32::try_from(busy).unwrap_or(u32::MAX) < SHORT.saturating_mul(answered)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Takes this many samples of a millisecond.
    fn computed(concurrency: &mut Concurrency, samples: u32, answered: u64, busy: usize) {
        (0..samples).for_each(|_| concurrency.computed(Interval { time: MS, answered }, busy));
    }

    /// Returns how many threads may have a request, of up to 100.
    fn limit(concurrency: &Concurrency) -> usize {
        (0..100).take_while(|busy| concurrency.allows(*busy)).count()
    }

    #[test]
    fn a_worker_that_computes_short_requests_gets_fewer_at_once_and_never_none() {
        let mut concurrency = Concurrency::unlimited();
        computed(&mut concurrency, SAMPLES - 1, 3, 5);
        assert_eq!(limit(&concurrency), 100);
        computed(&mut concurrency, 1, 3, 5);
        assert_eq!(limit(&concurrency), 2);
        computed(&mut concurrency, SAMPLES, 3, 5);
        assert_eq!(limit(&concurrency), 2, "more than may have one have one");
        computed(&mut concurrency, SAMPLES, 3, 2);
        assert_eq!(limit(&concurrency), 1);
        computed(&mut concurrency, 10 * SAMPLES, 3, 1);
        assert_eq!(limit(&concurrency), 1);
    }

    #[test]
    fn long_requests_and_those_that_wait_now_and_then_leave_it_its_threads() {
        let mut concurrency = Concurrency::unlimited();
        computed(&mut concurrency, 10 * SAMPLES, 0, 5);
        computed(&mut concurrency, 10 * SAMPLES, 2, 5);
        for _ in 0..10 * SAMPLES {
            computed(&mut concurrency, WEIGHT, 3, 5);
            concurrency.waited(Interval { time: MS, answered: 3 }, 5);
        }
        assert_eq!(limit(&concurrency), 100);
    }

    #[test]
    fn the_limit_rises_until_there_is_none_and_falls_more_slowly_after_that() {
        let mut concurrency = Concurrency::unlimited();
        assert!(!concurrency.raise(5), "there is none");
        computed(&mut concurrency, SAMPLES, 3, 2);
        let limits = [(); 4].map(|()| {
            let limit = limit(&concurrency);
            assert_eq!(concurrency.raise(5), limit < 100);
            limit
        });
        assert_eq!(limits, [1, 2, 4, 100]);
        computed(&mut concurrency, 8 * SAMPLES - 1, 3, 5);
        assert_eq!(limit(&concurrency), 100);
        computed(&mut concurrency, 1, 3, 5);
        assert_eq!(limit(&concurrency), 2);
        assert!((0..20).all(|_| concurrency.raise(usize::MAX)));
        assert_eq!(concurrency.needed, SAMPLES_MAX);
    }

    #[test]
    fn when_no_requests_are_short_any_more_all_threads_get_some() {
        let limit_after = |samples: &[Interval]| {
            let mut concurrency = Concurrency::unlimited();
            computed(&mut concurrency, SAMPLES, 3, 2);
            samples.iter().for_each(|sample| concurrency.waited(*sample, 1));
            limit(&concurrency)
        };
        let long = Interval { time: KEPT, answered: 1 };
        let short = Interval { time: MS, answered: 3 };
        assert_eq!(limit_after(&[long]), 1);
        assert_eq!(limit_after(&[long, short, long]), 1);
        assert_eq!(limit_after(&[long, long]), 100);
    }
}
