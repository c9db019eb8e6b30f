//! The queue in simulated time: arrivals with pauses and under overload, and the fate of each request. No clock runs
//! here: two thousand seconds take as long as their events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use engine::queue::{Backlog, Job};

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

/// A small seeded generator (xorshift64*), so that each run is the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number above 0 and up to 1.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    /// Returns an exponentially distributed number.
    fn exponential(&mut self, mean: u64) -> u64 {
        (-(self.share().ln()) * mean as f64) as u64
    }
}

/// A request: when it arrives and for how long it occupies a worker, in microseconds.
#[derive(Clone, Copy)]
struct Arrival {
    at: u64,
    takes: u64,
}

/// A request in the queue.
#[derive(Debug)]
struct Waiting {
    number: usize,
    offered: Instant,
    ends: Instant,
}

impl Job for Waiting {
    fn is_abandoned(&self) -> bool {
        false
    }
    fn offered(&self) -> Instant {
        self.offered
    }
    fn wait_ends(&self) -> Instant {
        self.ends
    }
    fn pause_ends(&self) -> Instant {
        self.ends
    }
    fn add_pause(&mut self, _: Instant, _: Instant) {}
}

/// Fate of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// Began after waiting for this many microseconds.
    Served(u64),
    /// Refused on arrival.
    Refused,
    /// Timed out in the queue.
    Expired,
}

/// A simulated server: number of workers, longest wait, and the times when all workers stand still.
struct Server {
    workers: usize,
    patience: u64,
    /// Beginning and end of each, in order.
    freezes: Vec<(u64, u64)>,
    /// Whether the queue uses its forecast; without it no request is refused early, as in a server that only waits.
    predicts: bool,
}

impl Server {
    fn run(&self, arrivals: &[Arrival]) -> Vec<Fate> {
        let start = Instant::now();
        let moment = |at: u64| start + Duration::from_micros(at);
        let mut backlog: Backlog<Waiting> = Backlog::new(usize::MAX, start);
        let mut plain = VecDeque::new();
        let mut fates = vec![Fate::Expired; arrivals.len()];
        let mut free = self.workers;
        // Times when workers become free.
        let mut ends: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let mut coming = arrivals.iter().copied().enumerate().peekable();
        loop {
            let arrival = coming.peek().map(|(_, arrival)| arrival.at);
            let end = ends.peek().map(|Reverse(at)| *at);
            let Some(now) = arrival.into_iter().chain(end).min() else { break };
            if end == Some(now) {
                ends.pop();
                free += 1;
                let next = if self.predicts {
                    backlog.overdue(moment(now));
                    backlog.pop(moment(now)).map(|job| job.number)
                } else {
                    while plain.front().is_some_and(|number: &usize| arrivals[*number].at + self.patience <= now) {
                        plain.pop_front();
                    }
                    plain.pop_front()
                };
                if let Some(number) = next {
                    free -= 1;
                    fates[number] = Fate::Served(now - arrivals[number].at);
                    ends.push(Reverse(self.end(now, arrivals[number].takes)));
                }
                continue;
            }
            let Some((number, arrival)) = coming.next() else { break };
            if free > 0 {
                free -= 1;
                backlog.count_begun(moment(now));
                fates[number] = Fate::Served(0);
                ends.push(Reverse(self.end(now, arrival.takes)));
            } else if self.predicts {
                backlog.overdue(moment(now));
                let job = Waiting { number, offered: moment(now), ends: moment(now + self.patience) };
                if backlog.push(job, moment(now)).is_err() {
                    fates[number] = Fate::Refused;
                }
            } else {
                plain.push_back(number);
            }
        }
        fates
    }

    /// Time when work that begins at `from` ends; it makes no progress in a freeze.
    fn end(&self, from: u64, takes: u64) -> u64 {
        let mut now = from;
        let mut left = takes;
        let first = self.freezes.partition_point(|(_, to)| *to <= from);
        for (begin, end) in &self.freezes[first..] {
            if *begin >= now + left {
                break;
            }
            left -= begin.saturating_sub(now);
            now = *end;
        }
        now + left
    }
}

/// Number of requests that were refused although they would have begun in time.
fn wrongly_refused(server: &Server, arrivals: &[Arrival]) -> usize {
    let with = Server { predicts: true, freezes: server.freezes.clone(), ..*server }.run(arrivals);
    let without = Server { predicts: false, freezes: server.freezes.clone(), ..*server }.run(arrivals);
    let is_wrong =
        |(with, without): (&Fate, &Fate)| !matches!(with, Fate::Served(_)) && matches!(without, Fate::Served(_));
    with.iter().zip(&without).filter(|pair| is_wrong(*pair)).count()
}

/// Poisson arrivals, `per_s` a second, from `from` to `to`.
fn poisson(
    random: &mut Random,
    per_s: u64,
    (from, to): (u64, u64),
    takes: impl Fn(&mut Random) -> u64,
) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    let mut at = from;
    loop {
        at += random.exponential(SECOND / per_s).max(1);
        if at >= to {
            return arrivals;
        }
        arrivals.push(Arrival { at, takes: takes(random) });
    }
}

fn short(random: &mut Random) -> u64 {
    random.between(300, 1_500)
}

/// A server with two workers of three threads, and a limit of 10 s.
fn two_by_three(freezes: Vec<(u64, u64)>) -> Server {
    Server { workers: 6, patience: 10 * SECOND, freezes, predicts: true }
}

