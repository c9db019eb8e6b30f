//! The open loop: requests come at random times (Poisson), as from many independent people, and not when the server is
//! ready for them. Each is sent at its time on the connection that has been idle longest, or on a new one; if no more
//! connections are allowed it waits, and its latency still counts from its time. One thread makes the load if it can;
//! at higher rates several share the connections, and send the requests in turn.

use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use super::ask::Workload;
use super::open_files::allowed;
use super::queue::{Job, Queue};
use super::real_time::RealTime;
use super::rng::SeededRng;
use super::run_queue::{own_wait_s, wait_since};
use super::tally::{Seen, Tally, Watch};
use super::timer::Timer;
use super::work::Work;
use super::{Share, on_this_thread, on_threads, own_s};
use crate::metric;

/// Requests per second that one thread generates. A load has no more threads than its rate takes: a thread wakes up for
/// each of its requests and responses, and then interrupts the server. On a machine with two processors, a server that
/// served 28 000 requests per second in the closed loop served no more than 15 000 of 20 000 in the open loop beside
/// two threads with real-time priority, and all of them, each within a millisecond, beside one.
const THREAD_PER_S: f64 = 40_000.0;
/// Requests per second and thread above which the load generator has no real-time priority: it takes about half of a
/// processor then, and the server must be able to interrupt it.
const REAL_TIME_PER_S: f64 = 20_000.0;

/// Longest lateness that is recorded: a minute.
const LATE_MOST_US: u64 = 60_000_000;

/// Share of one processor, over the load so far, above which a thread of the load generator gives up its real-time
/// priority. With a larger share it could starve an overloaded server.
const REAL_TIME_SHARE: f64 = 0.5;
/// Processor time in seconds that such a thread may use in any case: it opens its connections at the beginning.
const REAL_TIME_S: f64 = 0.1;

/// Options of an open loop.
#[derive(Debug, Clone)]
pub struct Open {
    /// Mean number of requests per second.
    pub per_s: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Largest number of connections, which are kept open.
    pub connections: u32,
    /// Seed of the times and the random choices.
    pub seed: u64,
}

/// A part of an open loop with a rate of its own.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// Mean number of requests per second.
    pub per_s: f64,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Options of an open loop whose rate changes.
#[derive(Debug, Clone)]
pub struct Steps {
    /// The phases, one after the other.
    pub phases: Vec<Phase>,
    /// Largest number of connections, which are kept open.
    pub connections: u32,
    /// Seed of the times and the random choices.
    pub seed: u64,
    /// Whether the load generator takes a processor whenever it needs one, where the kernel permits that. Not for rates
    /// far above what a server can do: it would starve the server. At very high rates it has no such priority anyway.
    pub is_real_time: bool,
}

impl Open {
    /// The same loop as a single phase.
    pub fn steps(&self) -> Steps {
        let phases = vec![Phase { per_s: self.per_s, seconds: self.seconds }];
        Steps { phases, connections: self.connections, seed: self.seed, is_real_time: true }
    }
}

/// Loads the server on this port, on as many of the threads of `watch` as the rate takes.
pub fn watch_open(port: u16, workload: &Workload, plan: &Steps, watch: &Watch) -> Seen {
    let watch = &Watch { threads: plan.threads(watch.threads), ..*watch };
    made(port, workload, plan, watch).unwrap_or_else(|error| Seen::nothing(plan.in_words(watch), error))
}

impl Steps {
    /// The options in words, for the record.
    fn in_words(&self, watch: &Watch) -> String {
        let phase = |phase: &Phase| format!("{:.1}/s for {} s", phase.per_s, phase.seconds);
        let phases: Vec<String> = self.phases.iter().map(phase).collect();
        let threads = watch.in_words(self.connections);
        let most = self.connections;
        format!("open loop: {}{threads}, at most {most} connections, kept, seed {}", phases.join(", "), self.seed)
    }

    /// Number of threads that the highest rate takes, at most `most`.
    fn threads(&self, most: u32) -> u32 {
        (self.highest_per_s() / THREAD_PER_S).ceil().clamp(1.0, f64::from(most.max(1))) as u32
    }

    fn highest_per_s(&self) -> f64 {
        self.phases.iter().map(|phase| phase.per_s).fold(0.0, f64::max)
    }

    fn complaint(&self) -> Option<String> {
        let is_good = |number: f64| number.is_finite() && number > 0.0;
        match self.phases.iter().find(|phase| !is_good(phase.per_s) || !is_good(phase.seconds)) {
            Some(Phase { per_s, seconds }) => {
                Some(format!("{per_s} requests per second for {seconds} s: both are numbers above 0"))
            }
            None if self.phases.is_empty() || self.connections == 0 => {
                Some("an open loop needs a phase and a connection".into())
            }
            None => None,
        }
    }
}

