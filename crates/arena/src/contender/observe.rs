//! What a load costs a server: processor time and memory of its whole tree of processes, from before it to after it.

use super::Server;
use crate::metric::{CPU, FAILED, PSS_PEAK};
use crate::process::Sampler;
use crate::record::Outcome;

/// Begun before a load.
pub struct Observation {
    cpu_us: u64,
    sampler: Sampler,
}

impl Observation {
    /// Begins with a look at the server.
    pub fn begin(server: &Server) -> Observation {
        Observation { cpu_us: server.usage().cpu_us, sampler: server.sampler() }
    }

    /// Ends with another, and puts the numbers to those of the load. What it took is shared by all requests, also by
    /// those that failed.
    pub fn end(self, server: &Server, outcome: &mut Outcome) {
        let seen = self.sampler.stop();
        let cpu_us = server.usage().cpu_us.saturating_sub(self.cpu_us) as f64;
        let numbers = &mut outcome.numbers;
        let requests: f64 = ["requests", FAILED].iter().filter_map(|name| numbers.get(*name)).sum();
        if requests > 0.0 {
            numbers.insert(CPU.into(), cpu_us / requests);
        }
        let mib = |kib: u64| kib as f64 / 1024.0;
        numbers.insert(PSS_PEAK.into(), mib(seen.pss_peak_kib));
        numbers.insert("pss_mean_mib".into(), seen.pss_mean_kib / 1024.0);
        numbers.insert("rss_mib".into(), mib(seen.rss_peak_kib));
        numbers.insert("swap_mib".into(), mib(seen.swap_peak_kib));
    }
}
