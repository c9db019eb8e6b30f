//! Request rate of an access log: the mean, and the busiest minute. Logs may be out of order, rotated in the middle of
//! a minute, several days long, joined from pieces with days missing between them, or without times. Pure.

use std::collections::BTreeMap;

use super::plan::{RATE_LEAST, too_low};
use crate::record::date;
use crate::report::grammar;
use loadgen::metric::rate_in_words;

/// Minutes without any request that count as a gap and are left out of the mean: a piece of the log is missing, or the
/// site was down.
const HOLE_MINUTES: u64 = 60;
/// Seconds that a log must cover to give a rate.
const LEAST_S: u64 = 10;
const LEAST_REQUESTS: u64 = 20;
/// Most distinct minutes that are kept, which is ten years; more come from broken clocks.
const MINUTES_MOST: usize = 5_300_000;

/// Request rate at which a duel asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Requests per second: those of the busiest minute, or the user's `--rate`.
    pub per_s: f64,
    /// Mean requests per second, where a log shows it.
    pub mean_per_s: Option<f64>,
    /// Source of the rate: `the busiest minute of the log`.
    pub origin: String,
}

/// Request times of a log, collected by minute while it is read.
#[derive(Debug, Clone, Default)]
pub struct Times {
    minutes: BTreeMap<u64, Minute>,
    untimed: u64,
}

#[derive(Debug, Clone, Copy)]
struct Minute {
    requests: u64,
    first_s: u64,
    last_s: u64,
}

/// Request rates of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// Requests with a time.
    pub requests: u64,
    /// Requests without a time.
    pub untimed: u64,
    /// Requests per second over the time that the log covers, without its gaps.
    pub mean_per_s: f64,
    /// Requests per second of the busiest minute.
    pub busy_per_s: f64,
    /// Start of that minute, in seconds since 1970.
    pub busiest_s: u64,
    /// Seconds that the log covers, without its gaps.
    pub covered_s: u64,
    /// Number of gaps of an hour or more that were left out, and their seconds in total.
    pub holes: (usize, u64),
}

impl Times {
    /// Adds one request, with its time in seconds since 1970 if the log has one.
    pub fn add(&mut self, at_s: Option<u64>) {
        let Some(at_s) = at_s else {
            self.untimed += 1;
            return;
        };
        if self.minutes.len() >= MINUTES_MOST && !self.minutes.contains_key(&(at_s / 60)) {
            self.untimed += 1;
            return;
        }
        let minute = self.minutes.entry(at_s / 60).or_insert(Minute { requests: 0, first_s: at_s, last_s: at_s });
        minute.requests += 1;
        minute.first_s = minute.first_s.min(at_s);
        minute.last_s = minute.last_s.max(at_s);
    }

    /// Computes the rates. An error explains why the log gives none.
    pub fn pace(&self) -> Result<Pace, String> {
        let requests: u64 = self.minutes.values().map(|minute| minute.requests).sum();
        let ends = self.minutes.values().next().zip(self.minutes.values().next_back());
        let Some((first, last)) = ends else {
            return Err("its lines have no time of day, so it tells no rate of requests".to_owned());
        };
        let mut holes = (0, 0);
        for two in self.minutes.keys().zip(self.minutes.keys().skip(1)) {
            let empty = two.1 - two.0 - 1;
            if empty >= HOLE_MINUTES {
                holes = (holes.0 + 1, holes.1 + empty * 60);
            }
        }
        let covered_s = last.last_s - first.first_s + 1 - holes.1;
        if covered_s < LEAST_S || requests < LEAST_REQUESTS {
            let requests = grammar::count(requests as usize, "request", "requests");
            return Err(format!(
                "it has {requests} with a time, within {covered_s} s: a rate is told from {LEAST_REQUESTS} \
                 requests in {LEAST_S} s at least"
            ));
        }
        let mean_per_s = requests as f64 / covered_s as f64;
        let busiest = self.minutes.iter().max_by_key(|(at, minute)| (minute.requests, std::cmp::Reverse(**at)));
        let (busiest_s, most) = busiest.map_or((0, 0), |(at, minute)| (at * 60, minute.requests));
        // The first and the last minute may be partial: a log of a minute and a half has no whole one.
        let busy_per_s = (most as f64 / 60.0).max(mean_per_s);
        if busy_per_s < RATE_LEAST {
            let busiest = rate_in_words(busy_per_s);
            return Err(format!("its busiest minute has {busiest} requests/s, and {}", too_low()));
        }
        Ok(Pace { requests, untimed: self.untimed, mean_per_s, busy_per_s, busiest_s, covered_s, holes })
    }
}

impl Pace {
    /// Rate at which a duel should ask.
    pub fn rate(&self) -> Rate {
        let origin = "the busiest minute of the log".to_owned();
        Rate { per_s: self.busy_per_s, mean_per_s: Some(self.mean_per_s), origin }
    }

