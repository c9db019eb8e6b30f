//! Load generation: workloads, judgement of responses, other tools, and load loops of our own.
//!
//! Rates count right responses only. Latencies are those of right responses and of requests that timed out: leaving the
//! latter out would favour servers that let clients wait. A request that fails otherwise, however soon, has no latency;
//! it is counted among the failures.

mod ab;
mod ask;
mod check;
mod closed;
mod connection;
mod counted;
mod divided;
mod fault;
mod fetch;
mod form;
mod judge;
mod k6;
pub mod metric;
mod open;
mod open_files;
mod outcome;
pub mod process;
mod queue;
mod real_time;
mod rng;
mod run_queue;
pub mod scenario;
mod scratch;
mod siege;
mod size;
pub mod stats;
mod tally;
mod timer;
mod tool;
mod warm;
mod work;
mod wrk;

pub use ab::{AbPlan, AbUntil, ab, ab_here};
pub use ask::{Ask, AskParts, BodyRule, Expect, Known, Workload};
pub use check::{NotRight, check, check_patiently, is_busy, judge_patiently};
pub use closed::{Closed, Until, closed, watch_closed};
pub use connection::SEARCHED_BYTES;
pub use divided::{Divided, Division, HEADER, divide};
pub use fault::Fault;
pub use fetch::fetch;
pub use form::Form;
pub use judge::judge;
pub use k6::{DROPPED, K6_GET, K6Here, K6Load, K6Plan, k6_counted, k6_version};
pub use open::{Open, Phase, Steps, watch_open};
pub use outcome::{Course, Outcome};
pub use real_time::{forbid_real_time, may_be_real_time};
pub use rng::SeededRng;
pub use siege::{BODIES_UNREAD, SiegePlan, SiegeUntil, siege, siege_here};
pub use size::{MeanSize, Size};
pub use tally::{LOAD_THREADS, Second, Seen, Watch, course_of};
pub use warm::{Settled, Warmth, warm_up};
pub use wrk::{WrkPlan, wrk, wrk_here};

use std::future::Future;
use std::thread;

use rustix::time::{ClockId, clock_gettime};

/// Runs `work` on the calling thread alone, to leave the processors to the server.
pub(crate) fn on_this_thread<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the load generator: {error}"))?;
    Ok(tokio::task::LocalSet::new().block_on(&runtime, work))
}

/// The part of a load that one thread generates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// Number of the thread, from 0.
    pub place: u32,
    /// Number of threads.
    pub of: u32,
}

impl Share {
    /// This thread's part of `all`. If they cannot be divided evenly, the first threads have one more.
    pub fn part(self, all: u32) -> u32 {
        all / self.of + u32::from(self.place < all % self.of)
    }

    /// A seed that differs for each thread; for the first it is that of the whole load.
    pub fn seed(self, of_load: u64) -> u64 {
        if self.place == 0 { of_load } else { SeededRng::from_seed(of_load ^ u64::from(self.place)).draw() }
    }
}

/// Runs `work` on several threads, one share each, and waits for them. Uses no more threads than clients.
pub(crate) fn on_threads<T: Send>(
    threads: u32,
    clients: u32,
    work: impl Fn(Share) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let of = threads.min(clients).max(1);
    if of == 1 {
        return work(Share { place: 0, of }).map(|alone| vec![alone]);
    }
    let work = &work;
    thread::scope(|scope| {
        let running: Vec<_> = (0..of).map(|place| scope.spawn(move || work(Share { place, of }))).collect();
        let crashed = |_| Err("the load generator has crashed".to_owned());
        running.into_iter().map(|one| one.join().unwrap_or_else(crashed)).collect()
    })
}

/// Number of processors that this many threads can use: as many, or those of the machine where there are fewer.
pub(crate) fn usable_by(threads: u32) -> u32 {
    let there = thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    threads.min(there)
}

/// Processor time of this thread so far, in seconds.
pub(crate) fn own_s() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_divided_among_threads_and_none_is_lost() {
        let parts = |clients: u32, threads: u32| on_threads(threads, clients, |share| Ok(share.part(clients))).unwrap();
        assert_eq!((parts(7, 2), parts(1, 2), parts(8, 3), parts(0, 2)), (vec![4, 3], vec![1], vec![3, 3, 2], vec![0]));
        let seeds = on_threads(3, 9, |share| Ok(share.seed(7))).unwrap();
        assert!(seeds[0] == 7 && seeds[1] != 7 && seeds[1] != seeds[2], "{seeds:?}");
        let second = on_threads(2, 2, |share| if share.place == 1 { Err("no".to_owned()) } else { Ok(()) });
        assert_eq!(second, Err("no".to_owned()));
    }
}
