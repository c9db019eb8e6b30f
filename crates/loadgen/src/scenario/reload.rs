//! The server is reloaded, as for a deployment, under load by a closed loop.

use std::time::Duration;

use super::{Act, ScenarioReport, acting, count_acts, failures_in_words, note_acts, note_recovery};
use crate::{Closed, Until, Watch, Workload, watch_closed};

const PATIENCE: Duration = Duration::from_secs(30);

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct Reloaded {
    /// Number of clients.
    pub clients: u32,
    /// Duration in seconds.
    pub seconds: f64,
    /// Number of reloads, evenly spread over that time.
    pub times: u32,
    /// Whether connections are kept.
    pub keep: bool,
    /// Seed of the random choices.
    pub seed: u64,
}

/// Runs the scenario. `reload` tells the server to reload, and need not wait for it.
pub fn run(port: u16, workload: &Workload, plan: &Reloaded, reload: Act) -> Result<ScenarioReport, String> {
    let gap = Duration::try_from_secs_f64(plan.seconds / f64::from(plan.times + 1));
    let gap = gap.map_err(|_| format!("{} s: give a number of seconds above 0", plan.seconds))?;
    let until = Until::Seconds(plan.seconds);
    let closed = Closed { clients: plan.clients, until, keep: plan.keep, seed: plan.seed };
    let watch = Watch::by_seconds();
    let times = (1..=plan.times).map(|time| gap * time);
    let (mut seen, acts) = acting(|| watch_closed(port, workload, &closed, &watch), times, reload)?;
    if seen.outcome.void.is_some() {
        return Ok(ScenarioReport { outcome: seen.outcome, ..ScenarioReport::default() });
    }
    let mut words = Vec::new();
    let acts = count_acts("it was reloaded", &acts, &mut words)?;
    words.push(failures_in_words(&seen));
    note_recovery(port, workload, PATIENCE, &mut words);
    seen.outcome.command = format!("{}; to be reloaded {} times", seen.outcome.command, plan.times);
    note_acts(&mut seen.outcome, acts, plan.times);
    Ok(ScenarioReport { outcome: seen.outcome, words, timeline: seen.timeline, acts })
}
