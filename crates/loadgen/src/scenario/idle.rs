//! Idle connections, each after one answered request: how much memory does one take?

use std::time::{Duration, Instant};

use super::ScenarioReport;
use crate::fault::Fault;
use crate::metric;
use crate::open_files::allowed;
use crate::outcome::Outcome;
use crate::tally::Tally;
use crate::work::Work;
use crate::{Watch, Workload, on_this_thread};

/// Failures after which no further connection is tried.
const FAILURES_MOST: u32 = 20;
/// Time after which memory that the server frees or takes late is seen too.
const REST: Duration = Duration::from_secs(2);

/// Options of the scenario.
#[derive(Debug, Clone)]
pub struct Idle {
    /// Number of connections; fewer if the limit of open files is too low.
    pub connections: u32,
}

/// Runs the scenario. `memory` returns the server's memory in KiB. The outcome has no [`metric::IDLE_KIB`] if the
/// server kept fewer than half of the connections.
pub fn run(port: u16, workload: &Workload, plan: &Idle, memory: &dyn Fn() -> u64) -> Result<ScenarioReport, String> {
    let wanted = allowed(plan.connections, 0);
    let mut words = Vec::new();
    if wanted < plan.connections {
        words.push(format!(
            "{wanted} connections, not {}: more files may not be open here (ulimit -n)",
            plan.connections
        ));
    }
    let before = memory();
    let HeldConnections { open, memory_kib: after, error, wrong } =
        on_this_thread(held(port, workload, wanted, memory))??;
    let mut outcome = Outcome {
        command: format!("{wanted} connections, a request on each, and {} s of rest", REST.as_secs()),
        wrong,
        ..Outcome::default()
    };
    outcome.numbers.insert(metric::CONNECTIONS.into(), f64::from(open));
    outcome.numbers.insert(metric::REQUESTS.into(), f64::from(open));
    outcome.numbers.insert(metric::FAILED.into(), f64::from(wanted - open));
    if open > wanted / 2 {
        let kib = after.saturating_sub(before) as f64 / f64::from(open);
        outcome.numbers.insert(metric::IDLE_KIB.into(), kib);
    } else {
        let why = format!("no more than half of {wanted} connections stayed open");
        outcome.missing_numbers.insert(metric::IDLE_KIB.into(), why);
    }
    words.push(format!("{open} were open at the end"));
    if let Some(error) = error {
        outcome.errors.insert(error, u64::from(wanted - open));
    }
    Ok(ScenarioReport { outcome, words, timeline: Vec::new() })
}

/// What was seen of them.
struct HeldConnections {
    /// How many are open after the rest.
    open: u32,
    /// The server's, then.
    memory_kib: u64,
    /// The kind of the first failure.
    error: Option<String>,
    /// The first wrong answer, described.
    wrong: Option<String>,
}

async fn held(
    port: u16,
    workload: &Workload,
    wanted: u32,
    memory: &dyn Fn() -> u64,
) -> Result<HeldConnections, String> {
    let watch = Watch::default();
    let work = Work::new(port, workload, true, 1, &watch, Tally::new(Instant::now(), None, &watch))?;
    let mut connections = Vec::new();
    let mut failures = 0;
    let mut error = None;
    let mut wrong = None;
    for _ in 0..wanted {
        let mut connection = work.connection();
        match work.exchange(&mut connection, Instant::now(), 0).await.1 {
            Ok(_) => connections.push(connection),
            Err(fault) => {
                error.get_or_insert_with(|| fault.kind().into_owned());
                if matches!(fault, Fault::Wrong(_)) {
                    wrong.get_or_insert_with(|| fault.in_words());
                }
                failures += 1;
                if failures >= FAILURES_MOST {
                    break;
                }
            }
        }
    }
    tokio::time::sleep(REST).await;
    let memory_kib = memory();
    let open = connections.iter().filter(|connection| connection.is_open()).count();
    Ok(HeldConnections { open: u32::try_from(open).unwrap_or(u32::MAX), memory_kib, error, wrong })
}
