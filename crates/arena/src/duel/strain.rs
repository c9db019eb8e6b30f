//! Breaking point of a contender: the multiples of the user's rate that are tried, when a load is too much, and the
//! cause. Computed from a sample's numbers alone, so that the summary agrees with the run. Pure.

use std::collections::BTreeMap;

use crate::measure::{KEPT_UP, is_below_rate, is_late};
use crate::record::Sample;
use crate::record::machine::processors;
use crate::record::summary::{FAILED_SHARE_MAX, failed_share, is_failing};
use loadgen::DROPPED;
use loadgen::metric::{ELAPSED, FAILED, GENERATOR, OFFERED, P99, PROCESSORS, RATE, REQUESTS, SWAP};

/// Most loads at more than twice the user's rate.
pub const BEYOND: usize = 3;
/// Least multiple of the user's rate for those loads.
pub const BEYOND_LEAST: u32 = 4;
/// Multiple of the p99 of one client alone above which a p99 is too high, if the user gives no bound.
const P99_TIMES_CALM: f64 = 5.0;
/// Milliseconds below which a p99 is never too high, since users do not notice them.
const P99_LEAST_MS: f64 = 100.0;
/// Share of the processors' time above which they count as full.
const FULL: f64 = 0.9;
/// Share of full processors that the server and the load generator must have used for the load to be the cause; below
/// it other processes were.
const MOSTLY_OURS: f64 = 0.6;
/// MiB swapped out above which memory counts as short.
const SWAPPED_MIB: f64 = 4.0;
/// Name of a sample's number: 1 where the server exited under the load.
pub const ENDED: &str = "ended";
/// Name of a sample's number: count of processors to which the server was bound.
pub const BOUND_TO: &str = "bound_to_processors";
/// Name of a sample's number: unused share of the machine's processor time, in percent.
pub const IDLE: &str = "idle_pct";
/// Name of a sample's number: planned seconds of the load.
pub const SECONDS: &str = "load_s";

/// Bounds above which a load counts as too much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Highest p99 in milliseconds that is good enough.
    pub p99_ms: f64,
    /// Number of processors of this machine.
    pub cores: u32,
}

/// Multiples of the user's rate that are tried: one, two, and three doublings up to a rate that must break. Doublings
/// far below `capacity` are left out.
pub fn multiples(per_s: f64, capacity: f64) -> Vec<u32> {
    let mut beyond = BEYOND_LEAST;
    while f64::from(beyond) * 2.0 * per_s <= capacity / 2.0 && beyond < 1 << 24 {
        beyond *= 2;
    }
    let mut times = vec![1, 2];
    times.extend((0..BEYOND as u32).map(|doubling| beyond << doubling));
    times
}

/// Numbers of processors of smaller machines: halves, down to one.
pub fn smaller(cores: u32) -> Vec<u32> {
    std::iter::successors(Some(cores / 2), |size| Some(size / 2)).take_while(|size| *size > 0).collect()
}

impl Limits {
    /// Limits with the user's bound on the p99, or the lowest default.
    pub fn new(p99_max_ms: Option<f64>, cores: u32) -> Limits {
        Limits { p99_ms: p99_max_ms.unwrap_or(P99_LEAST_MS), cores }
    }

    /// Bound on the p99 in milliseconds, from the limits in words: the record of an older duel lacks the number.
    pub fn p99_of_words(words: &str) -> Option<f64> {
        words.split_once("the p99 is above ")?.1.split(' ').next()?.parse().ok()
    }

    /// Raises the default bound for an application with slow pages; `calm_ms` is the p99 of one client alone.
    pub fn raise_for(&mut self, calm_ms: f64, p99_max_ms: Option<f64>) {
        if p99_max_ms.is_none() {
            self.p99_ms = P99_LEAST_MS.max((calm_ms * P99_TIMES_CALM).ceil());
        }
    }

    /// Describes the limits; `is_said` if the user has given the bound.
    pub fn in_words(&self, is_said: bool) -> String {
        let why = match is_said {
            true => ", as you say".to_owned(),
            false if self.p99_ms > P99_LEAST_MS => format!(", {P99_TIMES_CALM:.0} times that of one client alone"),
            false => String::new(),
        };
        let failed = FAILED_SHARE_MAX * 100.0;
        let kept = KEPT_UP * 100.0;
        format!(
            "more than {failed:.0} % of the requests fail, the p99 is above {} ms{why}, or less than {kept:.0} % of \
             the rate is served in time",
            self.p99_ms
        )
    }

    /// What was seen and why, if this load was too much for a server with this many workers.
    pub fn broken(&self, sample: &Sample, workers: u32) -> Option<String> {
        let seen = self.seen(sample)?.join(" and ");
        let has_ended = sample.number(ENDED) > 0.0;
        let why = if has_ended { "the server ended under the load".to_owned() } else { self.why(sample, workers) };
        Some(format!("{seen}: {why}"))
    }

    /// Whether this load was too much, without the cause, for which the machine's counters are needed.
    pub fn is_broken(&self, sample: &Sample) -> bool {
        self.seen(sample).is_some()
    }

