//! Workers are killed by SIGKILL now and then, or the server is reloaded as for a deployment, under load by a closed
//! loop.

use std::time::Duration;

use super::{Act, ScenarioReport, acting, count_acts, failures_in_words, note_recovery};
use crate::metric::{ACTS, ACTS_PLANNED};
use crate::{Closed, Until, Watch, Workload, watch_closed};

/// Time for the server to answer again after the kills, and after the reloads.
const PATIENCE_KILLED: Duration = Duration::from_secs(20);
const PATIENCE_RELOADED: Duration = Duration::from_secs(30);

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct Acts {
    /// What is done to the server.
    pub kind: ActKind,
    /// Number of clients.
    pub clients: u32,
    /// Duration in seconds.
    pub seconds: f64,
    /// Seed of the random choices.
    pub seed: u64,
}

/// What is done to the server.
#[derive(Debug, Clone, Copy)]
pub enum ActKind {
    /// A worker is killed at this interval in seconds.
    Kill(f64),
    /// It is reloaded this number of times, evenly spread over the load.
    Reload(u32),
}

/// Runs the scenario. `act` kills a worker and returns its process id, or tells the server to reload and need not wait
/// for that.
pub fn run(port: u16, workload: &Workload, plan: &Acts, act: Act) -> Result<ScenarioReport, String> {
    let seconds = plan.seconds;
    let (times, done, planned, patience): (Vec<Duration>, _, _, _) = match plan.kind {
        ActKind::Kill(every_s) => {
            let every = Duration::try_from_secs_f64(every_s).ok().filter(|every| !every.is_zero());
            let every = every.ok_or_else(|| format!("a kill each {every_s} s: give a number above 0"))?;
            let times = (1..).map(|time| every * time).take_while(|after| after.as_secs_f64() < seconds);
            let planned = format!("a worker to be killed each {every_s} s");
            (times.collect(), "a worker was killed", planned, PATIENCE_KILLED)
        }
        ActKind::Reload(times) => {
            let gap = Duration::try_from_secs_f64(seconds / f64::from(times + 1));
            let gap = gap.map_err(|_| format!("{seconds} s: give a number of seconds above 0"))?;
            let planned = format!("to be reloaded {times} times");
            ((1..=times).map(|time| gap * time).collect(), "it was reloaded", planned, PATIENCE_RELOADED)
        }
    };
    let most = times.len() as u32;
    let closed = Closed { clients: plan.clients, until: Until::Seconds(seconds), keep: true, seed: plan.seed };
    let load = || watch_closed(port, workload, &closed, &Watch::by_seconds());
    let (mut seen, acts) = acting(load, times.into_iter(), act)?;
    if seen.outcome.void.is_some() {
        return Ok(ScenarioReport { outcome: seen.outcome, ..ScenarioReport::default() });
    }
    let mut words = Vec::new();
    let acts = count_acts(done, &acts, &mut words)?;
    words.push(failures_in_words(&seen));
    note_recovery(port, workload, patience, &mut words);
    seen.outcome.command = format!("{}; {planned}", seen.outcome.command);
    // Fewer kills or reloads than planned cause fewer failures: a server that reloads slowly must not seem better.
    let counts = [(ACTS, acts), (ACTS_PLANNED, most)];
    seen.outcome.numbers.extend(counts.map(|(name, count)| (name.to_owned(), f64::from(count))));
    Ok(ScenarioReport { outcome: seen.outcome, words, timeline: seen.timeline })
}
