//! Loads one server with one case, by the tool of the recipe, or by our own loop or scenario.

use std::thread;
use std::time::{Duration, Instant};

use super::bad_day;
use super::ladder::ladder;
use super::plan::{Family, PlannedCase};
use super::recipe::Tool;
use crate::measure::Up;
use crate::record::Outcome;
use loadgen::metric::FIRST_ANSWER;
use loadgen::{
    self, AbPlan, AbUntil, BodyRule, Closed, K6Here, LOAD_THREADS, SiegePlan, SiegeUntil, Until, Workload, WrkPlan,
};

/// Time without requests before the first request of an idle case: a multiple of the length of a load, and at least
/// long enough for servers that shut workers down after five seconds.
const IDLE_LOADS: f64 = 1.5;
const IDLE_S_LEAST: f64 = 7.0;
/// Seconds after which a tool counts as hanging.
const TOOL_LIMIT_S: u32 = 900;

/// Loads the server. Stores the capacity that the first step of a ladder measures, for its other steps.
pub fn run(
    case: &PlannedCase,
    family: &Family,
    up: &mut Up,
    capacity: &mut Option<f64>,
    seed: u64,
    k6: Option<&K6Here>,
) -> Result<Outcome, String> {
    let port = up.server.port();
    if let Some(k6) = k6.filter(|_| case.tool.is_for_k6()) {
        return ladder(port, case, family, capacity, seed, Some(k6));
    }
    let path = &family.recipe.path;
    let workload = &family.workload;
    let clients = case.clients;
    let timeout_s = family.recipe.timeout_s();
    let whole_seconds = case.seconds.ceil() as u32;
    Ok(match case.tool {
        Tool::Wrk => {
            let threads = LOAD_THREADS.min(clients);
            loadgen::wrk(port, path, &WrkPlan { threads, connections: clients, seconds: whole_seconds, timeout_s })?
        }
        Tool::Ab => {
            let until = case.requests.map_or(AbUntil::Seconds(whole_seconds), AbUntil::Requests);
            let length = body_length(workload);
            let varies = length.is_none();
            let plan = AbPlan { clients, until, varies, length, timeout_s, limit_s: TOOL_LIMIT_S };
            loadgen::ab(port, path, &plan)?
        }
        Tool::Siege | Tool::SiegeOnce => {
            let repeats = |requests: u64| SiegeUntil::Repeats(requests.div_ceil(u64::from(clients)));
            let until = case.requests.map_or(SiegeUntil::Seconds(whole_seconds), repeats);
            let delay_s = (case.tool == Tool::SiegeOnce).then_some(1.0);
            loadgen::siege(port, path, &SiegePlan { clients, until, delay_s, limit_s: TOOL_LIMIT_S })?
        }
        Tool::Closed | Tool::Ladder => ladder(port, case, family, capacity, seed, None)?,
        Tool::Start => Outcome {
            command: "from the start of the server to its first right answer".into(),
            numbers: [(FIRST_ANSWER.to_owned(), up.first_answer_ms), ("cold_ms".to_owned(), up.first_answer_ms)].into(),
            ..Outcome::default()
        },
        Tool::Idle => after_idle(port, workload, (case.seconds * IDLE_LOADS).max(IDLE_S_LEAST)),
        Tool::SlowClients
        | Tool::Stuck
        | Tool::Uneven
        | Tool::IdleConnections
        | Tool::Killed
        | Tool::Reload
        | Tool::Overload => bad_day::run(case, family, &mut up.server, capacity, seed)?,
    })
}

/// Length in bytes of the right body, if it is always the same.
fn body_length(workload: &Workload) -> Option<u64> {
    let [ask] = &workload.asks[..] else { return None };
    match &ask.expect.body {
        BodyRule::Exactly(bytes) => Some(bytes.len() as u64),
        BodyRule::Length(length) => Some(*length as u64),
        BodyRule::Any | BodyRule::Contains(_) | BodyRule::Matches(_) => None,
    }
}

fn after_idle(port: u16, workload: &Workload, idle_s: f64) -> Outcome {
    let end = Instant::now() + Duration::from_secs_f64(idle_s);
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        thread::park_timeout(left);
    }
    let one = Closed { clients: 1, until: Until::Requests(1), keep: true, seed: 1 };
    let mut outcome = loadgen::closed(port, workload, &one);
    outcome.command = format!("one request after {idle_s:.0} s without any");
    if let Some(took) = outcome.numbers.get("max_ms").copied() {
        outcome.numbers.insert("after_idle_ms".into(), took);
    }
    outcome
}