    /// Whether this load shows nothing: it was not too much, but the load generator could not keep its rate.
    pub fn is_unknown(&self, sample: &Sample) -> bool {
        is_below_rate(sample) && !self.is_broken(sample)
    }

    fn seen(&self, sample: &Sample) -> Option<Vec<String>> {
        // Below the rate, latencies include the delay of the load generator: only failures are the server's.
        let is_below_rate = is_below_rate(sample);
        let failed = sample.number(FAILED);
        let right = sample.number(REQUESTS);
        let is_failing = is_failing(failed, right);
        let mut seen = Vec::new();
        if is_failing {
            let percent = failed_share(failed, right) * 100.0;
            seen.push(format!("{:.0} % failed ({})", percent.max(1.0), kinds(&sample.errors)));
        }
        let p99 = sample.number(P99);
        if p99 > self.p99_ms && !is_below_rate {
            // Halves are rounded up, as in the tables.
            seen.push(format!("the p99 was {:.0} ms", p99.round()));
        }
        let rate = sample.number(RATE);
        let offered = sample.number(OFFERED);
        let late_s = sample.number(ELAPSED) - sample.number(SECONDS);
        // The last answers come after the end of the load, however fast the server is.
        let is_behind = late_s > sample.number(SECONDS) * (1.0 - KEPT_UP) + self.p99_ms / 1000.0;
        if offered > 0.0 && rate < offered * KEPT_UP && (is_behind || is_failing) && !is_below_rate {
            seen.push(format!("only {:.0} % of the rate was served in time", rate / offered * 100.0));
        }
        if seen.is_empty() && sample.number(ENDED) > 0.0 {
            seen.push("it ended".to_owned());
        }
        (!seen.is_empty()).then_some(seen)
    }

    fn why(&self, sample: &Sample, workers: u32) -> String {
        let used = sample.number(PROCESSORS);
        let swapped = sample.number(SWAP);
        if swapped > SWAPPED_MIB {
            return format!("memory was short, {swapped:.0} MiB of it were swapped out");
        }
        let shared = match (is_below_rate(sample), is_late(sample)) {
            (true, _) => ", and the load generator could not keep the rate",
            (false, true) => ", and the load generator was late itself",
            (false, false) => "",
        };
        let bound = sample.number(BOUND_TO);
        if bound > 0.0 && used >= bound * FULL {
            let left = processors(bound as u32);
            let were = if bound == 1.0 { "was" } else { "were" };
            return format!("the {left} left to it {were} full ({used:.2}){shared}");
        }
        let cores = self.cores;
        let generator = sample.number(GENERATOR);
        // Without a reading of the idle time it is unknown whether the machine was full.
        let is_full = sample.numbers.get(IDLE).is_some_and(|idle| *idle < (1.0 - FULL) * 100.0);
        let own = used + generator;
        let (all, were, them) = match cores {
            1 => ("processor".to_owned(), "was", "it"),
            more => (format!("{more} processors"), "were", "them"),
        };
        if own >= f64::from(cores) * FULL || (is_full && own >= f64::from(cores) * MOSTLY_OURS) {
            return format!(
                "the machine's {all} {were} full (the server used {used:.2}, the load generator {generator:.2}){shared}"
            );
        }
        if workers < cores && used >= f64::from(workers) * FULL {
            let processes =
                if workers == 1 { "its process was".to_owned() } else { format!("its {workers} processes were") };
            return format!("{processes} full ({used:.2} of {cores} processors){shared}");
        }
        if is_full {
            return format!("other work had the {all} (the server had {used:.2} of {them}){shared}");
        }
        format!("requests queued while processors were free (it used {used:.2} of {cores}){shared}")
    }
}

