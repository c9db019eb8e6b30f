//! Loads of a study by k6 in place of its own tools: `arena run STUDY --load k6`.

use std::time::Duration;

use super::plan::{Family, Plan, PlannedCase};
use super::recipe::Tool;
use loadgen::{K6Load, K6Plan};

/// Most seconds that siege pauses before each request, unless it runs as a benchmark.
const PAUSE_S: f64 = 1.0;

/// Reason why k6 cannot load a study: it has no load like any of the cases, or cannot check an answer.
pub fn complaint(study: &Plan) -> Option<String> {
    let driven: Vec<&Family> = study.families.iter().filter(|family| family.recipe.tool.is_for_k6()).collect();
    if driven.is_empty() {
        return Some("--load k6: k6 has no load like those of these cases; run them without it".to_owned());
    }
    let script = |family: &&Family| {
        let case = family.cases.first()?;
        let error = plan(case, family, 1.0, 1).script(&family.workload).err()?;
        Some(format!("--load k6: case {}: {error}", case.name))
    };
    driven.iter().find_map(script)
}

/// Sentence for the report on what was loaded by k6, and what was not.
pub fn in_words(study: &Plan, version: &str) -> String {
    let others = study.families.iter().filter(|family| !family.recipe.tool.is_for_k6());
    let own: Vec<&str> = others.map(|family| family.recipe.title.as_str()).collect();
    let rest = match own.is_empty() {
        true => String::new(),
        false => format!("; k6 has no load like these, which the arena made itself: {}", own.join(", ")),
    };
    format!(
        "loaded by {version} in the place of the study's own tools (--load k6), which checked every answer, with the \
         scripts in the run's folder k6/; its open loop sends at even distances, and what it did not send, since it \
         had no free client, counts as failed (dropped) only if the server kept all clients waiting; where a request's \
         time goes was measured with the arena's own load, as without k6{rest}"
    )
}

/// The load of a case as a plan that both k6 and the arena's own loops understand.
pub fn plan(case: &PlannedCase, family: &Family, per_s: f64, seed: u64) -> K6Plan {
    let clients = case.clients;
    let seconds = case.seconds;
    let counted = |requests: u64, delay_s: f64| K6Load::Requests { clients, requests, delay_s };
    let load = match (case.tool, case.requests) {
        _ if case.load_pct > 0 => K6Load::Rate { per_s, seconds, connections: case.open_connections() },
        (Tool::SiegeOnce, requests) => counted(requests.unwrap_or(u64::from(clients)), PAUSE_S),
        (Tool::Ab | Tool::Siege | Tool::Closed, Some(requests)) => counted(requests, 0.0),
        _ => K6Load::Clients { clients, seconds },
    };
    K6Plan {
        case: case.name.clone(),
        load,
        keep: !matches!(case.tool, Tool::Ab | Tool::Siege | Tool::SiegeOnce),
        timeout: Duration::from_secs(u64::from(family.recipe.timeout_s())),
        seed,
    }
}
