//! Large uploads and downloads, from clients that keep their connection and from clients that open a new one each time.

use std::thread;

use super::{ASKED, ScenarioReport, add_failures, failures_in_words, requests_of};
use crate::metric;
use crate::open_files::too_many;
use crate::{Closed, Outcome, Seen, Until, Watch, Workload, watch_closed};

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct Big {
    /// Number of clients that keep their connection; as many again do not.
    pub clients: u32,
    /// Duration in seconds.
    pub seconds: f64,
    /// Seed of the random choices.
    pub seed: u64,
}

/// Runs the scenario with a workload of large requests or responses. The outcome is that of the clients that keep their
/// connection, with the failures of both.
pub fn run(port: u16, workload: &Workload, plan: &Big) -> Result<ScenarioReport, String> {
    if let Some(why) = too_many(plan.clients.saturating_mul(2)) {
        return Ok(ScenarioReport { outcome: Outcome::nothing(why), ..ScenarioReport::default() });
    }
    let closed =
        |keep: bool, seed: u64| Closed { clients: plan.clients, until: Until::Seconds(plan.seconds), keep, seed };
    let keeping = closed(true, plan.seed);
    let opening = closed(false, plan.seed.wrapping_add(1));
    let watch = Watch::by_seconds();
    let (mut kept, fresh) = thread::scope(|scope| {
        let fresh = scope.spawn(|| watch_closed(port, workload, &opening, &watch));
        (watch_closed(port, workload, &keeping, &watch), fresh.join())
    });
    let fresh = fresh.map_err(|_| "the load generator has crashed".to_owned())?;
    let words =
        vec![format!("connections kept: {}", sentence(&kept)), format!("a new connection each: {}", sentence(&fresh))];
    let all = requests_of(&kept) + requests_of(&fresh);
    add_failures(&mut kept, fresh);
    kept.outcome.numbers.insert(ASKED.into(), all);
    kept.outcome.command = format!("{}; as many again with a new connection each", kept.outcome.command);
    Ok(ScenarioReport { outcome: kept.outcome, words, timeline: kept.timeline, acts: 0 })
}

fn sentence(seen: &Seen) -> String {
    let rate = seen.number(metric::RATE).unwrap_or(0.0);
    let mib = rate * seen.number("bytes_per_answer").unwrap_or(0.0) / f64::from(1 << 20);
    format!("{rate:.1}/s, {mib:.1} MiB/s of answers; {}", failures_in_words(seen))
}
