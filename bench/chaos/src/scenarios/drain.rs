//! A shutdown while long responses are being sent: each of them is finished, and so is each accepted request.

use std::time::Duration;

use loadgen::Workload;
use rustix::process::Signal;

use super::full::BIG;
use crate::app;
use crate::count::REFUSED;
use crate::findings::Findings;
use crate::pace::pause;
use crate::server::{Server, Setup};
use crate::slow::{self, Reader};
use crate::stage::Stage;

/// Time for the shutdown, streams included.
const END: Duration = Duration::from_secs(25);

/// Streams of five seconds, and slow readers of a large response.
pub fn ruby(stage: &Stage) -> Result<Findings, String> {
    let stream = Reader {
        path: "/stream",
        bytes: 1_000,
        pace: Duration::ZERO,
        length: 50 * 10 + 4,
        ending: "tick 0049\nend\n",
        limit: Duration::from_secs(30),
    };
    let big = Reader { path: "/big", bytes: 100_000, pace: Duration::from_millis(80), length: BIG, ..stream.clone() };
    let big = Reader { ending: "end\n", ..big };
    let setup = Setup::ruby(app::SINATRA, 2, 12);
    let rounds = if stage.is_quick { 1 } else { 4 };
    again(stage, rounds, &setup, &app::sinatra_with_posts()?, &[(12, stream), (4, big)])
}

/// Slow readers on embedded interpreters.
pub fn mruby(stage: &Stage) -> Result<Findings, String> {
    let slow = Reader {
        path: "/ticks",
        bytes: 1_000,
        pace: Duration::ZERO,
        length: 20 * 10 + 4,
        ending: "tick 0019\nend\n",
        limit: Duration::from_secs(30),
    };
    let setup = Setup::mruby(app::MRUBY, 24);
    let rounds = if stage.is_quick { 1 } else { 4 };
    again(stage, rounds, &setup, &app::mruby()?, &[(8, slow)])
}

fn again(
    stage: &Stage,
    rounds: u32,
    setup: &Setup,
    workload: &Workload,
    slow: &[(usize, Reader)],
) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for _ in 0..rounds {
        let server = Server::start(stage, setup)?;
        let load = server.load(workload);
        let readings: Vec<_> = slow.iter().flat_map(|(count, one)| slow::readers(server.port, *count, one)).collect();
        pause(stage.lasts(1.5, 1.0));
        stage.doing("drains");
        server.signal(Signal::TERM);
        pause(Duration::from_millis(500));
        // New connections are refused during a drain. All other requests must get responses.
        findings.count("the clients", &load.end(), &[REFUSED]);
        findings.complaints.extend(slow::outcome(readings));
        server.ends(END, &mut findings);
    }
    findings.remark(format!(
        "ended {rounds} times with {} long answers each",
        slow.iter().map(|(count, _)| count).sum::<usize>()
    ));
    Ok(findings)
}
