//! Workers are killed by SIGKILL now and then, under load by a closed loop.

use std::time::Duration;

use super::{Act, ScenarioReport, acting, count_acts, failures_in_words, note_acts, note_recovery};
use crate::{Closed, Until, Watch, Workload, watch_closed};

/// Time for the server to answer again.
const PATIENCE: Duration = Duration::from_secs(20);

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct Killed {
    /// Number of clients.
    pub clients: u32,
    /// Duration in seconds.
    pub seconds: f64,
    /// Interval between kills in seconds.
    pub every_s: f64,
    /// Whether connections are kept.
    pub keep: bool,
    /// Seed of the random choices.
    pub seed: u64,
}

/// Runs the scenario. `kill` kills a worker and returns its process id.
pub fn run(port: u16, workload: &Workload, plan: &Killed, kill: Act) -> Result<ScenarioReport, String> {
    let every = Duration::try_from_secs_f64(plan.every_s).ok().filter(|every| !every.is_zero());
    let every = every.ok_or_else(|| format!("a kill each {} s: give a number above 0", plan.every_s))?;
    let seconds = plan.seconds;
    let closed = Closed { clients: plan.clients, until: Until::Seconds(seconds), keep: plan.keep, seed: plan.seed };
    let watch = Watch::by_seconds();
    let times: Vec<Duration> =
        (1..).map(|time| every * time).take_while(|after| after.as_secs_f64() < seconds).collect();
    let planned = times.len() as u32;
    let (mut seen, acts) = acting(|| watch_closed(port, workload, &closed, &watch), times.into_iter(), kill)?;
    if seen.outcome.void.is_some() {
        return Ok(ScenarioReport { outcome: seen.outcome, ..ScenarioReport::default() });
    }
    let mut words = Vec::new();
    let acts = count_acts("a worker was killed", &acts, &mut words)?;
    words.push(failures_in_words(&seen));
    note_recovery(port, workload, PATIENCE, &mut words);
    seen.outcome.command = format!("{}; a worker to be killed each {} s", seen.outcome.command, plan.every_s);
    note_acts(&mut seen.outcome, acts, planned);
    Ok(ScenarioReport { outcome: seen.outcome, words, timeline: seen.timeline, acts })
}
