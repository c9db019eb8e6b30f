//! Overload: five times as many requests as the server can answer. It must answer as many as without overload, refuse
//! the others at once, and be back to normal a second later.

use loadgen::scenario::ScenarioReport;
use loadgen::scenario::overload::{Overload, run};
use loadgen::{Closed, Until, Watch, Workload, watch_closed};

use crate::app;
use crate::count::{Count, SHED};
use crate::findings::Findings;
use crate::load::CLIENTS;
use crate::pace::{self, Work};
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Load as a multiple of the capacity.
const FACTOR: f64 = 5.0;
/// Least goodput, in percent of the capacity.
const GOODPUT: f64 = 90.0;
/// Latency above which a response is useless, in milliseconds.
const DEADLINE_MS: u64 = 2_000;
/// Number of attempts on a machine that other programs use.
const ATTEMPTS: u32 = 3;
/// Largest ratio of the capacities before and after on a machine of constant speed.
const STEADY: f64 = 1.15;
/// Largest share of processor time that other programs may use.
const OTHERS: f64 = 0.1;

/// Pi to 4000 digits: real work, about as long as a page of Rails. With less work the clients on the same cores
/// dominate: each request costs them as much as its refusal costs the server.
pub fn ruby(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let setup = Setup::ruby(app::SINATRA, 2, 1).with(&["--queue", "32", "--queue-wait", "1s"]);
    let server = Server::start(stage, &setup)?;
    let workload = app::workload(&[r#"{ "path": "/work", "length": 4003 }"#])?;
    for attempt in 1..=ATTEMPTS {
        let (seen, is_steady) = once(stage, &server, &workload)?;
        if seen.complaints.is_empty() || is_steady {
            findings.join(seen);
            break;
        }
        // Other programs have changed the capacity that goodput is relative to.
        findings.remark(format!("attempt {attempt}: the machine changed its pace, so this shows nothing: {}", {
            seen.complaints.join("; ")
        }));
        findings.join(Findings { complaints: Vec::new(), ..seen });
    }
    Ok(server.recover_and_end(findings))
}

/// Measures once; returns whether the machine had constant speed.
fn once(stage: &Stage, server: &Server, workload: &Workload) -> Result<(Findings, bool), String> {
    let mut findings = Findings::default();
    pace::begin();
    let ours: Vec<u32> = server.processes().into_iter().map(|one| one.id).collect();
    let begun = Work::now(&ours);
    let before = capacity(stage, server, workload);
    stage.doing("asks five times as much");
    let plan = Overload {
        capacity_per_s: before,
        factor: FACTOR,
        calm_s: 5,
        over_s: if stage.is_quick { 6 } else { 20 },
        after_s: 5,
        connections: 512,
        deadline_ms: DEADLINE_MS,
        patience_s: 20.0,
        seed: 5,
    };
    let report = run(server.port, workload, &plan)?;
    // Shared machines change their speed within a minute: the capacity is between the two.
    let after = capacity(stage, server, workload);
    findings.remark(format!("capacity with {CLIENTS} clients: {before:.0}/s before, {after:.0}/s after"));
    judge(report, f64::midpoint(before, after), &mut findings);
    let others = Work::now(&ours).of_others_since(&begun);
    findings.remark(format!("other programs used {:.0} % of the processor time", others * 100.0));
    // Equal speed before and after does not mean equal speed in between.
    let is_steady = before.max(after) < STEADY * before.min(after) && !pace::is_busy() && others < OTHERS;
    Ok((findings, is_steady))
}

fn capacity(stage: &Stage, server: &Server, workload: &Workload) -> f64 {
    stage.doing("measures the capacity");
    let seconds = if stage.is_quick { 4.0 } else { 10.0 };
    let plan = |seconds| Closed { clients: CLIENTS, until: Until::Seconds(seconds), keep: true, seed: 1 };
    watch_closed(server.port, workload, &plan(1.0), &Watch::default());
    let seen = watch_closed(server.port, workload, &plan(seconds), &Watch::default());
    seen.number(loadgen::metric::RATE).unwrap_or(0.0)
}

fn judge(report: ScenarioReport, capacity: f64, findings: &mut Findings) {
    let number = |name: &str| report.outcome.numbers.get(name).copied();
    let goodput = number("goodput_per_s").unwrap_or(0.0) * 100.0 / capacity;
    let recovery = number("recovery_s");
    let count = Count::of(report.outcome);
    findings.count("the clients", &count, &[SHED]);
    findings.remarks.extend(report.words);
    findings.remark(format!("goodput {goodput:.0} % of the capacity"));
    findings.expect(goodput >= GOODPUT, || format!("goodput was {goodput:.0} % of the capacity, not {GOODPUT:.0} %"));
    findings.expect(recovery.is_some_and(|seconds| seconds <= 1.0), || {
        format!("it took {} to recover, not a second", recovery.map_or("too long".to_owned(), |s| format!("{s} s")))
    });
    findings.expect(count.shed() > 0, || "nothing was refused: that was no overload".to_owned());
}
