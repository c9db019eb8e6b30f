//! Thousands of clients on bad lines, which send their request, or read their response, a few bytes at a time, while
//! others with good lines are measured. A server that gives each slow client a thread has none left for the others.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::trickle::{SlowClientCounts, SlowStyle, trickle};
use super::{ASKED, ScenarioReport, both, compared, fast, note_void, requests_of};
use crate::open_files::allowed;
use crate::{Ask, Open, Workload, on_this_thread};

/// Time over which the slow clients arrive.
const ARRIVAL: Duration = Duration::from_secs(2);

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct SlowClients {
    /// Number of slow clients; fewer if the limit of open files is too low.
    pub slow: u32,
    /// Pause of a slow client between two pieces, in milliseconds.
    pub pace_ms: u64,
    /// The other clients. They run alone first, as long, for comparison.
    pub others: Open,
}

/// Runs it. The outcome is that of the others; a wrong answer before them, or to a slow client, is one of the outcome.
pub fn run(port: u16, workload: &Workload, plan: &SlowClients) -> Result<ScenarioReport, String> {
    let Some(ask) = workload.asks.first() else { return Err("this workload asks nothing".into()) };
    let mut words = Vec::new();
    let slow = allowed(plan.slow, plan.others.connections);
    if slow < plan.slow {
        words.push(format!("{slow} slow clients, not {}: more files may not be open here (ulimit -n)", plan.slow));
    }
    let before = fast(port, workload, &plan.others);
    let seconds = Duration::try_from_secs_f64(plan.others.seconds).map_err(|error| error.to_string())?;
    let end = Instant::now() + ARRIVAL + seconds;
    let pace = Duration::from_millis(plan.pace_ms.max(1));
    let others = || {
        let ready = end - seconds;
        while Instant::now() < ready {
            thread::park_timeout(ready.saturating_duration_since(Instant::now()));
        }
        fast(port, workload, &plan.others)
    };
    let (mut now, crowd) = both(others, || on_this_thread(crowd(port, ask, slow, pace, end)))?;
    let Crowd { counts, ended, wrong } = crowd?;
    now.outcome.numbers.insert(ASKED.into(), requests_of(&before) + requests_of(&now) + ended as f64);
    now.outcome.wrong = now.outcome.wrong.or(before.outcome.wrong.clone()).or(wrong);
    words.insert(0, compared(&before, &now));
    note_void(&mut now.outcome, before.outcome.void);
    words.push(counts);
    now.outcome.command =
        format!("{}; beside it {slow} slow clients, a piece each {} ms", now.outcome.command, plan.pace_ms);
    Ok(ScenarioReport { outcome: now.outcome, words, timeline: now.timeline })
}

/// What was seen of the slow clients.
struct Crowd {
    /// How they fared, for a person.
    counts: String,
    /// Number of their requests that came to an end.
    ended: u64,
    /// The first wrong answer, described.
    wrong: Option<String>,
}

/// Runs all of them, until it is over.
async fn crowd(port: u16, ask: &Ask, slow: u32, pace: Duration, end: Instant) -> Crowd {
    let counts = Rc::new(SlowClientCounts::default());
    let mut clients = JoinSet::new();
    let styles = [SlowStyle::Head, SlowStyle::Body, SlowStyle::Reader];
    for (number, style) in (0..slow).zip(styles.into_iter().cycle()) {
        let ask = ask.clone();
        let counts = Rc::clone(&counts);
        // They arrive one after the other: a flood of connections is another scenario.
        let after = ARRIVAL.mul_f64(f64::from(number) / f64::from(slow));
        clients.spawn_local(async move {
            tokio::time::sleep(after).await;
            trickle(port, style, &ask, pace, end, &counts).await;
        });
    }
    while clients.join_next().await.is_some() {}
    Crowd { counts: counts.in_words(slow), ended: counts.ended(), wrong: counts.wrong.take() }
}
