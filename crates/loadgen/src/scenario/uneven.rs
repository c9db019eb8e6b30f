//! Short requests mixed with some long ones, at the same rate for all servers: how long do the short ones wait?

use super::{ASKED, ScenarioReport, add_failures, both, failures_in_words, fast, requests_of};
use crate::{Ask, Open, Workload};

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct Uneven {
    /// The long request.
    pub long: Ask,
    /// Share of long requests, from 0 to 1.
    pub share: f64,
    /// All requests together.
    pub all: Open,
}

/// Runs the scenario. The outcome is that of the short requests, with the failures of both.
pub fn run(port: u16, workload: &Workload, plan: &Uneven) -> Result<ScenarioReport, String> {
    let long = Workload::of(vec![plan.long.clone()])?;
    let part = |share: f64, seed: u64| Open { per_s: plan.all.per_s * share, seed, ..plan.all.clone() };
    let of_long = part(plan.share, plan.all.seed.wrapping_add(1));
    let of_short = part(1.0 - plan.share, plan.all.seed);
    let (mut short, long) = both(|| fast(port, workload, &of_short), || fast(port, &long, &of_long))?;
    let path = plan.long.in_words();
    let words = vec![format!("{path}, {:.1}/s: {}", of_long.per_s, failures_in_words(&long))];
    short.outcome.command = format!("{}; beside it {:.1}/s of {path}", short.outcome.command, of_long.per_s);
    let all = requests_of(&short) + requests_of(&long);
    add_failures(&mut short, long);
    short.outcome.numbers.insert(ASKED.into(), all);
    Ok(ScenarioReport { outcome: short.outcome, words, timeline: short.timeline })
}
