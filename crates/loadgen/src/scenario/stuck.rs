//! One endpoint hangs for seconds, and some clients request it all the time, while others request something fast.

use std::thread;
use std::time::Instant;

use super::{Told, compared, failures_in_words, fast};
use crate::{Ask, Closed, Open, Until, Watch, Workload, check, watch_closed};

/// Least duration for the other clients, as a multiple of the time that one request hangs. In less time most of what
/// they see would be the beginning.
const TIMES: f64 = 5.0;

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct Stuck {
    /// The request that hangs.
    pub hangs: Ask,
    /// Number of clients that send it.
    pub hanging: u32,
    /// The other clients; they run longer if the request that hangs takes long. They run alone first, for comparison.
    pub others: Open,
}

/// Runs the scenario. The outcome is that of the other clients.
pub fn run(port: u16, workload: &Workload, plan: &Stuck) -> Result<Told, String> {
    let hangs = Workload::of(vec![plan.hangs.clone()])?;
    let asked = Instant::now();
    let alone = check(port, &hangs);
    let seconds = plan.others.seconds.max(TIMES * asked.elapsed().as_secs_f64());
    let others = Open { seconds, ..plan.others };
    let before = fast(port, workload, &others);
    let closed = Closed { clients: plan.hanging, until: Until::Seconds(seconds), keep: true, seed: others.seed };
    let (mut now, stuck) = thread::scope(|scope| {
        let hanging = scope.spawn(|| watch_closed(port, &hangs, &closed, &Watch::default()));
        let now = fast(port, workload, &others);
        (now, hanging.join())
    });
    let stuck = stuck.map_err(|_| "the load generator has crashed".to_owned())?;
    let mut words = vec![compared(&before, &now)];
    let path = plan.hangs.in_words();
    words.push(format!("{} clients that hang in {path}: {}", plan.hanging, failures_in_words(&stuck)));
    words.extend(alone.err().map(|wrong| format!("alone: {wrong}")));
    words.extend(stuck.outcome.wrong.map(|wrong| format!("those that hang: {wrong}")));
    now.outcome.command = format!("{}; beside it {} clients in {path}", now.outcome.command, plan.hanging);
    Ok(Told { outcome: now.outcome, words, timeline: now.timeline, acts: 0 })
}
