//! Warm-up: load until the rate is stable, since just-in-time compilers and growing pools change it at first.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::ask::Workload;
use super::closed::{Stop, start};
use super::on_this_thread;
use super::tally::{Tally, Watch};
use super::work::Work;

/// Largest change of the rate over the later half of a warm-up, as a share of it, of a rate that has settled.
const NEAR: f64 = 0.05;
/// Least number of rates in that half.
const WINDOWS: usize = 6;

/// Most that twice the standard error of the trend may be, as a share of the rate, for a rate without a visible trend
/// to count as settled: with a larger one the rate could rise by more than that unseen.
const SEEN: f64 = 0.2;

/// Whether the rate has settled by the end of a warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Settled {
    /// It changes by 5 % at most over the later half, or by no more than chance explains.
    Yes,
    /// Not known: the rate varied too much, or the time was too short.
    #[default]
    Unknown,
    /// It rises or falls.
    No,
}

impl Settled {
    /// The number that a record has for it (`metric::SETTLED`).
    pub fn number(self) -> f64 {
        match self {
            Settled::Yes => 1.0,
            Settled::Unknown => 0.5,
            Settled::No => 0.0,
        }
    }
}

/// Results of a warm-up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Warmth {
    /// Number of right responses.
    pub requests: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Whether the rate has settled.
    pub settled: Settled,
    /// Number of requests without a right response.
    pub failed: u64,
    /// Description of the first wrong response.
    pub wrong: Option<String>,
    /// Why there was no warm-up, by a fault of the load generator and not of the server.
    pub void: Option<String>,
}

/// Runs a closed loop until the rate has settled, for `max_s` seconds at most: until over the later half of the time
/// the trend of the rate and its standard error are together at most 5 %. Rates that are equal for a moment are not
/// enough: those of a just-in-time compiler rise slowly, and few requests are equal by chance.
pub fn warm_up(port: u16, workload: &Workload, clients: u32, max_s: f64) -> Warmth {
    let made = on_this_thread(run(port, workload, clients, max_s));
    made.and_then(|warmth| warmth).unwrap_or_else(|error| Warmth { void: Some(error), ..Warmth::default() })
}

async fn run(port: u16, workload: &Workload, clients: u32, max_s: f64) -> Result<Warmth, String> {
    let most = Duration::try_from_secs_f64(max_s).map_err(|_| format!("{max_s} s: give a number of seconds"))?;
    let begun = Instant::now();
    let watch = Watch::default();
    let tally = Tally::new(begun, None, &watch);
    let work = Rc::new(Work::new(port, workload, true, 1, &watch, tally)?);
    let mut running = start(&work, clients, &Stop::new(Some(begun + most), u64::MAX));
    let window = (most / 40).clamp(Duration::from_millis(20), Duration::from_millis(500));
    let mut rates: Vec<f64> = Vec::new();
    let mut from = begun;
    let mut before = 0;
    while begun.elapsed() + window <= most && !Trend::of(&rates).is_some_and(Trend::is_flat) {
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
    let settled = Trend::of(&rates).map_or(Settled::Unknown, Trend::settled);
    Ok(Warmth { requests, seconds, settled, failed, wrong, void: None })
}

/// Change of the rate over the later half of the windows, and its standard error, as shares of the mean rate.
#[derive(Debug, Clone, Copy)]
struct Trend {
    change: f64,
    error: f64,
}

impl Trend {
    /// By a line of least squares. `None` of too few windows, and where nothing was served.
    fn of(rates: &[f64]) -> Option<Trend> {
        let half = &rates[rates.len() / 2..];
        let count = half.len() as f64;
        let mean = half.iter().sum::<f64>() / count;
        if half.len() < WINDOWS || mean <= 0.0 {
            return None;
        }
        let middle = (count - 1.0) / 2.0;
        let points = || half.iter().enumerate().map(|(at, rate)| (at as f64 - middle, rate - mean));
        let spread: f64 = points().map(|(at, _)| at * at).sum();
        let slope = points().map(|(at, rate)| at * rate).sum::<f64>() / spread;
        let left: f64 = points().map(|(at, rate)| (rate - slope * at).powi(2)).sum();
        let error = (left / (count - 2.0) / spread).sqrt();
        Some(Trend { change: slope * count / mean, error: error * count / mean })
    }

    /// Whether it is known to be small.
    fn is_flat(self) -> bool {
        self.change.abs() + self.error <= NEAR
    }

    fn settled(self) -> Settled {
        let change = self.change.abs();
        let unseen = 2.0 * self.error;
        if change > NEAR && change > unseen {
            return Settled::No;
        }
        // A small change is one by chance where the error is large.
        if unseen > SEEN { Settled::Unknown } else { Settled::Yes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(rates: &[f64]) -> (bool, Settled) {
        Trend::of(rates).map_or((false, Settled::Unknown), |trend| (trend.is_flat(), trend.settled()))
    }

    #[test]
    fn the_later_half_must_be_flat() {
        let varied = |by: f64| -> Vec<f64> { (0..24).map(|at| 100.0 + [by, -by, 0.0][at % 3]).collect() };
        assert_eq!(trend(&[]), (false, Settled::Unknown));
        assert_eq!(trend(&[100.0; 10]), (false, Settled::Unknown), "five are too few");
        assert_eq!(trend(&[0.0; 40]), (false, Settled::Unknown));
        assert_eq!(trend(&[100.0; 11]), (true, Settled::Yes));
        let risen = [1.0, 9.0, 20.0, 50.0, 80.0, 99.0, 100.0, 101.0, 100.0, 99.0, 100.0];
        assert_eq!(trend(&risen), (true, Settled::Yes));
        let rising: Vec<f64> = (0..24).map(|at| 100.0 + f64::from(at)).collect();
        assert_eq!(trend(&rising), (false, Settled::No));
        let falling: Vec<f64> = (0..24).map(|at| 100.0 - f64::from(at)).collect();
        assert_eq!(trend(&falling), (false, Settled::No));
        assert_eq!(trend(&varied(1.0)), (true, Settled::Yes));
        assert!(!trend(&varied(40.0)).0);
        // By chance as large as this, and not more: a trend of a fifth would be unseen.
        let wild = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 60.0, 140.0, 90.0, 130.0, 70.0, 125.0];
        assert_eq!(trend(&wild), (false, Settled::Unknown));
        // No trend at all, by chance.
        let even = [60.0, 140.0, 90.0, 130.0, 70.0, 125.0, 125.0, 70.0, 130.0, 90.0, 140.0, 60.0];
        let even: Vec<f64> = [[0.0; 12], even].concat();
        assert_eq!(trend(&even), (false, Settled::Unknown));
    }

    /// A compiler's slow gain, as seen: 13 requests/s in the beginning, one more each six seconds, by chance up to 3
    /// more or less. Three seconds that are equal say nothing.
    #[test]
    fn a_rate_that_rises_slowly_has_not_settled() {
        let noise = [0.0, 2.0, -3.0, 1.0, 0.0, 0.0, 3.0, -2.0, -1.0];
        let rate = |second: usize| 13.0 + second as f64 * 0.17 + noise[second % noise.len()];
        let rates: Vec<f64> = (0..240).map(rate).collect();
        for until in 4..=240 {
            assert!(!trend(&rates[..until]).0, "{until}");
        }
        for until in [45, 90, 240] {
            assert_eq!(trend(&rates[..until]).1, Settled::No, "{until}");
        }
    }
}
