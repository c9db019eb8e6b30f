//! Runs a scenario on one server, with the parameters of the case and the contender's own capacity.

use super::expect::Expected;
use super::ladder::{ladder, unmeasured};
use super::plan::{Family, PlannedCase};
use super::recipe::Tool;
use crate::contender::Server;
use crate::record::Outcome;
use loadgen::metric::GOODPUT_DEADLINE_MS;
use loadgen::scenario::acts::{self, ActKind, Acts};
use loadgen::scenario::{Act, ScenarioReport, idle, overload, slow_clients, stuck, uneven};
use loadgen::{Ask, Open};

/// Time in seconds after which a client of an overload gives up.
const PATIENCE_S: f64 = 10.0;

/// Runs the scenario of this case.
pub fn run(
    case: &PlannedCase,
    family: &Family,
    server: &mut Server,
    capacity: &mut Option<f64>,
    seed: u64,
) -> Result<Outcome, String> {
    let port = server.port();
    let workload = &family.workload;
    let clients = case.clients;
    let seconds = case.seconds;
    let report = match case.tool {
        Tool::SlowClients => {
            let slow = family.recipe.slow.unwrap_or(1000);
            let plan = slow_clients::SlowClients { slow, pace_ms: 200, others: at_a_rate(case, family, seed)? };
            slow_clients::run(port, workload, &plan)?
        }
        Tool::Stuck => {
            let hangs = second_ask(family.recipe.stuck_path.as_deref(), family.recipe.stuck_expect.as_ref())?;
            let others = at_a_rate(case, family, seed)?;
            stuck::run(port, workload, &stuck::Stuck { hangs, hanging: case.hanging, others })?
        }
        Tool::Uneven => {
            let long = second_ask(family.recipe.long_path.as_deref(), family.recipe.long_expect.as_ref())?;
            let share = f64::from(family.recipe.long_pct.unwrap_or(0)) / 100.0;
            uneven::run(port, workload, &uneven::Uneven { long, share, all: at_a_rate(case, family, seed)? })?
        }
        Tool::IdleConnections => {
            let memory = || server.usage().pss_kib;
            let connections = family.recipe.connections.unwrap_or(clients);
            idle::run(port, workload, &idle::Idle { connections }, &memory)?
        }
        Tool::Killed => {
            let act: Act = &mut || server.kill_worker();
            let kind = ActKind::Kill((seconds / 2.5).min(1.0));
            acts::run(port, workload, &Acts { kind, clients, seconds, seed }, act)?
        }
        Tool::Reload => {
            let act: Act = &mut || server.reload().map(|()| 0);
            let kind = ActKind::Reload((seconds / 3.0).ceil() as u32);
            acts::run(port, workload, &Acts { kind, clients, seconds, seed }, act)?
        }
        _ => return over(port, case, family, capacity, seed),
    };
    Ok(outcome(report))
}

/// The request to a case's second path, with its right answer.
fn second_ask(path: Option<&str>, expect: Option<&Expected>) -> Result<Ask, String> {
    expect.zip(path).map(|(expect, path)| expect.ask(path)).ok_or("the recipe names no second path and its answer")?
}

/// Requests at a rate that is the same for all contenders, so that their latencies can be compared.
fn at_a_rate(case: &PlannedCase, family: &Family, seed: u64) -> Result<Open, String> {
    let per_s = family.recipe.per_s.ok_or_else(|| format!("case {} has no per_s", family.recipe.name))?;
    Ok(Open { per_s, seconds: case.seconds, connections: case.clients, seed })
}

fn over(
    port: u16,
    case: &PlannedCase,
    family: &Family,
    capacity: &mut Option<f64>,
    seed: u64,
) -> Result<Outcome, String> {
    if case.load_pct == 0 {
        return ladder(port, case, family, capacity, seed, None);
    }
    let capacity_per_s = capacity.ok_or("its capacity is not known: it gave no right answer")?;
    if capacity_per_s <= 0.0 {
        return Ok(unmeasured());
    }
    let (calm_s, over_s, after_s) = overload_s(case);
    let plan = overload::Overload {
        capacity_per_s,
        factor: f64::from(case.load_pct) / 100.0,
        calm_s,
        over_s,
        after_s,
        connections: connections(capacity_per_s * f64::from(case.load_pct) / 100.0),
        deadline_ms: GOODPUT_DEADLINE_MS,
        patience_s: PATIENCE_S,
        seed,
    };
    overload::run(port, &family.workload, &plan).map(outcome)
}

/// Connections of an overload of `per_s` requests per second: one for each request that is not over, and those of
/// another second for chance. With fewer, requests would wait in the load generator, unseen by the server.
fn connections(per_s: f64) -> u32 {
    (per_s * PATIENCE_S + per_s).ceil() as u32
}

/// Seconds of calm before an overload, of the overload, and after it.
pub(super) fn overload_s(case: &PlannedCase) -> (u32, u32, u32) {
    let whole = (case.seconds.round() as u32).max(1);
    ((whole / 3).max(2), whole, whole.max(4))
}

/// Outcome of a scenario, with its sentences as remarks, and with what ordinary clients saw in each second. The
/// sentences are about one contender and one round, and so no part of the command.
fn outcome(report: ScenarioReport) -> Outcome {
    let ScenarioReport { mut outcome, words, timeline } = report;
    outcome.remarks.extend(words);
    outcome.course = loadgen::course_of(&timeline);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen::Second;

    #[test]
    fn in_an_overload_no_request_waits_for_a_connection() {
        assert_eq!([5.0, 540.0, f64::INFINITY].map(connections), [55, 5940, u32::MAX]);
    }

    #[test]
    fn a_scenario_is_shown_over_time() {
        let second = |ms: u32| Second { times_us: vec![ms * 1000; 400], failed: 0 };
        let timeline = vec![second(1), second(30), second(1)];
        let report = ScenarioReport { timeline, ..ScenarioReport::default() };
        let course = outcome(report).course;
        assert_eq!(course["p99_ms"], [(0.5, 1.0), (1.5, 30.0)]);
        assert_eq!(course["requests_per_s"], [(0.5, 400.0), (1.5, 400.0)]);
    }
}
