//! Warming up: until the rate does not change any more, as a just-in-time compiler or a growing pool makes it do.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::ask::Workload;
use super::closed::start;
use super::on_this_thread;
use super::tally::{Tally, Watch};
use super::work::Work;

/// How near each other rates must be.
const NEAR: f64 = 1.05;
/// How many of them in a row.
const WINDOWS: usize = 3;

/// How it went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Warmth {
    /// Right answers.
    pub requests: u64,
    /// How long it took.
    pub seconds: f64,
    /// Whether the rate had settled.
    pub stable: bool,
    /// Requests without a right answer.
    pub failed: u64,
    /// The first wrong answer, described, or why nothing could be asked.
    pub wrong: Option<String>,
}

/// Asks in a closed loop until three windows in a row agree within 5 %, for `max_s` at most.
pub fn warm_up(port: u16, workload: &Workload, clients: u32, max_s: f64) -> Warmth {
    let made = on_this_thread(run(port, workload, clients, max_s));
    made.and_then(|warmth| warmth).unwrap_or_else(|error| Warmth { wrong: Some(error), ..Warmth::default() })
}

async fn run(port: u16, workload: &Workload, clients: u32, max_s: f64) -> Result<Warmth, String> {
    let most = Duration::try_from_secs_f64(max_s).map_err(|_| format!("{max_s} s: give a number of seconds"))?;
    let begun = Instant::now();
    let watch = Watch::default();
    let tally = Tally::new(begun, None, &watch);
    let work = Rc::new(Work::new(port, workload, (true, 1), &watch, tally)?);
    let mut running = start(&work, clients, Some(begun + most), &Arc::new(AtomicU64::new(u64::MAX)));
    let window = (most / 20).clamp(Duration::from_millis(100), Duration::from_secs(1));
    let mut rates: Vec<f64> = Vec::new();
    let mut from = begun;
    let mut before = 0;
    while begun.elapsed() + window <= most && !has_settled(&rates) {
        tokio::time::sleep(window).await;
        let right = work.tally.borrow().right;
        rates.push((right - before) as f64 / from.elapsed().as_secs_f64());
        (from, before) = (Instant::now(), right);
    }
    work.stopped.set(true);
    while running.join_next().await.is_some() {}
    let mut tally = work.tally.borrow_mut();
    let requests = tally.right;
    let failed = tally.failed;
    let seconds = begun.elapsed().as_secs_f64();
    let wrong = tally.seen(String::new()).outcome.wrong;
    Ok(Warmth { requests, seconds, stable: has_settled(&rates), failed, wrong })
}

fn has_settled(rates: &[f64]) -> bool {
    let Some(last) = rates.len().checked_sub(WINDOWS).map(|from| &rates[from..]) else { return false };
    let lowest = last.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = last.iter().copied().fold(0.0, f64::max);
    lowest > 0.0 && highest <= lowest * NEAR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_row_must_agree() {
        assert!(!has_settled(&[]) && !has_settled(&[100.0, 100.0]) && !has_settled(&[0.0, 0.0, 0.0]));
        assert!(!has_settled(&[100.0, 100.0, 100.0, 110.0]) && !has_settled(&[94.0, 100.0, 97.0]));
        assert!(has_settled(&[1.0, 96.0, 100.0, 99.0]));
    }
}
