//! Pauses without a fault: a slow database, workers without a processor, a machine that stands still. Requests can be
//! served afterwards, so none may be refused.

use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loadgen::{Phase, SeededRng, Steps, Watch, watch_open};
use rustix::process::Signal;

use super::strangers::{APP, request, short};
use crate::count::{Count, LATE, SHED};
use crate::findings::Findings;
use crate::pace::{self, pause};
use crate::processes;
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Default of `--queue-wait`, the longest wait.
const QUEUE_WAIT: Duration = Duration::from_secs(10);
/// Requests per second; two workers can answer more than a thousand.
const RATE: f64 = 250.0;
/// Timeout of clients, longer than any pause.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// All worker threads are held for a second; all workers are stopped for up to three seconds.
pub fn known(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, &setup())?;
    let (rounds, between) = if stage.is_quick { (2u32, 4.0) } else { (5, 6.0) };
    let load = load(server.port, f64::from(rounds) * between * 2.0);
    stage.doing("holds all places");
    for _ in 0..rounds {
        pause(Duration::from_secs_f64(between - 1.0));
        drop(hold_all(server.port, 1.0));
    }
    stage.doing("stops workers");
    for round in 0..rounds {
        pause(Duration::from_secs(1));
        stop(&server.workers(), Duration::from_millis([400, 1_000, 2_000, 3_000, 500][round as usize % 5]));
        pause(Duration::from_secs_f64(between - 4.0).max(Duration::from_millis(200)));
    }
    findings.remark(format!("{rounds} times all places were held, and {rounds} times all workers stopped"));
    judge(&load.join().unwrap_or_default(), QUEUE_WAIT, &mut findings);
    Ok(server.recover_and_end(findings))
}

/// Random pauses of 0.1 to 3 seconds, of one worker, of all workers, or of what the application waits for.
pub fn random(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, &setup())?;
    let mut rng = SeededRng::from_seed(13);
    let rounds = if stage.is_quick { 15 } else { 40 };
    let between = |rng: &mut SeededRng| 0.2 + 1.8 * rng.fraction();
    let pauses: Vec<(f64, f64, usize)> =
        (0..rounds).map(|_| (between(&mut rng), 0.1 + 2.9 * rng.fraction(), rng.place(&[1.0, 2.0, 3.0]))).collect();
    let load = load(server.port, pauses.iter().map(|(before, length, _)| before + length).sum::<f64>() + 2.0);
    for (number, (before, length, kind)) in pauses.into_iter().enumerate() {
        pause(Duration::from_secs_f64(before));
        stage.doing(format!("pauses, round {number}"));
        let workers = server.workers();
        match kind {
            0 => stop(&workers[..workers.len().min(1)], Duration::from_secs_f64(length)),
            1 => stop(&workers, Duration::from_secs_f64(length)),
            _ => drop(hold_all(server.port, length)),
        }
    }
    findings.remark(format!("{rounds} pauses"));
    judge(&load.join().unwrap_or_default(), QUEUE_WAIT, &mut findings);
    Ok(server.recover_and_end(findings))
}

/// All processes of the server are stopped for longer than `--worker-timeout`, and go on.
pub fn machine(stage: &Stage) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let wait = Duration::from_secs(40);
    let setup = setup().with(&["--worker-timeout", "3s", "--queue-wait", "40s", "--request-time", "60s"]);
    let mut server = Server::start(stage, &setup)?;
    let lengths: &[u64] = if stage.is_quick { &[1, 6] } else { &[1, 2, 5, 10, 20, 7, 3] };
    let load = load(server.port, lengths.iter().map(|length| *length as f64 + 4.0).sum());
    let before = server.workers();
    for length in lengths {
        pause(Duration::from_secs(3));
        stage.doing(format!("stops everything for {length} s"));
        let all: Vec<u32> = server.processes().into_iter().filter(|one| !one.is_zombie).map(|one| one.id).collect();
        stop(&all, Duration::from_secs(*length));
    }
    findings.remark(format!("all processes were stopped for {lengths:?} seconds"));
    judge(&load.join().unwrap_or_default(), wait, &mut findings);
    server.wait_for_recovery(&mut findings);
    let after = server.workers();
    findings.expect(before == after, || format!("the workers were {before:?}, and are {after:?}: some were killed"));
    server.end(&mut findings);
    Ok(findings)
}

fn setup() -> Setup {
    Setup::ruby(APP, 2, 3).with(&["--request-time", "30s"])
}

/// Requests at an even rate for this number of seconds, whether or not they are answered.
fn load(port: u16, seconds: f64) -> JoinHandle<Count> {
    let phases = vec![Phase { per_s: RATE, seconds }];
    let plan = Steps { phases, connections: 8_000, seed: 3, is_real_time: true };
    thread::spawn(move || {
        let watch = Watch { timeout: CLIENT_TIMEOUT, ..Watch::default() };
        short().map(|workload| Count::of(watch_open(port, &workload, &plan, &watch).outcome)).unwrap_or_default()
    })
}

/// Requests that hold all threads of all workers for this number of seconds.
fn hold_all(port: u16, seconds: f64) -> Vec<Option<TcpStream>> {
    let path = format!("/hold?{seconds}");
    let holders = (0..6).map(|_| request(port, &path, "Connection: close\r\n").ok()).collect();
    pause(Duration::from_secs_f64(seconds));
    holders
}

/// Stops these processes for a time.
fn stop(all: &[u32], time: Duration) {
    all.iter().for_each(|id| _ = processes::signal(*id, Signal::STOP));
    pause(time);
    all.iter().for_each(|id| _ = processes::signal(*id, Signal::CONT));
}

/// Complains about refused requests that could have been served in time. Where others had to wait nearly as long, and
/// the machine was busy, nothing can be concluded.
fn judge(count: &Count, wait: Duration, findings: &mut Findings) {
    let longest = Duration::from_secs_f64(count.longest_ms / 1_000.0);
    let is_overloaded = longest > wait.mul_f64(0.8) && pace::is_busy();
    findings.count("the clients", count, if is_overloaded { &[SHED, LATE] } else { &[] });
    if is_overloaded {
        findings.remark(format!("too busy a machine: somebody waited {longest:?}, which shows nothing about refusals"));
    }
}
