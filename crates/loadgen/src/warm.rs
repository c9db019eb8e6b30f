//! Warm-up: load until the rate is stable, since just-in-time compilers and growing pools change it at first.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::ask::Workload;
use super::closed::start;
use super::on_this_thread;
use super::tally::{Tally, Watch};
use super::work::Work;

/// Largest ratio of rates that count as equal.
const NEAR: f64 = 1.05;
/// Number of consecutive rates that must be equal.
const WINDOWS: usize = 3;

/// Results of a warm-up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Warmth {
    /// Number of right responses.
    pub requests: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Whether the rate has settled.
    pub stable: bool,
    /// Number of requests without a right response.
    pub failed: u64,
    /// Description of the first wrong response, or the reason why the load was impossible.
    pub wrong: Option<String>,
}

/// Runs a closed loop until three consecutive windows agree within 5 %, for `max_s` seconds at most.
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
