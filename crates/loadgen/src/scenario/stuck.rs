//! One endpoint hangs for seconds, and some clients ask for it all the time. The others ask for something fast.

use std::thread;

use super::{Told, compared, failures_in_words, fast};
use crate::{Ask, Closed, Open, Until, Watch, Workload, watch_closed};

/// How it goes.
#[derive(Debug, Clone)]
pub struct Stuck {
    /// What hangs.
    pub hangs: Ask,
    /// How many ask for that at a time.
    pub hanging: u32,
    /// The others. They run as long alone before, for comparison.
    pub others: Open,
}

/// Runs it. The outcome is that of the others.
pub fn run(port: u16, workload: &Workload, plan: &Stuck) -> Result<Told, String> {
    let hangs = Workload::of(vec![plan.hangs.clone()])?;
    let before = fast(port, workload, &plan.others);
    let seconds = Until::Seconds(plan.others.seconds);
    let closed = Closed { clients: plan.hanging, until: seconds, keep: true, seed: plan.others.seed };
    let (mut now, stuck) = thread::scope(|scope| {
        let hanging = scope.spawn(|| watch_closed(port, &hangs, &closed, &Watch::default()));
        let now = fast(port, workload, &plan.others);
        (now, hanging.join())
    });
    let stuck = stuck.map_err(|_| "the load generator has crashed".to_owned())?;
    let mut words = vec![compared(&before, &now)];
    let path = plan.hangs.in_words();
    words.push(format!("{} clients that hang in {path}: {}", plan.hanging, failures_in_words(&stuck)));
    words.extend(stuck.outcome.wrong.map(|wrong| format!("those that hang: {wrong}")));
    now.outcome.command = format!("{}; beside it {} clients in {path}", now.outcome.command, plan.hanging);
    Ok(Told { outcome: now.outcome, words, timeline: now.timeline, acts: 0 })
}
