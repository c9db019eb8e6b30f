//! A closed loop: clients with one request at a time each, until a number of requests was made. Every response is
//! checked. For warm-ups, and for counting failures; measurements use wrk or the open loop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use crate::client::{Answer, Client, Request};

/// Result of a loop.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub good: u64,
    /// Kinds of failures, with their counts.
    pub bad: BTreeMap<String, u64>,
    pub seconds: f64,
    pub longest_ms: f64,
}

/// Makes the request with this number.
pub type Ask<'a> = &'a (dyn Fn(u64) -> Request + Sync);
/// Checks the response to the request with this number; the error says what is wrong.
pub type Judge<'a> = &'a (dyn Fn(u64, &Answer) -> Result<(), String> + Sync);

/// Makes the requests 0 to `requests - 1`, each once.
pub fn run(port: u16, clients: u32, requests: u64, ask: Ask, judge: Judge) -> Tally {
    let next = AtomicU64::new(0);
    let begun = Instant::now();
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let running: Vec<_> =
            (0..clients).map(|_| scope.spawn(|| one_client(port, &next, requests, ask, judge))).collect();
        for client in running {
            match client.join() {
                Ok(part) => tally.take(part),
                Err(_) => *tally.bad.entry("a client of the benchmark crashed".into()).or_default() += 1,
            }
        }
    });
    tally.seconds = begun.elapsed().as_secs_f64();
    tally
}

fn one_client(port: u16, next: &AtomicU64, requests: u64, ask: Ask, judge: Judge) -> Tally {
    let mut client = Client::kept(port);
    let mut tally = Tally::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= requests {
            return tally;
        }
        let begun = Instant::now();
        let outcome = client.call(&ask(number)).and_then(|answer| judge(number, &answer));
        tally.longest_ms = tally.longest_ms.max(begun.elapsed().as_secs_f64() * 1_000.0);
        match outcome {
            Ok(()) => tally.good += 1,
            Err(error) => *tally.bad.entry(error).or_default() += 1,
        }
    }
}

impl Tally {
    fn take(&mut self, part: Tally) {
        self.good += part.good;
        self.longest_ms = self.longest_ms.max(part.longest_ms);
        for (what, many) in part.bad {
            *self.bad.entry(what).or_default() += many;
        }
    }

    /// Number of failures.
    pub fn bad_count(&self) -> u64 {
        self.bad.values().sum()
    }

    /// The failures in one line.
    pub fn bad_in_words(&self) -> String {
        let words: Vec<String> = self.bad.iter().map(|(what, many)| format!("{many} x {what}")).collect();
        words.join("; ")
    }
}

/// Expects status 200 with this body; the error says what it is instead.
pub fn expect(answer: &Answer, body: &str) -> Result<(), String> {
    match answer.status {
        200 if answer.body == body.as_bytes() => Ok(()),
        200 => {
            let text: String = String::from_utf8_lossy(&answer.body).chars().take(60).collect();
            Err(format!("200 with the wrong body {text:?}"))
        }
        other => Err(format!("status {other}")),
    }
}