#[test]
fn nobody_is_refused_when_slow_requests_hold_all_places_for_a_second_five_times() {
    let mut random = Random(1);
    let mut arrivals = poisson(&mut random, 250, (0, 22 * SECOND), short);
    for round in 1..=5 {
        arrivals.extend((0..6).map(|one| Arrival { at: round * 4 * SECOND + one * MS, takes: SECOND }));
    }
    arrivals.sort_by_key(|arrival| arrival.at);
    assert_eq!(wrongly_refused(&two_by_three(Vec::new()), &arrivals), 0);
}

#[test]
fn nobody_is_refused_when_workers_are_stopped_for_a_moment() {
    for length in [400 * MS, 500 * MS, SECOND, 2 * SECOND, 3 * SECOND] {
        let mut random = Random(length);
        let arrivals = poisson(&mut random, 250, (0, 24 * SECOND), short);
        let freezes = (1..=5).map(|round| (round * 4 * SECOND, round * 4 * SECOND + length)).collect();
        assert_eq!(wrongly_refused(&two_by_three(freezes), &arrivals), 0, "{length} us");
    }
}

#[test]
fn nobody_is_refused_while_a_database_is_slow_for_some_seconds() {
    // Every request that begins in those seconds takes half a second: the queue moves, at a thirtieth of its rate.
    let mut random = Random(3);
    let mut arrivals = poisson(&mut random, 250, (0, 60 * SECOND), short);
    for slow in [10, 25, 40] {
        let slow = slow * SECOND..(slow + 3) * SECOND;
        arrivals
            .iter_mut()
            .filter(|arrival| slow.contains(&arrival.at))
            .take(36)
            .for_each(|one| one.takes = SECOND / 2);
    }
    assert_eq!(wrongly_refused(&two_by_three(Vec::new()), &arrivals), 0);
}

#[test]
fn nobody_is_refused_at_a_cold_start() {
    // The first requests of each thread load code and take a second; meanwhile all clients come back at once.
    let mut random = Random(4);
    let mut arrivals = poisson(&mut random, 250, (0, 10 * SECOND), short);
    arrivals.iter_mut().take(12).for_each(|one| one.takes = SECOND);
    arrivals.extend((0..500).map(|one| Arrival { at: one * 10, takes: if one < 6 { SECOND } else { 800 } }));
    arrivals.sort_by_key(|arrival| arrival.at);
    assert_eq!(wrongly_refused(&two_by_three(Vec::new()), &arrivals), 0);
}

#[test]
fn a_million_requests_with_random_pauses() {
    let mut served = 0;
    for seed in 1..=8 {
        let mut random = Random(seed * 7_919);
        let per_s = [40, 250, 1_000, 2_000][seed as usize % 4];
        let length = 125_000 * SECOND / per_s;
        let mean = [20 * MS, 3 * MS, MS, 500][seed as usize % 4];
        let arrivals = poisson(&mut random, per_s, (0, length), |random| random.exponential(mean).max(100));
        let mut freezes = Vec::new();
        let mut at = 0;
        loop {
            at += random.exponential(8 * SECOND);
            let end = at + random.between(100 * MS, 3 * SECOND);
            if end >= length {
                break;
            }
            freezes.push((at, end));
            at = end;
        }
        assert_eq!(wrongly_refused(&two_by_three(freezes), &arrivals), 0, "seed {seed}");
        served += arrivals.len();
    }
    assert!(served > 950_000, "{served}");
}

/// Returns the share of the capacity that was used during an overload, the longest wait after its backlog was worked
/// off, and the numbers of refused and expired requests.
fn overload(factor: u64, patience: u64) -> (f64, u64, BTreeMap<&'static str, usize>) {
    let mut random = Random(factor);
    let takes = 20 * MS;
    let capacity = 2 * SECOND / takes;
    let mut arrivals = poisson(&mut random, capacity / 2, (0, 5 * SECOND), |_| takes);
    arrivals.extend(poisson(&mut random, capacity * factor, (5 * SECOND, 25 * SECOND), |_| takes));
    arrivals.extend(poisson(&mut random, capacity / 2, (25 * SECOND, 45 * SECOND), |_| takes));
    let server = Server { workers: 2, patience, freezes: Vec::new(), predicts: true };
    let fates = server.run(&arrivals);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut goodput = 0;
    let mut slowest = 0;
    for (arrival, fate) in arrivals.iter().zip(&fates) {
        // Half of the capacity comes afterwards, so the other half works off what still waits.
        let is_over = (5 * SECOND..25 * SECOND + 3 * patience).contains(&arrival.at);
        match fate {
            Fate::Served(waited) => {
                let began = arrival.at + waited;
                goodput += u64::from((5 * SECOND..25 * SECOND).contains(&began));
                if !is_over {
                    slowest = slowest.max(*waited);
                }
            }
            Fate::Refused | Fate::Expired => {
                assert!(is_over, "{fate:?} at {} us, where nothing is overloaded", arrival.at);
                let name = if *fate == Fate::Refused { "refused" } else { "expired" };
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    (goodput as f64 / (20 * capacity) as f64, slowest, counts)
}

#[test]
fn under_overload_all_capacity_is_used_and_most_are_told_at_once() {
    for factor in [2, 5, 20] {
        for patience in [500 * MS, SECOND, 4 * SECOND] {
            let (goodput, slowest, counts) = overload(factor, patience);
            assert!(goodput > 0.99, "{factor} times, {patience} us: {goodput}");
            // At half of the capacity a few requests may wait behind each other.
            assert!(slowest < SECOND / 2, "{factor} times, {patience} us: {slowest} us");
            let of = |name| counts.get(name).copied().unwrap_or(0) as f64;
            assert!(of("refused") > of("expired"), "{factor} times, {patience} us: {counts:?}");
        }
    }
}
