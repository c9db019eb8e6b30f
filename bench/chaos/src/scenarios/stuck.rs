//! Requests that never end: they time out, and other requests are not affected.

use std::time::Duration;

use loadgen::Workload;

use crate::app;
use crate::count::LATE;
use crate::findings::Findings;
use crate::pace::{self, pause};
use crate::server::{Server, Setup};
use crate::stage::Stage;

/// Request timeout, and time until a worker that does not react is killed.
const TIMES: [&str; 4] = ["--request-time", "4s", "--kill-time", "500ms"];
/// Longest latency of quick requests: those beside one that ignores interruption are retried when their worker is
/// killed.
const LONGEST: Duration = Duration::from_secs(7);

/// Sleeping, computing, and ignoring interruption, each from two clients.
pub fn ruby(stage: &Stage) -> Result<Findings, String> {
    let never = app::workload(&[r#"{ "path": "/stuck", "status": 504 }, { "path": "/spin", "status": 504 },
           { "path": "/deaf", "status": 504 }"#])?;
    let setup = Setup::ruby(app::SINATRA, 3, 4).with(&TIMES);
    beside(stage, &setup, &app::sinatra()?, &never)
}

/// Computing, sleeping, and taking all memory.
pub fn mruby(stage: &Stage) -> Result<Findings, String> {
    let never = app::workload(&[
        r#"{ "path": "/stuck", "status": 504 }, { "path": "/spin", "status": 504 }, { "path": "/hog", "status": 500 }"#,
    ])?;
    let setup = Setup::mruby(app::MRUBY, 8).with(&["--request-time", "4s", "--memory-limit", "16MiB"]);
    beside(stage, &setup, &app::mruby()?, &never)
}

fn beside(stage: &Stage, setup: &Setup, quick: &Workload, never: &Workload) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let server = Server::start(stage, setup)?;
    let load = server.load(quick);
    let stuck = server.load_of(never, 4);
    stage.doing("some hang");
    pause(stage.lasts(30.0, 6.0));
    let count = load.end();
    let stuck = stuck.end();
    // On such a busy machine a quick request beside others that hang may time out, too.
    let is_slow = pace::is_busy();
    findings.count("the quick ones", &count, if is_slow { &[LATE] } else { &[] });
    if is_slow {
        findings.remark(format!(
            "the machine took {:?} to start a program: timeouts are not counted as failures",
            pace::slowest()
        ));
    }
    findings.bound(LONGEST);
    findings.count("those that hang", &stuck, &[]);
    findings.remark(format!(
        "{} of them hung and had their deadline, after {:.0} ms at most",
        stuck.right, stuck.longest_ms
    ));
    findings.bound(Duration::from_secs(10));
    Ok(server.recover_and_end(findings))
}