/// The three most frequent errors with their counts: `12 × timeout, 3 × status 503`.
pub fn kinds(errors: &BTreeMap<String, u64>) -> String {
    let in_words = |(kind, count): &(&String, &u64)| match kind.as_str() {
        DROPPED => format!("{count} × not sent by k6, since the server kept all its clients waiting"),
        kind => format!("{count} × {kind}"),
    };
    let mut all: Vec<(&String, &u64)> = errors.iter().filter(|(_, count)| **count > 0).collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let all: Vec<String> = all.iter().take(3).map(in_words).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen::metric::{LATE, NOT_SENT};

    const LIMITS: Limits = Limits { p99_ms: 100.0, cores: 4 };

    fn sample(numbers: &[(&str, f64)]) -> Sample {
        let usual = [
            (REQUESTS, 1000.0),
            (RATE, 100.0),
            (OFFERED, 100.0),
            (P99, 10.0),
            (ELAPSED, 10.0),
            (SECONDS, 10.0),
            (IDLE, 60.0),
            (PROCESSORS, 0.5),
        ];
        Sample::of("a", &[&usual[..], numbers].concat())
    }

    fn broken(numbers: &[(&str, f64)]) -> Option<String> {
        LIMITS.broken(&sample(numbers), 2)
    }

    #[test]
    fn rates_go_up_to_where_it_must_break_and_no_longer() {
        assert_eq!(multiples(100.0, 1000.0), [1, 2, 4, 8, 16]);
        assert_eq!(multiples(1.0, 1000.0), [1, 2, 256, 512, 1024]);
        for (per_s, capacity) in [(0.001, 1e5), (100.0, 0.0), (1e6, 1.0), (50.0, 250.0), (1.0, f64::NAN)] {
            let times = multiples(per_s, capacity);
            assert!(times.len() == 2 + BEYOND && times.is_sorted(), "{times:?}");
        }
        assert!(*multiples(3.0, 5_000.0).last().unwrap() as f64 * 3.0 > 5_000.0);
        assert_eq!((smaller(1), smaller(2), smaller(6), smaller(8)), (vec![], vec![1], vec![3, 1], vec![4, 2, 1]));
    }

    #[test]
    fn what_is_well_is_not_broken() {
        assert_eq!(broken(&[]), None);
        // Slow answers of the last moment come after the load.
        assert_eq!(broken(&[(RATE, 90.0), (ELAPSED, 10.09)]), None);
        assert_eq!(broken(&[(FAILED, 9.0)]), None);
    }

    #[test]
    fn what_broke_is_said_with_its_cause() {
        let breaks = |numbers: &[(&str, f64)], words: &str| {
            let text = broken(numbers).unwrap();
            assert!(text.contains(words), "{text}");
        };
        breaks(&[(P99, 1840.0)], "the p99 was 1840 ms: requests queued while processors were free");
        breaks(&[(P99, 1840.0), (PROCESSORS, 1.9)], "its 2 processes were full (1.90 of 4 processors)");
        let ours = [(P99, 1840.0), (IDLE, 2.0), (PROCESSORS, 2.4), (GENERATOR, 1.1)];
        breaks(&ours, "the machine's 4 processors were full (the server used 2.40, the");
        breaks(&[(P99, 1840.0), (IDLE, 2.0)], "other work had the 4 processors (the server had 0.50");
        let bound = |to: f64, used: f64| [(P99, 150.0), (BOUND_TO, to), (PROCESSORS, used)];
        breaks(&bound(1.0, 0.97), "the one processor left to it was full (0.97)");
        breaks(&bound(2.0, 1.94), "the 2 processors left to it were full (1.94)");
        breaks(&[(P99, 150.0), (SWAP, 80.0)], "memory was short, 80 MiB");
        breaks(&[(RATE, 50.0), (ELAPSED, 19.0)], "only 50 % of the rate was served in time: requests queued");
        breaks(&[(ENDED, 1.0)], "the server ended under the load");
        breaks(&[(P99, 150.0), (LATE, 40.0)], "(it used 0.50 of 4), and the load generator was late itself");
        let errors = [("timeout".to_owned(), 30), ("status 503".to_owned(), 90)].into();
        let failing = Sample { errors, ..sample(&[(FAILED, 120.0)]) };
        let words = LIMITS.broken(&failing, 2).unwrap();
        assert!(words.starts_with("11 % failed (90 × status 503, 30 × timeout)"), "{words}");
        let errors = [(DROPPED.to_owned(), 120)].into();
        let words = LIMITS.broken(&Sample { errors, ..failing }, 2).unwrap();
        assert!(words.starts_with("11 % failed (120 × not sent by k6, since the server kept"), "{words}");
    }

    #[test]
    fn a_rate_that_the_load_generator_could_not_keep_shows_failures_and_nothing_else() {
        // 38 % were not sent, and the clients that shared a processor with k6 saw slow answers late.
        let slow = [(NOT_SENT, 620.0), (P99, 1840.0), (RATE, 50.0), (ELAPSED, 19.0)];
        assert_eq!(broken(&slow), None);
        assert!(LIMITS.is_unknown(&sample(&slow)) && !LIMITS.is_unknown(&sample(&[])));
        let few = [(NOT_SENT, 9.0), (P99, 1840.0)];
        assert!(broken(&few).is_some() && !LIMITS.is_unknown(&sample(&few)));
        let failing = [&slow[..], &[(FAILED, 120.0)]].concat();
        let words = broken(&failing).unwrap();
        assert!(words.starts_with("11 % failed") && words.contains("could not keep the rate"), "{words}");
        assert!(!words.contains("p99") && !LIMITS.is_unknown(&sample(&failing)), "{words}");
        assert!(broken(&[&slow[..], &[(ENDED, 1.0)]].concat()).is_some());
    }

    #[test]
    fn the_bound_is_the_users_or_that_of_a_slow_page() {
        let mut limits = Limits::new(None, 2);
        limits.raise_for(4.0, None);
        assert_eq!(limits.p99_ms, 100.0);
        limits.raise_for(310.0, None);
        assert!(limits.p99_ms == 1550.0 && limits.in_words(false).contains("above 1550 ms, 5 times"), "{limits:?}");
        let mut said = Limits::new(Some(0.5), 2);
        said.raise_for(310.0, Some(0.5));
        assert!(said.p99_ms == 0.5 && said.in_words(true).contains("above 0.5 ms, as you say"));
    }
}