/// Results of one thread.
struct ThreadResults {
    tally: Tally,
    offered: u64,
    latest: Duration,
    lateness: Histogram<u32>,
    priority: Priority,
}

/// Priority of the load generator during a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Priority {
    Normal,
    /// Real-time priority until it had used too much of a processor.
    RealTimeAtFirst,
    RealTime,
}

fn made(port: u16, workload: &Workload, plan: &Steps, watch: &Watch) -> Result<Seen, String> {
    if let Some(complaint) = plan.complaint() {
        return Err(complaint);
    }
    let seconds: f64 = plan.phases.iter().map(|phase| phase.seconds).sum();
    let span = Duration::try_from_secs_f64(seconds).map_err(|error| format!("{seconds} s: {error}"))?;
    // Connections beyond the limit of open files would fail at once, each with a waiting request.
    let wanted = plan.connections;
    let plan = &Steps { connections: allowed(wanted, 0).max(1), ..plan.clone() };
    let begun = Instant::now();
    let parts = on_threads(watch.threads, plan.connections, |share| {
        let tally = Tally::new(begun, Some(begun + span), watch);
        on_this_thread(run(port, workload, plan, share, watch, begun, tally))?
    })?;
    let whole = parts.into_iter().reduce(ThreadResults::with).ok_or_else(|| "a load without a thread".to_owned())?;
    let ThreadResults { mut tally, offered, latest, lateness, priority } = whole;
    // How far the load generator itself was behind: a reader can tell whether the machine was too small for both.
    let how = match priority {
        Priority::Normal => "",
        Priority::RealTimeAtFirst => ", with real-time priority until half of a processor was used",
        Priority::RealTime => ", with real-time priority",
    };
    let words = format!("requests were sent at most {:.1} ms late{how}", latest.as_secs_f64() * 1_000.0);
    let mut seen = tally.seen(plan.in_words(watch));
    seen.outcome.remarks.push(words);
    let most = plan.connections;
    let fewer = format!("{most} connections at most, not {wanted}: more files may not be open here (ulimit -n)");
    seen.outcome.remarks.extend((most < wanted).then_some(fewer));
    seen.outcome.numbers.insert("offered_per_s".into(), offered as f64 / seconds);
    seen.outcome.numbers.insert(metric::LATE.into(), lateness.value_at_quantile(0.99) as f64 / 1_000.0);
    Ok(seen)
}

impl ThreadResults {
    fn with(mut self, other: ThreadResults) -> ThreadResults {
        // It cannot fail: both have the same bounds.
        let _ = self.lateness.add(&other.lateness);
        ThreadResults {
            tally: self.tally.with(other.tally),
            offered: self.offered + other.offered,
            latest: self.latest.max(other.latest),
            lateness: self.lateness,
            priority: self.priority.min(other.priority),
        }
    }
}

/// Sends this thread's share of the requests, such as every second one of two threads. All threads draw the same times
/// and requests.
async fn run(
    port: u16,
    workload: &Workload,
    plan: &Steps,
    share: Share,
    watch: &Watch,
    begun: Instant,
    tally: Tally,
) -> Result<ThreadResults, String> {
    let own = own_s();
    let waited = own_wait_s();
    let is_real_time = plan.is_real_time && plan.highest_per_s() <= REAL_TIME_PER_S * f64::from(share.of);
    let mut real_time = is_real_time.then(RealTime::begin).flatten();
    let mut priority = if real_time.is_some() { Priority::RealTime } else { Priority::Normal };
    let timer = Timer::new()?;
    let work = Rc::new(Work::new(port, workload, true, plan.seed, watch, tally)?);
    let queue = Rc::new(Queue::default());
    let mut senders = JoinSet::new();
    let most = share.part(plan.connections) as usize;
    let mut offered = 0_u64;
    let mut latest = Duration::ZERO;
    let mut lateness = Histogram::<u32>::new_with_max(LATE_MOST_US, 2).map_err(|error| error.to_string())?;
    for (after, owner) in Schedule::new(plan).zip((0..share.of).cycle()) {
        let place = work.draw();
        if owner != share.place {
            continue;
        }
        let due = begun + after;
        timer.wait_until(due).await?;
        let late = due.elapsed();
        latest = latest.max(late);
        lateness.saturating_record(late.as_micros() as u64);
        offered += 1;
        let is_free = queue.push(Job { due, place });
        if !is_free && senders.len() < most {
            senders.spawn_local(sender(Rc::clone(&work), Rc::clone(&queue)));
        }
        if offered.is_multiple_of(64) {
            let most = (begun.elapsed().as_secs_f64() * REAL_TIME_SHARE).max(REAL_TIME_S);
            if real_time.is_some() && own_s() - own > most {
                (real_time, priority) = (None, Priority::RealTimeAtFirst);
            }
            // When everything is late, the timer above never waits, and responses would not be read.
            tokio::task::yield_now().await;
        }
    }
    queue.close();
    while senders.join_next().await.is_some() {}
    let tally = work.tally.replace(Tally::new(Instant::now(), None, watch));
    let tally = tally.took(own_s() - own, wait_since(waited));
    drop(real_time);
    Ok(ThreadResults { tally, offered, latest, lateness, priority })
}