    /// Describes the rates in sentences.
    pub fn in_words(&self) -> Vec<String> {
        let mut words = vec![format!(
            "by its times of day the log has {} requests/s in the mean of {}, and {} in its busiest minute, {}: the \
             latter is asked at. All its requests count for that, also those that are not asked again",
            rate_in_words(self.mean_per_s),
            span(self.covered_s),
            rate_in_words(self.busy_per_s),
            date::written(self.busiest_s).get(..16).unwrap_or_default().replace('T', " ") + " UTC",
        )];
        if self.holes.0 > 0 {
            let (count, seconds) = self.holes;
            words.push(format!(
                "{count} × an hour or more without any request, {} together, is left out of the mean",
                span(seconds)
            ));
        }
        if self.untimed > 0 {
            let (untimed, all) = (self.untimed, self.untimed + self.requests);
            let (have, do_not) = if untimed == 1 { ("has", "does not") } else { ("have", "do not") };
            words.push(format!("{untimed} of {all} requests {have} no time and {do_not} count for the rate"));
        }
        words
    }
}

impl Rate {
    /// Rate given by the user with `--rate`.
    pub fn said(per_s: f64) -> Rate {
        Rate { per_s, mean_per_s: None, origin: "as --rate says".to_owned() }
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} minutes", seconds / 60),
        7_200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace_of(times: impl IntoIterator<Item = u64>) -> Result<Pace, String> {
        let mut all = Times::default();
        times.into_iter().for_each(|at_s| all.add(Some(at_s)));
        all.pace()
    }

    /// Times with `each` requests in every second of a span.
    fn steady(from_s: u64, seconds: u64, each: usize) -> impl Iterator<Item = u64> + Clone {
        (from_s..from_s + seconds).flat_map(move |at_s| std::iter::repeat_n(at_s, each))
    }

    #[test]
    fn the_mean_and_the_busiest_minute_are_told() {
        let pace = pace_of(steady(6_000, 600, 2).chain(steady(6_120, 60, 10))).unwrap();
        assert_eq!((pace.requests, pace.covered_s, pace.busiest_s), (1_800, 600, 6_120));
        assert_eq!((pace.mean_per_s, pace.busy_per_s), (3.0, 12.0));
        assert_eq!(pace.rate().per_s, 12.0);
        let words = pace.in_words().join("\n");
        assert!(words.contains("3 requests/s in the mean of 10 minutes, and 12 in its busiest"), "{words}");
        assert!(words.contains("1970-01-01 01:42 UTC"), "{words}");
    }

    #[test]
    fn order_does_not_matter() {
        let mut times: Vec<u64> = steady(1_000_000, 300, 3).chain(steady(1_000_060, 20, 5)).collect();
        let sorted = pace_of(times.iter().copied()).unwrap();
        times.reverse();
        times.swap(3, 400);
        assert_eq!(pace_of(times).unwrap(), sorted);
    }

    #[test]
    fn missing_days_and_a_broken_clock_do_not_thin_the_mean() {
        let days = steady(1_000_000_020, 1_200, 4).chain(steady(1_000_259_220, 1_200, 4));
        let pace = pace_of(days.clone()).unwrap();
        assert_eq!(pace.holes.0, 1);
        assert!((3.9..4.1).contains(&pace.mean_per_s), "{pace:?}");
        assert!(pace.in_words()[1].contains("left out of the mean"), "{:?}", pace.in_words());
        let odd = pace_of(days.chain([1])).unwrap();
        assert!(odd.holes.0 == 2 && (3.8..4.1).contains(&odd.mean_per_s), "{odd:?}");
    }

    #[test]
    fn a_log_that_begins_in_mid_minute_has_no_rate_below_its_mean() {
        let pace = pace_of(steady(6_030, 60, 5)).unwrap();
        assert_eq!((pace.mean_per_s, pace.busy_per_s), (5.0, 5.0));
        // All within ten seconds.
        let pace = pace_of(steady(6_000, 10, 100)).unwrap();
        assert_eq!(pace.busy_per_s, 100.0);
    }

    #[test]
    fn too_little_and_no_times_are_said() {
        assert!(pace_of([]).unwrap_err().contains("no time of day"));
        let error = pace_of(steady(6_000, 2, 100)).unwrap_err();
        assert!(error.contains("200 requests with a time, within 2 s"), "{error}");
        assert!(pace_of(steady(6_000, 15, 1)).is_err());
        // A request every twenty seconds, and one every ten.
        let every = |seconds: usize| pace_of((6_000..6_000 + 1_200).step_by(seconds));
        let error = every(20).unwrap_err();
        assert!(error.starts_with("its busiest minute has 0.05 requests/s, and below 0.1/s even a load"), "{error}");
        assert!(every(10).is_ok());
        let mut some = Times::default();
        steady(6_000, 30, 1).for_each(|at_s| some.add(Some(at_s)));
        some.add(None);
        assert!(some.pace().unwrap().in_words()[1].contains("1 of 31 requests has no time and does not"));
    }
}
