//! Cost of a load on a server: processor time and memory of its whole process tree, from before the load to after it.

use super::Server;
use crate::record::Outcome;
use loadgen::DROPPED;
use loadgen::metric::{CPU, FAILED, PROCESSORS, PSS, PSS_PEAK, REQUESTS};
use loadgen::process::{ProcessSample, Sampler};
use loadgen::scenario::ASKED;

/// A measurement that begins before a load.
pub struct Observation {
    cpu_us: u64,
    sampler: Sampler,
}

impl Observation {
    /// Begins to measure this server.
    pub fn begin(server: &Server) -> Observation {
        Observation { cpu_us: server.usage().cpu_us, sampler: server.sampler() }
    }

    /// Ends the measurement and adds its numbers to those of the load. Processor time is divided by all requests, also
    /// failed ones, but not by those that were never sent.
    pub fn end(self, server: &Server, outcome: &mut Outcome) {
        let seen = self.sampler.stop();
        // With the time of ended processes that no other process has taken over.
        let cpu_us = (server.usage().cpu_us + seen.lost_us).saturating_sub(self.cpu_us) as f64;
        let requests = requests(outcome);
        let numbers = &mut outcome.numbers;
        if requests > 0.0 {
            numbers.insert(CPU.into(), cpu_us / requests);
        }
        let mib = |kib: u64| kib as f64 / 1024.0;
        numbers.insert(PSS_PEAK.into(), mib(seen.pss_peak_kib));
        numbers.insert("pss_mean_mib".into(), seen.pss_mean_kib / 1024.0);
        numbers.insert("rss_mib".into(), mib(seen.rss_peak_kib));
        numbers.insert("swap_mib".into(), mib(seen.swap_peak_kib));
        let memory = seen.samples.iter().map(|sample| (sample.at_s, mib(sample.pss_kib)));
        outcome.course.insert(PSS.into(), memory.collect());
        outcome.course.insert(PROCESSORS.into(), seen.samples.windows(2).filter_map(busy).collect());
    }
}

/// Number of all requests that the server was sent, including those that other figures of the outcome leave out.
fn requests(outcome: &Outcome) -> f64 {
    let of = |name: &str| outcome.numbers.get(name).copied();
    let own = of(REQUESTS).unwrap_or(0.0) + of(FAILED).unwrap_or(0.0);
    of(ASKED).unwrap_or(own) - outcome.errors.get(DROPPED).copied().unwrap_or(0) as f64
}

/// Number of processors busy between two samples, at the middle of that time.
fn busy(two: &[ProcessSample]) -> Option<(f64, f64)> {
    let [from, to] = two else { return None };
    let span = to.at_s - from.at_s;
    // The last sample may follow the one before at once, for which the kernel's clock is too coarse.
    let used = to.cpu_us.saturating_sub(from.cpu_us) as f64 / 1e6;
    (span > 0.1).then(|| ((from.at_s + to.at_s) / 2.0, used / span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_all_requests_meanwhile_but_for_those_never_sent() {
        let of = |numbers: &[(&str, f64)], errors: &[(&str, u64)]| {
            let numbers = numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
            let errors = errors.iter().map(|(kind, many)| ((*kind).to_owned(), *many)).collect();
            requests(&Outcome { numbers, errors, ..Outcome::default() })
        };
        let own = [(REQUESTS, 90.0), (FAILED, 10.0)];
        assert_eq!((of(&own, &[]), of(&own, &[(DROPPED, 4), ("timeout", 6)]), of(&[], &[])), (100.0, 96.0, 0.0));
        assert_eq!(of(&[own[0], own[1], (ASKED, 250.0)], &[]), 250.0);
    }

    #[test]
    fn processors_are_counted_between_two_samples() {
        let sample = |at_s: f64, cpu_us: u64| ProcessSample { at_s, cpu_us, pss_kib: 1 };
        assert_eq!(busy(&[sample(1.0, 0), sample(2.0, 1_500_000)]), Some((1.5, 1.5)));
        assert_eq!(busy(&[sample(1.0, 0), sample(1.01, 10_000)]), None, "too short for the kernel's clock");
        assert_eq!(
            busy(&[sample(1.0, 500), sample(2.0, 0)]),
            Some((1.5, 0.0)),
            "a process that has ended takes its time along"
        );
    }
}
