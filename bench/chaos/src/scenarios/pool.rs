//! Workers that are added, stopped and replaced: by order, by number of requests, or by size.

use std::time::{Duration, Instant};

use crate::app;
use crate::findings::Findings;
use crate::pace::{self, pause};
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Longest latency, as on a busy machine.
const LONGEST: Duration = Duration::from_secs(5);
/// Time for an ordered number of workers.
const SCALED: Duration = Duration::from_secs(20);

/// From one worker to eight and back.
pub fn scale(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, &Setup::ruby(app::SINATRA, 1, 2))?;
    let load = server.load(&app::sinatra_with_posts()?);
    let rounds = if stage.is_quick { 1 } else { 8 };
    for _ in 0..rounds {
        for wanted in [8, 1] {
            stage.doing(format!("scales to {wanted}"));
            let output = server.command(&["scale", &wanted.to_string()])?;
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            findings.expect(output.status.success(), || format!("scale {wanted}: {said}"));
            let is_scaled = pace::within(SCALED, || server.ready() == wanted);
            findings.expect(is_scaled, || format!("{} workers {SCALED:?} after scale {wanted}", server.ready()));
            pause(Duration::from_secs(1));
        }
    }
    findings.remark(format!("{rounds} times from 1 to 8 and back"));
    Ok(server.finish(load, LONGEST, findings))
}

/// Each worker is replaced after some hundred requests.
pub fn max_requests(stage: &Stage) -> Result<Findings, String> {
    let setup = Setup::ruby(app::SINATRA, 3, 2).with(&["--max-requests", "200"]);
    replaced(stage, &setup, "", 3)
}

/// The same with interpreters.
pub fn max_requests_mruby(stage: &Stage) -> Result<Findings, String> {
    let server = Server::start(stage, &Setup::mruby(app::MRUBY, 8).with(&["--max-requests", "20"]))?;
    let load = server.load(&app::mruby()?);
    stage.doing("interpreters are replaced");
    pause(stage.lasts(20.0, 4.0));
    let mut findings = Findings::default();
    let mut replaced = 0;
    let is_replaced = pace::within(SCALED, || {
        replaced = server.status().unwrap_or_default().ends_by("max_requests");
        replaced > 0
    });
    findings.remark(format!("{replaced} interpreters were replaced"));
    findings.expect(is_replaced, || "no interpreter was replaced".to_owned());
    Ok(server.finish(load, LONGEST, findings))
}

/// Each request leaks forty kilobytes.
pub fn memory(stage: &Stage) -> Result<Findings, String> {
    let setup = Setup::ruby(app::SINATRA, 3, 2).with(&["--worker-memory", "40MiB"]);
    replaced(stage, &setup, r#"{ "path": "/leak", "exactly": "leaked\n" }"#, 1)
}

/// Checks that workers are replaced one at a time, and never missing.
fn replaced(stage: &Stage, setup: &Setup, asks: &str, least: usize) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, setup)?;
    let workload = if asks.is_empty() { app::sinatra_with_posts()? } else { app::workload(&[asks])? };
    let load = server.load(&workload);
    let mut seen: Vec<u32> = server.workers();
    let first = server.workers;
    let mut fewest = server.workers;
    let mut most = server.workers;
    stage.doing("workers are replaced");
    let begun = Instant::now();
    let time = stage.lasts(30.0, 12.0);
    // The status is of one moment: too few workers that serve, or more than one too many.
    while begun.elapsed() < time || (seen.len() < first + least && begun.elapsed() < pace::allowed(2 * time)) {
        if let Ok(status) = server.status() {
            let serve = status.workers.iter().filter(|one| one.is_ready()).count();
            (fewest, most) = (fewest.min(serve), most.max(status.workers.len()));
            let ids: Vec<u32> = status.workers.iter().filter_map(|one| one.id).collect();
            seen.extend(ids.iter().filter(|id| !seen.contains(id)).copied().collect::<Vec<_>>());
        }
        pause(Duration::from_millis(50));
    }
    let replaced = seen.len().saturating_sub(first);
    findings.remark(format!("{replaced} workers were replaced; there were from {fewest} to {most}"));
    findings.expect(replaced >= least, || format!("{replaced} workers were replaced, not {least} or more"));
    findings.expect(fewest >= first, || format!("{fewest} workers served at times, fewer than {first}"));
    findings.expect(most <= first + 1, || format!("there were {most} workers at times: several were replaced at once"));
    Ok(server.finish(load, LONGEST, findings))
}