async fn sender(work: Rc<Work>, queue: Rc<Queue>) {
    let mut connection = work.connection();
    while let Some(job) = queue.next().await {
        work.one(&mut connection, job.due, job.place).await;
    }
}

/// Iterator over the times of requests, from the start of the load.
struct Schedule<'a> {
    phases: std::slice::Iter<'a, Phase>,
    now: Option<Phase>,
    rng: SeededRng,
    at: f64,
    /// End of the current phase.
    end: f64,
}

impl<'a> Schedule<'a> {
    fn new(plan: &'a Steps) -> Schedule<'a> {
        // Not the seed of the choice of requests, so that a rare request does not always follow a short gap.
        let rng = SeededRng::from_seed(plan.seed ^ 0x5bd1_e995);
        Schedule { phases: plan.phases.iter(), now: None, rng, at: 0.0, end: 0.0 }
    }
}

impl Iterator for Schedule<'_> {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        loop {
            if let Some(phase) = self.now {
                self.at += self.rng.gap_s(phase.per_s);
                if self.at < self.end {
                    return Duration::try_from_secs_f64(self.at).ok();
                }
            }
            // A Poisson process has no memory: a phase may begin with a fresh gap.
            self.at = self.end;
            let phase = self.phases.next()?;
            self.end += phase.seconds;
            self.now = Some(*phase);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(phases: &[(f64, f64)], seed: u64) -> Steps {
        let phases = phases.iter().map(|&(per_s, seconds)| Phase { per_s, seconds }).collect();
        Steps { phases, connections: 1, seed, is_real_time: false }
    }

    #[test]
    fn times_have_the_rates_they_were_drawn_for() {
        let plan = steps(&[(200.0, 100.0), (1_000.0, 10.0)], 1);
        let times: Vec<Duration> = Schedule::new(&plan).collect();
        let early = times.iter().filter(|at| at.as_secs_f64() < 100.0).count();
        assert!((19_400..20_600).contains(&early), "{early}");
        assert!((9_500..10_500).contains(&(times.len() - early)), "{}", times.len());
        assert!(times.is_sorted() && times.iter().all(|at| at.as_secs_f64() < 110.0));
        assert!(Schedule::new(&plan).eq(times.iter().copied()));
        assert!(!Schedule::new(&steps(&[(200.0, 100.0)], 2)).eq(Schedule::new(&steps(&[(200.0, 100.0)], 1))));
    }

    #[test]
    fn a_load_has_no_more_threads_than_its_rate_takes() {
        let threads = |per_s: f64, most: u32| steps(&[(50.0, 1.0), (per_s, 1.0)], 1).threads(most);
        let rates = [0.0, 100.0, 40_000.0, 40_001.0, 1e9, f64::NAN, f64::INFINITY];
        assert_eq!(rates.map(|per_s| threads(per_s, 2)), [1, 1, 1, 2, 2, 1, 2]);
        assert_eq!([threads(1e9, 0), threads(1e9, 1), threads(90_000.0, 8)], [1, 1, 3]);
    }

    #[test]
    fn bad_plans_ask_nothing_and_say_why() {
        let workload = Workload { asks: vec![super::super::ask::Ask::get("/")] };
        for phases in [&[(0.0, 1.0)][..], &[(1.0, f64::NAN)], &[(f64::INFINITY, 1.0)], &[(1.0, 1e300)], &[]] {
            let seen = watch_open(1, &workload, &steps(phases, 1), &Watch::default());
            assert!(seen.outcome.void.is_some() && seen.outcome.wrong.is_none(), "{phases:?}");
            assert!(seen.outcome.numbers.is_empty(), "it has no rate, not one of 0: {phases:?}");
        }
    }
}
