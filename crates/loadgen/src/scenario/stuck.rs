//! One endpoint hangs for seconds, and some clients request it all the time, while others request something fast.

use std::time::{Duration, Instant};

use super::{ASKED, ScenarioReport, add_failures, both, compared, failures_in_words, fast, note_void, requests_of};
use crate::{Ask, Closed, Open, Until, Watch, Workload, judge_patiently, watch_closed};

/// The others ask for at least so many times as long as one request hangs. In less time most of what they see would be
/// how the first of those that hang begin.
pub const TIMES: f64 = 5.0;

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

/// Runs it. The outcome is that of the others, with the failures of those that hang: nobody gains by failing these. A
/// wrong answer of any of its loads is one of the outcome.
pub fn run(port: u16, workload: &Workload, plan: &Stuck) -> Result<ScenarioReport, String> {
    let hangs = Workload::of(vec![plan.hangs.clone()])?;
    let asked = Instant::now();
    let alone = judge_patiently(port, &hangs, Duration::ZERO).err();
    let seconds = plan.others.seconds.max(TIMES * asked.elapsed().as_secs_f64());
    let others = Open { seconds, ..plan.others };
    let before = fast(port, workload, &others);
    let closed = Closed { clients: plan.hanging, until: Until::Seconds(seconds), keep: true, seed: others.seed };
    let hanging = || watch_closed(port, &hangs, &closed, &Watch::default());
    let (mut now, stuck) = both(|| fast(port, workload, &others), hanging)?;
    let mut words = vec![compared(&before, &now)];
    let path = plan.hangs.in_words();
    words.push(format!("{} clients that hang in {path}: {}", plan.hanging, failures_in_words(&stuck)));
    words.extend(alone.iter().map(|not| format!("alone: {}", not.words)));
    let all = requests_of(&before) + requests_of(&now) + requests_of(&stuck);
    add_failures(&mut now, stuck);
    now.outcome.numbers.insert(ASKED.into(), all);
    let wrong = alone.filter(|not| not.is_wrong).map(|not| not.words).or(before.outcome.wrong);
    now.outcome.wrong = now.outcome.wrong.or(wrong);
    note_void(&mut now.outcome, before.outcome.void);
    now.outcome.command = format!("{}; beside it {} clients in {path}", now.outcome.command, plan.hanging);
    Ok(ScenarioReport { outcome: now.outcome, words, timeline: now.timeline })
}
