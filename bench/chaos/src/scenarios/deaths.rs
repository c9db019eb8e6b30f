//! Workers and molds are killed or stopped under load.

use std::time::Duration;

use loadgen::{SeededRng, Workload};
use rustix::process::Signal;

use crate::app;
use crate::count::LATE;
use crate::findings::Findings;
use crate::pace::{self, each, each_until_enough, pause};
use crate::processes;
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Longest latency: a death may cause a wait, but no request may hang.
const LONGEST: Duration = Duration::from_secs(5);

/// Time between two storms in which all affected requests must get responses. A request is retried twice at most, so
/// that one that kills its worker cannot kill them all; so none may be hit a third time.
const CALM: Duration = Duration::from_secs(20);

/// A storm on Sinatra.
pub fn storm(stage: &Stage) -> Result<Findings, String> {
    killing(stage, &Setup::ruby(app::SINATRA, 4, 2), &app::sinatra()?)
}

/// A storm on Rails.
pub fn storm_rails(stage: &Stage) -> Result<Findings, String> {
    let mut setup = Setup::ruby(app::RAILS, 3, 2);
    // By default its log would be in the repository.
    setup.env.extend([("RAILS_LOG_TO_STDOUT", "1".to_owned()), ("RAILS_LOG_LEVEL", "error".to_owned())]);
    killing(stage, &setup, &app::rails()?)
}

/// Kills all workers but one at once, and a moment later a random one, perhaps a new one.
fn killing(stage: &Stage, setup: &Setup, workload: &Workload) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, setup)?;
    let load = server.load(workload);
    stage.doing("kills workers");
    let mut rng = SeededRng::from_seed(7);
    let mut killed = 0;
    each_until_enough(Duration::ZERO, stage.lasts(30.0, 5.0), || {
        let workers = server.workers();
        let spared = rng.place(&sums(workers.len()));
        let struck = workers.iter().enumerate().filter(|(at, _)| *at != spared);
        killed += struck.filter(|(_, one)| processes::signal(**one, Signal::KILL)).count();
        pause(Duration::from_millis(50));
        killed += usize::from(kill_one(&server.workers(), &mut rng));
        findings.expect(load.let_through(CALM), || format!("{CALM:?} after a storm, what it hit is not answered"));
        killed > 5
    });
    findings.remark(format!("{killed} workers were killed"));
    findings.expect(killed > 5, || format!("only {killed} workers could be killed"));
    Ok(server.finish(load, LONGEST, findings))
}

/// Cumulative weights, all equal.
fn sums(count: usize) -> Vec<f64> {
    (1..=count).map(|sum| sum as f64).collect()
}

/// Kills a random one of these workers. Returns whether it existed.
pub(super) fn kill_one(workers: &[u32], rng: &mut SeededRng) -> bool {
    !workers.is_empty() && processes::signal(workers[rng.place(&sums(workers.len()))], Signal::KILL)
}

/// Kills all workers at once, so that none can answer until new ones are forked.
pub fn all_at_once(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, &Setup::ruby(app::SINATRA, 4, 2))?;
    let load = server.load(&app::sinatra()?);
    stage.doing("kills all workers");
    let mut rounds = 0;
    each(Duration::from_secs(2), stage.lasts(30.0, 5.0), || {
        pause(Duration::from_secs(1));
        let workers = server.workers();
        let killed = workers.iter().filter(|one| processes::signal(**one, Signal::KILL)).count();
        rounds += u32::from(killed > 0);
    });
    findings.remark(format!("all workers were killed {rounds} times"));
    findings.expect(rounds > 0, || "no worker could be killed".to_owned());
    Ok(server.finish(load, LONGEST, findings))
}

/// Kills the mold, and then a worker, whose replacement needs a new mold.
pub fn mold(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, &Setup::ruby(app::SINATRA, 3, 2))?;
    let load = server.load(&app::sinatra()?);
    let mut rng = SeededRng::from_seed(11);
    let mut killed = 0;
    stage.doing("kills molds");
    each_until_enough(Duration::from_millis(100), stage.lasts(30.0, 6.0), || {
        let molds = server.molds();
        killed += molds.iter().filter(|mold| processes::signal(**mold, Signal::KILL)).count();
        pause(Duration::from_millis(200));
        kill_one(&server.workers(), &mut rng);
        let is_new = |all: &[u32]| all.len() == 1 && !molds.contains(&all[0]);
        let is_whole = || is_new(&server.molds()) && server.ready() == server.workers;
        findings.expect(pace::within(Duration::from_secs(20), is_whole), || {
            format!("20 s after a mold's death: {} molds, {} workers", server.molds().len(), server.workers().len())
        });
        killed > 1
    });
    findings.remark(format!("{killed} molds were killed"));
    findings.expect(killed > 1, || format!("only {killed} molds could be killed"));
    Ok(server.finish(load, LONGEST, findings))
}

/// Stops workers with SIGSTOP: their requests time out, and they are replaced.
pub fn frozen(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let setup = Setup::ruby(app::SINATRA, 3, 2).with(&["--request-time", "4s", "--kill-time", "1s"]);
    let server = Server::start(stage, &setup)?;
    let load = server.load(&app::sinatra()?);
    stage.doing("stops workers");
    let mut frozen = 0;
    each(Duration::from_secs(1), stage.lasts(30.0, 5.0), || {
        let Some(one) = server.workers().first().copied() else { return };
        frozen += u32::from(processes::signal(one, Signal::STOP));
        let is_gone = pace::within(Duration::from_secs(15), || !is_there(&server, one));
        findings.expect(is_gone, || format!("worker {one} was stopped 15 s ago, and was not replaced"));
        processes::signal(one, Signal::CONT);
    });
    findings.remark(format!("{frozen} workers were stopped"));
    findings.expect(frozen > 0, || "no worker could be stopped".to_owned());
    let count = load.end();
    let late = count.errors.get(LATE).copied().unwrap_or(0);
    findings.count("the clients", &count, &[LATE]);
    findings.remark(format!("{late} requests in them had their own deadline"));
    // Each has two threads, and each thread may have a few pipelined requests.
    findings
        .expect(late <= u64::from(frozen) * 8, || format!("{late} requests were late, with {frozen} stopped workers"));
    findings.bound(LONGEST);
    Ok(server.recover_and_end(findings))
}

fn is_there(server: &Server, id: u32) -> bool {
    server.status().is_err() || server.workers().contains(&id)
}
