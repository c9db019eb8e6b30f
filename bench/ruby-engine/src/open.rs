//! An open loop: requests have their own times, as from many independent people, whether or not the server is ready.
//! The times are drawn beforehand (Poisson process); each request is sent at its time on the connection that has been
//! idle longest, and its latency counts from that time even if it had to wait for a connection.

use std::collections::VecDeque;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use bench_kit::stats::SeededRng;
use parking_lot::{Condvar, Mutex};

use crate::client::{Client, Request};
use crate::closed::expect;

/// Connections: more than are ever busy at once, unless a server stalls for longer than half a second.
const CONNECTIONS: usize = 128;

/// A plan of requests.
pub struct Plan {
    /// Time since the start of each request, and whether it is a long one.
    requests: Vec<(Duration, bool)>,
    /// Whether each request has a new connection.
    pub fresh: bool,
    /// Path and right body of short and of long requests.
    pub short: (&'static str, &'static str),
    pub long: (&'static str, &'static str),
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Times {
    pub short_ms: Vec<f64>,
    pub long_ms: Vec<f64>,
    pub errors: Vec<String>,
    /// Number of requests that found no idle connection at their time.
    pub waited: u64,
}

struct Job {
    due: Instant,
    long: bool,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    idle: usize,
    closed: bool,
}

/// The queue between the thread that knows the times and the connections.
#[derive(Default)]
struct Counter {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

impl Plan {
    /// Draws a plan; the same for the same seed.
    pub fn draw(seed: u64, seconds: u32, per_second: f64, long_share: f64, fresh: bool) -> Plan {
        let mut rng = SeededRng::from_seed(seed);
        let mut requests = Vec::new();
        let mut at = 0.0;
        loop {
            at += rng.gap_s(per_second);
            if at >= f64::from(seconds) {
                let short = ("/cpu/1", "worked 1 ms\n");
                let long = ("/cpu/100", "worked 100 ms\n");
                return Plan { requests, fresh, short, long };
            }
            requests.push((Duration::from_secs_f64(at), rng.fraction() <= long_share));
        }
    }

    /// Sends all requests and waits for all responses.
    pub fn run(&self, port: u16) -> Times {
        let counter = Counter::default();
        let ready = Barrier::new(CONNECTIONS + 1);
        let mut times = Times::default();
        thread::scope(|scope| {
            let connections: Vec<_> =
                (0..CONNECTIONS).map(|_| scope.spawn(|| self.connection(port, &counter, &ready))).collect();
            ready.wait();
            times.waited = self.send(&counter);
            for connection in connections {
                match connection.join() {
                    Ok(part) => times.take(part),
                    Err(_) => times.errors.push("a connection of the benchmark crashed".into()),
                }
            }
        });
        times
    }

    /// Queues each request at its time; returns how many found no idle connection.
    fn send(&self, counter: &Counter) -> u64 {
        let begun = Instant::now();
        let mut waited = 0;
        for (after, long) in &self.requests {
            let due = begun + *after;
            loop {
                let left = due.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                thread::park_timeout(left);
            }
            let mut waiting = counter.waiting.lock();
            waited += u64::from(waiting.idle <= waiting.jobs.len());
            waiting.jobs.push_back(Job { due, long: *long });
            drop(waiting);
            counter.news.notify_one();
        }
        counter.waiting.lock().closed = true;
        counter.news.notify_all();
        waited
    }

    fn connection(&self, port: u16, counter: &Counter, ready: &Barrier) -> Times {
        let mut times = Times::default();
        let mut client = if self.fresh { Client::fresh(port) } else { Client::kept(port) };
        if !self.fresh {
            // Opens the connection before the clock starts.
            times.note(self.ask(&mut client, false));
        }
        ready.wait();
        while let Some(job) = counter.next() {
            if times.note(self.ask(&mut client, job.long)) {
                let list = if job.long { &mut times.long_ms } else { &mut times.short_ms };
                list.push(job.due.elapsed().as_secs_f64() * 1_000.0);
            }
        }
        times
    }

    fn ask(&self, client: &mut Client, long: bool) -> Result<(), String> {
        let (path, body) = if long { self.long } else { self.short };
        client.call(&Request::get(path)).and_then(|answer| expect(&answer, body))
    }
}

impl Counter {
    /// The next request for an idle connection; `None` after the last one.
    fn next(&self) -> Option<Job> {
        let mut waiting = self.waiting.lock();
        waiting.idle += 1;
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                waiting.idle -= 1;
                return Some(job);
            }
            if waiting.closed {
                return None;
            }
            // The kernel wakes the longest waiter first.
            self.news.wait(&mut waiting);
        }
    }
}

impl Times {
    fn note(&mut self, outcome: Result<(), String>) -> bool {
        outcome.map_err(|error| self.errors.push(error)).is_ok()
    }

    fn take(&mut self, part: Times) {
        self.short_ms.extend(part.short_ms);
        self.long_ms.extend(part.long_ms);
        self.errors.extend(part.errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_the_rate_and_the_share_it_was_drawn_for() {
        let plan = Plan::draw(1, 100, 200.0, 0.05, false);
        let long = plan.requests.iter().filter(|(_, long)| *long).count();
        assert!((19_400..20_600).contains(&plan.requests.len()), "{}", plan.requests.len());
        assert!((850..1_150).contains(&long), "{long}");
        assert!(plan.requests.is_sorted_by_key(|(at, _)| *at));
        assert_eq!(plan.requests, Plan::draw(1, 100, 200.0, 0.05, false).requests);
        assert_ne!(plan.requests, Plan::draw(2, 100, 200.0, 0.05, false).requests);
    }
}
